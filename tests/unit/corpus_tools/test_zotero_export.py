"""Fetching from a Zotero that runs here: a server that answers as Better BibTeX documents it."""

import json

import pytest

from citewell.corpus.errors import LibraryError
from citewell_corpus.importers import ImportReport, find_importer
from citewell_corpus.sources import fetch_zotero


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("zotero:", "library.json"),
        ("zotero:My bees", "My-bees.json"),
        ("zotero:7/Bees", "7-Bees.json"),
    ],
)
def test_the_export_is_fetched_and_read_by_the_importer_of_its_format(
    zotero, tmp_path, wanted, name, old
):
    path = fetch_zotero(wanted, zotero(old=old).url, tmp_path / "zotero")
    assert path.name == name
    importer = find_importer(path)
    assert importer.name == "zotero"
    report = ImportReport()
    (work,) = importer.read(path, report)
    assert (work.title, work.doi, work.bibkey, work.year) == (
        "A Study of Bees", "10.1000/bees", "oe2019", 2019,
    )  # fmt: skip
    assert report.skipped == {"attachment": 1}


def test_a_zotero_that_does_not_run_is_told_with_its_cure(zotero, tmp_path):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(LibraryError) as caught:
        fetch_zotero("zotero:", address, tmp_path)
    assert caught.value.problem.code == "zotero-away"
    assert "Start Zotero" in caught.value.problem.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wanted", "traits", "words"),
    [
        ("zotero:Nothing", {}, "path not found"),
        ("zotero:", {"plain_zotero": True}, "Better BibTeX does not"),
        ("zotero:Elsewhere", {}, "does not export"),
    ],
)
def test_what_zotero_cannot_give_is_told(zotero, tmp_path, wanted, traits, words):
    with pytest.raises(LibraryError) as caught:
        fetch_zotero(wanted, zotero(**traits).url, tmp_path)
    assert caught.value.problem.code == "zotero-refused"
    assert words in caught.value.problem.message


def test_no_other_machine_is_ever_asked(tmp_path):
    with pytest.raises(LibraryError) as caught:
        fetch_zotero("zotero:", "http://192.0.2.1:23119", tmp_path)
    assert "not on this machine" in caught.value.problem.message


def test_the_command_builds_a_library_from_a_running_zotero(zotero, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from citewell_corpus.cli.app import root

    config = tmp_path / "config.toml"
    folder = json.dumps(str(tmp_path / "libraries"))
    config.write_text(
        f"library.path = {folder}\nzotero.url = {json.dumps(zotero().url)}\n", "utf-8"
    )
    monkeypatch.setenv("CITEWELL_CONFIG", str(config))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        added = CliRunner().invoke(root, ["library", "add", "zotero:"], catch_exceptions=False)
        assert added.exit_code == 0, added.output
    shown = CliRunner().invoke(root, ["library", "status", "--json"], catch_exceptions=False)
    assert json.loads(shown.output)["works"] == 1, shown.output
