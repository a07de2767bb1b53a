"""Versions of programs are JSON: instructions and examples, and nothing that runs."""

import json
from pathlib import Path

import pytest

from citewell.llm import versions
from citewell.model import CitewellError

pytest.importorskip("dspy")


def test_a_saved_program_comes_back_with_its_instructions_and_examples(tmp_path: Path) -> None:
    program = versions.new_program("pick")
    program.predict.signature = program.predict.signature.with_instructions("Choose well.")
    demo = {"passage": "p [CITATION]", "candidates": "[1] a", "choice": "1", "reason": "r"}
    program.predict.demos = [{**demo, "augmented": True}]
    saved = versions.save_program(
        program, "v1", tmp_path, optimizer="BootstrapFewShot", metrics={"mrr": 0.5}
    )
    assert saved.demos == [demo]
    assert versions.versions_of("pick", tmp_path) == ("builtin", "v1")
    loaded = versions.load_program("pick", "v1", tmp_path)
    assert loaded.predict.signature.instructions == "Choose well."
    assert loaded.predict.demos == [demo]
    assert json.loads((tmp_path / "pick" / "v1.json").read_text())["metrics"] == {"mrr": 0.5}


def test_the_builtin_version_is_in_use_until_another_is_chosen(tmp_path: Path) -> None:
    assert versions.current_version("pick", tmp_path) == "builtin"
    versions.save_program(versions.new_program("pick"), "v1", tmp_path)
    assert versions.current_version("pick", tmp_path) == "builtin"
    versions.use_version("pick", "v1", tmp_path)
    assert versions.current_version("pick", tmp_path) == "v1"
    versions.use_version("pick", "builtin", tmp_path)
    assert versions.current_version("pick", tmp_path) == "builtin"


def test_a_version_is_never_written_over(tmp_path: Path) -> None:
    versions.save_program(versions.new_program("pick"), "v1", tmp_path)
    for name in ("v1", "builtin", "current"):
        with pytest.raises(CitewellError):
            versions.save_program(versions.new_program("pick"), name, tmp_path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", ".hidden", "x" * 99])
def test_a_version_has_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(CitewellError) as caught:
        versions.read_version("pick", name, tmp_path)
    assert caught.value.problem.code == "program-unknown"


def test_a_file_that_is_no_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "pick").mkdir()
    (tmp_path / "pick" / "v1.json").write_text('{"program": "rank", "version": "v1"}')
    with pytest.raises(CitewellError) as caught:
        versions.load_program("pick", "v1", tmp_path)
    assert caught.value.problem.code == "program-broken"
    assert "v1.json" in caught.value.problem.path


def test_an_example_with_a_field_of_no_signature_loses_it(tmp_path: Path) -> None:
    (tmp_path / "pick").mkdir()
    text = json.dumps(
        {
            "program": "pick",
            "version": "v1",
            "instructions": "i",
            "demos": [{"passage": "p", "__class__": "os.system"}],
        }
    )
    (tmp_path / "pick" / "v1.json").write_text(text)
    assert versions.load_program("pick", "v1", tmp_path).predict.demos == [{"passage": "p"}]
