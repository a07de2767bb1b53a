"""One typed settings tree with defaults; files, environment, editor and flags fill it in."""

from citewell.options.tree import Options

__all__ = ["Options"]
