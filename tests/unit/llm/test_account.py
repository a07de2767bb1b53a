"""What was spent is counted per day, over processes, and limits what is sent."""

import sqlite3
from pathlib import Path

import pytest

from citewell.llm.account import Account
from citewell.model import CitewellError
from citewell.model.llm import Usage


def test_the_count_of_a_day_adds_up_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "data" / "usage.sqlite"
    Account(path=path).add("ollama a", Usage(1, 100, 20))
    second = Account(path=path)
    second.add("ollama a", Usage(1, 10, 2, 0.5))
    second.add("openai b", Usage(1, 5, 5, 0.0, 1))
    assert second.used() == Usage(3, 115, 27, 0.5, 1)
    assert second.by_model()["ollama a"] == Usage(2, 110, 22, 0.5)
    assert second.session == Usage(2, 15, 7, 0.5, 1)
    assert second.used("2001-01-01") == Usage()


def test_a_request_beyond_the_tokens_of_a_day_is_not_allowed(tmp_path: Path) -> None:
    account = Account(daily_tokens=1000, path=tmp_path / "usage.sqlite")
    account.allow(1000)
    account.add("m", Usage(1, 500, 100))
    account.allow(400)
    with pytest.raises(CitewellError) as caught:
        account.allow(401)
    assert caught.value.problem.code == "llm-budget"


def test_a_request_beyond_the_dollars_of_a_day_is_not_allowed(tmp_path: Path) -> None:
    account = Account(daily_cost=1.0, path=tmp_path / "usage.sqlite")
    account.add("m", Usage(1, 1, 1, 0.9))
    account.allow(10**9, 0.1)
    with pytest.raises(CitewellError, match=r"has cost \$0.90 of \$1.00"):
        account.allow(1, 0.2)


def test_nothing_is_allowed_when_the_count_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    path.write_bytes(b"this is no database at all, but long enough to be taken for one" * 20)
    with pytest.raises(CitewellError) as caught:
        Account(daily_tokens=10, path=path).allow(1)
    assert caught.value.problem.code == "llm-account"
    Account(path=path).allow(1)


def test_the_count_holds_numbers_and_the_models_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    Account(path=path).add("ollama a", Usage(1, 100, 20))
    with sqlite3.connect(path) as database:
        (row,) = database.execute("SELECT * FROM usage").fetchall()
    assert row[1:] == ("ollama a", 1, 100, 20, 0.0, 0, 0)
