"""XML of strangers: parsed without entities, external references or surprises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.sources.contract import NonsenseError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(body: bytes) -> Element:
    """The root element. Raises `NonsenseError`, also for a document that declares entities."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(body)
    except (ParseError, DefusedXmlException, ValueError, RecursionError):
        raise NonsenseError("the body is not plain XML") from None
    return root


def text_of(element: Element, name: str) -> str:
    """The text of the first child of that name, inner elements included; "" without one."""
    found = element.find(name)
    return "" if found is None else "".join(found.itertext()).strip()
