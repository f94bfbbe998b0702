"""Risk over one hyper-parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpoise.present import axes
from counterpoise.present.display import Display
from counterpoise.present.fitted_risks import Band, as_band, check_fitted
from counterpoise.present.palette import Palette, method_look

__all__ = ["RiskCurveDisplay"]

# Up to this many values each gets a marker.
_FEW = 15
# Methods that are drawn beside that of the search.
_METHODS = ("source", "weighted", "controlled")


class RiskCurveDisplay(Display):
    """Risk over one hyper-parameter, by several methods, with their intervals.

    A large marker is at the least risk of each curve, a vertical line at the choice. The axis is
    logarithmic where the values span more than a decade.

    Parameters
    ----------
    values : array of shape (n_values,)
        Values of the parameter.
    risks : mapping of str to RiskEstimate, (value, low, high) or array
        By method, each with one entry per value.
    parameter, risk_name : str
        Names of the axes.
    chosen : int, optional
        Index of the choice.
    truth : array of shape (n_values,), optional
        The true risks, where they are known.

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
    ) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        bands = {str(name): as_band(risk) for name, risk in risks.items()}
        self.bands_ = bands if truth is None else {"truth": as_band(truth), **bands}
        for name, band in self.bands_.items():
            if band.value.shape != self.values.shape:
                raise ValueError(
                    f"`risks` and `truth` must hold one risk per value ({len(self.values)}); "
                    f"{name!r} has shape {band.value.shape}."
                )
        self.parameter, self.chosen, self.risk_name = parameter, chosen, risk_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        param: str | None = None,
        truth: Any = None,
        ax: Any = None,
        theme: str | None = None,
    ) -> RiskCurveDisplay:
        """Draw the curve of a fitted search, by its own method, by "source" and by "weighted".

        Parameters
        ----------
        estimator : fitted ShiftRidgeCV, ShiftRidgeClassifierCV or a Shift search
        X, y : arrays, optional
            The rows that it was fitted on. A ridge estimator keeps no losses and needs them for the
            curves of other methods than its own.
        param : str, optional
            For searches: the parameter. Default: the number with most values. The model family and
            the other parameters are those of the choice.
        truth : array of shape (n_candidates,), optional
        ax, theme
            As for :meth:`plot`.
        """
        risk, best = check_fitted(estimator), int(estimator.best_index_)
        ridge = hasattr(estimator, "alphas_")
        rows = () if not ridge else (X, y) if X is not None and y is not None else None
        others = [] if rows is None else [name for name in _METHODS if name != risk.method]
        risks = {name: estimator.risk_by(name, *(rows or ())) for name in others}
        if ridge:
            name, index, values = "alpha", np.arange(len(estimator.alphas_)), estimator.alphas_
        else:
            name, index, values = _one_parameter(estimator.cv_results_, best, param)
        display = cls(
            values,
            {key: _taken(found, index) for key, found in {**risks, risk.method: risk}.items()},
            parameter=name,
            chosen=int(np.flatnonzero(index == best)[0]),
            truth=None if truth is None else np.asarray(truth)[index],
        )
        return display.plot(ax, theme=theme)

    def _draw(self, ax: Any, palette: Palette) -> None:
        x, order = self.values, np.argsort(self.values, kind="stable")
        parts = [[getattr(b, part) for b in self.bands_.values()] for part in ("value", "low", "high")]
        limits = axes.clip_limits(*map(np.concatenate, parts))
        if limits is not None:
            ax.set_ylim(*limits)
        axes.plain_ticks(ax, "y")
        if np.min(x) > 0 and np.max(x) > 10 * np.min(x):
            axes.log_axis(ax, "x")
        else:
            axes.plain_ticks(ax, "x")
        ax.set_xlabel(axes.plain_text(self.parameter), parse_math=False)
        ax.set_ylabel(axes.plain_text(self.risk_name, width=40), parse_math=False)
        self.lines_ = {}
        for name, band in self.bands_.items():
            self._draw_band(ax, name, x[order], band.take(order), palette)
        if self.chosen is not None:
            look = {"color": palette.soft, "linewidth": 1, "linestyle": (0, (2, 2)), "zorder": 1}
            ax.axvline(x[self.chosen], label=f"chosen: {x[self.chosen]:.3g}", **look)
        axes.legend_above(ax, palette, columns=3)

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
        look = {"marker": marker if len(x) <= _FEW else "", "markersize": 4.5, "linestyle": line}
        label = axes.legend_text(label)
        (self.lines_[name],) = ax.plot(x, band.value, color=color, label=label, **look)
        if np.any(np.isfinite(band.value)) and name != "truth":
            least = int(np.nanargmin(band.value))
            look = {"color": color, "markeredgecolor": palette.paper, "markersize": 9}
            ax.plot(x[least], band.value[least], marker, zorder=4, **look)


def _taken(risk: Any, index: np.ndarray) -> tuple[np.ndarray, ...]:
    band = as_band(risk).take(index)
    return band.value, band.low, band.high


def _one_parameter(
    results: Mapping[str, Any], best: int, name: str | None
) -> tuple[str, np.ndarray, Sequence[float]]:
    """Return the parameter, the candidates that differ from the choice only in it, its values."""
    params = results["params"]
    models = results.get("model", [""] * len(params))

    def like_best(i: int, but: str) -> bool:
        same = models[i] == models[best] and params[i].keys() == params[best].keys()
        return same and all(params[i][key] == params[best][key] for key in params[best] if key != but)

    found: dict[str, np.ndarray] = {}
    for key in params[best] if name is None else [name]:
        index = [i for i in range(len(params)) if key in params[best] and like_best(i, key)]
        if index and all(isinstance(params[i][key], int | float) for i in index):
            found[key] = np.asarray(index)
    if not found:
        raise ValueError(
            "`param` must be a parameter of the chosen candidate with numbers as values "
            f"({', '.join(params[best]) or 'it has none'}); got {name!r}. ForestDisplay draws any."
        )
    key = max(found, key=lambda key: len(found[key]))
    return key, found[key], [float(params[i][key]) for i in found[key]]
