"""One paper, one bibliography, four front ends: the same edits to the byte, the same verdicts.

Each is asked as its users ask it: the command line as a process, the language server and the
server for agents over pipes, the HTTP server over a socket.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import launch, server

mcp_client = pytest.importorskip("mcp.client")
pytest.importorskip("starlette")
pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = r"""\documentclass{article}
\usepackage{natbib}
\begin{document}
Graphs are read with attention \citep<graph attention networks>, and image recognition is deep \cite{residual learning for image recognition}.
We translate with attention alone \citet<attention is all you need>, and cite it twice \cite<attention all you need>.
Nobody wrote \cite<salt roads of the twelfth century>, and here are no words \cite{?}.
Adam is a method for stochastic optimization [CITATION].
\bibliography{refs}
\end{document}
"""
BIB = """@inproceedings{mine,
    title     = {Attention Is All You Need},
    author    = {Vaswani, Ashish and Shazeer, Noam},
    booktitle = {NeurIPS},
    year      = {2017},
}
"""
PLACES = 7
WHOLE_TITLES = 2
"""Places whose words are a title: the paper is known without a pick."""
ANSWER = json.dumps({
    "choice": "2", "reason": "It fits.", "supports": "unclear", "words": "",
})  # fmt: skip

CHECKED = """@inproceedings{right,
  title = {Deep Residual Learning for Image Recognition},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {CVPR},
  year = {2016},
}

@inproceedings{late,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas N. and Welling, Max},
  booktitle = {ICLR},
  year = {2012},
}

@inproceedings{invented,
  title = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author = {Miller, Zoe and Stone, Abel and Wood, Carl},
  booktitle = {ICLR},
  year = {2015},
}

@inproceedings{unknown,
  title = {A Long Title That No Paper of This Small Library Bears},
  author = {Cedar, Cy},
  booktitle = {Paths},
  year = {2015},
}
"""
VERDICTS = {
    "right": "verified", "late": "wrong-detail", "invented": "fabricated", "unknown": "not-found",
}  # fmt: skip

Files = dict[str, str]
Run = Callable[[dict[str, str], Path], Awaitable[Files]]


def written(folder: Path) -> Files:
    return {
        path.name: path.read_bytes().decode() for path in folder.iterdir() if path.suffix != ".toml"
    }


def citewell(
    env: dict[str, str], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


async def fill_on_the_command_line(
    env: dict[str, str], folder: Path, *, online: bool = False
) -> Files:
    run = citewell(env, folder, "fill", "--yes", *["--online"] * online, "paper.tex")
    assert run.returncode in (0, 1), run.stderr  # 1: something is left open
    return written(folder)


async def fill_over_http(env: dict[str, str], folder: Path, *, online: bool = False) -> Files:
    files = written(folder)
    text = files.pop("paper.tex")
    body = {"path": "paper.tex", "text": text, "files": files, "texts": True, "online": online}
    with server(env) as (url, _):
        answer = httpx2.post(f"{url}/v1/fill", json=body, timeout=300).raise_for_status().json()
    return written(folder) | answer["texts"]


async def fill_by_an_agent(env: dict[str, str], folder: Path, *, online: bool = False) -> Files:
    wanted = {"path": "paper.tex", "write": True, "online": online}
    async with agent(env, "--root", str(folder), "--allow-write") as session:
        answer = await session.call_tool("fill_document", wanted)
    assert not answer.is_error, answer.content
    return written(folder)


async def fill_in_an_editor(env: dict[str, str], folder: Path) -> Files:
    editor = await editor_in(env, folder)
    try:
        editor.open("paper.tex")
        uri = editor.uri("paper.tex")
        assert await editor.execute("citewell.fillPlaceholders", uri) == {"applied": True}
        return {name: editor.text(name) for name in written(folder)}
    finally:
        await editor.end()


FRONT_ENDS: dict[str, Run] = {
    "cli": fill_on_the_command_line,
    "http": fill_over_http,
    "mcp": fill_by_an_agent,
    "lsp": fill_in_an_editor,
}
ONLINE_FRONT_ENDS: dict[str, Run] = {
    "cli": partial(fill_on_the_command_line, online=True),
    "http": partial(fill_over_http, online=True),
    "mcp": partial(fill_by_an_agent, online=True),
    "lsp": fill_in_an_editor,
}
"""An editor asks the allowed sources as its lists do."""


def agent(env: dict[str, str], *arguments: str) -> Any:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = ["-m", "citewell", "mcp", *arguments]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=env)
    return mcp_client.Client(stdio_client(parameters))


async def editor_in(env: dict[str, str], folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        editor = await launch(folder, Path(env["CITEWELL_LIBRARY_PATH"]))
    editor.enter(folder)
    return editor


@pytest.fixture
def own_env(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Settings and data of this test alone."""
    (tmp_path / "config.toml").touch()
    return env | {
        "CITEWELL_CONFIG": str(tmp_path / "config.toml"),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_CACHE": str(tmp_path / "cache"),
    }


@pytest.fixture
def model(chat: Any, own_env: dict[str, str]) -> Iterator[Any]:
    """A scripted server that the user's settings name for `fill`, with `llm.verify`."""
    pytest.importorskip("dspy")
    scripted = chat.ChatServer(lambda request: chat.Reply(ANSWER))
    Path(own_env["CITEWELL_CONFIG"]).write_text(
        f'[llm]\nprovider = "llamacpp"\nmodel = "scripted"\nbase_url = "{scripted.url}"\n'
        "pick_threshold = 0.0\nverify = true\n[fill]\nunattended = true\n",
        encoding="utf-8",
    )
    yield scripted
    scripted.close()


def paper_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "paper.tex").write_bytes(PAPER.encode())
    (folder / "refs.bib").write_bytes(BIB.encode())
    return folder


async def test_a_paper_is_filled_the_same_by_every_front_end(
    own_env: dict[str, str], tmp_path: Path
) -> None:
    filled = {
        name: await fill(own_env, paper_in(tmp_path / name)) for name, fill in FRONT_ENDS.items()
    }
    expected = filled["cli"]
    for name, files in filled.items():
        assert files == expected, name
    assert expected["refs.bib"].startswith(BIB)
    assert r"attention alone \citet{mine}" in expected["paper.tex"]
    for left in (r"\cite<salt roads of the twelfth century>", r"\cite{?}", "[CITATION]"):
        assert left in expected["paper.tex"]


async def test_a_paper_is_filled_the_same_by_every_front_end_with_a_language_model(
    own_env: dict[str, str], model: Any, chat: Any, tmp_path: Path
) -> None:
    filled: dict[str, Files] = {}
    request_texts: dict[str, list[str]] = {}
    for name, fill in FRONT_ENDS.items():
        model.requests.clear()
        filled[name] = await fill(own_env, paper_in(tmp_path / name))
        request_texts[name] = [chat.prompt_of(request) for request in model.requests]
    expected = filled["cli"]
    picks, readings = PLACES - WHOLE_TITLES, PLACES
    assert len(request_texts["cli"]) == picks + readings
    for name, files in filled.items():
        assert request_texts[name] == request_texts["cli"], name
        assert files == expected, name
    assert "<" not in expected["paper.tex"] and "[CITATION]" not in expected["paper.tex"]


ONLINE_PAPER = r"""\documentclass{article}
\begin{document}
Water waits \cite<on the patience of kettles>, says my secret aunt.
We translate with attention alone \cite<attention is all you need>.
Kettles wait again \cite<on the patience of kettles>, and nobody wrote \cite<salt roads of tin>.
\bibliography{refs}
\end{document}
"""


async def test_a_paper_is_filled_from_the_sources_the_same_by_every_front_end(
    own_env: dict[str, str], fake_sources: Any, tmp_path: Path
) -> None:
    settings = f'[sources]\nallow = ["openreview"]\nbase_url = "{fake_sources.url}"\n'
    Path(own_env["CITEWELL_CONFIG"]).write_text(settings, encoding="utf-8")
    filled: dict[str, Files] = {}
    for name, fill in ONLINE_FRONT_ENDS.items():
        fake_sources.log.clear()
        folder = paper_in(tmp_path / name)
        (folder / "paper.tex").write_text(ONLINE_PAPER, encoding="utf-8")
        env = own_env | {"CITEWELL_CACHE": str(tmp_path / f"cache-{name}")}
        filled[name] = await fill(env, folder)
        sent = [one.target.lower() for one in fake_sources.of("openreview")]
        assert sum("patience" in target for target in sent) == 1, (name, sent)
        assert not any("attention" in target or "aunt" in target for target in sent), (name, sent)
    expected = filled["cli"]
    for name, files in filled.items():
        assert files == expected, name
    assert expected["refs.bib"].count("Patience of Kettles") == 1
    assert "<on the patience" not in expected["paper.tex"]
    assert r"\cite<salt roads of tin>" in expected["paper.tex"]


async def check_on_the_command_line(env: dict[str, str], folder: Path) -> dict[str, Any]:
    run = citewell(env, folder, "check", "--format", "json", "refs.bib")
    return {
        one["claim"]["key"]: (one["verdict"], codes(one))
        for one in json.loads(run.stdout)["checks"]
    }


async def check_over_http(env: dict[str, str], folder: Path) -> dict[str, Any]:
    with server(env) as (url, _):
        body = {"text": (folder / "refs.bib").read_text()}
        answer = httpx2.post(f"{url}/v1/check", json=body, timeout=300).raise_for_status().json()
    return {one["reference"]: (one["verdict"], codes(one)) for one in answer["references"]}


async def check_by_an_agent(env: dict[str, str], folder: Path) -> dict[str, Any]:
    async with agent(env, "--root", str(folder)) as session:
        answer = await session.call_tool(
            "check_references", {"path": "refs.bib", "verified_too": True, "detail": "full"}
        )
    found = answer.structured_content["references"]
    return {one["key"]: (one["verdict"], codes(one)) for one in found}


async def check_in_an_editor(env: dict[str, str], folder: Path) -> dict[str, Any]:
    editor = await editor_in(env, folder)
    try:
        editor.open("paper.tex")
        editor.open("refs.bib", language="bibtex")
        uri = editor.uri("refs.bib")

        def known() -> list[Any]:
            shown = editor.client.diagnostics.get(uri, ())
            return [one for one in shown if one.code == "reference-not-found"]

        await editor.wait_for(known, 60)
        return verdicts_shown(editor.text("refs.bib"), editor.client.diagnostics[uri])
    finally:
        await editor.end()


def codes(reference: dict[str, Any]) -> list[str]:
    return sorted(one["code"] for one in reference.get("findings", ()))


def verdicts_shown(text: str, diagnostics: Any) -> dict[str, Any]:
    """What an author reads at each entry, in the words of a report."""
    from citewell.verification.finding import MEANINGS

    starts = [n for n, line in enumerate(text.splitlines()) if line.startswith("@")]
    keys = [line.partition("{")[2].rstrip(",") for line in text.splitlines() if line[:1] == "@"]
    found: dict[str, Any] = {}
    for number, key in enumerate(keys):
        end = starts[number + 1] if number + 1 < len(starts) else 10**6
        own = [one for one in diagnostics if starts[number] <= one.range.start.line < end]
        findings = [one for one in own if one.code in MEANINGS]
        worst = min((int(one.severity) for one in findings), default=9)
        verdict = {1: "fabricated", 2: "wrong-detail"}.get(worst, "verified")
        if any(one.code == "reference-not-found" for one in own):
            verdict = "not-found"
        found[key] = (verdict, sorted(str(one.code) for one in findings))
    return found


async def test_references_are_judged_the_same_by_every_front_end(
    own_env: dict[str, str], tmp_path: Path
) -> None:
    runs = {
        "cli": check_on_the_command_line,
        "http": check_over_http,
        "mcp": check_by_an_agent,
        "lsp": check_in_an_editor,
    }
    found: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        folder = paper_in(tmp_path / name)
        (folder / "paper.tex").write_text(
            "\\cite{right,late,invented,unknown}\\bibliography{refs}\n"
        )
        (folder / "refs.bib").write_text(CHECKED)
        found[name] = await run(own_env, folder)
    assert {key: verdict for key, (verdict, _) in found["cli"].items()} == VERDICTS
    for name, verdicts in found.items():
        assert verdicts == found["cli"], name


SEARCHES: tuple[dict[str, Any], ...] = (
    {"year": 2017},
    {"year_from": 2017, "year_to": 2017},
    {"year_from": 2012},
    {"year_to": 2016},
    {"year_from": 2012, "year_to": 2018},
    {"year_from": 2018, "year_to": 2012},
    {},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"year": 2017, "year_from": 2016},
    {"year": 2017, "year_to": 2017},
)


async def test_a_search_has_the_same_pages_over_http_and_for_an_agent(
    own_env: dict[str, str],
) -> None:
    with server(own_env) as (url, _):
        async with agent(own_env) as session:

            async def page(arguments: dict[str, Any]) -> tuple[Any, Any]:
                over_http = httpx2.post(f"{url}/v1/search", json=arguments, timeout=300)
                by_agent = await session.call_tool("search_papers", arguments)
                return over_http, by_agent

            found: list[tuple[str, ...]] = []
            for years in SEARCHES:
                arguments: dict[str, Any] = {"query": "neural networks attention", "k": 2, **years}
                ids: list[str] = []
                while True:
                    over_http, by_agent = await page(arguments)
                    one, other = over_http.json(), by_agent.structured_content
                    assert [p["id"] for p in one["papers"]] == [p["id"] for p in other["papers"]]
                    assert one.get("next_cursor") == other.get("next_cursor"), years
                    assert one["status"] == other["status"] == "found"
                    ids += [paper["id"] for paper in one["papers"]]
                    if not one.get("next_cursor"):
                        break
                    arguments["cursor"] = one["next_cursor"]
                assert len(ids) == len(set(ids))
                found.append(tuple(ids))
            for years in REFUSED:
                over_http, by_agent = await page({"query": "attention", **years})
                assert over_http.status_code == 422 and by_agent.is_error, years
                problem = over_http.json()
                for words in (problem["detail"], problem["hint"]):
                    assert words and words in by_agent.content[0].text
    one_year, same_year, since, until, both, turned, every = found
    assert one_year == same_year and both == turned
    assert set(one_year) < set(both) < set(every)
    assert set(since) & set(until) == set(both) & set(until)


TITLES = {
    "c": "The C Programming Language", "cpp": "The C++ Programming Language",
    "csharp": r"The C\# Programming Language", "astar": "A* Search in Large Graphs",
    "a": "A Search in Large Graphs", "graphs": "图神经网络综述",
    "translation": "基于深度学习的机器翻译研究进展", "morphology": "日本語形態素解析システムの開発",
    "context": "ニューラル機械翻訳における文脈の利用", "birds": "Neural Segmentation of Bird Songs",
}  # fmt: skip
MEANT = {
    "图神经网络": "graphs", "神经网络": "graphs", "机器翻译": "translation", "深度学习": "translation",
    "形態素解析": "morphology", "日本語形態素": "morphology", "機械翻訳": "context", "文脈の利用": "context",
    "C": "c", "C++": "cpp", "C#": "csharp", "A*": "astar", "C programming language": "c",
    "The C++ programming language": "cpp", "c# programming language": "csharp",
    "A* search": "astar", "A search in large graphs": "a", "a* search in large graphs": "astar",
}  # fmt: skip
"""Typed words and the paper that they mean."""


@pytest.fixture(scope="module")
def titled_env(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A library with titles of which a part, or a sign, says which one is meant."""
    folder = tmp_path_factory.mktemp("titles")
    entries = (
        f"@article{{{key}, title = {{{title}}}, author = {{Winter, Ada}}, year = {{2001}}}}\n"
        for key, title in TITLES.items()
    )
    (folder / "held.bib").write_text("".join(entries), "utf-8")
    own = env | {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_LIBRARY_STARTER": "false",
    }
    added = citewell(own, folder, "library", "add", "held.bib")
    assert added.returncode == 0, added.stderr
    return own


async def test_parts_of_unspaced_titles_and_signs_find_their_paper_in_every_front_end(
    titled_env: dict[str, str], tmp_path: Path
) -> None:
    keys = {title.replace("\\", ""): key for key, title in TITLES.items()}
    found: dict[str, dict[str, str]] = {"cli": {}, "mcp": {}, "http": {}}
    for words in MEANT:
        done = citewell(titled_env, tmp_path, "find", words, "--json")
        found["cli"][words] = keys[json.loads(done.stdout)["hits"][0]["work"]["title"]]
    async with agent(titled_env) as session:
        for words in MEANT:
            answer = await session.call_tool("search_papers", {"query": words})
            found["mcp"][words] = keys[answer.structured_content["papers"][0]["title"]]
    with server(titled_env) as (url, _):
        for words in MEANT:
            page = httpx2.get(f"{url}/v1/search", params={"query": words}, timeout=300).json()
            found["http"][words] = keys[page["papers"][0]["title"]]
    assert found == dict.fromkeys(found, MEANT)


async def test_whole_titles_with_signs_and_in_chinese_fill_their_placeholders(
    titled_env: dict[str, str], tmp_path: Path
) -> None:
    places = "".join(f"See \\cite<{title}>.\n\n" for title in TITLES.values())
    paper = f"\\begin{{document}}\n{places}\\bibliography{{refs}}\n\\end{{document}}\n"
    filled = {}
    for name, fill in FRONT_ENDS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "paper.tex").write_text(paper, "utf-8")
        (folder / "refs.bib").write_text("", "utf-8")
        filled[name] = await fill(titled_env, folder)
    assert filled["cli"] == filled["http"] == filled["mcp"] == filled["lsp"]
    written_titles = {
        key: title
        for key, title in re.findall(r"@\w+\{(.*?),\s+title = \{(.*)\},", filled["cli"]["refs.bib"])
    }
    cited = re.findall(r"\\cite\{(.*?)\}", filled["cli"]["paper.tex"])
    plain = [re.sub(r"[{}\\]", "", written_titles[key]) for key in cited]
    assert plain == [title.replace("\\", "") for title in TITLES.values()]
