"""Do the sublinear solvers read as few entries as theory says? Exponents, measured.

    python benchmarks/sublinear_scaling.py --out results/    # table.json, table.md, plots.png
    python benchmarks/sublinear_scaling.py --quick           # fewer seeds, less accuracy

The claims are those of Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning"
(2010), figure 1: eps^-2 (n + d) entries for margins, eps^-2 n + eps^-1 d for balls, all entries in
addition for a proof, and lower bounds that say that this is about the best.

An exponent is a slope by least squares through logarithms, one for each seed; shown are their mean
and a 95 % interval for it (bootstrap over the seeds). The interval does not know what theory leaves
out: factors of log(1 / eps), and the beginning of a run. The errors of answers are exact: they are
computed from the optimum and from all responses, outside of what a run counts as read.

The exit status is 1 if a number is not within the limits in the column "expected".
"""

import argparse
import time
from pathlib import Path

from _scaling_balls import ball, skipping
from _scaling_limits import games, lower_bound
from _scaling_margins import las_vegas, perceptron, sizes, success
from _tables import show, store

TOPICS = (perceptron, sizes, ball, skipping, games, success, lower_bound, las_vegas)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small problems, less than a minute")
    parser.add_argument("--out", type=Path, help="folder for table.json, table.md and plots.png")
    names = [topic.__name__ for topic in TOPICS]
    parser.add_argument("--only", choices=names, nargs="+", default=names, metavar="TOPIC",
                        help=f"some of: {', '.join(names)}")  # fmt: skip
    arguments = parser.parse_args()
    lines, plots, began = [], [], time.perf_counter()
    for topic in TOPICS:
        if topic.__name__ in arguments.only:
            start = time.perf_counter()
            new, plot = topic(arguments.quick)
            print(f"{topic.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
            lines += new
            plots.append(plot)
    print()
    show(lines)
    if arguments.out is not None:
        store(arguments.out, lines, plots, time.perf_counter() - began)
    return 0 if all(line.seen for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
