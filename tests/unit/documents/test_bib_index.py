"""Entries are found by whatever an author remembers of them, the likelier ones first."""

from __future__ import annotations

import random

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.keys.index import KeyIndex

REFS = """
@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need}, author = {Vaswani, Ashish and Shazeer, Noam}, year = {2017}}
@inproceedings{devlin-etal-2019-bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers}, year = 2019,
  author = {Devlin, Jacob and Chang, Ming-Wei}}
@article{DBLP:journals/corr/KipfW16,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Thomas N. Kipf and Max Welling}, date = {2016-09-09}}
@inproceedings{velickovic2018graph,
  title = {Graph Attention Networks}, author = {Veli{\\v{c}}kovi{\\'c}, Petar}, year = {2018}}
@misc{smith2020attention, title = {Visual attention in the wild}, author = {Smith, J.}, year = 2020}
"""
OTHER = "@misc{other2001, title = {Graphs of Attention}, author = {Other, A.}, year = {2001}}\n"


@pytest.fixture
def index() -> KeyIndex:
    return KeyIndex.build([parse_bib(REFS, "refs.bib"), parse_bib(OTHER, "other.bib")])


def found(index: KeyIndex, typed: str, **options: object) -> list[str]:
    return [match.entry.key for match in index.search(typed, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "key", "field"),
    [
        ("vaswani2017attention", "vaswani2017attention", "key"),
        ("vasw", "vaswani2017attention", "key"),
        ("VASWANI", "vaswani2017attention", "key"),
        ("etal-2019", "devlin-etal-2019-bert", "key"),
        ("kipfw16", "DBLP:journals/corr/KipfW16", "key"),
        ("welling", "DBLP:journals/corr/KipfW16", "author"),
        ("attention vaswani 2017", "vaswani2017attention", "author"),
        ("2017 att shaz", "vaswani2017attention", "author"),
        ("bidirectional", "devlin-etal-2019-bert", "title"),
        ("pre train deep", "devlin-etal-2019-bert", "title"),
        ("veličković", "velickovic2018graph", "key"),
        ("petar graph", "velickovic2018graph", "author"),
        ("vas17att", "vaswani2017attention", "author"),
        ("2016", "DBLP:journals/corr/KipfW16", "year"),
        ("graph convolutional", "DBLP:journals/corr/KipfW16", "title"),
        ("vaswnai2017", "vaswani2017attention", "key"),
        ("shazer", "vaswani2017attention", "author"),
        ("vaswni", "vaswani2017attention", "author"),
        ("devin", "devlin-etal-2019-bert", "author"),
        ("vaswni2017", "vaswani2017attention", "key"),
        ("bidirectoinal transfromers", "devlin-etal-2019-bert", "title"),
    ],
)
def test_the_entry_meant_comes_first(index: KeyIndex, typed: str, key: str, field: str) -> None:
    best = index.search(typed)[0]
    assert (best.entry.key, best.field) == (key, field)


def test_all_entries_are_offered_before_anything_is_typed(index: KeyIndex) -> None:
    keys = found(index, "")
    assert len(keys) == 6 and keys[0] == "vaswani2017attention"
    assert found(index, "", limit=2) == keys[:2]
    assert found(index, "", here=["smith2020attention"])[0] == "smith2020attention"


def test_what_this_document_and_this_project_cite_goes_first(index: KeyIndex) -> None:
    plain = found(index, "attention")
    assert set(plain) >= {"vaswani2017attention", "velickovic2018graph", "smith2020attention"}
    cited = found(index, "attention", cited={"velickovic2018graph": 1})
    assert cited.index("velickovic2018graph") < plain.index("velickovic2018graph")
    here = found(index, "attention", here={"smith2020attention"}, cited={"velickovic2018graph": 9})
    assert here[0] == "smith2020attention"


def test_a_refreshed_index_equals_a_new_one() -> None:
    dice = random.Random(11)
    words = "graph attention deep neural parsing speech vision bayes markov tree".split()
    entries = [
        f"@misc{{key{n}, title = {{{' '.join(dice.sample(words, 3))}}},"
        f" author = {{Name{n % 17}, A.}}, year = {2000 + n % 20}}}\n"
        for n in range(400)
    ]
    bib = parse_bib("".join(entries), "refs.bib")
    index = KeyIndex.build([bib])
    for step in range(30):
        at = dice.randrange(len(entries))
        entries[at] = dice.choice(
            ["", entries[at].replace("graph", "edited"), f"@misc{{new{step}, title={{novelty}}}}\n"]
        )
        bib = reparse(bib, "".join(entries))
        index = index.refreshed([bib])
        fresh = KeyIndex.build([bib])
        assert len(index) == len(fresh)
        for typed in ("graph", "edited", "novelty", "key1", "name3 2003", "", f"new{step}"):
            ours = {
                (m.entry.key, m.entry.start, round(m.score, 3)) for m in index.search(typed, 500)
            }
            theirs = {
                (m.entry.key, m.entry.start, round(m.score, 3)) for m in fresh.search(typed, 500)
            }
            assert ours == theirs
