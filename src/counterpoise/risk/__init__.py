"""What will it cost in the target: risk methods, control variates and intervals."""

from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.averages import (
    Adjustment,
    Average,
    Controlled,
    Method,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
)
from counterpoise.risk.baseline import Baseline
from counterpoise.risk.estimate import Combination, Link, RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.groups import GroupRisk, GroupRisks, risk_by_group
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.labels import LabelTest, label_test
from counterpoise.risk.loss_model import Modelled
from counterpoise.risk.methods import METHODS, get_method, register_method
from counterpoise.risk.metric_estimates import (
    MetricEstimate,
    MetricReport,
    estimate_metrics,
    target_metrics,
)
from counterpoise.risk.regression import Moments
from counterpoise.risk.sensitivity import Sensitivity, sensitivity
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk

__all__ = [
    "METHODS",
    "Adjustment",
    "Average",
    "Baseline",
    "Combination",
    "Controlled",
    "Domains",
    "DoublyRobust",
    "GroupRisk",
    "GroupRisks",
    "HeldOut",
    "LabelTest",
    "Link",
    "Method",
    "MetricEstimate",
    "MetricReport",
    "Modelled",
    "MomentControlled",
    "Moments",
    "Normalized",
    "ParetoSmoothed",
    "RiskComparison",
    "RiskEstimate",
    "Sensitivity",
    "Shrunk",
    "Source",
    "Truncated",
    "Weighted",
    "compare_risks",
    "estimate_metrics",
    "estimate_risk",
    "get_method",
    "label_test",
    "register_method",
    "risk_by_group",
    "sensitivity",
    "target_metrics",
    "target_risk",
]
