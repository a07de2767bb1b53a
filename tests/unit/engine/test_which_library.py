"""Which library answers when nobody has named one."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from citewell.engine.which_library import which_library
from citewell.options import Options


def options(folder: Path, name: str = "default") -> Options:
    base = Options()
    return replace(base, library=replace(base.library, path=folder, name=name))


def test_the_starter_library_stands_in_until_there_is_a_default_one(tmp_path: Path) -> None:
    assert which_library(options(tmp_path)) == tmp_path / "default"
    (tmp_path / "starter").mkdir()
    assert which_library(options(tmp_path)) == tmp_path / "starter"
    (tmp_path / "default").mkdir()
    assert which_library(options(tmp_path)) == tmp_path / "default"


def test_an_installed_starter_stands_in_for_one_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "citewell_starter"
    (package / "library").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "citewell_starter", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    folder = tmp_path / "libraries"
    assert which_library(options(folder)) == folder / "default"
    (package / "library" / "CURRENT").touch()
    assert which_library(options(folder)) == package / "library"
    assert which_library(options(folder, "starter")) == package / "library"
    assert which_library(options(folder, "mine")) == folder / "mine"
    (folder / "default").mkdir(parents=True)
    (folder / "default" / "CURRENT").touch()
    assert which_library(options(folder)) == folder / "default"
