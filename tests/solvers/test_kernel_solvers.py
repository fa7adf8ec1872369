"""Kernel solvers: certificates against exact solvers, naive references, limits, odd data."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, NuSVC, OneClassSVM

from skimlearn import Status
from skimlearn.data import kernel_rows
from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.formulas import losses
from skimlearn.formulas.kernels import Gaussian, Kernel, Linear, Polynomial
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers import _kernel_qp
from skimlearn.solvers import kernel_dual as _kernel_dual
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.kernel_ball import kernel_ball
from skimlearn.solvers.kernel_dual import kernel_dual
from skimlearn.solvers.kernel_margin import kernel_margin
from skimlearn.solvers.kernel_perceptron import kernel_perceptron
from skimlearn.solvers.kernel_pgs import kernel_pegasos, kernel_pgs
from skimlearn.solvers.kernel_sampled_qp import kernel_sampled_ball, kernel_sampled_qp
from skimlearn.solvers.kernel_simplex_qp import kernel_exact_qp, kernel_simplex_qp
from skimlearn.solvers.kernel_svm import kernel_svm


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where((X**2).sum(axis=1) + 0.5 * rng.normal(size=n) < 2.0, 1.0, -1.0)
    return X, y


def opened(X, kernel=None, **options):
    return KernelRows(as_rows(X), kernel or Gaussian(0.5), **options)


def machine(X, y, *, weights=None, alpha=1e-3, bias="free", eps=1e-6, seed=0, **options):
    y = np.atleast_2d(y)
    weights = np.ones(y.shape) if weights is None else weights
    limits = Limits(eps=eps, **{k: options.pop(k) for k in list(options) if k.startswith("max_")})
    table = opened(X, **options)
    return kernel_svm(table, y, weights, alpha=alpha, bias=bias, limits=limits, seed=seed)


def objective(X, y, result, alpha, K):
    h = K @ result.x
    loss = np.maximum(0.0, 1.0 - y * (h + result.bias)).mean()
    return 0.5 * alpha * result.x @ h + loss


# ------------------------------------------------------------------------------------- machines


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_a_machine_is_that_of_libsvm(seed, alpha):
    X, y = problem(seed=seed)
    K = rbf_kernel(X, gamma=0.5)
    result = machine(X, y, alpha=alpha, seed=seed)[0]
    assert result.status is Status.CONVERGED
    svc = SVC(C=1.0 / (alpha * len(y)), gamma=0.5, tol=1e-9).fit(X, y)
    h = svc.decision_function(X) - svc.intercept_
    norm = (svc.dual_coef_ @ K[np.ix_(svc.support_, svc.support_)] @ svc.dual_coef_.T).item()
    loss = np.maximum(0.0, 1.0 - y * (h + svc.intercept_)).mean()
    best = 0.5 * alpha * norm + loss
    certificate = result.certificate
    assert certificate.dual - 1e-9 <= best <= certificate.primal + 1e-6  # LIBSVM is less exact
    assert certificate.primal == pytest.approx(objective(X, y, result, alpha, K))
    np.testing.assert_allclose(K @ result.x, h, atol=1e-3)
    assert abs(result.p.sum()) < 1e-12
    assert (y * result.p >= 0.0).all()
    assert np.abs(result.p).max() <= 1.0 / len(y)


def test_a_machine_without_a_bias():
    X, y = problem(n=60)
    alpha, K = 1e-2, rbf_kernel(X, gamma=0.5)
    result = machine(X, y, alpha=alpha, bias="none", eps=1e-8)[0]

    def loss(v):
        return 0.5 / alpha * v @ K @ v - v @ y, K @ v / alpha - y

    bounds = [(0.0, 1.0 / 60) if label > 0.0 else (-1.0 / 60, 0.0) for label in y]
    best = -minimize(loss, np.zeros(60), jac=True, bounds=bounds, tol=1e-13).fun
    assert result.bias == 0.0
    assert result.certificate.dual <= best + 1e-7
    assert result.certificate.primal >= best - 1e-7
    assert result.certificate.gap <= 1e-8


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_growing_working_sets_reach_the_same_optimum(form, monkeypatch):
    """Few members, more rows than they hold, several programs at once."""
    monkeypatch.setattr(_kernel_qp, "WHOLE", 20)
    monkeypatch.setattr(_kernel_qp, "INNER", 30)
    monkeypatch.setattr(kernel_rows, "FILLED", 0)
    X, y = problem(n=300, seed=3)
    targets = np.stack([y, np.where(X[:, 0] > 0.3, 1.0, -1.0)])
    data = X.astype(np.float32) if form is np.float32 else form(X)
    table = opened(data, cache_bytes=100**2 * (4 if form is np.float32 else 8))
    monkeypatch.setattr("skimlearn.solvers._kernel_run.SMALL", 0)
    results = kernel_svm(
        table, targets, np.ones(targets.shape), alpha=1e-3, bias="free",
        limits=Limits(eps=1e-4), seed=0,
    )  # fmt: skip
    monkeypatch.undo()
    K = rbf_kernel(X, gamma=0.5)
    for labels, result in zip(targets, results, strict=True):
        exact = machine(X, labels)[0].certificate
        assert result.status is Status.CONVERGED
        tolerance = 1e-6 if form is np.float32 else 1e-12
        assert result.certificate.dual <= exact.primal + tolerance
        assert result.certificate.primal >= exact.dual - tolerance
        assert result.certificate.primal == pytest.approx(
            objective(X, labels, result, 1e-3, K), rel=1e-5
        )
    assert sum(r.reads.nnz for r in results) == table.reads.nnz


def test_settled_members_leave_when_others_join(monkeypatch):
    """Though there is room: their part of the matrix would take memory."""
    monkeypatch.setattr(_kernel_qp, "WHOLE", 60)
    X, y = problem(n=300, seed=3)
    K, cap = rbf_kernel(X, gamma=0.5), 10.0 / 300
    programs = _kernel_qp.KernelPrograms(
        opened(X), -y[None], np.where(y > 0.0, 0.0, -cap)[None], np.where(y > 0.0, cap, 0.0)[None],
        np.zeros((1, 300)), scale=10.0, rng=np.random.default_rng(0),
        groups=np.zeros((1, 300), dtype=np.int64),
    )  # fmt: skip
    programs.begin()
    first = programs.members
    programs.solve()
    programs.look()
    np.testing.assert_allclose(programs.g[0], 10.0 * K @ programs.v[0] - y, atol=1e-12)
    slack = programs._slack(np.arange(300))
    new = programs.extend()
    stayed = np.intersect1d(first, programs.members)
    left = np.setdiff1d(first, stayed)
    assert programs.room == 300
    assert 0 < len(left) <= new
    assert len(programs.members) == 60 + new - len(left)
    assert slack[left].min() > np.median(slack)  # none that half of the rows are less settled than
    assert slack[left].min() >= np.delete(slack[first], np.flatnonzero(np.isin(first, left))).max()
    part = K[np.ix_(programs.members, programs.members)]
    count = len(programs.members)
    np.testing.assert_allclose(programs.gram[0, :count, :count], part)  # one panel


def test_weights_are_repetitions():
    X, y = problem(n=40)
    times = np.random.default_rng(0).integers(0, 3, size=40)
    weights = times / times.mean()
    weighted = machine(X, y, weights=weights[None, :], eps=1e-9)[0]
    rows = np.repeat(np.arange(40), times)
    repeated = machine(X[rows], y[rows], eps=1e-9)[0]
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-8)
    assert not weighted.x[times == 0].any()


def test_limits_of_a_machine():
    X, y = problem(n=100)
    nothing = machine(X, y, max_reads=300)[0]
    assert nothing.status is Status.READS
    assert not nothing.x.any()
    assert nothing.certificate.dual == 0.0
    part = machine(X, y, max_reads=300 + 20 * 120 * 3)[0]
    assert part.status is Status.READS
    assert part.x.any()
    assert part.reads.nnz <= 300 + 20 * 120 * 3
    exact = machine(X, y)[0].certificate
    assert part.certificate.dual <= exact.primal
    assert part.certificate.primal >= exact.dual
    with pytest.raises(ValueError, match=r"max_reads=10 is too small: .* 300 entries"):
        machine(X, y, max_reads=10)
    assert machine(X, y, max_steps=1, eps=1e-12)[0].status is Status.STEPS
    assert machine(X, y, max_seconds=0.0, eps=1e-12)[0].status is Status.SECONDS


def test_ctrl_c_and_callbacks_of_a_machine(monkeypatch):
    X, y = problem(n=100)
    table = opened(X)
    arguments = {"alpha": 1e-3, "bias": "free", "limits": Limits(eps=1e-9)}
    stopped = kernel_svm(table, y[None], np.ones((1, 100)), callback=lambda r: True, **arguments)
    assert stopped[0].status is Status.STOPPED

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(_kernel_qp.KernelPrograms, "solve", interrupt)
    result = kernel_svm(table, y[None], np.ones((1, 100)), **arguments)[0]
    assert result.status is Status.INTERRUPTED
    assert math.isfinite(result.certificate.gap)


# ----------------------------------------------------------------------------------------- Pegasos


def naive_bias(loss, y, z):
    """The best bias, the middle one if there are several."""

    def value(b):
        return np.mean([loss.value(s, t) for s, t in zip(z + b, y, strict=True)])

    if isinstance(loss, losses.Hinge):
        found = np.array([value(b) for b in y - z])  # where the loss bends
        best = (y - z)[found <= found.min() + 1e-12]
        return 0.5 * (best.min() + best.max())
    return minimize_scalar(value, bounds=(-20.0, 20.0), options={"xatol": 1e-12}).x


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("name", ["pegasos", "hinge", "log", "squared", "squared_hinge"])
def test_pgs_is_its_naive_version(name, bias):
    """Pegasos is PGS for the hinge, but for a number."""
    X, y = problem(n=50)
    alpha, K, n = 1e-2, rbf_kernel(X, gamma=0.5), 50
    common = {"alpha": alpha, "bias": bias, "limits": Limits(eps=1e-9, max_steps=4 * n), "seed": 5}
    loss = losses.resolve("hinge" if name == "pegasos" else name, labels=True)
    if name == "pegasos":
        ahead, result = 0.0, kernel_pegasos(opened(X), y[None], np.ones((1, n)), **common)[0]
    else:
        ahead = 1.0 if name in ("hinge", "log") else 1.0 + 1.0 / alpha
        result = kernel_pgs(opened(X), y[None], np.ones((1, n)), loss=loss, **common)[0]
    rng, a, t, values = np.random.default_rng(5), np.zeros(n), 0, []
    b = naive_bias(loss, y, np.zeros(n)) if bias == "free" else 0.0
    if bias == "free" and isinstance(loss, losses.Hinge):
        b *= 1.0 - 1e-12  # the side of a tie that rounding takes
    for epoch in range(1, 5):
        lean = 0.0
        for i in rng.permutation(n):
            z = (K[i] @ a + lean) / (alpha * (t + ahead)) if t + ahead else 0.0
            pull = -loss.slope(z + b, y[i])
            a[i] += pull
            lean += pull if bias == "free" else 0.0  # k(x, x) = 1
            t += 1
        coefficients = a / (alpha * (epoch * n + ahead))
        z = K @ coefficients
        b = naive_bias(loss, y, z) if bias == "free" else 0.0
        mean = np.mean([loss.value(s, label) for s, label in zip(z + b, y, strict=True)])
        values.append(0.5 * alpha * coefficients @ z + mean)
    assert result.certificate.primal == pytest.approx(min(values), rel=1e-6)
    assert result.solver == ("pegasos" if name == "pegasos" else "pgs")


def exact_value(K, y, m, loss, alpha, bias):
    """The optimum, by a general minimiser over the coefficients of h and the bias."""
    n = len(y)
    roots = np.linalg.cholesky(K + 1e-12 * np.eye(n))

    def objective(point):
        u, b = point[:n], point[n] if bias == "free" else 0.0
        z = roots @ u + b
        values = [loss.value(s, t) for s, t in zip(z, y, strict=True)]
        slopes = m * [loss.slope(s, t) for s, t in zip(z, y, strict=True)] / n
        gradient = np.append(alpha * u + roots.T @ slopes, slopes.sum() * (bias == "free"))
        return 0.5 * alpha * u @ u + m @ values / n, gradient

    options = {"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(objective, np.zeros(n + 1), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("seed", range(32))
def test_certificates_of_all_losses_hold(seed):
    rng = np.random.default_rng(seed)
    name = ["log", "squared_hinge", "squared", "huber"][seed % 4]
    bias = ["free", "none"][seed // 4 % 2]
    alpha, n = float(10.0 ** rng.uniform(-3.0, -0.5)), 40
    X, y = problem(n=n, seed=seed)
    m = rng.uniform(0.2, 2.0, size=n)
    m /= m.mean()
    loss = losses.resolve(name, labels=True)
    best = exact_value(rbf_kernel(X, gamma=0.5), y, m, loss, alpha, bias)
    common = {"loss": loss, "alpha": alpha, "bias": bias, "seed": seed}
    near, far = Limits(eps=1e-8, max_steps=10**6), Limits(eps=0.1, max_steps=2000 * n)
    for solve, limits in ((kernel_dual, near), (kernel_pgs, far)):
        result = solve(opened(X), y[None], m[None], limits=limits, **common)[0]
        certificate = result.certificate
        assert certificate.dual - 1e-9 <= best <= certificate.primal + 1e-9
        assert result.status is Status.CONVERGED
        if bias == "free":
            assert abs(result.p.sum()) < 1e-12


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("bias", ["free", "none"])
def test_dual_ascent_for_the_hinge_is_the_machine(form, bias, monkeypatch):
    monkeypatch.setattr(_kernel_dual, "BLOCK", 16)
    X, y = problem(n=80)
    data = X.astype(np.float32) if form is np.float32 else form(X)
    eps = 1e-4 if form is np.float32 else 1e-7
    weights = np.ones((1, 80))
    weights[0, :10] = 0.0
    weights /= weights.mean()
    found = kernel_dual(
        opened(data, cache_bytes=20 * 80 * 8), y[None], weights, loss=losses.Hinge(), alpha=1e-2,
        bias=bias, limits=Limits(eps=eps), seed=0,
    )[0]  # fmt: skip
    exact = machine(X, y, alpha=1e-2, bias=bias, weights=weights, eps=1e-9)[0].certificate
    assert found.status is Status.CONVERGED
    assert found.certificate.dual <= exact.primal + 1e-7
    assert found.certificate.primal >= exact.dual - 1e-7
    assert not found.x[:10].any()


def test_limits_of_dual_ascent():
    X, y = problem(n=80)
    common = {"loss": losses.Log(), "alpha": 1e-3, "bias": "free", "seed": 0}

    def run(**limits):
        limits = Limits(**{"eps": 1e-13, **limits})
        return kernel_dual(opened(X), y[None], np.ones((1, 80)), limits=limits, **common)[0]

    assert run(max_steps=160).status is Status.STEPS
    assert run(max_seconds=0.0).status is Status.SECONDS
    assert run(max_reads=240).status is Status.READS
    assert run().status in (Status.STALLED, Status.CONVERGED)


def test_pegasos_converges_and_stops():
    X, y = problem(n=80)
    common = {"alpha": 1e-2, "bias": "free", "seed": 0}
    weights = np.ones((2, 80))
    targets = np.stack([y, -y])
    table = opened(X)
    limits = Limits(eps=0.05, max_steps=80 * 400)
    results = kernel_pegasos(table, targets, weights, limits=limits, **common)
    assert [r.status for r in results] == [Status.CONVERGED] * 2
    assert sum(r.reads.nnz for r in results) == table.reads.nnz
    limits = Limits(eps=0.05, max_reads=240 * 12)
    few = kernel_pegasos(opened(X), targets[:1], weights[:1], limits=limits, **common)[0]
    assert few.status is Status.READS
    assert few.reads.nnz <= 240 * 12
    limits = Limits(eps=1e-9, max_seconds=0.0)
    assert (
        kernel_pegasos(opened(X), targets[:1], weights[:1], limits=limits, **common)[0].status
        is Status.SECONDS
    )


# ------------------------------------------------------------------------------------------ margins


@pytest.mark.parametrize("kappa", [0.2, 0.5])
def test_a_soft_margin_is_that_of_nu_svm(kappa):
    X, y = problem(n=120, seed=1)
    K = rbf_kernel(X, gamma=0.5)
    result = kernel_margin(
        opened(X), y[None], kappa=kappa, bias=True, limits=Limits(eps=1e-7), seed=0
    )[0]
    nu = NuSVC(nu=kappa, gamma=0.5, tol=1e-9).fit(X, y)
    p = np.zeros(120)
    p[nu.support_] = np.abs(nu.dual_coef_[0])
    p /= p.sum()
    best = math.sqrt((p * y) @ K @ (p * y))
    assert result.certificate.primal <= best + 1e-6
    assert result.certificate.dual >= best - 1e-6
    assert result.certificate.gap <= 1e-7
    responses = np.sort(y * (K @ result.x + result.bias))
    assert responses[: round(kappa * 120)].mean() == pytest.approx(result.certificate.primal)
    assert result.x @ K @ result.x <= 1.0 + 1e-9


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("responses", ["exact", "auto", "estimates"])
def test_the_perceptron_brackets_the_margin(bias, responses):
    X, y = problem(n=60, seed=2)
    for seed in range(2):
        limits = Limits(eps=0.08, max_steps=250)
        table = opened(X, Gaussian(0.1))
        result = kernel_perceptron(
            table, y, kappa=0.3, bias=bias, responses=responses, limits=limits, seed=seed
        )
        exact = kernel_margin(
            opened(X, Gaussian(0.1)), y[None], kappa=0.3, bias=bias, limits=Limits(eps=1e-8)
        )[0].certificate
        assert result.certificate.primal <= exact.dual + 1e-9
        assert result.certificate.dual >= exact.primal - 1e-9
        assert result.certificate.gap < 0.5
        assert result.reads == table.reads
        if responses == "exact":
            assert result.solver == "perceptron (exact rows)"
        else:
            assert "estimates" in result.solver or "exact rows" in result.solver


def test_the_perceptron_is_its_naive_version():
    X, y = problem(n=40)
    K, steps = rbf_kernel(X, gamma=0.5), 100
    limits = Limits(eps=1e-9, max_steps=steps)
    result = kernel_perceptron(opened(X), y, kappa=0.1, responses="exact", limits=limits, seed=9)
    rng, S, counts, mean = np.random.default_rng(9), np.zeros(40), np.zeros(40), np.zeros(40)
    signed = np.outer(y, y) * K
    values, checks = [], {32, 48, 72, 100}
    for t in range(1, steps + 1):
        eta = min(math.sqrt(math.log(40) / t), 0.5)
        p = capped_softmax(-eta * S, 0.25)
        i = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum(), side="right"))
        factor = 1.0 / max(math.sqrt(2 * t), math.sqrt(counts @ signed @ counts))
        S += np.clip(factor * (signed @ counts), -1 / eta, 1 / eta)
        mean += factor * counts
        counts[i] += 1
        if t in checks:
            c = np.sort(signed @ mean)[:4].mean() / math.sqrt(mean @ signed @ mean)
            values.append(c)
    assert result.certificate.primal >= max(values) - 1e-9
    if result.certificate.primal > max(values) + 1e-9:  # the sum of rows was better
        assert not np.allclose(result.x, mean * y / math.sqrt(mean @ signed @ mean))


def test_estimates_are_given_up_when_rows_are_cheaper():
    X, y = problem(n=60)
    limits = Limits(eps=1e-9, max_steps=128)
    wide = np.hstack([X, 0.01 * np.random.default_rng(0).normal(size=(60, 40))])
    result = kernel_perceptron(opened(wide, Gaussian(0.1)), y, limits=limits, seed=0)
    assert "then exact rows" in result.solver
    only = kernel_perceptron(
        opened(wide, Gaussian(0.1)), y, responses="estimates", limits=limits, seed=0
    )
    assert only.solver == "perceptron (estimates)"


def test_a_perceptron_within_its_reads():
    X, y = problem(n=60)
    limits = Limits(eps=1e-9, max_reads=60 * 3 * 10)
    result = kernel_perceptron(opened(X), y, responses="exact", limits=limits, seed=0)
    assert result.status is Status.READS
    assert result.reads.nnz <= 60 * 3 * 10


def test_kernels_without_estimates():
    class Plain(Kernel):
        def similarity(self, product, left, right):
            return product

    X, y = problem(n=10)
    with pytest.raises(ValueError, match="can't be had for kernel"):
        kernel_perceptron(
            opened(X, Plain()), y, responses="estimates", limits=Limits(eps=0.1, max_steps=9)
        )
    with pytest.raises(ValueError, match="responses='noisy' must be one of"):
        kernel_perceptron(opened(X), y, responses="noisy", limits=Limits(eps=0.1, max_steps=9))


# ------------------------------------------------------------------------------ balls and programs


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_a_ball_is_a_one_class_machine(nu):
    X, _ = problem(n=120)
    K = rbf_kernel(X, gamma=0.5)
    result = kernel_ball(opened(X), contamination=nu, limits=Limits(eps=1e-8), seed=0)
    one = OneClassSVM(nu=nu, gamma=0.5, tol=1e-9).fit(X)
    p = np.zeros(120)
    p[one.support_] = one.dual_coef_[0]
    p /= p.sum()
    assert result.certificate.dual == pytest.approx(1.0 - p @ K @ p, rel=1e-6)
    assert result.certificate.gap <= 1e-8
    distances = 1.0 - 2.0 * K @ result.x + result.x @ K @ result.x
    assert (distances > result.bias + 1e-9).sum() <= round(nu * 120)
    sampled = kernel_sampled_ball(
        opened(X), contamination=nu, limits=Limits(eps=0.1, max_steps=4000), seed=0
    )
    assert sampled.status is Status.CONVERGED
    assert sampled.certificate.dual <= result.certificate.primal + 1e-9
    assert sampled.certificate.primal >= result.certificate.dual - 1e-9
    assert sampled.solver.startswith("sampled (")


@pytest.mark.pure_python
@pytest.mark.parametrize("cap", [1.0, 0.1])
def test_simplex_programs_against_slsqp(cap):
    X, _ = problem(n=20)
    kernel = Polynomial(2.0, 0.5, 1.0)
    K = (0.5 * X @ X.T + 1.0) ** 2
    b = np.random.default_rng(1).normal(size=20)
    best = minimize(
        lambda p: (b @ p + p @ K @ p, b + 2 * K @ p), np.full(20, 0.05), jac=True,
        bounds=[(0.0, cap)] * 20, method="SLSQP", tol=1e-14,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
    ).fun  # fmt: skip
    limits = Limits(eps=1e-9)
    result = kernel_exact_qp(opened(X, kernel), b, cap=cap, limits=limits)
    assert result.certificate.dual - 1e-7 <= best <= result.certificate.primal + 1e-7
    assert result.certificate.gap <= 1e-9
    assert result.p.max() <= cap + 1e-12
    assert result.p.sum() == pytest.approx(1.0)
    sampled = kernel_sampled_qp(
        opened(X, kernel), b, cap=cap, limits=Limits(eps=0.3, max_steps=1000), seed=0
    )
    assert sampled.certificate.dual <= best + 1e-7
    assert sampled.certificate.primal >= best - 1e-7


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "working-set", "sampled"])
def test_the_public_simplex_program(solver, form):
    X, _ = problem(n=60)
    gamma = 1.0 / (X.shape[1] * X.var())  # what "scale" stands for
    K, b = rbf_kernel(X, gamma=gamma), np.random.default_rng(2).normal(size=60) / 10.0
    exact = kernel_exact_qp(
        opened(X, Gaussian(gamma)), b, cap=0.1, limits=Limits(eps=1e-9)
    ).certificate  # fmt: skip
    eps = 0.1 if solver == "sampled" else 1e-6
    result = kernel_simplex_qp(form(X), b, cap=0.1, solver=solver, eps=eps, random_state=0)
    certificate = result.certificate
    assert result.status is Status.CONVERGED
    assert certificate.gap <= eps
    assert result.p @ b + result.p @ K @ result.p == pytest.approx(certificate.primal, rel=1e-9)
    assert certificate.dual <= exact.primal + 1e-9
    assert certificate.primal >= exact.dual - 1e-9
    assert result.p.max() <= 0.1 + 1e-12
    assert result.solver.startswith("sampled" if solver == "sampled" else "working-set")


def test_the_public_simplex_program_refuses():
    for options, message in (
        ({"solver": "exact"}, "solver='exact' must be one of"),
        ({"cap": 0.01}, "cap=0.01 must be at least 1/n"),
        ({"b": [1.0]}, "b must hold 3 finite numbers"),
        ({"kernel": "linear", "gamma": 0.5}, "gamma=0.5 has no meaning"),
        ({"eps": 0.0}, "eps=0.0 must be positive"),
        ({"max_reads": 1}, "max_reads=1 is too small"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel_simplex_qp(np.eye(3), **options)
    with pytest.raises(ValueError, match="contains NaN"):
        kernel_simplex_qp([[np.nan]])


# ----------------------------------------------------------------------------------------- odd data


@pytest.mark.pure_python
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 2)),
        np.ones((6, 2)),
        np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0),
        np.full((6, 2), 1e-200),
    ],
    ids=["zeros", "constant", "duplicates", "tiny"],
)
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_rows_that_are_hard_to_tell_apart(X, kernel):
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    for bias in ("free", "none"):
        result = machine(X, y, bias=bias, kernel=kernel, eps=1e-6)[0]
        assert result.status is Status.CONVERGED
    ball = kernel_ball(opened(X, kernel), contamination=0.3, limits=Limits(eps=1e-3))
    assert math.isfinite(ball.certificate.gap)
    limits = Limits(eps=0.5, max_steps=64)
    assert math.isfinite(kernel_perceptron(opened(X, kernel), y, limits=limits).certificate.gap)


@pytest.mark.pure_python
def test_a_single_row():
    table = opened(np.array([[1.0, 2.0]]))
    ball = kernel_ball(table, limits=Limits(eps=1e-3))
    assert ball.status is Status.CONVERGED
    assert ball.bias == pytest.approx(0.0, abs=1e-12)
    qp = kernel_exact_qp(table, limits=Limits(eps=1e-3))
    assert qp.p.tolist() == [1.0]
