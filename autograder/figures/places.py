"""Pictures of where things are: threads over an array, and the three kinds of memory."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.figures.svg import Canvas, Picture, text_width


@dataclass(frozen=True, repr=False)
class IndexPicture(Picture):
    """``threads`` were started, ``working`` of them have an element, ``idle`` have none;
    ``missed`` elements have no thread."""

    threads: int = 0
    working: int = 0
    idle: int = 0
    missed: int = 0


def index_picture(grid: int, block: int, n: int, *, name: str = "X") -> IndexPicture:
    """``grid`` blocks of ``block`` threads over an array of ``n`` elements, one element a thread.

    Threads past the end are drawn hollow (they must be guarded), elements past the last thread are
    marked as missed. At most 64 cells are drawn: more raise ValueError, as do counts below 1.
    """
    threads = grid * block
    cells = max(threads, n)
    if min(grid, block, n) < 1 or cells > 64:
        raise ValueError("grid, block and n start at 1 and the picture has room for 64 cells")
    working, idle, missed = min(threads, n), max(threads - n, 0), max(n - threads, 0)
    title = (
        f"{_count(grid, 'block')} of {_count(block, 'thread')} over {_count(n, 'element')} of {name}"
    )
    desc = f"Threads started: {threads}; with an element: {working}"
    desc += f"; with none, so that they must do nothing: {idle}" if idle else ""
    desc += f"; elements without a thread: {missed}" if missed else ""
    if idle:
        rule = "hollow threads have i ≥ n: the guard keeps them out"
    else:
        rule = "red elements are never reached" if missed else "every thread has one element"
    rule = "i = block index × block size + thread index; " + rule
    per_row = cells if cells <= 18 else max(block * (18 // block), min(block, 18))
    size = 36.0
    width = max(100 + per_row * size + 20, text_width(rule, 12) + 28)
    canvas = Canvas(width, title, desc)
    canvas.text(14, 24, title, size=14, bold=True)
    lines = -(-cells // per_row)
    for line in range(lines):
        y = 44 + line * 104.0
        canvas.text(14, y + 11, "block", "mut", size=11)
        canvas.text(14, y + 39, "thread", "mut", size=11)
        canvas.text(14, y + 79, name, size=12, mono=True, bold=True)
        for k in range(line * per_row, min(cells, (line + 1) * per_row)):
            x = 72 + (k - line * per_row) * size
            b, t = divmod(k, block)
            tint, edge = (("ldt", "ld"), ("stt", "st"), ("okt", "ok"))[b % 3]
            if k < threads:
                first = t == 0 or k == line * per_row
                if first:
                    canvas.text(x + 3, y + 11, str(b), edge, size=12, bold=True)
                canvas.line(x + (3 if first else -1), y + 17, x + size - 4, y + 17, edge, width=2)
                live = k < n
                canvas.rect(x + 2, y + 22, size - 5, 25, tint if live else None, edge, radius=12)
                canvas.text(x + size / 2, y + 39, str(t), "fg" if live else "mut", size=12,
                            anchor="middle", mono=True)
                if live:
                    canvas.arrow(x + size / 2, y + 48, x + size / 2, y + 62, edge, width=1.2, head=3.5)
            if k < n:
                missing = k >= threads
                canvas.rect(x + 1, y + 63, size - 3, 25, "badt" if missing else tint,
                            "bad" if missing else edge)
                canvas.text(x + size / 2, y + 80, str(k), size=11, anchor="middle", mono=True)
            else:
                canvas.text(x + size / 2, y + 79, "idle", "mut", size=10.5, anchor="middle")
    canvas.text(14, 44 + lines * 104.0 + 8, rule, size=12)
    return IndexPicture(canvas.finish(44 + lines * 104.0 + 22), title, desc, threads, working, idle,
                        missed)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def memory_picture() -> Picture:
    """Registers, shared memory and global memory: who sees each, and what crosses between them."""
    title = "Three kinds of memory"
    desc = (
        "Each thread has its own registers. The threads of one block share a small, fast shared memory. "
        "All blocks reach the same large, slow global memory, where the rows are; whatever crosses that "
        "line is the traffic that we count."
    )
    c = Canvas(720, title, desc)
    c.text(14, 24, title, size=14, bold=True)
    for b in range(2):
        x = 14 + b * 352.0
        c.rect(x, 40, 340, 172, "panel", "rule", radius=6)
        c.text(x + 12, 60, f"block {b}", size=12, bold=True)
        for t in range(4):
            tx = x + 12 + t * 80.0
            c.rect(tx, 70, 74, 50, "bg", "ok", radius=4)
            c.text(tx + 37, 87, f"thread {t}" if t < 3 else "…", size=10.5, anchor="middle")
            c.rect(tx + 7, 94, 60, 19, "okt", None, radius=2)
            c.text(tx + 37, 108, "registers", size=10.5, anchor="middle")
            c.line(tx + 37, 122, tx + 37, 140, "mut", width=1.2)
        c.rect(x + 12, 142, 314, 32, "ldt", "ld", radius=4)
        c.text(x + 169, 163, "shared memory: this block only", size=12, anchor="middle")
        c.arrow(x + 120, 176, x + 120, 246, "st", width=2)
        c.arrow(x + 220, 246, x + 220, 176, "st", width=2)
        c.text(x + 112, 202, "store", "st", size=11, anchor="end")
        c.text(x + 228, 202, "load", "st", size=11)
    c.line(14, 228, 706, 228, "bad", width=1.4, dash="6 4")
    c.text(360, 224, "traffic", "bad", size=11, anchor="middle", bold=True)
    c.rect(14, 250, 692, 46, "stt", "st", radius=4)
    c.text(360, 270, "global memory: X and Y, seen by every block", size=12.5, anchor="middle", bold=True)
    c.text(360, 287, "large and slow; moved in sectors of 32 bytes", size=11.5, anchor="middle")
    c.text(14, 318, "A row that does not fit in registers or shared memory must be fetched again.", "mut",
           size=11.5)
    return Picture(c.finish(332), title, desc)
