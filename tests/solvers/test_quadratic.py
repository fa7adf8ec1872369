"""One matrix for many quadratic problems: the same answers, and rows that are read once."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, regularization_path
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES, make_problem
from skimlearn.result import Budget
from skimlearn.solvers import _quadratic, auto, choose, newton
from skimlearn.solvers._quadratic import Shared, shared
from skimlearn.solvers._run import Run
from skimlearn.solvers._symmetric import solve_symmetric

N, D, K = 3000, 40, 6
GAP = Budget(gap=1e-6, epochs=1000)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + rng.normal(size=D)


def classes(X, bias="free", weighted=False, alpha=1e-4):
    """A problem for each class, with rows and weights in common."""
    rng = np.random.default_rng(1)
    y = np.argmax(X @ rng.normal(size=(D, K)) + rng.normal(size=(N, K)), axis=1)
    m = rng.random(N) * (rng.random(N) < 0.9) if weighted else None
    one = make_problem(
        X, np.where(y == 0, 1.0, -1.0), loss="squared", alpha=alpha, bias=bias, sample_weight=m
    )
    return [replace(one, y=np.where(y == k, 1.0, -1.0)) for k in range(K)]


@pytest.fixture
def formed(monkeypatch):
    """How many matrices were formed, and how many were factorised."""
    counts = {"gram": 0, "factor": 0}

    def counted(name, function):
        def run(*args, **options):
            counts[name] += 1
            return function(*args, **options)

        return run

    monkeypatch.setattr(_quadratic, "gram", counted("gram", _quadratic.gram))
    monkeypatch.setattr(_quadratic, "factor_of", counted("factor", _quadratic.factor_of))
    monkeypatch.setattr(newton, "gram", counted("gram", newton.gram))
    return counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_answers_are_those_of_problems_alone(bias, weighted, sparse, formed):
    X = rows()
    problems = classes(sp.csr_matrix(X) if sparse else X, bias, weighted)
    alone = [auto.solve(problem, GAP, seed=0) for problem in problems]
    assert {result.solver for result in alone} == {"newton"}
    assert formed["gram"] >= K
    formed.update(gram=0, factor=0)
    common = shared(problems)
    together = [auto.solve(problem, GAP, seed=0, shared=common) for problem in problems]
    assert formed == {"gram": 1, "factor": 1}
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(other.x, one.x, atol=1e-8 * np.abs(one.x).max())
        np.testing.assert_allclose(other.bias, one.bias, atol=1e-8 * np.abs(one.x).max())
        assert other.certificate.relative_gap <= 1e-9


def test_reads_are_counted_to_the_first_alone():
    problems = classes(rows(), "none")
    common = shared(problems)
    reads = [auto.solve(problem, GAP, seed=0, shared=common).reads for problem in problems]
    # gradient, the way to the answer, what the dual vector is made of; and the first the matrix
    assert [r.nnz - reads[-1].nnz for r in reads] == [N * D] + [0] * (K - 1)
    alone = auto.solve(problems[1], GAP, seed=0).reads
    assert alone.nnz >= reads[1].nnz


def test_classes_of_an_estimator_on_threads(formed):
    X = rows()
    y = np.argmax(X[:, :K], axis=1)
    model = LinearClassifier("squared", alpha=1e-4, random_state=0)
    one = model.fit(X, y)
    coef, reads = one.coef_, one.result_.reads
    assert formed == {"gram": 1, "factor": 1}
    two = LinearClassifier("squared", alpha=1e-4, random_state=0, n_jobs=2).fit(X, y)
    assert formed == {"gram": 2, "factor": 2}
    np.testing.assert_array_equal(two.coef_, coef)  # whoever formed the matrix
    assert two.result_.reads == reads  # in sum


def test_classes_with_weights_of_their_own_share_nothing(formed):
    X = rows()
    labels = X[:, :3] > np.array([0.0, 3.0, 6.0])
    model = LinearClassifier("squared", alpha=1e-3, class_weight="balanced", tol=1e-9)
    found = model.fit(X, labels)
    assert formed["gram"] >= 3
    for k in range(3):
        alone = LinearClassifier("squared", alpha=1e-3, class_weight="balanced", tol=1e-9)
        alone.fit(X, labels[:, k])
        np.testing.assert_allclose(found.coef_[k], alone.coef_[0], atol=1e-8)


def test_what_cannot_be_shared():
    problems = classes(rows())
    assert shared(problems[:1]) is None
    assert shared([*problems, replace(problems[0], weights=problems[0].weights.copy())]) is None
    assert shared([*problems, replace(problems[0], bias="none")]) is None
    others = classes(rows(1))
    assert shared([problems[0], others[0]]) is None
    hinge = make_problem(rows(), np.sign(rows()[:, 0]), loss="squared_hinge", alpha=1.0)
    assert shared([hinge, hinge]) is None  # its curvature depends on the targets


def test_a_path_forms_one_matrix(formed):
    X = rows()
    y = X @ np.arange(D) + np.random.default_rng(2).normal(size=N)
    alphas = [1e-1, 1e-3, 1e-5, 1e-7]
    path = regularization_path(X, y, loss="squared", alphas=alphas, tol=1e-9)
    assert formed["gram"] == 1
    for alpha, w, b in zip(alphas, path.coefs, path.intercepts, strict=True):
        alone = auto.solve(
            make_problem(X, y, loss="squared", alpha=alpha), Budget(gap=1e-9, epochs=1000), seed=0
        )
        np.testing.assert_allclose(w, alone.x, atol=1e-6 * np.abs(alone.x).max())
        assert b == pytest.approx(alone.bias, abs=1e-6 * np.abs(alone.x).max())


def test_who_will_use_the_matrix():
    """A strong regularizer may be left to other methods: then the weaker ones pay for all."""
    strong, weak = classes(rows(), alpha=1e-1)[0], classes(rows(), alpha=1e-5)[0]
    common = Shared([1e-1, 1e-3, 1e-5])
    assert (common.users(strong), common.users(weak)) == (3, 1)
    common.matrix(weak, np.ones(N), Ledger(weak.rows))
    assert common.users(weak) == 3
    assert Shared([1e-5] * K).users(weak) == K


def test_sharing_makes_newtons_method_cheap_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300)) / np.sqrt(300)
    one = make_problem(X, np.sign(X[:, 0]), loss="squared", alpha=3e-3, bias="none")
    budget = Budget(gap=1e-3, epochs=1000)
    alone = auto.solve(one, budget, seed=0)
    together = auto.solve(one, budget, seed=0, shared=Shared([3e-3] * 20))
    assert (alone.solver, together.solver) == ("dual", "newton")


def test_nothing_is_kept_after_a_fit(monkeypatch):
    made = []

    def remembered(problems):
        common = shared(problems)
        made.append(weakref.ref(common))
        return common

    monkeypatch.setattr(choose, "shared", remembered)
    X = rows()
    model = LinearClassifier("squared", alpha=1e-4).fit(X, np.argmax(X[:, :K], axis=1))
    gc.collect()
    assert len(model.coef_) == K
    assert [reference() for reference in made] == [None]


def test_a_matrix_that_has_no_factor():
    """Columns twice, and an alpha that is lost beside them."""
    singular = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], order="F")
    np.testing.assert_allclose(solve_symmetric(singular, np.array([2.0, 2.0, 3.0])), [1, 1, 3])
    X = np.repeat(rows()[:, :3], 2, axis=1) * 1e8
    problems = [
        make_problem(X, y, loss="squared", alpha=1e-12, bias="none")
        for y in (np.sign(X[:, 0]), np.sign(X[:, 2]))
    ]
    problems[1] = replace(problems[1], rows=problems[0].rows, weights=problems[0].weights)
    common = shared(problems)
    for problem in problems:
        run = Run(problem, GAP, seed=0)
        method = newton.Newton(problem, run.ledger, thorough=True, shared=common)
        found = run.stage(method).result()
        best = np.linalg.lstsq(X, problem.y, rcond=None)[0]
        value = 0.5 * ((X @ best - problem.y) ** 2).mean()
        assert found.certificate.primal <= value * (1 + 1e-6)
