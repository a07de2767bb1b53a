"""Is it this paper? Names, topics, acronyms and keys as authors type them, asked of the installed
starter library in every front end with its default settings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from tests.e2e.conftest import Editor, clean_env, launch, server
from tests.e2e.identity_cases import KEYS, NAMES, UNDECIDED, same_title, topics

from citewell.corpus.library import Library

STARTER = Path(__file__).resolve().parents[2] / "corpus_tools" / "starter" / "citewell_starter"
TAILS, FILLED = 100, 0.02
"""Topics that are typed, and the largest share of them that may be filled."""
NAMED, MEANT = 0.82, 0.88
"""Least share of the names that are filled, and of the keys whose paper is offered."""
DECIDED = {
    r"We take contextualized word vectors \cite<CoVe> as inputs.":
        "Learned in Translation: Contextualized Word Vectors",
    r"Topics are found by latent Dirichlet allocation \cite<LDA>.": "Latent Dirichlet Allocation",
}  # fmt: skip
"""Sentences that decide what an acronym means."""
SENTENCES = {
    "We fine-tune RoBERTa [CITATION] on our data.":
        "RoBERTa: A Robustly Optimized BERT Pretraining Approach",
    "We optimise with Adam (CITE).": "Adam: A Method for Stochastic Optimization",
    "Words are split by BPE <citation needed>.":
        "Neural Machine Translation of Rare Words with Subword Units",
}  # fmt: skip


@pytest.fixture(scope="module")
def starter_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment without a library of one's own."""
    if not (STARTER / "library" / "CURRENT").is_file():
        pytest.skip("needs the starter library")
    folder = tmp_path_factory.mktemp("home")
    return clean_env(folder) | {
        "CITEWELL_LIBRARY_PATH": str(folder / "none"),
        "PYTHONPATH": str(STARTER.parent),
    }


@pytest.fixture(scope="module")
def filled(starter_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The placeholders of one paper after `citewell fill`, by what is typed."""
    folder = tmp_path_factory.mktemp("paper")
    library = Library.open(STARTER / "library")
    typed = [*NAMES, *UNDECIDED, *topics(library, 7, TAILS)]
    library.close()
    body = [rf"The details are in another section \cite<{words}>." for words in typed]
    (folder / "main.tex").write_text(
        "\\documentclass{article}\n\\begin{document}\n" + "\n\n".join([*body, *DECIDED])
        + "\n\\bibliography{refs}\n\\end{document}\n", encoding="utf-8",
    )  # fmt: skip
    (folder / "refs.bib").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "fill", "main.tex", "--dry-run", "--json"],
        cwd=folder, env=starter_env, stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    placeholders = json.loads(done.stdout)["placeholders"]
    return dict(zip([*typed, *DECIDED], placeholders, strict=True))


def written(one: Any) -> str:
    return "" if one["work"] is None else str(one["work"]["title"])


def test_names_are_filled_with_or_without_a_noun_and_none_wrongly(filled: dict[str, Any]) -> None:
    found = {name: written(filled[name]) for name in NAMES}
    wrong = {name: one for name, one in found.items() if one and not same_title(one, NAMES[name])}
    left_open = [name for name, one in found.items() if not one]
    assert not wrong
    assert len(left_open) <= (1 - NAMED) * len(NAMES), left_open


def test_a_topic_is_never_filled_with_a_paper_whose_title_ends_in_it(
    filled: dict[str, Any],
) -> None:
    known = {*NAMES, *UNDECIDED, *DECIDED}
    wrong = {
        text: written(one) for text, one in filled.items() if text not in known and one["work"]
    }
    assert len(wrong) <= FILLED * TAILS, wrong


def test_venues_words_in_capitals_and_acronyms_of_several_things_are_left_open(
    filled: dict[str, Any],
) -> None:
    assert not {name: written(filled[name]) for name in UNDECIDED if filled[name]["work"]}


def test_the_text_decides_what_an_acronym_means(filled: dict[str, Any]) -> None:
    for sentence, title in DECIDED.items():
        assert same_title(written(filled[sentence]), title), filled[sentence]["candidates"]


def test_what_is_left_open_has_papers_to_choose_from(filled: dict[str, Any]) -> None:
    assert all(one["candidates"] for one in filled.values() if one["work"] is None)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor(
    starter_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Editor]:
    """An editor with a paper that cites all of `KEYS`."""
    folder = tmp_path_factory.mktemp("undefined").resolve()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in starter_env.items():
            patch.setenv(name, value)
        one = await launch(folder, Path(starter_env["CITEWELL_LIBRARY_PATH"]))
    one.enter(folder)
    one.write("refs.bib", "")
    # The shorter first: no key is then found within one before it.
    keys = sorted(KEYS, key=len)
    lines = "\n\n".join(rf"The details are in another section \cite{{{key}}}." for key in keys)
    one.open(
        "main.tex",
        "\\documentclass{article}\n\\begin{document}\n" + lines
        + "\n\\bibliography{refs}\n\\end{document}\n",
    )  # fmt: skip
    yield one
    await one.end()


@pytest.mark.asyncio(loop_scope="module")
async def test_every_undefined_key_is_offered_papers_and_add_all_adds_those_that_are_sure(
    editor: Editor,
) -> None:
    missed = []
    offered: dict[str, list[str]] = {}
    for key in KEYS:
        actions = await editor.actions("main.tex", f"{key}}}.")
        titles = [
            one.title for one in actions if one.title.startswith("Add ") and " as `" in one.title
        ]
        offered[key] = titles
        assert 1 <= len(titles) <= 3, key
        if not any(KEYS[key].split(":")[0].lower() in one.lower() for one in titles):
            missed.append((key, titles))
    assert len(missed) <= (1 - MEANT) * len(KEYS), missed
    every = [one for one in actions if one.title.startswith("Add all ")]
    await editor.act(every[0])
    bib = editor.text("refs.bib")
    added = dict(re.findall(r"@\w+\{([^,]+),[^@]*?\btitle\s*=\s*\{(.+?)\},\n", bib))
    wrong = {key: one for key, one in added.items() if not same_title(plain(one), KEYS[key])}
    assert len(added) > len(KEYS) / 3 and not wrong
    single = {key for key, titles in offered.items() if len(titles) == 1}
    assert set(added) <= single, "what is added without a look is the one paper of its quick fix"


def plain(title: str) -> str:
    return re.sub(r"[{}]", "", title)


def test_a_sentence_with_a_placeholder_is_searched_for_as_a_sentence(
    starter_env: dict[str, str], tmp_path: Path
) -> None:
    for sentence, title in SENTENCES.items():
        done = subprocess.run(
            [sys.executable, "-m", "citewell", "find", "--json", "-k", "3", sentence],
            cwd=tmp_path, env=starter_env, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=300, check=True,
        )  # fmt: skip
        assert same_title(json.loads(done.stdout)["hits"][0]["work"]["title"], title), sentence


def test_the_servers_read_a_sentence_with_a_placeholder_too(starter_env: dict[str, str]) -> None:
    with server(starter_env) as (url, _):
        for sentence, title in SENTENCES.items():
            answer = httpx2.post(f"{url}/v1/search", json={"query": sentence}, timeout=120).json()
            assert same_title(answer["papers"][0]["title"], title), sentence
            lines = httpx2.post(f"{url}/v1/explore", json={"query": sentence}, timeout=120).text
            listed = [json.loads(line) for line in lines.splitlines()]
            assert same_title(listed[0]["papers"][0]["title"], title), sentence


@pytest.mark.asyncio(loop_scope="module")
async def test_an_agent_may_search_by_a_sentence_with_a_placeholder(
    starter_env: dict[str, str],
) -> None:
    client = pytest.importorskip("mcp.client")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "citewell", "mcp"], env=starter_env
    )
    async with client.Client(stdio_client(command)) as session:
        for sentence, title in SENTENCES.items():
            answer = await session.call_tool("search_papers", {"query": sentence, "k": 3})
            found = answer.structured_content["papers"]
            assert same_title(found[0]["title"], title), sentence
