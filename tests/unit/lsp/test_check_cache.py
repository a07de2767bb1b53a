from citewell.lsp.state.checking import CheckCache
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.work import Work

CLAIM = Claim(title="On things")


def check(verdict, **more):
    return Check(claim=CLAIM, verdict=verdict, **more)


def digest(number):
    return number.to_bytes(16, "big")


def test_an_answer_comes_back_as_it_was_given():
    finding = FieldFinding(
        code="year-differs", field="year", given="1999", expected="2000", message="No.",
        severity=Severity.WARNING, confidence=0.9,
    )  # fmt: skip
    given = check(
        Verdict.WRONG_DETAIL, findings=(finding,), work=Work(id="x", title="On things"),
        evidence=("Seen.",),
    )  # fmt: skip
    answers = CheckCache()
    assert answers.get(digest(1)) is None
    answers.update({digest(1): given})
    assert answers.get(digest(1)) == answers.telling(digest(1)) == given
    assert digest(1) in answers
    assert len(answers) == 1
    answers.update({digest(2): check(Verdict.NOT_FOUND), digest(3): check(Verdict.NOT_FOUND)})
    assert answers.line(digest(2)) is answers.line(digest(3)) != ""


def test_of_what_is_right_nothing_is_told_until_a_later_answer_says_otherwise():
    answers = CheckCache()
    answers.update({digest(1): check(Verdict.VERIFIED)})
    assert answers.telling(digest(1)) is None
    assert answers.get(digest(1)).verdict is Verdict.VERIFIED
    assert answers.line(digest(1)).startswith("✓")
    answers.update({digest(1): check(Verdict.FABRICATED)})
    assert answers.telling(digest(1)).verdict is Verdict.FABRICATED
    assert answers.get(digest(1)).verdict is Verdict.FABRICATED
    assert answers.line(digest(1)).startswith("✗")
    answers.update({digest(1): check(Verdict.VERIFIED)})
    assert answers.telling(digest(1)) is None
