"""What the training pairs are made of, and how much each context counts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell_lab.training.data import CitationContext, TrainingPaper, read_contexts
from citewell_lab.training.pairs import Citations, lists_of_encoder, load, role, weight
from citewell_lab.training.priors import PASSAGES_PER_PAPER, chosen_passages
from citewell_lab.training.questions import HEAD_FOLD, training_contexts, tuning_contexts
from citewell_lab.training.split import fold, learner

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
        "gold_year": 2020, "clean": True, "format": "text", "source_dataset": "md-acl",
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
    found = load(data, PAPERS)
    assert [c.id for c in found.contexts] == ["c1", "c2"]
    assert {one.title: one.cited for one in found.lists} == {
        "Pruning, Volume 9": (2, 3),
        PAPERS[4].title: (5,),
    }


def test_a_marker_counts_its_papers(data: Path) -> None:
    path = data / "contexts" / "train.jsonl.gz"
    write(path, [record(1, group_keys=["1", "2", "3"]), record(2, group_gold_ids=["p1", "p2"])])
    assert [c.group for c in read_contexts(path)] == [3, 2]


def test_latex_counts_more_and_a_marker_with_many_papers_less() -> None:
    latex = replace(CONTEXT, form="latex")
    assert weight(latex) == 3 * weight(CONTEXT)
    assert weight(replace(CONTEXT, group=4)) == pytest.approx(weight(CONTEXT) / 2)


def papers_of(form: str, origin: str) -> list[CitationContext]:
    return [
        replace(CONTEXT, id=f"{n}", paper=f"repo|{n}", title=f"Pruning, Volume {n}", form=form,
                origin=origin)
        for n in range(2000)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "origin", "head", "tune"),
    [
        ("text", "md-acl", 0.2, 0.0),
        ("latex", "github-tex", 0.5, 0.0),
        ("latex", "github-tex2", 0.35, 0.3),
    ],
)
def test_each_paper_has_one_role(form: str, origin: str, head: float, tune: float) -> None:
    roles = [role(c) for c in papers_of(form, origin)]
    assert np.mean([one == "head" for one in roles]) == pytest.approx(head, abs=0.03)
    assert np.mean([one == "tune" for one in roles]) == pytest.approx(tune, abs=0.03)


def test_every_paper_of_the_head_is_in_its_fold() -> None:
    for form in ("text", "latex"):
        names = (f"paper {n}" for n in range(500))
        assert all(fold(name) == HEAD_FOLD for name in names if learner(name, form) == "head")


def test_the_encoder_learns_no_list_of_a_paper_with_another_role(data: Path) -> None:
    contexts = papers_of("latex", "github-tex2")
    lists = load(data, PAPERS).lists
    other = next(c for c in contexts if role(c) != "encoder")
    same = next(c for c in contexts if role(c) == "encoder")
    lists = [replace(lists[0], title=c.title) for c in (other, same)]
    kept = lists_of_encoder(Citations(contexts, lists, {}))
    assert [one.title for one in kept] == [same.title]


def test_the_head_asks_latex_first_and_few_of_one_paper() -> None:
    golds = [replace(c, gold=(f"p{n}",)) for n, c in enumerate(papers_of("text", "md-acl"))]
    latex = [replace(c, id=f"l{n}", form="latex", paper="repo|1", gold=(f"q{n}",))
             for n, c in enumerate(golds[:60])]  # fmt: skip
    while role(latex[0]) != "head":
        latex = [replace(c, paper=c.paper + "1") for c in latex]
    chosen = training_contexts(Citations([*golds, *latex], [], {}), 100)
    assert [c.form for c in chosen].count("latex") == 25
    assert len(chosen) == 100
    assert all(role(c) == "head" for c in chosen)
    same_gold = training_contexts(Citations(papers_of("text", "md-acl"), [], {}), 100)
    assert len(same_gold) == 3


def test_what_tunes_teaches_nothing() -> None:
    contexts = papers_of("latex", "github-tex2")
    citations = Citations(contexts, [], {})
    tuning = {c.paper for c in tuning_contexts(citations)}
    assert tuning
    assert not tuning & {c.paper for c in training_contexts(citations, 10_000)}


def test_passages_come_from_different_papers_latex_before_text_of_pdfs() -> None:
    same = [replace(CONTEXT, id=f"s{n}") for n in range(PASSAGES_PER_PAPER)]
    other = replace(CONTEXT, id="o", paper="owner/repo|other", group=4)
    latex = replace(CONTEXT, id="l", paper="owner/repo|third", form="latex")
    kept = [c.id for c in chosen_passages([*same, other, latex])]
    assert kept[0] == "l"
    assert kept[2] == "o"
    assert len(kept) == PASSAGES_PER_PAPER
