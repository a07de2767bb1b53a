"""Names that are none are told from unusual ones."""

import pytest

from citewell.model import Author
from citewell.model.names import parse_author
from citewell.sources.values import malformed_name

SOUND = Author("García Márquez", "Ana")


@pytest.mark.parametrize(
    ("author", "reason"),
    [
        (Author("ann.ash@example.org", ""), "e-mail address"),
        (Author("Ash (ash@cs.example.org)", "Ann"), "e-mail address"),
        (Author("https://example.org/~ash", ""), "web address"),
        (Author("Ash<sup>1</sup>", "Ann"), "markup"),
        (Author("Nouy", "Anthony pages = 173-184"), "markup"),
        (Author("emph{Ash", "Ann"), "markup"),
        (Author("As\x0ch", "Ann"), "control character"),
        (Author("M\ufffdller", "Jan"), "control character"),
        (Author("et al.", ""), "“et al.”"),
        (Author("al.", "Ash et"), "“et al.”"),
        (Author("others", ""), "“et al.”"),
        (Author("Ash; Ben Beech", "Ann"), "several names in one"),
        (Author("Le", "Samuel L. Smith and Quoc V."), "several names in one"),
        (Author("Zhu", "Taesung Park Alexei A. Efros Richard Zhang Jun-Yan"),
         "several names in one"),
        (parse_author("Ann Ash, University of Leeds"), "affiliation"),
        (parse_author("Department of Computer Science, University of Leeds"), "affiliation"),
        (Author("Ash (University of Leeds)", "Ann"), "affiliation"),
        (Author("...", ""), "no letters"),
        (Author("123", ""), "no letters"),
        (Author("Ash", "An extremely long text that " * 4), "longer than 80 characters"),
        (Author("x" * 300, ""), "longer than 160 characters"),
    ],
)  # fmt: skip
def test_a_malformed_name_is_found_with_its_reason(author: Author, reason: str) -> None:
    found = malformed_name((SOUND, author))
    assert found is not None
    assert (found.name, found.reason) == (author.display, reason)


@pytest.mark.parametrize(
    "author",
    [
        Author("Plato"),
        Author("Li", "W."),
        Author("NLLB Team"),
        Author("AI@Meta"),
        Author("European Organization for Research and Treatment of Cancer Lung Cancer Group"),
        Author("Sitting and Standing Group"),
        parse_author("Centers for Disease Control and Prevention"),
        parse_author("University of Leeds"),
        parse_author("University of California, Berkeley"),
        Author("International Brain Laboratory"),
        Author("d&apos;Amore", "Francesco"),
        Author("Zhang", "Xiao-Ping (Steven)"),
        Author("Jiang", "Chiyu “Max”"),
        Author("Munim", "Hossam El Din Hassan Abd El"),
        Author("Santana", "Pedro Henrique de Rodrigues Quemel e Assis"),
        Author("Gorantla V N S L", "Vishnu Vardhan"),
        Author("Nyberg", "Eric H.", "3rd"),
        Author("Arase†", "Yuki"),
        Author("李明"),
        Author("Pastor", "Gloria Corpas"),
        Author("Alba", "Etalia"),
    ],
)
def test_an_unusual_name_is_sound(author: Author) -> None:
    assert malformed_name((SOUND, author)) is None
