"""Full names of venues whose records give only a short name."""

from __future__ import annotations

import msgspec

from citewell.model.titles import normalise_title


class Venue(msgspec.Struct, frozen=True):
    name: str
    """As written in the booktitle or journal field of an entry."""
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
    """The venue of a short name ("neurips", "ICML"), if it is one of the best known."""
    return _VENUES.get(normalise_title(short))


def known_venues() -> tuple[Venue, ...]:
    """Each of the best known venues once."""
    return tuple({venue.name: venue for venue in _VENUES.values()}.values())
