# Everything here needs Python 3.11 or newer, git and make. Nothing else has to be installed first:
# each target makes the environment in .venv when it is missing or out of date.
#
#   make PYTHON=python3.12 test      another Python
#   make VENV=../course-env test     another place for the environment

PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP_FLAGS := --disable-pip-version-check --quiet
# nbgrader calls `alembic` by name, so the environment's own programs come first.
RUN := PATH="$(abspath $(BIN)):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup demo test kill-matrix stock-nbgrader test-numba-only lab build check wheel bundle clean

help:  ## what there is
	@echo "make setup            the environment in $(VENV)"
	@echo "make demo             grade the bundled class and show the table"
	@echo "make lab              JupyterLab on labs/"
	@echo "make test             all tests"
	@echo "make kill-matrix      each wrong kernel against every check of its exercise"
	@echo "make stock-nbgrader   the bundled class by nbgrader autograde, against autograder grade"
	@echo "make test-numba-only  the simulator's tests with numba alone, as on macOS"
	@echo "make build            notebooks from the sources in solutions/ and course/"
	@echo "make check            fail when a notebook is not what its source builds"
	@echo "make wheel            dist/*.whl, to lay beside a notebook"
	@echo "make bundle           dist/*.zip, what students get: no solutions"
	@echo "make clean            remove $(VENV), dist/ and what the demo left"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is older than Python 3.11. Name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make an environment. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Installing the course into $(VENV) ..."
	@$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e '.[test]'
	@touch $@

demo: $(READY)
	@$(RUN) autograder demo

test: $(READY)
	@$(RUN) python -m pytest -n logical --dist loadfile

kill-matrix: $(READY)
	@$(RUN) KILL_MATRIX=complete python -m pytest tests/test_kill_matrix.py

stock-nbgrader: $(READY)
	@$(RUN) STOCK_NBGRADER=complete python -m pytest -n logical tests/test_classroom_demo.py

lab: $(READY)
	@$(RUN) jupyter lab --notebook-dir=labs $(if $(filter 0,$(shell id -u)),--allow-root)

build: $(READY)
	@$(RUN) autograder build

check: $(READY)
	@$(RUN) autograder build --check

# numba's own simulator is what macOS has, where there is no numba-cuda. The tests in
# tests/test_numba_only.py switch it in; here it is the real thing.
.venv-numba/.ready: pyproject.toml constraints.txt
	@test -x .venv-numba/bin/python || $(PYTHON) -m venv .venv-numba
	@.venv-numba/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt numba numpy pytest
	@touch $@

test-numba-only: .venv-numba/.ready
	@PYTHONPATH=. .venv-numba/bin/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("numba_cuda") is not None)'
	@PYTHONPATH=. .venv-numba/bin/python -m pytest tests/test_simulator*.py

wheel: $(READY)
	@$(BIN)/python -m pip wheel $(PIP_FLAGS) --no-deps --wheel-dir dist .
	@ls dist/*.whl

bundle: wheel
	@git archive --format=zip --prefix=online-softmax-course/ -o dist/online-softmax-course-student.zip HEAD
	@ls dist/*.zip

clean:
	@rm -rf $(VENV) .venv-numba dist build demo_class *.egg-info
