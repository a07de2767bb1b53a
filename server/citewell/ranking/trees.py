"""An ensemble of regression trees evaluated with numpy alone.

Every tree is padded to a complete binary tree, so that all candidates walk all trees level by
level in a few array operations: no compiled library is needed at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_STRIPE = 128
"""Trees walked together: more take fewer operations, until their arrays exceed the cache."""


class Trees(msgspec.Struct, frozen=True, dict=True):
    """T complete trees of one depth: left where a feature is at most the threshold."""

    feature: NDArray[np.int16]
    """Shape (T, 2 ** depth - 1), in level order."""
    threshold: NDArray[np.float32]
    """Shape (T, 2 ** depth - 1)."""
    leaf: NDArray[np.float32]
    """Shape (T, 2 ** depth)."""

    @property
    def depth(self) -> int:
        """Number of levels above the leaves."""
        return int(self.leaf.shape[1]).bit_length() - 1

    @cached_property
    def _levels(self) -> list[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Features and thresholds of each level's nodes, tree by tree."""
        first = [2**level - 1 for level in range(self.depth + 1)]
        return [
            (
                self.feature[:, begin:end].astype(np.intp).ravel(),
                self.threshold[:, begin:end].ravel(),
            )
            for begin, end in pairwise(first)
        ]

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sum of the leaves that each row of features reaches, shape (n,)."""
        count, width = rows.shape
        flat = np.ascontiguousarray(rows).ravel()
        # Indices have the machine's own size, and all are within bounds: `take` would convert
        # others, and copy those that it checks.
        offset = (np.arange(count, dtype=np.intp) * width)[:, None]
        total = np.zeros(count, np.float32)
        for first in range(0, len(self.leaf), _STRIPE):
            trees = np.arange(first, min(first + _STRIPE, len(self.leaf)), dtype=np.intp)
            shape = (count, len(trees))
            node, at = np.empty(shape, np.intp), np.empty(shape, np.intp)
            value, least = np.empty(shape, np.float32), np.empty(shape, np.float32)
            right = np.empty(shape, np.bool_)
            node[:] = trees
            for level, (feature, threshold) in enumerate(self._levels):
                if level:
                    feature.take(node, out=at, mode="clip")
                    at += offset
                    threshold.take(node, out=least, mode="clip")
                else:
                    np.add(feature[trees], offset, out=at)
                    least[:] = threshold[trees]
                flat.take(at, out=value, mode="clip")
                np.greater(value, least, out=right)
                # Of the nodes of all trees in a level, the children of the node n are 2n and 2n + 1
                # in the next level.
                node *= 2
                node += right
            self.leaf.ravel().take(node, out=value, mode="clip")
            total += value.sum(axis=1, dtype=np.float32)
        return total


def from_lightgbm(dump: Mapping[str, Any]) -> Trees:
    """The trees of `Booster.dump_model()`. Raises ValueError for splits other than thresholds."""
    trees = [info["tree_structure"] for info in dump["tree_info"]]
    depth = max((_depth(tree) for tree in trees), default=0)
    inner, leaves = 2**depth - 1, 2**depth
    feature = np.zeros((len(trees), inner), np.int16)
    threshold = np.full((len(trees), inner), np.inf, np.float32)
    leaf = np.zeros((len(trees), leaves), np.float32)

    def fill(number: int, node: Mapping[str, Any], place: int, level: int) -> None:
        if "leaf_value" in node:
            # A leaf above the full depth is placed at the bottom left of its own padded subtree.
            for _ in range(depth - level):
                place = 2 * place + 1
            leaf[number, place - inner] = node["leaf_value"]
            return
        if node["decision_type"] != "<=":
            raise ValueError(f"a split by {node['decision_type']!r}")
        feature[number, place] = node["split_feature"]
        # Rounded down, so that a float32 feature falls on the side it fell in double precision.
        value = np.float32(node["threshold"])
        if float(value) > node["threshold"]:
            value = np.nextafter(value, np.float32(-np.inf))
        threshold[number, place] = value
        fill(number, node["left_child"], 2 * place + 1, level + 1)
        fill(number, node["right_child"], 2 * place + 2, level + 1)

    for number, tree in enumerate(trees):
        fill(number, tree, 0, 0)
    return Trees(feature, threshold, leaf)


def _depth(node: Mapping[str, Any]) -> int:
    if "leaf_value" in node:
        return 0
    return 1 + max(_depth(node["left_child"]), _depth(node["right_child"]))
