"""The language model's choice among papers, as the features show it."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.model import Hit, Problem
from citewell.model.llm import Picked, Supported
from citewell.options import Options


def picks(options: Options) -> bool:
    """Whether a language model chooses: one is named, and may."""
    return options.llm.provider != "none" and options.llm.pick


def chosen_first(hits: Sequence[Hit], picked: Picked) -> tuple[Hit, ...]:
    """The papers with the chosen one first; as they are where nothing of them was chosen."""
    chosen = next((hit for hit in hits if hit.work.id == picked.work), None)
    if chosen is None:
        return tuple(hits)
    return (chosen, *(hit for hit in hits if hit is not chosen))


def its_words(picked: Picked) -> str:
    """ ": “the reason”", empty without one. The quotation marks say whose words they are: a reader
    that is a program must not take them for ours."""
    return f": “{picked.reason}”" if picked.reason else ""


def none_fits(picked: Picked) -> Problem:
    """The problem shown to the author when, for the model, no paper fits the place."""
    return Problem(
        "llm-none",
        f"The language model {picked.model} chose none of {picked.of} papers{its_words(picked)}.",
        "Choose from the list yourself, or use other words.",
    )


def what_it_says(supported: Supported) -> str:
    """The model's opinion of an abstract in one line, quoting the abstract."""
    opinion = {
        "yes": "the abstract supports the sentence",
        "no": "the abstract does not support the sentence",
        "unclear": "the abstract does not say",
    }[supported.verdict]
    words = f": “{supported.words}”" if supported.words else ""
    return f"says {supported.model} ({supported.program}): {opinion}{words}"


def who_chose(picked: Picked) -> str:
    """ "chosen by ollama qwen3:8b (pick@builtin): “the reason”", for a line of output."""
    if picked.by != "model":
        return f"first in the list: {picked.model} made no choice"
    return f"chosen by {picked.model} ({picked.program}){its_words(picked)}"
