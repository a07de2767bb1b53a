import random

from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import find_work
from citewell.features.citing.known_works import KnownWorks
from citewell.model import Author, Work

BIB = """@article{a, title={Sparse Alignment of Corpora}, author={Adams, A.}, year=2001, doi={10.1234/A}}
@misc{b, title={Sparse Alignment of Corpora}, author={Bauer, B.}, year=2001}
@misc{c, title={Preprint of Things}, author={Chen, C.}, year=2019, eprint={1901.00001}, archiveprefix={arXiv}}
@misc{, title={Nameless}, author={Dubois, D.}, year=2000}
"""


def test_equal_titles_are_told_apart_by_their_authors():
    works = KnownWorks([parse_bib(BIB, "x.bib")])
    for family, key in (("Adams", "a"), ("Bauer", "b")):
        work = Work(
            id="1", title="Sparse alignment of corpora", authors=(Author(family),), year=2002
        )
        assert works.find(work)[1].key == key
    stranger = Work(
        id="1", title="Sparse alignment of corpora", authors=(Author("Evans"),), year=2001
    )
    assert works.find(stranger) is None


def test_a_preprint_is_known_by_its_arxiv_number_in_any_field():
    works = KnownWorks([parse_bib(BIB, "x.bib")])
    found = works.find(Work(id="1", title="?", url="https://arxiv.org/abs/1901.00001v2"))
    assert found == ("x.bib", parse_bib(BIB, "x.bib").entries[2]) or found[1].key == "c"


def test_it_agrees_with_the_plain_search_on_many_works():
    rng = random.Random(3)
    words = ["sparse", "dense", "graph", "model", "text"]
    text, works = "", []
    for number in range(300):
        title = " ".join(rng.choices(words, k=3))
        family = rng.choice(["Adams", "Bauer", "Chen"])
        year = rng.randint(2000, 2004)
        doi = f"10.1234/{number}" if rng.random() < 0.3 else ""
        text += f"@misc{{k{number}, title={{{title}}}, author={{{family}, X.}}, year={year}, doi={{{doi}}}}}\n"
        works.append(
            Work(id=str(number), title=title, authors=(Author(family),), year=year,
                 doi=doi if rng.random() < 0.5 else "")
        )  # fmt: skip
    bib = parse_bib(text, "x.bib")
    known = KnownWorks([bib])
    for work in works:
        plain, fast = find_work(bib, work), known.find(work)
        assert (plain and plain.key) == (fast and fast[1].key)
