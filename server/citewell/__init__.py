"""Citewell: finds, inserts and verifies citations of real papers while an author writes.

The names below are the Python API (docs/python.md); each is imported when it is first used.
"""

from citewell.privacy import switch_reports_off

switch_reports_off()  # before anything else can be imported

TYPE_CHECKING = False  # like `typing`, which takes longer to import than all of this

if TYPE_CHECKING:
    from citewell.engine.contract import Checks
    from citewell.model import CitewellError, Hit, Problem, Work
    from citewell.model.check import Check, Verdict
    from citewell.usecases.fill import FillPlan
    from citewell.usecases.find import Found
    from citewell.usecases.library import Library, open_library

__all__ = [
    "Check",
    "Checks",
    "CitewellError",
    "FillPlan",
    "Found",
    "Hit",
    "Library",
    "Problem",
    "Verdict",
    "Work",
    "__version__",
    "open_library",
]

__version__ = "0.1.0"

_MODULES = {
    "Check": "citewell.model.check",
    "Checks": "citewell.engine.contract",
    "CitewellError": "citewell.model",
    "FillPlan": "citewell.usecases.fill",
    "Found": "citewell.usecases.find",
    "Hit": "citewell.model",
    "Library": "citewell.usecases.library",
    "Problem": "citewell.model",
    "Verdict": "citewell.model.check",
    "Work": "citewell.model",
    "open_library": "citewell.usecases.library",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'citewell' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
