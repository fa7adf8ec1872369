"""The choice between the margin solvers: right whichever is taken, and taken as predicted."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import Oracle, Status, max_margin, soft_margin
from skimlearn.data.columns import as_matrix
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.working_set import working_set


def cloud(seed, n=120, d=30, margin=0.2):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    y = rng.choice([-1.0, 1.0], size=n)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    X += np.outer(y * rng.uniform(margin, 0.6, size=n) - X @ w, w)
    return X / np.linalg.norm(X, axis=1).max(), y


def exact(X, y, kappa, bias):
    cap = 1.0 if kappa is None else 1.0 / (kappa * len(y))
    return working_set(as_matrix(X), y, cap=cap, bias=bias, limits=Limits(eps=1e-9)).certificate


@pytest.mark.parametrize("solver", ["auto", "simba", "tracking", "extragradient", "working-set"])
@pytest.mark.parametrize("kappa", [None, 0.3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_solver_brackets_the_optimum(solver, kappa, bias, seed):
    X, y = cloud(seed)
    best = exact(X, y, kappa, bias)
    form = {"nu": 0.0} if kappa is None else {"kappa": kappa}
    answer = soft_margin(X, y, **form, bias=bias, eps=0.05, solver=solver, random_state=seed)
    assert answer.status is Status.CONVERGED
    assert answer.certificate.lower <= best.upper + 1e-9
    assert answer.certificate.upper >= best.lower - 1e-9
    assert answer.certificate.gap <= 0.05


@pytest.mark.parametrize(
    ("options", "solver"),
    [
        ({"eps": 1e-3}, "working-set"),
        ({"eps": 1.0}, "tracking"),
        ({"eps": 0.2, "mode": "monte-carlo"}, "simba"),
        ({"eps": 0.3, "mode": "high-probability"}, "tracking"),
        ({"eps": 0.3, "q": 1.5}, "simba"),
    ],
)
def test_the_choice_is_as_predicted_and_named(options, solver):
    X, y = cloud(0)
    assert max_margin(X, y, random_state=0, **options).solver == solver


@pytest.mark.parametrize(
    ("mode", "solver"),
    [("las-vegas", "working-set"), ("high-probability", "simba"), ("monte-carlo", "simba")],
)
def test_sparse_rows_are_not_tracked(mode, solver):
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 500), density=0.01, rng=rng, format="csr")
    X += sp.csr_array(
        (rng.choice([-1.0, 1.0], size=80), (np.arange(80), np.zeros(80, int))), X.shape
    )
    y = np.sign(X[:, [0]].toarray()[:, 0])
    assert max_margin(X, y, eps=1.0, mode=mode, random_state=0).solver == solver


def test_an_oracle_is_tracked():
    X, y = cloud(0)
    oracle = Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j])
    assert max_margin(oracle, y, eps=0.1, random_state=0).solver == "tracking"


def test_steps_that_do_not_close_the_gap_hand_over():
    X, y = cloud(1, n=60, d=20, margin=0.05)
    run = MarginRun(as_matrix(X), y, np.random.default_rng(0), eps=1.0)
    assert run.solver == "tracking"
    run.set_eps(1e-6)  # far beyond what the steps can do
    result = run.run(Limits(eps=1e-6))
    assert result.solver == "tracking, working-set"
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-6
    of_the_steps = result.reads.nnz - result.history[-1].reads
    assert 6 * X.size - 80 < of_the_steps <= 6 * X.size  # a step reads 60 + 20 entries
    assert len(result.history) > 2


@pytest.mark.parametrize("solver", ["tracking", "extragradient", "working-set"])
def test_only_simba_knows_slack_and_other_norms(solver):
    X, y = cloud(0)
    with pytest.raises(ValueError, match=f"solver='{solver}' knows neither nu nor q"):
        soft_margin(X, y, nu=0.1, solver=solver)
    with pytest.raises(ValueError, match="knows neither nu nor q"):
        max_margin(X, y, q=1.5, solver=solver)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "fast"}, "solver='fast' must be one of 'auto'"),
        ({"mode": "maybe"}, "mode='maybe' must be one of"),
        ({"delta": 1.0}, r"delta=1\.0 must lie"),
        ({"batch": 0}, "batch=0 must be a positive integer"),
        ({"eps": -1.0}, r"eps=-1\.0 must be positive"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = cloud(0)
    with pytest.raises(ValueError, match=message):
        max_margin(X, y, **options)


@pytest.mark.parametrize("scale", [1e-100, 1e90])
def test_extreme_lengths_are_solved(scale):
    X, y = cloud(2)
    answer = max_margin(scale * X, y, eps=0.1 * scale, random_state=0)
    assert answer.certificate.gap <= 0.1 * scale
    assert answer.certificate.upper >= exact(X, y, None, False).lower * scale * (1 - 1e-9)
