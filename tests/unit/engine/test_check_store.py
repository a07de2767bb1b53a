"""Answers on disk: found again, forgotten with their world, and never in the way."""

import sqlite3

import pytest

from citewell.engine.check_store import WORLDS, CheckStore, world_named, world_of
from citewell.engine.local import LocalEngine
from citewell.model import Author
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.options import Options
from citewell.options.tree import LibraryOptions

CHECK = Check(
    claim=Claim(title="On Walking", authors=(Author("Ash", "Ada"),), year=2001),
    verdict=Verdict.WRONG_DETAIL,
    findings=(
        FieldFinding(
            code="year-differs", field="year", message="é 神", severity=Severity.WARNING, given="1"
        ),
    ),
    evidence=("Because.",),
)
HERE, THERE = b"h" * 16, b"t" * 16


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "checks.sqlite"


def test_an_answer_is_found_again_in_its_own_world_only(path):
    store = CheckStore(path)
    store.put(HERE, [(b"one", CHECK), (b"two", CHECK)])
    store.close()
    again = CheckStore(path)
    assert again.get(HERE, [b"one", b"three"]) == {b"one": CHECK}
    assert again.get(THERE, [b"one"]) == {}
    again.close()


def test_many_answers_are_asked_for_at_once(path):
    store = CheckStore(path)
    digests = [str(n).encode() for n in range(3000)]
    store.put(HERE, [(digest, CHECK) for digest in digests])
    assert len(store.get(HERE, digests)) == 3000
    store.close()


def test_worlds_that_were_not_used_for_long_are_forgotten(path):
    for number in range(WORLDS + 2):
        store = CheckStore(path)
        store.put(bytes([number]) * 16, [(b"one", CHECK)])
        store.close()
    store = CheckStore(path)
    assert store.get(bytes([WORLDS + 1]) * 16, [b"one"])
    assert not store.get(b"\0" * 16, [b"one"])
    store.close()


def test_a_damaged_file_is_begun_anew(path):
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 500)
    store = CheckStore(path)
    store.put(HERE, [(b"one", CHECK)])
    assert store.get(HERE, [b"one"]) == {b"one": CHECK}
    store.close()


def test_an_answer_that_cannot_be_read_is_asked_for_again(path):
    store = CheckStore(path)
    store.put(HERE, [(b"one", CHECK)])
    store.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE checks SET value = x'00ff'")
    database.close()
    store = CheckStore(path)
    assert store.get(HERE, [b"one"]) == {}
    store.close()


def test_a_folder_that_cannot_be_made_costs_the_cache_only(tmp_path):
    (tmp_path / "file").touch()
    store = CheckStore(tmp_path / "file" / "checks.sqlite")
    store.put(HERE, [(b"one", CHECK)])
    assert store.get(HERE, [b"one"]) == {}


def test_without_a_library_there_is_no_world(tmp_path):
    assert world_of(Options(library=LibraryOptions(path=tmp_path))) is None
    assert world_named("one") != world_named("two")
    assert world_named("one") == world_named("one")


def test_an_engine_without_a_library_says_why_nothing_is_checked(tmp_path):
    engine = LocalEngine.open(Options(library=LibraryOptions(path=tmp_path)))
    found = engine.check([CHECK.claim])
    assert not found.checks
    assert [problem.code for problem in found.problems] == ["library-missing"]


def test_a_check_gives_way_to_searches_and_stops_when_it_is_cancelled():
    from citewell.engine.checking import LibraryCheck, Traffic

    traffic = Traffic()
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        LibraryCheck(None, traffic).check([CHECK.claim], cancel)  # type: ignore[arg-type]
    import time

    with traffic:
        start = time.monotonic()
        traffic.wait(0.05)
        assert time.monotonic() - start >= 0.04
    traffic.wait(10.0)
    assert time.monotonic() - start < 5.0


def test_a_check_of_a_few_references_waits_for_no_search(tmp_path):
    """Where many clients search, searches never end."""
    from citewell.engine import checking

    class Busy(checking.Traffic):
        waits = 0

        def wait(self, seconds: float = 0.0) -> None:
            self.waits += 1

    class Checker:
        def check(self, claims, cancel):
            return [CHECK] * len(claims)

    traffic = Busy()
    check = checking.LibraryCheck(None, traffic)  # type: ignore[arg-type]
    check._checker = Checker()
    assert len(check.check([CHECK.claim] * checking.SLICE, Cancel())) == checking.SLICE
    assert traffic.waits == 0
    check.check([CHECK.claim] * (checking.SLICE * 3), Cancel())
    assert traffic.waits == 2, "between its slices searches may go first"
