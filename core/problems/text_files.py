"""Opens what should be a text file, plain or gzipped, says what it is when it is none, and finds its encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from pathlib import Path
from typing import IO, Any, cast

from core.problems import cells
from core.problems.table import TableError

MAX_BYTES = 4 << 30


def open_file(path: Path, name: str) -> IO[bytes]:
    try:
        if path.is_dir():
            raise TableError("this is a folder; choose the CSV file in it", name)
        raw = path.open("rb")
    except FileNotFoundError:
        raise TableError(f"there is no such file in {path.parent}", name) from None
    except OSError as error:
        raise TableError(f"the file cannot be opened ({error.strerror})", name) from None
    return raw


FORMATS = {
    b"PK\x03\x04": "a zip, npz or Excel file; open an .npz as it is, save a spreadsheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as CSV",
    b"PAR1": "a Parquet file; save it as CSV",
    b"\x93NUMPY": "a NumPy array; open it with its ending .npy",
    b"%PDF": "a PDF document; save the table as CSV",
    b"\x89PNG": "a picture; choose a CSV file",
    b"\x89HDF": "an HDF5 file; save the table as CSV",
}


def unpacked(raw: IO[bytes], name: str) -> tuple[IO[bytes], int]:
    start = raw.read(8)
    length = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    if not start:
        raise TableError("the file is empty", name)
    if length > MAX_BYTES:
        raise TableError(f"the file has {length / 2**30:.1f} GiB; at most {MAX_BYTES >> 30} are read", name)
    for magic, meaning in FORMATS.items():
        if start.startswith(magic):
            raise TableError(f"this is {meaning}", name)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw)), length
    return raw, length


def text_encoding(binary: IO[bytes], name: str) -> str:
    """The text encoding by byte order mark, else UTF-8 when the first part is, else Windows-1252."""
    try:
        sample = binary.read(1 << 16)
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise TableError(f"the gzip file is damaged or cut off ({error}); fetch it again", name) from None
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    ):  # fmt: skip
        if sample.startswith(mark):
            return encoding
    if b"\x00" in sample:
        before = sample[: sample.index(b"\x00")]
        line, start = before.count(b"\n") + 1, before.rfind(b"\n") + 1
        guess = cells.find_delimiter([text.decode("latin-1") for text in before.splitlines() if text.strip()] or [""])
        column = before[start:].count(guess.encode()) + 1
        raise TableError("there are zero bytes: this is not a text file; save the table as CSV", name, line, column)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


class KeptOpen(io.RawIOBase):
    """A file that stays open when what wraps it is gone."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)
