"""Every loss against what calculus says of it: slope, conjugate, bounds, dual step."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import entr, expit

from skimlearn._jit import kernel
from skimlearn.certificates import _mean_conjugate, _mean_loss, _minus_slopes
from skimlearn.formulas import losses
from skimlearn.formulas.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Log,
    Loss,
    Squared,
    SquaredHinge,
    resolve,
)


@dataclass(frozen=True)
class LogCosh(Loss):
    """A user's smooth loss: the least that one must write."""

    def value(self, z, y):
        r = abs(z - y)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)

    def slope(self, z, y):
        return math.tanh(z - y)


@dataclass(frozen=True)
class Pinball(Loss):
    """A user's loss with a kink and a parameter: quantile regression."""

    tau: float = 0.8

    def value(self, z, y):
        return max(self.tau * (y - z), (1.0 - self.tau) * (z - y))

    def slope(self, z, y):
        return 1.0 - self.tau if z > y else -self.tau


@dataclass(frozen=True)
class Quartic(Loss):
    """A user's loss whose slope is not bounded."""

    def value(self, z, y):
        return 0.25 * (z - y) * (z - y) * (z - y) * (z - y)

    def slope(self, z, y):
        return (z - y) * (z - y) * (z - y)


OWN = [LogCosh(), Pinball(), Quartic()]
SMOOTH = [SquaredHinge(), Log(), Squared(), Huber(), Huber(delta=0.3), LogCosh(), Quartic()]
KINKED = [Hinge(), Absolute(), EpsilonInsensitive(), EpsilonInsensitive(epsilon=0.0), Pinball()]
ALL = SMOOTH + KINKED

every_loss = pytest.mark.parametrize("loss", ALL, ids=repr)
quick = settings(max_examples=60, deadline=None, derandomize=True)
moderate = st.floats(-20, 20)


def targets(loss):
    return (-1.0, 1.0) if loss.labels else (-3.7, 0.0, 1.5)


def target_of(loss, draw):
    return math.copysign(1.0, draw) if loss.labels else draw


def kinks(loss, y):
    if isinstance(loss, Hinge):
        return [y]
    if isinstance(loss, EpsilonInsensitive):
        return [y - loss.epsilon, y + loss.epsilon]
    return [y] if loss in KINKED else []


def exact_conjugate(loss, s, y):
    """The conjugate of the user's losses on paper."""
    if isinstance(loss, LogCosh):
        return s * y + math.log(2.0) - entr((1 + s) / 2) - entr((1 - s) / 2) if abs(s) <= 1 else 9e9
    if isinstance(loss, Quartic):
        return s * y + 0.75 * abs(s) ** (4 / 3)
    if isinstance(loss, Pinball):
        return s * y if -loss.tau <= s <= 1 - loss.tau else math.inf
    return loss.conjugate(s, y)


def inside(loss, y, share, reach=30.0):
    """A dual variable inside the bounds: a share of the way from the lower to the upper one."""
    low, high = loss.dual_bounds(y)
    low, high = max(low, -reach), min(high, reach)
    return low + share * (high - low)


# --------------------------------------------------------------------------- value and slope


@every_loss
def test_slope_is_the_derivative_of_the_value(loss):
    step = 1e-5
    checked = 0
    for y in targets(loss):
        for z in np.linspace(-6, 6, 121) + 0.0123:
            if any(abs(z - kink) < 2 * step for kink in kinks(loss, y)):
                continue
            difference = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
            assert loss.slope(z, y) == pytest.approx(difference, rel=1e-7, abs=1e-5)
            checked += 1
    assert checked > 200


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_bend_is_the_derivative_of_the_slope(loss):
    step = 1e-4
    for y in targets(loss):
        for z in np.linspace(-6, 6, 121) + 0.0123:
            before, after = loss.slope(z - step, y), loss.slope(z + step, y)
            middle = 0.5 * (before + after)
            if abs(middle - loss.slope(z, y)) > 1e-6:
                continue  # the slope has a corner close by
            expected = (after - before) / (2 * step)
            assert loss.bend(z, y) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@every_loss
@quick
@given(u=moderate, z=moderate, draw=moderate)
def test_slope_is_a_subgradient_everywhere(loss, u, z, draw):
    y = target_of(loss, draw)
    below = loss.value(z, y) + loss.slope(z, y) * (u - z)
    assert loss.value(u, y) >= below - 1e-9 * (1 + abs(below))


@every_loss
def test_slope_is_a_subgradient_at_the_kinks(loss):
    for y in targets(loss):
        for z in [*kinks(loss, y), y, 1.0, -1.0]:
            for u in np.linspace(-8, 8, 33):
                assert loss.value(u, y) >= loss.value(z, y) + loss.slope(z, y) * (u - z) - 1e-12


@every_loss
def test_value_is_never_negative(loss):
    for y in targets(loss):
        assert min(loss.value(z, y) for z in np.linspace(-50, 50, 501)) >= 0.0


@pytest.mark.pure_python
@every_loss
def test_curvature_bounds_the_change_of_the_slope_and_is_tight(loss):
    grid = np.linspace(-5, 5, 2001)
    for y in targets(loss):
        slopes = np.array([loss.slope(z, y) for z in grid])
        steepest = (np.diff(slopes) / np.diff(grid)).max()
        assert steepest >= 0.0
        if loss.curvature() < math.inf:
            assert steepest <= loss.curvature() * (1 + 1e-9)
            assert steepest >= 0.99 * loss.curvature()
        else:
            assert loss in KINKED or loss in OWN


# ----------------------------------------------------------------------------- dual quantities


@pytest.mark.pure_python
@every_loss
def test_dual_bounds_are_the_range_of_minus_the_slope(loss):
    for y in targets(loss):
        low, high = loss.dual_bounds(y)
        far = [-loss.slope(z, y) for z in (1e6, -1e6)]
        for a, bound in zip(far, (low, high), strict=True):
            if abs(bound) < 1e9:
                assert a == pytest.approx(bound, abs=1e-12)
            else:
                assert math.copysign(1, a) == math.copysign(1, bound)
                assert abs(a) > 1e5
        assert all(low <= -loss.slope(z, y) <= high for z in np.linspace(-9, 9, 181))
        assert low <= 0.0 <= high


@every_loss
@pytest.mark.parametrize("share", [0.02, 0.25, 0.5, 0.9])
def test_conjugate_is_the_maximum_of_s_z_minus_the_value(loss, share):
    grid = np.linspace(-80, 80, 3201)
    for y in targets(loss):
        s = -inside(loss, y, share)
        best = grid[np.argmax([s * z - loss.value(z, y) for z in grid])]
        found = minimize_scalar(
            lambda z, s=s, y=y: loss.value(z, y) - s * z,
            bounds=(best - 0.06, best + 0.06),
            method="bounded",
            options={"xatol": 1e-11},
        )
        maximum = max(-found.fun, s * best - loss.value(best, y))
        assert loss.conjugate(s, y) == pytest.approx(maximum, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("loss", OWN, ids=repr)
def test_numerical_conjugate_is_the_one_on_paper(loss):
    for y in (*targets(loss), 1e6):
        for share in (0.0, 1e-9, 0.3, 0.5, 0.77, 1.0):
            s = -inside(loss, y, share)
            exact = exact_conjugate(loss, s, y)
            assert loss.conjugate(s, y) == pytest.approx(exact, rel=1e-9, abs=1e-8)


@pytest.mark.pure_python
@every_loss
def test_conjugate_is_infinite_outside_the_bounds(loss):
    for y in targets(loss):
        low, high = loss.dual_bounds(y)
        if low > -1e9:
            assert loss.conjugate(-(low - 1e-6), y) == math.inf
            assert math.isfinite(loss.conjugate(-low, y))
        if high < 1e9:
            assert loss.conjugate(-(high + 1e-6), y) == math.inf
            assert math.isfinite(loss.conjugate(-high, y))


@every_loss
@quick
@given(z=moderate, share=st.floats(0, 1), draw=moderate)
def test_fenchel_young_inequality(loss, z, share, draw):
    y = target_of(loss, draw)
    s = -inside(loss, y, share)
    total = loss.value(z, y) + loss.conjugate(s, y)
    assert total >= s * z - 1e-9 * (1 + abs(s * z))


@every_loss
@quick
@given(z=moderate, draw=st.floats(-10, 10))
def test_fenchel_young_equality_at_the_slope(loss, z, draw):
    y = target_of(loss, draw)
    s = loss.slope(z, y)
    total = loss.value(z, y) + loss.conjugate(s, y)
    assert total == pytest.approx(s * z, rel=1e-9, abs=1e-7)


# -------------------------------------------------------------------------------- the dual step


def step_objective(loss, a, z, h, y):
    def objective(new):
        return -exact_conjugate(loss, -new, y) - (new - a) * z - 0.5 * h * (new - a) ** 2

    return objective


@every_loss
@settings(max_examples=40, deadline=None, derandomize=True)
@given(share=st.floats(0, 1), z=moderate, log_h=st.floats(-3, 4), draw=st.floats(-10, 10))
def test_dual_step_maximises_its_objective(loss, share, z, log_h, draw):
    y, h = target_of(loss, draw), 10.0**log_h
    a = inside(loss, y, share)
    new = loss.dual_step(a, z, h, y)
    low, high = loss.dual_bounds(y)
    assert low <= new <= high
    objective = step_objective(loss, a, z, h, y)
    reach = abs(new - a) + 50.0
    found = minimize_scalar(
        lambda b: -objective(b),
        bounds=(max(low, a - reach), min(high, a + reach)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    best = max(-found.fun, objective(a))
    assert objective(new) >= best - 1e-9 * (1 + abs(best) + abs(a * z) + h)


@every_loss
@quick
@given(share=st.floats(0, 1), z=moderate, log_h=st.floats(-3, 12), draw=st.floats(-10, 10))
def test_dual_step_agrees_with_the_numerical_one(loss, share, z, log_h, draw):
    y, h = target_of(loss, draw), 10.0**log_h
    a = inside(loss, y, share)
    # where h is small, a rounding error of z moves the point a + (y - z) / h at a kink
    tolerance = 1e-10 + 1e-14 * (1 + abs(z) + abs(y) + h * abs(a)) / h
    expected = Loss.dual_step(loss, a, z, h, y)
    assert loss.dual_step(a, z, h, y) == pytest.approx(expected, rel=1e-9, abs=tolerance)


@every_loss
@quick
@given(share=st.floats(0, 1), z=moderate, log_h=st.floats(-1, 8), draw=st.floats(-10, 10))
def test_a_second_dual_step_stays(loss, share, z, log_h, draw):
    y, h = target_of(loss, draw), 10.0**log_h
    a = inside(loss, y, share)
    new = loss.dual_step(a, z, h, y)
    again = loss.dual_step(new, z + h * (new - a), h, y)
    assert again == pytest.approx(new, rel=1e-7, abs=1e-7)


def test_numerical_dual_step_of_a_kink_by_hand():
    # the maximum of a' y - a' z - (a')^2 over [-1, 1] for y - z = -0.5 lies at -0.25
    assert Loss.dual_step(Absolute(), 0.0, 0.5, 2.0, 0.0) == pytest.approx(-0.25, abs=1e-15)
    assert Loss.dual_step(Hinge(), 0.5, 0.5, 4.0, 1.0) == pytest.approx(0.625, abs=1e-15)
    assert Pinball(0.8).dual_step(0.1, 0.0, 10.0, 3.0) == pytest.approx(0.4, abs=1e-15)


def test_log_step_does_not_jump_between_the_ends_of_its_bracket():
    # u = 500 + 1e3 (b - 1) with b = 1 / (1 + exp(u)): the root is u = 0, b = 1/2
    assert Log().dual_step(1.0, 500.0, 1e3, 1.0) == pytest.approx(0.5, abs=1e-12)
    assert Log().dual_step(1.0, 500.0, 1e10, 1.0) == pytest.approx(0.99999994832, abs=1e-11)
    assert Log().dual_step(0.0, -5.0, 1e12, 1.0) == pytest.approx(2.92549715878e-11, rel=1e-9)


@dataclass(frozen=True)
class Poisson(Loss):
    """A user's loss whose slope overflows: compiled code gives infinity, plain Python an error."""

    def value(self, z, y):
        return math.exp(z) - y * z

    def slope(self, z, y):
        return math.exp(z) - y


def test_numerical_dual_step_where_the_slope_overflows():
    out = np.empty((2, 4))
    a, z, h, y = (
        np.array([-5.0, 0.0]),
        np.array([800.0, 50.0]),
        np.array([1.0, 10.0]),
        np.full(2, 3.0),
    )
    _compiled(Poisson(), a, z, h, y, out)
    for i in range(2):  # the optimality condition: a' = -slope(z + h (a' - a))
        new = out[i, 3]
        assert new == pytest.approx(3.0 - math.exp(z[i] + h[i] * (new - a[i])), rel=1e-10)


EXTREME_H = (0.0, 5e-324, 1e-300, 1.0, 1e16, 1e300)
EXTREME_Z = (-1e300, -1e16, -800.0, 0.0, 800.0, 1e16, 1e300)


@every_loss
def test_dual_step_survives_extremes(loss):
    for y in targets(loss):
        low, high = loss.dual_bounds(y)
        for a in (inside(loss, y, share, 1e3) for share in (0.0, 1e-16, 0.5, 1.0)):
            for z in EXTREME_Z if not isinstance(loss, Quartic) else (-1e10, 0.0, 1e10):
                for h in EXTREME_H:
                    new = loss.dual_step(a, z, h, y)
                    assert low <= new <= high, (a, z, h, y)  # also false for nan


@pytest.mark.pure_python
@every_loss
def test_dual_step_without_a_row_is_minus_the_slope(loss):
    """h = 0 (a row of zeros): the maximiser of -l*(-a') - a' z."""
    for y in targets(loss):
        for z in (-3.3, 0.2, 2.2):
            a = inside(loss, y, 0.3, 1.0)
            assert loss.dual_step(a, z, 0.0, y) == pytest.approx(-loss.slope(z, y), abs=1e-9)


# -------------------------------------------------------------------------------- compiled code


@kernel
def _compiled(loss, a, z, h, y, out):
    for i in range(len(z)):
        out[i, 0] = loss.value(z[i], y[i])
        out[i, 1] = loss.slope(z[i], y[i])
        out[i, 2] = loss.conjugate(-a[i], y[i])
        out[i, 3] = loss.dual_step(a[i], z[i], h[i], y[i])


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", [*ALL[:5], *OWN, Hinge(), EpsilonInsensitive()], ids=repr)
def test_compiled_formulas_equal_plain_python(loss):
    rng = np.random.default_rng(1)
    y = rng.choice(targets(loss), 20)
    z, h = rng.normal(0, 3, 20), 10.0 ** rng.uniform(-2, 4, 20)
    a = np.array([inside(loss, t, share, 3.0) for t, share in zip(y, rng.random(20), strict=True)])
    out = np.empty((20, 4))
    _compiled(loss, a, z, h, y, out)
    expected = [
        (
            loss.value(zi, yi),
            loss.slope(zi, yi),
            loss.conjugate(-ai, yi),
            loss.dual_step(ai, zi, hi, yi),
        )
        for ai, zi, hi, yi in zip(a.tolist(), z.tolist(), h.tolist(), y.tolist(), strict=True)
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------------------- log loss accuracy


@pytest.mark.pure_python
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_log_loss_is_accurate_far_out(y):
    m = np.array([-1e308, -800.0, -745.0, -40.0, -1e-9, 0.0, 1e-9, 40.0, 745.0, 800.0, 1e308])
    value = np.logaddexp(0.0, -m)
    slope = -y * expit(-m)
    pure = [(Log().value(y * u, y), Log().slope(y * u, y)) for u in m.tolist()]
    np.testing.assert_allclose([v for v, _ in pure], value, rtol=1e-14)
    np.testing.assert_allclose([s for _, s in pure], slope, rtol=1e-14, atol=1e-320)
    compiled, one, target = np.empty(len(m)), np.ones(1), np.full(len(m), y)
    _minus_slopes(Log(), y * m, 0.0, target, compiled)
    np.testing.assert_allclose(compiled, -slope, rtol=1e-14, atol=1e-320)
    found = [_mean_loss(Log(), np.array([y * u]), 0.0, y * one, one) for u in m]
    np.testing.assert_allclose(found, value, rtol=1e-14)


@pytest.mark.pure_python
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_log_conjugate_is_accurate_near_the_ends(y):
    b = np.array([0.0, 1e-320, 1e-300, 1e-17, 0.3, 1 - 1e-15, 1.0])
    expected = -entr(b) - entr(1.0 - b)
    np.testing.assert_allclose(
        [Log().conjugate(-y * u, y) for u in b.tolist()], expected, rtol=1e-13, atol=1e-16
    )
    one = np.ones(1)
    found = [_mean_conjugate(Log(), np.array([y * u]), y * one, one) for u in b]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("loss", [Squared(), SquaredHinge()], ids=repr)
def test_squares_overflow_to_infinity_and_raise_nothing(loss):
    assert loss.value(-1e300, 1.0) == math.inf


# ------------------------------------------------------------------------------------- the entry


@pytest.mark.pure_python
@pytest.mark.parametrize("name", sorted(losses.NAMES))
def test_resolve_knows_every_name(name):
    assert type(resolve(name, labels=True)) is losses.NAMES[name]


def test_every_loss_has_a_name_and_is_public():
    classes = {value for value in vars(losses).values() if isinstance(value, type)}
    public = {cls for cls in classes if issubclass(cls, Loss) and cls is not Loss}
    assert public == set(losses.NAMES.values())
    assert {cls.__name__ for cls in public} | {"Loss", "resolve"} == set(losses.__all__)


def test_a_loss_derived_from_ours_is_a_users():
    class Steeper(Hinge):
        def value(self, z, y):
            return 2.0 * max(0.0, 1.0 - y * z)

    assert losses.is_ours(Hinge())
    assert losses.is_ours(Huber(delta=0.5))
    assert not losses.is_ours(Steeper())
    assert not losses.is_ours(LogCosh())


@pytest.mark.parametrize("cls", losses.NAMES.values())
def test_a_pickle_that_names_a_loss_by_the_public_module_loads(cls):
    text = f"cskimlearn.formulas.losses\n{cls.__name__}\n(tR."
    assert pickle.loads(text.encode()) == cls()
    assert pickle.loads(pickle.dumps(cls())) == cls()


def test_resolve_takes_instances_as_they_are():
    for loss in (Huber(delta=0.5), Pinball(0.1), Quartic()):
        assert resolve(loss, labels=False) is loss


def test_resolve_names_the_losses_there_are():
    with pytest.raises(ValueError, match=r"loss='hing' is not known: use one of .*'hinge'"):
        resolve("hing", labels=True)
    with pytest.raises(ValueError, match=r"'huber'") as caught:
        resolve("squarred", labels=False)
    assert "hinge" not in str(caught.value)  # no use in regression


@pytest.mark.parametrize("loss", [Hinge, Pinball])
def test_resolve_explains_a_class_in_the_place_of_an_instance(loss):
    with pytest.raises(TypeError, match="put parentheses after the class"):
        resolve(loss, labels=True)


@pytest.mark.parametrize("loss", [None, 3, ["hinge"]])
def test_resolve_refuses_other_things(loss):
    with pytest.raises(TypeError, match="must be a name or an instance") as caught:
        resolve(loss, labels=True)
    assert "parentheses" not in str(caught.value)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", Log()])
def test_resolve_refuses_label_losses_for_regression(loss):
    with pytest.raises(ValueError, match=r"the task is regression: use 'squared'"):
        resolve(loss, labels=False)


def test_resolve_wants_value_and_slope():
    class OnlyValue(Loss):
        def value(self, z, y):
            return 0.0

    class OnlySlope(Loss):
        def slope(self, z, y):
            return 0.0

    with pytest.raises(TypeError, match=r"must define slope\(self, z, y\)"):
        resolve(OnlyValue(), labels=True)
    with pytest.raises(TypeError, match=r"must define value\(self, z, y\)"):
        resolve(OnlySlope(), labels=True)


@pytest.mark.parametrize("delta", [0.0, -1.0, math.inf, math.nan])
def test_huber_wants_a_positive_delta(delta):
    with pytest.raises(ValueError, match=r"delta=.* must be positive and finite"):
        Huber(delta=delta)


@pytest.mark.parametrize("epsilon", [-0.1, math.inf, math.nan])
def test_epsilon_must_not_be_negative(epsilon):
    with pytest.raises(ValueError, match=r"epsilon=.* must be finite and >= 0"):
        EpsilonInsensitive(epsilon=epsilon)


@quick
@given(z=st.floats(-1e3, 1e3), y=st.floats(-1e3, 1e3))
def test_relations_between_losses(z, y):
    assume(abs(z - y) > 1e-6)
    assert EpsilonInsensitive(epsilon=0.0).value(z, y) == Absolute().value(z, y)
    assert Huber(delta=1e4).value(z, y) == pytest.approx(Squared().value(z, y), rel=1e-12)
    t = math.copysign(1.0, y)
    assert SquaredHinge().value(z, t) == pytest.approx(Hinge().value(z, t) ** 2 / 2, rel=1e-12)
