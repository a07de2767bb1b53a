"""An author field with the names of a record, the author's own spelling of all others kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.documents.bib.entry import name_text
from citewell.model.names import author_pieces, parse_author
from citewell.model.work import Author
from citewell.verification.people import NamePair, pair_names

_SPELLING = frozenset({"author-given", "author-swapped", "author-spelling"})
_ADDED = frozenset({"author-added", "author-replaced", "author-unrelated", "author-anonymous"})


class _Piece(msgspec.Struct, frozen=True):
    text: str
    place: int
    """Of the record's name; -1 for a name that the record does not have."""


def corrected_authors(field: str, record: Sequence[Author], code: str) -> str:
    """The BibTeX name list `field`, without delimiters, cured of a finding of this code.

    Names of the record that are missing are put in where the record has them; names that it does
    not have go if the finding says so; the order becomes the record's where the finding is about
    it. Every other name keeps its bytes. "and others" stays last, and then nothing is put in.
    """
    pieces, joint = author_pieces(field)
    others = bool(pieces) and pieces[-1].strip(" \t\r\n{}").lower() == "others"
    names = pieces[:-1] if others else pieces
    pairs = pair_names([parse_author(name) for name in names], record)
    plain = _given_first(names)
    kept = [
        _Piece(_respelt(name, pair, record, code, plain), pair.place)
        for name, pair in zip(names, pairs, strict=True)
        if pair.place >= 0 or code not in _ADDED
    ]
    if code == "author-order":
        kept = _in_order(kept)
    if others and code == "author-order":
        kept = _from_the_first(kept, record, plain)
    elif not others:
        kept = _completed(kept, record, plain)
    if not any(pair.place >= 0 for pair in pairs):
        return joint.join(_written(author, plain) for author in record)
    texts = [piece.text for piece in kept]
    if others:
        texts.append("others")
    return joint.join(texts)


def _given_first(names: Sequence[str]) -> bool:
    """True when the list writes "Ada Lovelace" and not "Lovelace, Ada"."""
    with_comma = sum("," in name for name in names)
    return 2 * with_comma < len(names)


def _respelt(name: str, pair: NamePair, record: Sequence[Author], code: str, plain: bool) -> str:
    if code in _SPELLING and pair.place >= 0 and not pair.alike:
        return _written(record[pair.place], plain)
    return name


def _written(author: Author, plain: bool) -> str:
    text = name_text(author)
    one_word = " " not in author.family.strip() and not author.suffix
    if plain and author.given and one_word and text.count(",") == 1:
        family, _, given = text.partition(", ")
        return f"{given} {family}"
    return text


def _in_order(kept: Sequence[_Piece]) -> list[_Piece]:
    """The names that the record has, in its order; the others stay in place."""
    known = iter(sorted((piece for piece in kept if piece.place >= 0), key=lambda p: p.place))
    return [next(known) if piece.place >= 0 else piece for piece in kept]


def _from_the_first(kept: Sequence[_Piece], record: Sequence[Author], plain: bool) -> list[_Piece]:
    """With the record's names up to the last one kept: "and others" may replace only later ones."""
    last = max((piece.place for piece in kept), default=-1)
    return _completed(kept, record[: last + 1], plain)


def _completed(kept: Sequence[_Piece], record: Sequence[Author], plain: bool) -> list[_Piece]:
    """With the record's other names, each inserted after the names that precede it there."""
    done = list(kept)
    held = {piece.place for piece in kept}
    for place, author in enumerate(record):
        if place in held:
            continue
        before = [n for n, piece in enumerate(done) if 0 <= piece.place < place]
        at = max(before) + 1 if before else 0
        done.insert(at, _Piece(_written(author, plain), place))
    return done
