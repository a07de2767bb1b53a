"""What an editor shows of a reference that was looked up, and what its actions write: byte by byte."""

from __future__ import annotations

import datetime

import msgspec

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.textfile import apply_edits
from citewell.features.actions.verification import EntryId, actions_on, edits_for
from citewell.features.checking.check import (
    CODES,
    EntryBytes,
    check_diagnostics,
    diagnose,
    question,
    verified,
)
from citewell.model import Author, Work
from citewell.model.check import Check, Verdict
from citewell.model.document import Level
from citewell.options.tree import DiagnosticsOptions
from citewell.verification.checker import Checker
from citewell.verification.identify import MemoryRecords

WALKS = Work(
    id="x:walks",
    title="Seven Ways of Walking on Directed Graphs",
    authors=(Author("Ash", "Ann"), Author("Béech", "Ben")),
    year=2012,
    kind="inproceedings",
    venue="icml",
    booktitle="Proceedings of the 29th International Conference on Machine Learning",
    pages="10-19",
    doi="10.1000/walks",
    url="https://example.org/walks",
)
NEAR = Work(
    id="x:bert",
    title="BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    authors=(Author("Devlin", "Jacob"), Author("Chang", "Ming-Wei")),
    year=2019,
    kind="inproceedings",
    venue="NAACL",
    booktitle="Proceedings of the 2019 Conference of the North American Chapter of the "
    "Association for Computational Linguistics: Human Language Technologies",
    pages="4171-4186",
    doi="10.18653/v1/n19-1423",
    arxiv="1810.04805",
)
CHECKER = Checker([MemoryRecords([WALKS, NEAR])], today=datetime.date(2026, 1, 1))


def looked_up(text: str):
    """The file, its first entry, and the answer about it."""
    bib = parse_bib(text, "refs.bib")
    entry = bib.entries[0]
    query = question(bib, entry)
    assert isinstance(query, EntryBytes)
    return bib, entry, CHECKER.check([query.claim])[0]


def answers_on(bib):
    """What the check says of every entry of a file."""
    queries = [one for entry in bib.entries if (one := question(bib, entry)) is not None]
    checks = CHECKER.check([one.claim for one in queries])
    return {one.digest: check for one, check in zip(queries, checks, strict=True)}


def after(text: str, beginning: str) -> str:
    """The text after the action whose title begins so."""
    bib, entry, check = looked_up(text)
    actions = actions_on(bib, entry, check)
    action = next((a for a in actions if a.title.startswith(beginning)), None)
    assert action is not None, [a.title for a in actions]
    edits = edits_for(bib, entry, check, action.name, str(action.arguments.get("code", "")))
    assert edits
    assert list(edits) == sorted(edits, key=lambda edit: edit.span)
    new = apply_edits(text, edits)
    again = reparse(bib, new)
    assert not again.entries[0].body.faults, new
    assert again.entries[0].key == entry.key
    return new


LATE = """% my papers\r
@InProceedings{walks,\r
    title     = {Seven ways of {W}alking on directed graphs},  % nice\r
    author    = "Ash, Ann and B\\'eech, Ben",\r
    booktitle = {ICML},\r
    year      = 2019,\r
    keywords  = {walks; to read},\r
    file      = {:walks.pdf:PDF}\r
}\r
@misc{next, title = {Other}}\r
"""


def test_a_wrong_year_is_a_warning_on_the_year_with_what_is_right_and_why():
    bib, entry, check = looked_up(LATE)
    (one,) = [d for d in check_diagnostics(entry, check) if d.level is not Level.HINT]
    assert bib.text[one.span.start : one.span.end] == "2019"
    assert (one.code, one.level) == ("year-differs", Level.WARNING)
    assert one.message.splitlines()[0] == "The work is from 2012, not from 2019. (90% sure)"
    assert "Seven Ways of Walking" in one.message.splitlines()[1]
    assert one.data == {"key": "walks", "field": "year", "expected": "2012"}


GONE = "".join(
    f"@misc{{gone{n}, title = {{A Title That Is in No {{L}}ibrary, Number {n}}}}}\n"
    for n in range(1, 6)
)


def messages_of(text, **options):
    """What an editor shows of a .bib of which everything is known."""
    bib = parse_bib(text, "/refs.bib")
    found = diagnose(bib, (), DiagnosticsOptions(**options), answers_on(bib).get)
    return bib, [one for one in found if one.code in CODES and one.level is not Level.HINT] + [
        one for one in found if one.code == "reference-not-found" and one.level is Level.HINT
    ]


def test_entries_without_a_record_are_one_hint_on_the_first():
    bib, (one,) = messages_of(GONE)
    assert (one.code, one.level) == ("reference-not-found", Level.HINT)
    assert bib.text[one.span.start : one.span.end] == "gone1"
    assert one.message == (
        "No records found for 5 references in this file, which is no evidence against them: "
        "gone1, gone2, gone3 and 2 more. A source that you allow may "
        "know them (`citewell sources`)."
    )


def test_each_entry_without_a_record_is_named_where_the_author_wants_the_list():
    _, found = messages_of(GONE, list_not_found=True)
    assert [one.level for one in found] == [Level.INFORMATION] * 5
    assert found[1].message.startswith("gone2 (“A Title That Is in No Library, Number 2”): No ")


INVENTED = r"""%! main.tex
\documentclass{article}
\begin{document}
So \cite{next, walks}; again \citep[see][]{walks}.
|
\bibliography{refs}
\end{document}
%! refs.bib
""" + LATE.replace("\r", "").replace("Ash, Ann and B\\'eech, Ben", "Zebra, Zed and Yak, Yan")


def cited(write_files, text, **options):
    """What an editor shows in main.tex when everything is known of refs.bib."""
    written = write_files(text)
    project = written.projects[0]
    (bib,) = project.bibs.values()
    found = diagnose(
        project.documents[written.path],
        written.projects,
        DiagnosticsOptions(**options),
        answers_on(bib).get,
    )
    return written, [one for one in found if one.code == "reference-fabricated"]


def test_an_invented_reference_is_marked_wherever_it_is_cited(write_files):
    written, found = cited(write_files, INVENTED)
    main = written.folder / "main.tex"
    assert [written.show(main, one.span) for one in found] == ["main.tex 3 walks"] * 2
    assert {one.level for one in found} == {Level.ERROR}
    assert found[0].message.startswith("walks (“Seven ways of Walking on directed graphs”) is ")
    (entry,) = found[0].related
    assert written.show(entry.path, entry.span) == "refs.bib 2 walks"


def test_what_is_silenced_at_the_entry_is_silenced_where_it_is_cited(write_files):
    ignored = INVENTED.replace("@InProc", "% citewell: ignore\n@InProc")
    assert cited(write_files, ignored)[1] == []
    assert cited(write_files, INVENTED, verification="off")[1] == []
    here = INVENTED.replace("So ", "% citewell: ignore\nSo ")
    assert cited(write_files, here)[1] == []
    quiet = {"author": "off", "year": "off", "title": "off", "venue": "off"}
    assert cited(write_files, INVENTED, severity=quiet)[1] == []


def test_what_could_not_be_looked_up_is_told_to_those_who_ask():
    bib = parse_bib("@misc{k, title = {On Walking}}")
    query = question(bib, bib.entries[0])
    assert query is not None
    check = Check(claim=query.claim, verdict=Verdict.UNCHECKED)
    answers = {query.digest: check}
    assert not list(verified(bib, answers.get))
    (one,) = verified(bib, answers.get, {"reference-unchecked": "hint"})
    assert one.code == "reference-unchecked"


def test_entries_that_say_the_same_are_one_question_wherever_they_stand():
    body = "title = {On Walking}, author = {Ash, Ann}, year = 2001"
    bib = parse_bib(
        f"@misc{{one, {body}}}\n\n\n@misc{{two, {body}}}\n@misc{{three, {body}, volume=2}}"
    )
    first, second, third = (question(bib, entry) for entry in bib.entries)
    assert first and second and third
    assert first.digest == second.digest != third.digest


def test_what_a_volume_says_is_part_of_the_question():
    text = "@inproceedings{a, title = {On Walking}, crossref = {v}}\n@proceedings{v, year = 2001}"
    bib = parse_bib(text)
    changed = parse_bib(text.replace("title = {On", "booktitle = {Paths}, title = {On"))
    first, second = question(bib, bib.entries[0]), question(changed, changed.entries[0])
    assert first and second
    assert first.digest != second.digest


def test_strings_comments_and_empty_entries_are_no_questions():
    bib = parse_bib("@xdata{x, title = {T}}\n@misc{y}\n@misc{z, note = {see there}}")
    assert [question(bib, entry) for entry in bib.entries] == [None, None, None]


# -- the fixes ---------------------------------------------------------------------------------


def test_the_right_year_is_taken_and_no_other_byte_changes():
    assert after(LATE, "Use the record's year: 2012") == LATE.replace("= 2019,", "= 2012,")


def test_the_right_authors_are_taken_in_the_delimiters_that_stand_there():
    text = LATE.replace("2019", "2012").replace("Ash, Ann and B\\'eech, Ben", "Ash, Ann")
    assert after(text, "Use the record's authors") == text.replace(
        '"Ash, Ann"', '"Ash, Ann and Béech, Ben"'
    )


def test_all_values_in_question_are_taken_at_once():
    text = LATE.replace("Ash, Ann and B\\'eech, Ben", "Ash, Ann")
    expected = text.replace('"Ash, Ann"', '"Ash, Ann and Béech, Ben"').replace("= 2019,", "= 2012,")
    bib, entry, check = looked_up(text)
    first = actions_on(bib, entry, check)[0]
    assert first.title == "Use all 2 values of the record"
    assert first.is_preferred
    assert after(text, "Use all 2") == expected


def test_an_entry_is_replaced_and_key_own_fields_comments_and_spelling_stay():
    text = LATE.replace("Ash, Ann and B\\'eech, Ben", "Zebra, Zed").replace(
        "    year ", "    pages     = {1--2},\r\n    publisher = {Nobody},\r\n    year "
    )
    expected = (
        "% my papers\r\n"
        "@InProceedings{walks,\r\n"
        "    title     = {Seven ways of {W}alking on directed graphs},  % nice\r\n"
        '    author    = "Ash, Ann and Béech, Ben",\r\n'
        "    booktitle = {ICML},\r\n"
        "    pages     = {10--19},\r\n"
        "    year      = 2012,\r\n"
        "    keywords  = {walks; to read},\r\n"
        "    file      = {:walks.pdf:PDF},\r\n"
        "    doi       = {10.1000/walks},\r\n"
        "    url       = {https://example.org/walks}\r\n"
        "}\r\n"
        "@misc{next, title = {Other}}\r\n"
    )
    assert after(text, "Replace with the record of “Seven Ways") == expected


def test_the_doi_is_added_as_the_file_writes_its_fields():
    text = LATE.replace("2019", "2012")
    assert after(text, "Add the DOI: 10.1000/walks") == text.replace(
        "{:walks.pdf:PDF}\r\n", "{:walks.pdf:PDF},\r\n    doi       = {10.1000/walks}\r\n"
    )


def test_a_preprint_becomes_its_paper_and_keeps_its_arxiv_number():
    text = """@article{devlin,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei},
  journal = {arXiv preprint arXiv:1810.04805},
  year = {2018},
  eprint = {1810.04805},
  note = {read it again},
}
"""
    new = after(text, "Cite the published version")
    assert new.startswith("@inproceedings{devlin,\n  title = {{BERT}: Pre-training of Deep")
    assert "  year = {2019},\n  eprint = {1810.04805},\n  note = {read it again},\n" in new
    assert "arXiv preprint" not in new
    assert "  booktitle = {Proceedings of the 2019 Conference" in new
    assert "  pages = {4171--4186},\n" in new
    assert "  doi = {10.18653/v1/n19-1423},\n" in new


def test_a_preprint_that_is_replaced_takes_the_year_of_its_paper():
    text = (
        "@article{devlin, title = {BERT: Pre-training of Deep Bidirectional Transformers for "
        "Language Understanding}, author = {Devlin, Jacob and Chang, Ming-Wei}, "
        "journal = {arXiv preprint arXiv:1810.04805}, year = {2018}}\n"
    )
    new = after(text, "Replace with the record")
    assert new.startswith("@inproceedings{devlin, title = {BERT: Pre-training")
    assert "year = {2019}, booktitle = {Proceedings of the 2019 Conference" in new
    assert "journal" not in new


def test_the_entry_is_found_again_when_it_has_moved():
    bib = parse_bib("\n\n@misc{a, title={1}}\n@misc{b, title={2}}\n@misc{a, title={3}}")
    found = EntryId("a", 45).find(bib)
    assert found is bib.entries[2]
    assert EntryId("gone", 0).find(bib) is None


def test_an_answer_is_the_same_after_its_way_through_the_worker_and_the_disk():
    _, _, check = looked_up(LATE)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(check), type=Check) == check
