"""An overview of a list of papers as plain text; every sentence names its papers."""

from __future__ import annotations

from collections.abc import Mapping

from citewell.model.overview import CitedSentence, Overview

NOTHING_QUOTED = "No abstract of these papers has a sentence that can be quoted."


def overview_text(overview: Overview, names: Mapping[str, str] | None = None) -> str:
    """The model's text if there is one, then a paragraph for each theme; empty for no papers.

    Papers are named by id, or as `names` has them by id.
    """

    def cited(sentence: CitedSentence) -> str:
        if names is None:
            return ", ".join(sentence.ids)
        return "; ".join(names.get(name, name) for name in sentence.ids)

    blocks = []
    if overview.summary is not None and overview.summary.sentences:
        written = " ".join(_cited(one, cited(one)) for one in overview.summary.sentences)
        blocks.append(f"{written}\n({overview.summary.model}; {overview.summary.program})")
    for theme in overview.themes:
        papers = f"{len(theme.ids)} paper" + ("" if len(theme.ids) == 1 else "s")
        name = ", ".join(theme.words) or "others"
        quoted = [f"  “{one.text}” [{cited(one)}]" for one in theme.sentences]
        quoted = quoted or [f"  {NOTHING_QUOTED}"]
        blocks.append("\n".join((f"{name} ({papers})", *quoted)))
    return "\n\n".join(blocks)


def _cited(sentence: CitedSentence, papers: str) -> str:
    """The sentence with its papers before the full stop."""
    text = sentence.text.rstrip()
    end = text[-1] if text[-1:] in ".!?" else "."
    return f"{text.rstrip('.!?')} [{papers}]{end}"
