"""The fields of an entry, inherited ones included, and the work that they describe."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec

from citewell.model.bib import BibBody, BibEntry, BibFile, TextEdit
from citewell.model.check import Mark
from citewell.model.document import Span
from citewell.model.fields import BIB_FIELDS, RECORDED, value_of
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.names import family_key
from citewell.model.titles import normalise_title, plain_title, title_key
from citewell.model.venues import ABBREVIATIONS, SHORT, is_one_journal, shown_venue, venue_ids
from citewell.model.work import Provenance, Work

_DEPTH = 5
_NOT_INHERITED = frozenset(n for n, one in BIB_FIELDS.items() if one.inherited == "never")
_FROM_PARENT = {"booktitle": "title", "booksubtitle": "subtitle"}
_OF_ARTICLE = {"journal": "title", "issuetitle": "subtitle"}
_OF_VOLUME = frozenset(n for n, one in BIB_FIELDS.items() if one.inherited == "always")
_KINDS = {
    "conference": "inproceedings", "online": "misc", "electronic": "misc", "www": "misc",
    "thesis": "phdthesis", "report": "techreport", "periodical": "misc", "inbook": "incollection",
    "suppbook": "incollection", "collection": "book", "mvbook": "book", "unpublished": "misc",
    "preprint": "misc", "dataset": "misc", "software": "misc",
}  # fmt: skip


def inherited(by_key: Mapping[str, BibEntry], entry: BibEntry) -> dict[str, str]:
    """All plain fields of an entry, those of its `xdata` and `crossref` parents included.

    Own fields win, then xdata, then crossref; a paper's `booktitle` (an article's `journal`) is its
    volume's `title`. A chain that leads back to itself, or to no entry, ends there.
    """
    return _inherited(by_key, entry, _DEPTH)


def author_source(by_key: Mapping[str, BibEntry], entry: BibEntry) -> BibEntry:
    """The entry that names the authors: this one, or its first `xdata` parent that does."""
    return _author_source(by_key, entry, _DEPTH) or entry


def _author_source(by_key: Mapping[str, BibEntry], entry: BibEntry, depth: int) -> BibEntry | None:
    if "author" in entry.names:
        return entry
    keys = entry.get("xdata").split(",") if depth else ()
    parents = (by_key.get(key.strip()) for key in keys)
    sources = (_author_source(by_key, one, depth - 1) for one in parents if one is not None)
    return next((source for source in sources if source is not None), None)


def _inherited(by_key: Mapping[str, BibEntry], entry: BibEntry, depth: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name in entry.names:
        if name not in fields:
            fields[name] = entry.get(name)
    if depth == 0:
        return fields
    for key in fields.get("xdata", "").split(","):
        source = by_key.get(key.strip())
        if source is not None and source is not entry:
            for name, value in _inherited(by_key, source, depth - 1).items():
                if name not in _NOT_INHERITED:
                    fields.setdefault(name, value)
    parent = by_key.get(fields.get("crossref", "").strip())
    if parent is not None and parent is not entry:
        volume = _inherited(by_key, parent, depth - 1)
        containers = _OF_ARTICLE if entry.type == "article" else _FROM_PARENT
        for name, source_name in containers.items():
            if source_name in volume and not ("journal" in volume and name == "journal"):
                fields.setdefault(name, volume[source_name])
        for name, value in volume.items():
            if name in _OF_VOLUME or name not in BIB_FIELDS:
                fields.setdefault(name, value)
    return fields


def entry_year(entry: BibEntry, fields: Mapping[str, str]) -> int | None:
    """The year of an entry or of its parents; `fields` includes the inherited ones."""
    if (year := entry.body.year) is not None:
        return year
    digits = value_of(fields, "year").strip()[:4]
    return int(digits) if len(digits) == 4 and digits.isdecimal() else None


def entry_work(bib: BibFile, entry: BibEntry) -> Work:
    """The work that an entry describes, with the file and the key as provenance."""
    fields = inherited(bib.by_key, entry)
    body = entry.body
    title = plain_title(fields.get("title", ""))
    if subtitle := fields.get("subtitle", ""):
        title = f"{title}: {subtitle}"
    record: dict[str, Any] = {one.record: value_of(fields, one.name) for one in RECORDED}
    record |= {"pages": BIB_FIELDS["pages"].form(record["pages"]), "doi": body.doi}
    return Work(
        **record,
        id=f"bib:{entry.key}",
        title=title,
        authors=author_source(bib.by_key, entry).body.authors,
        year=entry_year(entry, fields),
        kind=_KINDS.get(entry.type, entry.type),
        arxiv=body.arxiv,
        bibkey=entry.key,
        provenance=(Provenance(source=f"bibtex:{bib.path}", source_id=entry.key),),
    )


# Look-up of a work in a .bib file: by DOI, then arXiv identifier, then title, surname and year.

_LONG_TITLE = 30
"""Letters of a title that suffices, with the same year, to identify an entry without authors."""


def find_work(bib: BibFile, work: Work) -> BibEntry | None:
    """The entry of `bib` that is `work`, or None.

    A shared DOI comes first, then a shared arXiv identifier, then an equal normalised title with a
    shared surname and years at most one apart (a preprint and its paper).
    """
    return next(_matches(bib, work), None)


def same_work(entry: BibEntry, work: Work) -> bool:
    """True when an entry and a record are the same work, by the rules of `find_work`."""
    body = entry.body
    doi, arxiv = normalise_doi(work.doi), _arxiv(work)
    if (doi and body.doi == doi) or (arxiv and body.arxiv == arxiv):
        return True
    key = title_key(work.title)
    return bool(key) and body.title_key == key and _agree(body, work)


def with_doi(bib: BibFile, doi: str) -> Iterator[BibEntry]:
    """The entries with a normalised DOI."""
    number = hash(doi)
    for entry in bib.entries:
        if entry.body.identity.doi == number and entry.body.doi == doi:
            yield entry


def with_arxiv(bib: BibFile, arxiv: str) -> Iterator[BibEntry]:
    """The entries with an arXiv identifier."""
    number = hash(arxiv)
    for entry in bib.entries:
        if entry.body.identity.arxiv == number and entry.body.arxiv == arxiv:
            yield entry


def _matches(bib: BibFile, work: Work) -> Iterator[BibEntry]:
    if doi := normalise_doi(work.doi):
        yield from with_doi(bib, doi)
    if arxiv := _arxiv(work):
        yield from with_arxiv(bib, arxiv)
    if key := title_key(work.title):
        number = hash(key)
        for entry in bib.entries:
            body = entry.body
            if body.identity.title == number and body.title_key == key and _agree(body, work):
                yield entry


def _arxiv(work: Work) -> str:
    return work.arxiv or arxiv_id(work.doi) or arxiv_id(work.url)


def _agree(body: BibBody, work: Work) -> bool:
    """True when authors and years do not contradict equal titles."""
    if body.year is not None and work.year is not None and abs(body.year - work.year) > 1:
        return False
    ours = {family_key(author) for author in body.authors}
    theirs = {family_key(author) for author in work.authors}
    if ours and theirs:
        return not ours.isdisjoint(theirs)
    same_link = bool(work.url) and body.get("url") == work.url
    return body.year == work.year and (same_link or len(body.title_key) >= _LONG_TITLE)


# Marks of checked entries: a comment above the entry that silences the findings of the check.

_LINE = re.compile(
    r"[ \t]*%+[ \t]*citewell:[ \t]*ignore (?P<codes>[a-z0-9, -]+): checked "
    r"(?P<day>\d{4}-\d\d-\d\d)(?: against (?P<record>\S+))?[ \t\r]*"
)
_COMMENT = re.compile(r"[ \t]*%[^\n]*")


def mark_of(bib: BibFile, entry: BibEntry) -> Mark | None:
    """The mark among the comment lines directly above an entry."""
    found = _marked_line(bib.text, entry.start)
    if found is None:
        return None
    return Mark(
        tuple(found["codes"].replace(",", " ").split()), found["day"], found["record"] or ""
    )


def mark_edit(
    bib: BibFile,
    entry: BibEntry,
    codes: Sequence[str],
    record: str = "",
    day: datetime.date | None = None,
) -> TextEdit:
    """The edit that marks an entry as checked, or renews its mark. `day` defaults to today."""
    day = day or datetime.datetime.now(datetime.UTC).date()
    against = f" against {record}" if record else ""
    # An @ outside an entry would begin one.
    reason = f"checked {day.isoformat()}{against}".replace("@", "%40")
    comment = f"% citewell: ignore {', '.join(codes)}: {reason}"
    ending = "\r\n" if "\r\n" in bib.text else "\n"
    old = _marked_line(bib.text, entry.start)
    if old is not None:
        end = old.end() - old[0].endswith("\r")
        return TextEdit(Span(old.start(), end), comment)
    before = bib.text[bib.text.rfind("\n", 0, entry.start) + 1 : entry.start]
    return TextEdit(
        Span(entry.start, entry.start), f"{ending if before.strip() else ''}{comment}{ending}"
    )


def _marked_line(text: str, start: int) -> re.Match[str] | None:
    end = text.rfind("\n", 0, start)
    while end > 0:
        begin = text.rfind("\n", 0, end) + 1
        if (found := _LINE.fullmatch(text, begin, end)) is not None:
            return found
        if _COMMENT.fullmatch(text, begin, end) is None:
            return None
        end = begin - 1
    return None


# Venues as authors write them: in full, or abbreviated like the others in the file.


class Venue(msgspec.Struct, frozen=True):
    name: str
    """Its spelling in the booktitle or journal field."""
    journal: bool = False


_CONFERENCES = {
    "neurips": "Advances in Neural Information Processing Systems",
    "nips": "Advances in Neural Information Processing Systems",
    "icml": "Proceedings of the International Conference on Machine Learning",
    "iclr": "International Conference on Learning Representations",
    "cvpr": "Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition",
    "iccv": "Proceedings of the IEEE/CVF International Conference on Computer Vision",
    "eccv": "Proceedings of the European Conference on Computer Vision",
    "wacv": "Proceedings of the IEEE/CVF Winter Conference on Applications of Computer Vision",
    "aistats": "International Conference on Artificial Intelligence and Statistics",
    "uai": "Proceedings of the Conference on Uncertainty in Artificial Intelligence",
    "colt": "Proceedings of the Conference on Learning Theory",
    "corl": "Proceedings of the Conference on Robot Learning",
    "acml": "Proceedings of the Asian Conference on Machine Learning",
    "midl": "Proceedings of Medical Imaging with Deep Learning",
    "aaai": "Proceedings of the AAAI Conference on Artificial Intelligence",
    "ijcai": "Proceedings of the International Joint Conference on Artificial Intelligence",
    "icassp": "IEEE International Conference on Acoustics, Speech and Signal Processing",
    "interspeech": "Proceedings of Interspeech",
    "kdd": "Proceedings of the ACM SIGKDD International Conference on Knowledge Discovery and Data "
    "Mining",
    "chi": "Proceedings of the CHI Conference on Human Factors in Computing Systems",
    "sigir": "Proceedings of the International ACM SIGIR Conference on Research and Development in "
    "Information Retrieval",
    "cikm": "Proceedings of the ACM International Conference on Information and Knowledge "
    "Management",
    "wsdm": "Proceedings of the ACM International Conference on Web Search and Data Mining",
    "recsys": "Proceedings of the ACM Conference on Recommender Systems",
    "mm": "Proceedings of the ACM International Conference on Multimedia",
    "sigmod": "Proceedings of the ACM International Conference on Management of Data",
    "stoc": "Proceedings of the ACM Symposium on Theory of Computing",
    "soda": "Proceedings of the ACM-SIAM Symposium on Discrete Algorithms",
    "icdm": "IEEE International Conference on Data Mining",
    "sdm": "Proceedings of the SIAM International Conference on Data Mining",
    "icra": "IEEE International Conference on Robotics and Automation",
    "iros": "IEEE/RSJ International Conference on Intelligent Robots and Systems",
    "bmvc": "Proceedings of the British Machine Vision Conference",
}
_JOURNALS = {
    "jmlr": "Journal of Machine Learning Research",
    "mloss": "Journal of Machine Learning Research",
    "tmlr": "Transactions on Machine Learning Research",
    "dmlr": "Journal of Data-centric Machine Learning Research",
    "tacl": "Transactions of the Association for Computational Linguistics",
}
_VENUES = {
    **{short: Venue(name) for short, name in _CONFERENCES.items()},
    **{short: Venue(name, journal=True) for short, name in _JOURNALS.items()},
}


def venue_named(short: str) -> Venue | None:
    """The venue with a short name ("neurips", "ICML"), if it is well known."""
    return _VENUES.get(normalise_title(short))


def known_venues() -> tuple[Venue, ...]:
    """Each well-known venue once."""
    return tuple({venue.name: venue for venue in _VENUES.values()}.values())


_MONTH = r"(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber"
_DATED = lazy_pattern(
    rf"\b(?:{_MONTH})\b.*\d|\[|^[^\s:]+(?: [A-Z]+)? ?['’]\d\d: "
    r"|, [^,]*?['’ ](?:(?:19|20)\d\d|\d\d)(?:,|$)",
    re.IGNORECASE,
)
"""Parts of DBLP's names of proceedings: the dates, and the acronym with the year."""
_ORDINAL = (
    r"\d+(?:st|nd|rd|th)|(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty-?)?(?:first|second|third"
    r"|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|\w+teenth|\w+tieth"
)
_NUMBERED = lazy_pattern(rf"\b(?:(?:19|20)\d\d|{_ORDINAL})\b|['’]\d\d\b|\s\d+$", re.IGNORECASE)
_NUMBERS = lazy_pattern(rf"\b(?:(?:19|20)\d\d|{_ORDINAL})\s+|\s+(?:19|20)\d\d$", re.IGNORECASE)
_SERIES = re.compile(
    r"(?<=\w)(?: (?:19|20)\d\d)? [-–] (?:\S+ (?:19|20)\d\d\b|\d+(?:st|nd|rd|th)\b).*"
)
"""The part of Springer's names of proceedings after the name of the conference."""
_VOLUME = re.compile(r"^(Advances in .+?)\s+(?:\d{1,3}|[IVXL]+)$")
_PREFIX = re.compile(r"^[^\s:]+(?: [A-Z]+)? ?['’]\d\d: ")
_TAIL = re.compile(
    r"\s*(?:\[.*|\((?=[^()]*\d)[^()]*\)\s*$|\.? (?:a meeting )?held (?:at|in|on) .*)"
)
_SEGMENT_END = lazy_pattern(rf"(?:^|['’ ])(?:(?:19|20)\d\d|\d\d)$|\b(?:{_MONTH})\b", re.IGNORECASE)
_ANOTHER = lazy_pattern(
    r"\b(?:workshops?|findings|companion|extended abstracts|adjunct|tutorials?|demos?|"
    r"demonstrations?|challenges?|student|industry|shared task)\b",
    re.IGNORECASE,
)
"""Words in the names of volumes other than the main one of their conference."""


@lru_cache(maxsize=1024)
def written_venue(name: str) -> str:
    """The venue of a record as authors write it, without the date and place of the meeting. A name
    written by its publisher stays, number included, unless the venue is well known."""
    ids = venue_ids(name)
    venue = _VENUES.get(next(iter(ids))) if len(ids) == 1 else None
    main = venue is not None and not venue.journal and not _ANOTHER.search(name)
    if venue is not None and main and _NUMBERED.search(name):
        return venue.name
    if not _DATED.search(name):
        return _VOLUME.sub(r"\1", name)
    bare = _SERIES.sub("", _TAIL.sub("", _PREFIX.sub("", name)))
    segments = re.split(r",\s*|:\s+(?=(?:\d|Annual|Proceedings of a ))", bare)
    end = next((at for at, one in enumerate(segments) if _SEGMENT_END.search(one)), len(segments))
    # Commas within a name come before its "and": "Acoustics, Speech and Signal Processing".
    listed = (at for at in range(end - 1, 0, -1) if re.search(r"\band\b", segments[at]))
    bare = ", ".join(segments[: max(1, next(listed, 0) + 1)])
    bare = _NUMBERS.sub("", bare).strip(" ,-").removeprefix("The ")
    return _VOLUME.sub(r"\1", bare) or name


Form = Literal["full", "iso", "acronym", "proc"]
_STEMS = """
    academ=acad acoust adaptive=adapt administrat=adm advance=adv aeronaut aesthet
    agricultur=agric agron algebr allerg america=a american=am analysis=anal analytical=anal
    anatom=anat annals=ann annual=annu anthropol antimicrob applications=appl applied=appl
    aquatic=aquat archaeol architect=archit archives=arch artificial=artif association=assoc
    astronom=astron astrophys atmospher=atmos australian=aust automat=autom behavio=behav
    biochem bioeng bioinform biolog=biol biomech biomed biophys biotechnol botan=bot british=br
    bulletin=bull business=bus canadian=can cardiol cardiovasc catal chemi=chem chromatogr
    climate=clim climatol clinic=clin cognit=cogn combinat=comb communicat=commun
    comparative=comp comput condensed=condens conference=conf conservat=conserv construct=constr
    contemporary=contemp control critic=crit crystallogr cultur=cult current=curr
    cybernet=cybern dermatol design=des development=dev diagnos=diagn digital=dig
    discover=discov disease=dis dynamic=dyn earthquake=earthq ecolog=ecol ecology=ecol
    economet=econom econometr=econom economi=econ education=educ electric=electr electrochem
    electron empiric=empir endocrinol engineer=eng england=engl environment=environ epidemiol
    ergonom=ergon europe=eur evolution=evol experiment=exp foundation=found functional=funct
    fundament=fundam gastroenterol general=gen genetic=genet genom geochem geograph=geogr
    geolog=geol geomorphol geophys geoscien=geosci gerontol global=glob graphic=graph gynecol
    hematol histor=hist hospital=hosp human=hum hydraul hydrol imag immunol industr=ind infect
    informatics=inform information=inf inorganic=inorg institut=inst instrument=instrum
    integra=integr intellig=intell interdisciplin=interdiscip international=int
    investigat=investig journal=j knowledge=knowl laborator=lab language=lang learning=learn
    letter=lett librar=libr linguist literature=lit machine=mach macromol magazine=mag
    magnet=magn management=manag manufactur=manuf marine=mar marketing=mark material=mater
    mathemat=math measure=meas mechan=mech medic=med memoir=mem metabol=metab metallurg=metall
    meteorol microbiol microelectron microscop=microsc military=mil mineral=miner modern=mod
    molecul=mol monthly=mon multimedia=multimed multivaria=multivar nanotechnol national=natl
    natural=nat nature=nat network=netw neurobiol neurol neuroscien=neurosci notices=not
    nuclear=nucl nutrition=nutr obstet occupational=occup oceanograph=oceanogr oncol
    operation=oper ophthalmol optic=opt optimiz=optim organic=org organiza=organ organomet
    orthop paediatr paleontol parasitol particle=part patholog=pathol pediatr perception=percept
    personalit=pers perspective=perspect pharmacol philosoph=philos photogramm photon
    physic=phys physiol planning=plan political=polit politics=polit polymer=polym
    population=popul practi=pract probabilit=probab proceedings=proc processing=process
    production=prod progress=prog psychiatr psychol psychometr publication=publ
    quantitative=quant quarterly=q radiat radiolog=radiol recognition=recognit record=rec
    region=reg rehabil reliabilit=reliab report=rep reproduct=reprod research=res
    resource=resour respirat=respir review=rev rheumatol robot royal=r scien=sci scientific=sci
    security=secur seismol sensing=sens series=ser simulat=simul social=soc societ=soc
    sociolog=sociol software=softw spectroscop=spectrosc states=s statistic=stat stochast=stoch
    structur=struct studies=stud supplement=suppl surger=surg survey=surv sustain symposi=symp
    system=syst technical=tech technol telecommun theoret=theor theori=theor therap=ther therm
    topology=topol toxicol transaction=trans transport=transp tropic=trop ultrason united=u
    universit=univ veterinar=vet virol vision=vis visual=vis wireless=wirel zoolog=zool
"""
_ISO_4 = {stem: short or stem for one in _STEMS.split() for stem, _, short in (one.partition("="),)}
"""Beginnings of words in venue names, with the ISO 4 abbreviations of these words (List of Title
Word Abbreviations)."""


def _iso_4(word: str) -> str:
    """The abbreviation of a word without its full stop; a word that is not abbreviated stays."""
    lower = word.lower()
    ends = range(len(lower), 2, -1)
    short = next((found for end in ends if (found := _ISO_4.get(lower[:end]))), lower)
    return short.capitalize() if len(lower) - len(short) > 1 else ""


_LINKING = frozenset("& a an and at for in its of on the to".split())
_PROC = re.compile(r"^(?:in )?proc\.? (?:of )?(?:the )?(?=\S+$)", re.IGNORECASE)
_YEAR = re.compile(r"\s*['’]?(?:(?:19|20)\d\d|\d\d)$")


@lru_cache(maxsize=64)
def usual_form(names: tuple[str, ...]) -> Form:
    """The form of most venues of a file; "full" if there are none."""
    forms = Counter(_form(_YEAR.sub("", name)) for name in names)
    form, count = forms.most_common(1)[0] if forms else ("full", 0)
    return form if 2 * count > forms.total() else "full"


def _form(name: str) -> Form:
    if _PROC.match(name) and normalise_title(_PROC.sub("", name)) in SHORT:
        return "proc"
    if normalise_title(name) in SHORT and sum(map(str.isupper, name)) > 1:
        return "acronym"
    cut = (word[:-1].lower() in _ISO_WORDS for word in name.split() if word.endswith("."))
    return "iso" if any(cut) else "full"


_ISO_WORDS = frozenset(_ISO_4.values()) | ABBREVIATIONS.keys()


def venue_in_file(name: str, held: Iterable[str], *, journal: bool) -> str:
    """The venue in the form that the file uses, judging by its venues `held` in the same field.
    This is the form that the file has for the same venue, or that of most others."""
    name = name if journal else written_venue(name)
    ids = venue_ids(name)
    names = tuple(held)
    if not _ANOTHER.search(name):
        same = Counter(
            one for one in names
            if (venue_ids(one) == ids if ids else journal and is_one_journal(one, name))
            and not _NUMBERED.search(one) and not _ANOTHER.search(one)
        )  # fmt: skip
        if same:
            return same.most_common(1)[0][0]
    form = usual_form(names)
    if form == "iso":
        return _abbreviated(name)
    if form == "full" or len(ids) != 1 or _ANOTHER.search(name):
        return name
    short = shown_venue(next(iter(ids)))
    return f"Proc. {short}" if form == "proc" else short


def _abbreviated(name: str) -> str:
    """The name abbreviated according to ISO 4; a single word stays."""
    words = [word.strip(",") for word in name.split() if word.lower() not in _LINKING]
    if len(words) < 2:
        return name
    return " ".join(f"{short}." if (short := _iso_4(word)) else word for word in words)
