"""Pictures for the lessons, the labs and the reports.

Every function is pure: the same arguments give the same text, byte for byte. Pictures are
self-contained SVG with their own background, readable on light and dark pages; as the last value of
a cell, or in ``display(picture)``, they show themselves. ``str(picture)`` is the SVG text, ``picture.img()`` an
HTML ``<img>``, ``picture.save(path)`` writes a file, and ``repr(picture)`` says the same in words.

The tiny example
    transfer_film(row=(3, 1, 4, 2, 8, 5, 7, 6), tile=4, kind="three_pass", columns=4)
        A film strip, one frame for each tile that crosses global memory; kind "three_pass", "online" or
        "one_pass". ``.fetches .stores .transfers`` (8 transfers in three passes, 6 online, 4 in one pass), ``.frames``.
    film_player(film)
        The same film with buttons (inline HTML and script; without scripts only a sentence is left).
    attention_film(scores, values, tile=2, columns=3)
        The state (m, d, O) of one query after each tile of keys, as a film. ``.frames``
    online_states(row, tile=1) -> tuple of State(step, x, m, factor, d)
    state_table(states or rows of (step, x, m, factor, d), digits=4, caption="")
        The running maximum m and denominator d, step by step, as a table.

Threads and memory
    index_picture(grid, block, n, name="X")
        Threads over an array, idle ones hollow. ``.threads .working .idle .missed``
    memory_picture()
        Registers, shared memory, global memory, and the line that traffic crosses.
    sector_map(elements, itemsize=4, name="X", title="")
        The sectors one request touches, from the element that each lane reads.
        ``.lanes .sectors .moved_bytes .used_bytes``
    tree_picture(values, op="max" or "sum", name="red", barrier=True)
        A tree reduction with its barriers. ``.steps .levels .result``
    state_tree(states, names=())
        States (m, d) that merge pair by pair, each line with the factor of its d. ``.levels .result``
    exchange_picture(sources, labels=())
        What the lanes of a warp hold while they read each other, from the lane that each read in each
        step. ``.reach .full .doubled``

A launch (``trace = autograder.simulator.launch(..., touches=True)``, or ``xray(...).trace``)
    access_picture(trace, array=None)
        Position against time, a lane for each source line: sweeps and scattered accesses.
        ``.lanes`` (line, op, array, sweeps, per_request, scattered ...), ``.sentences``
    ledger(trace)
        Traffic by source line as a table; ledger_rows, ledger_text, ledger_html, ledger_notes and
        array_sizes are its parts.
    fetch_map(traces of one block each, array, rows, title="")
        Which block fetches which tile of an array, and when. ``.order``
    traffic_bars([(name, trace or Traffic or (loads, stores)), ...], unit="bytes", title="")
        Bars to one scale; unit "bytes", "sectors" or "requests".
    growth_bars([(label, first, second), ...], names=("naive", "online"), unit="bytes", title="")
        Two quantities that grow at different rates, on a scale of powers of ten.
"""

from autograder.figures.access import AccessPicture, access_picture
from autograder.figures.bars import traffic_bars
from autograder.figures.fetches import FetchMap, fetch_map
from autograder.figures.film import Film, transfer_film
from autograder.figures.growth import growth_bars
from autograder.figures.lanes import Exchange, exchange_picture
from autograder.figures.ledger import (
    array_sizes,
    ledger,
    ledger_html,
    ledger_notes,
    ledger_rows,
    ledger_text,
)
from autograder.figures.merging import StateTree, merge_states, state_tree
from autograder.figures.places import IndexPicture, index_picture, memory_picture
from autograder.figures.player import film_player
from autograder.figures.query_film import attention_film
from autograder.figures.sectors import SectorMap, sector_map
from autograder.figures.states import Html, State, online_states, state_table
from autograder.figures.svg import Picture
from autograder.figures.tree import Tree, tree_picture

__all__ = [
    "AccessPicture",
    "Exchange",
    "FetchMap",
    "Film",
    "Html",
    "IndexPicture",
    "Picture",
    "SectorMap",
    "State",
    "StateTree",
    "Tree",
    "access_picture",
    "array_sizes",
    "attention_film",
    "exchange_picture",
    "fetch_map",
    "film_player",
    "growth_bars",
    "index_picture",
    "ledger",
    "ledger_html",
    "ledger_notes",
    "ledger_rows",
    "ledger_text",
    "memory_picture",
    "merge_states",
    "online_states",
    "sector_map",
    "state_table",
    "state_tree",
    "traffic_bars",
    "transfer_film",
    "tree_picture",
]
