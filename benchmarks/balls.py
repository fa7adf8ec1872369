"""The smallest ball around a million sparse points, to 2 % of its squared radius, with a proof.

    python benchmarks/balls.py [--n 1000000] [--d 1000] [--nonzeros 10] [--eps 0.02]

The points lie in 20 clusters of sparse directions, and their lengths have heavy tails. Beside it
the method of Badoiu and Clarkson (2003), c += (farthest - c) / (k + 1), whose steps read all
points: it has no lower bound of its own, so it is told where to stop.
"""

import argparse
import resource
import time

import numpy as np
import scipy.sparse as sp

from skimlearn.data.columns import as_matrix
from skimlearn.solvers.ball import enclosing_ball, squared_distances


def make_points(n, d, nonzeros, seed=0, chunk=100_000, clusters=20):
    """Sparse points in clusters, with lengths that have heavy tails, made piece by piece."""
    rng = np.random.default_rng(seed)
    liked = np.array([rng.choice(d, size=4 * nonzeros, replace=False) for _ in range(clusters)])
    signs = rng.normal(size=liked.shape)
    parts = []
    for start in range(0, n, chunk):
        count = min(chunk, n - start)
        kind = rng.integers(clusters, size=count)
        slot = rng.random((count, 4 * nonzeros)).argpartition(nonzeros, axis=1)[:, :nonzeros]
        values = signs[kind[:, None], slot] + rng.normal(size=slot.shape)
        values *= (1.0 + 0.1 * rng.pareto(5.0, size=count))[:, None]
        indptr = np.arange(0, count * nonzeros + 1, nonzeros)
        part = sp.csr_array(
            (values.ravel(), liked[kind[:, None], slot].ravel().astype(np.int32), indptr),
            shape=(count, d),
        )
        part.sort_indices()
        parts.append(part)
    return sp.vstack(parts, format="csr")


def badoiu_clarkson(matrix, goal, most):
    """Steps and squared radius once it is no greater than the goal."""
    c, best = matrix.row(0), np.inf
    for k in range(1, most + 1):
        squares = squared_distances(matrix.rows, c)
        far = int(squares.argmax())
        best = min(best, float(squares[far]))
        if best <= goal:
            break
        c += (matrix.row(far) - c) / (k + 1)
    return k, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=1000)
    parser.add_argument("--nonzeros", type=int, default=10)
    parser.add_argument("--eps", type=float, default=0.02)
    parser.add_argument("--most", type=int, default=1000, help="steps of Badoiu and Clarkson")
    arguments = parser.parse_args()
    enclosing_ball(make_points(2000, 50, 5), random_state=0)  # compile
    start = time.perf_counter()
    X = make_points(arguments.n, arguments.d, arguments.nonzeros)
    print(f"data     {time.perf_counter() - start:7.2f} s  {X.nnz:,} stored entries")
    start = time.perf_counter()
    matrix = as_matrix(X)
    print(f"columns  {time.perf_counter() - start:7.2f} s")
    start = time.perf_counter()
    result = enclosing_ball(matrix, eps=arguments.eps, random_state=0)
    seconds, certificate = time.perf_counter() - start, result.certificate
    print(
        f"ball     {seconds:7.2f} s  {certificate.dual:.5g} <= R^2 <= {certificate.primal:.5g}, "
        f"{result.status.name}, {len(result.history)} checks, "
        f"{(result.reads.nnz + result.reads.certificate) / X.nnz:.1f} passes, "
        f"{np.count_nonzero(result.p)} points carry weight"
    )
    for record in result.history:
        print(
            f"    {record.epoch:6.0f} steps {record.seconds:7.2f} s {record.reads / X.nnz:6.2f} "
            f"passes  {record.dual:.5g} .. {record.primal:.5g}"
        )
    goals = (
        (f"to {arguments.eps:.1%}", (1.0 + arguments.eps) * certificate.dual),
        ("to the same", certificate.primal),
    )
    for name, goal in goals:
        start = time.perf_counter()
        steps, value = badoiu_clarkson(matrix, goal, arguments.most)
        seconds = time.perf_counter() - start
        print(f"Badoiu-Clarkson {name}: {seconds:.2f} s, {steps} passes, {value:.5g} (no proof)")
    print(f"memory   {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:7.2f} GB at most")


if __name__ == "__main__":
    main()
