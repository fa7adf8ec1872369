"""Test error along one run of a solver, with the entries that it had read by then.

All runs are counted alike: a row costs d entries in the dense count and its stored entries in the
other, a column n or its stored entries. "Distinct" counts an entry once, however often a line with
it is read, as an `Oracle` of single entries does. What it takes to measure the error is
not counted and not timed. Each run is looked at after geometrically growing numbers of steps, and
each look at all the answers that the run can give at no cost:

last   SGD: the last iterate; sublinear: s, the sum of the rows drawn, scaled
mean   the mean of all iterates
tail   the mean of the later ones (half to three quarters of them)
"""

import time
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from skimlearn._jit import kernel
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import lengths, size
from skimlearn.solvers import pegasos, sgd
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers.simba import Simba, T
from skimlearn.solvers.tracking import Tracking

ANSWERS = ("last", "mean", "tail")
GROWTH = 2.0**0.25  # of the steps between two looks
ALONE = 400  # steps at most that read columns alone


@dataclass
class Look:
    """A run at one moment: what it had spent, and the errors of its answers."""

    steps: int
    dense: int
    nnz: int
    seconds: float
    errors: dict


@dataclass
class Setting:
    """A solver and its parameters."""

    solver: str
    value: float  # alpha, kappa (0: hard margin) or nu
    batch: int = 1
    rate: float = 1.0
    more: dict = field(default_factory=dict)  # settings of `Tracking`

    def __str__(self):
        kind = {"simba-nu": "nu", "simba": "kappa", "tracking": "kappa"}.get(self.solver, "alpha")
        batch = f" batch={self.batch}" if self.batch > 1 else ""
        rate = f" rate={self.rate:g}" if self.rate != 1.0 else ""
        return f"{kind}={self.value:g}{batch}{rate}"

    @property
    def sublinear(self):
        return self.solver in ("simba", "simba-nu", "tracking")


class Run:
    """What the two kinds of runs share: when to look, and what to stop at."""

    def looks(self, errors_of, *, budget, goal=-1.0, of=any):
        """Look until the budget of stored entries is spent, or any (all) answers hold the goal."""
        found, held = [], dict.fromkeys(ANSWERS, 0)  # how often in a row
        for steps in _growing():
            self.advance(steps)
            answers = self.answers()
            errors = dict(zip(ANSWERS, errors_of(answers), strict=True))
            found.append(Look(self.steps, self.dense, self.nnz, self.seconds, errors))
            for name, error in errors.items():
                held[name] = held[name] + 1 if error <= goal else 0
            if self.nnz >= budget or of(count >= 2 for count in held.values()):
                break
        self.release()
        return found


class SgdRun(Run):
    """Pegasos or averaged SGD; the length of the rows is known to it for free."""

    def __init__(self, setting, problem, seed):
        self.rng = np.random.default_rng(seed)
        self.problem = problem.rows_problem(setting.value)
        self.ledger = Ledger(self.problem.rows)
        kind = pegasos if setting.solver == "pegasos" else sgd
        make = pegasos.Pegasos if setting.solver == "pegasos" else sgd.Sgd
        t0 = 0.0 if setting.solver == "pegasos" else 2.0 / setting.value  # rows of length 1
        settings = kind.Settings(average="tail", t0=t0)
        self.method = make(self.problem, self.ledger, settings, self.rng)
        self.order = np.zeros(0, dtype=np.int64)
        self.steps, self.seconds = 0, 0.0

    def release(self):
        """Forget all but what was counted."""
        self.method = None

    @property
    def dense(self):
        return self.ledger.reads.dense

    @property
    def nnz(self):
        return self.ledger.reads.nnz

    def advance(self, steps):
        start = time.process_time()
        while self.steps < steps:
            if not len(self.order):
                self.order = self.method.order(self.rng)
            part, self.order = np.split(self.order, [steps - self.steps])
            self.method.visit(part)
            self.ledger.visit(part)
            self.steps += len(part)
        self.seconds += time.process_time() - start

    def answers(self):
        mean = self.method.total()[0]
        return np.stack([self.method.last()[0], mean, self.method.answer()[0]], axis=1)

    def distinct(self, steps):
        """Distinct entries, dense and stored: the first epoch visits each row once."""
        n, d = self.problem.rows.shape
        seen = min(steps, n)
        return seen * d, int(seen / n * self.ledger.total)


class SkimRun(Run):
    """The steps of simba or tracking, as their own loop takes them, with a log of what is read.

    A step counts if it draws a row; those that read columns alone belong to the next one.
    """

    def __init__(self, setting, problem, seed):
        matrix, n = problem.matrix, len(problem.y)
        kappa = setting.value if setting.solver != "simba-nu" else 0.0
        method = (Tracking if setting.solver == "tracking" else Simba)(
            width=1.0 + setting.batch,
            cap=min(1.0, 1.0 / (kappa * n)) if kappa > 0.0 else 1.0,
            nu=setting.value if setting.solver == "simba-nu" else 0.0,
            rate=setting.rate,
            **setting.more,
        )
        self.problem, self.matrix = problem, matrix
        self.rng = np.random.default_rng(seed)
        self.skim = MarginSkim(
            matrix, self.rng, y=problem.y, settings=method, eps=1e-9, mode="monte-carlo",
            length=1.0,
        )  # fmt: skip
        self.numbers = np.zeros((0, 1 + setting.batch))
        self.log = np.zeros((0, 2, 1 + setting.batch), dtype=np.int64)  # lines, entries of each
        self.steps = self.dense = self.nnz = 0
        self.seconds = 0.0
        self.marks = [(0.0, np.zeros(matrix.shape[1]))]

    def release(self):
        """Forget all but what was read."""
        self.skim, self.marks = None, []

    def advance(self, steps):
        skim, matrix, width = self.skim, self.matrix, self.log.shape[2]
        most = steps - self.steps + ALONE
        log = np.zeros((most, 2, width), dtype=np.int64)
        start = time.process_time()
        missing = most - len(self.numbers)
        if missing > 0:
            self.numbers = np.concatenate([self.numbers, self.rng.random((missing, width))])
        taken = _steps(
            skim.method, skim.state, matrix.rows, matrix.columns, self.numbers, log,
            steps - self.steps,
        )  # fmt: skip
        self.seconds += time.process_time() - start
        self.numbers, log = self.numbers[taken:], log[:taken]
        self.log = np.concatenate([self.log, log])
        self.steps += int((log[:, 0, 0] >= 0).sum())
        n, d = matrix.shape
        parts = log[:, 1, 1:][log[:, 1, 1:] != 0]
        whole = n if sp.issparse(self.problem.X) else parts
        self.dense += int((log[:, 0, 0] >= 0).sum()) * d + int(np.sum(whole + 0 * parts))
        self.nnz += int(log[:, 1].sum())

    def answers(self):
        state, steps = self.skim.state, float(self.skim.state.scalars[T])
        total = self.skim.sum_of_x().copy()
        if steps >= 2.0 * self.marks[-1][0]:
            self.marks = [*self.marks[-1:], (steps, total)]
        return np.stack([state.s, total, total - self.marks[0][1]], axis=1)

    def distinct(self, steps):
        """Distinct entries, dense and stored: rows and columns drawn, less where they cross.

        Parts of columns are taken as if they crossed no row: a few more than there are.
        """
        drawn = np.cumsum(self.log[:, 0, 0] >= 0)
        log = self.log[: int(np.searchsorted(drawn, steps)) + 1]
        rows = np.unique(log[:, 0, 0][log[:, 0, 0] >= 0])
        n, d = self.matrix.shape
        read = np.zeros(d, dtype=np.int64)
        np.add.at(read, log[:, 0, 1:][log[:, 0, 1:] >= 0], log[:, 1, 1:][log[:, 0, 1:] >= 0])
        full = lengths(self.matrix.columns).astype(np.int64)
        read = np.minimum(read, full)
        columns = np.flatnonzero((read == full) & (read > 0))
        by_row = int(lengths(self.matrix.rows)[rows].sum())
        if not sp.issparse(self.problem.X):
            dense = len(rows) * d + int(read.sum()) - len(rows) * len(columns)
            return dense, dense
        stored = by_row + int(read.sum()) - self.problem.X[rows][:, columns].nnz
        return len(rows) * d + len(columns) * n - len(rows) * len(columns), stored


def make_run(setting, problem, seed):
    seed = (1, seed)  # not that of the data: the same permutation would show the rare rows first
    return (SkimRun if setting.sublinear else SgdRun)(setting, problem, seed)


def _growing():
    steps = 1
    while True:
        yield steps
        steps = max(steps + 1, int(GROWTH * steps))


@kernel
def _steps(method, state, rows, columns, u, log, goal):
    """Steps, as in the frame of the sublinear solvers, until so many drew a row; their number."""
    drawn = 0
    for k in range(len(u)):
        if drawn == goal:
            return k
        picks, entries = log[k, 0], log[k, 1]
        method.draw(state, u[k], picks)
        for b in range(1, len(picks)):
            if picks[b] >= 0:
                entries[b] = method.extent(state, columns, picks[b])
        for b in range(1, len(picks)):
            if picks[b] >= 0:
                method.column(state, columns, picks[b], picks[b])
        if picks[0] >= 0:
            entries[0] = np.int64(size(rows, picks[0]))
            method.row(state, rows, picks[0], picks[0])
            drawn += 1
        method.finish(state)
    return len(u)
