"""The losses that a selection keeps are in the order of the source rows."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="jobs need the cli extra")
pytest.importorskip("pyarrow", reason="jobs need the cli extra")

from counterpoise import jobs


def test_losses_of_a_selection_are_those_of_their_rows(tmp_path):
    rng = np.random.default_rng(0)
    for name, n, shift in (("source", 120, 0.0), ("target", 150, 0.5)):
        x = rng.normal(shift, 1, n)
        # Squared losses grow with the row, whatever the model: noise does.
        noise = np.linspace(0, 10, n) * np.where(np.arange(n) % 2, 1, -1)
        pd.DataFrame({"x": x, "y": x + noise}).to_csv(tmp_path / f"{name}.csv", index=False)
    data = jobs.load(tmp_path / "source.csv", tmp_path / "target.csv", label="y", labelled=True)
    record = jobs.select(data, params=["alpha=1"], deliver="one").record
    losses = record.audit.diagnostics.losses
    assert np.corrcoef(losses, np.arange(120) ** 2)[0, 1] > 0.9
