"""English function words and the words of every abstract: they carry no topic."""

from __future__ import annotations

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
