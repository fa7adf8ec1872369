"""Budget, Certificate, Result: what they accept and what they say."""

import dataclasses
import math

import numpy as np
import pytest

from skimlearn.data.ledger import Reads
from skimlearn.result import Budget, Certificate, Record, Result, Status

pytestmark = pytest.mark.pure_python


def test_budget_keeps_what_it_is_given():
    budget = Budget(gap=0, epochs=np.int64(3), reads=10**12, seconds=np.float32(0.5))
    assert (budget.gap, budget.epochs, budget.reads, budget.seconds) == (0, 3, 10**12, 0.5)
    assert Budget(seconds=1).epochs is None


def test_budget_cannot_be_changed_and_takes_names_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget(epochs=1).epochs = 2
    with pytest.raises(TypeError):
        Budget(1e-3)


@pytest.mark.parametrize("name", ["gap", "epochs", "reads", "seconds"])
@pytest.mark.parametrize("value", [-1, -1e-9, math.nan, -math.inf])
def test_budget_refuses_negative_numbers_and_nan(name, value):
    with pytest.raises(ValueError, match=rf"{name}=.*of the budget must not be negative"):
        Budget(**{name: value})


@pytest.mark.parametrize("name", ["gap", "epochs", "reads", "seconds"])
@pytest.mark.parametrize("value", ["1", True, [1], np.array([1.0]), np.True_])
def test_budget_refuses_what_is_no_number(name, value):
    with pytest.raises(TypeError, match=rf"{name}=.* of the budget must be a number or None"):
        Budget(**{name: value})


def test_budget_needs_a_limit():
    with pytest.raises(ValueError, match="at least one of gap, epochs, reads, seconds"):
        Budget()


@pytest.mark.parametrize(
    ("primal", "dual", "gap", "relative"),
    [
        (0.5, 0.25, 0.25, 0.5),
        (2.0, 2.0, 0.0, 0.0),
        (2.0, 2.0 + 1e-15, pytest.approx(0.0, abs=1e-14), 0.0),  # rounding: no negative gap
        (0.0, -1.0, 1.0, math.inf),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, -math.inf, math.inf, math.inf),
        (-2.0, -3.0, 1.0, 0.5),
    ],
)
def test_certificate(primal, dual, gap, relative):
    certificate = Certificate(primal, dual)
    assert certificate.gap == gap
    assert certificate.relative_gap == relative


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(("primal", "dual"), [(2.0, 1.0), (-1.0, -3.0), (5.0, 4.9)])
def test_no_optimum_within_the_bounds_is_missed_by_a_greater_part(primal, dual, maximize):
    certificate = Certificate(*((-primal, -dual) if maximize else (primal, dual)), maximize)
    optima = np.linspace(certificate.lower, certificate.upper, 50)
    parts = np.abs(certificate.primal - optima) / np.abs(optima)
    assert parts.max() == pytest.approx(certificate.shortfall)


def test_a_part_of_an_optimum_that_may_be_zero_is_not_known():
    assert Certificate(1.0, 0.0).shortfall == math.inf
    assert Certificate(1.0, -1.0).shortfall == math.inf
    assert Certificate(1.0, -math.inf).shortfall == math.inf
    assert Certificate(1.0, 1.0).shortfall == 0.0


def test_a_certificate_without_any_bound_never_passes_a_tolerance():
    assert not Certificate(math.inf, -math.inf).relative_gap <= 1e9


def test_what_only_rounding_tells_apart_is_one_number():
    words = Certificate(primal=1502.55178811653, dual=1502.55178811654).words
    assert words.startswith("The answer has the value 1,503, and no answer has one below it: it is")
    assert "1,502.5" not in words  # the digits of which the bound seems to be above the value
    assert "above it" in Certificate(0.25, 0.25, maximize=True).words


def test_statuses_say_why_in_words():
    reasons = [status.value for status in Status]
    assert len(set(reasons)) == len(Status)
    assert all(" " in reason for reason in reasons)


def test_a_result_prints_in_a_few_lines():
    result = Result(
        x=np.zeros(2),
        bias=0.0,
        p=np.zeros(3),
        certificate=Certificate(1.0, 0.5),
        reads=Reads(6, 4, 2),
        seconds=0.1,
        epochs=1.0,
        status=Status.EPOCHS,
        history=[Record(1.0, 0.1, 4, 1.0, 0.5)],
    )
    assert "history" not in repr(result)
    assert "array" not in repr(result)
    assert str(result).splitlines()[0].endswith(f"It stopped because {Status.EPOCHS.value}.")
    assert "gap: 0.5" in str(result).splitlines()
    assert "<td" in result._repr_html_()
    assert "0.5" in result._repr_html_()
    assert "Certificate(primal=1.0, dual=0.5, " in repr(result)
    assert result.solver == ""
