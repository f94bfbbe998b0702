"""What the labels of a few target rows say about the choice of a search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.risk import Labelled
from counterpoise.risk.label_test import LabelTest, label_test
from counterpoise.search.blend import Blend
from counterpoise.search.evaluate import Evaluation

__all__ = ["check_same_labels", "labelled_losses"]


def labelled_losses(found: Evaluation, best: int, blend: Blend | None, /) -> Labelled:
    """Return the losses (k,) of what is delivered on the labelled target rows.

    They are those of candidate `best`, or of the blend: the mean over fold models.
    """
    labels, labelled, predicted = found.labels, found.held_out.labelled, found.labelled_predictions
    assert labels is not None  # there are labels
    assert labelled is not None
    if blend is None:
        return replace(labelled, losses=labelled.losses[best])
    assert predicted is not None  # a blend keeps predictions
    mixed = np.tensordot(blend.weights, predicted[blend.places].astype(np.float64), axes=1)
    losses = np.mean([found.responses.losses(labels.y, own) for own in mixed], axis=0)
    return replace(labelled, losses=losses)


def check_same_labels(found: Evaluation, best: int, y: np.ndarray, /) -> LabelTest:
    """Test "labels given features are the same" with the loss and residuals of one candidate.

    Residuals are label less prediction, and for classes whether a row has the class less its
    predicted probability or vote. Decision values have none.
    """
    held_out, labels = found.held_out, found.labels
    assert labels is not None  # both checked by the caller
    assert held_out.labelled is not None
    rows = found.held_out_rows
    source, target = [held_out.losses[best]], [held_out.labelled.losses[best]]
    names = ["the loss"]
    predicted = found.labelled_predictions
    if held_out.predictions is not None and predicted is not None:
        own = _residuals(found, y[rows], held_out.predictions[best])
        there = _residuals(found, labels.y, predicted[best].mean(axis=0))
        for name in own:
            names.append(name)
            source.append(own[name])
            target.append(there[name])
    scores = replace(held_out.labelled, losses=np.stack(target))
    return label_test(held_out, scores, np.stack(source), names)


def _residuals(found: Evaluation, y: np.ndarray, stored: np.ndarray) -> dict[str, np.ndarray]:
    """Return the residuals (n,) of stored predictions by name."""
    classes = found.responses.classes
    if classes is None:
        return {"the labels": y - stored}
    if found.responses.loss.response == "decision_function":
        return {}
    # The residuals of two classes are each other's negatives.
    places = range(1 if len(classes) == 2 else 0, len(classes))
    return {
        f"how often {classes[c]} is the label": (y == classes[c]) - stored[:, c].astype(float)
        for c in places
    }
