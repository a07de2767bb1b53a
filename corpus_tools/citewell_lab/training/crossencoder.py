"""Trains the cross-encoder:
`python -m citewell_lab.training.crossencoder --data ../shared/data`.

Questions are citations of papers that neither tune nor test, each with the wrong papers that the
pipeline ranks first; the loss is a softmax over the right paper and a sample of those, a part of it
with the head's score added, because it is what the head lacks that is wanted. Runs on a GPU, in
bfloat16, where there is one; on a processor the form is smaller: fewer questions, fewer wrong
papers of each, MiniLM's token vectors as they are. An interrupted run resumes from its last
checkpoint.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.priors import read_priors
from citewell.model import Query
from citewell.ranking.citation_cross_encoder import Combination, PairTexts, write_combination
from citewell.ranking.learned import Model, head_scores
from citewell.retrieval.encoders.onnx import TOKENIZER
from citewell.retrieval.encoders.static import WEIGHTS, StaticEncoder
from citewell.retrieval.passages import read_passages
from citewell_lab.training.data import CitationContext, TrainingPaper, read_papers
from citewell_lab.training.pairs import Role, load, role
from citewell_lab.training.questions import OLD_SETS, CitingFacts, ask, training_references
from citewell_lab.training.split import fraction
from citewell_lab.training.static_network import model_folder
from citewell_lab.training.world import World, as_work

# Examples for the cross-encoder: real citations, each with the wrong papers that the pipeline
# ranks first.
#
# Papers that tune or test give none. Half of the others taught the static encoder, the others the
# head: the pipeline ranks what they cite higher than what a new paper cites.

HARD = 50
"""First papers of the pipeline that are kept of each question."""
PER_GOLD, PER_MARKED_GOLD = 3, 6
"""Questions at most of one cited paper; by text of PDFs, and by LaTeX, Markdown or HTML."""
PER_PAPER, PER_MARKED_PAPER = 10, 40
"""Questions at most of one citing paper, as text of a PDF and as its source."""
MOST_IN_GROUP = 3
"""A command with more papers says little about each of them."""
MARKED_IN_BATCH = 5 / 8
"""Share of questions from LaTeX, Markdown and HTML."""
WARM, UNTITLED = 0.5, 0.2
"""Shares of questions asked with the paper's references, and without its title."""

LEARNERS: frozenset[Role] = frozenset({"encoder", "head"})
"""Roles of the papers that train."""


class CrossEncoderExample(msgspec.Struct, frozen=True):
    """One citation as a training question over the rows of the corpora."""

    query: Query
    gold: int
    """Row of the cited paper; of its editions, the one that the pipeline ranks first."""
    gold_score: float
    """The head's score."""
    wrong: tuple[int, ...]
    """Rows that the pipeline ranks first and that this paper is not known to cite, best first."""
    wrong_scores: tuple[float, ...]
    """The head's scores."""
    marked: bool = False
    """Whether the citing text is LaTeX, Markdown or HTML, not the text of a PDF."""


def sample(
    contexts: Iterable[CitationContext], most: int, roles: Collection[Role] = LEARNERS
) -> list[CitationContext]:
    """At most `most` contexts of papers with these roles that make examples: two from LaTeX,
    Markdown or HTML for each from the text of a PDF while there are any, in random order."""
    per_gold: Counter[str] = Counter()
    per_paper: Counter[str] = Counter()
    marked: list[CitationContext] = []
    plain: list[CitationContext] = []
    pool = [
        context
        for context in contexts
        if context.clean
        and context.group <= MOST_IN_GROUP
        and context.origin not in OLD_SETS
        and role(context) in roles
    ]
    for context in sorted(pool, key=lambda c: (c.form == "text", fraction(c.id, "cross-encoder"))):
        is_text = context.form == "text"
        gold = context.gold[0]
        if is_text and not context.before:
            continue
        if per_gold[gold] >= (PER_GOLD if is_text else PER_MARKED_GOLD):
            continue
        if per_paper[context.paper] >= (PER_PAPER if is_text else PER_MARKED_PAPER):
            continue
        per_gold[gold] += 1
        per_paper[context.paper] += 1
        (plain if is_text else marked).append(context)
    pairs = len(marked) // 2
    mixed = [
        one
        for place in range(pairs)
        for one in (*marked[2 * place : 2 * place + 2], *plain[place : place + 1])
    ]
    return [*mixed, *marked[2 * pairs :], *plain[pairs:]][:most]


def mine(
    world: World, head: Path, contexts: Sequence[CitationContext], known: CitingFacts
) -> Iterable[CrossEncoderExample]:
    """Each context whose cited paper is a candidate, with the first papers of the pipeline."""
    trees = Model(head).trees
    questions = ask(world, contexts, known, WARM, UNTITLED, apart=True)
    for number, (context, one) in enumerate(zip(contexts, questions, strict=True)):
        found, table = world.candidates(one.query, one.references, one.own, one.nearby)
        if number % 500 == 499:
            click.echo(f"examples: {number + 1} of {len(contexts)}", err=True)
        scores = head_scores(trees, table)
        right = np.flatnonzero(np.isin(found, one.gold))
        if not len(right):
            continue  # no order of the candidates could find it
        best = right[np.argmax(scores[right])]
        order = np.argsort(-scores, kind="stable")
        # Other papers that it cites may also be right here, without a label.
        cited = {*known.references(context), *one.gold.tolist(), *one.exclude.tolist()}
        cited_here = np.isin(world.keys[found], world.keys[np.array(sorted(cited), np.int64)])
        wrong = order[~cited_here[order]][:HARD]
        yield CrossEncoderExample(
            one.query,
            int(found[best]),
            round(float(scores[best]), 3),
            tuple(map(int, found[wrong])),
            tuple(round(float(score), 3) for score in scores[wrong]),
            context.form != "text",
        )


def batches(examples: Sequence[CrossEncoderExample], size: int, steps: int) -> list[list[int]]:
    """Numbers of the examples of each step: `MARKED_IN_BATCH` of them from sources where there are
    both kinds. Each kind is used up before any of it comes again."""
    kinds = [
        [n for n, one in enumerate(examples) if one.marked == marked] for marked in (True, False)
    ]
    share = round(size * MARKED_IN_BATCH)
    counts = [share, size - share] if all(kinds) else [size * bool(kind) for kind in kinds]
    columns: list[list[list[int]]] = []
    for number, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        passes = -(-count * steps // max(len(kind), 1))
        order = [
            kind[n]
            for again in range(passes)
            for n in np.random.default_rng((number, again)).permutation(len(kind))
        ]
        columns.append([order[s * count : (s + 1) * count] for s in range(steps)])
    return [[n for column in columns for n in column[step]] for step in range(steps)]


def write_examples(examples: Iterable[CrossEncoderExample], path: Path) -> None:
    """One JSON value a line, each written as soon as it is there."""
    encoder = msgspec.json.Encoder()
    with path.open("wb") as out:
        for example in examples:
            out.write(encoder.encode(example) + b"\n")
            out.flush()


def read_examples(path: Path) -> list[CrossEncoderExample]:
    """The examples of a file."""
    decoder = msgspec.json.Decoder(CrossEncoderExample)
    with path.open("rb") as lines:
        return [decoder.decode(line) for line in lines if line.endswith(b"\n")]


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NEAR, NEAREST = 0.55, 10
"""Share of a question's wrong papers from the pipeline's first ten; the rest are lower in its
list."""
SUM = 0.35
"""Share in the loss of the network's and the head's scores together; the rest is that of the
network's alone."""
HEAD = 0.75
"""Factor of the head's scores there. On the tuning part the right papers are likeliest under a
factor of 1; of the training questions' papers, head and encoder know too much."""
CHECKPOINT = 25
"""Steps between two checkpoints."""


START = Combination(weight=0.0)
"""Adds nothing, until it is fitted."""


class Form(msgspec.Struct, frozen=True):
    """How large a training is."""

    layers: int
    words: int
    """Tokens that are kept of the vocabulary."""
    questions: int
    """Different ones at most."""
    steps: int
    batch: int
    """Questions a step."""
    papers: int
    """Papers of each question: the right one and wrong ones."""
    rate: float


SMALL = Form(layers=3, words=18_000, questions=7_000, steps=1500, batch=8, papers=6, rate=2e-4)
LARGE = Form(layers=4, words=18_000, questions=40_000, steps=1900, batch=64, papers=16, rate=2e-4)


class TokenizedTexts(msgspec.Struct, frozen=True):
    """Token ids of everything that the examples name, padded with 0."""

    passages: NDArray[np.int32]
    papers: NDArray[np.int32]
    place: dict[int, int]
    """Row of `papers` of each row of the corpora."""


def pruned_tokenizer(papers: list[TrainingPaper], words: int) -> tuple[Any, NDArray[np.int64]]:
    """MiniLM's tokenizer with the most frequent tokens of the papers alone, in that order, and
    their former ids. Every sign of its alphabet that occurs stays."""
    import tokenizers

    full = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    vocabulary: dict[str, int] = full.get_vocab()
    counts = np.zeros(len(vocabulary), np.int64)
    texts = [f"{p.title} {p.venue} {p.abstract}" for p in papers[::4]]
    for start in range(0, len(texts), 2000):
        for one in full.encode_batch(texts[start : start + 2000], add_special_tokens=False):
            np.add.at(counts, one.ids, 1)
    special = [vocabulary[token] for token in SPECIAL]
    for token, number in vocabulary.items():
        if len(token.removeprefix("##")) == 1 and token.isascii():
            counts[number] += 1000
    order = [n for n in np.argsort(-counts, kind="stable").tolist() if n not in special]
    kept = np.array([*special, *order][:words], np.int64)
    names = {number: token for token, number in vocabulary.items()}
    state = json.loads(full.to_str())
    new = {names[int(number)]: place for place, number in enumerate(kept)}
    state["model"]["vocab"] = new
    state["post_processor"] = None
    for token in state["added_tokens"]:
        token["id"] = new[token["content"]]
    return tokenizers.Tokenizer.from_str(json.dumps(state)), kept


def tokenize(
    examples: list[CrossEncoderExample], papers: list[TrainingPaper], tokenizer: Any
) -> TokenizedTexts:
    """The examples as arrays."""
    cut = PairTexts(tokenizer)
    rows = sorted({r for e in examples for r in (e.gold, *e.wrong)})
    found: list[list[int]] = []
    for start in range(0, len(rows), 2000):
        found += cut.papers([as_work(papers[r]) for r in rows[start : start + 2000]])
    return TokenizedTexts(
        _padded([cut.passage(e.query) for e in examples]),
        _padded(found),
        {row: number for number, row in enumerate(rows)},
    )


def _padded(lists: list[list[int]]) -> NDArray[np.int32]:
    out = np.zeros((len(lists), max(map(len, lists))), np.int32)
    for row, one in enumerate(lists):
        out[row, : len(one)] = one
    return out


def choose(
    example: CrossEncoderExample, count: int, random: np.random.Generator
) -> tuple[list[int], list[float]]:
    """The right paper and `count - 1` wrong ones, with the head's scores."""
    wrong = np.arange(len(example.wrong))
    near = random.permutation(wrong[:NEAREST])[: round(NEAR * (count - 1))]
    far = random.permutation(np.setdiff1d(wrong, near))[: count - 1 - len(near)]
    taken = [*near, *far]
    return (
        [example.gold, *(example.wrong[w] for w in taken)],
        [example.gold_score, *(example.wrong_scores[w] for w in taken)],
    )


def train(
    examples: list[CrossEncoderExample],
    papers: list[TrainingPaper],
    form: Form,
    work: Path,
    threads: int,
) -> tuple[Any, Any]:
    """The trained network and its tokenizer; checkpoints are kept in the folder."""
    import torch

    from citewell_lab.training.crossencoder_network import from_minilm

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer, kept = pruned_tokenizer(papers, form.words)
    tokenizer.save(str(work / "tokenizer.json"))
    network = from_minilm(model_folder(), kept, form.layers).to(device)
    taught = [one for one in examples if len(one.wrong) >= NEAREST + form.papers]
    taught = taught[: form.questions]
    texts = tokenize(taught, papers, tokenizer)
    network.words.weight.requires_grad_(device == "cuda")
    optimizer = torch.optim.AdamW(_groups(network, form.rate), weight_decay=0.01)
    total = form.steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / (0.06 * total), max(0.0, 1 - s / total))
    )
    file, begin = work / "checkpoint.pt", 0
    if file.exists():
        state = torch.load(file, weights_only=True)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        begin = state["step"]
    order = batches(taught, form.batch, total)
    started, losses = time.monotonic(), []
    for step in range(begin, total):
        chosen = order[step]
        random = np.random.default_rng(step)
        drawn = [choose(taught[n], form.papers, random) for n in chosen]
        read = torch.from_numpy(texts.passages[chosen]).long().to(device)
        rows = np.array([[texts.place[r] for r in one] for one, _ in drawn])
        offered = torch.from_numpy(texts.papers[rows]).long().to(device)
        head = torch.tensor([scores for _, scores in drawn], device=device)
        read, offered = read[:, : _longest(read)], offered[..., : _longest(offered)]
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            scores = network(read, offered).float()
        right = torch.zeros(len(drawn), dtype=torch.long, device=device)
        alone = torch.nn.functional.cross_entropy(scores, right)
        added = torch.nn.functional.cross_entropy(scores + HEAD * head, right)
        loss = (1 - SUM) * alone + SUM * added
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if step % CHECKPOINT == CHECKPOINT - 1 or step == total - 1:
            state = {
                "network": network.state_dict(), "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(), "step": step + 1,
            }  # fmt: skip
            torch.save(state, file.with_suffix(".new"))
            file.with_suffix(".new").replace(file)
            click.echo(
                f"step {step + 1} of {total}: loss {np.mean(losses[-CHECKPOINT:]):.4f}, "
                f"{time.monotonic() - started:.0f} s",
                err=True,
            )
    return network.eval(), tokenizer


def _groups(network: Any, rate: float) -> list[dict[str, Any]]:
    """What is new learns faster than what MiniLM knows."""
    factors = {"glance": 100.0, "sharpness": 100.0, "judge": 10.0, "shared": 10.0}
    groups: list[dict[str, Any]] = []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            factor = next((f for part, f in factors.items() if part in name), 1.0)
            groups.append({"params": [parameter], "lr": rate * factor})
    return groups


def _longest(ids: Any) -> int:
    """Columns up to the last token of any row."""
    return int((ids != 0).flatten(0, -2).any(0).nonzero().max()) + 1


def gather(
    data: Path,
    papers: list[TrainingPaper],
    weights: Path,
    work: Path,
    most: int,
    roles: Collection[Role] = LEARNERS,
) -> list[CrossEncoderExample]:
    """The examples of papers with these roles, mined once with the weights of a folder and kept in
    the other folder."""
    file = work / "examples.jsonl"
    if not file.exists():
        world = World(
            papers,
            StaticEncoder(weights),
            read_priors(weights / "priors.npz"),
            read_passages(weights / "passages.npz"),
            work,
        )
        citations = load(data, papers)
        contexts = sample(citations.contexts, most, roles)
        part = file.with_suffix(".part")
        known = training_references(data, world, citations)
        found = mine(world, weights / "ranker.npz", contexts, known)
        write_examples(found, part)
        part.replace(file)
    return read_examples(file)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for examples, checkpoints.",
)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of the model.")
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    default=WEIGHTS,
    help="Of the pipeline.",
)
@click.option("--questions", type=int, help="Training questions; default: as the form has it.")
@click.option("--threads", default=2)
def main(
    data: Path, work: Path, into: Path, *, weights: Path, questions: int | None, threads: int
) -> None:
    """Mine the examples, train the network and write it; `crossencoder_fit` is run next."""
    import torch

    from citewell_lab.training.crossencoder_network import export

    form = LARGE if torch.cuda.is_available() else SMALL
    if questions:
        form = msgspec.structs.replace(form, questions=questions)
    work.mkdir(parents=True, exist_ok=True)
    papers = read_papers(data)
    # Of some questions the right paper is no candidate.
    examples = gather(data, papers, weights, work, form.questions * 5 // 4)
    network, tokenizer = train(examples, papers, form, work, threads)
    export(network, tokenizer, into)
    write_combination(START, into)


if __name__ == "__main__":
    main()
