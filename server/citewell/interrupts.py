"""Runs a command line so that an interrupt ends it quietly, at any moment."""

from __future__ import annotations

import _thread
import os
import sys
import time

from citewell.privacy import SAFE_PATH

TYPE_CHECKING = False  # like `typing`, which would delay the start
if TYPE_CHECKING:
    from collections.abc import Callable


def run_command(module: str) -> None:
    """Call `run` of a module with the process's arguments and exit with its code; 130 after an
    interrupt at any moment."""
    try:  # everything that can be interrupted, including the import of `signal`
        import signal

        os.environ.update(SAFE_PATH)
        sys.unraisablehook = _interrupting(sys.unraisablehook)
        # A terminated command cleans up like an interrupted one.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if os.environ.pop("CITEWELL_ENDS_WITH_INPUT", ""):
            from citewell.model.system.child_process import end_with_input

            end_with_input(_interrupt)
        from importlib import import_module

        code = import_module(module).run(sys.argv[1:])
        _end_at_signals()
    except KeyboardInterrupt:  # while loading the commands or reporting an error
        code = 130
        _end_at_signals()
    sys.exit(code)


def _end_at_signals() -> None:
    """Let signals end this process at once: nothing catches an exception that they raise while
    Python shuts down."""
    import signal

    for name in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(name) is not signal.SIG_IGN:
            signal.signal(name, lambda *_: os._exit(130))


def _interrupting(
    report: Callable[[sys.UnraisableHookArgs], object],
) -> Callable[[sys.UnraisableHookArgs], None]:
    """A hook that repeats an interrupt which Python had to drop: in the callback of a weak
    reference, or in a finaliser. Everything else goes to `report`."""

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # Not from here, where it would be dropped again.
            _thread.start_new_thread(_interrupt_soon, ())
        else:
            report(dropped)

    return hook


def _interrupt_soon() -> None:
    time.sleep(0.01)
    _interrupt()


def _interrupt() -> None:
    import signal

    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)  # a signal also ends a blocking call
