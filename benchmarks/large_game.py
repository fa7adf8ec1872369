"""Games whose payoffs are formulas, never stored: reads, certified gap, seconds and memory.

    python benchmarks/large_game.py

Each game runs in a process of its own, so that the peak of the memory is its own. An `Oracle`
computes a row or a column when it is asked for one. Beside it is the largest square game of the
same formula, stored as a matrix, that HiGHS (`scipy.optimize.linprog`) solves in the same time:
sizes are doubled until a run takes longer, and the last step is refined by half.

=========  ========================================================================================
signs      +1 or -1 by a hash of (i, j): no structure that could be used
distance   hide and seek on a circle: the seeker pays for being far off
waves      a smooth game: cos of a form of the two positions
duel       silent duel: fire early and miss more often, or late and be shot before
blotto     six battlefields, armies split at random: who wins more of them
=========  ========================================================================================
"""

import argparse
import multiprocessing
import queue
import resource
import time

import numpy as np
from scipy.optimize import linprog

from skimlearn import Oracle, matrix_game


def hashed(*numbers):
    """64 random bits for each tuple of integers (the mixer of splitmix64)."""
    bits = np.uint64(0)
    for number in numbers:
        bits = (bits ^ np.asarray(number).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
    return bits


def signs(i, j, n):
    return 1.0 - 2.0 * (hashed(i, j) & np.uint64(1))


def distance(i, j, n):
    apart = np.abs(i - j)
    return np.minimum(apart, n - apart) * (2.0 / n)


def waves(i, j, n):
    s, t = i / n, j / n
    return np.cos(7.3 * s + 40.0 * s * t + 3.0 * t)


def duel(i, j, n):
    s, t = (i + 1) / n, (j + 1) / n
    return np.where(i < j, s - t + s * t, np.where(i > j, s - t - s * t, 0.0))


def army(k, side):
    """A random split of an army over six battlefields."""
    parts = [-np.log((hashed(k, f, side) >> np.uint64(12)) / 2.0**52 + 1e-16) for f in range(6)]
    return [part / sum(parts) for part in parts]


def blotto(i, j, n):
    fields = zip(army(i, 0), army(j, 1), strict=True)
    return np.sign(sum(np.sign(ours - theirs) for ours, theirs in fields))


FORMULAS = {f.__name__: f for f in (signs, distance, waves, duel, blotto)}


def play(name, n, eps, seed, answers):
    """Solve a game that is a formula, and report on it."""
    formula = FORMULAS[name]

    def oracle_of(n):
        every = np.arange(n)
        return Oracle(
            (n, n), row=lambda i: formula(i, every, n), column=lambda j: formula(every, j, n)
        )

    with np.errstate(over="ignore"):
        matrix_game(oracle_of(9), eps=0.5, random_state=seed)  # compiles
        oracle = oracle_of(n)
        result = matrix_game(oracle, eps=eps, random_state=seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert oracle.reads == result.reads.nnz
    part = result.reads.nnz / n**2
    answers.put((part, result.certificate, result.seconds, peak, result.status))


def solve_program(name, n, answers):
    """The same game by linear programming."""
    with np.errstate(over="ignore"):
        A = FORMULAS[name](np.arange(n)[:, None], np.arange(n)[None], n)
    start = time.perf_counter()
    linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.c_[A, -np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(n), 0.0][None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n + [(None, None)],
    )
    answers.put(time.perf_counter() - start)


def in_process(work, *arguments, seconds=None):
    """The answer of a function run in a process of its own, or None if it takes longer."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=work, args=(*arguments, answers))
    process.start()
    deadline = None if seconds is None else time.perf_counter() + seconds + 5.0  # to start
    try:
        while True:
            try:
                return answers.get(timeout=1.0)
            except queue.Empty:
                if not process.is_alive() or (deadline and time.perf_counter() > deadline):
                    return None
    finally:
        process.terminate()
        process.join()


def largest_program(name, seconds, largest):
    """The size of the largest square game that HiGHS solves within so many seconds."""
    solved, n = 0, 250
    while n <= largest:
        took = in_process(solve_program, name, n, seconds=seconds)
        if took is None or took > seconds:
            break
        solved, n = n, 2 * n
    else:
        return solved
    middle = n * 3 // 4
    took = in_process(solve_program, name, middle, seconds=seconds)
    return middle if took is not None and took <= seconds else solved


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", nargs="+", choices=FORMULAS, default=list(FORMULAS))
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", type=float, default=180.0, help="seconds for HiGHS at most")
    parser.add_argument("--largest", type=int, default=8000, help="size for HiGHS at most")
    options = parser.parse_args()
    print(f"{options.size:,} x {options.size:,}, eps = {options.eps}")
    print("game        reads    bounds of the value      gap  seconds      GB   HiGHS, same time")
    for name in options.games:
        answer = in_process(play, name, options.size, options.eps, options.seed)
        if answer is None:
            raise SystemExit(f"{name} ended without an answer: see the error above")
        part, bounds, seconds, peak, status = answer
        given = min(seconds, options.program)
        size = largest_program(name, given, options.largest)
        print(
            f"{name:9} {100 * part:6.3f} %  [{bounds.lower:9.5f}, {bounds.upper:9.5f}]"
            f"  {bounds.gap:7.4f}  {seconds:7.1f}  {peak:6.2f}   {size:,} in {given:.1f} s"
            f"{'' if status.name == 'CONVERGED' else '  ' + status.name}",
            flush=True,
        )


if __name__ == "__main__":
    main()
