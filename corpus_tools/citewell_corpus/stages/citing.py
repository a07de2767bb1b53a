"""The stage of a build that turns the citations of a source into citation priors.

While a source is read, its citing papers are written to a file of frames; here they become priors
of the same form as the shipped ones (`corpus.priors`), in a separate folder that is sealed like a
segment. The size is bounded: of too many lists, a fair sample is kept.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.citing import FOLDER as TEXT_FOLDER
from citewell.corpus.citing import NAME, WORDS, Passage, write_full_text, write_part
from citewell.corpus.columns import title_key
from citewell.corpus.keys import id_number
from citewell.corpus.layout import SEGMENT, CitingUse
from citewell.corpus.priors import Priors, coded
from citewell.model import CitingPaper, Query, Work
from citewell.retrieval.bm25_build import Bm25Builder
from citewell.retrieval.encoders.contract import Encoder
from citewell.retrieval.encoders.registry import load_encoder
from citewell.retrieval.passages import gather_passages, write_passages
from citewell_corpus.importers.contract import CitedWork, PaperCitations, PaperText
from citewell_corpus.processes import Progress
from citewell_corpus.segment_writer import seal, write_whole
from citewell_corpus.stages.publish import next_number

# Collection of a source's citations while it is read, for the stage that makes priors.

FRAMES, NUMBERS, TEXTS = "citing.bin", "citing.npz", "texts.bin"
LENGTH = struct.Struct("<I")
"""Header of each frame: its size in bytes."""


class CitingWriter:
    """Collects a source's citations while it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stream = (folder / FRAMES).open("wb")
        self._encoder = msgspec.msgpack.Encoder()
        self._numbers, self._keys, self._counts = array("q"), array("Q"), array("q")
        self._texts = (folder / TEXTS).open("wb")
        self.lists = 0
        self.passages = 0
        self.texts = 0

    def cites(self, citing: PaperCitations) -> None:
        """Add a citing paper."""
        data = self._encoder.encode(citing)
        self._stream.write(LENGTH.pack(len(data)) + data)
        self.lists += 1
        self.passages += len(citing.passages)

    def text(self, text: PaperText) -> None:
        """Add the text of a paper."""
        data = self._encoder.encode(text)
        self._texts.write(LENGTH.pack(len(data)) + data)
        self.texts += 1

    def work(self, work: Work) -> None:
        """Add a record: its title under its ids, for references by id, and its citation count."""
        if work.citations is None and not self.lists:
            return
        key = title_key(work.title)
        for identifier in dict.fromkeys((work.id, *work.same_as)):
            self._numbers.append(id_number(identifier))
            self._keys.append(key)
            self._counts.append(-1 if work.citations is None else work.citations)

    def close(self) -> None:
        """Write the collected numbers, which completes the folder."""
        self._stream.close()
        self._texts.close()
        np.savez(
            self._folder / NUMBERS,
            number=np.array(self._numbers, np.int64),
            key=np.array(self._keys, np.uint64),
            count=np.array(self._counts, np.int64),
        )


MAX_LISTS = 30_000
"""Maximum citing papers of a library; each takes a vector in memory and slows every search."""
MAX_PASSAGES = 40_000
MAX_COUNTED = 40_000
"""Maximum papers of one source with only a citation count: the most cited ones."""
PASSAGES_PER_PAPER = 16
FEWEST = 3
"""Minimum resolved references of a record for its list to be evidence of its topic. A shorter one
only links papers, and is kept where there is room; the author's own papers always count."""
_BATCH = 512
_NO_KEY = 1 << 64
"""Above every title key."""
_Frame = TypeVar("_Frame", PaperCitations, PaperText)


@cache
def encoder_fingerprint() -> str:
    """Fingerprint of the bundled encoder, which encodes the vectors of the priors."""
    return _encoder().fingerprint


def _encoder() -> Encoder:
    return load_encoder("citation")


def finish_citing(
    library: Path,
    staged: Path,
    parts: Sequence[Path],
    source: str,
    room: tuple[int, int],
    progress: Progress,
) -> CitingUse | None:
    """Write the priors of a staged source and move them into place; None if it has no citations.

    `parts` are the folders with its records; `room`: maximum lists and passages. Does nothing if it
    was finished before.
    """
    marker = staged / "citing.json"
    if marker.is_file():
        use = msgspec.json.decode(marker.read_bytes(), type=CitingUse | None)
        folder = staged / NAME
        if use is not None and not (library / "segments" / use.id / SEGMENT).is_file():
            _place(library, folder, use.id)
        return use
    has_texts = any((part / TEXTS).stat().st_size for part in parts)
    if not has_texts and not any(map(_has_citations, parts)):
        write_whole(marker, msgspec.json.encode(None))
        return None
    encoder = _encoder()
    priors, passages = gather(parts, encoder, room, progress)
    if not len(priors) and not has_texts:
        write_whole(marker, msgspec.json.encode(None))
        return None
    folder = staged / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_part(priors, folder)
    if passages:
        write_passages(gather_passages(passages), folder / WORDS)
    texts = _write_texts(parts, folder / TEXT_FOLDER, progress) if has_texts else 0
    name = f"{next_number(library):06d}-{uuid4().hex[:8]}"
    record = seal(folder, name, 0, (source,), {NAME: {"encoder": encoder.fingerprint}})
    use = CitingUse(
        id=name,
        record=record,
        encoder=encoder.fingerprint,
        papers=len(priors),
        lists=len(priors.list_key),
        passages=len(priors.passage_cited),
        texts=texts,
    )
    write_whole(marker, msgspec.json.encode(use))
    _place(library, folder, name)
    return use


def _has_citations(staged: Path) -> bool:
    """False if the records of a source have neither citations nor citation counts."""
    if (staged / FRAMES).stat().st_size:
        return True
    with np.load(staged / NUMBERS, allow_pickle=False) as file:
        return bool((file["count"] > 0).any())


def _write_texts(parts: Sequence[Path], folder: Path, progress: Progress) -> int:
    """Index the full text of the papers of a source; return their number."""
    texts = {title_key(text.title): text for text in _frames(parts, TEXTS, PaperText)}
    progress.stage("Index the full text", len(texts))

    def build(works: Callable[[], Iterable[Work]], count: int, into: Path) -> None:
        Bm25Builder().build(works, count, into, lambda number: None)

    papers = (
        (key, [Passage(page, words) for page, words in text.passages])
        for key, text in texts.items()
    )
    write_full_text(papers, folder, build)
    progress.advance(len(texts))
    return len(texts)


def _place(library: Path, folder: Path, name: str) -> None:
    (library / "segments").mkdir(exist_ok=True)
    folder.replace(library / "segments" / name)


class _List(msgspec.Struct):
    """A citing paper with the keys of its references."""

    key: int
    frame: int
    cited: list[int]
    links_only: bool


def gather(
    parts: Sequence[Path], encoder: Encoder, room: tuple[int, int], progress: Progress
) -> tuple[Priors, list[tuple[int, int, str]]]:
    """The priors of a staged source, within `room` lists and passages, and the passages: key of
    the cited paper, key of the citing one, sentence."""
    number, key, count = _numbers(parts)
    titles = _TitleKeys(number, key)
    kept = _sampled_lists(parts, titles, room[0])
    counted = _counted(key, count)
    keys = np.array(sorted({k for one in kept for k in one.cited} | counted.keys()), np.uint64)
    place = {k: n for n, k in enumerate(keys.tolist())}
    citations = np.full(len(keys), -1.0, np.float16)
    for one_key, times in counted.items():
        citations[place[one_key]] = np.log1p(times)
    about: list[Query] = []
    passages: list[tuple[int, int, str]] = []
    per_paper: Counter[int] = Counter()
    frames = {one.frame: n for n, one in enumerate(kept)}
    for frame, citing in enumerate(_frames(parts, FRAMES, PaperCitations)):
        if frame not in frames:
            continue
        topic = CitingPaper(title=citing.title, abstract=citing.abstract)
        about.append(Query() if kept[frames[frame]].links_only else Query(paper=topic))
        for at, sentence in citing.passages:
            (cited_key,) = titles.of([citing.cited[at]])
            if not cited_key or len(passages) >= room[1]:
                continue
            paper = place[cited_key]
            if per_paper[paper] < PASSAGES_PER_PAPER:
                per_paper[paper] += 1
                passages.append((paper, frames[frame], sentence))
    progress.stage("How others cite", len(about) + len(passages))
    lengths = [len(one.cited) for one in kept]
    priors = Priors(
        keys,
        citations,
        np.array([one.key for one in kept], np.uint64),
        np.cumsum([0, *lengths]).astype(np.int32),
        np.array([place[k] for one in kept for k in one.cited], np.int32),
        _vectors(encoder.encode_topics, about, encoder.dim, progress),
        _vectors(
            encoder.encode_queries,
            [Query(sentence=text) for _, _, text in passages],
            encoder.dim,
            progress,
        ),
        np.array([paper for paper, _, _ in passages], np.int32),
        np.array([one for _, one, _ in passages], np.int32),
        encoder.fingerprint,
    )
    return priors, [(int(keys[paper]), kept[one].key, text) for paper, one, text in passages]


def _numbers(
    parts: Sequence[Path],
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """Id, title key and citation count of the records, once per id."""
    columns: dict[str, list[NDArray[Any]]] = {"number": [], "key": [], "count": []}
    for part in parts:
        with np.load(part / NUMBERS, allow_pickle=False) as file:
            for name, arrays in columns.items():
                arrays.append(file[name])
    number, key, count = (np.concatenate(columns.pop(name)) for name in list(columns))
    return number, key, count


class _TitleKeys:
    """The title key of a reference; looked up in the source's records if only an id is given."""

    def __init__(self, number: NDArray[np.int64], key: NDArray[np.uint64]) -> None:
        order = np.argsort(number, kind="stable")
        self._number, self._key = number[order], key[order]

    def of(self, cited: Sequence[CitedWork]) -> list[int]:
        """The key of each reference; 0 for an unknown one."""
        keys = [title_key(one.title) if one.title else 0 for one in cited]
        places = [at for at, one in enumerate(cited) if one.id and not one.title]
        if places and len(self._number):
            wanted = np.array([id_number(cited[at].id) for at in places], np.int64)
            # Of several records with the id, the last one counts.
            found = np.searchsorted(self._number, wanted, side="right") - 1
            known = (found >= 0) & (self._number[found] == wanted)
            for at, one, is_known in zip(places, found.tolist(), known.tolist(), strict=True):
                if is_known:
                    keys[at] = int(self._key[one])
        return keys


def _sampled_lists(parts: Sequence[Path], titles: _TitleKeys, most: int) -> list[_List]:
    """At most `most` citing papers, in the order of the source; those that only link papers fill
    what the others leave.

    Title keys are hashes, so those with the smallest ones are a reproducible sample. Memory is
    bounded: a paper with a key above those of enough others is dropped.
    """
    lists: dict[int, _List] = {}
    highest = _NO_KEY
    for frame, citing in enumerate(_frames(parts, FRAMES, PaperCitations)):
        own = title_key(citing.title)
        if not own or own > highest:
            continue
        cited = list(dict.fromkeys(k for k in titles.of(citing.cited) if k))
        links_only = not citing.passages and len(cited) < FEWEST
        held = lists.get(own)
        if cited and (held is None or len(held.cited) < len(cited)):
            lists[own] = _List(own, frame, cited, links_only)
        if len(lists) > 2 * max(most, 1):
            best = _best(lists, most)
            lists = {one.key: one for one in best}
            if not any(one.links_only for one in best):
                highest = max(lists, default=0)
    kept = _best(lists, most)
    kept.sort(key=lambda one: one.frame)
    return kept


def _best(lists: dict[int, _List], most: int) -> list[_List]:
    return sorted(lists.values(), key=lambda one: (one.links_only, one.key))[:most]


def _counted(key: NDArray[np.uint64], count: NDArray[np.int64]) -> dict[int, int]:
    """Citation counts by title key, of the most cited papers."""
    known = np.flatnonzero((count > 0) & (key != 0))
    best = known[np.argsort(-count[known], kind="stable")][: 2 * MAX_COUNTED]
    out: dict[int, int] = {}
    for one in best.tolist():
        out.setdefault(int(key[one]), int(count[one]))
        if len(out) == MAX_COUNTED:
            break
    return out


def _vectors(
    encode: Callable[[Sequence[Query]], NDArray[np.float32]],
    queries: Sequence[Query],
    dim: int,
    progress: Progress,
) -> NDArray[np.int8]:
    parts = [np.zeros((0, dim), np.int8)]
    for start in range(0, len(queries), _BATCH):
        part = queries[start : start + _BATCH]
        parts.append(coded(encode(part)))
        progress.advance(len(part))
    return np.concatenate(parts)


def _frames(parts: Sequence[Path], name: str, kind: type[_Frame]) -> Iterator[_Frame]:
    """Every citing paper, or text, in the order of the source."""
    for part in parts:
        yield from _frames_of(part / name, kind)


def _frames_of(path: Path, kind: type[_Frame]) -> Iterator[_Frame]:
    decoder = msgspec.msgpack.Decoder(kind)
    size = path.stat().st_size
    if not size:
        return
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        offset = 0
        while offset < size:
            (length,) = LENGTH.unpack_from(data, offset)
            offset += LENGTH.size
            yield decoder.decode(data[offset : offset + length])
            offset += length
