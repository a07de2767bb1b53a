import msgspec

from citewell.lsp.state.checking import MAX_READ, CheckCache
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


def test_all_answers_are_kept_though_few_as_objects():
    answers = CheckCache()
    many = {digest(number): check(Verdict.NOT_FOUND) for number in range(2 * MAX_READ)}
    answers.update(many)
    assert all(answers.get(one) == answer for one, answer in many.items())
    assert answers.line(digest(5)) is answers.line(digest(2 * MAX_READ - 1)) != ""


def test_an_answer_takes_a_fraction_of_its_encoded_length():
    answers = CheckCache()
    many = {
        digest(number): check(
            Verdict.NOT_FOUND, evidence=(f"No record with this title was found in: {number}.",)
        )
        for number in range(200)
    }
    answers.update(many)
    plain = sum(len(msgspec.msgpack.encode(one)) for one in many.values())
    kept = sum(len(one) for one in answers._encoded.values())
    assert 3 * kept < plain
    assert all(answers.get(one) == answer for one, answer in many.items())


def test_compacting_changes_no_answer():
    answers = CheckCache()
    many = {digest(number): check(Verdict.NOT_FOUND) for number in range(2 * MAX_READ)}
    answers.update(many)
    answers.compact()
    later = {digest(1): check(Verdict.VERIFIED), digest(9_999): check(Verdict.FABRICATED)}
    answers.update(later)
    answers.compact()
    answers.compact()
    assert all(answers.get(one) == answer for one, answer in {**many, **later}.items())
    assert len(answers) == len(many) + 1
