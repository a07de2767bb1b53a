"""The token of a server: where it may stand, and that a broken one never opens the door."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from citewell.model import CitewellError
from citewell.serving.address import bind, is_loopback, url_of
from citewell.serving.guard import find_token

NAME = "CITEWELL_HTTP_TOKEN"


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """The system's keyring, as the package of that name gives it."""
    held: dict[tuple[str, str], str] = {}
    fake = SimpleNamespace(get_password=lambda *name: held.get(name), __spec__=object())
    monkeypatch.setitem(sys.modules, "keyring", fake)
    return held


def test_a_file_wins_over_the_environment_and_that_over_the_keyring(
    tmp_path: Path, keyring: dict[tuple[str, str], str]
) -> None:
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    keyring["citewell", "http"] = "of-the-keyring"
    environ = {NAME: " of-the-environment "}
    assert find_token(NAME, "http", file=file, environ=environ) == "of-the-file"
    assert find_token(NAME, "http", environ=environ) == "of-the-environment"
    assert find_token(NAME, "http", environ={}) == "of-the-keyring"
    keyring.clear()
    assert find_token(NAME, "http", environ={}) == ""


@pytest.mark.parametrize("token", ["two words", "ümlaut", "a\tb", "x" * 513, "two\nlines"])
def test_a_token_that_is_none_stops_the_server(tmp_path: Path, token: str) -> None:
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    for how in ({"file": file, "environ": {}}, {"environ": {NAME: token}}):
        with pytest.raises(CitewellError) as error:
            find_token(NAME, "http", **how)  # type: ignore[arg-type]
        assert error.value.problem.code == "token-unusable"
        assert token not in str(error.value)


def test_a_file_that_is_missing_or_empty_stops_the_server(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        with pytest.raises(CitewellError, match=name):
            find_token(NAME, "http", file=tmp_path / name, environ={NAME: "not-this-one"})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])
def test_an_address_of_other_machines_needs_a_token(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(CitewellError) as error:
        bind(host, 0, token="", variable=NAME)
    assert error.value.problem.code == "address-open" and NAME in error.value.problem.hint
    with pytest.raises(CitewellError, match="the token has only 3 letters"):
        bind(host, 0, token="abc", variable=NAME)


def test_only_a_server_started_as_a_public_demo_needs_no_token() -> None:
    with bind("0.0.0.0", 0, token="", variable=NAME, public=True) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"


def test_an_address_that_is_taken_is_named() -> None:
    first = bind("127.0.0.1", 0, token="", variable=NAME)
    with first:
        port = first.getsockname()[1]
        first.listen()
        with pytest.raises(CitewellError, match=str(port)) as error:
            bind("127.0.0.1", port, token="", variable=NAME)
    assert error.value.problem.code == "address-taken"


def test_a_name_that_is_no_address_is_not_blamed_on_its_port() -> None:
    with pytest.raises(CitewellError) as error:
        bind("nowhere.invalid", 0, token="a-long-random-text", variable=NAME)
    assert "127.0.0.1" in error.value.problem.hint and "port" not in error.value.problem.hint


def test_an_address_is_written_as_clients_want_it() -> None:
    assert url_of("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert url_of("::1", 80) == "http://[::1]:80"
