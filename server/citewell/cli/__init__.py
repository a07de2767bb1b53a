"""The commands. Each lives in its own module, which is imported only when it is called."""

from __future__ import annotations

import _thread
import os
import sys
import time

TYPE_CHECKING = False  # as `typing` has it, which a start does not wait for
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

_SOON = 0.01
"""Seconds until an interrupt that was lost is raised again."""


def main() -> None:
    """Run `citewell` with the process's arguments and exit with its code.

    0: done, nothing to report. 1: done, with findings (no paper found, a placeholder left open, a
    problem that `doctor` names). 2: wrong usage or a broken environment. 130: interrupted.
    """
    sys.unraisablehook = _interrupting(sys.unraisablehook)
    try:
        from citewell.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while loading the commands or reporting an error
        code = 130
    sys.exit(code)


def _interrupting(
    report: Callable[[sys.UnraisableHookArgs], object],
) -> Callable[[sys.UnraisableHookArgs], None]:
    """A hook that raises an interrupt again where Python had to drop it: in the callback of a weak
    reference, or in a finaliser. All else goes to `report`."""

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # Not from here, where it would be dropped again.
            _thread.start_new_thread(_interrupt_soon, ())
        else:
            report(dropped)

    return hook


def _interrupt_soon() -> None:
    time.sleep(_SOON)
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        import signal

        os.kill(os.getpid(), signal.SIGINT)  # a signal also ends a call that waits
