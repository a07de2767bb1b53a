"""Events on disk: kept, bounded, shared by processes, set aside when damaged, and erased."""

import os
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from citewell.engine.history_store import BUSY, FORMAT, HistoryStore
from citewell.model.feedback import Event


def event(number, kind="accepted", **fields):
    given = {"work": f"w{number}", "title": f"Paper {number}", "key": 2**64 - 1 - number}
    return Event(**{"time": 1e9 + number, "kind": kind, **given, **fields})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "history.sqlite"


def works(store, after=0):
    return [one.work for one in store.read(after)]


def test_looking_makes_no_file(path):
    store = HistoryStore(path)
    assert (store.read(), store.file_version(), store.erase()) == ([], None, 0)
    assert not path.parent.exists()


def test_events_come_back_whole_and_in_order(path):
    store = HistoryStore(path)
    first = event(
        1, "dismissed", project="/p", through="picker", variant="v", encoder="e", asked=b"\x01\xff"
    )
    assert store.add([first, event(2)])
    store.close()
    again = HistoryStore(path).read()
    assert again == [
        Event(**{f: getattr(first, f) for f in Event.__struct_fields__} | {"number": 1}),
        Event(**{f: getattr(event(2), f) for f in Event.__struct_fields__} | {"number": 2}),
    ]


def test_the_oldest_events_give_way(path):
    store = HistoryStore(path, most=5)
    for number in range(4):
        store.add([event(2 * number), event(2 * number + 1)])
    assert works(store) == ["w3", "w4", "w5", "w6", "w7"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_the_file_is_its_users_alone(path):
    HistoryStore(path).add([event(1)])
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_one_store_sees_what_another_adds_and_erases(path):
    one, other = HistoryStore(path), HistoryStore(path)
    one.add([event(1)])
    before = other.file_version()
    one.add([event(2)])
    after = other.file_version()
    assert after[0] == before[0] and after[1] > before[1]
    one.erase(works=["w1"])
    assert other.file_version()[0] > after[0]
    assert works(other) == ["w2"]


def test_a_file_that_rests_is_not_asked_again_and_each_change_is_seen(path):
    one, other = HistoryStore(path), HistoryStore(path)
    one.add([event(1)])
    long_ago = path.stat().st_mtime - 60
    os.utime(path, (long_ago, long_ago))
    assert other.file_version() == other.file_version() == (0, 1)
    one.add([event(2)])
    assert other.file_version() == (0, 2)
    os.utime(path, (long_ago, long_ago))
    assert other.file_version() == (0, 2), "of the same time and size, yet another state"
    one.erase(works=["w1"])
    assert other.file_version() == (1, 2)
    path.unlink()
    assert other.file_version() is None


def test_several_processes_may_write_at_once(path, tmp_path):
    script = tmp_path / "write.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from pathlib import Path
            from citewell.engine.history_store import HistoryStore
            from citewell.model.feedback import Event
            store = HistoryStore(Path(sys.argv[1]))
            for number in range(25):
                one = Event(time=1.0, kind="accepted", work=sys.argv[2], title=str(number), key=1)
                assert store.add([one]), store.problems
            """
        ),
        encoding="utf-8",
    )
    running = [
        subprocess.Popen([sys.executable, str(script), str(path), str(name)], env=os.environ.copy())
        for name in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    found = HistoryStore(path).read()
    assert len(found) == 100
    for name in range(4):
        own = [one.title for one in found if one.work == str(name)]
        assert own == [str(number) for number in range(25)]


def test_a_damaged_file_is_set_aside_with_a_message_and_a_new_one_is_begun(path):
    path.parent.mkdir()
    path.write_bytes(b"this is no database " * 500)
    store = HistoryStore(path)
    assert store.read() == []
    (problem,) = store.problems
    assert problem.code == "history-damaged"
    aside = [one for one in path.parent.iterdir() if one != path]
    assert [one.read_bytes()[:10] for one in aside] == [b"this is no"]
    assert aside[0].name in problem.hint
    assert store.add([event(1)])
    assert works(store) == ["w1"]


def test_a_file_that_is_cut_short_is_set_aside_too(path):
    store = HistoryStore(path)
    store.add([event(number, title="t" * 400) for number in range(200)])
    store.close()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    again = HistoryStore(path)
    assert again.read() == []
    assert again.problems[0].code == "history-damaged"


def test_a_file_of_a_newer_version_is_left_alone(path):
    HistoryStore(path).add([event(1)])
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version={FORMAT + 1}")
    database.close()
    before = path.read_bytes()
    store = HistoryStore(path)
    assert not store.add([event(2)])
    assert store.read() == []
    assert store.problems[0].code == "history-newer"
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_problem_and_no_exception(tmp_path):
    (tmp_path / "file").touch()
    store = HistoryStore(tmp_path / "file" / "history.sqlite")
    assert not store.add([event(1)])
    assert store.problems[0].code == "history-unusable"


def test_rows_that_no_version_wrote_are_passed_over(path):
    store = HistoryStore(path)
    store.add([event(1), event(2)])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE events SET kind = 'bought', key = 'x' WHERE work = 'w1'")
    database.close()
    assert works(store) == ["w2"]


def test_one_paper_or_one_project_can_be_erased(path):
    store = HistoryStore(path)
    store.add([event(1, project="/a"), event(2, project="/b"), event(3, project="/b")])
    assert store.erase(project="/b", works=["w1"]) == 3
    store.add([event(4, project="/a"), event(5, project="/b")])
    assert store.erase(project="/b") == 1
    assert works(store) == ["w4"]
    assert store.erase(works=["w4"]) == 1


def test_what_is_erased_is_gone_from_the_disk(path):
    store = HistoryStore(path)
    store.add([event(n, title=f"A Telling Title {n}", asked=b"vector!") for n in range(50)])
    assert b"A Telling Title 7" in path.read_bytes()
    assert store.erase() == 50
    for file in path.parent.iterdir():
        assert b"Telling" not in file.read_bytes()
        assert b"vector!" not in file.read_bytes()


def test_a_file_that_vanishes_under_an_open_store_is_begun_anew(path):
    store = HistoryStore(path)
    store.add([event(1)])
    path.unlink()
    assert store.read() == []
    store.add([event(2)])
    assert works(store) == ["w2"]


def test_who_reads_while_another_writes_is_told_so_at_once_and_it_is_no_problem(path):
    HistoryStore(path).add([event(1)])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    reader = HistoryStore(path)
    assert reader.file_version() == BUSY
    assert reader.problems == ()
    writer.execute("COMMIT")
    writer.close()
    assert reader.file_version() == (0, 1)
