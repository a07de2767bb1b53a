"""Records that an author accepted from online answers, stored in a separate library of the user.

A record is written at once, as a line of the exchange format. The library is then built from the
lines by `citewell library add` in a separate process, which takes a second or two; processes that
have the library open notice its new snapshot (`which_library.snapshot_of`) and reopen it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_error
from citewell.corpus.layout import ACCEPTED, LOCK
from citewell.engine.processes import command_line, worker_environment
from citewell.engine.which_library import (
    ACCEPTED_LIBRARY,
    accepted_library,
    is_accepted_current,
    keeps_accepted,
)
from citewell.model import Problem, Work
from citewell.model.system.child_process import start_command
from citewell.model.system.files import write_atomically
from citewell.options import Options
from citewell.options.folders import make_private_file
from citewell.sources.values import record_line

logger = logging.getLogger(__name__)

BUILD_SECONDS = 60.0
"""Seconds that a command waits for the build before it ends."""
_TRIES = 20
"""Number of attempts while another process builds."""
_PAUSE = 0.5
_LOG = ".build.log"
_LOCK_SECONDS = 5.0


class AcceptedRecords:
    """Writes accepted records and builds their library. Safe across threads and processes."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = accepted_library(options)
        self._lock = threading.Lock()
        self._builder: threading.Thread | None = None
        self._is_wanted = False
        self._has_kept = False

    def keep(self, works: Sequence[Work]) -> tuple[Problem, ...]:
        """Write records from sources, and start a build; return the problems of writing."""
        try:
            append_records(self._folder, works)
        except OSError as error:
            message = f"Accepted records cannot be kept: {error.strerror or error}."
            return (library_error("library-unwritable", message, self._folder).problem,)
        self._has_kept = True
        self.build()
        return ()

    def resume(self) -> None:
        """Build records that an earlier process did not."""
        if keeps_accepted(self._options) and not is_accepted_current(self._options):
            self.build()

    def build(self) -> None:
        """Build the library in the background; if a build is running, another one follows."""
        with self._lock:
            self._is_wanted = True
            if self._builder is None:
                self._builder = threading.Thread(
                    target=self._run, name="citewell-accepted", daemon=True
                )
                self._builder.start()

    def close(self) -> None:
        """Wait until the stored records are built."""
        builder = self._builder
        if builder is not None and self._has_kept:
            builder.join(BUILD_SECONDS)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._is_wanted:
                    self._builder = None
                    return
                self._is_wanted = False
            try:
                self._build()
            except OSError as error:
                logger.warning("The accepted records cannot be built: %s", error)

    def _build(self) -> None:
        log = self._folder / _LOG
        for number in range(_TRIES):
            if number:
                time.sleep(_PAUSE)
            with make_private_file(log).open("wb") as words:
                build = start_command(
                    build_command(self._options, self._folder),
                    environment=worker_environment(),
                    stdout=words,
                    stderr=words,
                )
                with build:
                    code = build.wait()
            if not code:
                return
            output = log.read_text(encoding="utf-8", errors="replace").strip()
            if "library-locked" not in output:
                logger.warning("The accepted records cannot be built: %s", output[-500:])
                return


def build_command(options: Options, folder: Path) -> list[str]:
    """The command line that builds the library from its records, with the settings' indexes."""
    add = ["library", "add", str(folder / ACCEPTED), "--format", "records"]
    command = command_line(options, path=str(folder.parent))
    return [*command, *add, "--name", ACCEPTED_LIBRARY]


def append_records(folder: Path, works: Sequence[Work]) -> None:
    """Add lines to the accepted records. Raises `OSError`."""
    path = make_private_file(folder / ACCEPTED)
    with _held(folder), path.open("ab") as stream:
        stream.write(b"".join(record_line(work) + b"\n" for work in works))


def drop_records(folder: Path, ids: Container[str]) -> int:
    """Remove the lines with these ids from the accepted records; return how many are left.

    The library must still be built. Raises `OSError`.
    """
    path = folder / ACCEPTED
    with _held(folder):
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if msgspec.json.decode(line)["id"] not in ids]
        if len(kept) < len(lines):
            write_atomically(path, b"".join(kept))
    return len(kept)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(folder / f".{ACCEPTED}.{LOCK}", timeout=_LOCK_SECONDS, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise OSError("another process is writing it") from None
    try:
        yield
    finally:
        lock.release()
