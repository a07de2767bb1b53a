"""Markdown as plain prose: emphasis, links and code marks off, their words kept."""

from __future__ import annotations

import re

from citewell.documents.latex.plaintext import latex_to_text, squeeze_paragraphs

_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->)){0,20000}(?:-->|$)")
_NOTE = re.compile(r"\[\^[^\]\n]{1,100}\](?::)?")
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,1000}\](?:\([^()\n]{0,1000}\))?(?:\{[^{}\n]{0,300}\})?")
_LINK = re.compile(r"\[([^\[\]\n]{0,1000})\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_SPAN = re.compile(r"\[([^\[\]\n]{0,1000})\]\{[^{}\n]{0,300}\}")
_ADDRESS = re.compile(r"<(?:https?|mailto):[^<>\s]{1,2000}>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=[\w.,;:!?)])_{1,3}(?!\w))")
_TICKS = re.compile(r"`+(?:\{=?[\w-]+\})?")
_CROSS = re.compile(r"\s?\\?@(?:ref\([^()\s]{0,200}\)|(?:fig|tbl|sec|eq|lst|thm|tab)[-:][\w:-]+)")
_LINE_START = re.compile(r"(?m)^[ \t]*(?:#{1,6}|>+|[-*+]|\d{1,3}[.)])[ \t]+")
_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_MATH = re.compile(r"\$[^$\n]{1,2000}\$|\\[A-Za-z]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def markdown_to_text(text: str) -> str:
    """The prose of a piece of Markdown; blank lines stay as "\\n\\n", and items stand apart."""
    text = _COMMENT.sub("", text)
    text = _IMAGE.sub("", text)
    text = _NOTE.sub("", text)
    text = _ADDRESS.sub("", text)
    text = _CROSS.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _SPAN.sub(r"\1", text)
    text = _ITEM.sub("\n\n", text)
    text = _LINE_START.sub("", text)
    text = _TAG.sub("", text)
    text = _TICKS.sub("", text)
    text = _EMPHASIS.sub("", text)
    if _MATH.search(text):
        return latex_to_text(text.replace("%", r"\%"))
    return squeeze_paragraphs(_ESCAPE.sub(r"\1", text))
