"""The figures of the check, against small sums done by hand, and the command that writes them."""

import json

import pytest
from click.testing import CliRunner

from citewell.cli.app import root
from citewell_lab.evaluation.references import Judgement, half_of, rates


def test_the_rates_are_those_of_a_hand_made_table():
    pairs = [(False, True)] * 6 + [(False, False)] * 2 + [(True, True)] + [(True, False)] * 3
    result = rates([Judgement(*pair) for pair in pairs])
    assert (result.flagged_right, result.missed, result.flagged_wrong, result.passed) == (
        6,
        2,
        1,
        3,
    )
    assert result.detection == pytest.approx(6 / 8)
    assert result.false_positive_rate == pytest.approx(1 / 4)
    assert result.precision == pytest.approx(6 / 7)
    assert result.f1 == pytest.approx(12 / 15)
    assert result.mcc == pytest.approx((6 * 3 - 1 * 2) / (7 * 8 * 4 * 5) ** 0.5)


def test_a_reference_keeps_its_half():
    halves = [half_of(f"key{n}") for n in range(400)]
    assert halves == [half_of(f"key{n}") for n in range(400)]
    assert 150 < halves.count("tuning") < 250


def record(n, author, label, year="2014"):
    return {
        "bibtex_key": f"k{n}",
        "bibtex_type": "inproceedings",
        "fields": {"title": "Dropout Regularises Deep Networks", "author": author, "year": year},
        "label": label,
        "hallucination_type": None if label == "VALID" else "future_date",
    }


def test_eval_takes_a_reference_set_and_writes_its_figures(library_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    lines = [
        record(1, "", "VALID"),
        record(2, "", "HALLUCINATED", "2033"),
        record(3, "", "VALID") | {"fields": {"title": "Held by Nobody at All", "year": "2001"}},
    ]
    data = tmp_path / "set.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    folder = library_options.library.path / library_options.library.name
    out = CliRunner().invoke(
        root,
        ["--config", "config.toml", "--library", str(folder), "eval", "--data", str(data),
         "--json", "out.json"],
    )  # fmt: skip
    assert out.exit_code == 0, out.output
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in result["judged"]] == ["verified", "wrong-detail", "not-found"]
    every = result["parts"]["all"]
    assert every["abstaining"]["detection"] == 1.0
    assert every["abstaining"]["false_positive_rate"] == 0.0
    assert every["strict"]["false_positive_rate"] == 0.5
    assert every["kinds"]["future_date"]["verdicts"] == {"wrong-detail": 1}


def test_check_runs_on_a_real_library_and_exits_by_its_bar(library_options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    (tmp_path / "refs.bib").write_text(
        "@article{a, title={Dropout Regularises Deep Networks}, year={2014}}\n"
        "@article{b, title={Beam Searches Revisited}, year={2018}}\n"
        "@article{c, title={Parsing with Neural Transitions}, year={2003}}\n",
        encoding="utf-8",
    )
    folder = library_options.library.path / library_options.library.name

    def run(*arguments):
        before = ["--config", "config.toml", "--library", str(folder), "check", "refs.bib"]
        return CliRunner().invoke(root, [*before, *arguments])

    out = run()
    assert out.exit_code == 0, out.output
    assert "3 references" in out.output and "refs.bib:3" in out.output
    assert run("--fail-on", "wrong-detail").exit_code == 1
    assert run("--fail-on", "wrong-detail", "--ignore", "year").exit_code == 0
    value = json.loads(run("--format", "json").stdout)
    assert value["counts"]["wrong-detail"] == 1
    assert json.loads(run("--format", "sarif").stdout)["version"] == "2.1.0"
    assert run("--format", "html", "--out", "page.html").exit_code == 0
    empty = CliRunner().invoke(
        root, ["--config", "config.toml", "--library", str(folder), "check", "-"], input="\n"
    )
    assert empty.exit_code == 2
    assert "[check-empty]" in empty.output
    assert "<!doctype html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_missing_library_is_a_broken_environment(tmp_path, monkeypatch):
    from citewell.model import CitewellError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    (tmp_path / "refs.bib").write_text("@misc{a, title={Some Title}}", encoding="utf-8")
    arguments = ["--config", "config.toml", "--library", "./none", "check", "refs.bib"]
    out = CliRunner().invoke(root, arguments)
    assert isinstance(out.exception, CitewellError)
    assert out.exception.problem.code == "library-missing"
