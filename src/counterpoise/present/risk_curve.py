"""Risk over one hyper-parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpoise._format import candidate_names, format_parameter
from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.fitted_risks import Band, as_band, as_bands, risks_by_method
from counterpoise.present.palette import Palette, method_look

__all__ = ["RiskCurveDisplay"]

# Up to this many values each gets a marker.
_FEW = 15


class RiskCurveDisplay(Display):
    """Risk over one hyper-parameter, by several methods, with their intervals.

    A large marker is at the least risk of each curve, a vertical line at the choice. The axis is
    logarithmic where the values span more than a decade.

    Parameters
    ----------
    values : sequence of length n_values
        Values of the parameter. Values that are not numbers are spaced evenly, in this order.
    risks : mapping of str to RiskEstimate, (value, low, high) or array
        By method, each with one entry per value.
    parameter, risk_name, note : str
        Names of the axes, and a remark above the picture.
    chosen : int, optional
        Index of the choice.
    truth : array of shape (n_values,), optional
        The true risks, where they are known.
    level : float, default=0.95
        Level of the intervals.

    Attributes
    ----------
    bands_ : dict of str to Band
        `value`, `low` and `high` by method.
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
        By method, and "truth".

    Examples
    --------
    >>> import counterpoise as cp
    >>> from counterpoise.present import RiskCurveDisplay
    >>> problem = cp.datasets.gaussian_2d(gamma=0.7)
    >>> X, y, X_target, _ = problem.sample(200, 1000, random_state=0)
    >>> model = cp.ShiftRidgeClassifierCV().fit(X, y, X_target=X_target)
    >>> display = RiskCurveDisplay.from_estimator(model, X, y)
    >>> sorted(display.bands_)
    ['controlled', 'source', 'weighted']
    """

    lines_: dict[str, Any]

    def __init__(
        self,
        values: Any,
        risks: Mapping[str, Any],
        *,
        parameter: str = "value",
        chosen: int | None = None,
        truth: Any = None,
        risk_name: str = "target risk",
        level: float = 0.95,
        note: str = "",
    ) -> None:
        self.values = list(values)
        self.bands_ = as_bands(risks, len(self.values), level=level)
        self.parameter = parameter
        self.chosen = chosen
        self.truth = None if truth is None else np.asarray(truth, dtype=np.float64)
        if self.truth is not None and self.truth.shape != (len(self.values),):
            raise ValueError(
                f"`truth` must hold one risk per value ({len(self.values)}); got shape "
                f"{self.truth.shape}. Pass None where it is not known."
            )
        self.risk_name = risk_name
        self.level = level
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        param: str | None = None,
        methods: Sequence[str] | None = None,
        truth: Any = None,
        level: float = 0.95,
        ax: Any = None,
        theme: str | None = None,
    ) -> RiskCurveDisplay:
        """Draw the curve of a fitted search.

        Parameters
        ----------
        estimator : fitted ShiftRidgeCV, ShiftRidgeClassifierCV or a Shift search
        X, y : arrays, optional
            The rows that it was fitted on. A ridge estimator keeps no losses and needs them for the
            curves of other methods than its own.
        param : str, optional
            For searches: the parameter. Default: the number with most values. The model family, the
            other parameters and whether weights are used in training are those of the choice.
        methods : sequence of str, optional
            Default: "source", "weighted" and "controlled", as far as they are known.
        truth : array of shape (n_candidates,), optional
        level, ax, theme
            As above, and as for :meth:`plot`.
        """
        risks = risks_by_method(estimator, methods, X, y)
        best = int(estimator.best_index_)
        ridge = hasattr(estimator, "alphas_")
        params = (
            [{"alpha": a} for a in estimator.alphas_] if ridge else estimator.cv_results_["params"]
        )
        alike = np.ones(len(params), dtype=bool)
        for key in () if ridge else ("model", "fit_weighted"):
            if key in estimator.cv_results_:
                alike &= estimator.cv_results_[key] == estimator.cv_results_[key][best]
        name, index = _one_parameter(params, best, param, alike)
        fixed = {key: value for key, value in params[best].items() if key != name}
        display = cls(
            [params[i][name] for i in index],
            {key: as_band(risk, level=level).take(index) for key, risk in risks.items()},
            parameter=name,
            chosen=int(np.flatnonzero(index == best)[0]),
            truth=None if truth is None else np.asarray(truth)[index],
            level=level,
            note=f"with {candidate_names([fixed])[0]}" if fixed else "",
        )
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        numbers = _as_numbers(self.values)
        x = np.arange(len(self.values)) if numbers is None else numbers
        order = np.argsort(x, kind="stable")
        self._set_axis(ax, x, numbers is not None)
        self.lines_ = {}
        if self.truth is not None:
            look = {"color": palette.truth, "linewidth": 2.6, "label": "truth", "zorder": 2.5}
            line = ":d" if len(x) <= _FEW else ":"
            (self.lines_["truth"],) = ax.plot(x[order], self.truth[order], line, **look)
        for name, band in self.bands_.items():
            self._draw_band(ax, name, x[order], band.take(order), palette)
        if self.chosen is not None:
            value = axes.plain_text(format_parameter(self.values[self.chosen]), width=24)
            look = {"color": palette.soft, "linewidth": 1, "linestyle": (0, (2, 2)), "zorder": 1}
            ax.axvline(x[self.chosen], label=f"chosen: {value}", **look)
        axes.legend_above(ax, palette, note=axes.plain_text(self.note, width=80), columns=3)

    def _set_axis(self, ax: Any, x: np.ndarray, numeric: bool) -> None:
        bands = self.bands_.values()
        values = [band.value for band in bands]
        values += [] if self.truth is None else [self.truth]
        limits = axes.clip_limits(
            np.concatenate(values),
            np.concatenate([band.low for band in bands]),
            np.concatenate([band.high for band in bands]),
        )
        if limits is not None:
            ax.set_ylim(*limits)
        axes.plain_ticks(ax, "y")
        if not numeric:
            labels = [axes.plain_text(value, width=16) for value in self.values]
            ax.set_xticks(x, labels, parse_math=False)
        elif np.min(x) > 0 and np.max(x) > 10 * np.min(x):
            axes.log_axis(ax, "x")
        else:
            axes.plain_ticks(ax, "x")
        level = f"{self.level:.0%}"
        ax.set_xlabel(axes.plain_text(self.parameter), parse_math=False)
        name = axes.plain_text(self.risk_name, width=80)
        ax.set_ylabel(axes.fit_label(f"{name} ({level} interval)", 36), parse_math=False)

    def _draw_band(self, ax: Any, name: str, x: np.ndarray, band: Band, palette: Palette) -> None:
        color, line, marker, label = method_look(palette, name)
        if len(x) == 1:
            gaps = np.nan_to_num(np.abs([band.value - band.low, band.high - band.value]))
            ax.errorbar(x, band.value, yerr=gaps, color=color, capsize=4, linestyle="none")
        elif np.any(np.isfinite(band.low)):
            ax.fill_between(x, band.low, band.high, color=color, alpha=0.12, linewidth=0)
            for end in (band.low, band.high):
                # Edges tell overlapping bands apart, also in print.
                ax.plot(x, end, color=color, linestyle=line, linewidth=0.7)
        (self.lines_[name],) = ax.plot(
            x,
            band.value,
            color=color,
            linestyle=line,
            marker=marker if len(x) <= _FEW else "",
            markersize=4.5,
            label=axes.legend_text(label),
        )
        if np.any(np.isfinite(band.value)):
            least = int(np.nanargmin(band.value))
            look = {"color": color, "markeredgecolor": palette.paper, "markersize": 9}
            ax.plot(x[least], band.value[least], marker, zorder=4, **look)


def _as_numbers(values: Sequence[Any]) -> np.ndarray | None:
    """Return the values as finite numbers, or None where they are not."""
    if any(isinstance(value, bool | str) or value is None for value in values):
        return None
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 1 and np.all(np.isfinite(found)) else None


def _one_parameter(
    params: Sequence[Mapping[str, Any]], best: int, name: str | None, alike: np.ndarray
) -> tuple[str, np.ndarray]:
    """Return the parameter to draw, and the candidates that differ from the choice only in it.

    `alike` marks those of the same model family that are trained with weights if it is.
    """
    names = list(params[best])
    if not names:
        raise ValueError(
            "`estimator` searched over no parameter, so there is no curve to draw. "
            "Use CandidatesDisplay."
        )
    if name is not None and name not in names:
        raise ValueError(
            f"`param` must be a parameter of the chosen candidate ({', '.join(map(repr, names))}); "
            f"got {name!r}."
        )

    def like_best(own: Mapping[str, Any], but: str) -> bool:
        same = own.keys() == params[best].keys()
        return same and all(
            own[k] is params[best][k] or bool(np.all(own[k] == params[best][k]))
            for k in own
            if k != but
        )

    found = {
        key: np.array([i for i, own in enumerate(params) if alike[i] and like_best(own, key)])
        for key in (names if name is None else [name])
    }

    def usefulness(key: str) -> tuple[bool, int]:
        values = [params[i][key] for i in found[key]]
        return len(values) > 1 and _as_numbers(values) is not None, len(values)

    chosen = max(found, key=usefulness)
    return chosen, found[chosen]
