"""Every regularizer against convex analysis: conjugate, link, strong convexity, the scalar form."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from skimlearn.data.inspection import as_rows
from skimlearn.formulas.regularizers import Entropic, Regularizer, SquaredL2, SquaredLp, resolve
from skimlearn.solvers._mirror import MASS, UNIT, mirror_state, push, refresh

EXPONENTS = (1.01, 1.1, 1.5, 1.8, 2.0)
LP = [SquaredLp(p, radius) for p in EXPONENTS for radius in (math.inf, 0.3)]
ENTROPIC = [Entropic(0.5), Entropic(1.0), Entropic(20.0)]
ALL = [SquaredL2(), *LP, *ENTROPIC]
FEW = [SquaredL2(), SquaredLp(1.5), SquaredLp(1.1, 0.3), Entropic(2.0)]

every_regularizer = pytest.mark.parametrize("regularizer", ALL, ids=repr)
quick = settings(max_examples=60, deadline=None, derandomize=True)
vectors = hnp.arrays(np.float64, 5, elements=st.floats(-10, 10, allow_subnormal=False))


def theta_of(d=7, size=1.0, seed=0):
    return size * np.random.default_rng(seed).normal(size=d)


def norm(x, exponent):
    return float(np.linalg.norm(x, exponent))


def primal_exponent(regularizer):
    if isinstance(regularizer, Entropic):
        return 1.0
    return getattr(regularizer, "p", 2.0)


# ------------------------------------------------------------------------------ convex analysis


@every_regularizer
@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_link_is_the_gradient_of_the_conjugate(regularizer, size):
    theta = theta_of(size=size)
    # the entropic conjugate is smooth on the scale of its radius, the others on that of theta
    entropic = isinstance(regularizer, Entropic)
    step = 1e-2 * min(size, regularizer.radius) if entropic else 1e-6 * size
    difference = [
        (regularizer.penalty_dual(theta + step * e) - regularizer.penalty_dual(theta - step * e))
        / (2 * step)
        for e in np.eye(len(theta))
    ]
    w = regularizer.link(theta)
    np.testing.assert_allclose(w, difference, rtol=1e-4, atol=1e-5 * np.abs(w).max())


@pytest.mark.pure_python
@every_regularizer
@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_fenchel_equality_at_the_link(regularizer, size):
    theta = theta_of(size=size, seed=1)
    w = regularizer.link(theta)
    total = regularizer.penalty(w) + regularizer.penalty_dual(theta)
    assert total == pytest.approx(w @ theta, rel=1e-10)
    assert total > 0.0


@every_regularizer
@quick
@given(theta=vectors, other=vectors)
def test_fenchel_inequality_elsewhere(regularizer, theta, other):
    w = regularizer.link(other)
    total = regularizer.penalty(w) + regularizer.penalty_dual(theta)
    assert total >= w @ theta - 1e-9 * (1 + abs(w @ theta))


@every_regularizer
@quick
@given(one=vectors, two=vectors)
def test_strong_convexity_in_its_norm(regularizer, one, two):
    u, v = regularizer.link(one), regularizer.link(two)
    middle = regularizer.penalty(0.5 * (u + v))
    ends = 0.5 * (regularizer.penalty(u) + regularizer.penalty(v))
    distance = norm(u - v, primal_exponent(regularizer))
    assert middle <= ends - distance**2 / 8 + 1e-9 * (1 + ends)


@every_regularizer
@quick
@given(theta=vectors, step=vectors)
def test_conjugate_is_smooth_in_the_dual_norm(regularizer, theta, step):
    bound = (
        regularizer.penalty_dual(theta)
        + regularizer.link(theta) @ step
        + 0.5 * norm(step, regularizer.exponent()) ** 2
    )
    assert regularizer.penalty_dual(theta + step) <= bound + 1e-9 * (1 + abs(bound))


@every_regularizer
def test_the_exponents_are_conjugate(regularizer):
    p, q = primal_exponent(regularizer), regularizer.exponent()
    assert 1 / p + 1 / q == pytest.approx(1.0)


@every_regularizer
def test_nothing_costs_nothing(regularizer):
    zero = np.zeros(4)
    assert regularizer.penalty(zero) == pytest.approx(0.0, abs=1e-12)
    assert regularizer.penalty_dual(zero) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(regularizer.link(zero), zero)
    np.testing.assert_array_equal(regularizer.unlink(zero), zero)


@pytest.mark.parametrize("regularizer", FEW, ids=repr)
def test_conjugate_is_the_maximum_over_the_weights(regularizer):
    """An independent maximisation: no other weights in the domain give more."""
    theta = theta_of(3, size=0.4, seed=5)
    start = 0.5 * regularizer.link(theta)
    found = minimize(
        lambda w: min(regularizer.penalty(w), 1e6) - w @ theta,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )
    best = regularizer.penalty_dual(theta)
    assert -found.fun <= best + 1e-12
    assert -found.fun == pytest.approx(best, rel=1e-5)


# -------------------------------------------------------------------------------------- unlink


@every_regularizer
@pytest.mark.parametrize("size", [1e-3, 0.05])
def test_unlink_inverts_the_link_inside_the_domain(regularizer, size):
    theta = theta_of(size=size, seed=2)
    w = regularizer.link(theta)
    np.testing.assert_allclose(regularizer.unlink(w), theta, rtol=1e-6, atol=1e-9 * size)


@pytest.mark.pure_python
@every_regularizer
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_link_inverts_unlink_up_to_the_edge(regularizer, size):
    w = regularizer.link(theta_of(size=size, seed=3))
    np.testing.assert_allclose(
        regularizer.link(regularizer.unlink(w)), w, rtol=1e-6, atol=1e-8 * np.abs(w).max()
    )


def test_unlink_of_sparse_weights_at_the_edge_of_the_entropic_set_is_finite():
    regularizer = Entropic(2.0)
    w = np.array([2.0, 0.0, 0.0])
    theta = regularizer.unlink(w)
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(regularizer.link(theta), w, atol=1e-8)


# --------------------------------------------------------------------------------------- domain


@pytest.mark.pure_python
@pytest.mark.parametrize("p", EXPONENTS)
def test_ball_is_the_domain(p):
    regularizer = SquaredLp(p, 0.3)
    w = theta_of(seed=4)
    w /= norm(w, p)
    assert regularizer.penalty(0.3 * w) == pytest.approx(0.09 / (2 * (p - 1)))
    assert regularizer.penalty(0.3001 * w) == math.inf
    assert norm(regularizer.link(1e3 * w), p) == pytest.approx(0.3)


@pytest.mark.pure_python
@pytest.mark.parametrize("regularizer", ENTROPIC, ids=repr)
def test_entropic_domain(regularizer):
    corner = np.array([0.0, -regularizer.radius, 0.0])
    assert regularizer.penalty(corner) == pytest.approx(regularizer.radius**2 * math.log(6))
    assert regularizer.penalty(1.0001 * corner) == math.inf
    assert np.abs(regularizer.link(theta_of(size=9.0))).sum() <= regularizer.radius


def test_lp_is_l2_for_p_2():
    theta = theta_of()
    np.testing.assert_allclose(SquaredLp(2.0).link(theta), theta, rtol=1e-14)
    assert SquaredLp(2.0).penalty(theta) == pytest.approx(SquaredL2().penalty(theta))


def test_entropic_approaches_half_the_scaled_square_near_zero():
    # R^2 log mean cosh(theta / R) = ||theta||^2 / (2 d) + ...
    theta = theta_of(size=1e-3)
    value = Entropic(1.0).penalty_dual(theta)
    assert value == pytest.approx(theta @ theta / (2 * len(theta)), rel=1e-5)


def test_vectors_are_copied_not_changed():
    theta = theta_of()
    theta.flags.writeable = False
    for regularizer in ALL:
        for method in (regularizer.link, regularizer.unlink):
            assert not np.shares_memory(method(0.01 * theta), theta)
    assert not np.shares_memory(SquaredL2().link(theta), theta)


# ------------------------------------------------------------- the scalar form, inside kernels


def weights(regularizer, factor, phi, state):
    return regularizer.scale(state[MASS], state[UNIT], factor) * phi


@pytest.mark.pure_python
@pytest.mark.parametrize("regularizer", FEW, ids=repr)
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_scale_times_tilt_is_the_link(regularizer, size):
    theta = theta_of(size=size)
    phi, state = np.empty_like(theta), mirror_state(10)
    refresh(regularizer, 1.0, theta, phi, state)
    if regularizer.linear():
        np.testing.assert_array_equal(phi, theta)
        assert regularizer.scale(state[MASS], state[UNIT], 3.0) == 3.0
        return
    np.testing.assert_allclose(
        weights(regularizer, 1.0, phi, state), regularizer.link(theta), rtol=1e-11
    )
    if regularizer.homogeneous():
        np.testing.assert_allclose(
            weights(regularizer, 0.25, phi, state), regularizer.link(0.25 * theta), rtol=1e-11
        )
    refresh(regularizer, 0.25, theta, phi, state)  # the factor inside, for those that are not
    np.testing.assert_allclose(
        weights(regularizer, 1.0, phi, state), regularizer.link(0.25 * theta), rtol=1e-11
    )


@pytest.mark.parametrize("regularizer", [r for r in LP if r.p < 2] + ENTROPIC, ids=repr)
def test_many_sparse_pushes_keep_the_weights(regularizer):
    rng = np.random.default_rng(8)
    n, d, period = 60, 200, 50
    rows = as_rows(sp.random_array((n, d), density=0.03, rng=rng, format="csr"))
    theta, phi, state = np.zeros(d), np.zeros(d), mirror_state(period)
    refresh(regularizer, 1.0, theta, phi, state)
    plain, refreshed = np.zeros(d), 0
    dense = as_dense(rows)
    for t in range(1500):
        i, c = int(rng.integers(n)), rng.normal() * 10.0 ** rng.uniform(-3, 1)
        if t % 300 == 299:  # undo almost everything: the mass falls far below its peak
            theta *= 1e-7
            refresh(regularizer, 1.0, theta, phi, state)
            plain *= 1e-7
        plain += c * dense[i]
        if push(rows, i, c, regularizer, 1.0, theta, phi, state):
            refresh(regularizer, 1.0, theta, phi, state)
            refreshed += 1
        if t % 37 == 0:
            w = regularizer.link(plain)
            np.testing.assert_allclose(
                weights(regularizer, 1.0, phi, state), w, rtol=1e-9, atol=1e-9 * np.abs(w).max()
            )
    assert refreshed >= 20  # because of the period


def as_dense(rows):
    return sp.csr_array(
        (rows.values, rows.columns.astype(np.int32), rows.starts.astype(np.int32)), shape=rows.shape
    ).toarray()


@pytest.mark.pure_python
def test_push_that_cancels_a_dominant_entry_asks_for_a_refresh():
    """What is left is 1e-9 of the mass: its rounding error would show."""
    regularizer = SquaredLp(1.5)
    rows = as_rows([[1.0, 0.0], [0.0, 1.0]])
    theta, phi, state = np.zeros(2), np.zeros(2), mirror_state(1000)
    refresh(regularizer, 1.0, theta, phi, state)
    push(rows, 0, 1.0, regularizer, 1.0, theta, phi, state)
    push(rows, 1, 1e-3, regularizer, 1.0, theta, phi, state)
    assert push(rows, 0, -1.0, regularizer, 1.0, theta, phi, state)
    refresh(regularizer, 1.0, theta, phi, state)
    np.testing.assert_allclose(
        weights(regularizer, 1.0, phi, state), regularizer.link(np.array([0.0, 1e-3])), rtol=1e-14
    )


@pytest.mark.pure_python
def test_push_beyond_the_ceiling_asks_for_a_refresh():
    for regularizer, much in ((SquaredLp(1.01), 3.0), (Entropic(1.0), 30.0)):
        rows = as_rows([[1.0]])
        theta, phi, state = np.ones(1), np.zeros(1), mirror_state(1000)
        refresh(regularizer, 1.0, theta, phi, state)
        assert not push(rows, 0, 0.05, regularizer, 1.0, theta, phi, state)
        assert push(rows, 0, much, regularizer, 1.0, theta, phi, state)


@pytest.mark.parametrize("p", [1.01, 1.1, 1.5])
@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200])
def test_lp_does_not_overflow(p, size):
    """The link is homogeneous: the weights of a huge vector are those of a small one, scaled."""
    regularizer = SquaredLp(p)
    unit = np.array([1.0, -0.75, 0.5, 0.0])
    theta, expected = size * unit, size * regularizer.link(unit)
    tolerance = {"rtol": 1e-10, "atol": 1e-11 * size if size > 1e-300 else 1e-321}
    np.testing.assert_allclose(regularizer.link(theta), expected, **tolerance)
    phi, state = np.empty(4), mirror_state(10)
    refresh(regularizer, 1.0, theta, phi, state)
    np.testing.assert_allclose(weights(regularizer, 1.0, phi, state), expected, **tolerance)
    if size > 1e-300:
        np.testing.assert_allclose(regularizer.unlink(expected), theta, rtol=1e-9)
    for value in (regularizer.penalty(expected), regularizer.penalty_dual(theta)):
        assert value == (math.inf if size > 1 else 0.0)


@pytest.mark.parametrize("size", [1e-300, 1e4, 1e200])
def test_entropic_does_not_overflow(size):
    regularizer = Entropic(2.0)
    theta = size * np.array([1.0, -1.0, 0.5])
    expected = [1.0, -1.0, 0.0] if size > 1 else [0.0, 0.0, 0.0]
    np.testing.assert_allclose(regularizer.link(theta), expected, atol=1e-12)
    phi, state = np.empty(3), mirror_state(10)
    refresh(regularizer, 1.0, theta, phi, state)
    np.testing.assert_allclose(weights(regularizer, 1.0, phi, state), expected, atol=1e-12)
    if size == 1e4:
        assert regularizer.penalty_dual(theta) == pytest.approx(4 * (5e3 - math.log(3)))


def test_zero_dual_vector_has_zero_weights_in_kernels():
    for regularizer in FEW:
        theta, phi, state = np.zeros(3), np.ones(3), mirror_state(10)
        refresh(regularizer, 1.0, theta, phi, state)
        np.testing.assert_array_equal(weights(regularizer, 1.0, phi, state), 0.0)


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("p", [1.0, 0.5, 2.0001, math.nan, math.inf])
def test_p_must_lie_in_its_range(p):
    with pytest.raises(ValueError, match=r"p=.* must lie in \(1, 2\]; p=1 is the entropic"):
        SquaredLp(p)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan])
def test_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match=r"radius=.* must be positive"):
        SquaredLp(1.5, radius)
    with pytest.raises(ValueError, match=r"radius=.* must be positive and finite"):
        Entropic(radius)


def test_entropic_needs_a_finite_radius():
    with pytest.raises(ValueError, match="bounds the l1 norm"):
        Entropic(math.inf)


@pytest.mark.pure_python
@pytest.mark.parametrize(
    ("p", "radius", "expected"),
    [
        (2, None, SquaredL2()),
        (2.0, 3, SquaredLp(2.0, 3.0)),
        (np.float32(1.5), None, SquaredLp(1.5)),
        (1.25, np.float64(2.0), SquaredLp(1.25, 2.0)),
        (1, 10, Entropic(10.0)),
    ],
)
def test_resolve(p, radius, expected):
    assert resolve(p, radius) == expected


@pytest.mark.parametrize("p", [0.9, 2.1, math.nan, "2", None, True])
def test_resolve_names_the_range_of_p(p):
    with pytest.raises(ValueError, match=r"p=.* must be a number in \[1, 2\]"):
        resolve(p, None)


@pytest.mark.parametrize("radius", [0, -1.0, math.nan, "1"])
def test_resolve_refuses_a_bad_radius(radius):
    with pytest.raises(ValueError, match=r"radius=.* must be a positive number, or None"):
        resolve(1.5, radius)


def test_resolve_wants_a_radius_for_p_1():
    with pytest.raises(ValueError, match="p=1 needs radius="):
        resolve(1, None)


def test_base_class_says_what_is_missing():
    for method in ("penalty", "penalty_dual", "link", "unlink"):
        with pytest.raises(TypeError, match=f"a regularizer defines {method}"):
            getattr(Regularizer(), method)(np.zeros(1))
