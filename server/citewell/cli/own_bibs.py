"""The .bib files whose keys name papers on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.report import show_problems

if TYPE_CHECKING:
    from citewell.model.bib import BibFile

BIB = click.Path(path_type=Path, exists=True, dir_okay=False)


def own_bibs(paths: Sequence[Path]) -> list[BibFile]:
    """These .bib files; without one, the only one of the folder, if it can be read. Raises
    `CitewellError`."""
    from citewell.documents.bib.reader import parse_bib
    from citewell.documents.project.declared_bibs import lone_bib
    from citewell.documents.textfile import read_text
    from citewell.model import CitewellError

    if paths:
        return [parse_bib(read_text(path).text, str(path)) for path in paths]
    own = lone_bib(Path.cwd())
    try:
        return [] if own is None else [parse_bib(read_text(own).text, str(own))]
    except CitewellError as error:
        show_problems([error.problem])
        return []
