"""Measures what an author's other papers give: leave-one-out with and without them in the library.

    python tests/bench/own_papers_bench.py --library FOLDER/NAME

The papers are those of one group in ../shared/data/projects. The library is copied by links, the
papers are added with `--format manuscripts`, and every citation of each is looked for again, cold
and warm; what a paper itself cites is left out of what the library knows (by its title). With
`--without-shipped` the priors that ship, whose training data hold the same group, are left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
from msgspec.structs import replace

from citewell.documents.project.paper_project import Project
from citewell.model import Question
from citewell.model.titles import title_key
from citewell.options import Options
from citewell.retrieval import citation_context
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.importers.manuscript import TELLING_TITLE, ManuscriptImporter
from citewell_corpus.sources import source_at
from citewell_lab.evaluation import methods
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.leave_one_out import questions_of
from citewell_lab.evaluation.methods import EvaluationPlan
from citewell_lab.evaluation.results import Evaluation, EvaluationError
from citewell_lab.evaluation.scoring import compare_saved

PROJECTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "projects"
VERSION = 0.3
"""Share of common references, of the shorter list, from which two papers are one."""
GROUP = PROJECTS / "latex" / "Pinafore__publications"


def sampled_questions(folder: Path, options: Options, most: int) -> list[Question]:
    """At most so many citations of each paper of the folder; of several versions the fullest."""
    found: dict[str, list[Question]] = {}
    seen: set[Path] = set()
    for path in ManuscriptImporter().files(folder):
        if path in seen or path.suffix == ".bib":
            continue
        seen.update(Project.open(path, options.documents).documents)
        try:
            made, _, _ = questions_of([path], options.documents)
        except EvaluationError:
            continue
        title = title_key(made[0].query.paper.title)
        if len(title) >= TELLING_TITLE and len(found.get(title, ())) < len(made):
            found[title] = made
    cited = {
        title: {title_key(one) for q in made for one in q.gold_titles}
        for title, made in found.items()
    }
    out: list[Question] = []
    for title, made in found.items():
        rivals = [
            len(cited[title] & works) / min(len(cited[title]), len(works))
            for other, works in cited.items()
            if other != title
        ]
        # Another version under another title would give the answers away.
        if max(rivals, default=0.0) > VERSION:
            print(f"left out, for a version of it is there: {made[0].query.paper.title}")
        else:
            out += made[:: max(1, -(-len(made) // most))]
    return out


def measured(options: Options, questions: list[Question]) -> Evaluation:
    """The pipeline's figures, cold and warm."""
    from citewell_lab.evaluation.results import DataInfo

    plan = EvaluationPlan(
        methods=tuple(methods.named(["pipeline"], options)),
        latency_calls=20,
        abstain=False,
        misses=0,
        finds=0,
    )
    return evaluate(questions, options, plan, DataInfo(name="one group's papers"))


def show(name: str, evaluation: Evaluation) -> None:
    for run in evaluation.runs:
        figures = evaluation.metrics[run.name][run.setting]
        values = "  ".join(
            f"{metric} {figures[metric]:.3f}"
            for metric in ("recall@1", "recall@10", "recall@100", "mrr")
        )
        print(f"{name:24} {run.setting}  {values}  p95 {figures['latency_p95']:.0f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library that is there")
    parser.add_argument("--papers", type=Path, default=GROUP)
    parser.add_argument("--most", type=int, default=1000, help="citations asked of one paper")
    parser.add_argument("--without-shipped", action="store_true")
    arguments = parser.parse_args()
    if not arguments.papers.is_dir() or arguments.library is None:
        sys.exit("needs --library, and the folder of papers beside the checkout")
    if arguments.without_shipped:
        citation_context.PRIORS = Path("none")
    base = Options()
    home = arguments.library.resolve()
    before = replace(base, library=replace(base.library, path=home.parent, name=home.name))
    questions = sampled_questions(arguments.papers, base, arguments.most)
    alone = measured(before, questions)
    print(f"{len(questions)} citations of {len({q.paper for q in questions})} papers")
    show("without own papers", alone)
    with tempfile.TemporaryDirectory(prefix="citewell-own-", dir=home.parent) as temporary:
        folder = Path(temporary) / "own"
        shutil.copytree(home, folder, copy_function=_link)
        report = build_library(
            folder,
            add=[source_at(str(arguments.papers), "manuscripts")],
            builders=default_builders(base),
        )
        source = report.sources[0]
        print(f"added what {source.lists} papers cite in {source.passages} passages")
        library = replace(base.library, path=folder.parent, name=folder.name)
        after = measured(replace(base, library=library), questions)
    show("with own papers", after)
    for one in compare_saved(after, msgspec.structs.replace(alone, items=after.items)):
        print(
            f"  {one.a} against {one.b}: {one.metric} {one.result.difference:+.3f} "
            f"({one.result.low} to {one.result.high}), p {one.result.p:.3f}"
        )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


if __name__ == "__main__":
    main()
