"""The fixture language that all tests share.

One string holds several files. `%! main.tex` on a line of its own starts a file. A line that is
made only of spaces and marks stands under the text it speaks of; it is removed and recorded:

    %! main.tex
    We use \\cite{a}.
                 ^
                  |

`|` is the cursor (before the character above it), `^^^` a range, `!` an empty range.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest

from citewell.model.document import Span

# A time limit for each example fails a test whenever other tests hold the cores.
hypothesis.settings.register_profile("citewell", deadline=None)
hypothesis.settings.load_profile("citewell")

_HEADER = re.compile(r"%! (?P<name>\S+)\s*$")
_MARKS = re.compile(r"[ \t]*[|^!][ |^!]*$")
_RANGE = re.compile(r"\^+|!")


@dataclass(frozen=True)
class Fixture:
    """Files by name, with the marks taken out of the text."""

    files: dict[str, str]
    cursors: tuple[tuple[str, int], ...] = ()
    marked: tuple[tuple[str, Span], ...] = ()
    names: tuple[str, ...] = field(default=())

    @property
    def text(self) -> str:
        """The text of the first file."""
        return self.files[self.names[0]]

    @property
    def cursor(self) -> int:
        """Offset of the first cursor in its file."""
        return self.cursors[0][1]

    @property
    def cursor_file(self) -> str:
        return self.cursors[0][0]

    @property
    def ranges(self) -> tuple[Span, ...]:
        """All ranges, in the order in which they stand."""
        return tuple(span for _, span in self.marked)

    @property
    def marked_text(self) -> tuple[str, ...]:
        return tuple(self.files[name][span.start : span.end] for name, span in self.marked)

    def write(self, folder: Path) -> Path:
        """Write every file under `folder`, line ends as in the string, and return the folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        return folder


def parse_fixture(text: str, first: str = "main.tex") -> Fixture:
    files: dict[str, list[str]] = {}
    cursors: list[tuple[str, int]] = []
    marked: list[tuple[str, Span]] = []
    name = first
    start = 0  # offset in the current file of the last text line
    length = 0  # length of the current file so far
    for line in text.removeprefix("\n").splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if header := _HEADER.fullmatch(bare):
            name, start, length = header["name"], 0, 0
            files[name] = []
        elif _MARKS.fullmatch(bare) and files.get(name):
            cursors += [(name, start + column) for column, c in enumerate(bare) if c == "|"]
            for mark in _RANGE.finditer(bare):
                end = mark.start() if mark[0] == "!" else mark.end()
                marked.append((name, Span(start + mark.start(), start + end)))
        else:
            files.setdefault(name, []).append(line)
            start, length = length, length + len(line)
    return Fixture(
        files={key: "".join(lines) for key, lines in files.items()},
        cursors=tuple(cursors),
        marked=tuple(marked),
        names=tuple(files),
    )


@pytest.fixture(scope="session", autouse=True)
def no_user_history(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What whoever runs the tests has accepted does not count, and no test adds to it."""
    os.environ["CITEWELL_DATA"] = str(tmp_path_factory.mktemp("history"))


@pytest.fixture(scope="session", autouse=True)
def no_installed_starter() -> None:
    """Tests say which library there is, whether or not `make demo` put the starter beside them."""
    sys.modules["citewell_starter"] = None  # type: ignore[assignment]


@pytest.fixture(scope="session", autouse=True)
def no_terminal_width() -> None:
    """Tests that run beside others are given the width of the terminal that started them."""
    os.environ.pop("COLUMNS", None)


FAULTS = "TESTS_FAULTS"


def _faults_in(folder: Path, expected: Sequence[str] = ()) -> str:
    """What the processes under test wrote since the last look, without what is expected."""
    found: list[str] = []
    for path in sorted(folder.iterdir()):
        found += path.read_text(encoding="utf-8").split("\0")
        path.unlink()
    return "\n".join(one for one in found if one and not any(text in one for text in expected))


@pytest.fixture(scope="session", autouse=True)
def watched_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Processes of Citewell, whoever starts them, take warnings for errors and write down what
    Python would only print (tests/strict/sitecustomize.py)."""
    folder = tmp_path_factory.mktemp("faults")
    os.environ[FAULTS] = str(folder)
    strict = str(Path(__file__).parent / "strict")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (strict, os.environ.get("PYTHONPATH"))))
    yield folder
    if faults := _faults_in(folder):
        pytest.fail(f"a process that several tests share had a fault:\n{faults}")


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest, watched_processes: Path) -> Iterator[None]:
    """A test fails when a process under test had a fault, unless it is marked
    `provokes_fault("what it says")` for each."""
    yield
    expected = [mark.args[0] for mark in request.node.iter_markers("provokes_fault")]
    if faults := _faults_in(watched_processes, expected):
        pytest.fail(f"a process under test had a fault:\n{faults}")


@pytest.fixture
def fixture_files() -> Callable[..., Fixture]:
    """`fixture_files(text, first="main.tex")` reads the fixture language."""
    return parse_fixture


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public papers and citations that developers keep beside the repository."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the optional data folder ../shared/data is not there")
    return path


def _fakes(which: str = "sources") -> ModuleType:
    """A module of fake services, which no import path leads to."""
    name = f"citewell_fake_{which}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).parent / "fakes" / f"{which}.py")
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def chat() -> ModuleType:
    """`ChatServer`, `Reply` and `prompt_of` of tests/fakes/chat.py."""
    return _fakes("chat")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--qdrant-url", default="", metavar="qdrant://HOST:PORT",
        help="Run the contract of back ends against this Qdrant server too. It writes, and deletes, "
        "collections named citewell-test-*.",
    )  # fmt: skip


SKIPPED_FOR = {
    "a Qdrant server": r"--qdrant-url|Qdrant server",
    "public data (../shared)": r"\.\./shared|shared/data|graph of citations",
    "another system": r"Windows|Linux|glibc|win32|these systems|needs fork|/dev/full|SIGKILL",
    "other hardware": r"GPU|CUDA|processor|cores",
}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in five lines at most how many tests were skipped, and for want of what."""
    reasons: dict[str, Counter[str]] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        text = text.removeprefix("Skipped: ")
        kinds = (kind for kind, words in SKIPPED_FOR.items() if re.search(words, text))
        reasons.setdefault(next(kinds, "what is not installed"), Counter())[text] += 1
    for kind, texts in reasons.items():
        shown = "; ".join(f"{count} x {text}" for text, count in texts.most_common(3))
        terminalreporter.write_line(f"{texts.total()} skipped for want of {kind}: {shown}"[:300])


@pytest.fixture(scope="session")
def qdrant_fake() -> ModuleType:
    """`QdrantServer` of tests/fakes/qdrant.py."""
    pytest.importorskip("qdrant_edge", reason="needs the extra `qdrant`")
    pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
    return _fakes("qdrant")


@pytest.fixture
def qdrant_server(qdrant_fake: ModuleType, tmp_path: Path) -> Iterator[Any]:
    """A server on the loopback interface that speaks as Qdrant does."""
    server = qdrant_fake.QdrantServer(tmp_path / "qdrant").start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def grobid() -> ModuleType:
    """`Grobid` of tests/fakes/grobid.py."""
    return _fakes("grobid")


@pytest.fixture(scope="session")
def pdf_files() -> ModuleType:
    """`written`, `compiled` and others of tests/fakes/pdf_files.py."""
    return _fakes("pdf_files")


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """`FakeSources`, `Fault` and `Reply` of tests/fakes/sources.py."""
    return _fakes()


@pytest.fixture
def fake_sources(fakes: ModuleType) -> Iterator[Any]:
    """A server on the loopback interface that speaks as every source does, with small records."""
    yield from fakes.running()


@pytest.fixture
def zotero() -> Iterator[Any]:
    """Starts a server that answers as a Zotero with Better BibTeX: `zotero(**traits)`."""
    yield from _fakes("better_bibtex").running()
