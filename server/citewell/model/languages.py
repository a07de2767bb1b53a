"""ISO 639-1 codes of works' languages, and English function words."""

from __future__ import annotations

import re
from functools import lru_cache

_ISO = """
    aa aar afar; ab abk abkhazian; ae ave avestan; af afr afrikaans; ak aka akan; am amh
    amharic; an arg aragonese; ar ara arabic; as asm assamese; av ava avaric; ay aym aymara; az
    aze azerbaijani; ba bak bashkir; be bel belarusian; bg bul bulgarian; bi bis bislama; bm bam
    bambara; bn ben bengali; bo bod tib tibetan; br bre breton; bs bos bosnian; ca cat catalan;
    ce che chechen; ch cha chamorro; co cos corsican; cr cre cree; cs ces cze czech; cu chu
    church-slavic; cv chv chuvash; cy cym wel welsh; da dan danish; de deu ger german; dv div
    divehi; dz dzo dzongkha; ee ewe ewe; el ell gre greek; en eng english; eo epo esperanto; es
    spa spanish; et est estonian; eu eus baq basque; fa fas per persian; ff ful fulah; fi fin
    finnish; fj fij fijian; fo fao faroese; fr fra fre french; fy fry western-frisian; ga gle
    irish; gd gla scottish-gaelic; gl glg galician; gn grn guarani; gu guj gujarati; gv glv
    manx; ha hau hausa; he heb hebrew; hi hin hindi; ho hmo hiri-motu; hr hrv croatian; ht hat
    haitian-creole; hu hun hungarian; hy hye arm armenian; hz her herero; ia ina interlingua; id
    ind indonesian; ie ile interlingue; ig ibo igbo; ii iii sichuan-yi; ik ipk inupiaq; io ido
    ido; is isl ice icelandic; it ita italian; iu iku inuktitut; ja jpn japanese; jv jav
    javanese; ka kat geo georgian; kg kon kongo; ki kik kikuyu; kj kua kuanyama; kk kaz kazakh;
    kl kal kalaallisut; km khm khmer; kn kan kannada; ko kor korean; kr kau kanuri; ks kas
    kashmiri; ku kur kurdish; kv kom komi; kw cor cornish; ky kir kyrgyz; la lat latin; lb ltz
    luxembourgish; lg lug ganda; li lim limburgish; ln lin lingala; lo lao lao; lt lit
    lithuanian; lu lub luba-katanga; lv lav latvian; mg mlg malagasy; mh mah marshallese; mi mri
    mao maori; mk mkd mac macedonian; ml mal malayalam; mn mon mongolian; mr mar marathi; ms msa
    may malay; mt mlt maltese; my mya bur burmese; na nau nauru; nb nob norwegian-bokmål; nd nde
    north-ndebele; ne nep nepali; ng ndo ndonga; nl nld dut dutch; nn nno norwegian-nynorsk; no
    nor norwegian; nr nbl south-ndebele; nv nav navajo; ny nya chichewa; oc oci occitan; oj oji
    ojibwa; om orm oromo; or ori oriya; os oss ossetian; pa pan punjabi; pi pli pali; pl pol
    polish; ps pus pashto; pt por portuguese; qu que quechua; rm roh romansh; rn run rundi; ro
    ron rum romanian; ru rus russian; rw kin kinyarwanda; sa san sanskrit; sc srd sardinian; sd
    snd sindhi; se sme northern-sami; sg sag sango; sh hbs serbo-croatian; si sin sinhala; sk
    slk slo slovak; sl slv slovenian; sm smo samoan; sn sna shona; so som somali; sq sqi alb
    albanian; sr srp serbian; ss ssw swati; st sot sotho; su sun sundanese; sv swe swedish; sw
    swa swahili; ta tam tamil; te tel telugu; tg tgk tajik; th tha thai; ti tir tigrinya; tk tuk
    turkmen; tl tgl tagalog; tn tsn tswana; to ton tonga; tr tur turkish; ts tso tsonga; tt tat
    tatar; tw twi twi; ty tah tahitian; ug uig uighur; uk ukr ukrainian; ur urd urdu; uz uzb
    uzbek; ve ven venda; vi vie vietnamese; vo vol volapük; wa wln walloon; wo wol wolof; xh xho
    xhosa; yi yid yiddish; yo yor yoruba; za zha zhuang; zh zho chi chinese; zu zul zulu
"""
"""Two-letter code, three-letter codes (ISO 639-2, both kinds) and name of each language."""

_NAMES = """
    english: american australian british canadian newzealand ukenglish usenglish anglais englisch
    german: austrian naustrian ngerman nswissgerman swissgerman deutsch allemand alemán tedesco
    french: acadian canadien francais français französisch francés francese
    spanish: castilian spanishmx español espanol espagnol spanisch spagnolo
    portuguese: brazil brazilian portuges português portugues portugais portugiesisch
    italian: italiano italien italienisch
    dutch: nederlands flemish
    chinese: 中文 汉语 漢語 mandarin
    japanese: 日本語
    korean: 한국어
    russian: русский
    ukrainian: українська
    polish: polski
    czech: čeština
    greek: polutonikogreek ελληνικά
    norwegian: norsk
    norwegian-nynorsk: nynorsk
    norwegian-bokmål: bokmal bokmål
    swedish: svenska
    danish: dansk
    finnish: suomi
    hungarian: magyar
    romanian: română moldavian
    turkish: türkçe
    persian: farsi
    hebrew: עברית
    arabic: العربية
    slovenian: slovene
    uighur: uyghur
    catalan: català valencian
    galician: galego
    basque: euskara
    croatian: hrvatski
    serbian: српски serbianc
    bulgarian: български
    irish: irish-gaelic gaeilge
    sinhala: sinhalese
    divehi: dhivehi
    oriya: odia
"""
"""Other names, from biblatex and babel, and in the language itself."""

_BETWEEN = re.compile(r"[;,|/]|\s+and\s+|\s*&\s*")
_NOTE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def _codes() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _ISO.split(";"):
        code, *names = line.split()
        found |= dict.fromkeys((code, *names), code)
    for line in _NAMES.strip().splitlines():
        name, _, others = line.strip().partition(": ")
        found |= dict.fromkeys(others.split(), found[name])
    return found


_CODES = _codes()


@lru_cache(maxsize=1_000)
def language_code(text: str) -> str:
    """The ISO 639-1 code of a record's language, the first if there are several: "en" for "en-US",
    "eng", "English", "english (british)" and "English; Chinese".

    Empty for a language without a two-letter code, and for codes that name none ("und", "mul").
    """
    for part in _BETWEEN.split(_NOTE.sub(" ", text[:200]).casefold()):
        words = part.replace("_", "-").split()
        name = "-".join(words)
        code = _CODES.get(name) or (_CODES.get(name.partition("-")[0]) if len(words) == 1 else None)
        if code:
            return code
    return ""


STOPWORDS: frozenset[bytes] = frozenset(
    b"""
    a about above after again against all also although am among an and any are as at be because
    been before being below between both but by can cannot could did do does doing done down during
    each either et etc few for from further had has have having he her here hers him his how however
    i if in into is it its itself just may me might more most must my neither no nor not of off on
    once one only onto or other others our ours out over own per shall she should since so some such
    than that the their theirs them then there thereby therefore these they this those through thus
    to too under until up upon us very via was we were what when where whereas whether which while
    who whom whose why will with within without would yet you your al eg ie
    """.split()
)
"""English function words and words common to all abstracts: they carry no topic."""
