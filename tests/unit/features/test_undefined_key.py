"""An undefined key: what it means, what it may have been meant to be, and what is offered."""

from pathlib import Path

import pytest

from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits
from citewell.features.actions.undefined import (
    plan_addition,
    plan_change,
    similar_keys,
    undefined_actions,
    use_near,
)
from citewell.features.citing.undefined_key import decide, questions, read_key
from citewell.model import Author, Hit, Query, Work
from citewell.options import Options


def work(number, title, family, year, **more):
    return Work(id=f"w:{number}", title=title, authors=(Author(family),), year=year, **more)


GAT = work(1, "Graph Attention Networks", "Veličković", 2018, bibkey="velickovic2018graph")
DEEP = work(2, "Deep Graph Infomax", "Veličković", 2019)
PIX = work(3, "Pixel Recurrent Networks", "van den Oord", 2016)


def meant(key, works, known=(), confidence=0.6):
    hits = tuple(Hit(one, 1.0, confidence=confidence) for one in works)
    return decide(read_key(key), known, [(Query(text="typed"), hits)])


def test_the_paper_whose_author_year_and_title_the_key_gives_is_surely_meant():
    found = meant("velickovic2018graph", [DEEP, PIX, GAT])
    assert (found.works[0], found.is_sure, found.offered) == (GAT, True, (GAT,))


def test_a_paper_of_another_author_or_topic_is_offered_and_not_sure():
    for key in ("kipf2018graph", "velickovic2018protein"):
        found = meant(key, [GAT], confidence=0.99)
        assert not found.is_sure and found.offered == (GAT,)
    assert meant("velickovic2018protein", []).works == ()


def test_a_word_from_within_a_title_or_an_author_alone_decides_nothing():
    assert not meant("velickovic2019infomax", [DEEP], confidence=0.99).is_sure
    assert meant("velickovic2019", [DEEP], confidence=0.95).is_sure
    assert not meant("velickovic2019", [DEEP], confidence=0.85).is_sure


def test_a_name_is_meant_as_surely_as_typed_words_and_outweighs_a_surname():
    gan = work(6, "Generative Adversarial Nets", "Goodfellow", 2014)
    by_gan = work(7, "Stylised Captions", "Gan", 2017)
    answers = [
        (Query(text="gan"), [Hit(gan, 1.0, confidence=0.92)]),
        (Query(author="gan", guessed=True, text="x"), [Hit(by_gan, 1.0, confidence=0.9)]),
    ]
    found = decide(read_key("gan"), (), answers)
    assert found.works == (gan, by_gan) and found.is_sure


def test_the_library_s_own_key_is_proof_unless_several_records_have_it():
    bert = work(4, "BERT", "Devlin", 2019, bibkey="devlin-etal-2019-bert")
    found = meant("devlin-etal-2019-bert", [GAT], known=[bert])
    assert (found.works[0], found.is_sure) == (bert, True)
    other = work(8, "Another One", "Devlin", 2019)
    assert not meant("devlin-etal-2019-bert", [], known=[bert, other]).is_sure


def test_the_library_is_asked_for_the_author_around_the_year_and_for_the_words():
    queries = questions(read_key("oord2016pixel"), Query(sentence="Pixels [CITATION]."))
    (narrow, _), (wide, _) = queries
    assert (narrow.author, narrow.year_from, narrow.year_to) == ("oord", 2015, 2017)
    assert (narrow.text, wide.text, wide.author) == ("pixel", "oord 2016 pixel", "")
    assert (narrow.typed, wide.typed) == (False, True)
    assert all(query.sentence for query, _ in queries)
    assert questions(read_key("1234"), Query()) == []


PAPER = r"""
%! main.tex
\documentclass{article}
\begin{document}
We use \cite{velickovic2018graf} and \citep{velickovic2018graf,zuse1969}.
             ^^^^^^^^^^^^^^^^^^^
\bibliography{refs}
\end{document}
%! refs.bib
@article{velickovic2018graph, title={Graph Attention Networks}, author={Veličković, P.}, year=2018}
@book{zuse1969, title={Rechnender Raum}, author={Zuse, Konrad}, year=1969}
@article{zuse1941, title={Z3}, author={Zuse, Konrad}, year=1941}
"""


@pytest.fixture
def project(fixture_files, tmp_path: Path) -> Project:
    fixture_files(PAPER).write(tmp_path)
    return Project.open(tmp_path / "main.tex")


def entries(project):
    return ((str(path), entry) for path, entry in project.entries())


@pytest.mark.parametrize(
    ("key", "similar"),
    [
        ("velickovic2018graf", [("velickovic2018graph", True)]),
        ("Velickovic:2018-graph", [("velickovic2018graph", True)]),
        ("zuse1969raum", [("zuse1969", False)]),
        ("zuse69", [("zuse1969", False)]),
        ("zuse1945", []),
        ("velickovic2019graph", [("velickovic2018graph", False)]),
        ("turing1936", []),
    ],
)
def test_keys_that_may_have_been_meant(project, key, similar):
    found = similar_keys(read_key(key), entries(project))
    assert [(one.key, one.certain) for one in found] == similar


def offered(project, key, meaning=None):
    document = project.document
    use = use_near(document, 0, document.citations[0].keys[0].key)
    use = type(use)(key, use.span)
    actions = undefined_actions(
        use, similar_keys(read_key(key), entries(project)), meaning, project
    )
    return [(action.title, action.is_preferred) for action in actions]


def test_one_action_at_most_is_preferred_and_a_known_paper_is_never_added_again(project):
    assert offered(project, "velickovic2018graf") == [
        ("Change to `velickovic2018graph` (Veličković 2018: Graph Attention Networks)", True)
    ]
    pixels = meant("oord2016pixel", [PIX])
    assert offered(project, "oord2016pixel", pixels) == [
        ("Add van den Oord 2016: Pixel Recurrent Networks as `oord2016pixel`", True)
    ]
    gat = meant("velickovic-gat", [GAT], known=[GAT])
    assert all("Add" not in title for title, _ in offered(project, "velickovic-gat", gat))


def test_an_uncertain_paper_is_offered_with_its_rivals_and_none_is_preferred(project):
    other = work(5, "Conditional Image Generation", "van den Oord", 2016)
    found = offered(project, "oord2016", meant("oord2016", [PIX, other]))
    assert all(not preferred for _, preferred in found)


def test_the_entry_gets_exactly_the_key_that_is_cited(project):
    use = use_near(project.document, 0, "velickovic2018graf")
    plan = plan_addition(project, project.document, use, PIX, Options())
    (edit,) = plan.edits
    text = apply_edits(plan.texts[Path(edit.path)], edit.edits)
    assert "@misc{velickovic2018graf," in text
    assert text.startswith(project.bibliographies[0].text.rstrip("\n"))


def test_another_key_is_written_at_every_place_and_nowhere_else(project):
    plan = plan_change(project.documents.values(), "velickovic2018graf", "velickovic2018graph")
    (edit,) = plan.edits
    text = apply_edits(plan.texts[Path(edit.path)], edit.edits)
    assert text == project.document.text.replace("graf", "graph")
