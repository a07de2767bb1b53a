"""Several processes that write one file: every line is there once, whoever wrote it."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from citewell.documents import textfile
from citewell.documents.textfile import new_file, read_text, write_text
from citewell.model.system import files
from citewell.model.system.files import FileError, locked

ROUNDS = int(os.environ.get("CITEWELL_TEST_ROUNDS", "60"))
"""200 in a long run."""
ADD = """
import sys
from pathlib import Path
from citewell.documents.textfile import read_text, write_text
from citewell.model.system.files import FileError
path, name, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(rounds):
    while True:
        file = read_text(path)
        try:
            write_text(file, f"{file.text}{name}-{number}\\n")
            break
        except FileError as error:
            assert error.problem.code == "file-changed", error
"""
APPEND = """
import sys, time
for number in range(int(sys.argv[3])):
    with open(sys.argv[1], "a") as file:
        file.write(f"{sys.argv[2]}-{number}\\n")
    time.sleep(0.004)
"""


@pytest.mark.parametrize("through_link", [False, True])
def test_no_line_is_lost_between_two_writers_and_a_program_without_locks(
    tmp_path: Path, through_link: bool
) -> None:
    path = tmp_path / "refs.bib"
    path.write_bytes(b"")
    link = tmp_path / "link.bib"
    if through_link:
        link.symlink_to(path)
    programs = {"a": ADD, "b": ADD, "c": APPEND}
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                code,
                str(link if through_link and name == "b" else path),
                name,
                str(ROUNDS),
            ]
        )
        for name, code in programs.items()
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    lines = path.read_text("utf-8").splitlines()
    assert sorted(lines) == sorted(f"{name}-{n}" for name in programs for n in range(ROUNDS))
    left = [link, path] if through_link else [path]
    assert sorted(tmp_path.iterdir()) == left


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has a file open")
def test_a_program_that_overwrites_the_new_text_is_not_undone(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_bytes(b"old\n")
    file = read_text(path)
    with path.open("r+b") as other:
        # It has the file open when the comparison is made, and writes a moment later.
        timer = threading.Timer(0.1, lambda: (other.write(b"own\n"), other.close()))
        timer.start()
        with pytest.raises(FileError) as caught:
            write_text(file, "new\n")
        timer.join()
    assert caught.value.problem.code == "file-changed"
    assert path.read_bytes() == b"own\n"


def test_a_file_that_another_program_makes_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "refs.bib"
    staged = textfile.stage

    def made_meanwhile(target: Path, data: bytes, mode: int | None = None) -> Path:
        found = staged(target, data, mode)
        path.write_bytes(b"theirs\n")
        return found

    monkeypatch.setattr(textfile, "stage", made_meanwhile)
    with pytest.raises(FileError) as caught:
        write_text(new_file(path), "ours\n")
    assert caught.value.problem.code == "file-changed"
    assert path.read_bytes() == b"theirs\n"
    assert list(tmp_path.iterdir()) == [path]


def test_who_waits_too_long_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)
    path = tmp_path / "refs.bib"
    path.write_bytes(b"old\n")
    file = read_text(path)
    failed: list[FileError] = []

    def write() -> None:
        try:
            write_text(file, "other\n")
        except FileError as error:
            failed.append(error)

    with locked([path]):
        other = threading.Thread(target=write)
        other.start()
        other.join()
        write_text(file, "new\n")
    assert [error.problem.code for error in failed] == ["file-busy"]
    assert re.search(r"writing refs\.bib", failed[0].problem.message)
    assert path.read_bytes() == b"new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_bytes(b"old\n")
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from citewell.model.system.files import locked\n"
        "with locked([Path(sys.argv[1])]):\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.kill()
    write_text(read_text(path), "new\n")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_takes_no_lock_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import filelock

    def none(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(filelock.FileLock, "acquire", none)
    path = tmp_path / "refs.bib"
    path.write_bytes(b"old\n")
    write_text(read_text(path), "new\n")
    assert path.read_bytes() == b"new\n"
