"""Whole jobs: audit a shift, select a model, reproduce the paper, load what was saved."""

from counterpoise.jobs.answer import Answer
from counterpoise.jobs.auditing import audit
from counterpoise.jobs.evaluating import evaluate
from counterpoise.jobs.models import MODELS
from counterpoise.jobs.reproduce import Reproduction, reproduce, write_reproduction
from counterpoise.jobs.request import Request
from counterpoise.jobs.saved import SavedModel, load
from counterpoise.jobs.selecting import select
from counterpoise.jobs.watching import Watch, watch

__all__ = [
    "MODELS",
    "Answer",
    "Reproduction",
    "Request",
    "SavedModel",
    "Watch",
    "audit",
    "evaluate",
    "load",
    "reproduce",
    "select",
    "watch",
    "write_reproduction",
]
