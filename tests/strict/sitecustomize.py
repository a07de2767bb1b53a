"""Python imports this at its start when the tests put its folder on PYTHONPATH.

In every process of Citewell that a test starts, however it is started, a warning is an error, and
what Python only prints (a coroutine that was never awaited, an exception in `__del__`, in a thread
or in a task that nobody awaits, a logged traceback) is written to a file. The tests fail on it
(tests/conftest.py).

In every process the starter library counts as not installed: a test says which library there is,
and one that wants the starter puts it on PYTHONPATH in place of this folder.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

FOLDER = "TESTS_FAULTS"
"""Environment variable: the folder in which each process writes its faults."""

THIRD_PARTY: tuple[tuple[str, type[Warning], str], ...] = ()
"""Message, category and module of each warning that a package of others causes, with its reason."""


def is_citewell(command: list[str]) -> bool:
    """True for `python -m citewell...`, `python -c` with our name, and our installed programs."""
    from pathlib import Path

    for place, word in enumerate(command[1:], start=1):
        if word in ("-m", "-c"):
            return "citewell" in " ".join(command[place + 1 : place + 2])
        if not word.startswith("-") and command[place - 1] not in ("-X", "-W"):
            return Path(word).name.startswith("citewell")
    return False


def record(kind: str, text: str) -> None:
    """Append a fault to the file of this process."""
    from pathlib import Path

    command = " ".join(sys.orig_argv).replace("\n", " ")[:200]
    path = Path(os.environ[FOLDER], f"{os.getpid()}.txt")
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{kind} in {command}\n{text}\n\0")


def formatted(kind: Any, error: Any, where: Any) -> str:
    """The traceback as text."""
    import traceback

    return "".join(traceback.format_exception(kind, error, where))


def watch() -> None:
    """Turn warnings into errors and record what would only be printed."""
    warnings.simplefilter("error")
    for message, category, module in THIRD_PARTY:
        warnings.filterwarnings("ignore", message, category, module)
    plain = sys.unraisablehook

    def unraisable(found: Any) -> None:
        expected = found.err_msg or "Exception ignored in"
        text = formatted(found.exc_type, found.exc_value, found.exc_traceback)
        record("Exception ignored", f"{expected} {found.object!r}\n{text}")
        plain(found)

    sys.unraisablehook = unraisable
    uncaught = sys.excepthook

    def excepthook(kind: Any, error: Any, where: Any) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            record("Uncaught", formatted(kind, error, where))
        uncaught(kind, error, where)

    sys.excepthook = excepthook
    import logging
    import threading

    in_thread = threading.excepthook

    def thread_excepthook(found: Any) -> None:
        text = formatted(found.exc_type, found.exc_value, found.exc_traceback)
        record("Exception in a thread", text)
        in_thread(found)

    threading.excepthook = thread_excepthook
    handle = logging.Logger.handle

    def handled(logger: logging.Logger, found: logging.LogRecord) -> None:
        kind = found.exc_info and found.exc_info[0]
        # The library also logs what is answered by design: "content modified", "invalid params".
        by_design = kind and kind.__module__ == "pygls.exceptions"
        if found.exc_info and kind and found.levelno >= logging.ERROR and not by_design:
            record(f"Logged by {found.name}", f"{found.getMessage()}\n{formatted(*found.exc_info)}")
        handle(logger, found)

    logging.Logger.handle = handled  # type: ignore[method-assign]


# What a module of this name would be looked up for is then answered: there is none.
sys.modules["citewell_starter"] = None  # type: ignore[assignment]

if os.environ.get(FOLDER) and is_citewell(sys.orig_argv):
    watch()
