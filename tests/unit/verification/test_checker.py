"""One field of a right entry is changed; the check names that field and no other."""

import re

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Severity, Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.finding import SURE
from citewell.verification.identify import ClaimCandidates

BERT = """@inproceedings{bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2019},
  pages = {4171--4186},
  doi = {10.18653/v1/N19-1423},
}"""


def changed(field, value, entry=BERT):
    new, count = re.subn(rf"(?m)^  {field} = .*$", lambda _: f"  {field} = {{{value}}},", entry)
    assert count == 1
    return new


def counted(check):
    return [f.code for f in check.findings if f.severity is not Severity.INFO
            and f.confidence >= SURE]  # fmt: skip


def test_a_right_entry_is_verified_without_a_finding(check):
    result = check(BERT)
    assert result.verdict is Verdict.VERIFIED
    assert not result.findings
    assert result.work.id == "acl:N19-1423"
    assert result.severity is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("author", "J. Devlin and M.-W. Chang and K. Lee and K. Toutanova"),
        ("author", "Jacob Devlin and others"),
        ("author", "Devlin, Jacob and Chang, Ming-Wei and et al."),
        ("author", r"J. Devlin and Ming-Wei Chang and Kenton Lee and Kristina Toutan{\'o}va"),
        (
            "title",
            "Bert: pre-training of deep bidirectional transformers for language understanding.",
        ),
        ("year", "2018"),
        ("booktitle", "North American Chapter of the Association for Computational Linguistics"),
        ("booktitle", "Annual Conference of the NAACL"),
        ("doi", "https://doi.org/10.18653/V1/N19-1423"),
    ],
)
def test_another_way_to_write_the_same_is_no_finding(check, field, value):
    result = check(changed(field, value))
    assert result.verdict is Verdict.VERIFIED
    assert not counted(result)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("author", "Jacob Devlin and Kristina Toutanova", "author-missing"),
        ("author", "Jacob Devlin and Kenton Lee and Kristina Toutanova and Ming-Wei Chang",
         "author-order"),
        ("author", "Jacob Devlin and Ming-Wei Chang and Luke Zettlemoyer and Kristina Toutanova",
         "author-replaced"),
        ("year", "2015", "year-differs"),
        ("year", "2033", "year-future"),
        ("booktitle", "Proceedings of ICML", "venue-differs"),
        ("booktitle", "Symposium on Reward Hacking", "venue-unknown"),
        ("doi", "10.18653/v1/N19-1999", "doi-differs"),
        ("doi", "10.1609/aaai.v36i9.21266", "doi-other-venue"),
        ("doi", "10.99997/mufzf.390970", "doi-impossible"),
        ("title", "BERT: Pre-training of Deep Unidirectional Recurrences for Language Understanding",
         "title-differs"),
    ],
)  # fmt: skip
def test_one_wrong_detail_is_named_and_nothing_else(check, field, value, code):
    result = check(changed(field, value))
    assert result.verdict is Verdict.WRONG_DETAIL
    assert counted(result) == [code]
    (finding,) = (f for f in result.findings if f.code == code)
    assert finding.span is not None
    text = changed(field, value)
    assert value.split()[0] in text[finding.span.start : finding.span.end]


def test_the_cure_is_the_records_own_value(check):
    (finding,) = check(changed("year", "2014")).findings
    assert (finding.field, finding.given, finding.expected) == ("year", "2014", "2019")


def test_the_title_of_one_work_with_other_peoples_names_is_fabricated(check):
    result = check(changed("author", "Maria Garcia and Kevin Nguyen and Lucas Brown"))
    assert result.verdict is Verdict.FABRICATED
    assert "author-unrelated" in counted(result)
    assert result.severity is Severity.ERROR


def test_common_surnames_with_other_given_names_are_other_people(check):
    entry = changed("author", "Rob Chang and Ann Lee and Zoe Devlin")
    assert check(entry).verdict is Verdict.FABRICATED


def test_an_unknown_work_is_not_found_and_nobody_is_accused(check):
    result = check(
        "@article{a, title={Pottery of the Lower Danube in the Late Bronze Age}, "
        "author={Ana Popescu}, journal={Dacia}, year={1987}}"
    )
    assert result.verdict is Verdict.NOT_FOUND
    assert result.severity is Severity.INFO


def test_a_doi_that_cannot_be_is_a_wrong_detail_of_an_unknown_work(check):
    entry = (
        "@article{a, title={Pottery of the Lower Danube}, author={Ana Popescu}, doi={10.99999/x}}"
    )
    assert check(entry).verdict is Verdict.WRONG_DETAIL


def test_a_short_title_that_others_may_have_used_is_no_evidence(check):
    entry = "@book{b, title={Graph Attention Networks}, author={Jo Writer}, year={2024}}"
    assert check(entry).verdict is Verdict.NOT_FOUND


def test_a_doi_of_another_work_is_a_wrong_detail_while_the_title_may_be_known_elsewhere(check):
    entry = (
        "@inproceedings{c, title={Sparse Hopscotch Encoders for Legal Summaries}, "
        "author={Mia Wong and Leo Park}, year={2021}, doi={10.18653/v1/N19-1423}}"
    )
    result = check(entry)
    assert result.verdict is Verdict.WRONG_DETAIL
    assert counted(result) == ["doi-other-work"]


def test_placeholder_authors_are_evidence(check):
    entry = "@misc{d, title={On Nothing in Particular}, author={Firstname Lastname}, year={2023}}"
    assert check(entry).verdict is Verdict.FABRICATED


def test_a_preprint_of_a_published_paper_is_a_note(check):
    entry = changed("booktitle", "arXiv preprint arXiv:1810.04805")
    result = check(entry.replace("  doi = {10.18653/v1/N19-1423},\n", ""))
    assert result.verdict is Verdict.VERIFIED
    assert [f.code for f in result.findings] == ["preprint-published"]


def test_a_missing_and_between_names_is_no_accusation(check):
    entry = (
        "@inproceedings{e, title={Decoupled Weight Decay Regularization}, "
        "author={Frank Hutter Ilya Loshchilov}, booktitle={ICLR}, year={2019}}"
    )
    assert check(entry).verdict is not Verdict.FABRICATED


def test_a_retracted_work_is_named(check):
    entry = (
        "@article{f, title={A Result That Nobody Could Repeat in Any Laboratory}, "
        "author={Ada Lovelace}, journal={Nature}, year={2010}}"
    )
    assert counted(check(entry)) == ["retracted"]


class Silent:
    """A place that does not answer, as a source behind a broken line does not."""

    name = "silent"

    def candidates(self, claims):
        return [ClaimCandidates(answered=False) for _ in claims]

    def near(self, claims):
        return [() for _ in claims]


def test_a_place_that_does_not_answer_leaves_an_entry_unchecked():
    (claim,) = claims_of_bib(parse_bib(BERT))
    (result,) = Checker([Silent()]).check([claim])
    assert result.verdict is Verdict.UNCHECKED


def test_a_long_check_tells_its_progress_and_stops_when_cancelled(checker):
    (claim,) = claims_of_bib(parse_bib(BERT))
    steps = []
    assert len(checker.check([claim] * 600, steps.append)) == 600
    assert sum(steps) == 600
    assert len(steps) > 1
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        checker.check([claim], cancel=cancel)


@pytest.mark.parametrize(
    ("parent", "own"),
    [
        ("@proceedings{all, title={ICML}, year={2013}}", "crossref={all}"),
        ("@proceedings{all, title={ICML}, date={2013-06-01}}", "crossref={all}"),
        ("@xdata{all, year={2013}}", "xdata={all}"),
    ],
)
def test_the_year_of_the_volume_is_that_of_its_paper(checker, parent, own):
    entry = "@inproceedings{x, title={Graph Attention Networks}, author={Velickovic and others}, "
    claims = claims_of_bib(parse_bib(f"{entry}{own}}}\n{parent}", "refs.bib"))
    result = next(one for one in checker.check(claims) if one.claim.key == "x")
    assert result.claim.year == 2013
    assert "year-differs" in {one.code for one in result.findings}
