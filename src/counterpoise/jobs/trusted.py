"""Model files of skops, loaded only if they hold nothing but types of a fixed list.

A model file names the types that are made when it is loaded. The list here is the package's own:
neither the file nor what lies beside it can add to it. Every node of the file is compared with the
list before skops sees the file.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from counterpoise._validation import InputError

__all__ = ["TRUSTED_TYPES", "load_trusted"]

_LOSSES = [
    "AbsoluteError",
    "ExponentialLoss",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "HalfTweedieLoss",
    "HalfTweedieLossIdentity",
    "HuberLoss",
    "PinballLoss",
]
_BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
_OBJECTS = [
    "counterpoise.encoding.encoder.TableEncoder",
    "counterpoise.encoding.encoder._Categories",
    "counterpoise.encoding.encoder._Numbers",
    "counterpoise.search.offset.OffsetClassifier",
    "counterpoise.search.offset.OffsetRegressor",
    *(f"sklearn._loss.loss.{name}" for name in _LOSSES),
    *(
        f"sklearn._loss.link.{name}"
        for name in ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink")
    ),
    "sklearn._loss.link.MultinomialLogit",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.RandomForestRegressor",
    "sklearn.ensemble._voting.VotingClassifier",
    "sklearn.ensemble._voting.VotingRegressor",
    f"{_BOOSTING}.binning._BinMapper",
    f"{_BOOSTING}.gradient_boosting.HistGradientBoostingClassifier",
    f"{_BOOSTING}.gradient_boosting.HistGradientBoostingRegressor",
    f"{_BOOSTING}.predictor.TreePredictor",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._ridge.Ridge",
    "sklearn.linear_model._ridge.RidgeClassifier",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.SVC",
    "sklearn.svm._classes.SVR",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
]
_NUMBERS = [
    "ndarray",
    "bool",
    "bool_",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "str_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
_TYPES = ("str", "int", "float", "bool", "NoneType")

# What skops calls a node -> the types that such a node may be.
_ALLOWED: dict[str, frozenset[str]] = {
    "DictNode": frozenset(["builtins.dict", "sklearn.utils._bunch.Bunch"]),
    "ListNode": frozenset(["builtins.list"]),
    "TupleNode": frozenset(["builtins.tuple"]),
    "JsonNode": frozenset(f"builtins.{name}" for name in _TYPES),
    "TypeNode": frozenset(f"builtins.{name}" for name in _TYPES),
    "NdArrayNode": frozenset(f"numpy.{name}" for name in _NUMBERS),
    "RandomGeneratorNode": frozenset(["numpy.random._generator.Generator"]),
    "LossNode": frozenset(f"sklearn._loss._loss.Cy{name}" for name in _LOSSES),
    "TreeNode": frozenset(["sklearn.tree._tree.Tree"]),
    "ObjectNode": frozenset(_OBJECTS),
}
#: Every type that a model file may hold.
TRUSTED_TYPES = frozenset().union(*_ALLOWED.values())


def load_trusted(content: bytes, name: str, /) -> Any:
    """Return the object in the bytes of a skops file.

    Raises
    ------
    InputError
        If the file holds another type, which is named, or is no skops file.
    """
    from skops.io import loads

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            schema = json.loads(archive.read("schema.json"))
        strange = sorted(set(_strange(schema)))
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError, NotImplementedError) as error:
        raise InputError(
            f"{name} is not a model file of skops ({error}). Make it again with counterpoise "
            "select."
        ) from error
    if strange:
        listed = ", ".join(strange[:5]) + (" ..." if len(strange) > 5 else "")
        raise InputError(
            f"{name} must hold only types that counterpoise writes; it holds {listed}. It was not "
            "loaded. Do not use the file, unless you know who made it and why."
        )
    return loads(content, trusted=sorted(TRUSTED_TYPES))


def _strange(node: Any) -> Iterator[str]:
    """Yield what is not on the list; also what cannot be compared with it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        if not isinstance(node, dict):
            continue
        waiting += node.values()
        # A column may be called "__loader__": then a node stands there, not a name.
        if isinstance(node.get("__loader__"), str):
            kind, own = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
            if own not in _ALLOWED.get(kind, ()):
                yield own if kind in _ALLOWED else f"{own} ({kind})"
