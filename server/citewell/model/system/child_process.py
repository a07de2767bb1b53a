"""Starts processes that end when this one does, however it ends.

Each child holds the read end of a pipe, and only this process the write end: the pipe is the
child's standard input or, in a pool, the one that `multiprocessing` makes. The system closes it
when this process ends. One child removes a temporary folder and kills the external programs that
use it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from citewell.privacy import SAFE_PATH

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.connection import Connection

ENDS_WITH_INPUT = "CITEWELL_ENDS_WITH_INPUT"
"""Environment variable of a command that ends when its standard input is closed."""
_END_USERS = "--end-users"
_GRACE_SECONDS = 10.0
"""Seconds that an interrupted command has for cleaning up."""
_AGAIN_SECONDS = 0.05


def start_child(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    is_urgent: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a module of Citewell that ends when its standard input does. Raises `OSError`."""
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    if not is_urgent:
        flags |= getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    return subprocess.Popen(
        tuple(command),
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env={**(os.environ if environment is None else environment), **SAFE_PATH},
        creationflags=flags,
    )


def start_command(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a command of Citewell that does not read its standard input. Raises `OSError`."""
    given = {**(os.environ if environment is None else environment), ENDS_WITH_INPUT: "1"}
    return start_child(command, environment=given, stdout=stdout, stderr=stderr)


def run_program(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> int:
    """Run an external program without its output; return its exit code. Raises `OSError` or
    `subprocess.TimeoutExpired`."""
    nowhere = subprocess.DEVNULL
    ours = [sys.executable, "-P", "-m", __name__, str(folder), *command]
    with start_child(ours, environment=environment, stdout=nowhere, stderr=nowhere) as child:
        try:
            return child.wait(seconds)
        finally:
            assert child.stdin is not None
            child.stdin.close()  # the child ends the program and itself
            child.wait()  # `with` does not do this after an interrupt


@contextlib.contextmanager
def temporary_folder(parent: str | None = None, *, end_users: bool = False) -> Iterator[Path]:
    """Create a folder in `parent` or the system's folder for temporary files. It is removed after
    the block, or by a separate process once this one is gone. `end_users` first kills other
    processes with open files in it (needs psutil). Raises `OSError`."""
    from tempfile import TemporaryDirectory

    nowhere = subprocess.DEVNULL
    with TemporaryDirectory(prefix="citewell-", dir=parent, ignore_cleanup_errors=True) as folder:
        flags = (_END_USERS,) if end_users else ()
        ours = [sys.executable, "-P", "-m", __name__, *flags, folder]
        with start_child(ours, stdout=nowhere, stderr=nowhere) as child:
            try:
                yield Path(folder)
            finally:
                assert child.stdin is not None
                child.stdin.close()
                child.wait()


def end_with_input(end: Callable[[], object]) -> None:
    """Call `end` once standard input ends; nothing else may read it. The process exits a few
    seconds later even if that takes longer."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        # The reader of the output is gone, too.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        end()
        threading.Event().wait(_GRACE_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="citewell-parent", daemon=True).start()


@contextlib.contextmanager
def process_pool(
    jobs: int, begin: Callable[..., None], arguments: tuple[Any, ...]
) -> Iterator[ProcessPoolExecutor]:
    """A pool in which each process first calls `begin`. If the block raises, they end at once."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from traceback import clear_frames

    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    given = (watched, begin, arguments)
    with watched, held, ProcessPoolExecutor(jobs, context, _begin, given) as pool:
        try:
            yield pool
        except BaseException as error:
            held.close()
            # A process whose start was interrupted waits for what it was to be sent, and holds the
            # pipe on which the pool would wait: our ends of its pipes are closed with its objects.
            clear_frames(error.__traceback__)
            raise


def take_pipes() -> tuple[int, int]:
    """Return private binary descriptors of the original stdin and stdout.

    Afterwards descriptor 0 is empty and 1 is stderr, so that a stray print in a library, or a child
    that reads, cannot disturb the protocol.
    """
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def end_with_parent(*more: Connection) -> None:
    """End this process of a pool once its parent is gone, or has closed its end of a pipe."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is None:
        return
    ends: list[Any] = [parent.sentinel, *more]

    def watch() -> None:
        wait(ends)
        os._exit(1)

    threading.Thread(target=watch, name="citewell-parent", daemon=True).start()


def _begin(watched: Connection, begin: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    end_with_parent(watched)
    begin(*arguments)


def _main() -> None:
    """Run an external program in a folder: `python -m citewell.model.system.child_process FOLDER
    ...`; without a program, remove the folder once standard input ends: `[--end-users] FOLDER`."""
    folder, *command = sys.argv[1:]
    if folder == _END_USERS:
        return _remove_with_input(Path(*command), end_users=True)
    if not command:
        return _remove_with_input(Path(folder))
    nowhere = subprocess.DEVNULL
    program = subprocess.Popen(command, cwd=folder, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    end_with_input(program.kill)
    sys.exit(program.wait())


def _remove_with_input(folder: Path, *, end_users: bool = False) -> None:
    import shutil
    import signal
    import time

    # Signals for the parent's whole group: this process cleans up after it.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    while os.read(0, 1024):
        pass
    # External processes that end with the parent may still write into it.
    last = time.monotonic() + _GRACE_SECONDS
    while folder.exists() and time.monotonic() < last:
        if end_users:
            _end_users(folder)
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(_AGAIN_SECONDS)


def _end_users(folder: Path) -> None:
    """Kill the processes, except the parent, with open files in the folder: their command lines may
    have changed, and their parents may have ended."""
    try:
        import psutil
    except ImportError:  # part of the extra ray
        return
    folder = folder.resolve()
    for process in psutil.process_iter():
        if process.pid != os.getppid():
            with contextlib.suppress(psutil.Error):
                if any(Path(one.path).is_relative_to(folder) for one in process.open_files()):
                    process.kill()


if __name__ == "__main__":
    _main()
