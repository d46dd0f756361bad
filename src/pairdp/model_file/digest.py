"""A digest of what a private model has released, which says which model an evaluation is of."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from pairdp.model_file.registry import stored_class


def released_digest(model: Any) -> str | None:
    """Return the SHA-256 of the released arrays of a fitted private model, with its classes.

    It is a function of what a model file stores, and the same before and after saving. None if
    model files cannot store the model, which may hold records, and for a model that was fitted
    without noise: guesses of a record could be tested by its digest.
    """
    stored = stored_class(type(model))
    if stored is None or not stored.has_certificate or model.certificate_.budget is None:
        return None
    arrays = {
        name: np.array(getattr(model, name), dtype="<f8", order="C")
        for name in sorted(stored.arrays_of(model))
    }
    classes = np.asarray(getattr(model, "classes_", [])).tolist()
    head = {
        "class": stored.name,
        "classes": [str(label) for label in classes],
        "shapes": [[name, list(array.shape)] for name, array in arrays.items()],
    }
    found = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    for array in arrays.values():
        found.update(array.tobytes())
    return found.hexdigest()
