"""The text searches that `citewell eval` compares with, over a real library."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.app import root
from citewell.engine.local import LocalEngine
from citewell.model import Author, Query, Question, Target, Work
from citewell.options import Options
from citewell_lab.evaluation import methods
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import DataInfo, EvaluationError
from citewell_lab.evaluation.text_baselines import (
    BASELINES,
    BoostedIndex,
    TextIndex,
    TextLibrary,
    TfIdf,
    document,
    tokenized,
)

TEXTS = ["graph models and graphs", "deep models", "", "speech in noise"]


@pytest.fixture
def engine(library_options: Options) -> Iterator[LocalEngine]:
    opened = LocalEngine.open(library_options)
    yield opened
    opened.close()


@pytest.fixture
def texts(library_options: Options) -> Iterator[TextLibrary]:
    opened = TextLibrary(library_options)
    yield opened
    opened.close()


def titles(texts: TextLibrary, engine: LocalEngine, name: str, text: str) -> list[str]:
    found = texts.engine(name, engine, 0).find(Query(text=text), 5)
    return [hit.work.title for hit in found.hits]


def test_tfidf_is_the_cosine_of_counts_times_smoothed_idf() -> None:
    """By hand: "model" is in two of four texts, "graph" twice in one."""
    words = tokenized(TEXTS)
    number = words.vocabulary
    scores = TfIdf(words).of([number["graph"], number["model"]])
    graph, model = np.log(5 / 2) + 1, np.log(5 / 3) + 1
    first = np.array([2 * graph, model])
    query = np.array([graph, model])
    expected = first @ query / np.linalg.norm(first) / np.linalg.norm(query)
    assert scores[0] == pytest.approx(expected, abs=1e-6)
    other = np.log(5 / 2) + 1
    assert scores[1] == pytest.approx(
        model * model / np.hypot(model, other) / np.linalg.norm(query), abs=1e-6
    )
    assert scores[2] == scores[3] == 0


def test_they_are_measured_beside_the_pipeline(library_options: Options) -> None:
    questions = [
        Question(
            id="q1",
            query=Query(text="beam search decoding"),
            paper="q1",
            targets=(Target(ids=("t:5",)),),
        )
    ]
    plan = EvaluationPlan(
        methods=tuple(methods.mode("text-baselines", library_options)), latency_calls=1
    )
    found = evaluate(questions, library_options, plan, DataInfo(name="made"))
    assert [run.name for run in found.runs] == [*BASELINES, "bm25", "pipeline"]
    for run in found.runs:
        figure = run.figure("map@10")
        assert figure is not None and run.unbacked == 0
        if run.name != "random":
            assert figure.by_question.mean == 1.0, run.name


def test_the_predecessor_puts_an_author_before_a_keyword_a_year_and_words() -> None:
    works = [
        Work(id="t:0", title="Parsing of Graphs", abstract="Graphs."),
        Work(id="t:1", title="Graphs", authors=(Author(family="Ruiz"),), year=1999),
        Work(id="t:2", title="Trees", keywords=("Dependency Parsing",), year=1999),
        Work(id="t:3", title="Meadows", year=2019),
        Work(id="t:4", title="Rivers", abstract="Parsing of graphs."),
        Work(id="t:5", title="Fields"),
    ]
    texts = [tokenized([one.title for one in works]), tokenized([document(one) for one in works])]
    named, written = (TextIndex(one, TfIdf(one)) for one in texts)
    scores = BoostedIndex(named, written, works).of("Ruiz on dependency parsing of graphs 2019")
    assert [works[at].id for at in np.argsort(-scores)] == [f"t:{n}" for n in (1, 2, 3, 0, 4, 5)]
    assert scores[0] < 1 < 20 <= scores[3] < 40 <= scores[2] < 100 <= scores[1]
    words = "parsing of graphs"
    expected = 0.85 * named.of(words)[4] + 0.15 * written.of(words)[4]
    assert BoostedIndex(named, written, works).of(words)[4] == pytest.approx(expected)


def test_without_its_package_a_baseline_says_what_to_install(
    texts: TextLibrary, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(EvaluationError) as caught:
        texts.engine("bm25-titles", engine, 0)
    assert caught.value.problem.code == "baseline-missing"
    assert "pip install bm25s" in caught.value.problem.hint
    assert len(titles(texts, engine, "random", "graphs")) == 5


def test_the_command_measures_one_by_name(
    library_options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    record = {
        "id": "1", "sentence": "We search with a beam [CITATION].", "gold_title": "Beam Search Revisited",
        "clean": True, "source_repo": "a/b", "key": "k", "context_before": "", "context_after": "",
    }  # fmt: skip
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert library_options.library.path is not None
    folder = library_options.library.path / library_options.library.name
    result = CliRunner().invoke(
        root,
        ["--config", "config.toml", "--library", str(folder), "eval", "--data", "data.jsonl",
         "--method", "predecessor", "--method", "random", "--json", "out.json"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "DEBUG" not in result.output
    names = [run["name"] for run in json.loads(Path("out.json").read_text())["runs"]]
    assert names == ["predecessor", "random"]
