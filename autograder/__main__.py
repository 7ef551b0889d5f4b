"""``python -m autograder``: the same as the command ``autograder``."""

import sys

from autograder.cli import main

if __name__ == "__main__":
    sys.exit(main())
