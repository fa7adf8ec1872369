"""Rounds of CoCoA+ to a gap of 1e-3 as the partitions grow from 2 to 1,024, in one process.

    python benchmarks/rounds.py [--most 1024] [--rows 65536] [--alpha 1e-3] [--plain] [--apart]
    python benchmarks/rounds.py --out docs    # into docs/scale.md

No cluster: partitions are visited one after the other, which gives the same numbers to the bit.
Rows are sparse, ten features of 4,096; labels are noisy. --plain switches the acceleration off,
--apart the joint rounds. The model of docs/scale.md takes its rounds from this table, of the hinge
those without joint rounds: with so many rows too many of them are open.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _cluster_page import about, load_now, write

from skimlearn.distributed._pieces import Spec, piece_of
from skimlearn.distributed._rounds import solve
from skimlearn.distributed._team import Serial
from skimlearn.distributed.cocoa import Ascent
from skimlearn.formulas import losses, regularizers
from skimlearn.result import Budget

D, ENTRIES = 4096, 10
MORE = [("hinge", True)]  # what the page has beside the defaults


def rows(n):
    rng = np.random.default_rng(0)
    columns = (rng.random((n, ENTRIES)) ** 2 * D).astype(np.int32)
    y = np.where(rng.standard_normal(D)[columns].sum(axis=1) > 0, 1, -1)
    y[rng.random(n) < 0.1] *= -1
    starts = np.arange(0, columns.size + 1, ENTRIES)
    X = sp.csr_matrix((np.full(columns.size, ENTRIES**-0.5), columns.ravel(), starts), (n, D))
    X.sum_duplicates()
    return X, y


def rounds(X, y, parts, loss, options, kind):
    pieces = [piece_of(k, X[k::parts], y[k::parts], None, labels=True) for k in range(parts)]
    square = sum(float(piece.squares.sum()) for piece in pieces) / len(y)
    spec = Spec(
        loss=losses.resolve(loss, labels=True), regularizer=regularizers.resolve(2.0, None),
        alpha=options.alpha, bias="free", n=len(y), d=D, mean_weight=1.0,
        bias_square=square / parts, positive=1,
    )  # fmt: skip
    team = Serial(pieces)
    return solve(
        team,
        kind(team, spec, 0, epochs=options.epochs),
        Budget(gap=1e-3, epochs=1000 * options.epochs),
        entries=X.nnz,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=65536)
    parser.add_argument("--alpha", type=float, default=1e-3)
    parser.add_argument("--loss", nargs="*", default=["log", "hinge"])
    parser.add_argument("--epochs", type=int, default=2, help="on a partition, in a round")
    parser.add_argument("--plain", action="store_true", help="without acceleration")
    parser.add_argument("--apart", action="store_true", help="without joint rounds")
    parser.add_argument("--out", type=Path, help="folder of scale.md; default: print only")
    options = parser.parse_args()
    X, y = rows(options.rows)
    found, loads = {}, [load_now()]
    print("| partitions | loss | rounds | gap | seconds here |\n|---|---|---|---|---|", flush=True)
    for loss, apart in [(loss, options.apart) for loss in options.loss] + MORE * bool(options.out):
        name = f"{loss}, apart" if apart else loss
        switches = {"accelerated": not options.plain, "joins": not apart}
        kind = type("Chosen", (Ascent,), switches)
        parts = 2
        while parts <= options.most:
            began = time.perf_counter()
            result = rounds(X, y, parts, loss, options, kind)
            count = result.history[-1].rounds
            found.setdefault(name, {})[str(parts)] = count
            print(
                f"| {parts:,} | {name} | {count} | "
                f"{result.certificate.relative_gap:.1e} | {time.perf_counter() - began:.0f} |",
                flush=True,
            )
            parts *= 4 if parts < 512 else 2
    if options.out:
        known = {"rows": options.rows, "alpha": options.alpha, "rounds": found}
        write("rounds", {"about": about(False, loads), **known}, options.out)


if __name__ == "__main__":
    main()
