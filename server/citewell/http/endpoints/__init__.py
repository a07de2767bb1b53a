"""Every endpoint, in the order of the OpenAPI document: a new one is a module and a line here."""

from citewell.http.contract import Endpoint
from citewell.http.endpoints import (
    checking,
    compatible,
    exploring,
    filling,
    finding,
    mapping,
    papers,
    picking,
    searching,
    status,
)

ENDPOINTS: tuple[Endpoint, ...] = (
    finding.FIND,
    finding.PLACES,
    searching.SEARCH,
    searching.SEARCH_BY_ADDRESS,
    exploring.EXPLORE,
    exploring.RELATED,
    mapping.MAP,
    papers.GET_PAPERS,
    papers.GET_PAPER,
    checking.CHECK,
    filling.FILL,
    picking.PICK,
    checking.VERIFY,
    status.STATUS,
    status.PIPELINE,
    status.HEALTH,
    compatible.FIND_CITATION,
    compatible.API_HEALTH,
    compatible.HEALTH_SUMMARY,
)
