"""The split: the papers that train, tune and test, stated only here.

The unit is the citing source (a repository), so that no paper, author or phrase of a test question
is seen in training. `Pinafore/publications` holds 41% of the clean records of `contexts/dev`; it
trains, because as a test it would measure one group's habits.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from citewell.model import Question
from citewell_lab.training.data import paper_of

Part = Literal["train", "valid", "test"]
Role = Literal["encoder", "head", "tune"]

SALT = "citewell-split-1"
TRAIN_REPOSITORIES = frozenset({"Pinafore/publications"})
NEWER_SOURCES = frozenset({"github-tex2", "deepscholar-bench"})
"""Data sets of `contexts_train2` with papers' own LaTeX."""
UNREAD_SHARE, TUNING_SHARE = 0.3, 0.25


def fraction(name: str, salt: str = SALT) -> float:
    """A number in [0, 1) that depends on the name alone."""
    digest = hashlib.sha256(f"{salt}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def dev_part(repository: str) -> Part:
    """Part of a repository of `contexts/dev`: a quarter trains, a quarter tunes, half tests."""
    if repository in TRAIN_REPOSITORIES:
        return "train"
    place = fraction(repository)
    return "test" if place < 0.5 else "valid" if place < 0.75 else "train"


def citation_part(question: Question) -> Part:
    """Part of a citation of `contexts/dev`."""
    repository = next(tag[11:] for tag in question.tags if tag.startswith("repository:"))
    return dev_part(repository)


def question_part(qid: str) -> Part:
    """Part of a literature-search question (AutoScholar, SPARBench): a third each."""
    place = fraction(qid)
    return "test" if place < 1 / 3 else "valid" if place < 2 / 3 else "train"


def role_of(paper: str, origin: str, form: str) -> Role:
    """The role of a training paper: it trains the encoder or the ranker, or it tunes.

    The encoder's scores of a citation that it has read are too good: 30% of the newer LaTeX
    sources are kept from it, three quarters of which teach the ranker.
    """
    newer = origin in NEWER_SOURCES and form == "latex"
    if not newer or fraction(paper, "citewell-tune-1") >= UNREAD_SHARE:
        return "encoder"
    return "tune" if fraction(paper, "citewell-calibrate-1") < TUNING_SHARE else "head"


def is_tuning(record: dict[str, Any]) -> bool:
    """Whether the citing paper of a record of a contexts file tunes."""
    form = record.get("format") or "latex"
    return role_of(paper_of(record), record.get("source_dataset") or "dev", form) == "tune"
