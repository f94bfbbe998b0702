"""Whole jobs: audit a shift, select a model, reproduce the paper, write what was found."""

from counterpoise.jobs.audit import audit
from counterpoise.jobs.directory import output_directory, write_or_keep
from counterpoise.jobs.examples import EXAMPLES, load_data, load_example
from counterpoise.jobs.loading import Data, load
from counterpoise.jobs.models import MODELS
from counterpoise.jobs.outputs import summary, write_audit, write_selection
from counterpoise.jobs.records import (
    Audit,
    Blended,
    Candidates,
    ColumnBalance,
    Curve,
    JudgedByLabels,
    Predictions,
    Provenance,
    Risks,
    Selection,
    ShiftMap,
    SuggestedRows,
    TableShape,
)
from counterpoise.jobs.reproduce import Reproduction, reproduce, write_reproduction
from counterpoise.jobs.request import Request
from counterpoise.jobs.saved import SavedModel
from counterpoise.jobs.select import Selected, select

__all__ = [
    "EXAMPLES",
    "MODELS",
    "Audit",
    "Blended",
    "Candidates",
    "ColumnBalance",
    "Curve",
    "Data",
    "JudgedByLabels",
    "Predictions",
    "Provenance",
    "Reproduction",
    "Request",
    "Risks",
    "SavedModel",
    "Selected",
    "Selection",
    "ShiftMap",
    "SuggestedRows",
    "TableShape",
    "audit",
    "load",
    "load_data",
    "load_example",
    "output_directory",
    "reproduce",
    "select",
    "summary",
    "write_audit",
    "write_or_keep",
    "write_reproduction",
    "write_selection",
]
