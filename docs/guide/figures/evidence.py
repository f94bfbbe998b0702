"""Coverage by kind of split and verdict, and what is delivered over what others deliver."""

import matplotlib.pyplot as plt
from evidence_tables import VERDICTS, delivered, read
from figure_style import BLUE, GREY, VERMILLION


def coverage():
    kinds = read("intervals", "kind pairs")
    cells = read("intervals", "kind labels verdict")
    verdicts = {row["verdict"]: row for row in cells[:3]}
    shown = [(f"all {row['kind']} pairs", row) for row in kinds]
    shown += [(f"natural, {word}", verdicts[word]) for word in VERDICTS if word in verdicts]
    _, ax = plt.subplots(figsize=(7.2, 3.3))
    looks = (
        ("covered", "with drift", BLUE, "o", -0.13),
        ("covered_alone", "without", VERMILLION, "s", 0.13),
    )
    for column, label, color, marker, lift in looks:
        numbers = [
            [float(part) for part in row[column].rstrip(")").split(" (")] for _, row in shown
        ]
        places = [place + lift for place in range(len(shown))]
        ax.errorbar(
            [value for value, _ in numbers],
            places,
            xerr=[error for _, error in numbers],
            fmt=marker,
            color=color,
            label=label,
            capsize=3,
        )
    ax.axvline(0.95, color=GREY, linestyle="--", linewidth=1.2)
    ax.set_yticks(range(len(shown)), [f"{name} ({row['pairs']})" for name, row in shown])
    ax.set(xlabel="share of 95 % intervals that cover", xlim=(0.45, 1.02), ylim=(4.6, -0.6))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def ratios():
    risks = delivered()
    order = sorted(risks, key=lambda pair: risks[pair]["select"] / risks[pair]["LightGBM"])
    _, ax = plt.subplots(figsize=(7.2, 10.4))
    for way, color, marker in (("LightGBM", BLUE, "o"), ("FLAML", VERMILLION, "s")):
        values = [risks[pair]["select"] / risks[pair][way] for pair in order]
        label = f"select / {way}" + (" after 60 s" if way == "FLAML" else "")
        ax.plot(values, range(len(order)), marker, color=color, label=label)
    ax.axvline(1, color=GREY, linewidth=1.2)
    ax.set_xscale("log")
    ticks = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_yticks(range(len(order)), [pair.replace("_", " ") for pair in order], size=10.5)
    ax.set(xlabel="ratio of target risks: left of 1 select is better")
    ax.set(xlim=(0.6, 1.25), ylim=(len(order) - 0.4, -0.6))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
