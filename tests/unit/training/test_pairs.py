"""What the training pairs are made of, and how much each context counts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell_lab.training.data import CitationContext, TrainingPaper
from citewell_lab.training.pairs import Citations, load, role
from citewell_lab.training.questions import PER_GOLD, PER_PAPER, training_contexts, tuning_contexts
from citewell_lab.training.works import merged

PAPERS = [
    TrainingPaper(f"p{n}", f"A Study of Orchards, Part {n}", "", ("Ada Pear",), 2020, "")
    for n in range(9)
]
CONTEXT = CitationContext(
    "c", "owner/repo", "owner/repo|paper", "", "Trees grow [CITATION].", (), "", ("p1",), (), 2020,
    clean=True, origin="md-acl", form="text", group=1,
)  # fmt: skip


def record(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": f"c{number}", "source_repo": "owner/repo", "source_paper_id": f"paper {number}",
        "file": "a.tex", "source_title": f"Pruning, Volume {number}", "sentence": "See [CITATION].",
        "gold_id": "p1", "gold_alt_ids": [], "group_gold_ids": ["p1"], "group_keys": [],
        "gold_title": "", "gold_year": 2020, "clean": True, "format": "text", "source_dataset": "md-acl",
    } | changed  # fmt: skip


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in records)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    contexts = tmp_path / "contexts"
    write(contexts / "dev.jsonl.gz", [])
    write(contexts / "train.jsonl.gz", [record(1)])
    write(contexts / "contexts_train2.jsonl.gz", [record(2), record(3, gold_id=None)])
    cited = {"source_repo": "owner/repo", "origin": "md-acl"}
    write(
        contexts / "citation_lists_train2.jsonl.gz",
        [cited | {"source_title": "Pruning, Volume 9", "cited_ids": ["p2", "p3", "elsewhere"]}],
    )
    (tmp_path / "graph").mkdir()
    with gzip.open(tmp_path / "graph" / "edges2.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("p4\tp5\np4\telsewhere\n")
    return tmp_path


def test_both_generations_of_the_data_are_read(data: Path) -> None:
    found = load(data, merged(PAPERS))
    assert [c.id for c in found.contexts] == ["c1", "c2"]
    assert {one.title: one.cited for one in found.lists} == {
        "Pruning, Volume 9": (2, 3),
        PAPERS[4].title: (5,),
    }


def test_a_citation_without_an_id_is_matched_by_title_and_author(data: Path) -> None:
    title = PAPERS[6].title
    known = {"gold_id": None, "gold_title": title}
    write(
        data / "contexts" / "train_no_gold.jsonl.gz",
        [
            record(11, gold_authors=["Pear"], **known),
            record(12, gold_authors=["Quince"], **known),
            record(13, gold_id=None, gold_title="Orchards"),
        ],
    )
    found = load(data, merged(PAPERS)).contexts
    assert {c.id: c.gold for c in found if c.id not in ("c1", "c2")} == {"c11": ("p6",)}


def papers_of(form: str, origin: str) -> list[CitationContext]:
    return [
        replace(CONTEXT, id=f"{n}", paper=f"repo|{n}", title=f"Pruning, Volume {n}", form=form,
                origin=origin)
        for n in range(2000)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "origin", "head", "tune"),
    [
        ("text", "md-acl", 0.0, 0.0),
        ("latex", "github-tex", 0.0, 0.0),
        ("latex", "github-tex2", 0.225, 0.075),
    ],
)
def test_each_paper_has_one_role(form: str, origin: str, head: float, tune: float) -> None:
    roles = [role(c) for c in papers_of(form, origin)]
    assert np.mean([one == "head" for one in roles]) == pytest.approx(head, abs=0.03)
    assert np.mean([one == "tune" for one in roles]) == pytest.approx(tune, abs=0.03)


def test_the_ranker_learns_few_citations_of_one_work_or_paper() -> None:
    every = papers_of("latex", "github-tex2")
    same_gold = training_contexts(Citations(every, [], {}), 1000)
    assert len(same_gold) == PER_GOLD
    assert all(role(c) == "head" for c in same_gold)
    one = same_gold[0]
    paper = [replace(one, id=f"l{n}", gold=(f"q{n}",)) for n in range(3 * PER_PAPER)]
    assert len(training_contexts(Citations(paper, [], {}), 1000)) == PER_PAPER


def test_what_tunes_teaches_nothing() -> None:
    contexts = papers_of("latex", "github-tex2")
    citations = Citations(contexts, [], {})
    tuning = {c.paper for c in tuning_contexts(citations)}
    assert tuning
    assert not tuning & {c.paper for c in training_contexts(citations, 10_000)}
