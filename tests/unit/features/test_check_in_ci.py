"""The hook and the action call the command as it is."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from citewell.cli.check import check
from citewell.cli.review import review
from citewell.verification.finding import MEANINGS

ROOT = Path(__file__).resolve().parents[3]


def flags() -> set[str]:
    return {name for option in check.params if isinstance(option, click.Option)
            for name in option.opts}  # fmt: skip


def test_the_action_uses_flags_that_the_command_has():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ +citewell (.*\bcheck\b.*)", text, re.MULTILINE)
    used = set(re.findall(r"--[a-z-]+", line)) - {"--library"}
    assert used == {"--format", "--fail-on"}
    assert used <= flags()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_action_reviews_each_paper_and_fails_if_one_does(tmp_path):
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (step,) = (one for one in steps if one.get("if") == "inputs.command == 'review'")
    known = {name for option in review.params for name in option.opts}
    assert set(re.findall(r"--[a-z-]+", step["run"])) - {"--library"} <= known
    command = tmp_path / "citewell"
    command.write_text('#!/bin/sh\necho "$*"\ncase "$*" in *bad.tex) exit 1;; esac\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], capture_output=True, text=True, check=False,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "FILES": "my bad.tex\ngood.tex\n",
             "LIBRARY": "starter", "FAIL_ON": ""},
    )  # fmt: skip
    call = "--library starter review --format github --fail-on blocking"
    assert done.stdout == f"{call} my bad.tex\n{call} good.tex\n"
    assert done.returncode == 1


def test_the_action_installs_the_library_that_it_looks_in():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    (folder,) = re.findall(r'pip install .*"\$\{GITHUB_ACTION_PATH\}/([^"]+)"', text)
    assert re.search(r"library:\n(?:.*\n){1,4}    default: starter\n", text)
    project = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    assert 'name = "citewell-starter"' in project


def test_the_hooks_run_their_commands_on_bibliographies_and_papers():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", text) == ["citewell check", "citewell review"]
    check, review = re.findall(r"files: (.*)", text)
    for pattern in (check, review):
        assert re.search(pattern, "paper/refs.bib") and not re.search(pattern, "refs.bib.txt")
    assert re.search(review, "paper/main.tex") and not re.search(check, "paper/main.tex")


def test_every_finding_code_of_the_source_has_a_meaning():
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "server" / "citewell" / "verification").glob("*.py")
    )
    kinds = "title|author|year|venue|preprint|doi|arxiv|pages|volume|type|url|assistant"
    codes = set(re.findall(rf'"((?:{kinds})-[a-z-]+)"', sources)) | {"retracted"}
    assert len(codes) > 20
    assert codes == set(MEANINGS)
