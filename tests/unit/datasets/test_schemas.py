"""Every other schema, from small files of our own in its documented form."""

import csv
import json

import pytest
import zstandard

from citewell.model import CitewellError
from citewell_lab.datasets import SCHEMAS, open_data, recognise


def test_autoscholar_questions_have_one_target_per_distinct_answer(write_lines):
    path = write_lines(
        "auto.jsonl.gz",
        [
            {
                "question": "Which works prune?",
                "answer": ["Prune\n  It", "Cut Deep", "prune it"],
                "answer_arxiv_id": ["2001.00001", "2002.00002", "2001.00001"],
                "source_meta": {"published_time": "20231024"},
                "qid": "A_1",
            }
        ],
    )
    assert recognise(path).name == "autoscholar"
    (question,) = open_data(path).questions
    assert question.query.text == "Which works prune?" and not question.query.sentence
    assert [(t.titles, t.arxiv) for t in question.targets] == [
        (("Prune It",), "2001.00001"),
        (("Cut Deep",), "2002.00002"),
    ]
    assert question.year == 2023 and question.paper == "A_1"


def test_sparbench_takes_the_years_of_its_judged_answers(write_lines):
    answers = [{"paperID": "p", "title": "Data Counts", "year": 2024, "score": 0}]
    path = write_lines(
        "spar.jsonl",
        [
            {
                "question": "Papers on data?",
                "source_meta": {"published_time": "20250320", "answers": answers},
                "answer": ["Data counts!"],
            },
            {"question": "No answer?", "source_meta": {"answers": []}, "answer": []},
        ],
    )
    data = open_data(path)
    assert data.schema == "sparbench"
    assert data.questions[0].targets[0].year == 2024
    assert data.counts["bad"] == 1 and "no answers" in data.problems[0].message


@pytest.fixture
def copilot(tmp_path):
    words = " ".join(f"w{n}" for n in range(150))
    paper = {
        "paper_id": "77",
        "title": "A Copilot Paper",
        "abstract": "We write.",
        "paper": f"{words} Early work did this <|cite_0|>. Others followed <|cite_1|>. {words}",
        "bib_info": {
            "<|cite_0|>": [
                {"citation_key": "a", "paper_id": "1", "title": "First Work"},
                {"citation_key": "a2", "paper_id": "1", "title": "First work"},
                {"citation_key": "b", "paper_id": "2", "title": "Second Work"},
            ],
            "<|cite_1|>": [{"citation_key": "c", "title": "Third Work"}],
        },
    }
    (tmp_path / "eval.json").write_text(json.dumps([paper]), encoding="utf-8")
    entry = {
        "corpus_id": "c0",
        "paper_id": "1",
        "title": "First Work",
        "abstract": "<|reference_start|> About firsts. <|reference_end|>",
        "citation_key": "a",
    }
    (tmp_path / "corpus.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return tmp_path / "eval.json"


def test_scholarcopilot_gives_one_question_a_mark_with_a_hundred_words_each_side(copilot):
    data = open_data(copilot)
    assert data.schema == "scholarcopilot"
    first, second = data.questions
    assert [t.ids for t in first.targets] == [("scholarcopilot:1",), ("scholarcopilot:2",)]
    assert "[CITATION]" in first.query.sentence and "<|" not in first.query.sentence
    left = " ".join((*first.query.before, first.query.sentence)).split("[CITATION]")[0].split()
    assert len(left) == 100
    assert [r.title for r in first.query.paper.references] == ["Third Work"]
    assert {r.title for r in second.query.paper.references} == {"First work", "Second Work"}
    assert first.query.paper.abstract == "We write."


@pytest.fixture
def beir(write_lines, tmp_path):
    def make(folder, qrels="query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td2\t2\n"):
        write_lines(
            f"{folder}/corpus.jsonl",
            [{"_id": "d1", "title": "One", "text": "About one."}, {"_id": "d2", "text": "Two."}],
        )
        write_lines(
            f"{folder}/queries.jsonl",
            [
                {"_id": "q1", "text": "one?"},
                {"_id": "q2", "text": "two?"},
                {"_id": "q3", "text": "x"},
            ],
        )
        (tmp_path / folder / "qrels").mkdir(exist_ok=True)
        (tmp_path / folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
        return tmp_path / folder

    return make


def test_a_beir_folder_gives_judged_queries_and_its_corpus(beir):
    data = open_data(beir("scifact"))
    assert data.schema == "beir" and data.split == "test"
    assert {q.id: q.gold for q in data.questions} == {"q1": ("beir:d1",), "q2": ("beir:d2",)}
    assert data.counts["queries without judgements"] == 1
    assert [work.title for work in data.works()] == ["One", "Two."]


def test_litsearch_in_the_mteb_layout_is_told_by_its_folder(beir):
    data = open_data(beir("LitSearchRetrieval"))
    assert data.schema == "litsearch-mteb" and data.questions[0].gold == ("litsearch:d1",)


def test_a_parquet_part_is_refused_with_the_way_to_convert_it(beir, tmp_path):
    folder = beir("LitSearchRetrieval")
    (folder / "corpus.jsonl").rename(folder / "corpus.parquet")
    with pytest.raises(CitewellError) as caught:
        list(open_data(folder).works())
    assert "to_json" in caught.value.problem.hint
    (tmp_path / "questions.parquet").write_bytes(b"PAR1 and more")
    with pytest.raises(CitewellError) as caught:
        open_data(tmp_path / "questions.parquet")
    assert caught.value.problem.code == "data-set-parquet"
    assert "questions.jsonl" in caught.value.problem.hint


def test_answers_of_litsearch_are_found_in_any_library_by_the_titles_of_its_corpus(write_lines):
    query = {"query_set": "manual_acl", "query": "nine?", "specificity": 0, "corpusids": [9, 10]}
    path = write_lines("query.jsonl", [query])
    assert [target.titles for target in open_data(path).questions[0].targets] == [(), ()]
    papers = [{"corpusid": n, "title": f"Paper of Number {n}"} for n in (8, 9)]
    write_lines("corpus_clean.jsonl", papers)
    (question,) = open_data(path).questions
    assert [target.titles for target in question.targets] == [("Paper of Number 9",), ()]
    assert question.gold_titles == ("Paper of Number 9",)


@pytest.mark.parametrize(("name", "delimiter"), [("citeme.csv", ","), ("citeme.tsv", "\t")])
def test_citeme_rows_may_have_several_titles(tmp_path, name, delimiter):
    with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(
            ["id", "excerpt", "target_paper_title", "target_paper_url", "source_paper_title",
             "source_paper_url", "year", "split"]
        )  # fmt: skip
        writer.writerow(
            ["5", 'First, a word. Then "it" was shown, in 2019, [CITATION]. After.',
             "It [TITLE_SEPARATOR] It, Again", "https://arxiv.org/abs/1901.00009", "Ours", "", "2024", "test"]
        )  # fmt: skip
        writer.writerow(["6", "No place.", "T", "", "", "", "2024", "test"])
        writer.writerow(["7", "Too short"])
    data = open_data(tmp_path / name)
    (question,) = data.questions
    assert question.targets[0].titles == ("It", "It, Again")
    assert question.targets[0].arxiv == "1901.00009" and question.year == 2024
    assert question.query.before == ("First, a word.",)
    assert data.counts["bad"] == 2


@pytest.fixture
def hatten(tmp_path):
    files = {
        "contexts.json": {
            "k1": {
                "masked_text": "of models. Parsing with OTHERCIT helps, as TARGETCIT showed. Then",
                "context_id": "k1", "citing_id": "P1", "refid": "P2",
            },
            "k2": {"masked_text": "nothing", "context_id": "k2", "citing_id": "P1", "refid": "P2"},
        },
        "papers.json": {
            "P1": {"title": "The Citing", "abstract": "Cites."},
            "P2": {"title": "The Cited", "abstract": "Is cited."},
        },
        "test.json": [
            {"context_id": "k1", "positive_ids": ["P2"]},
            {"context_id": "k2", "positive_ids": ["P2"]},
            {"context_id": "gone", "positive_ids": ["P2"]},
        ],
    }  # fmt: skip
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("part", ["", "test.json"])
def test_hatten_contexts_name_the_place_the_citing_paper_and_the_cited(hatten, part):
    data = open_data(hatten / part)
    assert data.schema == "hatten"
    (question,) = data.questions
    assert question.query.sentence == "Parsing with [OTHER] helps, as [CITATION] showed."
    assert question.query.paper.title == "The Citing" and question.paper == "P1"
    assert question.targets[0].ids == ("hatten:P2",)
    assert question.targets[0].titles == ("The Cited",)
    assert data.counts["bad"] == 2
    assert [work.id for work in data.works()] == ["hatten:P1", "hatten:P2"]


def test_an_unknown_schema_is_refused_with_the_fields_seen_and_the_known_names(write_lines):
    path = write_lines("x.jsonl", [{"alpha": 1, "beta": 2}])
    with pytest.raises(CitewellError) as caught:
        open_data(path)
    assert "alpha, beta" in caught.value.problem.message
    assert all(schema.name in caught.value.problem.hint for schema in SCHEMAS)


def test_the_schema_may_be_given_and_must_exist(write_lines):
    path = write_lines("x.jsonl", [{"question": "q?", "answer": ["A"]}])
    assert open_data(path, "autoscholar").questions
    with pytest.raises(CitewellError, match="Unknown schema"):
        open_data(path, "autoscolar")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x1f\x8b\x00broken", b"[]", b"{", b"\xff\xfe"])
def test_an_empty_or_broken_file_is_refused_with_a_message(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(CitewellError) as caught:
        open_data(path)
    assert caught.value.problem.path and caught.value.problem.code.startswith("data-set")


def test_scholarcopilot_brings_its_corpus(copilot):
    (work,) = open_data(copilot).works()
    assert (work.id, work.abstract, work.bibkey) == ("scholarcopilot:1", "About firsts.", "a")
    assert work.provenance[0].source == "scholarcopilot"


def test_litsearch_query_records_have_their_kind_as_tags(write_lines):
    write_lines("corpus_clean.jsonl", [{"corpusid": 9, "title": "Nine", "abstract": "Of nine."}])
    path = write_lines(
        "query.jsonl",
        [{"query_set": "inline_nonacl", "query": "nine?", "specificity": 1, "corpusids": [9]}],
    )
    data = open_data(path)
    assert data.schema == "litsearch"
    assert data.questions[0].tags == ("inline", "specific")
    assert next(iter(data.works())).id == data.questions[0].gold[0] == "litsearch:9"


def test_a_file_is_read_by_its_first_bytes_and_not_by_its_name(tmp_path):
    record = {"question": "q?", "answer": ["A"], "qid": "1"}
    path = tmp_path / "no-ending"
    path.write_bytes(zstandard.compress(json.dumps(record).encode()))
    assert open_data(path).schema == "autoscholar"
