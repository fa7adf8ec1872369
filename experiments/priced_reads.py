"""Reads against accuracy where features cost money: single rows and columns, or whole rows.

    python experiments/priced_reads.py [--quick] [--out FOLDER]

The laboratory of examples/priced_features.py, which says what is bought and by whom. Needs no data.
"""

from pathlib import Path

import _common  # makes the examples importable
import numpy as np
import priced_features
from _common import number, percent, source, table


def measure(options):
    if options.quick:
        priced_features.SEEDS, priced_features.BUDGETS = range(3), (0.02, 0.05)
    cases = priced_features.CASES[1:] if options.quick else priced_features.CASES
    found = {"budgets": priced_features.BUDGETS, "seeds": len(priced_features.SEEDS), "cases": {}}
    for case in cases:
        scores = priced_features.compare(case)
        kind = 1 if case.rare_share > 0.0 else 0
        entry = {"kind": "the rare kind" if kind else "all samples", "buyers": {}}
        for buyer, values in scores.items():
            mean, error = priced_features.mean_and_error(values[:, :, kind])
            rows, columns = values[:, :, 2:].mean(axis=1).T
            entry["buyers"][buyer] = {
                "mean": mean,
                "error": error,
                "rows": rows,
                "columns": columns,
            }
        found["cases"][case.name] = entry
        print(f"{case.name}: done", flush=True)
    return found


def texts(found):
    rows, verdict = [], []
    for name, case in found["cases"].items():
        for at, budget in enumerate(found["budgets"]):
            for buyer, entry in case["buyers"].items():
                rows.append([
                    name, percent(budget, 1), buyer,
                    f"{percent(entry['mean'][at], 1)} ± {percent(entry['error'][at], 1)}",
                    number(entry["rows"][at], 2), number(entry["columns"][at], 2),
                ])  # fmt: skip
        skim, whole = (np.array(case["buyers"][b]["mean"]) for b in ("skimming", "whole rows"))
        at = int(np.argmax(np.abs(skim - whole)))
        verdict.append(
            f"- {name}: the widest difference is at a budget of "
            f"{percent(found['budgets'][at], 1)}: {percent(skim[at], 1)} by skimming, "
            f"{percent(whole[at], 1)} from whole rows (accuracy on {case['kind']})."
        )
    return {
        "accuracy": table(["case", "budget", "buyer", "accuracy", "rows bought",
                           "columns bought"], rows),
        "verdict": "\n".join(verdict) + "\n\n" + source(found),
    }  # fmt: skip


def draw(found):
    import matplotlib.pyplot as plt

    cases = found["cases"]
    figure, axes = plt.subplots(1, len(cases), figsize=(3.8 * len(cases), 3.6), sharey=True,
                                layout="constrained", squeeze=False)  # fmt: skip
    for axis, (name, case) in zip(axes[0], cases.items(), strict=True):
        for buyer, entry in case["buyers"].items():
            axis.errorbar(found["budgets"], 100 * np.array(entry["mean"]),
                          100 * np.array(entry["error"]), fmt="-o", ms=4, capsize=3,
                          label=buyer)  # fmt: skip
        axis.set_xscale("log")
        axis.set_xticks(found["budgets"], [f"{100 * b:g}" for b in found["budgets"]])
        axis.minorticks_off()
        axis.set(
            title=f"{name}:\naccuracy on {case['kind']}", xlabel="budget, % of the price of all"
        )
    axes[0, 0].set_ylabel("accuracy on new samples, %")
    axes[0, -1].legend(loc="lower right")
    return figure


if __name__ == "__main__":
    _common.main(Path(__file__).stem, measure, texts, draw, __doc__)
