"""Papers replayed in order, on a real small library."""

import pytest
from msgspec.structs import replace

from citewell.model import Query, Question, Target
from citewell_corpus.processes import SilentProgress
from citewell_lab.evaluation.replay import histories, replay
from citewell_lab.evaluation.results import EvaluationError

BEAM, TOPICS = (
    ("t:5", "Beam Search Revisited"),
    ("t:9", "Topic Models with Anchors"),
)
VAGUE = "As was seen before, the networks of others learn from words [CITATION]."


def cited(number, paper, what, sentence=VAGUE, repository="one/repository", year=2020):
    identifier, title = what
    return Question(
        id=f"{paper}-{number}",
        query=Query(sentence=sentence),
        gold=(identifier,),
        gold_titles=(title,),
        paper=paper,
        tags=(f"repository:{repository}",),
        targets=(Target(ids=(identifier,), titles=(title,)),),
        year=year,
    )


NAMED = "Topic models with anchors [CITATION] are fast."
PAPERS = [
    cited(1, "late", TOPICS, year=2021),
    cited(1, "early", TOPICS, NAMED),
    cited(2, "early", BEAM, "Beam search [CITATION] is revisited."),
    cited(3, "early", TOPICS, "It was seen before [CITATION]."),
    cited(1, "other", TOPICS, repository="other/repository"),
]


def run(options, scope, settings=("cold",)):
    return replay(PAPERS, options, scope, settings, SilentProgress())


@pytest.fixture(scope="module")
def by_repository(library_options):
    found = run(library_options, "repository", ("cold", "warm"))
    return {setting: {one.id: one for one in questions} for setting, questions in found.items()}


@pytest.mark.parametrize("setting", ["cold", "warm"])
def test_each_citation_is_told_apart_by_what_came_before_it(by_repository, setting):
    kinds = {name: one.kinds for name, one in by_repository[setting].items()}
    assert kinds == {
        "early-1": ("all", "first"),
        "early-2": ("all", "first"),
        "early-3": ("all", "again"),
        "late-1": ("all", "first", "elsewhere"),
    }


@pytest.mark.parametrize("setting", ["cold", "warm"])
def test_what_was_accepted_before_stands_higher_and_nothing_else_changes(by_repository, setting):
    by_id = by_repository[setting]
    for name in ("early-3", "late-1"):
        assert by_id[name].without > by_id[name].learned > 0, name
    assert by_id["early-1"].without == by_id["early-1"].learned, "nothing was learned before it"


def test_papers_come_by_year_and_share_what_their_scope_says():
    def names(scope):
        return [[paper[0].paper for paper in group] for group in histories(PAPERS, scope)]

    assert names("paper") == [["late"], ["early"], ["other"]]
    assert names("repository") == [["early", "late"]], "the other has nothing to pass on"
    assert names("everyone") == [["early", "other", "late"]]


def test_without_a_library_it_says_so(library_options):
    nowhere = replace(library_options, library=replace(library_options.library, name="missing"))
    with pytest.raises(EvaluationError) as raised:
        run(nowhere, "paper")
    assert raised.value.problem.code == "library-missing"
