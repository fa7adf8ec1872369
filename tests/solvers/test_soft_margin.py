"""Soft margins: bounds against exact SVMs, what an answer means for the SVM, paths, errors."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.svm import SVC

from skimlearn import Oracle, Status, soft_margin_path
from skimlearn import soft_margin as any_soft_margin
from skimlearn.sampling.simplex import top_mass, water_level
from skimlearn.solvers import lazy_simba
from skimlearn.solvers._worst import Worst

soft_margin = partial(any_soft_margin, solver="simba")


def cloud(seed, n=24, d=4, shift=0.6):
    """Two classes that overlap, with rows no longer than 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    direction = rng.normal(size=d)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    X += np.outer(shift * y + 0.2 * rng.normal(), direction / np.linalg.norm(direction))
    return X / np.linalg.norm(X, axis=1).max(), y


class Exact:
    """The SVM  ||w||^2 / 2 + C sum of hinge losses  solved by libsvm, and its margins.

    Without a bias the rows are joined by their negatives, whose best bias is 0.
    """

    def __init__(self, X, y, C, bias):
        n = len(y)
        if not bias:
            X, y, C = np.r_[X, -X], np.r_[y, -y], C / 2.0
        svm = SVC(kernel="linear", C=C, tol=1e-10, shrinking=False).fit(X, y)
        self.w, self.b = svm.coef_[0], float(svm.intercept_[0]) if bias else 0.0
        self.norm = float(np.linalg.norm(self.w))
        duals = np.abs(svm.dual_coef_[0])
        c = y * (X @ self.w + self.b)
        loss = np.maximum(0.0, 1.0 - c)
        self.loss = loss.mean()
        self.value = 0.5 * self.norm**2 + C * loss.sum()
        assert self.value == pytest.approx(duals.sum() - 0.5 * self.norm**2, rel=1e-6)
        # problem (3) at this nu has this margin
        self.nu, self.margin = self.loss / self.norm, 1.0 / self.norm
        # the mean of this fraction of least responses is greatest at w, and is this
        self.kappa = duals.sum() / (len(y) * C)
        self.mean = self.norm / duals.sum()
        assert abs(self.b) <= self.norm  # neither the bias
        assert loss.max() <= 2.0 * self.norm  # nor the slack is at its limit
        assert self.kappa * n >= 1.0


def objective(X, y, w, b, alpha):
    """The SVM's objective, and the least there is."""
    value = 0.5 * alpha * (w @ w) + np.maximum(0.0, 1.0 - y * (X @ w + b)).mean()
    exact = Exact(X, y, 1.0 / (alpha * len(y)), bias=b != 0.0)
    return value, 0.5 * alpha * exact.norm**2 + exact.loss


def form_of(X, k):
    if k % 3 == 1:
        return sp.csr_array(X)
    if k % 3 == 2:
        return Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j])
    return X


# ---------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("form", ["nu", "kappa"])
@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_bracket_the_optimum_and_close(form, bias, seed):
    X, y = cloud(seed, shift=[0.6, 1.0][seed % 2])
    exact = Exact(X, y, [0.5, 2.0, 10.0][seed % 3], bias)
    given = {form: getattr(exact, form)}
    result = soft_margin(
        form_of(X, seed), y, **given, bias=bias, eps=0.1, max_steps=60_000, random_state=seed
    )
    certificate = result.certificate
    optimum = exact.margin if form == "nu" else exact.mean
    assert result.status is Status.CONVERGED
    assert (certificate.failure, certificate.gap <= 0.1) == (0.0, True)
    assert certificate.lower - 1e-6 <= optimum <= certificate.upper + 1e-6
    # the answers are what the bounds say
    assert np.linalg.norm(result.x) <= 1.0 + 1e-12
    assert abs(result.bias) <= 1.0 + 1e-12
    assert bias or result.bias == 0.0
    c = y * (X @ result.x + result.bias)
    p, bound = result.p, np.linalg.norm(X.T @ (result.p * y))
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0)
    if bias:
        bound += abs(p @ y)
    if form == "nu":
        assert water_level(c, exact.nu * 24, 2.0) == pytest.approx(certificate.lower, abs=1e-9)
        bound += top_mass(p, exact.nu * 24, 2.0)
    else:
        share = exact.kappa * 24
        least = np.sort(c)
        whole = int(share + 1e-9)
        mean = (least[:whole].sum() + (share - whole) * least[min(whole, 23)]) / share
        assert mean == pytest.approx(certificate.lower, abs=1e-7)
        assert p.max() <= (1.0 + 1e-8) / share
    assert bound <= certificate.upper + 1e-9


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_are_right_where_rows_are_left_alone(bias, seed, monkeypatch):
    monkeypatch.setattr(lazy_simba, "FEW", math.inf)
    X, y = cloud(seed, shift=[0.6, 1.0][seed % 2])
    exact = Exact(X, y, [0.5, 2.0, 10.0][seed % 3], bias)
    mode = ["las-vegas", "las-vegas", "high-probability"][seed % 3]
    result = soft_margin(
        sp.csr_array(X), y, kappa=exact.kappa, bias=bias, eps=0.1, batch=1 + seed % 2, mode=mode,
        max_steps=60_000, random_state=seed,
    )  # fmt: skip
    certificate, p = result.certificate, result.p
    assert result.status is Status.CONVERGED
    assert certificate.lower - 1e-6 <= exact.mean <= certificate.upper + 1e-6
    assert (p.min() >= 0.0, p.sum()) == (True, pytest.approx(1.0))
    assert p.max() <= (1.0 + 1e-8) / (exact.kappa * 24)
    if mode == "las-vegas":
        bound = np.linalg.norm(X.T @ (p * y)) + (abs(p @ y) if bias else 0.0)
        assert bound <= certificate.upper + 1e-9


def test_a_path_of_slacks_is_the_same_on_rows_of_few_entries(monkeypatch):
    """The slack touches all rows: there is nothing to leave alone."""
    X, y = cloud(4)
    options = {"nu": [0.1, 0.3], "bias": True, "max_steps": 500, "random_state": 0}
    usual = list(soft_margin_path(sp.csr_array(X), y, **options))
    monkeypatch.setattr(lazy_simba, "FEW", math.inf)
    for a, b in zip(usual, soft_margin_path(sp.csr_array(X), y, **options), strict=True):
        assert a.certificate == b.certificate


@pytest.mark.parametrize("kappa", [0.01, 1.0])
def test_the_ends_of_the_path(kappa):
    """One row is the hard margin; all rows are parted by the mean row."""
    X, y = cloud(1, shift=2.0)
    A = y[:, None] * X
    certificate = soft_margin(X, y, kappa=kappa, eps=0.02, random_state=0).certificate
    if kappa == 1.0:
        optimum = np.linalg.norm(A.mean(axis=0))
    else:
        hard = soft_margin(X, y, nu=0.0, eps=0.02, random_state=0).certificate
        assert hard == certificate  # the same steps
        p, _ = nnls(np.vstack([A.T, np.ones(24)]), np.r_[np.zeros(4), 1.0])
        optimum = np.linalg.norm(A.T @ p) / p.sum()
    assert certificate.lower - 1e-9 <= optimum <= certificate.upper + 1e-9


def test_a_cap_of_slack_that_binds_is_part_of_the_problem():
    X, y = cloud(2)
    result = soft_margin(X, y, nu=5.0, eps=0.05, random_state=0)  # all rows get slack 2
    assert result.status is Status.CONVERGED
    assert result.certificate.lower >= 2.0
    assert result.certificate.upper <= 2.0 + np.linalg.norm((y[:, None] * X).mean(axis=0)) + 0.05


@pytest.mark.parametrize("form", ["nu", "kappa"])
@pytest.mark.parametrize("bias", [False, True])
def test_planned_steps_are_taken_and_suffice(form, bias):
    X, y = cloud(3)
    exact = Exact(X, y, 2.0, bias)
    options = {form: getattr(exact, form), "bias": bias, "eps": 1e-9, "random_state": 0}
    result = soft_margin(X, y, steps=6000, **options)
    assert result.status is Status.STEPS
    assert result.history[-1].epoch == 6000
    optimum = exact.margin if form == "nu" else exact.mean
    assert optimum - 0.1 < result.certificate.lower <= optimum + 1e-7
    assert soft_margin(X, y, steps=6000, max_steps=50, **options).history[-1].epoch == 50


@pytest.mark.parametrize("form", ["nu", "kappa"])
@pytest.mark.parametrize("bias", [False, True])
def test_high_probability_and_monte_carlo(form, bias):
    X, y = cloud(4)
    exact = Exact(X, y, 2.0, bias)
    options = {form: getattr(exact, form), "bias": bias, "eps": 0.3}
    optimum, good = exact.margin if form == "nu" else exact.mean, 0
    worst = Worst(24, 1.0, options.get("nu", 0.0), 1 / (24 * options.get("kappa", 1 / 24)), bias)
    for seed in range(20):
        sure = soft_margin(X, y, mode="high-probability", **options, random_state=seed)
        assert sure.status is Status.CONVERGED
        assert sure.certificate.lower - 1e-7 <= optimum <= sure.certificate.upper + 1e-7
        quick = soft_margin(X, y, mode="monte-carlo", **options, random_state=seed)
        assert quick.status is Status.PLANNED
        assert quick.certificate.lower == -math.inf
        assert optimum - 1e-7 <= quick.certificate.upper < math.inf
        assert math.isnan(quick.margin)
        assert math.isnan(quick.alpha)
        assert math.isnan(quick.C)
        good += worst.value(y * (X @ quick.x + quick.bias)) >= optimum - 0.3
    assert good >= 10


def test_the_mean_of_p_may_be_trusted():
    """Where counts alone say little: many rows share the cap, and the steps are few."""
    X, y = cloud(5, n=4000, d=10, shift=1.5)
    wrong = 0
    tight = soft_margin(X, y, kappa=0.5, eps=0.01, random_state=0).certificate
    for seed in range(20):
        result = soft_margin(
            X, y, kappa=0.5, eps=0.3, mode="high-probability", delta=0.2, random_state=seed
        )
        assert result.status is Status.CONVERGED
        assert result.certificate.failure == 0.2
        wrong += not result.certificate.upper >= tight.lower
    assert wrong <= 4


def test_a_distribution_is_moved_below_the_cap():
    worst = Worst(5, 1.0, cap=0.3)
    p, moved = worst.allowed(np.array([0.6, 0.2, 0.1, 0.1, 0.0]))
    np.testing.assert_allclose(p, [0.3, 0.3, 0.2, 0.2, 0.0])
    assert moved == pytest.approx(0.6)
    same = np.full(5, 0.2)
    assert worst.allowed(same) == (same, 0.0)
    assert worst.allowed(np.array([0.5, 0.5, 0.0, 0.0, 0.0]))[1] == math.inf


@pytest.mark.parametrize("worst", [
    Worst(24, 1.0), Worst(24, 1.0, nu=0.1), Worst(24, 1.0, cap=0.2), Worst(24, 1.0, bias=True),
    Worst(24, 1.0, nu=0.1, bias=True), Worst(24, 1.0, cap=0.13, bias=True),
])  # fmt: skip
@pytest.mark.parametrize("seed", range(5))
def test_the_best_multiple_and_bias_beat_a_grid(worst, seed):
    X, y = cloud(seed, shift=[0.2, 1.0][seed % 2])
    rng = np.random.default_rng(seed)
    c, norm = (y[:, None] * X) @ (y @ X / 24), float(np.linalg.norm(y @ X / 24))
    guess = float(rng.uniform(-1, 1)) if worst.bias else 0.0
    value, factor, bias = worst.improve(c, y, norm, guess)
    assert 0.0 <= factor * norm <= 1.0 + 1e-12
    assert abs(bias) <= 1.0
    assert worst.value(factor * c + bias * y) == pytest.approx(value, abs=1e-12)
    biases = np.linspace(-1, 1, 41) if worst.bias else [0.0]
    # either alone cannot be improved, and nothing at all is no better
    assert value >= max(worst.value(factor * c + b * y) for b in biases) - 1e-6
    factors = np.linspace(0.0, 1.0 / norm, 21)
    assert value >= max(worst.value(f * c + bias * y) for f in factors) - 1e-6
    assert value >= worst.value(np.zeros(24))


# ------------------------------------------------------------------------------------ as an SVM


@pytest.mark.parametrize("form", ["nu", "kappa"])
@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_nearly_that_of_an_svm(form, seed):
    X, y = cloud(seed, shift=[0.6, 1.0][seed % 2])
    C = [0.5, 2.0, 10.0][seed % 3]
    exact = Exact(X, y, C, False)
    result = soft_margin(X, y, **{form: getattr(exact, form)}, eps=0.02, random_state=seed)
    w = result.x / result.margin
    assert pytest.approx(1.0 / (result.alpha * 24)) == result.C
    value, least = objective(X, y, w, 0.0, result.alpha)
    within = result.kappa / result.margin * result.certificate.gap
    assert least - 1e-7 <= value <= least + within + 1e-7
    assert result.alpha == pytest.approx(1.0 / (24 * C), rel=0.5)
    assert result.nu == pytest.approx(exact.nu, abs=0.05)
    assert result.kappa == pytest.approx(exact.kappa, rel=0.3)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_rescaled_predictor_is_as_good_as_the_lemma_says(bias, seed):
    X, y = cloud(seed)
    exact = Exact(X, y, 2.0, bias)
    result = soft_margin(X, y, nu=exact.nu, bias=bias, eps=0.05, random_state=seed)
    eps = max(exact.margin - result.certificate.lower, 0.0)
    factor = 1.0 / (1.0 - exact.norm * eps) + 1e-6
    w, b = result.x / result.margin, result.bias / result.margin
    assert np.linalg.norm(w) <= factor * exact.norm
    assert np.maximum(0.0, 1.0 - y * (X @ w + b)).mean() <= factor * exact.loss


def test_an_answer_no_better_than_none():
    X, y = cloud(6, shift=0.0)
    result = soft_margin(X, y, kappa=0.1, eps=0.05, random_state=0)
    assert result.certificate.lower == result.margin == 0.0
    assert (result.alpha, result.C) == (0.0, math.inf)
    result = soft_margin(X, y, nu=0.1, bias=True, eps=0.05, random_state=0)
    assert result.certificate.lower >= 0.1  # nu is the value of the weights 0
    result = soft_margin(X, y, nu=0.1, max_steps=0)
    assert math.isnan(result.margin)


@pytest.mark.parametrize("given", [{"nu": 0.1}, {"kappa": 0.3}, {"nu": 0.0}])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("X", [np.zeros((3, 2)), np.eye(3), [[0.5], [-0.5], [0.25]]])
def test_the_smallest_problems(given, bias, X):
    for form in (X, sp.csr_array(np.asarray(X, dtype=float))):
        for mode in ("las-vegas", "high-probability", "monte-carlo"):
            result = soft_margin(
                form, [1, -1, 1], **given, bias=bias, eps=0.2, mode=mode, max_steps=40_000,
                random_state=0,
            )  # fmt: skip
            assert result.status in (Status.CONVERGED, Status.PLANNED)
            assert result.certificate.lower <= result.certificate.upper + 1e-12


# ----------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("bias", [False, True])
def test_every_point_of_a_path_is_certified_and_cheaper_than_alone(bias):
    X, y = cloud(7, n=60, d=10)
    points = [Exact(X, y, C, bias) for C in (10.0, 5.0, 2.5, 1.2)]
    options = {"bias": bias, "eps": 0.05}
    warm = cold = 0
    for seed in range(5):
        path = soft_margin_path(X, y, nu=[e.nu for e in points], **options, random_state=seed)
        for exact, result in zip(points, path, strict=True):
            certificate = result.certificate
            assert result.status is Status.CONVERGED
            assert certificate.gap <= 0.05
            assert certificate.lower - 1e-7 <= exact.margin <= certificate.upper + 1e-7
            assert result.nu == exact.nu
            assert np.linalg.norm(result.x) <= 1.0 + 1e-12
            assert result.p.sum() == pytest.approx(1.0)
            warm += result.reads.nnz
        alone = [soft_margin(X, y, nu=e.nu, **options, random_state=seed) for e in points]
        cold += sum(result.reads.nnz for result in alone)
    assert warm < cold


def test_a_path_of_an_oracle_asks_for_each_line_once():
    X, y = cloud(8)
    asked = []
    oracle = Oracle(
        X.shape,
        row=lambda i: asked.append(("row", i)) or X[i],
        column=lambda j: asked.append(("column", j)) or X[:, j],
    )
    results = list(soft_margin_path(oracle, y, nu=[0.05, 0.1, 0.2], eps=0.1, random_state=0))
    plain = list(soft_margin_path(X, y, nu=[0.05, 0.1, 0.2], eps=0.1, random_state=0))
    for result, other in zip(results, plain, strict=True):
        np.testing.assert_allclose(result.x, other.x, rtol=1e-8)
    assert len(asked) == len(set(asked))
    assert sum(r.reads.nnz + r.reads.certificate for r in results) == oracle.reads


@pytest.mark.parametrize("mode", ["high-probability", "monte-carlo"])
def test_paths_in_other_modes(mode):
    X, y = cloud(9)
    points = [Exact(X, y, C, False) for C in (5.0, 2.0, 1.0)]
    path = soft_margin_path(X, y, nu=[e.nu for e in points], eps=0.3, mode=mode, random_state=0)
    for exact, result in zip(points, path, strict=True):
        assert result.status is (Status.PLANNED if mode == "monte-carlo" else Status.CONVERGED)
        assert result.certificate.lower - 1e-7 <= exact.margin <= result.certificate.upper + 1e-7


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nu=None and kappa=None: give one of them"),
        ({"nu": 0.1, "kappa": 0.1}, r"nu=0\.1 and kappa=0\.1: give one of them"),
        ({"nu": -0.1}, r"nu=-0\.1 must be a number, 0 or more"),
        ({"nu": math.nan}, "nu=nan"),
        ({"nu": math.inf}, "nu=inf"),
        ({"kappa": 0.0}, r"kappa=0\.0 must lie in \(0, 1\]"),
        ({"kappa": 1.1}, r"kappa=1\.1"),
        ({"nu": 0.1, "batch": 0}, "batch=0"),
        ({"nu": 0.1, "steps": 0}, "steps=0"),
        ({"nu": 0.1, "eps": 0.0}, r"eps=0\.0"),
        ({"nu": 0.1, "mode": "sure"}, "mode='sure'"),
        ({"nu": 0.1, "delta": 2.0}, r"delta=2\.0"),
        ({"nu": 0.1, "y": [1, 2]}, r"the labels must be \+1 and -1"),
        ({"nu": 0.1, "max_reads": -3}, "max_reads=-3"),
    ],
)
def test_bad_parameters_are_named(options, message):
    good = {"X": [[1.0, 2.0], [3.0, 4.0]], "y": [1, -1]}
    with pytest.raises(ValueError, match=message):
        soft_margin(**good | options)


@pytest.mark.parametrize("nu", [[], [0.1, 0.0], [-1.0], [math.nan]])
def test_bad_paths_are_refused_at_once(nu):
    with pytest.raises(ValueError, match="must hold positive numbers"):
        soft_margin_path([[1.0], [2.0]], [1, -1], nu=nu)
    with pytest.raises(ValueError, match=r"eps=0\.0"):
        soft_margin_path([[1.0], [2.0]], [1, -1], nu=[0.1], eps=0.0)


@pytest.mark.pure_python
@pytest.mark.parametrize("given", [{"nu": 0.1}, {"kappa": 0.3}])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_soft_margins_in_plain_python(given, kind):
    X, y = cloud(10, n=10, d=3)
    for mode in ("las-vegas", "high-probability"):
        result = soft_margin(
            kind(X), y, **given, bias=True, batch=2, eps=0.5, mode=mode, max_steps=80,
            random_state=0,
        )  # fmt: skip
        assert result.certificate.lower <= result.certificate.upper
    if "nu" in given:
        assert len(list(soft_margin_path(kind(X), y, nu=[0.1, 0.2], eps=0.3, max_steps=60))) == 2
