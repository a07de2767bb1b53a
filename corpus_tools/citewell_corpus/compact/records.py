"""Writes the records, the look-up keys, the columns and the facets of a compact segment."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from citewell.corpus.columns import columns_of, name_hash, opening_name, title_words
from citewell.corpus.compact.catalogue import BUCKET_BITS, ENTRY_BITS, META, ROW_BITS, CatalogueMeta
from citewell.corpus.compact.codec import encode_varints, save_table, save_texts, starts_of
from citewell.corpus.compact.records import CompactRecord, Labels, Shared, author_text, record_of
from citewell.corpus.keys import work_keys
from citewell.model import Author, Work
from citewell.model.names import family_key, forms_of
from citewell.retrieval.arrays import save_array
from citewell.retrieval.facets import venue_term_hashes

# Joining of frequent word pairs in titles into one token, so that a title has fewer tokens.

LEAST = 30
"""Minimum occurrences of a pair for a joint token to save space."""
ROUNDS = 2
"""In the second round phrases grow: "of" and "the art" become "of the art"."""
_NEVER = np.iinfo(np.int64).max


def join_phrases(
    tokens: NDArray[np.int64], rows: NDArray[np.int64], names: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of all titles with frequent pairs joined, and the row of each; new tokens are
    added to `names`, as their words separated by a blank."""
    for _ in range(ROUNDS):
        tokens, rows = _join(tokens, rows, names)
    return tokens, rows


def _join(
    tokens: NDArray[np.int64], rows: NDArray[np.int64], names: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    texts = list(names)
    count = len(texts)
    pair = tokens[:-1] * count + tokens[1:]
    inside = rows[:-1] == rows[1:]
    found, often = np.unique(pair[inside], return_counts=True)
    found, often = found[often >= LEAST], often[often >= LEAST]
    if not len(found):
        return tokens, rows
    rank = np.empty(len(found), np.int64)
    rank[np.lexsort((found, -often))] = np.arange(len(found))
    at = np.minimum(np.searchsorted(found, pair), len(found) - 1)
    wanted = inside & (found[at] == pair)
    # Of pairs with a common token, the more frequent one is joined; of equal ones, the first.
    own = np.where(wanted, rank[at], _NEVER)
    before = np.concatenate([np.full(1, _NEVER), own[:-1]])
    after = np.concatenate([own[1:], np.full(1, _NEVER)])
    chosen = wanted & (own < before) & (own <= after)
    pays = np.bincount(at[chosen], minlength=len(found)) >= LEAST
    place = np.flatnonzero(chosen)
    place = place[pays[at[place]]]
    number = np.zeros(len(found), np.int64)
    for one in np.flatnonzero(pays).tolist():
        left, right = divmod(int(found[one]), count)
        number[one] = names.setdefault(f"{texts[left]} {texts[right]}", len(names))
    tokens = tokens.copy()
    tokens[place] = number[at[place]]
    keep = np.ones(len(tokens), np.bool_)
    keep[place + 1] = False
    return tokens[keep], rows[keep]


BLOCK = 128
"""Records compressed together."""
_LEVEL = 19
_DICTIONARY = 131_072
_SAMPLES = 3_000
_LONGEST_RUN = 255
"""Maximum bytes of a shared run of tokens or names; a longer one is stored in the record."""


def write_records(folder: Path, works: Iterable[Work], origins: Sequence[str]) -> int:
    """Write all works into `folder`, in order and without their abstracts; return their number."""
    state = _State()
    for work in works:
        state.add(work)
    count = len(state.years)
    if count >= 1 << ROW_BITS:
        raise ValueError(f"a compact segment holds fewer than {1 << ROW_BITS:,} works")
    _write_titles(folder, state)
    _write_authors(folder, state)
    _write_shared(folder, state)
    _write_keys(folder, state)
    _write_blocks(folder, state)
    save_table(folder / "year.zst", np.array(state.years, np.int16))
    save_table(folder / "abstract.zst", np.packbits(np.array(state.abstracts, np.bool_)))
    meta = CatalogueMeta(
        count=count,
        block=BLOCK,
        sources=tuple(state.sources.texts()),
        origins=tuple(origins),
    )
    (folder / META).write_bytes(msgspec.json.format(msgspec.json.encode(meta), indent=1))
    return count


class _State:
    """The data gathered in one pass over the works."""

    def __init__(self) -> None:
        self.labels, self.sources = Labels(), Labels()
        self.years, self.abstracts = array("h"), array("b")
        self.titles: list[str] = []
        self.tokens, self.token_ends = array("i"), array("q")
        self.token_numbers: dict[str, int] = {}
        self.names, self.name_ends = array("i"), array("q")
        self.name_numbers: dict[Author, int] = {}
        self.shared, self.shared_numbers = array("i"), {}  # type: ignore[var-annotated]
        self.venues, self.venue_numbers = array("i"), {}  # type: ignore[var-annotated]
        self.keys, self.key_rows = array("q"), array("i")
        self.blocks: list[bytes] = []
        self._open: list[CompactRecord] = []
        self._encoder = msgspec.msgpack.Encoder()
        self.records: list[CompactRecord] = []
        self.long_titles: set[int] = set()

    def add(self, work: Work) -> None:
        row = len(self.years)
        self.years.append(work.year if work.year is not None and 0 < work.year < 3000 else 0)
        self.abstracts.append(bool(work.abstract))
        self.titles.append(work.title)
        for token in work.title.split(" "):
            self.tokens.append(self.token_numbers.setdefault(token, len(self.token_numbers)))
        self.token_ends.append(len(self.tokens))
        for author in work.authors:
            self.names.append(self.name_numbers.setdefault(author, len(self.name_numbers)))
        self.name_ends.append(len(self.names))
        number = self.labels.number
        shared = Shared(
            number(work.venue),
            number(work.booktitle),
            number(work.journal),
            number(work.publisher),
            number(work.kind),
        )
        self.shared.append(self.shared_numbers.setdefault(shared, len(self.shared_numbers)))
        terms = tuple(sorted(venue_term_hashes(work)))
        self.venues.append(self.venue_numbers.setdefault(terms, len(self.venue_numbers)))
        for key in work_keys(work):
            self.keys.append(key)
            self.key_rows.append(row)
        self.records.append(record_of(work, self.labels, self.sources))


def _renumbered(
    values: NDArray[np.int64], names: dict[str, int]
) -> tuple[NDArray[np.int64], list[str]]:
    """The values renumbered so that frequent texts have small numbers, and the used texts in that
    order."""
    texts = list(names)
    often = np.bincount(values, minlength=len(texts))
    used = np.flatnonzero(often).tolist()
    order = sorted(used, key=lambda at: (-int(often[at]), texts[at]))
    rank = np.zeros(len(texts), np.int64)
    rank[order] = np.arange(len(order))
    return rank[values], [texts[at] for at in order]


def _runs(
    values: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Varints of the runs that are short enough, the bytes of each, and a mask of those too
    long."""
    data, sizes = encode_varints(values)
    starts = np.concatenate([[0], ends])
    through = starts_of(sizes)[starts]
    lengths = np.diff(through)
    long = lengths > _LONGEST_RUN
    keep = np.repeat(~long, lengths)
    return data[keep], np.where(long, 0, lengths), long


def _write_titles(folder: Path, state: _State) -> None:
    rows = np.repeat(np.arange(len(state.titles)), np.diff(state.token_ends, prepend=0))
    names = dict(state.token_numbers)
    joined, rows = join_phrases(np.array(state.tokens, np.int64), rows, names)
    ends = np.cumsum(np.bincount(rows, minlength=len(state.titles)))
    numbers, tokens = _renumbered(joined, names)
    data, sizes, long = _runs(numbers, ends)
    save_array(folder / "titles.npy", data)
    save_table(folder / "title_sizes.zst", sizes.astype(np.uint8))
    save_texts(folder / "tokens.zst", tokens)
    state.long_titles = set(np.flatnonzero(long).tolist())
    words = [title_words(token) for token in tokens]
    save_array(folder / "token_words.npy", np.array([w for one in words for w in one], np.uint32))
    save_table(folder / "token_sizes.zst", np.array([len(one) for one in words], np.uint8))
    odd = []
    begin = 0
    for row, (title, end) in enumerate(zip(state.titles, ends.tolist(), strict=True)):
        run = numbers[begin:end].tolist()
        begin = end
        derived = list(dict.fromkeys(word for token in run for word in words[token]))
        if row in state.long_titles or derived != title_words(title):
            odd.append(row)
    save_table(folder / "odd_titles.zst", np.array(odd, np.int32))
    columns = columns_of(Work(id="", title=title) for title in state.titles)
    save_array(folder / "title_key.npy", columns.key)
    save_array(folder / "initials.npy", columns.initials)
    opened = np.flatnonzero(columns.opening)
    assert all(bool(opening_name(state.titles[row])) for row in opened[:100].tolist())
    save_table(folder / "opening_rows.zst", opened.astype(np.int32))
    save_array(folder / "opening.npy", columns.opening[opened])
    found, counts = np.unique(columns.word, return_counts=True)
    save_table(folder / "word.zst", found)
    save_table(folder / "word_count.zst", counts.astype(np.int32))


def _write_authors(folder: Path, state: _State) -> None:
    texts = {author_text(author): number for author, number in state.name_numbers.items()}
    numbers, names = _renumbered(np.array(state.names, np.int64), texts)
    data, sizes, long = _runs(numbers, np.array(state.name_ends, np.int64))
    save_array(folder / "authors.npy", data)
    save_table(folder / "author_sizes.zst", sizes.astype(np.uint8))
    save_texts(folder / "names.zst", names)
    by_text = {author_text(author): author for author in state.name_numbers}
    authors = [by_text[name] for name in names]
    surname = np.array([name_hash(family_key(author)) for author in authors], np.uint32)
    save_array(folder / "surname.npy", surname)
    crowds = np.flatnonzero(long)
    starts = np.concatenate([[0], np.array(state.name_ends, np.int64)])
    runs = [numbers[starts[row] : starts[row + 1]] for row in crowds.tolist()]
    save_table(folder / "crowd_rows.zst", crowds.astype(np.int32))
    save_table(folder / "crowd_sizes.zst", np.array([len(run) for run in runs], np.int32))
    every = np.concatenate([np.zeros(0, np.int64), *runs])
    save_table(folder / "crowd_authors.zst", every.astype(np.int32))
    for row, run in zip(crowds.tolist(), runs, strict=True):
        own = tuple(authors[one] for one in run.tolist())
        state.records[row] = msgspec.structs.replace(state.records[row], authors=own)
    other = sorted(
        {
            (name_hash(form.family), number)
            for number, author in enumerate(authors)
            for form in forms_of(author)
            if name_hash(form.family) != int(surname[number])
        }
    )
    save_table(folder / "other_families.zst", np.array([one for one, _ in other], np.uint32))
    save_table(folder / "other_authors.zst", np.array([one for _, one in other], np.int32))


def _write_shared(folder: Path, state: _State) -> None:
    labels = state.labels.texts()
    save_texts(folder / "labels.zst", labels)
    rows = [msgspec.structs.astuple(one) for one in state.shared_numbers]
    save_table(folder / "shared_labels.zst", np.array(rows, np.int32).reshape(-1, 5))
    save_table(folder / "shared.zst", np.array(state.shared, np.int32))
    venues = [name_hash(labels[row[0]]) if labels[row[0]] else 0 for row in rows]
    save_table(folder / "shared_venue.zst", np.array(venues, np.uint32))
    groups = list(state.venue_numbers)
    flat = np.array([term for group in groups for term in group], np.uint32)
    save_table(folder / "venue_terms.zst", flat)
    save_table(folder / "venue_sizes.zst", np.array([len(group) for group in groups], np.int32))
    save_table(folder / "venue_of.zst", np.array(state.venues, np.int32))


def _write_keys(folder: Path, state: _State) -> None:
    keys = np.frombuffer(state.keys, np.int64).view(np.uint64)
    rows = np.frombuffer(state.key_rows, np.int32).astype(np.uint64)
    order = np.lexsort((rows, keys))
    keys, rows = keys[order], rows[order]
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
    bits = ENTRY_BITS - ROW_BITS
    mark = keys >> np.uint64(64 - BUCKET_BITS - bits) & np.uint64((1 << bits) - 1)
    entries = mark << np.uint64(ROW_BITS) | rows
    save_array(folder / "key_low.npy", (entries & np.uint64(0xFFFF)).astype(np.uint16))
    save_array(folder / "key_high.npy", (entries >> np.uint64(16)).astype(np.uint8))
    counts = np.bincount(bucket, minlength=1 << BUCKET_BITS)
    save_table(folder / "key_counts.zst", counts.astype(np.uint16))


def _write_blocks(folder: Path, state: _State) -> None:
    for row in state.long_titles:
        own = msgspec.structs.replace(state.records[row], title=state.titles[row])
        state.records[row] = own
    encode = msgspec.msgpack.Encoder().encode
    blocks = [
        encode(state.records[begin : begin + BLOCK])
        for begin in range(0, len(state.records), BLOCK)
    ]
    dictionary = _train(blocks)
    (folder / "dictionary.bin").write_bytes(dictionary)
    shared = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    compressor = zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=shared, write_content_size=True, write_dict_id=False
    )
    packed = [compressor.compress(block) for block in blocks]
    sizes = np.array([len(block) for block in packed], np.uint32)
    save_array(folder / "records.npy", np.frombuffer(b"".join(packed), np.uint8))
    save_table(folder / "record_sizes.zst", sizes)


def _train(blocks: list[bytes]) -> bytes:
    samples: list[bytes | bytearray | memoryview] = list(blocks[:: max(1, len(blocks) // _SAMPLES)])
    size = min(_DICTIONARY, sum(map(len, samples)) // 100)
    if size < 4_096:
        return b""
    try:
        return zstandard.train_dictionary(size, samples).as_bytes()
    except zstandard.ZstdError:
        # Too few records to learn from.
        return b""
