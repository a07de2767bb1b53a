"""Whatever an entry looks like, a fix changes no byte outside of the values in question."""

import datetime

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.documents.bib.reader import parse_bib
from citewell.documents.textfile import apply_edits
from citewell.features.actions.verification import (
    DOI,
    FIELD,
    FIELDS,
    actions_on,
    edits_for,
    place_of,
)
from citewell.features.checking.check import counts
from citewell.model import Author, Provenance, Work
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.identify import MemoryRecords

WORK = Work(
    id="m:paper", title="Seven Ways of Walking on Directed Graphs", year=2012, venue="icml",
    booktitle="International Conference on Machine Learning", kind="inproceedings",
    authors=(Author("Ash", "Ann"), Author("Béech", "Ben"), Author("Cedar", "Cy")),
    provenance=(Provenance("dblp"), Provenance("crossref")),
)  # fmt: skip
CHECKER = Checker([MemoryRecords([WORK])], today=datetime.date(2026, 1, 1))
VALUES = {
    "title": [WORK.title, "Seven Ways of {W}alking  on\n  Undirected Graphs"],
    "author": [r"Ann Ash and B{\'e}ech, Ben and Cy Cedar", "Cedar, C. and Ash, Ann  and\n Ben Béech",
               "A. Ash and Cy Cedar", "Ann Ash and Zoe Zinnia and Cedar, Cy", "Ann Ash and others"],
    "booktitle": ["ICML", "Proceedings of {CVPR}", "NeurIPS"],
    "year": ["2012", "2016"],
    "note": ["read {twice}, % not a comment"],
    "keywords": ["a, b"],
}  # fmt: skip
NAMES = st.sampled_from([str.lower, str.upper, str.title])
SPACE = st.sampled_from(["", " ", "  ", "\t"])
BREAK = st.sampled_from(["", " ", "\n  ", "\r\n\t"])
AROUND = st.sampled_from(["", "% mine\n", "free text, @ home\n\n", '@string{x = "y"}\r\n',
                          "@misc{other, title={Ünicode}, year=1999}\n"])  # fmt: skip


@st.composite
def bibliographies(draw) -> str:
    kept = draw(st.sets(st.sampled_from(["note", "keywords"])))
    names = draw(st.permutations(["title", "author", "booktitle", "year", *sorted(kept)]))
    parts = []
    for name in names:
        value = draw(st.sampled_from(VALUES[name]))
        left, right = draw(st.sampled_from([("{", "}"), ('"', '"')]))
        written = value if value.isdigit() and draw(st.booleans()) else f"{left}{value}{right}"
        parts.append(draw(NAMES)(name) + draw(SPACE) + "=" + draw(SPACE) + written)
    gap = draw(BREAK)
    body = ("," + gap).join(parts) + draw(st.sampled_from(["", ",", ", "]))
    return f"{draw(AROUND)}@inProceedings{{key:1,{gap}{body}{gap}}}{draw(AROUND)}"


@settings(max_examples=400, deadline=None)
@given(bibliographies())
def test_a_fix_changes_values_in_question_alone(text):
    bib = parse_bib(text, "refs.bib")
    entry = next(one for one in bib.entries if one.key == "key:1")
    (claim,) = (one for one in claims_of_bib(bib) if one.key == "key:1")
    (check,) = CHECKER.check([claim])
    spans = {field.name: field.value_span for field in entry.fields}
    for action in actions_on(bib, entry, check):
        if action.name not in (FIELD, FIELDS):
            continue
        fixes = [
            one
            for one in check.findings
            if (one.code in action.fixes if action.name == FIELD else counts(one))
        ]
        values = [spans[place_of(one, spans)] for one in fixes]
        edits = edits_for(bib, entry, check, action.name, str(action.arguments.get("code", "")))
        assert edits
        for edit in edits:
            assert any(
                value.start <= edit.span.start and edit.span.end <= value.end for value in values
            ), (action.title, edit)
        after = parse_bib(apply_edits(text, edits), "refs.bib")
        assert len(after.entries) == len(bib.entries)
        if action.name == FIELDS:
            (claim,) = (one for one in claims_of_bib(after) if one.key == "key:1")
            (again,) = CHECKER.check([claim])
            assert not any(map(counts, again.findings)), again.findings


def test_the_records_doi_is_offered_only_for_the_version_that_is_cited():
    work = msgspec.structs.replace(WORK, doi="10.5555/123")
    checker = Checker([MemoryRecords([work])], today=datetime.date(2026, 1, 1))
    for venue, offered in (("ICML", True),
                           ("NeurIPS Workshop on Walking", False), ("CVPR", False)):  # fmt: skip
        text = (f"@inproceedings{{k, title={{{WORK.title}}}, year=2012, booktitle={{{venue}}},\n"
                "  author={Ann Ash and Ben Béech and Cy Cedar}}\n")  # fmt: skip
        bib = parse_bib(text, "refs.bib")
        (check,) = checker.check(claims_of_bib(bib))
        names = {action.name for action in actions_on(bib, bib.entries[0], check)}
        assert (DOI in names) is offered, venue
