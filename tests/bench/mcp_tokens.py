"""What the answers to ten usual tasks of a writing agent cost it, or to fifteen of its builder.

    python tests/bench/mcp_tokens.py [--builder] [--library FOLDER/NAME] [--show]

Asks each task with the SDK's client and prints the tokens of the text and of the structured content
of its answer, the ones that a model reads in most clients, as a quarter of their characters. Without
a library the starter library is searched. `--show` prints the answers, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from mcp.client import Client
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.mcp.roots import Roots
from citewell.mcp.server import create_server
from citewell.options import Options
from citewell.options.tree import LibraryOptions

ATTENTION = "arXiv:1706.03762"
BERT = "10.18653/v1/N19-1423"
PAPER = r"""\documentclass{article}\begin{document}
We fine-tune BERT \cite<bert pre-training of deep bidirectional transformers>, which builds on
attention \cite<attention is all you need>. Teacups are seldom described in this way \cite{?}.
\bibliography{refs}\end{document}
"""
BIB = """@inproceedings{devlin, title={{BERT}: Pre-training of Deep Bidirectional Transformers for
  Language Understanding}, author={Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova,
  Kristina}, booktitle={NAACL}, year={2019}}
@inproceedings{vaswani, title={Attention is All you Need}, author={Vaswani, Ashish and Shazeer,
  Noam}, booktitle={ICML}, year={2016}}
@article{adam, title={Adam: A Method for Stochastic Optimization}, author={Smith, Anna and Ba,
  Jimmy}, journal={arXiv preprint arXiv:1412.6980}, year={2014}}
@article{none, title={A Survey of Painted Teacups for Language Models}, author={Roe, Jo},
  year={2011}}
"""
SENTENCE = "Graph attention networks weigh the neighbours of a node [CITATION]."
PASSAGE = (
    "We fine-tune RoBERTa [CITATION] on each task with Adam [CITATION]. Residual connections "
    "ease the training of deep networks [CITATION]."
)
TASKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a sentence", "find_citations", {"text": SENTENCE}),
    ("a passage", "find_citations", {"text": PASSAGE}),
    ("a topic", "search_papers", {"query": "graph neural networks for molecules"}),
    ("a topic, with abstracts", "search_papers",
     {"query": "parameter-efficient fine-tuning", "year_from": 2021, "k": 5, "detail": "full"}),
    ("a question", "explore_papers", {"query": "How do language models store factual knowledge?"}),
    ("two records", "get_papers", {"ids": [ATTENTION, BERT]}),
    ("what cites a paper", "related_papers", {"id": BERT, "direction": "cited_by"}),
    ("a bibliography", "check_references", {"path": "refs.bib", "verified_too": True}),
    ("a draft", "fill_document", {"path": "main.tex"}),
    ("an entry", "add_entry", {"id": ATTENTION, "bib": "new.bib"}),
)  # fmt: skip
BUILDER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a sentence", "find_citations", {"text": SENTENCE}),
    ("a draft", "fill_document", {"path": "main.tex"}),
    ("a bibliography as text", "check_references", {"text": BIB, "verified_too": True}),
    ("related work", "explore_papers", {"query": "graph neural networks for molecules"}),
    ("a claim", "search_papers", {"query": "dropout reduces overfitting"}),
    ("years", "search_papers", {"query": "image captioning", "year_from": 2015, "year_to": 2017}),
    ("years in another order", "search_papers",
     {"query": "image captioning", "year_from": 2017, "year_to": 2015}),
    ("a wrong argument", "search_papers", {"q": "attention"}),
    ("a value out of bounds", "search_papers", {"query": "attention", "k": 500}),
    ("an unknown key", "get_papers", {"ids": ["vaswani2071attention"]}),
    ("nothing", "find_citations", {"text": ""}),
    ("a long text", "find_citations", {"text": f"{'Words say little. ' * 1_000}{SENTENCE}"}),
    ("French", "find_citations",
     {"text": "Les réseaux de neurones profonds apprennent des représentations [CITATION]."}),
    ("German", "find_citations",
     {"text": "Maschinelle Übersetzung nutzt heute neuronale Netze mit Attention [CITATION]."}),
    ("Chinese", "find_citations", {"text": "注意力机制改进了神经机器翻译 [CITATION]。"}),
)  # fmt: skip


def tokens(text: str) -> int:
    """About how many tokens a text costs."""
    return len(text) // 4


async def measure(options: Options, tasks: Any, show: bool) -> None:
    """Ask each task, and print what its answer costs."""
    engine = LocalEngine.open(options)
    engine.load(120)
    text_sum = structured_sum = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.tex").write_text(PAPER, encoding="utf-8")
        Path(folder, "refs.bib").write_text(BIB, encoding="utf-8")
        server = create_server(options, engine, Roots.open([Path(folder)]))
        async with Client(server) as client:
            print(f"{'task':24} {'text':>7} {'structured':>11}")
            for name, tool, arguments in tasks:
                found = await client.call_tool(tool, arguments)
                text = "".join(getattr(one, "text", "") for one in found.content)
                structured = json.dumps(
                    found.structured_content, ensure_ascii=False, separators=(",", ":")
                )
                failed = " (error)" if found.is_error else ""
                if show:
                    print(f"\n{tool} {json.dumps(arguments)}\n{text or structured}\n")
                if found.structured_content is None:
                    structured = ""
                text_sum += tokens(text)
                structured_sum += tokens(structured)
                print(f"{name:24} {tokens(text):7,} {tokens(structured):11,}{failed}", flush=True)
    print(f"{'all':24} {text_sum:7,} {structured_sum:11,}")
    engine.close()


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--builder", action="store_true")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    options = replace(Options(), library=LibraryOptions(path=given.library) if given.library
                      else LibraryOptions(path=Path(tempfile.gettempdir()) / "no-such-library"))  # fmt: skip
    asyncio.run(measure(options, BUILDER if given.builder else TASKS, given.show))


if __name__ == "__main__":
    main()
