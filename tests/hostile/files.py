"""Files that are archives, links, devices or another's."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

from hostile.code import touch
from hostile.model import CANARY, FULL, LAB, UNJUDGED, Attack

Lay = Callable[[Path, bytes], None]
POSIX = os.name == "posix"


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, attributes: int = 0) -> bytes:
    """An archive; ``attributes`` is the kind of each file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type, info.create_system = method, 3
            info.external_attr = (attributes or stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    return data.getvalue()


def damaged(method: int) -> bytes:
    """An archive whose one file has been spoilt in its middle."""
    data = bytearray(packed({f"{LAB}.ipynb": bytes(range(256)) * 400}, method))
    for at in range(80, 140):
        data[at] ^= 0xFF
    return bytes(data)


def archive(data: bytes) -> Lay:
    """Handed in as an archive in place of the notebook."""

    def lay(folder: Path, _: bytes) -> None:
        _place(folder, f"{LAB}/work.zip").write_bytes(data)

    return lay


def _place(folder: Path, name: str) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def link(target: str) -> Lay:
    def lay(folder: Path, _: bytes) -> None:
        _place(folder, f"{LAB}/{LAB}.ipynb").symlink_to(target)

    return lay


def linked_folder(folder: Path, _: bytes) -> None:
    (folder / LAB).symlink_to("../bob/" + LAB)


def hard_link(folder: Path, data: bytes) -> None:
    """One file under two names: writing through one of them would change the other."""
    place = _place(folder, f"{LAB}/{LAB}.ipynb")
    place.write_bytes(data)
    os.link(place, folder / LAB / "twin.dat")


def pipe(folder: Path, _: bytes) -> None:
    os.mkfifo(_place(folder, f"{LAB}/{LAB}.ipynb"))


def with_files(files: dict[str, str]) -> Lay:
    """The notebook and other files beside it."""

    def lay(folder: Path, data: bytes) -> None:
        _place(folder, f"{LAB}/{LAB}.ipynb").write_bytes(data)
        for name, text in files.items():
            _place(folder, f"{LAB}/{name}").write_text(text)

    return lay


def put_aside(name: str, tries: str, lay: Lay, says: str) -> Attack:
    return Attack(name, tries, lay=lay, earns=UNJUDGED, others=UNJUDGED, says=says)


SHADOWS = {
    name: f"{touch(name)}\nraise SystemExit\n"
    for name in (
        "numpy.py",
        "numba.py",
        "sitecustomize.py",
        "autograder.py",
        "nbgrader_config.py",
        "conftest.py",
        "json.py",
    )
}
ZIP_SLIP = packed({f"../../../{CANARY.name}/slip.ipynb": b"{}", f"{CANARY}/slip.ipynb": b"{}"})

ATTACKS = (
    Attack("modules beside the notebook", "a module of its own in place of NumPy", lay=with_files(SHADOWS), earns=FULL),
    Attack(
        "odd timestamp",
        "an exception that ends the run",
        lay=with_files({"timestamp.txt": "9999-12-31 -23:5999999999999999999999999999999999999999999999 +99:99"}),
        earns=FULL,
        says="holds no time",
    ),
    put_aside("zip slip", "a file outside", archive(ZIP_SLIP), "leads outside"),
    put_aside("zip bomb", "all of the disk", archive(packed({f"{LAB}.ipynb": b" " * 30_000_000})), "-fold"),
    put_aside(
        "device in an archive",
        "a device",
        archive(packed({f"{LAB}.ipynb": b""}, attributes=stat.S_IFCHR | 0o666)),
        "a device",
    ),
    put_aside(
        "damaged bzip2", "an exception that ends the run", archive(damaged(zipfile.ZIP_BZIP2)), "cannot be unpacked"
    ),
    put_aside(
        "damaged LZMA", "an exception that ends the run", archive(damaged(zipfile.ZIP_LZMA)), "cannot be unpacked"
    ),
)
if POSIX:
    ATTACKS += (
        put_aside(
            "link to bob's notebook",
            "another student's work",
            link(f"../../bob/{LAB}/{LAB}.ipynb"),
            "links are not followed",
        ),
        put_aside("link to bob's folder", "another student's work", linked_folder, "links are not followed"),
        put_aside("pipe", "a reader that waits for ever", pipe, "was not opened"),
        Attack("hard link", "a file that is changed when the notebook is", lay=hard_link, earns=FULL),
    )
