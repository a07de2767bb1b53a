"""Labels of ASReview: its files as it exports them, and what the library knows of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from citewell.engine.local import LocalEngine
from citewell.model import CitewellError, Query
from citewell.usecases.explore.labels import Label, feedback_of, read_labels

EXPORTS = Path(__file__).parents[2] / "fixtures" / "asreview"
DOI = "10.1162/neco.1997.9.8.1735"


def test_ris_has_its_labels_in_notes() -> None:
    assert read_labels(EXPORTS / "export.ris") == [
        Label(relevant=True, id="x:gat", title="Graph Attention Networks"),
        Label(relevant=False, doi=DOI, title="Long Short-Term Memory"),
        Label(relevant=True, title="A Title That No Library Has"),
    ]


def test_a_table_of_an_older_version_has_them_in_the_column_included() -> None:
    assert read_labels(EXPORTS / "export_v1.csv") == [
        Label(relevant=True, title="Graph Attention Networks"),
        Label(relevant=False, doi=f"https://doi.org/{DOI}", title="Long Short-Term Memory"),
    ]


def test_the_present_column_takes_precedence(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(
        "Title,included,asreview_label,asreview_prior\n"
        'One,0,1.0,0\nTwo,1,0,\nThree,1,,\nFour,0,-1,\n"Fi\nve",,1,\n',
        encoding="utf-8",
    )
    assert [(one.title, one.relevant) for one in read_labels(path)] == [
        ("One", True), ("Two", False), ("Fi ve", True)
    ]  # fmt: skip


def test_a_table_in_latin_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "export.tsv"
    path.write_bytes("title\tlabel_included\nÜber Äpfel\t1\n".encode("latin-1"))
    assert read_labels(path) == [Label(relevant=True, title="Über Äpfel")]


@pytest.mark.parametrize(
    "content",
    [
        "", "title,year\nOne,2019\n", "\x00\x01", "a" * 200_000, "{}\n[]\n",
        "TY  - JOUR\r\nTI  - One\r\nN1  - a note\r\nER  - \r\n",
    ],
)  # fmt: skip
def test_a_file_without_labels_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CitewellError) as error:
        read_labels(path)
    assert error.value.problem.code == "labels-unreadable"
    with pytest.raises(CitewellError):
        read_labels(tmp_path / "none.csv")


def test_a_field_beyond_all_limits_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    csv.field_size_limit(1_000_000)  # as an importer leaves it
    path.write_text('title,included\n"' + "a" * 200_000 + '",1\n', encoding="utf-8")
    with pytest.raises(CitewellError):
        read_labels(path)


def test_records_are_found_by_id_doi_or_title(orchards: LocalEngine) -> None:
    works = [hit.work for hit in orchards.find(Query(text="irrigation of apple orchards"), 3).hits]
    first, second, third = works
    labels = [
        Label(relevant=True, id=first.id, title="Changed Since"),
        Label(relevant=False, title=second.title.upper()),
        Label(relevant=False, title=third.title),
        Label(relevant=True, id="17", title=third.title),
        Label(relevant=True, title="A Title That No Library Has"),
    ]
    found = feedback_of(orchards, labels)
    assert found.kept == (first.id, third.id)
    assert found.rejected == (second.id,)
    assert found.unknown == ("A Title That No Library Has",)
