"""
Optuna for the target
=====================

Tools such as `Optuna <https://optuna.org>`_ propose one candidate at a time and want one number
back. :func:`counterpoise.cross_val_risk` is that number: the estimated risk *in the target*. Here
the sampler chooses the penalty and the kernel width of a support vector machine.
"""

import matplotlib.pyplot as plt
import numpy as np
import optuna
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import counterpoise as cp

BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#808080"
optuna.logging.set_verbosity(optuna.logging.WARNING)

# %%
# The problem is simulated, so that a large labelled sample of the target is there to tell the truth
# at the end. The search sees 200 labelled source rows and 1000 unlabelled target rows.

problem = cp.datasets.gaussian_2d(gamma=0.7)
X, y, X_target, _ = problem.sample(n_source=200, n_target=1000, random_state=1)
_, _, X_truth, y_truth = problem.sample(n_source=1, n_target=20_000, random_state=2)

# %%
# Two things stay the same for all trials, so that they are comparable and cheap: the folds, and the
# weights, which depend on the two samples alone and are fitted once.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
options = {"weights": weights, "loss": "zero_one", "cv": folds}


def model(params):
    return SVC(C=params["C"], gamma=params["gamma"])


def objective(trial):
    params = {
        "C": trial.suggest_float("C", 1e-2, 1e2, log=True),
        "gamma": trial.suggest_float("gamma", 1e-3, 1e1, log=True),
    }
    risk = cp.cross_val_risk(model(params), X, y, **options)
    trial.set_user_attr("standard_error", risk.standard_error)
    return risk.value


study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=20)

best = study.best_trial
low, high = cp.cross_val_risk(model(best.params), X, y, **options).interval()
print(f"C = {best.params['C']:.3g}, gamma = {best.params['gamma']:.3g}")
print(f"target error rate {best.value:.3f}, 95% interval {low:.3f} to {high:.3f}")

# %%
# The trials were trained without weights, which count in the validation only (``fit_weighted=True``
# would train with them too). So is the choice, on all source rows, and meets the truth:

chosen = model(best.params).fit(X, y)
print(f"true target error rate {np.mean(chosen.predict(X_truth) != y_truth):.3f}")

# %%
# Every trial has a standard error, here drawn on both sides of its estimate. The better trials
# differ by less: more of them would refine noise.

values = np.array([trial.value for trial in study.trials])
errors = np.array([trial.user_attrs["standard_error"] for trial in study.trials])
trials = np.arange(len(values))

fig, ax = plt.subplots(figsize=(7, 3.6))
ax.errorbar(trials, values, yerr=errors, fmt="o", color=GREY, elinewidth=1, label="trial")
least = np.minimum.accumulate(values)
ax.step(trials, least, where="post", color=BLUE, label="least so far")
ax.plot(best.number, best.value, "o", color=VERMILLION, markersize=9, zorder=3, label="choice")
ax.set(xlabel="trial", ylabel="estimated target error rate", xticks=trials[::2])
ax.legend()

# %%
# The least of 20 estimates is optimistic. A study keeps no losses, so its price is not known here;
# :class:`counterpoise.ShiftRandomizedSearchCV` reports it as ``corrected_risk_``, and says which
# candidates are not significantly different from the best.
