"""The wire of Better BibTeX: answers in the shapes of its versions, and bounds."""

import time

import pytest

from citewell.model import Problem
from citewell.sources import local as wire

BEES = "@article{oe2019,\n  title = {Bees},\n}\n"
ANTS = "@book{ants2003,\n  title = {Ants},\n}\n"


def pull(url, **more):
    limits = {"seconds": 5.0, "max_bytes": 1 << 20} | more
    return wire.pull(url, "", "bibtex", **limits)


def test_the_export_is_the_bytes_that_zotero_sends(zotero):
    running = zotero(BEES, ANTS)
    assert pull(running.url) == running.text().encode()
    assert wire.greet(running.url) is None
    assert wire.search(running.url, "bee", seconds=5) == ["oe2019"]


@pytest.mark.parametrize(
    "traits", [{}, {"listed_answer": True}, {"scope": "global"}, {"scope": "strict"}]
)
def test_an_entry_is_exported_whatever_the_version_wants(zotero, traits):
    running = zotero(BEES, ANTS, **traits)
    assert wire.export(running.url, "oe2019", "bibtex", seconds=5) == BEES


@pytest.mark.parametrize(
    ("traits", "code", "words"),
    [
        ({"plain_zotero": True}, "zotero-refused", "Better BibTeX does not"),
        ({"old": True}, "zotero-refused", "Method not found"),
        ({}, "zotero-refused", "nobody1999 not found"),
    ],
)
def test_what_is_refused_is_a_value_with_the_reason(zotero, traits, code, words):
    problem = wire.export(zotero(BEES, **traits).url, "nobody1999", "bibtex", seconds=5)
    assert isinstance(problem, Problem)
    assert problem.code == code
    assert words in problem.message
    assert problem.hint


@pytest.mark.parametrize("manner", ["time", "given up"])
def test_an_export_without_end_is_broken_off_in_time(zotero, manner):
    start = time.monotonic()
    more = {"seconds": 0.3} if manner == "time" else {"seconds": 60.0, "is_cancelled": lambda: True}
    problem = pull(zotero(flood=True).url, max_bytes=1 << 40, **more)
    assert isinstance(problem, Problem)
    assert problem.code == "zotero-away"
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("url", ["http://192.0.2.1:23119", "http://[bad", "file:///etc/passwd"])
def test_no_other_machine_is_ever_asked(url):
    for found in (
        pull(url),
        wire.greet(url),
        wire.search(url, "bees", seconds=5),
        wire.export(url, "a", "bibtex", seconds=5),
    ):
        assert isinstance(found, Problem)
        assert "not on this machine" in found.message
