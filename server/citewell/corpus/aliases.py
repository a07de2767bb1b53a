"""Names that others use for a paper and that its title lacks: "resnet", "lstm", "gpt-3".

The bundled table lists, for each name, the titles that it refers to and in how many citing papers.
It holds names, hashes of titles and counts, so it serves any library that holds the papers.
`citewell_lab.training.aliases` makes it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping
from pathlib import Path

import msgspec

from citewell.corpus.columns import fold_name
from citewell.model import CitewellError, Problem

FORMAT = "citewell-aliases-1"
SHORT = 5
"""Maximum length of an ambiguous name: "AMT" is a paper, and Mechanical Turk."""
_SHORTEST = 3
"""Minimum length of a name that loses its plural "s"."""

GENERIC = frozenset(
    "algorithm algorithms architecture architectures benchmark benchmarks classifier classifiers "
    "corpora corpus dataset datasets embedding embeddings encoder encoders framework frameworks "
    "layer layers library loss metric metrics method methods model models module network networks "
    "optimiser optimizer parser score scores system systems tagger technique techniques tokenizer "
    "tool toolkit approach backbone block blocks data objective representations scheme task tasks "
    "units unit mechanism vectors".split()
)
"""Words that may follow a name without belonging to it: "the Adam optimizer"."""


class Alias(msgspec.Struct, frozen=True):
    """A paper that others refer to by a name."""

    key: int
    """Title key (`columns.title_key`)."""
    papers: int
    """Number of citing papers that use the name for it."""
    of: int
    """Number of citing papers that use the name for any paper."""

    @property
    def strength(self) -> float:
        """Share of the citing papers that mean this one, in (0, 1): lower if few use the name."""
        return self.papers / (self.of + 1)


class Aliases:
    """The table, by name."""

    def __init__(self, known: Mapping[str, tuple[Alias, ...]]) -> None:
        """`known` maps each name, in the form of `alias_name`, to its works, the likeliest
        first."""
        self._known = known

    def __len__(self) -> int:
        return len(self._known)

    def items(self) -> ItemsView[str, tuple[Alias, ...]]:
        """Every name with its works."""
        return self._known.items()

    def shares(self, name: str) -> tuple[tuple[Alias, float], ...]:
        """The works with a name, each with the probability that the name means it: its smoothed
        share of the citing papers.

        A name used in two or three papers is a guess, a short name more so; other uses weigh less
        the more papers agree. `name` is as written: a capital S is no plural, "VITS" is not "ViT".
        """
        if name.isupper() and alias_name(name) != fold_name(name):
            return ()
        known = self.of(name)
        doubt = 2 if len(fold_name(name)) <= SHORT else 1
        found = []
        for one in known:
            rival = max((other.papers for other in known if other is not one), default=0)
            against = max(rival / 4, (one.of - one.papers) / one.papers)
            found.append((one, one.papers / (one.papers + doubt + against)))
        return tuple(found)

    def of(self, name: str) -> tuple[Alias, ...]:
        """The works with a name, of one word or of several joined, the likeliest first."""
        return self._known.get(alias_name(name), ())


NO_ALIASES = Aliases({})


def alias_name(name: str) -> str:
    """The look-up form of a name: letters and digits, without a plural "s"; "U-Nets" is "unet"."""
    plain = fold_name(name)
    if len(plain) > _SHORTEST and plain.endswith("s") and not plain.endswith("ss"):
        plain = plain[:-1]
    return plain


def read_aliases(path: Path) -> Aliases:
    """The table in a file with lines of "name, title key in hexadecimal, papers, of", separated by
    tabs. Raises `CitewellError`."""
    known: dict[str, list[Alias]] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
        if not lines or lines[0] != FORMAT:
            raise ValueError("its first line does not name the format")
        for line in lines[1:]:
            name, key, papers, of = line.split("\t")
            known.setdefault(name, []).append(Alias(int(key, 16), int(papers), int(of)))
    except (OSError, ValueError) as error:
        raise CitewellError(
            Problem(
                "aliases-unreadable",
                f"The table of names cannot be read ({error}).",
                "Reinstall citewell. Until then, names that titles lack find nothing.",
                path=str(path),
            )
        ) from error
    return Aliases({name: tuple(works) for name, works in known.items()})


def write_aliases(known: Mapping[str, tuple[Alias, ...]], path: Path) -> None:
    """Write the table, names in alphabetical order."""
    lines = [
        f"{name}\t{one.key:016x}\t{one.papers}\t{one.of}"
        for name in sorted(known)
        for one in sorted(known[name], key=lambda alias: (-alias.papers, alias.key))
    ]
    path.write_text("\n".join((FORMAT, *lines, "")), "utf-8", newline="\n")
