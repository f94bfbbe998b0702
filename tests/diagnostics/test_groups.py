"""The verdict of a group comes from the rows of that group, in both samples."""

import numpy as np

from counterpoise.diagnostics import diagnose_encoded
from counterpoise.diagnostics.diagnosis import judge_groups
from counterpoise.encoding import encode_pair
from counterpoise.risk import HeldOut, risk_by_group


def test_a_group_whose_target_rows_are_elsewhere_is_the_one_to_distrust(rng):
    groups, there = np.repeat([1, 2, 3], [200, 100, 6]), np.repeat([1.0, 2.0, 3.0], [150, 100, 50])
    X, Z = rng.normal(size=(306, 2)), rng.normal(size=(300, 2))
    Z[there == 2] += 8
    w, losses = rng.uniform(0.5, 1.5, size=306), rng.uniform(size=306)
    risks = risk_by_group(HeldOut.of_sample(losses, w), groups, there)
    pair = encode_pair(X, Z)
    found = judge_groups(risks, pair, (groups, there), w, losses)
    assert found["1"].outside_share < 0.1
    assert found["1"].verdict == "plausible"
    assert found["1"].reasons[0].startswith("Not checked: ")
    assert found["2"].outside_share > 0.9
    assert found["2"].verdict == "do not trust"
    assert found["3"].verdict == "do not trust"
    assert found["3"].reasons == ["The source has 6 and the target 50 rows of this group."]
    # The rule is that of the whole.
    rows, own = groups == 1, there == 1
    alone = diagnose_encoded(encode_pair(X[rows], Z[own]), w[rows] / w[rows].mean(), losses[rows])
    assert (found["1"].verdict, found["1"].reasons) == (alone.verdict, alone.reasons)
