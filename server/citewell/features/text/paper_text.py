"""A record as text for another program or a reader: BibTeX, CSL-JSON, or a printed reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from citewell.documents.bib.edit import new_bib_text
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import style_named
from citewell.model import CitewellError, Problem, Work
from citewell.options import Options

Form = Literal["record", "bibtex", "csl", "reference"]


def paper_texts(works: Sequence[Work], form: Form, options: Options, style: str = "") -> list[str]:
    """The text of each work; empty for "record". The keys of BibTeX entries are distinct.

    A `style` that a program asks for is a name: a path is for the settings alone. Raises
    `CitewellError` for a style that is not known.
    """
    if form == "bibtex":
        taken: set[str] = set()
        texts = []
        for work in works:
            text, key = new_bib_text(work, None, options.bib, taken)
            taken |= {key, key.lower()}
            texts.append(text)
        return texts
    if form == "csl":
        return [msgspec.json.encode(csl_of_work(work)).decode() for work in works]
    if form == "reference":
        if style.lower().endswith(".csl"):
            raise CitewellError(
                Problem(
                    "style-unknown",
                    f"{style[:200]!r} is a file; only names of styles are accepted.",
                    "Give a name such as `ieee`; a .csl file can be set in `hover.style`.",
                )
            )
        named = style_named(style or options.hover.style)
        return [named.reference(csl_of_work(work)).text for work in works]
    return [""] * len(works)
