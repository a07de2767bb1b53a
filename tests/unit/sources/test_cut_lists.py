"""Author lists that a source cut: a complete list wins, and names beyond the cut are not wrong."""

from citewell.model import Author, Provenance, Work
from citewell.model.names import is_cut
from citewell.sources.combine import combine, fill_gaps, records_of
from citewell.verification.people import Difference, compare_people

TREES = "Ash Beech Cedar Dogwood Elm Fir Hazel Juniper Larch Maple Oak Willow"
TWELVE = tuple(Author(family, f"{family[0]}.") for family in TREES.split())


def work(source: str, authors: tuple[Author, ...], *, others: bool = False) -> Work:
    return Work(
        id=f"{source}:1", title="Pollarded willows", year=2021, authors=authors, others=others,
        provenance=(Provenance(source, "1"),),
    )  # fmt: skip


def test_only_ten_names_of_that_source_alone_are_cut():
    assert is_cut(TWELVE[:10], ["bibliographies"])
    assert not is_cut(TWELVE[:9], ["bibliographies"])
    assert not is_cut(TWELVE[:10], ["bibliographies", "dblp"])
    assert not is_cut(TWELVE[:10], ["dblp"])
    assert not is_cut((), [])


def test_a_complete_list_wins_and_the_cut_one_stays_a_cut_record():
    cut = work("bibliographies", TWELVE[:10], others=True)
    both = combine([cut, work("bibtex", TWELVE)])
    assert both.authors == TWELVE and not both.others
    assert [(len(one.authors), one.others) for one in records_of(both)] == [
        (12, False),
        (10, True),
    ]
    assert combine([cut, work("bibtex", ())]).others
    assert not fill_gaps(work("bibtex", TWELVE), cut).others
    assert fill_gaps(work("bibtex", ()), cut).others


def test_names_after_a_cut_are_not_compared():
    compared = compare_people(TWELVE, TWELVE[:10], more=True)
    assert compared.difference is Difference.SAME and not compared.added
    assert compare_people(TWELVE, TWELVE[:10]).difference is Difference.ADDED
    short = (*TWELVE[:8], *TWELVE[10:])
    assert compare_people(short, TWELVE[:10], more=True).difference is Difference.REPLACED
