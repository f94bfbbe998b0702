"""How much plausible candidates disagree, in numbers and in words."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise as cp
from counterpoise.search.disagreement import choice_words, disagreement


def test_numbers_differ_by_the_root_mean_square_over_pairs(rng):
    predictions, p = rng.normal(size=(4, 50)), np.array([0.5, 0.3, 0.2, 0.0])
    pairs = [(j, k) for j in range(3) for k in range(3) if j != k]
    chance = np.array([p[j] * p[k] for j, k in pairs])
    squares = [np.mean((predictions[j] - predictions[k]) ** 2) for j, k in pairs]
    want = np.sqrt(chance @ squares / chance.sum())
    assert disagreement(predictions, p, classes=False) == pytest.approx(want)


def test_classes_disagree_where_not_all_predict_the_same():
    labels = np.array([[0, 1, 2, 2], [0, 1, 1, 2], [0, 1, 1, 0], [2, 2, 2, 1]])
    plausible = np.array([0.4, 0.3, 0.3, 0.0])
    assert disagreement(np.eye(3)[labels], plausible, classes=True) == 0.5
    margins = np.array([[-1.0, 2.0], [3.0, 2.0]])
    assert disagreement(margins, np.array([0.5, 0.5]), classes=True) == 0.5


@pytest.mark.parametrize("classes", [True, False])
def test_one_plausible_candidate_disagrees_with_nobody(rng, classes):
    predictions, plausible = rng.normal(size=(3, 9)), np.array([0.0, 1.0, 0.0])
    assert disagreement(predictions, plausible, classes=classes) == 0
    words = choice_words(predictions, plausible, classes=classes)
    assert words.startswith("1 of 3 candidates is plausible")


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_search_says_what_its_choice_rests_on(rng, task):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    model, grid = Ridge(), {"alpha": [1.0, 30.0, 300.0]}
    if task == "classes":
        model, y, grid = LogisticRegression(), y > 0, {"C": [0.001, 0.1, 1.0]}
    options = {"selection": "consensus", "fit_weighted": "both", "random_state": 0}
    search = cp.ShiftGridSearchCV(model, grid, **options)
    search.fit(X, y, X_target=X + 0.5)
    count = np.count_nonzero(search.plausibility_)
    assert search.choice_words_.startswith(f"{count} of 6 candidates ")
    assert ("of the target rows" in search.choice_words_) == (task == "classes")
    again = search.set_params(selection="min").fit(X, y, X_target=X + 0.5)
    assert not hasattr(again, "choice_words_")


def test_the_ridge_path_serves_both_ways_of_training(rng):
    class Other(Ridge):
        """The same model, which is fitted one by one."""

    X = rng.normal(size=(90, 3))
    y, w = X[:, 0] + rng.normal(size=90), np.exp(X[:, 0])
    one, two = (
        cp.ShiftGridSearchCV(model, {"alpha": [0.1, 10.0]}, weights=w, fit_weighted="both").fit(
            X, y
        )
        for model in (Ridge(), Other())
    )
    assert one.cv_results_["mean_fit_time"].max() == 0
    assert one.cv_results_["fit_weighted"].tolist() == [False, False, True, True]
    np.testing.assert_allclose(one.losses_, two.losses_, rtol=1e-9)
