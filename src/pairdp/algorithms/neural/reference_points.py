r"""A public point for each class, which the embeddings of its records are drawn to.

With points μ_c of equal norm, the loss of a record of class y at e is

.. math:: -\log \frac{\exp(-|e-μ_y|²)}{Σ_c \exp(-|e-μ_c|²)},
    \qquad \text{with the gradient} \quad 2 Σ_c (p_c - [c = y]) μ_c,

so that it is near the point of its class and far from the others. A term depends on one record and
on what was released before: which classes there are. It can be clipped alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Array = NDArray[np.float64]
Classes = NDArray[np.intp]
_ROUNDS, _STEP = 300, 0.1


def reference_points(classes: int, components: int) -> Array:
    """Return unit vectors that are far apart, one for each class, of shape (classes, k).

    k is at most ``components``, and classes - 1 if that suffices for the corners of a regular
    simplex. Otherwise the points repel each other on the sphere, from a public start.
    """
    if classes < 2:
        return np.zeros((classes, min(components, 1)))
    if classes - 1 <= components:
        ones = np.column_stack([np.ones(classes), np.eye(classes)[:, : classes - 1]])
        return np.asarray(np.linalg.qr(ones)[0][:, 1:] * math.sqrt(classes / (classes - 1)))
    if components == 1:
        return np.linspace(-1.0, 1.0, classes)[:, None]
    points = np.random.default_rng([classes, components]).normal(size=(classes, components))
    for place in range(_ROUNDS):
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        apart = points[:, None] - points
        weights = (np.sum(apart**2, axis=2) + np.eye(classes)) ** -1.5
        force = np.einsum("ij,ijk->ik", weights, apart)
        size = _STEP * (1 - place / _ROUNDS) / np.linalg.norm(force, axis=1).max()
        points = points + size * force
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def slopes(embeddings: Array, classes: Classes, points: Array) -> Array:
    """Return the gradient of the loss of each record in its embedding; 0 for class -1."""
    distances = np.sum(points**2, axis=1) - 2 * embeddings @ points.T
    shares = softmax(-distances, axis=1)
    known = classes >= 0
    own = np.where(known[:, None], points[np.maximum(classes, 0)], 0.0)
    return np.asarray(2 * np.where(known[:, None], shares @ points - own, 0.0))
