"""The root command: speed, flags, and how errors end."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from citewell.cli import app
from citewell.cli.terminal import Session
from citewell.model import CitewellError, Problem


def loaded_modules(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stderr.split())


def test_help_imports_nothing_but_click() -> None:
    modules = loaded_modules("from citewell.cli.app import run; run(['--help'])")
    heavy = {"rich", "numpy", "attrs", "msgspec", "pygls", "bm25s", "asyncio", "citewell_corpus"}
    assert not heavy & modules


def test_help_lists_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--help"]) == 0
    out = capsys.readouterr().out
    for name in app.COMMANDS:
        assert f"\n  {name} " in out
    assert "Exit codes" in out


def test_a_misspelt_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["fnid", "x"]) == 2
    assert "Did you mean `find`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("llm.provider=olama", "must be"),
        ("completion.limit=many", "a whole number"),
        ("retrieval.dens=false", "Did you mean `retrieval.dense`?"),
        ("retrieval=false", "a section"),
    ],
)
def test_a_flag_that_cannot_hold_is_wrong_usage_and_nothing_is_done(
    capsys: pytest.CaptureFixture[str], setting: str, message: str
) -> None:
    assert app.run(["--set", setting, "llm"]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and not shown.out


def test_a_file_of_variables_is_read_below_the_environment_and_only_if_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text('export CITEWELL_LLM_PROVIDER="olama"\nCITEWELL_LLM_MODEL=$HOME\n')
    monkeypatch.setattr(os, "environ", dict(os.environ) | {"CITEWELL_LLM_MODEL": "own"})
    monkeypatch.chdir(tmp_path)
    assert app.run(["llm"]) == 0
    assert "olama" not in capsys.readouterr().err
    app.run(["--env-file", str(file), "llm"])
    assert "olama" in capsys.readouterr().err
    assert os.environ["CITEWELL_LLM_MODEL"] == "own"
    assert app.run(["--env-file", "missing", "llm"]) == 2


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Makes the command `find` raise whatever is put into the list."""
    raised: list[BaseException] = []

    @click.command("find")
    def command() -> None:
        raise raised[0]

    monkeypatch.setattr(app.root, "get_command", lambda ctx, name: command)
    return raised


def test_a_broken_environment_ends_with_its_problem_and_no_traceback(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(CitewellError(Problem("disk-full", "The disk is full.", "Free some space.")))
    assert app.run(["find"]) == 2
    err = capsys.readouterr().err
    assert "error: The disk is full. [disk-full]" in err
    assert "Free some space." in err
    assert "Traceback" not in err


def test_an_error_of_our_own_is_short_and_its_traceback_shows_with_vv(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(ZeroDivisionError("division by zero"))
    assert app.run(["find"]) == 2
    err = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero. [internal-error]" in err
    assert "Traceback" not in err
    assert app.run(["-vv", "find"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_no_error(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(KeyboardInterrupt())
    assert app.run(["find"]) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."


def test_a_reader_that_leaves_is_no_error() -> None:
    code = (
        "import sys; from citewell.cli import main; sys.argv[1:] = ['--help'];"
        "sys.stdout.reconfigure(line_buffering=True); main()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert run.stdout is not None and run.stderr is not None
    run.stdout.close()
    err = run.stderr.read()
    run.stderr.close()
    assert run.wait() in (0, 1)
    assert b"Traceback" not in err


def test_the_library_flag_takes_a_name_or_a_folder(tmp_path: Path) -> None:
    assert Session(library="acl").flags() == {"library.name": "acl"}
    folder = tmp_path / "acl"
    expected = {"library.path": str(tmp_path), "library.name": "acl"}
    assert Session(library=str(folder)).flags() == expected
    assert Session(library=f".{'/'}acl").flags()["library.path"] == str(Path.cwd())


def test_set_flags_reach_the_settings_and_wrong_ones_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("", encoding="utf-8")
    session = Session(config=config, overrides=("retrieval.timeout_ms=7",))
    assert session.load(tmp_path / "paper.tex").options.retrieval.timeout_ms == 7
    assert not capsys.readouterr().err
    session = Session(config=config, overrides=("retrieval.timeout_ms=7", "retrieval.densse=no"))
    with pytest.raises(click.UsageError, match=r"Did you mean `retrieval\.dense`\?"):
        session.load(tmp_path / "paper.tex")
