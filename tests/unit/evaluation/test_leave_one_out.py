"""Every citation of a paper becomes a question about the one reference that is taken away."""

import pytest

from citewell.model import CitewellError
from citewell.options.tree import DocumentOptions
from citewell_lab.evaluation.leave_one_out import questions_of


def questions(path):
    made, info, _ = questions_of([path], DocumentOptions())
    return {question.id.rpartition(":")[2]: question for question in made}, info


def test_each_key_of_each_citation_is_one_question_in_the_order_of_the_text(paper):
    found, info = questions(paper)
    assert list(found) == ["attention", "drop", "vectors", "essay", "graphs"]
    assert info.counts["citations of keys"] == 6 and info.counts["keys in no .bib"] == 1


def test_the_passage_holds_the_mark_at_the_place_and_no_key(paper):
    question = questions(paper)[0]["drop"]
    assert question.query.sentence.count("[CITATION]") == 1
    assert "drop," not in question.query.sentence
    assert question.query.paper.title == "On Networks"
    assert question.query.paper.abstract == "We study networks."
    assert question.query.section == "Introduction"


def test_the_reference_asked_for_is_known_no_more_but_its_neighbours_are(paper):
    query = questions(paper)[0]["drop"].query
    keys = [reference.key for reference in query.paper.references]
    assert "drop" not in keys and "vectors" in keys and "attention" in keys


def test_a_second_entry_of_the_same_work_is_removed_as_well(paper):
    text = paper.read_text(encoding="utf-8")
    paper.write_text(text.replace("\\nocite{beam}", "\\cite{graphs2}"), encoding="utf-8")
    keys = [r.key for r in questions(paper)[0]["graphs"].query.paper.references]
    assert "graphs" not in keys and "graphs2" not in keys


@pytest.mark.parametrize("name", ["gone.tex", "refs.bib", "."])
def test_what_is_no_manuscript_is_refused_by_name(paper, name):
    with pytest.raises(CitewellError) as caught:
        questions(paper.parent / name)
    assert caught.value.problem.code == "evaluation-no-paper"


def test_a_paper_without_a_bibliography_is_refused_with_the_reason(tmp_path):
    (tmp_path / "a.tex").write_text("See \\cite{x}, \\cite{y}.", encoding="utf-8")
    with pytest.raises(CitewellError, match=r"2 keys are cited, 2 are in no \.bib"):
        questions(tmp_path / "a.tex")
