"""One typed settings tree with defaults; files, environment, editor and flags fill it in.

`Options` is imported at its first use: a thread that imports a module of this package must not wait
for another thread that imports the package as a whole.
"""

TYPE_CHECKING = False  # like `typing`, which takes longer to import than all of this

if TYPE_CHECKING:
    from citewell.options.tree import Options

__all__ = ["Options"]


def __getattr__(name: str) -> object:
    if name != "Options":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from citewell.options.tree import Options

    globals()[name] = Options
    return Options
