"""Lossless reading and writing of the author's files."""

from __future__ import annotations

import codecs
import errno
import os
import signal
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from citewell.model.bib import TextEdit
from citewell.model.problem import Problem
from citewell.model.system.files import FileError, locked, replace_file, stage

MAX_BYTES = 128 * 1024 * 1024
"""Bytes; a larger file is refused: it is no manuscript and no bibliography."""
CHANGED = "file-changed"
"""Problem code: a file has changed since a change was planned for it."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, since its mark begins with that of UTF-16
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TextFile(msgspec.Struct, frozen=True):
    """A file's text and the data needed to write it back byte for byte."""

    path: Path
    text: str
    """Line ends exactly as in the file."""
    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"
    """The most frequent line end, for added text."""

    def encode(self, text: str) -> bytes:
        """The bytes of `text` in this file's encoding; FileError names a character that it
        lacks."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise FileError(
                Problem(
                    code="encoding-too-small",
                    message=f"{self.path.name} is encoded in {self.encoding}, which cannot "
                    f"represent {bad!r} (U+{ord(bad):04X}).",
                    hint="Save the file as UTF-8, then try again.",
                    path=str(self.path),
                    line=error.object.count("\n", 0, error.start) + 1,
                )
            ) from error


def _too_large(path: Path) -> Problem:
    return Problem(
        "file-too-large",
        f"{path.name} is larger than {MAX_BYTES // 1024**2} MB.",
        "Split the file, or exclude it from the project.",
        str(path),
    )


def decode(data: bytes) -> tuple[str, str, bytes]:
    """Text, encoding and byte order mark of a file's bytes; encoding them again gives `data`.

    Bytes that are not UTF-8 are read as UTF-16 if every other one is zero, else as Windows-1252, or
    as Latin-1, which accepts every byte.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                text = data[len(bom) :].decode(encoding)
            except UnicodeDecodeError:
                break
            return text, encoding, bom
    for encoding in (*_utf16(data), "utf-8", "cp1252"):
        try:
            return data.decode(encoding), encoding, b""
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "latin-1", b""


def _utf16(data: bytes) -> tuple[str, ...]:
    """The encoding of UTF-16 text without a byte order mark, by its zero bytes."""
    head = data[:4096]
    if not head or len(data) % 2 or 4 * head.count(0) < len(head):
        return ()
    return ("utf-16-le",) if 2 * head[1::2].count(0) > head.count(0) else ("utf-16-be",)


def newline_of(text: str) -> str:
    """The most frequent line end in `text`; a line feed if it has none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda end: counts[end])


def read_text(path: Path | str) -> TextFile:
    """Read a text file in any supported encoding; FileError if it cannot be read."""
    path = Path(path)
    try:
        if not path.is_file() and path.exists():
            raise FileError(
                Problem("file-not-regular", f"{path.name} is not a regular file.", path=str(path))
            )
        if path.stat().st_size > MAX_BYTES:
            raise FileError(_too_large(path))
        data = path.read_bytes()
    except OSError as error:
        raise file_error(error, path, "read") from error
    text, encoding, bom = decode(data)
    return TextFile(path, text, encoding, bom, newline_of(text))


def is_stream(path: Path) -> bool:
    """True for a pipe or a device that can be read only once: a FIFO, `/dev/stdin`, `<(...)`."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def read_stream(path: Path) -> str:
    """The whole content of a pipe or device; FileError if it cannot be read or is too long."""
    with _naming_the_file(path, "read"), path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FileError(_too_large(path))
    return decode(data)[0]


def write_text(file: TextFile, new_text: str) -> TextFile:
    """Replace the file's text in one step and return the new state; on FileError the file is
    unchanged.

    The text is written to a temporary file in the same folder, flushed to disk and renamed over the
    old file, so that a crash or a full disk never leaves half a file. A symbolic link stays a link.
    A file that has changed since `file` was read is left alone; other processes of Citewell wait
    from that comparison until the renaming (`locked`).
    """
    write_texts([(file, new_text)])
    return msgspec.structs.replace(file, text=new_text)


def write_texts(changes: Sequence[tuple[TextFile, str]]) -> None:
    """Replace the texts of several files: all, or none when one of them fails (FileError).

    All new texts are on disk, each beside its file, before the first is renamed. If a rename fails,
    the files already replaced get their old bytes back.
    """
    with locked(file.path for file, _ in changes):
        _write_locked(changes)


def _write_locked(changes: Sequence[tuple[TextFile, str]]) -> None:
    staged: list[_Staged] = []
    done: list[_Staged] = []
    try:
        for file, new_text in changes:
            staged.append(_stage(file, file.encode(new_text)))
        for one in staged:
            with _naming_the_file(one.path, "written"):
                _swap(one)
            done.append(one)
    except BaseException as error:
        for one in staged[len(done) :]:
            with suppress(OSError):
                one.temporary.unlink()
        _restore(done, error)
        raise


class _Staged(msgspec.Struct):
    """A new text in a temporary file beside its target."""

    path: Path
    target: Path
    temporary: Path
    old: bytes | None
    """None for a new file."""
    new: bytes
    mode: int | None


def _stage(file: TextFile, data: bytes) -> _Staged:
    with _naming_the_file(file.path, "written"):
        target = file.path.resolve()
        mode = _mode_of(target)
        old = target.read_bytes() if mode is not None else None
        read = file.encode(file.text)
        if old != read and (old is not None or file.text):
            raise _changed(file.path)
        return _Staged(file.path, target, stage(target, data, mode), old, data, mode)


def _changed(path: Path) -> FileError:
    return FileError(
        Problem(
            CHANGED,
            f"{path.name} has changed on disk since it was read.",
            "Try again; Citewell then reads the new text.",
            str(path),
        )
    )


def _swap(one: _Staged) -> None:
    """Rename the new text over the file, unless a program that takes no lock has written it since.

    Text that this program appends after the last comparison goes to the old file, and is appended
    to the new one; an old file with any other change is put back.
    """
    if one.old is None:
        if one.target.exists():
            raise _changed(one.path)
        replace_file(one.temporary, one.target)
        return
    try:
        opened = one.target.open("rb")
    except FileNotFoundError:
        raise _changed(one.path) from None
    with opened as before:
        _wait_for_writers(before.fileno())
        if before.read() != one.old:
            raise _changed(one.path)
        if os.name == "nt":  # Windows replaces no open file
            before.close()
        replace_file(one.temporary, one.target)
        if before.closed:
            return
        _wait_for_writers(before.fileno())
        before.seek(0)
        late = before.read()
    if late == one.old:
        return
    if late.startswith(one.old):
        with one.target.open("ab") as end:
            end.write(late[len(one.old) :])
    else:
        replace_file(stage(one.target, late, one.mode), one.target)
        raise _changed(one.path)


def _wait_for_writers(descriptor: int) -> None:
    """Wait up to a second for programs that have the file open to write it. Only Linux grants a
    lease on the condition that there are none."""
    try:
        import fcntl

        set_lease, read, none = fcntl.F_SETLEASE, fcntl.F_RDLCK, fcntl.F_UNLCK
        # A program that opens the leased file waits for a moment, and this process gets a signal:
        # one that is ignored instead of SIGIO, which would end it.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    except (ImportError, AttributeError, OSError):
        return
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            fcntl.fcntl(descriptor, set_lease, read)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return
            time.sleep(0.001)
        else:
            fcntl.fcntl(descriptor, set_lease, none)
            return


def _restore(done: Sequence[_Staged], error: BaseException) -> None:
    """Restore the old bytes of replaced files; report one that cannot be restored. A file written
    by another program since stays as it is."""
    for one in reversed(done):
        try:
            if one.target.read_bytes() != one.new:
                continue
            if one.old is None:
                one.target.unlink()
            else:
                replace_file(stage(one.target, one.old, one.mode), one.target)
        except OSError as again:
            reason = again.strerror or str(again)
            message = f"{one.path.name} was written and could not be restored: {reason}."
            problem = Problem("file-io", message, "Revert it manually.", str(one.path))
            raise FileError(problem) from error


@contextmanager
def _naming_the_file(path: Path, verb: str) -> Iterator[None]:
    """Turn an error of the system into one that names the file."""
    try:
        yield
    except OSError as error:
        raise file_error(error, path, verb) from error


def new_file(path: Path | str, newline: str = "\n") -> TextFile:
    """An empty UTF-8 file that does not exist yet, for `write_text`."""
    return TextFile(Path(path), "", newline=newline)


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """`text` with all edits made; ValueError if they overlap or leave the text."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: e.span):
        start, end = edit.span.start, edit.span.end
        if not position <= start <= end <= len(text):
            raise ValueError(f"edit {start}-{end} overlaps another edit or exceeds the text")
        parts += (text[position:start], edit.text)
        position = end
    parts.append(text[position:])
    return "".join(parts)


def _mode_of(target: Path) -> int | None:
    """Permission bits of an existing file. Raises `PermissionError` if it is not writable."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None
    # Renaming over a file needs no permission for the file itself; therefore it is checked here.
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return mode


def file_error(error: OSError, path: Path, verb: str) -> FileError:
    """The error of a file that cannot be "read" or "written", with its remedy."""
    full = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
    if error.errno in full:
        code, message = "disk-full", f"{path.name} cannot be {verb}: the disk is full."
        hint = "Free some space, then try again; the file is unchanged."
    elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        code, message = "file-no-permission", f"{path.name} cannot be {verb}: no permission."
        hint = f"Grant yourself permission for the file and its folder {path.parent}."
    elif isinstance(error, FileNotFoundError):
        missing = "no such file" if path.parent.is_dir() else f"there is no folder {path.parent}"
        code, message = "file-missing", f"{path.name} cannot be {verb}: {missing}."
        hint = "Check the name."
    else:
        reason = error.strerror or str(error)
        code, message = "file-io", f"{path.name} cannot be {verb}: {reason}."
        hint = "Check the disk; the file is unchanged."
    return FileError(Problem(code, message, hint, str(path)))
