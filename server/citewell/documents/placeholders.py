"""Stand-ins for a missing citation: dummy keys, free text and markers in prose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from citewell.model.document import Placeholder, PlaceholderKind, Span

_DUMMY = re.compile(
    r"""(?ix)
    [?.…!_\-\s]*
    | (?:todo|fixme|tbd|tba|xx+|to[ ]do)[\s:?!.]*
    | (?:(?:todo|fixme|xxx|tbd)[\s:_-]*)?
      (?:(?:add|insert|need|needs|missing|find|some|a|an|the|more|put|please)[\s_-]*)*
      (?:cites?|cite[\s_-]?me|citations?|references?|refs?)
      (?:[\s_-]*(?:needed|missing|here|required|please|todo|tbd))*[\s?!.]*
    | (?:missing|placeholder|citekey)
    """
)
_BARE_WORD = re.compile(r"(?i)(?:references?|refs?)")
_NOTE = re.compile(r"(?i)^(?:todo|fixme|xxx|tbd|cite|citation|ref)\s*:\s*|^\?+\s*")
_TAIL = re.compile(r"\s*\?+$")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SPACE = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """The text with every run of white space or ties as one space."""
    return _SPACE.sub(" ", text.replace("~", " ")).strip()


def is_dummy(text: str) -> bool:
    """True for a dummy: "", "?", "TODO", "citation needed". A lone "ref" may be a key, and counts
    as one."""
    return _DUMMY.fullmatch(text) is not None and _BARE_WORD.fullmatch(text) is None


def free_text(text: str) -> str | None:
    """The author's words if `text` cannot be a citation key, else None. May be empty."""
    words = squeeze(text)
    if is_dummy(words):
        return ""
    bare = _TAIL.sub("", _NOTE.sub("", words))
    if " " in words or bare != words or _WIDE.search(words):
        return bare
    return None


class KeyPiece(msgspec.Struct, frozen=True):
    """One comma-separated piece of a key list."""

    text: str
    span: Span


class KeyList(msgspec.Struct, frozen=True):
    """The pieces of `{a,,neural machine translation}`: keys, and a place to fill."""

    keys: tuple[KeyPiece, ...]
    wanted: Span | None = None
    """Range of the words in place of keys, or of an empty place; None when all pieces are keys."""
    query: str = ""

    @property
    def kind(self) -> PlaceholderKind:
        return PlaceholderKind.FREE_TEXT if self.query else PlaceholderKind.EMPTY


def split_keys(pieces: Iterable[KeyPiece], defined: Collection[str] = ()) -> KeyList:
    """Sort the pieces of a key list into keys and words; all words make one query. `defined` holds
    keys of the bibliographies that look like words ("who?")."""
    keys: list[KeyPiece] = []
    words: list[KeyPiece] = []
    empty: list[KeyPiece] = []
    for piece in pieces:
        text = None if piece.text in defined else free_text(piece.text)
        if text is None:
            keys.append(piece)
        elif text:
            words.append(KeyPiece(text, piece.span))
        else:
            empty.append(piece)
    if words:
        span = Span(words[0].span.start, words[-1].span.end)
        return KeyList(tuple(keys), span, ", ".join(word.text for word in words))
    if empty:
        # The last one: in `{a, }` and `{,,}` an author would continue typing there.
        return KeyList(tuple(keys), empty[-1].span)
    return KeyList(tuple(keys))


# White space is bounded: these patterns run over the whole text, which may be hostile.
_S = r"\s{0,3}"
_LEAD = rf"(?:todo{_S}:?{_S})?"
_ASK = r"(?:(?:add|insert|needs?|missing|find|some|a|an|the|more|proper|please|your)\s{1,3}){0,5}"
_REST = r"(?:\s{1,3}(?:needed|missing|here|required|please|todo|tbd)){0,3}\s{0,3}[?!.]{0,5}"
_MARK = re.compile(
    rf"""(?ix)
    \[{_S}(?:
        (?P<ask>\?{{1,3}})
      | (?P<todo>{_LEAD})(?P<need>{_ASK})
        (?P<word>cites?|citations?|references?|refs?)(?P<rest>{_REST})
        (?:{_S}(?P<colon>[:,]|\s){_S}(?P<words>[^\s\[\]\\{{}}$][^\[\]\\{{}}$\n]{{2,200}}))?
    ){_S}\]
  | \({_S}(?P<ptodo>{_LEAD})(?P<pneed>{_ASK})
        (?P<pword>cites?|citations?|references?|refs?)(?P<prest>{_REST}){_S}\)
    """
)
_ASKING = re.compile(r"(?i)add|insert|need|missing|find|please")
_MARK_START = re.compile(r"[\[(](?=\s{0,3}[?TtAaNnIiMmFfSsPpYyCcRr])")
_AFTER_COMMAND = re.compile(r"\\[A-Za-z@]+\*?$")


def find_markers(text: str, literal: Sequence[str] = ()) -> Iterator[Placeholder]:
    """Markers in prose such as `[CITATION]`, `[?]`, `(CITE)`, `[CITE: graph attention]`. `literal`
    holds the user's own markers, matched verbatim; they come first."""
    for word in sorted({w for w in literal if w}, key=len, reverse=True):
        position = text.find(word)
        while position >= 0:
            span = Span(position, position + len(word))
            yield _marker(span, "", Span(span.end, span.end))
            position = text.find(word, span.end)
    for start in _MARK_START.finditer(text):
        match = _MARK.match(text, start.start())
        if match and _is_marker(match) and not _is_argument(text, match):
            span = Span(*match.span())
            words = match["words"] or ""
            if words:
                yield _marker(span, squeeze(words), Span(*match.span("words")))
            else:
                yield _marker(span, "", Span(span.end - 1, span.end - 1))


def _marker(span: Span, query: str, query_span: Span) -> Placeholder:
    return Placeholder(PlaceholderKind.MARKER, span, query, query_span, "")


def _is_marker(match: re.Match[str]) -> bool:
    """True for a request for a citation, false for words of the prose as in "(references)"."""
    if match["ask"]:
        return True
    word = match["word"] or match["pword"]
    is_request = _ASKING.search(match["need"] or match["pneed"] or "") is not None
    qualified = is_request or any(match[group] for group in ("todo", "rest", "ptodo", "prest"))
    if match["words"]:
        return match["colon"] == ":" or word in ("CITE", "CITATION")
    if word.lower().startswith("cit") or qualified:
        return True
    return word.isupper() or (match["word"] is not None and word in ("ref", "refs"))


def _is_argument(text: str, match: re.Match[str]) -> bool:
    r"""True for `\item[ref]` and `{x}[ref]`: an optional argument, not a marker."""
    start = match.start()
    if text[start] != "[":
        return False
    before = text[max(0, start - 40) : start]
    if _AFTER_COMMAND.search(before):
        return True
    return before[-1:] in ("}", "]") and (match["word"] or "").islower()


_TODO_ASK = re.compile(
    r"""(?ix)
    \s*(?:(?:todo|fixme|please|pls|maybe|perhaps|also|we|i|you|should|could|must|can|might|may|to|do|
        fix|add|insert|need|needs|needed|missing|find|get|put|give|more|some|a|an|the|this|proper|
        right|correct|good|appropriate|relevant|related|other|better|papers?|work|works|of|and|or|
        here|in|is|there)[\s:,!]+)*
    (?:(?P<cite>cite[sd]?|citing|citations?)\b|(?P<ref>ref|refs|references?)\b)
    """
)
_TODO_TAIL = re.compile(
    r"(?ix)^\s*(?:(?:and|or|ref|refs|reference|references|needed|missing|here|required|please|to|"
    r"for|this|that|of|on|about|by|from|some|more|all\s+sorts\s+of|a|the|paper|papers|work|works|"
    r"literature|which|is|are|justify)\b[\s:,.?!]*)*[\s:,.?!]*"
)
_CROSS_REFERENCE = re.compile(
    r"(?i)\b(?:equations?|eqs?|eqn|lemmas?|theorems?|sections?|secs?|chapters?|figures?|figs?|"
    r"tables?|appendix|algorithms?|definitions?|propositions?|corollary|part)\.?[\s~(]*$"
)


def todo_query(note: str, before: str) -> tuple[int, int] | None:
    r"""Range of the search words in a to-do note; None if it asks for no citation. `before` is the
    text before the note: "Lemma \todo{ref}" asks for a cross-reference."""
    match = _TODO_ASK.match(note)
    if match is None:
        return None
    rest = note[match.end() :]
    if match["ref"] and (len(rest.strip(" .?!:")) > 0 or _CROSS_REFERENCE.search(before)):
        return None
    if len(rest.split()) > 25:
        return None
    tail = _TODO_TAIL.match(rest)
    start = match.end() + (tail.end() if tail else 0)
    end = len(note.rstrip())
    return (start, end) if start < end else (len(note), len(note))


def fold_markers(found: Sequence[Placeholder], text: str) -> list[Placeholder]:
    r"""Merge `\cite{} \todo{cite work on X}` into one placeholder; of overlapping ones the later is
    dropped."""
    kept: list[Placeholder] = []
    for item in found:
        last = kept[-1] if kept else None
        if last is not None and item.span.start < last.span.end:
            continue
        if (
            last is not None
            and last.kind is PlaceholderKind.EMPTY
            and item.kind is PlaceholderKind.MARKER
            and item.query
            and text[item.span.start] == "\\"
            and not text[last.span.end : item.span.start].strip(" ~")
        ):
            kept[-1] = msgspec.structs.replace(
                last,
                span=Span(last.span.start, item.span.end),
                query=item.query,
                query_span=item.query_span,
            )
            continue
        kept.append(item)
    return kept


def key_pieces(content: str, offset: int) -> Iterator[KeyPiece]:
    """The comma-separated pieces of a key list, stripped of white space. REVTeX joins notes and
    keys with a star: `{a,*b}` cites a and b."""
    position = 0
    for part in content.split(","):
        inner = part.strip()
        start = position + (len(part) - len(part.lstrip())) if inner else position
        if len(inner) > 1 and inner[0] == "*":
            inner, start = inner[1:], start + 1
        span = Span(offset + start, offset + start + len(inner))
        yield KeyPiece(inner, span)
        position += len(part) + 1


# The end of the words of an unclosed placeholder: `\cite<spectral graph` within prose.
#
# No rule can reliably separate the author's words from the prose that follows. The result is a
# guess for searching and display; only a cursor position makes it certain
# (`features.citation.until`).

MOST_WORDS = 8
"""Maximum number of words taken for the author's if nothing else ends them."""
MOST_TYPED = 25
"""Maximum number of words before a cursor taken for the author's: those of a long title."""

SENTENCE_STOP = r"(?<!\b[A-Z])(?<!\bal)\.\s+(?=[A-Z])"
"""A pattern for the full stop of a sentence, but not that of `J. Devlin` or `et al. Neural`."""

_TOKEN = re.compile(r"\S+")
_PUNCTUATION = ".,;:!?)]}\"'”’"
_PROSE = frozenset(
    """a an the is are was were be been being am has have had can could may might will would shall
    should must do does did which that who whom whose where when while whereas because since
    although though if unless until however therefore thus hence then so we our us they
    their them he she his her it its this these those there i you your not also but as than
    such show shows showed shown use uses used propose proposes proposed find finds found
    achieve achieves achieved""".split()
)
"""Words that show that the prose continues; they are rare in a short query."""
_JOINING = frozenset(
    """and or of for in on at to from by with without via over under between into through
    against about both more most very""".split()
)
"""Words that do not end a query."""
_SENTENCE_END = re.compile(r"(?<=[a-z]{4})[.!?]\s+[A-Z]")


class OpenWords(msgspec.Struct, frozen=True):
    """The words after an opening `<`, `{` or `@`."""

    end: int
    """Offset after the last plausible word; the offset where words would start if there is none."""
    reach: int
    """Offset up to which typed words may extend."""
    certain: bool
    """True when no prose follows that could be confused with the words."""


def open_words(text: str, start: int, reach: int) -> OpenWords:
    """The plausible words in [start, reach); `reach` is the start of the next non-word. White space
    at the start means that the citation is empty and prose follows."""
    tokens = list(_TOKEN.finditer(text, start, reach))
    if len(tokens) > MOST_TYPED:
        reach = tokens[MOST_TYPED - 1].end()
    if not tokens or tokens[0].start() > start:
        return OpenWords(start, reach, True)
    kept: list[tuple[str, int]] = []
    for token in tokens[:MOST_WORDS]:
        bare = token[0].rstrip(_PUNCTUATION)
        if kept and bare.lower() in _PROSE:
            break
        kept.append((bare.lower(), token.start() + len(bare)))
        if len(bare) < len(token[0]):
            break
    while len(kept) > 1 and kept[-1][0] in _JOINING:
        kept.pop()
    return OpenWords(kept[-1][1], reach, len(tokens) == 1)


def runs_on(words: str) -> bool:
    """True for text too long for a query: its closing mark belongs to something else."""
    return len(words.split()) > 2 * MOST_TYPED or _SENTENCE_END.search(words) is not None


def closes_words(text: str, place: int) -> bool:
    """True for a `>` that ends words, false for a comparison or a part of an arrow."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if after and after in "{[":
        return True
    if before.isspace():  # `accuracy > 90`, `accuracy >90`
        return bool(after) and not after.isspace() and not after.isalnum() and after not in "$\\="
    if before in ("-", "=") or after == "=" or after.isdigit():
        return False
    return not (after.isalpha() and re.search(r"\b\w\Z", text[max(0, place - 2) : place]))


def runs_into_prose(content: str) -> bool:
    r"""True when the `>` found belongs to later prose: `\cite<query ... $p > 0$`."""
    foreign = "\\cite" in content or "\\begin" in content
    return content.count("$") % 2 == 1 or foreign or runs_on(content)
