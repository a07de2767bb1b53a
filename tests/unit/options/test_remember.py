"""An answer is written into the settings file, and every other byte of it stays."""

from __future__ import annotations

import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from citewell.model import CitewellError
from citewell.options.merge import as_toml, load, remember, user_file_in_use

pytest.importorskip("tomlkit", reason="the extra `online` is not installed")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# a comment\n\n[bib]\nabstract = true   # yes\n",
        '[sources]\n# chosen by me\nallow = [ "arxiv", ] # old\ncontact = "a@b.c"\n\n[bib]\nabstract = true\n',
        "bib.abstract = true\r\n[fill]\r\nthreshold = 0.5\r\n",
        "\ufeff[bib]\nabstract = true\n",
        'sources.contact = "a@b.c"\n',
        'sources = { contact = "a@b.c" } # inline\n',
    ],
)
def test_what_was_there_stays_and_what_was_answered_is_in_force(
    before: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode("utf-8"))
    before_load = load(environ={}, user_file=path)
    remember(path, "sources", {"allow": ["crossref", "doi"]})
    after = path.read_bytes().decode("utf-8")
    loaded = load(environ={}, user_file=path)
    assert loaded.options.sources.allow == ("crossref", "doi")
    assert not loaded.problems
    assert loaded.options.sources.contact == before_load.options.sources.contact
    assert loaded.options.bib == before_load.options.bib
    kept = [line for line in before.splitlines() if "allow" not in line and "inline" not in line]
    for line in kept:
        assert line in after
    if "\r\n" in before:
        assert after.count("\n") == after.count("\r\n")
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_made_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    remember(path, "sources", {"ask": False})
    assert path.read_text(encoding="utf-8") == "[sources]\nask = false\n"


def test_a_file_that_is_no_toml_is_left_alone_and_the_lines_are_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[sources\nallow = ", encoding="utf-8")
    with pytest.raises(CitewellError) as raised:
        remember(path, "sources", {"allow": ["arxiv"]})
    assert raised.value.problem.code == "settings-not-written"
    assert 'allow = ["arxiv"]' in raised.value.problem.hint
    assert path.read_text(encoding="utf-8") == "[sources\nallow = "


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_the_permissions_of_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.touch(mode=0o600)
    path.chmod(0o600)
    remember(path, "sources", {"ask": False})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_followed_to_its_file(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "config.toml"
    real.write_text("# real\n", encoding="utf-8")
    try:
        link.symlink_to(real)
    except OSError:
        pytest.skip("no links here")
    remember(link, "sources", {"ask": False})
    assert link.is_symlink()
    assert "ask = false" in real.read_text(encoding="utf-8")


def test_the_file_is_the_one_that_is_read(tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    assert user_file_in_use(None, {"CITEWELL_CONFIG": str(named)}) == named
    assert (
        user_file_in_use(tmp_path / "flag.toml", {"CITEWELL_CONFIG": str(named)}).name
        == "flag.toml"
    )
    assert user_file_in_use(None, {}).name == "config.toml"


def test_the_lines_are_shown_as_they_would_be_written() -> None:
    assert as_toml("sources", {"allow": ["a", "b"], "ask": False}) == (
        '[sources]\nallow = ["a", "b"]\nask = false'
    )


def test_no_answer_is_lost_between_two_processes_that_remember(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from citewell.options.merge import remember\n"
        "for number in range(40):\n"
        "    remember(Path(sys.argv[1]), 'sources', {f'{sys.argv[2]}{number}': True})\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [process.wait() for process in started] == [0, 0]
    written = tomllib.loads(path.read_text("utf-8"))["sources"]
    assert set(written) == {f"{name}{number}" for name in "ab" for number in range(40)}
    assert list(tmp_path.iterdir()) == [path]
