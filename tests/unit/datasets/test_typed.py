"""What authors type, derived from the paper that they cite."""

import pytest

from citewell.model import Query, Question, Target, Work
from citewell.model.titles import normalise_title
from citewell_lab.datasets.typed import KINDS, half_typed, typed_questions

BERT = Target(
    titles=("BERT: Pre-training of Deep Bidirectional {Transformers} for Language Understanding",),
    authors=("Devlin", "Chang"),
    first_author="Jacob Devlin",
    year=2019,
)
ABSTRACT = (
    "We introduce a new representation model. Unlike recent models it conditions jointly on left "
    "and right context in every layer, and obtains state-of-the-art scores on eleven benchmarks."
)


def question(target=BERT, number=1, text=""):
    query = Query(text=text, sentence="We use DeBERTa-v3 [CITATION].", exclude=("x:9",))
    return Question(id=f"q{number}", query=query, gold=("t:1",), targets=(target,))


def typed(target=BERT, number=1, abstract=ABSTRACT):
    record = Work(id="t:1", title=target.titles[0], venue="NAACL", abstract=abstract)
    made = typed_questions([question(target, number)], {f"q{number}": record})
    return {one.id.partition(":")[2]: one for one in made}


def texts(**given):
    return {kind: one.query.text for kind, one in typed(**given).items()}


def test_every_kind_is_made_of_a_paper_that_has_all_of_it():
    found = texts()
    assert found.keys() == KINDS.keys()
    assert found["title"] == (
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
    )
    assert found["opening"] == "BERT: Pre-training of Deep"
    assert found["acronym"] == "BERT"
    assert found["called"] == "DeBERTa-v3"
    assert found["author"] == "devlin"
    assert found["author-year"] == "devlin 2019"
    name, year, word = found["author-year-word"].split()
    assert (name, year) == ("devlin", "2019")
    assert word in normalise_title(BERT.titles[0]) or word == "pre-training"
    assert found["venue"].endswith(" NAACL 2019")
    assert found["words-year"].endswith(" 2019")


@pytest.mark.parametrize("number", range(12))
def test_a_typing_error_changes_one_word_and_no_words_are_made_up(number):
    found = texts(number=number)
    title = found["title"].split()
    wrong = found["typo"].split()
    assert sum(a != b for a, b in zip(title, wrong, strict=True)) == 1
    words = found["words"].split()
    assert 3 <= len(words) <= 5
    assert set(words) <= set(found["title"].lower().replace(":", "").split())
    abstract_words = found["abstract"].split()
    assert len(abstract_words) == 6
    assert set(abstract_words) <= set(ABSTRACT.lower().replace(",", "").replace(".", "").split())
    assert not set(abstract_words) & set(found["title"].lower().split())


def test_a_paper_is_left_out_of_the_library_for_a_part_of_the_abstracts_alone():
    made = [typed(number=n) for n in range(60)]
    out = [one["abstract"] for one in made if "left-out" in one["abstract"].tags]
    assert 12 < len(out) < 36
    assert all(one.query.exclude == ("x:9", "t:1") for one in out)
    assert all(one["title"].query.exclude == ("x:9",) for one in made)


def test_the_sentence_stays_and_words_that_are_there_already_are_not_replaced():
    assert typed()["title"].query.sentence == "We use DeBERTa-v3 [CITATION]."
    assert not list(typed_questions([question(text="words")], {}))


def test_the_last_word_is_cut_where_it_is_long_enough():
    questions = [question(number=n, text="devlin pre-training") for n in range(40)]
    short = [question(number=41, text="devlin bert"), question(number=42, text="devlin 2019")]
    found = list(half_typed([*questions, *short], unfinished=True))
    assert len(found) == len(questions)
    cut = {one.query.text for one in found}
    # Three letters at least stay of the word, and one is missing.
    assert cut == {"devlin pre-training"[:end] for end in range(14, 19)}
    assert all(one.query.unfinished for one in found)
    again = half_typed(questions, unfinished=False)
    assert [(one.query.text, one.query.unfinished) for one in again] == [
        (one.query.text, False) for one in found
    ]
