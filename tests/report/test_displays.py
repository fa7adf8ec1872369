"""The displays draw what they are given."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from report_entries import classifier, history, regressor, result, rows
from skimlearn import LinearRegressor, SublinearSVC
from skimlearn.estimators.path import Path
from skimlearn.report import ConvergenceDisplay, MarginDisplay, PathDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("x", "last"), [("reads", 3200), ("epochs", 32.0), ("seconds", pytest.approx(0.32))]
)
def test_the_gap_against_each_cost(x, last):
    display = ConvergenceDisplay.from_result(result(), x=x)
    (line,) = display.lines_
    assert line.get_xdata()[-1] == last
    assert len(line.get_xdata()) == 5  # the first check had no bound
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure


@pytest.mark.parametrize(
    ("y", "first"), [("relative_gap", 0.1 / 1.05), ("gap", 0.1), ("objective", 2.0)]
)
def test_each_measure(y, first):
    (line,) = ConvergenceDisplay.from_result(result(), y=y).lines_
    assert line.get_ydata()[0] == pytest.approx(first)


def test_a_line_for_each_class_into_given_axes_with_a_style():
    model = classifier(("a", "b", "c"), histories=[history(k) for k in (1.0, 2.0, 3.0)])
    _, ax = plt.subplots()
    display = ConvergenceDisplay.from_estimator(model, ax=ax, name="mails", linestyle="--")
    assert display.ax_ is ax
    assert [line.get_label() for line in display.lines_] == ["mails a", "mails b", "mails c"]
    assert {line.get_linestyle() for line in display.lines_} == {"--"}
    again = display.plot(y="objective")
    assert again is display
    assert display.ax_ is not ax


def test_margins_are_drawn():
    model = classifier()
    X, y = rows(model)
    display = MarginDisplay.from_estimator(model, X, y, bins=10)
    signs = np.where(y == "spam", 1.0, -1.0)
    np.testing.assert_allclose(display.margins, signs * model.decision_function(X))
    assert display.ax_.get_ylim()[1] < 1.0


def test_margins_of_many_classes():
    model = classifier(("a", "b", "c"))
    X, y = rows(model)
    found = MarginDisplay.from_estimator(model, X, y).margins
    np.testing.assert_array_equal(found > 0.0, model.predict(X) == y)


def path(d=12):
    coefs = np.vstack([np.arange(d), np.arange(d) * 2.0])
    return Path(np.array([0.1, 0.01]), coefs, np.zeros(2), [result(), result()])


def test_the_largest_weights_of_a_path():
    names = [f"$x_{{{j}}}$" for j in range(12)]
    display = PathDisplay.from_path(path(), feature_names=names, most=3)
    assert [line.get_label() for line in display.lines_] == [rf"\$x_{{{j}}}\$" for j in (11, 10, 9)]
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [11.0, 22.0])
    assert display.ax_.xaxis_inverted()
    assert PathDisplay.from_path(path(), ax=display.ax_).ax_.xaxis_inverted()
    display.figure_.canvas.draw()  # the names are no formulas


def test_the_path_of_a_model_with_named_columns():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["height", "age"])
    model = LinearRegressor(random_state=0)
    display = PathDisplay.from_estimator(model, frame, frame["age"], alphas=[1.0, 0.1])
    assert {line.get_label() for line in display.lines_} == {"height", "age"}
    assert len(display.path.results) == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ConvergenceDisplay.from_result(result(), x="time"),
            ValueError,
            "x='time' must be",
        ),
        (
            lambda: ConvergenceDisplay.from_result(result(), y="loss"),
            ValueError,
            "y='loss' must be",
        ),
        (lambda: ConvergenceDisplay.from_result(result(history=[])), ValueError, "has no history"),
        (lambda: MarginDisplay.from_estimator(regressor(), [[0.0] * 3]), TypeError, "no margins"),
        (
            lambda: MarginDisplay.from_estimator(classifier(), [[0.0] * 3]),
            TypeError,
            "y is missing",
        ),
        (
            lambda: PathDisplay(path(), feature_names=["a"]),
            ValueError,
            "has 1 names, but there are",
        ),
        (
            lambda: PathDisplay.from_estimator(SublinearSVC(), 0, 0),
            TypeError,
            "not of SublinearSVC",
        ),
    ],
)
def test_what_can_not_be_drawn_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_plotting_library_is_loaded_before_it_is_needed():
    code = "import sys, skimlearn.report; print(*{'matplotlib', 'plotly'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install skimlearn\[report\]"):
        MarginDisplay(np.zeros(3)).plot()
