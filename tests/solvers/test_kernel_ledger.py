"""The ledger of the kernel solvers: every value that a kernel was asked for is counted, once.

A value of the kernel costs the entries of one of its two rows, the one it is computed *for*. The
kernel of these tests writes down, for each table that it fills, which rows are on both sides: all
rows have different lengths, so that the squared lengths it is given are the names of the rows.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import EnclosingBall, KernelClassifier, Status
from skimlearn.data import kernel_blocks, kernel_rows
from skimlearn.data.columns import as_matrix
from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Csr
from skimlearn.formulas.kernels import Gaussian, Kernel
from skimlearn.formulas.losses import Log
from skimlearn.sampling.kernel_values import KernelEstimator
from skimlearn.solvers import _kernel_qp, _kernel_skim
from skimlearn.solvers._kernel_skim import KernelSkim
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.kernel_ball import kernel_ball
from skimlearn.solvers.kernel_dual import kernel_dual
from skimlearn.solvers.kernel_margin import kernel_margin
from skimlearn.solvers.kernel_perceptron import kernel_perceptron
from skimlearn.solvers.kernel_pgs import kernel_pegasos, kernel_pgs
from skimlearn.solvers.kernel_sampled_qp import kernel_sampled_ball, kernel_sampled_qp
from skimlearn.solvers.kernel_simplex_qp import kernel_exact_qp
from skimlearn.solvers.kernel_svm import kernel_svm

N, D = 60, 4
rng = np.random.default_rng(0)
X = np.where(rng.random((N, D)) < 0.6, rng.normal(size=(N, D)), 0.0)
X[:, 0] = rng.normal(size=N)  # no row is empty
y = np.where((X**2).sum(axis=1) < np.median((X**2).sum(axis=1)), 1.0, -1.0)
SQUARES = (X**2).sum(axis=1)


@dataclass(frozen=True)
class Recorded(Kernel):
    """A Gaussian that remembers for which rows it was computed."""

    tables: ClassVar[list] = []

    def similarity(self, product, left, right):
        return np.exp(-max(left + right - 2.0 * product, 0.0))

    def fill(self, products, left, right):
        assert products.shape == (len(left), len(right))
        self.tables.append((left.copy(), right.copy()))
        Gaussian().fill(products, left, right)


def rows_of(squares):
    """The numbers of the rows with these squared lengths."""
    found = np.abs(SQUARES[None, :] - squares[:, None]).argmin(axis=1)
    np.testing.assert_allclose(SQUARES[found], squares, rtol=1e-9)
    return found


def recorded(lengths):
    """What the tables that were filled cost, beside the lengths of all rows at the beginning."""
    reads = Reads(N * D, int(lengths.sum()))
    for left, right in Recorded.tables:
        assert len(set(rows_of(left))) == len(left)
        others = rows_of(right)
        reads += Reads(len(left) * len(right) * D, len(left) * int(lengths[others].sum()))
    return reads


TWO = np.stack([y, np.where(X[:, 0] > 0.0, 1.0, -1.0)])
LIMITS = Limits(eps=1e-3, max_steps=200)
FEW = Limits(eps=1e-3, max_steps=40)
CASES = {
    "svm": lambda t: kernel_svm(
        t, TWO, np.ones((2, N)), alpha=1e-2, bias="free", limits=LIMITS, seed=0
    ),
    "svm without a bias": lambda t: kernel_svm(
        t, TWO, np.ones((2, N)), alpha=1e-2, bias="none", limits=LIMITS, seed=0
    ),
    "margin": lambda t: kernel_margin(t, TWO, kappa=0.3, bias=True, limits=LIMITS, seed=0),
    "ball": lambda t: [kernel_ball(t, contamination=0.1, limits=LIMITS, seed=0)],
    "qp": lambda t: [kernel_exact_qp(t, SQUARES, cap=0.1, limits=LIMITS, seed=0)],
    "pegasos": lambda t: kernel_pegasos(
        t, TWO, np.ones((2, N)), alpha=1e-1, bias="free", limits=FEW, seed=0
    ),
    "pgs": lambda t: kernel_pgs(
        t, TWO, np.ones((2, N)), loss=Log(), alpha=1e-1, bias="free", limits=FEW, seed=0
    ),
    "dual": lambda t: kernel_dual(
        t, TWO, np.ones((2, N)), loss=Log(), alpha=1e-2, bias="free", limits=LIMITS, seed=0
    ),
    "perceptron": lambda t: [kernel_perceptron(t, y, kappa=0.3, limits=FEW, seed=0)],
    "sampled qp": lambda t: [kernel_sampled_qp(t, limits=FEW, seed=0)],
    "sampled ball": lambda t: [kernel_sampled_ball(t, contamination=0.1, limits=FEW, seed=0)],
}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    Recorded.tables.clear()
    monkeypatch.setattr(_kernel_qp, "WHOLE", 10)  # the working sets grow


@pytest.mark.parametrize("cache_bytes", [45 * 45 * 8, 2**20], ids=["small", "large"])
@pytest.mark.parametrize("form", ["dense", "written out", "csr"])
@pytest.mark.parametrize("name", CASES)
def test_reads_are_those_of_the_values(name, form, cache_bytes, monkeypatch):
    monkeypatch.setattr(kernel_rows, "FILLED", 1 if form == "csr" else 16)
    monkeypatch.setattr(kernel_blocks, "HIGH", 16)
    monkeypatch.setattr(kernel_blocks, "WIDE", 7)
    rows = as_rows(X if form == "dense" else sp.csr_array(X))
    table = KernelRows(rows, Recorded(), cache_bytes)
    results = CASES[name](table)
    lengths = np.full(N, D) if form == "dense" else (X != 0.0).sum(axis=1)
    expected = recorded(lengths)
    total = sum((result.reads for result in results), Reads())
    assert len(Recorded.tables) > 1
    assert table.reads.nnz + table.reads.certificate == expected.nnz
    if table.reads.certificate == 0:
        assert table.reads == expected
    assert total == table.reads
    assert table.values == sum(len(a) * len(b) for a, b in Recorded.tables)
    assert all(r.history[-1].reads <= expected.nnz for r in results)


@pytest.mark.parametrize("name", CASES)
def test_no_value_is_computed_beyond_the_limit(name, monkeypatch):
    lengths = np.full(N, D)
    most = int(lengths.sum()) + 25 * N * D
    table = KernelRows(as_rows(X), Recorded(), 20 * 20 * 8)
    for limits in ("LIMITS", "FEW"):
        monkeypatch.setitem(globals(), limits, Limits(eps=1e-12, max_reads=most))
    results = CASES[name](table)
    assert results[0].status is Status.READS
    assert recorded(lengths).nnz <= most + table.reads.certificate  # proofs are counted apart


# --------------------------------------------------------------------------------------- estimates


@dataclass(frozen=True)
class Known(Gaussian):
    """A Gaussian that can be estimated, and remembers what it was computed for, and why."""

    tables: ClassVar[list] = []
    proving: ClassVar[list] = []

    def fill(self, products, left, right):
        self.tables.append((rows_of(left), rows_of(right), bool(self.proving)))
        Gaussian(self.gamma).fill(products, left, right)


class Lines:
    """A matrix that remembers the lines it is asked for, by their stored entries and by width."""

    def __init__(self, matrix):
        self.matrix, self.given = matrix, Reads()
        self.shape, self.rows, self.columns = matrix.shape, matrix.rows, matrix.columns

    def _give(self, entries, stored):
        self.given += Reads(len(entries), int((entries != 0.0).sum()) if stored else len(entries))
        return entries

    def row(self, i):
        return self._give(self.matrix.row(i), isinstance(self.rows, Csr))

    def column(self, j):
        return self._give(self.matrix.column(j), isinstance(self.rows, Csr))


ESTIMATING = {
    "perceptron": lambda t, limits: kernel_perceptron(
        t, y, kappa=0.3, responses=WAY, limits=limits, seed=0
    ),
    "qp": lambda t, limits: kernel_sampled_qp(t, responses=WAY, limits=limits, seed=0),
    "ball": lambda t, limits: kernel_sampled_ball(
        t, contamination=0.1, responses=WAY, limits=limits, seed=0
    ),
}
WAY = "estimates"


@pytest.fixture
def watched(monkeypatch):
    """The lines of all matrices that estimates are made of; tables know what they are for."""
    given = []

    def wrapped(rows):
        given.append(Lines(as_matrix(rows)))
        return given[-1]

    def exactly(run, coefficients):
        Known.proving.append(True)
        try:
            return original(run, coefficients)
        finally:
            Known.proving.pop()

    original = KernelSkim.exactly
    Known.tables.clear()
    monkeypatch.setattr(_kernel_skim, "as_matrix", wrapped)
    monkeypatch.setattr(KernelSkim, "exactly", exactly)
    monkeypatch.setattr(KernelEstimator, "can", staticmethod(lambda kernel: True))
    return given


def touched(lines, lengths):
    """All reads: of the lengths at the beginning, of the lines, of the values of the kernel."""
    reads = Reads(N * D, int(lengths.sum())) + lines.given
    for left, right, proves in Known.tables:
        stored = len(left) * int(lengths[right].sum())
        reads += Reads(0, 0, stored) if proves else Reads(len(left) * len(right) * D, stored)
    return reads


@pytest.mark.parametrize("way", ["estimates", "auto"])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("name", ESTIMATING)
def test_reads_of_estimates(name, form, way, watched, monkeypatch):
    monkeypatch.setitem(globals(), "WAY", way)
    table = KernelRows(as_rows(X if form == "dense" else sp.csr_array(X)), Known(0.1))
    result = ESTIMATING[name](table, Limits(eps=1e-3, max_steps=40))
    lengths = np.full(N, D) if form == "dense" else (X != 0.0).sum(axis=1)
    assert "estimates" in result.solver
    assert watched[0].given.nnz > 5 * D
    assert result.reads == touched(watched[0], lengths)


@pytest.mark.parametrize("name", ESTIMATING)
def test_estimates_stay_within_the_limit(name, watched):
    for most in range(N * D, N * D + 400, 7):
        watched.clear()
        Known.tables.clear()
        table = KernelRows(as_rows(X), Known(0.1))
        result = ESTIMATING[name](table, Limits(eps=1e-9, max_reads=most))
        assert result.status is Status.READS
        assert result.reads == touched(watched[0], np.full(N, D))
        assert result.reads.nnz <= most


def forget_the_trial():
    """Leave out the points at which a kernel of one's own is tried before a fit."""
    known = [np.abs(SQUARES[None] - a[:, None]).min(axis=1).max() for a, _ in Recorded.tables]
    Recorded.tables[:] = [t for t, far in zip(Recorded.tables, known, strict=True) if far < 1e-9]


def test_reads_of_the_estimators():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = KernelClassifier(Recorded(), alpha=1e-2, random_state=0).fit(X, labels)
    forget_the_trial()
    assert model.result_.reads == recorded(np.full(N, D))
    Recorded.tables.clear()
    ball = EnclosingBall(kernel=Recorded(), random_state=0).fit(X)
    forget_the_trial()
    reads = ball.result_.reads
    inside = len(ball.support_) ** 2 * D  # the square of the centre
    assert reads.nnz + reads.certificate + inside == recorded(np.full(N, D)).nnz
    assert reads.certificate == len(ball.support_) * N * D  # the scores of the rows themselves
