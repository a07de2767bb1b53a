"""A few records of real papers, and a check over them."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Provenance, Work
from citewell.model.check import Check
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.identify import MemoryRecords


def _people(*names: str) -> tuple[Author, ...]:
    return tuple(
        Author(family, given) for given, _, family in (name.rpartition(" ") for name in names)
    )


WORKS = (
    Work(
        id="acl:N19-1423",
        title="BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
        authors=_people("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova"),
        year=2019,
        kind="inproceedings",
        venue="NAACL",
        booktitle="Proceedings of the 2019 Conference of the North American Chapter of the "
        "Association for Computational Linguistics: Human Language Technologies",
        pages="4171-4186",
        doi="10.18653/v1/n19-1423",
        arxiv="1810.04805",
        provenance=(Provenance("acl-anthology"), Provenance("dblp")),
    ),
    Work(
        id="x:gat",
        title="Graph Attention Networks",
        authors=_people(
            "Petar Veličković", "Guillem Cucurull", "Arantxa Casanova", "Adriana Romero",
            "Pietro Liò", "Yoshua Bengio",
        ),
        year=2018,
        kind="inproceedings",
        venue="iclr",
        arxiv="1710.10903",
    ),
    Work(
        id="x:adam",
        title="Decoupled Weight Decay Regularization",
        authors=_people("Ilya Loshchilov", "Frank Hutter"),
        year=2019,
        kind="inproceedings",
        venue="iclr",
    ),
    Work(
        id="x:gone",
        title="A Result That Nobody Could Repeat in Any Laboratory",
        authors=_people("Ada Lovelace"),
        year=2010,
        kind="article",
        journal="Nature",
        retracted=True,
    ),
)  # fmt: skip


@pytest.fixture(scope="session")
def works() -> tuple[Work, ...]:
    return WORKS


@pytest.fixture(scope="session")
def checker() -> Checker:
    return Checker([MemoryRecords(WORKS)], today=datetime.date(2026, 1, 1))


@pytest.fixture(scope="session")
def check(checker: Checker) -> Callable[[str], Check]:
    """The check of one entry."""

    def run(entry: str) -> Check:
        (claim,) = claims_of_bib(parse_bib(entry, "refs.bib"))
        return checker.check([claim])[0]

    return run
