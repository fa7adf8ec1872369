"""Smallest balls with a proof: of a million sparse points, and beside an exact solver.

    python benchmarks/balls.py [--n 1000000] [--d 1000] [--nonzeros 10] [--eps 0.02]
    python benchmarks/balls.py --only miniball [--seconds 60]

The first table is a ball to 2 % of its squared radius. The points lie in 20 clusters of sparse
directions, and their lengths have heavy tails. Beside it the method of Badoiu and Clarkson (2003),
c += (farthest - c) / (k + 1), whose steps read all points: it has no lower bound of its own, so it
is told where to stop.

The second table has dense points, normally distributed, few enough and of so few dimensions that
Gaertner's Miniball ("Fast and robust smallest enclosing balls", 1999; the package MiniballCpp) can
be expected to end. It is exact, and its time grows exponentially with the dimension; each of its
runs is a process of its own that ends after ``--seconds``.
"""

import argparse
import importlib.util
import multiprocessing
import queue
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


SIZES = ((100_000, 10), (100_000, 20), (100_000, 50), (10_000, 100), (10_000, 300))
PRECISIONS = (1e-2, 1e-4, 1e-6, 1e-8)


def make_dense(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


def exact_ball(n, d, answer):
    """Seconds and squared radius of Miniball; both processes make the same points."""
    import miniball

    X = make_dense(n, d)
    start = time.perf_counter()
    ball = miniball.Miniball(X)
    answer.put((time.perf_counter() - start, ball.squared_radius()))


def exact_ball_within(seconds, n, d):
    """The same in a process that can be ended; None if it has to be."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=exact_ball, args=(n, d, answer))
    process.start()
    try:
        return answer.get(timeout=seconds)
    except queue.Empty:
        return None
    finally:
        process.terminate()
        process.join()


def beside_miniball(seconds):
    installed = importlib.util.find_spec("miniball") is not None
    if not installed:
        print("Miniball is not installed (pip install MiniballCpp, or the extra 'bench')")
    enclosing_ball(make_dense(2000, 5), eps=1e-8, random_state=0)  # compile
    print(
        "      n    d  method           seconds     R^2 at most  proven to  above Miniball  weights"
    )
    for n, d in SIZES:
        exact = exact_ball_within(seconds, n, d) if installed else None
        if exact is not None:
            print(f"{n:7} {d:4}  Miniball        {exact[0]:8.3f} {exact[1]:15.10f}")
        elif installed:
            print(f"{n:7} {d:4}  Miniball        none after {seconds:g} s")
        X = make_dense(n, d)
        for eps in PRECISIONS:
            start = time.perf_counter()
            result = enclosing_ball(X, eps=eps, max_seconds=seconds, random_state=0)
            spent, certificate = time.perf_counter() - start, result.certificate
            above = "" if exact is None else f"{certificate.primal / exact[1] - 1.0:.1e}"
            print(
                f"{n:7} {d:4}  to {eps:.0e}        {spent:8.3f} {certificate.primal:15.10f}"
                f" {certificate.relative_gap:10.1e} {above:>15} {np.count_nonzero(result.p):8}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=1000)
    parser.add_argument("--nonzeros", type=int, default=10)
    parser.add_argument("--eps", type=float, default=0.02)
    parser.add_argument("--most", type=int, default=1000, help="steps of Badoiu and Clarkson")
    parser.add_argument("--only", choices=("million", "miniball"), help="one of the two tables")
    parser.add_argument("--seconds", type=float, default=60.0, help="the limit of a Miniball")
    arguments = parser.parse_args()
    if arguments.only != "miniball":
        a_million(arguments)
    if arguments.only != "million":
        beside_miniball(arguments.seconds)


def a_million(arguments):
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
