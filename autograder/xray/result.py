"""What a look shows: the ledger, the picture and the findings of one launch, or why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from typing import Any

from autograder.figures.access import AccessPicture, access_picture
from autograder.figures.ledger import (
    LedgerRow,
    array_sizes,
    ledger_html,
    ledger_notes,
    ledger_rows,
    ledger_text,
)
from autograder.simulator.trace import Trace, Traffic


@dataclass(frozen=True, repr=False)
class XRay:
    """One traced launch.

    ``trace`` is its record, or None when there is nothing to show; ``message`` is then the sentence
    that says why ("`row_max` is not written yet."). ``kernel`` is the kernel's name, ``grid`` and
    ``block`` are the launch; ``caution`` says why ``check`` would refuse the kernel. As the last value of a notebook cell it shows itself.
    """

    kernel: str
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    trace: Trace | None = None
    message: str = ""
    details: tuple[str, ...] = field(default=())
    caution: str = ""

    @property
    def traffic(self) -> Traffic:
        """Totals of global memory: requests, sectors and bytes; all 0 without a trace."""
        return self.trace.traffic if self.trace is not None else Traffic()

    @cached_property
    def rows(self) -> tuple[LedgerRow, ...]:
        """The ledger, one row for each source line, array and direction."""
        if self.trace is None:
            return ()
        return ledger_rows(self.trace.lines, array_sizes(self.trace))

    @cached_property
    def picture(self) -> AccessPicture | None:
        """Position against time for the first block, or None without a trace."""
        return access_picture(self.trace) if self.trace is not None else None

    @property
    def findings(self) -> tuple[str, ...]:
        """The sanitizer's sentences, each with the name of its tool, and how many more there were."""
        if self.trace is None:
            return ()
        shown = tuple(f"{f.tool}: {f.message}" for f in self.trace.findings)
        more = self.trace.findings_total - len(shown)
        return (*shown, f"and {more:,} more like these.") if more > 0 and shown else shown

    def as_json(self) -> dict[str, Any]:
        """A plain dict, ready for ``json.dumps``: ``kernel``, ``grid``, ``block``, ``message``,
        ``traffic``, ``lines`` (the ledger), ``arrays``, ``findings``, ``findings_total``, ``notes``."""
        trace = self.trace
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "block": list(self.block),
            "message": self.message,
            "caution": self.caution,
            "traffic": asdict(self.traffic),
            "lines": [asdict(row) for row in self.rows],
            "arrays": [
                {"name": a.name, "space": a.space, "shape": list(a.shape), "dtype": str(a.dtype)}
                for a in (trace.arrays if trace else ())
            ],
            "findings": [f"{f.tool}: {f.message}" for f in (trace.findings if trace else ())],
            "findings_total": trace.findings_total if trace else 0,
            "barriers": trace.barriers if trace else 0,
            "notes": list(self.notes),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that sum up the ledger and the picture."""
        if self.trace is None:
            return ()
        swept = self.picture.sentences if self.picture else ()
        return (*ledger_notes(self.rows), *(s.replace("The block", "The first block") for s in swept))

    def _head(self) -> str:
        launch = f"grid {_shape(self.grid)}, block {_shape(self.block)}"
        return f"{self.kernel}: {launch}" if self.grid else self.kernel

    def __repr__(self) -> str:
        if self.trace is None:
            return "\n".join(["X-ray: " + self.message, *filter(None, [self.caution]), *self.details])
        parts = [self._head(), *filter(None, [self.caution]), "", ledger_text(self.rows, self.traffic), "", *self.notes]
        parts += ["", "Findings", *(f"  {f}" for f in self.findings)] if self.findings else []
        return "\n".join([*parts, *self.details])

    def _repr_html_(self) -> str:
        return self._html(str(self.picture))

    def _html(self, picture: str) -> str:
        if self.trace is None:
            body = f"<strong>X-ray</strong> {_sentence(self.message)}"
            body += "".join(f"<br>{_sentence(d)}" for d in (self.caution, *self.details) if d)
            return f'<div style="{_BOX};border-left:4px solid #8894a0">{body}</div>'
        parts = [f"<div><strong>{escape(self._head())}</strong></div>"]
        if self.caution:
            parts.append(f'<div style="{_BOX};border-left:4px solid #d98b00">{_sentence(self.caution)}</div>')
        parts.append(ledger_html(self.rows, self.traffic))
        parts += [f"<div>{_sentence(note)}</div>" for note in ledger_notes(self.rows)]
        if self.findings:
            items = "".join(f"<li>{_sentence(f)}</li>" for f in self.findings)
            parts.append(
                f'<div style="{_BOX};border-left:4px solid #cf3e33"><strong>Findings</strong>'
                f'<ul style="margin:4px 0">{items}</ul></div>'
            )
        parts.append(f'<div style="margin-top:8px">{picture}</div>')
        parts += [f"<div>{_sentence(d)}</div>" for d in self.details]
        return f'<div style="font-size:13px">{"".join(parts)}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook keeps: the picture is an image there, which a notebook shows that is not
        trusted yet, in the theme of the page."""
        picture = self.picture.img() if self.picture is not None else ""
        return {"text/plain": repr(self), "text/html": self._html(picture)}

    def page(self) -> str:
        """A whole HTML page, self-contained, for a file."""
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>X-ray of {escape(self.kernel)}</title>"
            "<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:24px}"
            f"</style></head><body>{self._repr_html_()}</body></html>\n"
        )


_BOX = "padding:6px 12px;margin:6px 0"


def _shape(shape: tuple[int, ...]) -> str:
    """A launch shape without its trailing ones: (8, 1, 1) is "8"."""
    sizes = list(shape)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "×".join(str(n) for n in sizes)


def _sentence(text: str) -> str:
    """Escaped, with `quoted source` set as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{p}</code>" if k % 2 else p for k, p in enumerate(parts))
