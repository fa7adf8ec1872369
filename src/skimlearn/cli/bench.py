"""``skim bench``: skimlearn beside scikit-learn, on one's own file and the same objective.

scikit-learn's classes minimise the same mean loss with ``C = 1 / (alpha * n)`` or the same alpha.
Their answers are valued by the objective of skimlearn, each with its best bias if that is free, so
that `LinearSVC`, which penalises the bias, is not charged for the value that it has.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import Input, as_classes, read_labelled
from skimlearn.cli._models import choose
from skimlearn.cli._output import Output, facts, grid, number, percent, seconds
from skimlearn.cli._progress import Progress
from skimlearn.cli._reading import LABELLED, Reading

__all__ = ["bench"]

WARM = 50  # rows of the fits that load all code before a clock runs
ITERATIONS = 10_000  # that the peers may take


@command(
    "bench", panel="Tools", takes=["LinearClassifier", "LinearRegressor"],
    leave_out=["p", "radius", "average", "batch_size", "class_weight"], reads=LABELLED,
)  # fmt: skip
def bench(
    out: Output,
    data: Input,
    parameters: dict[str, Any],
    reading: Reading,
    repeats: Annotated[int, typer.Option(min=1, help="The least time of so many fits counts.")] = 3,
) -> None:
    """Time skimlearn beside scikit-learn's solvers of the same objective, on your own data.

    For two classes, or a regression. Reading the file, and loading code, are not timed.
    """
    import numpy as np

    import skimlearn

    rows = read_labelled(data, reading)
    name, _ = choose("auto", parameters, rows.y)
    X = rows.X[:] if rows.kind == "store" else rows.X  # scikit-learn has no stores
    y = as_classes(rows.y) if name == "LinearClassifier" else np.asarray(rows.y, dtype=float)
    if name == "LinearClassifier":
        classes = np.unique(y)
        if len(classes) != 2:
            raise ValueError(f"{data}: it has {len(classes)} classes; a comparison needs two")
        y = np.where(y == classes[1], 1.0, -1.0)
    ours = getattr(skimlearn, name)(**({"random_state": 0} | parameters), verbose=False)
    problem = _problem(ours, X, y)
    found: list[dict[str, Any]] = []
    for title, model in [(f"skimlearn {name}", ours), *_peers(ours, len(y))]:
        with Progress(out, title):
            _warm(model, X, y)
            passed = min(_timed(model, X, y) for _ in range(repeats))
        objective = _value(problem, model)
        found.append({"name": title, "objective": objective, "seconds": passed})
    bound = ours.result_.certificate.dual
    for line in found:
        line["above_bound"] = line["objective"] / bound - 1.0 if bound > 0.0 else float("nan")
    document = {
        "command": "bench",
        "data": data,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "loss": ours.loss,
        "alpha": ours.alpha,
        "bound": bound,
        "results": found,
    }
    lines = [
        [
            line["name"],
            number(line["objective"], 6),
            percent(line["above_bound"]),
            seconds(line["seconds"]),
            f"{line['seconds'] / found[0]['seconds']:.1f} x",
        ]
        for line in found
    ]
    head = ["model", "objective", "above the bound", "seconds", "beside skimlearn"]
    about = [("loss", str(ours.loss)), ("alpha", f"{ours.alpha:g}"), ("bias", ours.bias)]
    out.tell(document, facts(about), grid(head, lines))


def _problem(model: Any, X: Any, y: Any) -> Any:
    from skimlearn.problem import make_problem

    return make_problem(X, y, loss=model.loss, alpha=model.alpha, bias=model.bias)


def _value(problem: Any, model: Any) -> float:
    import numpy as np

    from skimlearn import certificates

    w = np.ascontiguousarray(np.ravel(model.coef_), dtype=np.float64)
    return float(certificates.primal(problem, w, float(np.ravel(model.intercept_)[0])).value)


def _timed(model: Any, X: Any, y: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X, y)
        passed = time.perf_counter() - began
    if hasattr(model, "result_") and model.result_.status.name == "INTERRUPTED":
        raise KeyboardInterrupt
    return passed


def _warm(model: Any, X: Any, y: Any) -> None:
    """Fit some rows, so that no code is loaded or compiled later; what they are does not matter."""
    import numpy as np

    some = np.linspace(0, len(y) - 1, min(WARM, len(y))).astype(int)
    with contextlib.suppress(ValueError):  # they may be of one class
        _timed(model, X[some], y[some])


def _peers(model: Any, n: int) -> list[tuple[str, Any]]:
    """scikit-learn's models of this objective, by name."""
    from sklearn import linear_model, svm

    loss, alpha, seed = model.loss, model.alpha, 0
    bias = model.bias != "none"
    found: dict[str, Any] = {}
    sgd = {"alpha": alpha, "fit_intercept": bias, "random_state": seed}
    if loss in ("hinge", "squared_hinge"):
        C = 1.0 / (alpha * n) / (1.0 if loss == "hinge" else 2.0)  # ours has half the square
        found["LinearSVC"] = svm.LinearSVC(
            loss=loss, C=C, fit_intercept=bias, random_state=seed, max_iter=ITERATIONS
        )
    if loss == "log":
        found["LogisticRegression"] = linear_model.LogisticRegression(
            C=1.0 / (alpha * n), fit_intercept=bias, max_iter=ITERATIONS
        )
    if loss in ("hinge", "log") and model._labels:
        found["SGDClassifier"] = linear_model.SGDClassifier(
            loss={"log": "log_loss"}.get(loss, loss), **sgd
        )
    if loss == "squared" and not model._labels:
        found["Ridge"] = linear_model.Ridge(alpha=alpha * n, fit_intercept=bias)
        found["SGDRegressor"] = linear_model.SGDRegressor(loss="squared_error", **sgd)
    if loss in ("absolute", "epsilon_insensitive") and not model._labels:
        epsilon = 0.0 if loss == "absolute" else 0.1
        found["LinearSVR"] = svm.LinearSVR(
            epsilon=epsilon, C=1.0 / (alpha * n), fit_intercept=bias, random_state=seed,
            max_iter=ITERATIONS,
        )  # fmt: skip
    return [(f"scikit-learn {name}", peer) for name, peer in found.items()]
