"""What labels and files are read as: counts, encodings, and values that stand for missing ones."""

import numpy as np
import pytest

from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.loading import load_data


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        ({0: 60, 1: 40, 2: 25, 3: 9, 4: 1}, "regression"),  # a rare end
        ({0: 60, 1: 40, 2: 25, 3: 9, 5: 2, 12: 1}, "regression"),  # gaps
        ({0: 20, 1: 20, 3: 20}, "regression"),
        ({0: 60, 1: 40, 2: 25, 3: 5}, "classification"),
        ({0: 2, 1: 2, 2: 2}, "classification"),  # no rarer than the others
        ({0: 100, 1: 2}, "classification"),  # two values are classes, however rare
        ({0: 50, 255: 50}, "classification"),
        ({1: 60, 2: 40, 4: 20}, "classification"),  # not from 0
    ],
)
def test_whole_numbers_from_0_with_gaps_or_a_rare_end_are_counts(rows, task):
    values = np.repeat(np.asarray(list(rows), dtype=float), list(rows.values()))
    labels = read_labels(values, "visits", "auto")
    assert labels.task == task
    assert ("loss 'zero_one'" in labels.words) == (task == "regression")
    assert read_labels(values, "visits", "squared").task == "regression"
    if min(rows.values()) > 1:
        assert read_labels(values, "visits", "zero_one").task == "classification"


def test_files_are_loaded_with_an_encoding_and_values_for_missing_ones(files, frames):
    for frame, name in zip(frames, ("source", "target"), strict=True):
        frame = frame.rename(columns={"age": "größe"}).fillna({"noise": -999.0})
        frame.to_csv(files / f"{name}.csv", index=False, encoding="latin-1")
    paths = files / "source.csv", files / "target.csv"
    options = {"label": "cost", "need_label": True}
    guessed = load_data(*paths, print, **options, missing=["-999", "-1"])
    given = load_data(*paths, print, **options, missing=["-999"], encoding="latin-1")
    assert guessed.pair.source.equals(given.pair.source)
    np.testing.assert_array_equal(given.pair.source["noise"].isna(), frames[0]["noise"].isna())
    assert [note for note in guessed.pair.notes if note not in given.pair.notes] == [
        *(
            f"{path.name} is not in UTF-8; it was read in the encoding 'cp1252', a guess. Pass "
            "`encoding` if names or texts look wrong."
            for path in paths
        ),
        "No value is '-1', which stands for missing ones.",
    ]
