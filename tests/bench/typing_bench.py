"""Latency of the lists for a citation that is typed at a new place of a long chapter.

    python tests/bench/typing_bench.py [--library FOLDER/NAME] [--chapters 8 60 150] [--json out.json]

Places are citations of public chapters of `../shared/data/projects`. Each is removed, and
`\\cite<` with the title of a cited work is typed in its place, one letter every 150 ms, as
incremental changes; each list is timed at the client's end of the pipe, beside a bare pygls server that answers
the same bytes. Without `--library` the starter library alone is searched, as installed; a library
named is searched above it. The stages are taken in one process, at the same places.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the worker has it
from rpc_client import RpcClient, percentiles

from citewell.documents.context import query_for
from citewell.documents.project.paper_project import Project
from citewell.engine.local import LocalEngine
from citewell.features.citing.complete import search_words, wanted
from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
from citewell.model import SearchResult
from citewell.model.document import Citation
from citewell.options.merge import library_settings, load

PROJECTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "projects" / "latex"
CHAPTERS = {
    8: "grigory__NIPS-18-submission/intro.tex",
    60: "ruiantunes__ua-thesis/document/tex/contents/c2.tex",
    150: "MWPainter__thesis/text/ch4-dents.tex",
}
"""By the size in kB."""
LETTERS = 12
SECONDS = 0.15
"""Between two letters."""
_BARE = """
import json, sys
from lsprotocol import converters, types
from pygls.lsp.server import LanguageServer
server = LanguageServer("bare", "1")
answer = converters.get_converter().structure(json.load(open(sys.argv[1])), types.CompletionList)
server.feature(types.TEXT_DOCUMENT_COMPLETION)(lambda params: answer)
server.start_io()
"""


class Place(NamedTuple):
    """A citation to type anew: the text before it and behind it, and the words."""

    before: str
    after: str
    words: str


class Chapter:
    """A chapter in a copy of its project."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        repository, _, inner = name.partition("/")
        self.folder = folder / repository
        shutil.copytree(PROJECTS / repository, self.folder)
        self.path = self.folder / inner
        self.text = self.path.read_text(encoding="utf-8")
        project = Project.open(self.path)
        titles = {entry.key: entry.get("title") for _, entry in project.entries()}
        found = list(self._places(project.documents[self.path].citations, titles))
        self.places = random.Random(1).sample(found, min(count, len(found)))

    def _places(self, citations: Sequence[Citation], titles: Mapping[str, str]) -> Iterator[Place]:
        for citation in citations:
            words = re.sub(r"[^\w ]", "", titles.get(citation.keys[0].key, ""))
            if len(words) >= LETTERS:
                before = self.text[: citation.span.start].rstrip("~ ") + " "
                yield Place(before, self.text[citation.span.end :], words[:LETTERS].strip())


class Author:
    """Types into the one open document of a server, and times the lists."""

    def __init__(self, client: RpcClient, path: Path, text: str) -> None:
        self._client, self._uri, self._version = client, path.as_uri(), 1
        client.open(path, "latex", text)

    def _change(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        self._version += 1
        places = [dict(zip(("line", "character"), one, strict=True)) for one in (start, end)]
        change = {"range": {"start": places[0], "end": places[1]}, "text": text}
        document = {"uri": self._uri, "version": self._version}
        self._client.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
        )

    def replace(self, old: str, new: str) -> None:
        """Make one text of the other, by the part in which they differ."""
        self._change((0, 0), _end(old), new)

    def type(self, place: Place, seconds: float = SECONDS) -> Iterator[tuple[float, list[Any]]]:
        """The seconds to each list, and its items: at `\\cite<`, then at each letter."""
        line, character = _end(place.before)
        for number, letter in enumerate(f"\\cite<{place.words}"):
            begin = time.perf_counter()
            at = character + number
            self._change((line, at), (line, at), letter)
            if number >= len("\\cite"):
                result = self._client.request(
                    "textDocument/completion",
                    {
                        "textDocument": {"uri": self._uri},
                        "position": {"line": line, "character": at + 1},
                        "context": {"triggerKind": 1},
                    },
                )
                yield time.perf_counter() - begin, result["items"] if result else []
            time.sleep(max(0.0, begin + seconds - time.perf_counter()))


def _end(text: str) -> tuple[int, int]:
    last = text[text.rfind("\n") + 1 :]
    return text.count("\n"), len(last.encode("utf-16-le")) // 2


def server_command(library: Path | None, empty: Path) -> list[str]:
    place = library or empty / "default"
    return [sys.executable, "-m", "citewell", "--library", str(place), "lsp"]


def type_all(
    chapter: Chapter, command: Sequence[str]
) -> tuple[list[float], list[float], list[Any], dict[str, Any]]:
    """Seconds at `\\cite<` and at letters, the last list, and what server and worker took."""
    client = RpcClient(command)
    client.initialize(chapter.folder)
    text = chapter.places[0].before + chapter.places[0].after
    author = Author(client, chapter.path, text)
    at_mark: list[float] = []
    letters: list[float] = []
    items: list[Any] = []
    begun: dict[str, float] = {}
    for number, place in enumerate(chapter.places):
        if number == 1:
            begun = processor_ms(client.process.pid)
        if number:
            author.replace(text, place.before + place.after)
            time.sleep(1.0)  # the author reads on
        (first, _), *rest = author.type(place)
        if number:  # a session's first list has a figure of its own
            at_mark.append(first)
        letters += [seconds for seconds, _ in rest]
        items = rest[-1][1] or items
        text = f"{place.before}\\cite<{place.words}{place.after}"
    held = memory(client.process.pid)
    for name, spent in processor_ms(client.process.pid).items():
        each = (spent - begun.get(name, 0.0)) / max(1, len(at_mark) * (LETTERS + 1))
        held[f"{name}, processor ms a list"] = round(each, 1)
    client.close()
    return at_mark, letters, items, held


def processor_ms(pid: int) -> dict[str, float]:
    """Processor time of a server and of its worker so far."""
    root = psutil.Process(pid)
    processes = [("server", root), *(("worker", one) for one in root.children())]
    times = {name: process.cpu_times() for name, process in processes}
    return {name: 1e3 * (one.user + one.system) for name, one in times.items()}


def memory(pid: int) -> dict[str, float]:
    """Megabytes of anonymous and of mapped pages of a server and of its worker."""
    root = psutil.Process(pid)
    found: dict[str, float] = {}
    for name, process in (("server", root), *(("worker", one) for one in root.children())):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
        sizes = {line.split(":")[0]: int(line.split()[1]) / 1000 for line in lines}
        found[f"{name} anonymous"] = round(sizes["Anonymous"])
        found[f"{name} mapped"] = round(sizes["Rss"] - sizes["Anonymous"])
    return found


def first_lists(chapter: Chapter, command: Sequence[str], times: int) -> dict[str, float]:
    """From opening the chapter to the first list at a place, which is asked for at once."""
    spent = []
    for number in range(times + 1):
        client = RpcClient(command)
        client.initialize(chapter.folder)
        place = chapter.places[number % len(chapter.places)]
        begin = time.perf_counter()
        author = Author(client, chapter.path, place.before + place.after)
        next(iter(author.type(place, seconds=0)))
        if number:  # the first may write bytecode and caches
            spent.append(time.perf_counter() - begin)
        client.close()
    return percentiles(spent)


@contextmanager
def bare_server(items: list[Any]) -> Iterator[list[str]]:
    """The command of a pygls server that answers with these items."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"isIncomplete": True, "items": items}, file)
        file.flush()
        yield [sys.executable, "-c", _BARE, file.name]


def stages(chapter: Chapter, engine: LocalEngine) -> dict[str, float]:
    """Milliseconds of processor time a letter, by stage, in this process (p50)."""
    spent: dict[str, list[float]] = defaultdict(list)
    cache, options = ProjectCache(), load(None).options

    def timed(stage: str, run: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = run()
        spent[stage].append(1e3 * (time.process_time() - begin))
        return result

    for place in chapter.places:
        for count in range(len(place.words) + 1):
            before = f"{place.before}\\cite<{place.words[:count]}"
            text = before + place.after
            wanted_now = DocumentInput(chapter.path, text, {}, (chapter.folder,), options, 0)
            document, state = timed("document", lambda w=wanted_now: cache.read(w))
            paper = state.citing
            at = timed("place", lambda d=document, b=before: wanted(d, len(b)))
            query = timed(
                "context", lambda d=document, a=at, p=paper: query_for(d, a.placeholder, paper=p)
            )
            words = search_words(at.placeholder)
            query = replace(query, text=words, unfinished=bool(words))
            result: SearchResult = timed("search", lambda q=query: engine.find(q, 20))
            for stage, milliseconds in result.timings.items():
                spent[f"search: {stage}"].append(milliseconds)
    return {stage: round(statistics.median(own), 2) for stage, own in spent.items()}


def measure(arguments: argparse.Namespace, folder: Path, kilobytes: int) -> dict[str, Any]:
    chapter = Chapter(folder, CHAPTERS[kilobytes], arguments.places)
    command = server_command(arguments.library, folder)
    at_mark, letters, items, held = type_all(chapter, command)
    result: dict[str, Any] = {
        "list at \\cite<": percentiles(at_mark),
        "each letter": percentiles(letters),
        "memory in MB, processor time": held,
    }
    with bare_server(items) as bare:
        bare_mark, bare_letters, _, _ = type_all(chapter, bare)
    result["bare pygls, same items"] = percentiles(bare_mark + bare_letters)
    result["first list"] = first_lists(chapter, command, arguments.starts)
    if arguments.stages:
        named = library_settings(str(arguments.library or folder / "default"))
        engine = LocalEngine.open(load(None, overrides=named).options)
        result["stages, ms p50"] = stages(chapter, engine)
        engine.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="folder of a library above the starter")
    parser.add_argument("--chapters", type=int, nargs="*", default=list(CHAPTERS))
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--no-stages", dest="stages", action="store_false")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not PROJECTS.is_dir():
        print(f"skipped: needs {PROJECTS}")
        return
    if arguments.library:
        arguments.library = arguments.library.absolute()
    results: dict[str, Any] = {}
    for kilobytes in arguments.chapters:
        with tempfile.TemporaryDirectory() as name:
            results[f"{kilobytes} kB"] = measure(arguments, Path(name).resolve(), kilobytes)
        print(f"{kilobytes} kB", json.dumps(results[f"{kilobytes} kB"], indent=1), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
