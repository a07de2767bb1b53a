"""Papers for a placeholder in a paper with a title, an abstract and references, by what is typed.

Run by `lsp_bench.py` (`--only paper`). The references are papers of the library on one topic, half
as many again wait uncited in the .bib, and the typed words name any papers of the library.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any

from rpc_client import RpcClient

from citewell.corpus.library import Library
from citewell.documents.bib.style import BibStyle, entry_text
from citewell.engine.local import LocalEngine
from citewell.model import Query, Work
from citewell.options.merge import library_settings, load

TOPIC = "neural machine translation"
CITED, UNCITED = 60, 30
PROSE = (
    "Attention improves the translation of long sentences",
    "Subword units open the vocabulary",
    "We follow the shared task for several languages",
    "Transfer from languages with much data helps",
)
KINDS: dict[str, Callable[[Work], str]] = {
    "words of a title": lambda work: " ".join(work.title.split()[:4]),
    "author and year": lambda work: f"{work.authors[0].family} {work.year}",
    "author and word": lambda work: f"{work.authors[0].family} {_longest(work)}",
    "author and half a word": lambda work: (
        f"{work.authors[0].family} {_longest(work)[: len(_longest(work)) // 2 + 1]}"
    ),
}


def _longest(work: Work) -> str:
    return max(work.title.split(), key=len)


def bench_paper(arguments: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds to the list; each kind of words in a sentence of its own."""
    from lsp_bench import Editor, citewell_command, measure, project

    cited, named = _works(arguments, arguments.count + 10)
    keys = [f"key{number}" for number in range(len(cited))]
    entries = [entry_text(work, key, BibStyle()) for work, key in zip(cited, keys, strict=True)]
    before, after = _paper_text(keys[:CITED])
    result: dict[str, Any] = {}
    with project("\n\n".join(entries) + "\n") as (folder, main):
        main.write_text(before + after, encoding="utf-8")
        client = RpcClient(citewell_command(arguments))
        client.initialize(folder)
        editor = Editor(client, main, before, after)
        for sentence, (kind, words) in zip(PROSE, KINDS.items(), strict=False):
            typed = iter([words(work) for work in named])

            def task(_number: int, sentence: str = sentence, typed: Any = typed) -> None:
                assert editor.complete_at(f"{sentence} \\cite<{next(typed)}", "> and more.")

            result[kind] = measure(task, arguments.count)
        client.close()
    return result


def _works(arguments: argparse.Namespace, count: int) -> tuple[list[Work], list[Work]]:
    """Papers on the topic, and any papers whose authors and year are known."""
    library = Library.open(arguments.library)
    rows = random.Random(1).sample(range(library.rows), 3 * count)
    whole = [one for one in library.works(rows) if one.authors and one.year]
    library.close()
    options = load(None, overrides=library_settings(str(arguments.library))).options
    engine = LocalEngine.open(options)
    found = [hit.work for hit in engine.find(Query(text=TOPIC), CITED + UNCITED).hits]
    engine.close()
    return found, whole[:count]


def _paper_text(keys: list[str]) -> tuple[str, str]:
    """A paper that cites the keys, up to the line that is typed, and from it on."""
    cites = [
        f"{PROSE[number % len(PROSE)]}, as \\cite{{{key}}} has shown.\n"
        for number, key in enumerate(keys)
    ]
    before = (
        "\\documentclass{article}\n\\title{Attention for the translation of rare languages}\n"
        "\\begin{document}\n\\begin{abstract}\nWe study how attention helps the translation of "
        "languages with little data, and how many sentences it takes.\n\\end{abstract}\n"
        "\\section{Introduction}\n" + "".join(cites)
    )
    return before, "\n\\bibliography{refs}\n\\end{document}\n"
