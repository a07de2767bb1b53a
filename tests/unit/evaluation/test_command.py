"""`citewell eval` as a user runs it, on a real small library."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.app import root
from citewell.cli.evaluation import eval as command
from citewell.model import CitewellError
from citewell_lab.evaluation import results


@pytest.fixture
def citewell(library_options, tmp_path, monkeypatch):
    """Run a command line in an empty folder; an error that `citewell` would show is raised."""
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "config.toml"
    config.touch()
    folder = library_options.library.path / library_options.library.name

    def run(*arguments, library=folder):
        before = ["--config", str(config), "--library", str(library)]
        result = CliRunner().invoke(root, [*before, *map(str, arguments)])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def data(tmp_path):
    """A file in the contexts schema whose answers the small library holds."""
    lines = []
    for n, title in enumerate(
        ("Dropout Regularises Deep Networks", "Beam Search Revisited", "Nowhere")
    ):
        lines.append(
            {
                "id": f"c{n}",
                "source_repo": f"owner/paper{n}",
                "sentence": f"The work on {title.lower()} is of use here [CITATION].",
                "key": f"k{n}",
                "gold_title": title,
                "gold_year": 2016,
                "gold_id": f"t:{n * 3 + 2}" if n < 2 else None,
                "clean": n != 1,
            }
        )
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_paper_gives_a_table_a_page_and_a_result_with_every_rank(citewell, paper, tmp_path):
    out = citewell("eval", paper, "--json", "r.json", "--html", "p.html", "--depth", 10)
    assert out.exit_code == 0, out.output
    assert "R@10" in out.output and "5 questions, 4 with a right answer" in out.output
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "How well Citewell finds your citations: On Networks" in text
    saved = results.load(tmp_path / "r.json")
    assert {run.setting for run in saved.runs} == {"cold", "warm"}
    assert sum(bool(one.ranks) for one in saved.runs[0].judged) >= 3


def test_a_paper_without_a_page_says_how_to_get_one(citewell, paper):
    assert "--html page.html" in citewell("eval", paper, "--depth", 10).output


def test_a_file_is_recognised_and_its_selection_is_stated(citewell, data):
    out = citewell("eval", "--data", data, "--mode", "baselines", "--depth", 10)
    assert out.exit_code == 0, out.output
    assert "clean records only (2 of 3)" in out.output
    assert "contexts schema" in out.output
    everything = citewell(
        "eval", "--data", data, "--method", "bm25", "--all-records", "--depth", 10
    )
    assert "3 questions, 2 with a right answer" in everything.output


def test_methods_and_parts_can_be_named(citewell, data):
    out = citewell(
        "eval", "--data", data, "--without", "dense", "--depth", 10,
        "--json", "r.json",
    )  # fmt: skip
    assert out.exit_code == 0, out.output
    names = list(dict.fromkeys(run.name for run in results.load(Path("r.json")).runs))
    assert names == ["without-dense", "pipeline"]


def test_two_methods_are_compared_by_name_and_two_results_by_file(citewell, data):
    out = citewell(
        "eval", "--data", data, "--compare", "rrf", "bm25", "--depth", 10, "--json", "a.json"
    )
    assert out.exit_code == 0, out.output
    assert "sign flips" in out.output
    out = citewell("eval", "--compare", "a.json", "a.json")
    assert out.exit_code == 0 and "A rrf (cold)" in out.output


def test_a_split_is_taken_by_repository(citewell, data):
    from citewell_lab.training.data import dev_part

    part = dev_part("owner/paper0")
    out = citewell("eval", "--data", data, "--method", "bm25", "--split", part, "--depth", 10)
    assert f"{part} split by repository" in out.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give either papers or a data set"),
        (("paper.tex", "--data", "dev"), "either papers or a data set"),
        (("--data", "x.jsonl", "--own-corpus", "--corpus", "acl"), "exclude each other"),
        (("paper.tex", "--own-corpus"), "requires --data"),
        (("--data", "x", "--mode", "fastest"), "is not one of"),
    ],
)
def test_wrong_usage_is_said_in_words(citewell, arguments, message):
    out = citewell("eval", *arguments)
    assert out.exit_code == 2 and message in out.output


def test_a_named_data_set_that_is_not_here_says_where_it_would_be(citewell, monkeypatch):
    monkeypatch.setattr("citewell.cli.evaluation.questions.data_folder", lambda: None)
    out = citewell("eval", "--data", "dev")
    assert out.exit_code == 2 and "../shared/data/contexts/dev.jsonl.gz" in out.output


def test_a_file_that_is_not_there_is_named(citewell):
    with pytest.raises(CitewellError, match=r"File or folder not found: gone\.jsonl"):
        citewell("eval", "--data", "gone.jsonl")


def test_a_folder_as_output_is_refused_before_anything_is_computed(
    citewell, paper, tmp_path, monkeypatch
):
    monkeypatch.setattr(command, "_questions", lambda *_: pytest.fail("computed"))
    out = citewell("eval", paper, "--json", tmp_path)
    assert out.exit_code == 2 and "is a folder" in out.output


def test_the_data_sets_own_corpus_becomes_a_library_that_is_built_once(
    citewell, tmp_path, monkeypatch, library_options
):
    monkeypatch.setattr(command, "cache_folder", lambda: tmp_path / "cache")
    folder = tmp_path / "tiny-beir"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "Rivers of Ice", "text": "Glaciers flow slowly downhill."},
        {"_id": "d2", "title": "Towers of Sand", "text": "Dunes wander with the wind."},
    ]
    queries = [
        {"_id": "q1", "text": "how do glaciers flow"},
        {"_id": "q2", "text": "wandering dunes"},
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", encoding="utf-8"
    )
    flags = ("eval", "--data", folder, "--own-corpus", "--method", "bm25", "--depth", 10)
    out = citewell(*flags, "--json", "r.json")
    assert out.exit_code == 0, out.output
    run = results.load(Path("r.json")).runs[0]
    assert run.figure("recall@1").by_question.mean == 1.0
    (made,) = (tmp_path / "cache" / "libraries").iterdir()
    before = (made / "library" / "CURRENT").read_bytes()
    citewell(*flags)
    assert (made / "library" / "CURRENT").read_bytes() == before


def test_ndcg_weighs_answers_by_the_grades_of_trec_judgements(citewell, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "cache_folder", lambda: tmp_path / "cache")
    folder = tmp_path / "graded"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "How do glaciers flow", "text": "How do glaciers flow downhill."},
        {"_id": "d2", "title": "Rivers of Ice", "text": "Glaciers are rivers."},
        {"_id": "d3", "title": "Towers of Sand", "text": "Dunes wander."},
    ]
    queries = [{"_id": "q1", "text": "how do glaciers flow"}]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    judgements = "q1 0 d1 1\nq1 0 d2 4\nq1 0 d3 0\n"
    (folder / "qrels" / "test.txt").write_text(judgements, encoding="utf-8")
    flags = ("--own-corpus", "--method", "bm25", "--depth", 10, "--json", "r.json")
    out = citewell("eval", "--data", folder, *flags)
    assert out.exit_code == 0, out.output
    result = results.load(Path("r.json"))
    (item,) = result.items
    assert sorted(item.grades) == [1, 4]
    (one,) = result.runs[0].judged
    assert (one.ranks, one.grades) == ((1, 2), (1, 4))
    ideal = 4 + 1 / math.log2(3)
    ndcg = result.runs[0].figure("ndcg@10").by_question.mean
    assert ndcg == pytest.approx((1 + 4 / math.log2(3)) / ideal)
    assert result.runs[0].figure("recall@5").by_question.mean == 1.0


def test_a_pool_is_graded_and_read_back_as_questions(citewell, tmp_path):
    (tmp_path / "queries.txt").write_text("dropout in deep networks\n\nbeam search\n")
    methods = ("--methods", "bm25", "--methods", "pipeline")
    out = citewell("eval", "pool", "queries.txt", *methods)
    assert out.exit_code == 0, out.output
    head, *rows = [line.split("\t") for line in out.stdout.splitlines()]
    assert head == ["query_id", "query", "id", "title", "year", "abstract", "grade"]
    assert {row[0] for row in rows} == {"q1", "q3"}
    assert 10 <= len(rows) <= 40 and len({(row[0], row[2]) for row in rows}) == len(rows)
    grades = {"Dropout Regularises Deep Networks": "3", "Beam Search Revisited": "1"}
    graded = [[*row[:-1], grades.get(row[3], "0") if row[0] == "q1" else ""] for row in rows]
    text = "\n".join("\t".join(row) for row in [head, *graded])
    (tmp_path / "pool.tsv").write_text(text + "\n", encoding="utf-8")
    out = citewell("eval", "--data", "pool.tsv", "--method", "pipeline", "--json", "r.json")
    assert out.exit_code == 0, out.output
    result = results.load(Path("r.json"))
    (item,) = result.items
    assert (result.data.schema, item.id, item.held) == ("pool", "q1", len(set(item.grades)))
    assert result.data.counts["queries without a right answer"] == 1
    assert citewell("eval", "pool").exit_code == 2


def test_the_list_names_data_sets_schemas_and_methods(citewell):
    out = citewell("eval", "--list")
    assert out.exit_code == 0
    for word in ("autoscholar", "hatten", "beir", "bm25", "pipeline"):
        assert word in out.output


def test_a_named_data_set_is_asked_for_its_test_part_and_a_file_for_all():
    from citewell.cli.evaluation.questions import default_split

    assert default_split("dev") == default_split("autoscholar") == "test"
    assert default_split("train") == default_split("some/file.jsonl") == "all"


def test_every_part_may_be_asked_for(citewell, data):
    out = citewell("eval", "--data", data, "--method", "bm25", "--split", "all", "--depth", 10)
    assert out.exit_code == 0 and "split by" not in out.output


def test_a_replay_gives_a_table_of_both_settings_and_every_rank(citewell, paper, tmp_path):
    out = citewell("eval", paper, "--replay", "paper", "--json", "r.json")
    assert out.exit_code == 0, out.output
    assert "cold, what was learned forgotten after each paper" in out.output
    assert "papers that this paper cites for the" in out.output
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert found["scope"] == "paper"
    assert [len(found["asked"][setting]) for setting in ("cold", "warm")] == [4, 4]


def test_what_the_user_accepted_does_not_change_an_evaluation(citewell, paper, tmp_path):
    from citewell.engine.history_store import HistoryStore, history_path
    from citewell.model.feedback import Event

    def offered():
        citewell("eval", paper, "--json", "r.json", "--depth", 10)
        run = results.load(tmp_path / "r.json").runs[0]
        return [one.offered for one in run.judged]

    before = offered()
    store = HistoryStore(history_path())
    from citewell.corpus.columns import title_key

    title = "Beam Search Revisited"
    event = Event(time=1.0, kind="accepted", work="t:5", title=title, key=title_key(title))
    assert store.add([event])
    try:
        assert offered() == before
    finally:
        store.erase()
        store.close()


def test_typed_words_give_a_table_for_each_way_and_every_rank(citewell, paper, tmp_path):
    out = citewell("eval", paper, "--typed", "--json", "t.json")
    assert out.exit_code == 0, out.output
    assert "the full title" in out.output and "words in their sentence, warm" in out.output
    saved = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    titled = [one for one in saved["asked"] if one["kind"] == "title"]
    assert len(titled) == 4 * 5
    ranks = {one["id"].split(":")[2]: one["rank"] for one in titled if one["place"] == "alone"}
    assert ranks["attention"] == ranks["vectors"] == 1
    assert ranks["essay"] == 0


@pytest.mark.parametrize("flags", [("--replay", "paper"), ("--typed",), ("--mode", "explore")])
def test_a_page_is_refused_where_there_is_none(citewell, data, flags, tmp_path):
    out = citewell("eval", "--data", data, *flags, "--html", "p.html")
    assert out.exit_code == 2
    assert "--json" in out.output
    assert not (tmp_path / "p.html").exists()


def test_a_page_of_references_is_refused(citewell, tmp_path):
    entry = {"bibtex_key": "a", "bibtex_type": "misc", "fields": {"title": "A"}, "label": "VALID"}
    (tmp_path / "refs.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    out = citewell("eval", "--data", "refs.jsonl", "--schema", "hallmark", "--html", "p.html")
    assert out.exit_code == 2
    assert "--json" in out.output
