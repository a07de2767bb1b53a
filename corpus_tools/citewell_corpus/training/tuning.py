"""The citations that tune: of papers that trained neither the encoder nor the head.

The tuning part of `contexts/dev`, and the LaTeX papers of `contexts_train2` and `contexts_no_gold2`
that the split sets aside.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from citewell.model import Question
from citewell_corpus.datasets import open_data
from citewell_corpus.training.data import context_of, read_jsonl
from citewell_corpus.training.priors import paper_key
from citewell_corpus.training.split import citation_part, is_tuning

NEWER = ("contexts_train2", "contexts_no_gold2")


def tuning_citations(data: Path) -> list[Question]:
    """Clean citations of the papers that tune, with an answer in the corpora or without.

    The paper that a question without a title comes from is known by its key, so that what it cites
    itself is no evidence.
    """
    dev = data / "contexts" / "dev.jsonl.gz"
    found = [q for q in open_data(dev).questions if citation_part(q) == "valid"]
    with tempfile.TemporaryDirectory() as folder:
        # In one file, for a paper's references are those that its records name.
        path = Path(folder) / "tuning.jsonl.gz"
        keys = dict(_write(data, path))
        for question in open_data(path).questions:
            paper = replace(question.query.paper, key=keys[question.id])
            found.append(replace(question, query=replace(question.query, paper=paper)))
    return [question for question in found if "clean" in question.tags]


def _write(data: Path, path: Path) -> Iterator[tuple[str, int]]:
    """Writes the records of the newer papers that tune; the key of each one's paper, by its id."""
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for name in NEWER:
            for record in read_jsonl(data / "contexts" / f"{name}.jsonl.gz"):
                if is_tuning(record):
                    out.write(json.dumps(record) + "\n")
                    yield record["id"], paper_key(context_of(record))
