"""The pre-commit hook and the GitHub action of this repository, installed and run as their users do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
SHIPPED = ("server", "corpus_tools", "pyproject.toml", "README.md", "LICENSE", "docs", "action.yml")
SOUND = """@inproceedings{vaswani2017,
  title = {Attention is All you Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion
            and Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
}
"""
FABRICATED = """@inproceedings{he2016,
  title = {Deep Residual Learning for Image Recognition},
  author = {Lastname, Firstname and Doe, John},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  year = {2016},
}
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a clone of this repository would bring, in a repository of their own."""
    folder = tmp_path_factory.mktemp("hooks") / "citewell"
    folder.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")
    for name in (*SHIPPED, ".pre-commit-hooks.yaml"):
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, folder / name, ignore=unwanted)
        else:
            shutil.copy(REPOSITORY / name, folder)
    commit(folder)
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has no settings, data or caches, and no tests around them."""
    home = tmp_path / "home"
    home.mkdir()
    unset = ("CI", "PYTHONPATH", "VIRTUAL_ENV")
    found = {
        name: value
        for name, value in os.environ.items()
        if name not in unset and not name.startswith(("CITEWELL_", "XDG_", "TESTS_", "PYTEST_"))
    }
    return {
        **found,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PRE_COMMIT_HOME": str(home / "pc"),
    }


def commit(folder: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A", "-f"], check=True)
    subprocess.run([*git, "commit", "-qm", "All"], check=True)


def test_the_hook_checks_with_the_library_that_it_installs(
    clone: Path, machine: dict[str, str], tmp_path: Path
) -> None:
    paper = tmp_path / "paper"
    paper.mkdir()
    hooks = {"repos": [{"repo": str(clone), "rev": "main", "hooks": [{"id": "citewell-check"}]}]}
    (paper / ".pre-commit-config.yaml").write_text(yaml.safe_dump(hooks), encoding="utf-8")
    (paper / "refs.bib").write_text(SOUND, encoding="utf-8")
    commit(paper)

    def run() -> subprocess.CompletedProcess[str]:
        # pre-commit installs the hook's own environment on the first run, with pip.
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files"],
            check=False,
            cwd=paper, env=machine, text=True, encoding="utf-8", capture_output=True, timeout=900,
        )  # fmt: skip

    sound = run()
    assert sound.returncode == 0, sound.stdout + sound.stderr
    assert "Passed" in sound.stdout
    (paper / "refs.bib").write_text(SOUND + FABRICATED, encoding="utf-8")
    wrong = run()
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "exit code: 1" in wrong.stdout and "he2016" in wrong.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the test runs the action's steps of Linux")
def test_the_action_checks_with_the_library_that_it_installs(
    clone: Path, machine: dict[str, str], tmp_path: Path
) -> None:
    venv.create(tmp_path / "runner", with_pip=True)
    machine["PATH"] = f"{tmp_path / 'runner' / 'bin'}{os.pathsep}{machine['PATH']}"
    machine["GITHUB_ACTION_PATH"] = str(clone)
    action = yaml.safe_load((clone / "action.yml").read_text(encoding="utf-8"))
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()}
    paper = tmp_path / "paper"
    paper.mkdir()
    (paper / "refs.bib").write_text(SOUND, encoding="utf-8")

    def run(step: dict[str, object], **given: str) -> subprocess.CompletedProcess[str]:
        values = {f"${{{{ inputs.{name} }}}}": text for name, text in {**inputs, **given}.items()}
        variables = {name: values[text] for name, text in dict(step.get("env", {})).items()}  # type: ignore[call-overload]
        # As a runner starts the shell `bash` of a step.
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", str(step["run"])],
            check=False,
            cwd=paper, env={**machine, **variables}, text=True, encoding="utf-8",
            capture_output=True, timeout=900,
        )  # fmt: skip

    install, check, review = action["runs"]["steps"]
    installed = run(install)
    assert installed.returncode == 0, installed.stderr
    sound = run(check, files="refs.bib")
    assert sound.returncode == 0, sound.stdout + sound.stderr
    (paper / "more of it.bib").write_text(FABRICATED, encoding="utf-8")
    wrong = run(check, files="refs.bib\nmore of it.bib\n")
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "::error file=more of it.bib,line=1" in wrong.stdout
    (paper / "paper.tex").write_text(
        "\\cite{he2016}\n\\bibliography{more of it}\n", encoding="utf-8"
    )
    reviewed = run(review, command="review", files="paper.tex")
    assert reviewed.returncode == 1, reviewed.stdout + reviewed.stderr
    assert "::error file=more of it.bib,line=" in reviewed.stdout
