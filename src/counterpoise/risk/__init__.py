"""What will it cost in the target: risk methods, control variates and intervals."""

from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.auto import Auto
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
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.groups import GroupRisk, GroupRisks, risk_by_group
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.method import Adjustment, Average, Choice, Method
from counterpoise.risk.methods import METHODS, get_method
from counterpoise.risk.metric_estimates import (
    MetricEstimate,
    MetricReport,
    estimate_metrics,
    target_metrics,
)
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk

__all__ = [
    "METHODS",
    "Adjustment",
    "Auto",
    "Average",
    "Baseline",
    "Choice",
    "Constant",
    "Control",
    "Controlled",
    "Domains",
    "DoublyRobust",
    "Function",
    "GroupRisk",
    "GroupRisks",
    "HeldOut",
    "Method",
    "MetricEstimate",
    "MetricReport",
    "MomentControlled",
    "Moments",
    "Normalized",
    "ParetoSmoothed",
    "RiskComparison",
    "RiskEstimate",
    "Shrunk",
    "Source",
    "Truncated",
    "Weighted",
    "compare_risks",
    "estimate_metrics",
    "estimate_risk",
    "get_method",
    "risk_by_group",
    "target_metrics",
    "target_risk",
]
