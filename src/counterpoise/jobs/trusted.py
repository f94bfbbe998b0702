"""Model files of skops, loaded only if they hold nothing but types of a fixed list.

A model file names the types that are made when it is loaded. The list here is the package's own:
neither the file nor what lies beside it can add to it. Every node of the file is compared with the
list before skops sees the file.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from counterpoise._validation import InputError

_LOSSES = [
    *("AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss", "HalfPoissonLoss"),
    *("HalfMultinomialLoss", "HalfSquaredError", "HalfTweedieLoss", "HalfTweedieLossIdentity"),
    *("HuberLoss", "PinballLoss"),
]
# Module -> classes. The last three packages are those that `model` may name: their own code reads
# the bytes or the text of a booster.
_OBJECTS = {
    "counterpoise._neighbors": ["Neighbors"],
    "counterpoise.encoding.encoder": ["TableEncoder", "_Categories", "_Numbers"],
    "counterpoise.jobs.models": ["LabelEncodedClassifier"],
    "counterpoise.search.offset": ["OffsetClassifier", "OffsetRegressor"],
    "counterpoise.weights.classifier": ["ClassifierRatio"],
    "counterpoise.weights.design": ["DesignRatio"],
    "counterpoise.weights.gaussian": ["GaussianRatio"],
    "counterpoise.weights.kernel_density": ["KernelDensityRatio"],
    "counterpoise.weights.kliep": ["KLIEP"],
    "counterpoise.weights.kmm": ["KMM"],
    "counterpoise.weights.nearest": ["NearestNeighborRatio"],
    "counterpoise.weights.ulsif": ["ULSIF"],
    "sklearn._loss.loss": _LOSSES,
    "sklearn._loss.link": [
        *("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")
    ],
    "sklearn.ensemble._forest": ["RandomForestClassifier", "RandomForestRegressor"],
    "sklearn.ensemble._voting": ["VotingClassifier", "VotingRegressor"],
    "sklearn.ensemble._hist_gradient_boosting.binning": ["_BinMapper"],
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": [
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
    ],
    "sklearn.ensemble._hist_gradient_boosting.predictor": ["TreePredictor"],
    "sklearn.linear_model._logistic": ["LogisticRegression"],
    "sklearn.linear_model._ridge": ["Ridge", "RidgeClassifier"],
    "sklearn.pipeline": ["Pipeline"],
    "sklearn.preprocessing._data": ["StandardScaler"],
    "sklearn.preprocessing._label": ["LabelBinarizer", "LabelEncoder"],
    "sklearn.svm._classes": ["SVC", "SVR"],
    "sklearn.tree._classes": ["DecisionTreeClassifier", "DecisionTreeRegressor"],
    "catboost.core": ["CatBoostClassifier", "CatBoostRegressor"],
    "lightgbm.basic": ["Booster"],
    "lightgbm.sklearn": ["LGBMClassifier", "LGBMRegressor"],
    "xgboost.core": ["Booster"],
    "xgboost.sklearn": ["XGBClassifier", "XGBRegressor"],
}
_NUMBERS = [
    *("ndarray", "bool", "bool_", "str_", "float32", "float64", "intp"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
_TYPES = ("str", "int", "float", "bool", "NoneType")

# What skops calls a node -> the types that such a node may be.
_ALLOWED: dict[str, frozenset[str]] = {
    "DictNode": frozenset(
        ["builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"]
    ),
    "DefaultDictNode": frozenset(["collections.defaultdict"]),
    "BytesNode": frozenset(["builtins.bytes"]),
    "BytearrayNode": frozenset(["builtins.bytearray"]),
    "ListNode": frozenset(["builtins.list"]),
    "TupleNode": frozenset(["builtins.tuple"]),
    "JsonNode": frozenset(f"builtins.{name}" for name in _TYPES),
    "TypeNode": frozenset(
        [*(f"builtins.{name}" for name in _TYPES), "collections.OrderedDict", "numpy.int64"]
    ),
    "NdArrayNode": frozenset(f"numpy.{name}" for name in _NUMBERS),
    "RandomGeneratorNode": frozenset(["numpy.random._generator.Generator"]),
    "LossNode": frozenset(f"sklearn._loss._loss.Cy{name}" for name in _LOSSES),
    "TreeNode": frozenset(["sklearn.tree._tree.Tree"]),
    "ObjectNode": frozenset(
        f"{module}.{name}" for module, names in _OBJECTS.items() for name in names
    ),
}
#: Every type that a model file may hold.
TRUSTED_TYPES = frozenset().union(*_ALLOWED.values())


def load_trusted(content: bytes, name: str, /) -> Any:
    """Return the object in the bytes of a skops file, if it holds no other type."""
    from skops.io import loads

    try:
        strange = foreign_types(content)
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError, NotImplementedError) as error:
        raise InputError(
            f"{name} is not a model file of skops ({error}). Make it again with counterpoise "
            "select."
        ) from error
    if strange:
        listed = ", ".join(strange[:5]) + (" ..." if len(strange) > 5 else "")
        raise InputError(
            f"{name} must hold only types that counterpoise writes; it holds {listed}. It was not "
            "loaded. If an older version has saved it, run counterpoise select again; else do not "
            "use it, unless you know who made it and why."
        )
    try:
        return loads(content, trusted=sorted(TRUSTED_TYPES))
    except ImportError as error:
        raise InputError(
            f"{name} holds a model of {error.name}, which is not installed. Install it with pip "
            f"install {error.name}."
        ) from error


def foreign_types(content: bytes, /) -> list[str]:
    """Return the types in the bytes of a skops file that are not on the list.

    Also what cannot be compared with it.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    strange, waiting = set(), [schema]
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
                strange.add(own if kind in _ALLOWED else f"{own} ({kind})")
    return sorted(strange)
