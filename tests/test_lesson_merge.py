"""What lesson 03 says was measured is what was recorded, and its arithmetic of merges holds."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LESSON = (ROOT / "course" / "03_merge_reduce.py").read_text(encoding="utf-8")
ORDER = (
    "safe_softmax",
    "online_softmax_tiled",
    "online_softmax_tree",
    "online_softmax_warp",
    "online_softmax_vec4",
    "online_softmax_grid_stride",
)


def test_the_table_of_times_is_the_recorded_run():
    record = json.loads((ROOT / "benchmarks" / "merge_reduce.json").read_text(encoding="utf-8"))
    assert f"{record['rows']:,} × {record['n']:,}" in LESSON and record["gpu"].split()[-1] in LESSON
    rows = re.findall(r"^# \| [^|]+ \| ([\d,]+) \| (\d\.\d+) \|$", LESSON.split("## What a GPU says")[1], re.MULTILINE)
    shown = [(int(blocks.replace(",", "")), float(ms)) for blocks, ms in rows]
    assert shown == [(record["kernels"][name]["grid"], record["kernels"][name]["ms"]) for name in ORDER]


def test_merges_by_warp():
    busy = [max(1, half // 32) for half in (128, 64, 32, 16, 8, 4, 2, 1)]
    assert busy == [4, 2, 1, 1, 1, 1, 1, 1] and f"busy: {sum(busy)}." in LESSON
    assert f"twice: {2 * 5 * 256 // 32}." in LESSON
