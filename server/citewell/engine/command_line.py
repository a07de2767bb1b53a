"""The command line of a command of Citewell that runs with an engine's settings."""

from __future__ import annotations

import sys

from citewell.options import Options


def command_line(options: Options, **changes: str) -> list[str]:
    """The start of a command line; subcommand and arguments come behind it.

    `changes` replace settings of the section `library`. The child reads the user's settings, too;
    those of the library, the sources and its indexes are the ones of `options`. No key is passed.
    """
    library, sources, retrieval = options.library, options.sources, options.retrieval
    settings = {
        "library.path": str(library.path or ""),
        "library.name": library.name,
        **{f"library.{name}": value for name, value in changes.items()},
        "sources.allow": ",".join(sources.allow),
        "sources.contact": sources.contact,
        "sources.base_url": sources.base_url,
        "sources.timeout_s": str(sources.timeout_s),
        "retrieval.encoders": ",".join(retrieval.encoders),
        "retrieval.bm25": str(retrieval.bm25).lower(),
        "retrieval.dense": str(retrieval.dense).lower(),
    }
    given = (f"{name}={value}" for name, value in settings.items() if value)
    flags = [part for one in given for part in ("--set", one)]
    # `-P` keeps the working directory, which may be a stranger's project, off the import path.
    return [sys.executable, "-P", "-m", "citewell", "-q", *flags]
