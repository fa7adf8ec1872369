"""Models: which one to learn, how it is learned within a budget, how it is saved and described."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from skimlearn.cli._command import INTERRUPTED, TERMINATED
from skimlearn.cli._options import options_of
from skimlearn.cli._output import Output, count, number, percent, seconds
from skimlearn.cli._progress import Progress

__all__ = [
    "MODELS",
    "Fit",
    "by_labels",
    "choose",
    "described",
    "facts_of",
    "load_model",
    "writable",
    "writing",
]

MODELS = {
    "classifier": "LinearClassifier",
    "regressor": "LinearRegressor",
    "sublinear": "SublinearSVC",
    "kernel": "KernelClassifier",
}
MOST_CLASSES = 1000  # whole numbers of more different values are taken for measurements
REACHED = ("CONVERGED", "PLANNED")


# ------------------------------------------------------------------------------------------ choice


def choose(wanted: str, parameters: dict[str, Any], y: Any) -> tuple[str, str]:
    """The name of a class, and why it was chosen."""
    if wanted != "auto":
        if wanted not in MODELS:
            raise typer.BadParameter(f"--model {wanted}: must be auto, {', '.join(MODELS)}")
        name, why = MODELS[wanted], ""
    else:
        name, why = by_labels(y)
        other = _by_options(set(parameters))
        if name == "LinearClassifier" and not set(parameters) <= set(options_of([name])) and other:
            name, why = other, "of the options that are given"
    unknown = [key for key in parameters if key not in options_of([name])]
    if unknown:
        flag = "--" + unknown[0].replace("_", "-")
        owners = [word for word, n in MODELS.items() if unknown[0] in options_of([n])]
        raise typer.BadParameter(
            f"{name} has no option {flag}: leave it out, or choose --model {' or '.join(owners)}"
        )
    return name, why


def _by_options(asked: set[str]) -> str | None:
    """The first model that has all options, one of them as the first of all models."""
    before: set[str] = set()
    for name in MODELS.values():
        known = set(options_of([name]))
        if asked <= known and asked - before:
            return name
        before |= known
    return None


def by_labels(y: Any) -> tuple[str, str]:
    """A classifier for a few different whole numbers or texts, a regressor for other numbers."""
    import numpy as np

    values = np.asarray(y)
    if values.dtype.kind not in "fiu":
        return "LinearClassifier", "the labels are texts"
    distinct = np.unique(values)
    whole = np.isfinite(distinct).all() and (distinct == np.rint(distinct)).all()
    if whole and len(distinct) <= max(2, min(MOST_CLASSES, len(values) // 2)):
        return "LinearClassifier", f"the labels are {len(distinct)} different whole numbers"
    return "LinearRegressor", "the labels are numbers of many different values"


# ----------------------------------------------------------------------------------------- fitting


class Fit:
    """One fit that can be interrupted: the model is then the best one so far."""

    def __init__(self, out: Output, model: Any, names: Any = None) -> None:
        self.out, self.model, self.names = out, model, names
        self.code = 0  # of the signal that ended it

    def run(self, X: Any, *y: Any, **options: Any) -> Fit:
        """Fit, with progress and without the model's own messages."""
        model = self.model
        unit = "epoch" if hasattr(model, "max_epochs") else "step"
        with Progress(self.out, "learning", unit) as progress, self._signals():

            def record(record: Any) -> None:
                if self.code:  # an interrupt that came where nothing hears it, as in a compiler
                    raise KeyboardInterrupt
                progress.record(record)

            told = {"callback": record, "verbose": False}
            told = {name: value for name, value in told.items() if name in model.get_params()}
            model.set_params(**told)
            model.fit(X, *y, **options)
        model.set_params(**dict.fromkeys(told))
        if self.names is not None:
            import numpy as np

            model.feature_names_in_ = np.asarray(self.names, dtype=object)
        model.result_ = replace(model.result_, command=self.out.origin)
        if model.result_.status.name == "INTERRUPTED":
            self.code = self.code or INTERRUPTED
        return self

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Have SIGTERM end a fit as Ctrl-C does, and let both be known to the callback."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}

        def stop(number: int, _: Any) -> None:
            self.code = codes[signal.Signals(number)]
            raise KeyboardInterrupt

        former = {number: signal.signal(number, stop) for number in codes}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def save(self, path: str | None) -> None:
        """Write the model, undisturbed by a second Ctrl-C, and say so if it is not complete."""
        if path is not None:
            with _undisturbed(), writing(path):
                self.model.save(path)
        if self.code:
            where = "it was not saved, since no -o was given" if path is None else f"saved: {path}"
            self.out.note(f"interrupted: the model is the best one found so far; {where}")

    @property
    def reached(self) -> bool:
        """Whether the target was reached."""
        return self.model.result_.status.name in REACHED


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = [(s, signal.signal(s, signal.SIG_IGN)) for s in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for which, handler in former:
            signal.signal(which, handler)


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Name the file in errors of the system that do not, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, path) from error


def writable(path: str | None) -> None:
    """Say before the work begins that its result could not be written."""
    if path is None:
        return
    folder = Path(os.path.abspath(path)).parent
    if Path(path).is_dir():
        raise IsADirectoryError(21, "it is a folder, not a file to write", path)
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder to write to", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(13, "the folder can't be written to", str(folder))


def load_model(path: str) -> Any:
    """A model in skimlearn's own format, or in that of liblinear."""
    with open(path, "rb") as file:
        start = file.read(12)
    if start.startswith(b"solver_type"):
        from skimlearn import read_liblinear

        return read_liblinear(path)
    if len(start) > 8 and start[8:9] != b"{":
        raise ValueError(f"{path}: it is no model: name a file that skim train -o has written")
    from skimlearn import load

    return load(path)


# ------------------------------------------------------------------------------------- description


def described(model: Any) -> dict[str, Any]:
    """What is known about a fitted model, for machines."""
    result = model.result_
    certificate, reads = result.certificate, result.reads
    chosen = {k: v for k, v in model.get_params().items() if k not in ("callback", "verbose")}
    return {
        "model": type(model).__name__,
        "parameters": chosen,
        "columns": model.n_features_in_,
        **({"classes": model.classes_} if hasattr(model, "classes_") else {}),
        "status": result.status.name,
        "solver": result.solver,
        "certificate": {
            "primal": certificate.primal,
            "dual": certificate.dual,
            "gap": certificate.gap,
            "relative_gap": certificate.relative_gap,
            "failure": certificate.failure,
        },
        "reads": {"nnz": reads.nnz, "dense": reads.dense, "certificate": reads.certificate},
        "epochs": result.epochs,
        "fit_seconds": result.seconds,
    }


def facts_of(model: Any) -> list[tuple[str, str]]:
    """The same for people."""
    result = model.result_
    certificate = result.certificate
    lines = [("model", type(model).__name__ + _kind(model))]
    if certificate.primal == certificate.primal:
        lines += [
            ("objective", number(certificate.primal, 6)),
            (
                "certificate",
                f"at most {number(certificate.gap, 2)} from the optimum "
                f"({percent(certificate.relative_gap)})"
                + (f", but for a chance of {certificate.failure:g}" if certificate.failure else ""),
            ),
        ]
    if result.reads.nnz:
        more = f", and {count(result.reads.certificate)} for certificates"
        lines.append(("entries read", count(result.reads.nnz) + more))
    if result.seconds:
        lines.append(("solver", f"{result.solver}, {seconds(result.seconds)}"))
    return [*lines, ("status", result.status.value)]


def _kind(model: Any) -> str:
    if hasattr(model, "classes_"):
        return f", {len(model.classes_)} classes, {model.n_features_in_:,} columns"
    return f", {model.n_features_in_:,} columns"
