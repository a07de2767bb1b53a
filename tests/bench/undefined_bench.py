"""How often does "find and add" name the paper that an undefined key means?

Run `python tests/bench/undefined_bench.py [--library FOLDER/NAME]` (a library of ../shared/data/corpus
acl and ml; some four minutes). Three tables, each per citation, with 95% intervals (Wilson's, over distinct
keys of a paper, since the same key in the same paper is one question):

1. the 403 real citations of ../shared/data/contexts/undefined_keys whose key no .bib defines: those
   with an `acl_id_by_key`, and the others, whose papers a person looked up (LABELS below);
2. the same keys with the keys of the library's own records hidden, so that all must be read out of
   the key and found: what a key in one's own style meets;
3. keys of other papers' own .bib files (contexts/dev), as if their entry were gone, hidden likewise.

"right", "wrong": the paper is among the three that are offered, the first of them, or added by "add
all missing entries", and another one is. "alone": nothing is offered, or not surely. Papers are
split in two by a hash of their repository; the reading of keys was developed on one half.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from corpus_library import corpus_library

from citewell.engine.local import LocalEngine
from citewell.features.citing.undefined_key import decide, identified, questions, read_key
from citewell.model import Query
from citewell.model.query import CitingPaper
from citewell.model.titles import title_key
from citewell.options.merge import load

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "contexts"

LABELS = {
    "Papineni:2002:BMA:1073083.1073135": "P02-1040", "Hochreiter1997": "mla:hochreiter1997neco-long",
    "klementiev-titov-bhattarai:2012:PAPERS": "C12-1089", "leacock-98": "J98-1006",
    "devlin-18": "N19-1423", "Adebayo2018SanityCF": "mla:adebayo2018neurips-sanity",
    "Adebayo2018SanityMaps": "mla:adebayo2018neurips-sanity", "feng-18": "D18-1407",
    "Hu:Zhai:Eidelman:Boyd-Graber-2014": "P14-1110", "Blei-03": "mla:blei2001neurips-latent",
    "Luong2015EffectiveTranslation": "D15-1166", "Sixt2022ARS": "mla:sixt2022tmlr-rigorous",
    "Samuel59": "mla:samuel1959misc-some", "greene2014many": "mla:greene2014ecmlpkdd-many",
    "Konstas2017NeuralGeneration": "P17-1014", "he2016deep": "mla:he2016cvpr-deep",
    "Andrzejewski2009IncorporatingPriors": "mla:andrzejewski2009icml-incorporating",
    "Tu2016ModelingTranslation": "P16-1008", "Mikolov2013LinguisticRI": "N13-1090",
    "Arora": "mla:arora2013icml-practical", "Tigges2023LinearRO": "2024.blackboxnlp-1.5",
    "langley00": "mla:langley2000icml-crafting", "upadhyay-EtAl:2016": "P16-1157",
    "Larochelle2012AModel": "mla:larochelle2012neurips-neural", "iyyer-EtAl:2015:ACL-IJCNLP": "P15-1162",
    "Nanda2023EmergentLR": "2023.blackboxnlp-1.2", "Merity2016PointerModels": "mla:merity2017iclr-pointer",
    "Simonyan2013DeepIC": "mla:simonyan2014iclr-deep", "Simonyan": "mla:simonyan2014iclr-deep",
    "mnih2016": "mla:mnih2016icml-asynchronous", "Vinyals2015": "mla:vinyals2015neurips-pointer",
    "Radford2015UnsupervisedRL": "mla:radford2016iclr-unsupervised", "mogadala-16": "N16-1083",
    "anandkumar2012spectral": "mla:anandkumar2012neurips-spectral", "Lund": "P17-1083",
    "petterson2010word": "mla:petterson2010neurips-word", "Trager2023LinearSO": "mla:trager2023iccv-linear",
    "Novikova2017TheGeneration": "W17-5525", "Colin2016TheData": "W16-6626", "Kumar": "P19-1637",
    "He-16:opponent": "mla:he2016icml-opponent", "artetxe-labaka-agirre:2017:Long": "P17-1042",
    "kocsis2006bandit": "mla:kocsis2006ecml-bandit", "xing-EtAl:2015:NAACL-HLT": "N15-1104",
    "Klein2017": "P17-4012", "Kim2017InterpretabilityBF": "mla:kim2018icml-interpretability",
    "Rajendran2024LearningIC": "mla:rajendran2024neurips-causal", "Tai2015ImprovedNetworks": "P15-1150",
    "Dasgupta-08": "mla:dasgupta2008icml-hierarchical", "yang-15": "D15-1037", "Eidelman-12": "P12-2023",
    "hu2019squeezeandexcitation": "mla:hu2018cvpr-squeezeandexcitation", "sogaard-15": "P15-1165",
    "Burns2022DiscoveringLK": "mla:burns2023iclr-discovering", "May2017": "S17-2090",
    "udpipe:2017": "K17-3009",
}  # fmt: skip
"""What the keys without an identifier mean, as far as the library of acl and ml has it. Keys that
are not named here mean no paper that it has; of those in UNKNOWN nobody can tell."""
UNKNOWN = frozenset(
    {
        "vyas-15", "blei-06", "anandkumar2013learning", "anandkumar2012tensor", "Nguyen-14b",
        "DBLP:journals/corr/Ruder17", "hu-13:itm",
    }
)  # fmt: skip


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    parser.add_argument("--limit", type=int, default=900, help="Keys of contexts/dev.")
    parser.add_argument("--wrong", action="store_true", help="Name what was resolved wrongly.")
    chosen = parser.parse_args()
    if not SHARED.is_dir():
        print("skipped: ../shared/data is not beside the checkout")
        return 0
    library = chosen.library or corpus_library()
    if library is None:
        return 0
    overrides = {"library.path": str(library.parent), "library.name": library.name}
    engine = LocalEngine.open(load(None, overrides=overrides).options)
    begin = time.process_time()
    rows = [r for r in read("undefined_keys.jsonl.gz") if r["key"] not in UNKNOWN]
    given = [r for r in rows if r["acl_id_by_key"]]
    others = [r for r in rows if not r["acl_id_by_key"]]
    dev = distinct(read("dev.jsonl.gz"))
    dev.sort(key=lambda r: hashlib.sha1(f"{r['source_repo']}{r['key']}".encode()).digest())
    show = Show(engine, wrong=chosen.wrong)
    show.table("undefined keys with `acl_id_by_key`", given, hidden=False)
    show.table("the other undefined keys", others, hidden=False)
    show.table("with `acl_id_by_key`, own keys of the library hidden", given, hidden=True)
    show.table("keys of contexts/dev, hidden", dev[: chosen.limit], hidden=True)
    print(f"\n{time.process_time() - begin:.0f} s of processor time")
    return 0


def read(name: str) -> list[dict[str, Any]]:
    with gzip.open(SHARED / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first citation of each key of each paper."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        found.setdefault((row["source_repo"], row["key"]), row)
    return list(found.values())


class Show:
    """Runs the rows and prints what became of them."""

    def __init__(self, engine: LocalEngine, *, wrong: bool) -> None:
        self.engine = engine
        self.wrong = wrong
        self.known: dict[tuple[str, str, str, bool], tuple[int | None, bool, bool]] = {}

    def table(self, name: str, rows: list[dict[str, Any]], *, hidden: bool) -> None:
        print(f"\n{name}: {len(rows)} citations, {len(distinct(rows))} distinct keys of a paper")
        print(f"{'':34}{'in library':>11}{'right':>20}{'wrong':>20}{'alone':>8}")
        for part, kept in (
            ("all", rows),
            ("developed on", [r for r in rows if half(r) == 0]),
            ("the other half", [r for r in rows if half(r) == 1]),
        ):
            for what in ("among three", "first", "sure"):
                self.line(f"{part}, {what}", kept, what, hidden)

    def line(self, name: str, rows: list[dict[str, Any]], what: str, hidden: bool) -> None:
        counts = Counter(self.outcome(row, what, hidden) for row in rows)
        single = Counter(self.outcome(row, what, hidden) for row in distinct(rows))
        total, own = len(rows), sum(single[k] for k in single if not k.startswith("has"))
        has = sum(self.has(row, hidden) for row in rows)
        if not total:
            return
        cells = "".join(
            f"{counts[k]:>5} {counts[k] / total:>5.1%} {interval(single[k], own):>9}"
            for k in ("right", "wrong")
        )
        print(f"{name:34}{has:>11}{cells}{counts['alone']:>8}")

    def has(self, row: dict[str, Any], hidden: bool) -> bool:
        return self.answer(row, hidden)[1]

    def outcome(self, row: dict[str, Any], what: str, hidden: bool) -> str:
        rank, _, is_sure = self.answer(row, hidden)
        if rank is None or (what == "sure" and not is_sure):
            return "alone"
        return "right" if rank == 1 or (rank and what == "among three") else "wrong"

    def answer(self, row: dict[str, Any], hidden: bool) -> tuple[int | None, bool, bool]:
        """The place of the paper among those offered (0: not there; None: none is offered), whether
        the library has it, and whether the first one counts as sure."""
        place = (row["source_repo"], row["key"], row["sentence"], hidden)
        if place not in self.known:
            self.known[place] = self.ask(row, hidden)
        return self.known[place]

    def ask(self, row: dict[str, Any], hidden: bool) -> tuple[int | None, bool, bool]:
        meaning = read_key(row["key"])
        context = Query(
            sentence=row["sentence"],
            before=tuple((row.get("context_before_list") or [row["context_before"]])[-3:]),
            paper=CitingPaper(title=row.get("source_title") or ""),
        )
        known = [] if hidden else identified(self.engine, meaning)
        answers = [
            (query, [hide(hit) if hidden else hit for hit in self.engine.find(query, count).hits])
            for query, count in questions(meaning, context)
        ]
        found = decide(meaning, known, answers)
        gold = {work.id for work in self.engine.works(gold_ids(row)) if work is not None}
        title = title_key(row.get("gold_title") or "")
        right = [
            work.id in gold or (bool(title) and title_key(work.title) == title)
            for work in found.works
        ]
        if self.wrong and found.is_sure and not right[0]:
            print(f"  {found.probability:.2f} {row['key']}: {found.works[0].title}")
        rank = None if not right else right.index(True) + 1 if any(right) else 0
        return rank, bool(gold) or any(right), found.is_sure


def hide(hit: Any) -> Any:
    """The hit without the key that its source uses."""
    import msgspec

    return msgspec.structs.replace(hit, work=msgspec.structs.replace(hit.work, bibkey=""))


def gold_ids(row: dict[str, Any]) -> list[str]:
    named = [row.get("gold_id"), row.get("acl_id_by_key"), *(row.get("gold_alt_ids") or ())]
    if "gold_id" not in row:
        named.append(LABELS.get(row["key"]))
    return [one if ":" in one else f"acl:{one}" for one in named if one]


def half(row: dict[str, Any]) -> int:
    """The half of a repository, by a hash of its name."""
    return hashlib.sha1(row["source_repo"].encode()).digest()[0] % 2


def interval(good: int, total: int) -> str:
    """Wilson's 95% interval in per cent."""
    if not total:
        return ""
    z, share = 1.96, good / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    spread = (
        z
        / (1 + z * z / total)
        * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    )
    return f"[{max(0, middle - spread):.0%},{min(1, middle + spread):.0%}]"


if __name__ == "__main__":
    sys.exit(main())
