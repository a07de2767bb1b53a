"""Which works count as right answers, against a real catalogue's answers held in memory."""

from citewell.model import Query, Question, Target, Work
from citewell.model.titles import normalise_title
from citewell_lab.evaluation.matching import Gold, Offered, judge

WORKS = [
    Work(id="a:1", title="Deep Sets, Revisited", year=2018, same_as=("a:1", "b:9")),
    Work(id="a:2", title="Graph Attention for Everyone", year=2019, arxiv="1901.00001"),
    Work(id="a:3", title="Graph Attention for Everyone", year=2012),
    Work(id="a:4", title="A Title Without a Year", doi="10.1/x"),
]


class Records:
    """Looks records up in a list, by the rules that a library keeps."""

    def works(self, ids):
        return [next((w for w in WORKS if one in (w.id, *w.same_as)), None) for one in ids]

    def lookup(self, *, doi="", arxiv="", title="", bibkey=""):
        if doi:
            return [w for w in WORKS if w.doi == doi]
        if arxiv:
            return [w for w in WORKS if w.arxiv == arxiv]
        return [w for w in WORKS if normalise_title(w.title) == normalise_title(title)]


def gold_of(*targets, **fields):
    question = Question(id="q", query=Query(), targets=targets, **fields)
    return Gold(Records(), [question]).of(question)


def test_the_data_sets_id_decides_where_the_library_knows_it():
    target = Target(ids=("a:3",), titles=("Graph Attention for Everyone",), year=2019)
    assert gold_of(target) == [frozenset({"a:3"})]


def test_the_id_of_a_merged_record_leads_to_the_work_that_took_it_in():
    assert gold_of(Target(ids=("b:9",))) == [frozenset({"a:1"})]


def test_without_a_known_id_the_title_decides_with_a_year_within_one():
    title = ("graph attention: for everyone",)
    assert gold_of(Target(ids=("zz:1",), titles=title, year=2020)) == [frozenset({"a:2"})]
    assert gold_of(Target(titles=title, year=2015)) == []


def test_a_question_with_ids_in_one_row_has_one_answer_and_with_titles_one_each():
    alike = Question(id="q", query=Query(), gold=("a:2", "a:3"))
    titles = Question(id="r", query=Query(), gold_titles=("Deep Sets Revisited", "Not There"))
    gold = Gold(Records(), [alike, titles])
    assert gold.of(alike) == [frozenset({"a:2", "a:3"})]
    assert gold.of(titles) == [frozenset({"a:1"})]


def test_an_answer_counts_once_at_its_first_copy():
    question = Question(id="q", query=Query())
    right = [frozenset({"a:2", "a:3"}), frozenset({"a:1"})]
    offered = Offered(("x", "a:3", "a:2", "a:1"), (None,) * 4)
    assert judge(question, right, offered).ranks == (2, 4)


def test_papers_newer_than_the_citing_one_are_taken_out_of_the_second_list():
    question = Question(id="q", query=Query(), year=2015)
    offered = Offered(("n1", "n2", "a:3", "u"), (2016, 2020, 2012, None))
    judged = judge(question, [frozenset({"a:3"})], offered)
    assert (judged.ranks, judged.past, judged.newer) == ((3,), (1,), 2)


def test_the_other_papers_of_the_citation_are_taken_out_of_the_third_list():
    beside = (Target(ids=("b:9",)), Target(titles=("A Paper of No Library",)))
    question = Question(id="q", query=Query(), gold=("a:2",), beside=beside)
    gold = Gold(Records(), [question])
    assert gold.beside(question) == [frozenset({"a:1"})]
    right, others = gold.of(question), gold.beside(question)
    judged = judge(question, right, Offered(("a:1", "x", "a:2"), (None,) * 3), others)
    assert (judged.ranks, judged.grouped) == ((3,), (2,))
    below = judge(question, right, Offered(("a:2", "a:1"), (None,) * 2), others)
    assert (below.ranks, below.grouped) == ((1,), None)
