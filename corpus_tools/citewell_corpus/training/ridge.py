"""Logistic regression with a ridge: few weights from few papers, without trust in any of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ridge_logistic(
    inputs: NDArray[np.float64], right: NDArray[np.bool_], ridge: float
) -> NDArray[np.float64]:
    """Weights for the inputs, whose first column is one, by Newton's method. The ridge holds for
    standardised inputs and not for the first."""
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    mean[0], spread[0] = 0, 1
    spread[spread == 0] = 1
    scaled = (inputs - mean) / spread
    penalty = np.full(scaled.shape[1], ridge)
    penalty[0] = 1e-3
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (right - chance) - penalty * weights
        bend = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    found: NDArray[np.float64] = weights / spread
    found[0] -= float(mean[1:] @ found[1:])
    return found
