"""Trees walked with numpy give what a plain walk gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from citewell.ranking.trees import from_lightgbm


def random_tree(random: np.random.Generator, depth: int) -> dict[str, Any]:
    if depth == 0 or random.random() < 0.2:
        return {"leaf_value": float(random.normal())}
    return {
        "split_feature": int(random.integers(0, 5)),
        "threshold": float(random.normal()),
        "decision_type": "<=",
        "left_child": random_tree(random, depth - 1),
        "right_child": random_tree(random, depth - 1),
    }


def walk(node: dict[str, Any], row: np.ndarray) -> float:
    while "leaf_value" not in node:
        side = "left" if float(row[node["split_feature"]]) <= node["threshold"] else "right"
        node = node[f"{side}_child"]
    return float(node["leaf_value"])


def test_padded_trees_answer_like_a_walk_of_each_tree() -> None:
    random = np.random.default_rng(3)
    roots = [random_tree(random, 5) for _ in range(70)]
    trees = from_lightgbm({"tree_info": [{"tree_structure": root} for root in roots]})
    rows = random.normal(size=(40, 5)).astype(np.float32)
    plain = [sum(walk(root, row) for root in roots) for row in rows]
    np.testing.assert_allclose(trees.predict(rows), plain, rtol=1e-4, atol=1e-4)


def test_a_value_equal_to_the_threshold_goes_left() -> None:
    node = {
        "split_feature": 0,
        "threshold": 0.1,
        "decision_type": "<=",
        "left_child": {"leaf_value": 1.0},
        "right_child": {"leaf_value": 2.0},
    }
    trees = from_lightgbm({"tree_info": [{"tree_structure": node}]})
    below, above = np.nextafter(np.float32(0.1), np.float32([0, 1]))
    # float32(0.1) is a little more than 0.1, so it belongs to the right.
    assert trees.predict(np.array([[below], [0.1], [above]], np.float32)).tolist() == [1, 2, 2]


def test_a_split_that_is_no_threshold_is_refused() -> None:
    leaf = {"leaf_value": 0.0}
    node = {"split_feature": 0, "threshold": "1||2", "decision_type": "==",
            "left_child": leaf, "right_child": leaf}  # fmt: skip
    with pytest.raises(ValueError, match="=="):
        from_lightgbm({"tree_info": [{"tree_structure": node}]})
