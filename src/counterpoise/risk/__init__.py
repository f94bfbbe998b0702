"""What will it cost in the target: risk methods, control variates and intervals."""

from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.averages import (
    Controlled,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
)
from counterpoise.risk.baseline import Baseline
from counterpoise.risk.controls import Constant, Control, Function, Moments
from counterpoise.risk.estimate import Rehearsals, RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.groups import GroupRisk, GroupRisks, risk_by_group
from counterpoise.risk.held_out import Domains, HeldOut, Labelled
from counterpoise.risk.label_test import LabelTest, label_test
from counterpoise.risk.labelled import Combination, combine_with_labels
from counterpoise.risk.method import Adjustment, Average, Method
from counterpoise.risk.methods import METHODS, get_method, register_method
from counterpoise.risk.metric_estimates import (
    MetricEstimate,
    MetricReport,
    estimate_metrics,
    target_metrics,
)
from counterpoise.risk.sensitivity import Sensitivity, sensitivity
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk
from counterpoise.risk.transfer import rehearse_transfer

__all__ = [
    "METHODS",
    "Adjustment",
    "Average",
    "Baseline",
    "Combination",
    "Constant",
    "Control",
    "Controlled",
    "Domains",
    "DoublyRobust",
    "Function",
    "GroupRisk",
    "GroupRisks",
    "HeldOut",
    "LabelTest",
    "Labelled",
    "Method",
    "MetricEstimate",
    "MetricReport",
    "MomentControlled",
    "Moments",
    "Normalized",
    "ParetoSmoothed",
    "Rehearsals",
    "RiskComparison",
    "RiskEstimate",
    "Sensitivity",
    "Shrunk",
    "Source",
    "Truncated",
    "Weighted",
    "combine_with_labels",
    "compare_risks",
    "estimate_metrics",
    "estimate_risk",
    "get_method",
    "label_test",
    "register_method",
    "rehearse_transfer",
    "risk_by_group",
    "sensitivity",
    "target_metrics",
    "target_risk",
]
