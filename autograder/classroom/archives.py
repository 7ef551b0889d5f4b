"""Zip archives that students hand in: what may be in them, and how it is taken out.

Nothing is ever written under a name from an archive: members become numbered files in a scratch
folder, and their names are kept as text. What an archive may hold is limited before and while it is
read, so that a small file cannot fill a disk.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LARGEST_MEMBER = 64 * 1024 * 1024  # bytes of one file, unpacked
LARGEST_ARCHIVE = 64 * 1024 * 1024  # bytes of a student's archive, packed
MOST_UNPACKED = 256 * 1024 * 1024  # bytes that a student's archives give together
MOST_MEMBERS = 20_000  # files in a student's archive
HIGHEST_RATIO = 200  # unpacked to packed; notebooks reach 30
RATIO_FROM = 4 * 1024 * 1024  # bytes; below, no ratio does harm
DEEPEST_ARCHIVE = 3  # archives inside archives
_DIRECTORY_ENTRY = 46  # bytes of an archive's directory for one member, at least
_CHUNK = 1 << 20


class ArchiveRefused(Exception):
    """An archive that is not used; the message is a sentence."""


@dataclass
class Budget:
    """What a student's archives may still give, in bytes. ``strict``: one bad member spoils the archive."""

    left: int = MOST_UNPACKED
    strict: bool = True


@dataclass(frozen=True)
class Member:
    """One file of an archive: the parts of its name, and the reason why it is not taken ("" when it is)."""

    parts: tuple[str, ...]
    info: zipfile.ZipInfo
    refused: str = ""


def open_archive(path: Path, name: str, budget: Budget) -> zipfile.ZipFile:
    """The archive at ``path``, called ``name`` in messages. Raises ArchiveRefused."""
    try:
        size = path.stat().st_size
        if budget.strict:
            if size > LARGEST_ARCHIVE:
                raise ArchiveRefused(
                    f"The archive {name} has {size / 1e6:.0f} MB; more than "
                    f"{LARGEST_ARCHIVE / 1e6:.0f} MB are not opened. Hand in the notebook alone."
                )
            if _directory_bytes(path, size) > MOST_MEMBERS * 4 * _DIRECTORY_ENTRY:
                raise ArchiveRefused(_too_many(name))
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise ArchiveRefused(
            f"The file {name} cannot be opened as a zip archive ({_why(error)}). Hand in the notebook itself."
        ) from error
    except OSError as error:
        raise ArchiveRefused(f"The archive {name} cannot be read ({error.strerror or error}).") from error
    if budget.strict and len(archive.infolist()) > MOST_MEMBERS:
        archive.close()
        raise ArchiveRefused(_too_many(name))
    return archive


def members(archive: zipfile.ZipFile, name: str) -> Iterator[Member]:
    """The files of an archive, folders left out."""
    for info in archive.infolist():
        text = _member_name(info)
        parts = tuple(part for part in re.split(r"[/\\]", text) if part not in ("", "."))
        if not parts or info.is_dir() or text.endswith("\\"):
            continue
        yield Member(parts, info, _refusal(text, parts, info, name))


def extract(archive: zipfile.ZipFile, member: Member, to: Path, budget: Budget) -> None:
    """Write one member's bytes to ``to``. Raises ArchiveRefused when it is larger than it says or may be."""
    called = member.parts[-1]
    info = member.info
    limit = LARGEST_MEMBER if not budget.strict else min(LARGEST_MEMBER, budget.left)
    if info.file_size > limit:
        raise ArchiveRefused(_too_large(called, info.file_size))
    if info.file_size > RATIO_FROM and info.file_size > HIGHEST_RATIO * max(info.compress_size, 1):
        raise ArchiveRefused(
            f"The file {called} in the archive would grow {info.file_size // max(info.compress_size, 1):,}-fold "
            "when unpacked; it was not opened."
        )
    written = 0
    try:
        with to.open("wb") as target:
            for block in _blocks(archive, info, called):
                written += len(block)
                if written > limit or written > info.file_size:
                    raise ArchiveRefused(_too_large(called, written))
                target.write(block)
    finally:
        budget.left -= written


def _blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo, called: str) -> Iterator[bytes]:
    """A member's bytes. Raises ArchiveRefused for whatever a damaged one makes of its decompressor: each of the four
    kinds has errors of its own."""
    try:
        with archive.open(info) as source:
            while block := source.read(_CHUNK):
                yield block
    except Exception as error:
        raise ArchiveRefused(
            f"The file {called} in the archive cannot be unpacked ({_why(error)}). Hand in the notebook itself."
        ) from error


def _refusal(text: str, parts: tuple[str, ...], info: zipfile.ZipInfo, name: str) -> str:
    shown = text[:80]
    if text.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", text) or ".." in parts:
        return f"The archive {name} holds a file whose name leads outside of it ({shown}); it was not unpacked."
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return f"The archive {name} holds a link ({shown}), and links are not followed."
    if kind not in (0, stat.S_IFREG):
        return f"The archive {name} holds a device ({shown}), and only files are read."
    if info.flag_bits & 0x1:
        return f"The archive {name} is protected by a password. Hand in the notebook itself."
    return ""


def _member_name(info: zipfile.ZipInfo) -> str:
    """The name as text: without the flag that says UTF-8, it may be UTF-8 all the same."""
    name = info.orig_filename.split("\x00")[0]
    if not info.flag_bits & 0x800:
        try:
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            return name
    return name


def _directory_bytes(path: Path, size: int) -> int:
    """The size of the archive's directory by its last record, 0 when there is none: Python would read
    it into memory whole."""
    with path.open("rb") as file:
        file.seek(max(0, size - 65_557))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 16:
        return 0
    return min(struct.unpack("<L", tail[at + 12 : at + 16])[0], size)


def _too_many(name: str) -> str:
    return f"The archive {name} holds more than {MOST_MEMBERS:,} files. Hand in the notebook alone."


def _too_large(name: str, size: int) -> str:
    return f"The file {name} in the archive would have {size / 1e6:.0f} MB or more unpacked; it was not opened."


def _why(error: Exception) -> str:
    words = str(error).strip().rstrip(".").splitlines()
    return words[0][:120] if words else type(error).__name__
