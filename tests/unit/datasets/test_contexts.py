"""The contexts schema: questions, the warm references, the year of the citing paper."""

from citewell_lab.datasets import open_data


def read(path):
    return {question.id: question for question in open_data(path).questions}


def test_a_record_becomes_a_question_with_its_passage(write_lines, context):
    question = read(write_lines("dev.jsonl.gz", [context()]))["c1"]
    assert question.query.sentence.startswith("Small models suffice")
    assert question.query.before == ("Small things matter.", "They add up.")
    assert question.query.after == ("We agree.",)
    assert question.query.paper.title == "On Small Things"
    assert question.gold == ("acl:1", "ml:1")
    assert question.targets[0].doi == "10.1/abc"
    assert "clean" in question.tags and "alone" in question.tags


def test_the_papers_other_citations_are_known_when_warm_but_never_the_target(write_lines, context):
    other = context(
        id="c2", key="kim2020", gold_title="Large Models Also", gold_id="acl:2", gold_alt_ids=None
    )
    questions = read(write_lines("dev.jsonl", [context(), other]))
    assert [r.title for r in questions["c1"].query.paper.references] == ["Large Models Also"]
    assert [r.title for r in questions["c2"].query.paper.references] == ["Small Models Suffice"]
    assert questions["c2"].query.paper.references[0].authors == ("van der Ng", "Li")


def test_the_target_is_removed_by_key_by_id_and_by_title_in_other_spelling(write_lines, context):
    records = [
        context(),
        context(id="same-key", gold_title="An Entry Changed Later", gold_id="x", gold_alt_ids=[]),
        context(id="same-id", key="k3", gold_title="Small models", gold_alt_ids=["ml:1"]),
        context(id="same-title", key="k4", gold_title="small models: SUFFICE", gold_id=None),
        context(id="another", key="k5", gold_title="Unrelated", gold_id=None, gold_alt_ids=[]),
    ]
    question = read(write_lines("dev.jsonl", records))["c1"]
    assert [r.title for r in question.query.paper.references] == ["Unrelated"]


def test_a_citation_list_beside_adds_references_and_dates_the_paper(write_lines, context):
    write_lines(
        "citation_lists.jsonl.gz",
        [
            {
                "source_repo": "lee/paper",
                "source_title": "On Small Things",
                "files": ["paper/intro.tex"],
                "cited": [
                    {"title": "Listed Only", "year": "2022 [Online]", "gold_id": None},
                    {"title": "Other words, same work", "year": "2019", "gold_id": "ml:1"},
                ],
            },
            {"source_repo": "lee/paper", "source_title": "Another Paper", "cited": [], "files": []},
        ],
    )
    question = read(write_lines("dev.jsonl.gz", [context()]))["c1"]
    assert [(r.title, r.year) for r in question.query.paper.references] == [("Listed Only", 2022)]
    assert question.year == 2022


def test_a_paper_outside_the_corpus_keeps_its_title_as_the_only_answer(write_lines, context):
    record = context(gold_id=None, gold_alt_ids=[], gold_id_titles_only="rb:7")
    question = read(write_lines("dev.jsonl", [record]))["c1"]
    assert question.gold == ("rb:7",) and question.gold_titles == ("Small Models Suffice",)


def test_bad_records_are_counted_with_their_line_and_the_rest_is_read(write_lines, context):
    path = write_lines(
        "dev.jsonl", [context(), "{not json", context(id="c3", sentence="No place here.")]
    )
    data = open_data(path)
    assert data.counts["records"] == 3 and data.counts["bad"] == 2
    assert [problem.line for problem in data.problems] == [2, 3]
    assert len(data.questions) == 1


def test_what_the_sentence_and_those_before_it_cite_is_known_nearest_first(write_lines, context):
    first = context(
        id="b", key="b", sentence="Small things matter [CITATION].", gold_title="Before It",
        gold_id="acl:9", gold_alt_ids=None, context_before_list=[],
    )  # fmt: skip
    same = context(
        id="s", key="s", gold_title="The Same Sentence", gold_id="acl:8", gold_alt_ids=None,
        sentence=context()["sentence"],
    )  # fmt: skip
    far = context(
        id="f", key="f", sentence="Elsewhere [CITATION] it is told at length.",
        gold_title="Far Away", gold_id="acl:7", gold_alt_ids=None, context_before_list=[],
    )  # fmt: skip
    question = read(write_lines("dev.jsonl", [context(), first, same, far]))["c1"]
    assert question.query.nearby == ("The Same Sentence", "Before It")
