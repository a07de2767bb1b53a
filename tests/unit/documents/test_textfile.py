from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.documents import textfile
from citewell.documents.textfile import (
    FileError,
    apply_edits,
    decode,
    new_file,
    read_text,
    write_text,
    write_texts,
)
from citewell.model.bib import TextEdit
from citewell.model.document import Span


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("Gödel".encode(), "Gödel", "utf-8"),
        (b"\xef\xbb\xbfG\xc3\xb6del", "Gödel", "utf-8"),
        ("\ufeffGödel".encode("utf-16-le"), "Gödel", "utf-16-le"),
        ("\ufeffGödel".encode("utf-16-be"), "Gödel", "utf-16-be"),
        (b"G\xf6del \x96 x", "Gödel – x", "cp1252"),
        (b"G\xf6del \x81", "Gödel \x81", "latin-1"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n", "utf-8"),
    ],
)
def test_a_file_is_read_in_the_encoding_it_has(
    tmp_path: Path, data: bytes, text: str, encoding: str
) -> None:
    path = tmp_path / "a.tex"
    path.write_bytes(data)
    file = read_text(path)
    assert (file.text, file.encoding) == (text, encoding)
    assert file.encode(file.text) == data


@given(st.binary(max_size=300))
def test_reading_and_encoding_gives_the_same_bytes_for_any_bytes(data: bytes) -> None:
    text, encoding, bom = decode(data)
    assert bom + text.encode(encoding) == data


def test_an_edit_leaves_all_other_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    path.write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9\r\nold\r\nend\n")
    file = read_text(path)
    write_text(file, apply_edits(file.text, [TextEdit(Span(6, 9), "new")]))
    assert path.read_bytes() == b"\xef\xbb\xbfcaf\xc3\xa9\r\nnew\r\nend\n"


def test_a_character_that_the_encoding_cannot_hold_is_named_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.tex"
    path.write_bytes(b"G\xf6del\n")
    file = read_text(path)
    with pytest.raises(FileError) as caught:
        write_text(file, "Gödel\nGrothendieck č\n")
    problem = caught.value.problem
    assert (problem.code, problem.line) == ("encoding-too-small", 2)
    assert "U+010D" in problem.message and "UTF-8" in problem.hint
    assert path.read_bytes() == b"G\xf6del\n"


def test_permissions_and_symbolic_links_survive_a_write(tmp_path: Path) -> None:
    target = tmp_path / "real.bib"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link.bib"
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("symbolic links are not allowed here")
    write_text(read_text(link), "new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.bib", "real.bib"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_failing_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"old")
    file = read_text(path)

    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(textfile.os, "fsync", full)
    with pytest.raises(FileError) as caught:
        write_text(file, "new")
    expected = {errno.ENOSPC: "disk-full", errno.EIO: "file-io", errno.EROFS: "file-no-permission"}
    assert caught.value.problem.code == expected[code]
    assert caught.value.problem.hint
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bib"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there")
def test_a_really_full_device_is_reported_as_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, Path("/dev/full").open("wb") as stream:
        stream.write(b"x" * 100_000)
    assert textfile.file_error(caught.value, tmp_path / "a", "written").problem.code == "disk-full"


def test_a_read_only_file_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(FileError) as caught:
        write_text(read_text(path), "new")
    assert caught.value.problem.code == "file-no-permission"
    path.chmod(0o644)
    assert path.read_bytes() == b"old"


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"old")
    file = read_text(path)
    path.write_bytes(b"somebody else's")
    with pytest.raises(FileError) as caught:
        write_text(file, "new")
    assert caught.value.problem.code == "file-changed"
    assert path.read_bytes() == b"somebody else's"


def test_a_new_file_is_created_and_never_replaces_one_that_is_there(tmp_path: Path) -> None:
    file = new_file(tmp_path / "references.bib", "\r\n")
    assert write_text(file, "x").text == "x"
    with pytest.raises(FileError) as caught:
        write_text(file, "y")
    assert caught.value.problem.code == "file-changed"
    with pytest.raises(FileError) as caught:
        write_text(new_file(tmp_path / "missing" / "a.bib"), "y")
    assert caught.value.problem.code == "file-missing"


def test_of_several_files_none_is_written_when_one_cannot_hold_its_text(tmp_path: Path) -> None:
    bib, paper, new = tmp_path / "a.bib", tmp_path / "a.tex", tmp_path / "new.bib"
    bib.write_bytes(b"old")
    paper.write_bytes(b"G\xf6del")
    with pytest.raises(FileError) as caught:
        write_texts(
            [(new_file(new), "x"), (read_text(bib), "new"), (read_text(paper), "Erd\u0151s")]
        )
    assert caught.value.problem.code == "encoding-too-small"
    assert (bib.read_bytes(), paper.read_bytes()) == (b"old", b"G\xf6del")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bib", "a.tex"]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_files_that_were_replaced_are_put_back_when_a_later_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    bib, paper, new = tmp_path / "a.bib", tmp_path / "a.tex", tmp_path / "new.bib"
    bib.write_bytes(b"old\r\n")
    bib.chmod(0o640)
    paper.write_bytes(b"text")
    changes = [(new_file(new), "x"), (read_text(bib), "new"), (read_text(paper), "more")]
    replace, count = Path.replace, 0

    def refuse(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == failing:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FileError) as caught:
        write_texts(changes)
    assert caught.value.problem.code == "file-no-permission"
    assert (bib.read_bytes(), paper.read_bytes()) == (b"old\r\n", b"text")
    assert os.name != "posix" or stat.S_IMODE(bib.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bib", "a.tex"]


def test_edits_apply_in_any_order_and_must_not_overlap() -> None:
    edits = [TextEdit(Span(4, 5), "E"), TextEdit(Span(0, 1), "A"), TextEdit(Span(2, 2), "-")]
    assert apply_edits("abcde", edits) == "Ab-cdE"
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcde", [TextEdit(Span(0, 2), ""), TextEdit(Span(1, 3), "")])
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abc", [TextEdit(Span(2, 9), "")])
