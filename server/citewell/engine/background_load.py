"""What takes seconds to load is loaded on a thread, while the engine answers without it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel

logger = logging.getLogger(__name__)

TRIES = 3
"""How often loading is tried. Some versions of CPython 3.11 count the recursion depth of `ast` over
all threads, and numpy reads the header of an array with it: a thread that reads an array while
another one does gets a `SystemError`, for no fault of the file."""

T = TypeVar("T")


class BackgroundLoad(Generic[T]):
    """Begins to load when it is made. Safe across threads."""

    def __init__(
        self, name: str, load: Callable[[], T], broken: Callable[[Exception], Problem]
    ) -> None:
        """`broken` makes the problem of an exception that is no `CitewellError`."""
        self._name = name
        self._load = load
        self._broken = broken
        self._done = threading.Event()
        self.value: T | None = None
        """None while it is being loaded, and when it could not be."""
        self.problem: Problem | None = None
        """Why it could not be loaded, once that is known."""
        threading.Thread(target=self._run, name=f"citewell-load-{name}", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """True once it is loaded, or could not be."""
        return self._done.is_set()

    def wait(self, seconds: float, cancel: Cancel | None = None) -> bool:
        """Until it is done, or so long; whether it is done. Raises `Cancelled`."""
        if cancel is None:
            return self._done.wait(seconds)
        end = Cancel(seconds)
        while not self._done.wait(min(0.02, end.remaining)):
            cancel.check()
            if not end.remaining:
                return False
        return True

    def get(self, cancel: Cancel | None = None) -> T:
        """What was loaded, as soon as it is. Raises `CitewellError`, if it could not be, and
        `Cancelled`."""
        self.wait(threading.TIMEOUT_MAX, cancel)
        if self.problem is not None or self.value is None:
            assert self.problem is not None
            raise CitewellError(self.problem)
        return self.value

    def _tried(self) -> T:
        for _ in range(TRIES - 1):
            try:
                return self._load()
            except SystemError:
                logger.warning("%s is loaded again", self._name, exc_info=True)
        return self._load()

    def _run(self) -> None:
        try:
            self.value = self._tried()
        except CitewellError as error:
            self.problem = error.problem
        except Exception as error:
            logger.exception("%s cannot be loaded", self._name)
            self.problem = self._broken(error)
        finally:
            self._done.set()
