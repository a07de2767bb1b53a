"""A whole evaluation on a real small library: figures, settings, methods, comparisons."""

from io import StringIO

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from citewell.model import CitewellError, CitingPaper, Query, Question, Target
from citewell.model.llm import Usage
from citewell_lab.evaluation import evaluate as run
from citewell_lab.evaluation import methods, page, table
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.leave_one_out import questions_of
from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import DataInfo
from citewell_lab.evaluation.scoring import compare_saved


@pytest.fixture
def evaluate_paper(paper, library_options):
    made, info, _ = questions_of([paper], library_options.documents)

    def go(names=("bm25", "rrf"), **changes):
        plan = EvaluationPlan(
            methods=tuple(methods.named(names, library_options)), depth=10, latency_calls=3
        )
        return evaluate(made, library_options, replace(plan, **changes), info)

    return go


def test_the_answers_are_found_and_the_one_outside_the_library_is_counted_apart(evaluate_paper):
    result = evaluate_paper()
    held = {item.id.rpartition(":")[2]: item.held for item in result.items}
    assert held == {"attention": 1, "drop": 1, "vectors": 1, "essay": 0, "graphs": 1}
    bm25 = result.run("bm25", "cold")
    assert bm25.figure("recall@10").by_question.mean == 1.0
    assert bm25.figure("recall@10", "all").by_question.mean == pytest.approx(0.8)


def test_a_citation_of_several_papers_is_counted_in_each_way(library_options):
    """The two papers of a citation cannot both be first: alone each counts against the other,
    and as a set one of the two is found at rank 1."""
    attention = "Attention Mechanisms for Sentence Translation"
    vectors = "Learning Word Vectors from Co-occurrence"
    made = [
        Question(
            id=title,
            query=Query(sentence="We use attention and word vectors [CITATION]."),
            targets=(Target(titles=(title,)),),
            beside=(Target(titles=(other,)),),
        )
        for title, other in ((attention, vectors), (vectors, attention))
    ]
    plan = EvaluationPlan(methods=tuple(methods.named(("bm25",), library_options)), depth=10)
    result = evaluate(made, library_options, plan, DataInfo(name="a citation of two papers"))
    found = result.run("bm25", "cold")
    assert sorted(one.ranks for one in found.judged) == [(1,), (2,)]
    assert found.figure("recall@1").by_question.mean == 0.5
    assert found.figure("recall@1", "group").by_question.mean == 1.0
    assert [item.members for item in result.items] == [2, 0]
    assert [one.members for one in found.judged] == [(1, 2), (1, 2)]
    assert found.figure("recall@1", "citation").by_question.mean == 0.5
    assert found.figure("recall@10", "citation").by_question.mean == 1.0
    shown = Console(width=200, record=True, file=StringIO())
    shown.print(table.render(result))
    title = "Citations of several papers, each answered as a set"
    assert title in shown.export_text() and title in page.render(result)


def test_cold_and_warm_are_both_measured_and_differ_in_the_references_only(paper, library_options):
    made, _, _ = questions_of([paper], library_options.documents)
    warm, cold = (run.runner.query_for(made[0], setting) for setting in ("warm", "cold"))
    assert warm.paper.references and not cold.paper.references
    assert msgspec.structs.replace(warm.paper, references=()) == cold.paper
    assert warm.sentence == cold.sentence


def test_a_paper_that_the_library_lacks_is_counted_as_made_up(library_options):
    engine = run.open_engine(library_options)
    results_ = engine.find_batch([Query(text="graph convolutions on molecules")], 5)
    hit = results_[0].hits[0]
    false = msgspec.structs.replace(hit, work=msgspec.structs.replace(hit.work, title="Another"))
    invented = msgspec.structs.replace(hit, work=msgspec.structs.replace(hit.work, id="t:none"))
    forged = msgspec.structs.replace(results_[0], hits=(hit, false, invented))
    part = run.runner._reduce(engine, [Query(text="graphs")], [forged], [""], Usage())
    engine.close()
    assert (part.emitted, part.unbacked) == (3, 2)


def test_processes_give_the_same_ranks_as_one(evaluate_paper, monkeypatch):
    monkeypatch.setattr(run.runner, "CHUNK", 2)
    alone, together = evaluate_paper(), evaluate_paper(jobs=2)
    assert [r.judged for r in alone.runs] == [r.judged for r in together.runs]
    assert [r.emitted for r in alone.runs] == [r.emitted for r in together.runs]


def test_a_sample_keeps_the_mix_and_is_the_same_for_the_same_seed(evaluate_paper):
    first, second = evaluate_paper(limit=2, seed=3), evaluate_paper(limit=2, seed=3)
    assert first.items == second.items
    assert sum(item.held > 0 for item in first.items) == 2


def test_two_saved_results_are_compared_method_by_method(evaluate_paper):
    result = evaluate_paper()
    compared = compare_saved(result, result)
    assert {one.a for one in compared} >= {"A bm25 (cold)", "A rrf (warm)"}
    assert all(one.result.difference == 0.0 and one.p_holm == 1.0 for one in compared)


def test_a_missing_library_is_refused_with_the_cure(library_options, evaluate_paper):
    gone = replace(library_options, library=replace(library_options.library, name="gone"))
    plan = EvaluationPlan(methods=tuple(methods.named(["bm25"], gone)))
    with pytest.raises(CitewellError) as caught:
        evaluate([], gone, plan, DataInfo(name="x"))
    assert caught.value.problem.code == "library-missing" and caught.value.problem.hint


def test_questions_that_the_library_cannot_answer_at_all_are_refused(library_options):
    question = Question(
        id="q", query=Query(text="x"), targets=(Target(titles=("Not Here At All",)),)
    )
    plan = EvaluationPlan(methods=tuple(methods.named(["bm25"], library_options)))
    with pytest.raises(CitewellError, match="none of the 1 questions"):
        evaluate([question], library_options, plan, DataInfo(name="x"))


def test_a_method_that_offers_nothing_is_no_bad_method_but_an_error(
    evaluate_paper, library_options
):
    silent = methods.SearchMethod(
        "silent", "", (("retrieval.bm25", False), ("retrieval.dense", False))
    )
    with pytest.raises(CitewellError, match="silent returned no papers"):
        evaluate_paper(methods=(silent,))
    with pytest.raises(CitewellError, match="Unknown part 'bn25'"):
        methods.without("bn25", library_options)
    with pytest.raises(CitewellError, match="Unknown method 'densse'"):
        methods.named(["densse"], library_options)


def test_two_questions_of_the_same_id_are_both_asked(library_options):
    twice = [
        Question(id="q", query=Query(text=text), targets=(Target(titles=(text,)),))
        for text in ("Beam Search Revisited", "Topic Models with Anchors")
    ]
    plan = EvaluationPlan(
        methods=tuple(methods.named(["bm25"], library_options)), depth=10, latency_calls=0
    )
    result = evaluate(twice, library_options, plan, DataInfo(name="x"))
    assert [item.id for item in result.items] == ["q", "q#2"]
    assert result.metrics["bm25"]["cold"]["recall@1"] == 1.0


def test_the_paper_that_is_being_written_is_never_offered_to_its_author(library_options):
    engine = run.open_engine(library_options)
    title = "Graph convolutions on molecules"
    about = Query(sentence="Convolution on graphs predicts molecular properties [CITATION].")
    own = msgspec.structs.replace(about, paper=CitingPaper(title=title))
    ids = [[hit.work.id for hit in r.hits] for r in engine.find_batch([about, own], 10)]
    alone = [hit.work.id for hit in engine.find(own, 10).hits]
    engine.close()
    assert ids[0][0] == "t:1"
    assert "t:1" not in ids[1] and "t:1" not in alone and ids[1]


def test_scripts_find_the_figures_of_fill_and_of_made_up_papers_by_name(evaluate_paper):
    found = evaluate_paper(("pipeline",))
    chief = found.runs[-1]
    figures = found.metrics[chief.name][chief.setting]
    assert figures["hallucination_rate"] == 0.0
    assert figures["latency_p95"] >= figures["latency_p50"] > 0
    assert {"precision@25%", "precision@50%", "precision@75%"} <= figures.keys()
    own = next(one for one in chief.abstention if one.threshold == chief.threshold)
    assert figures["abstention_recall"] == own.recall
