"""The command line in this process or in another one, and small data for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from typer.testing import CliRunner

import skimlearn
from skimlearn.cli._app import app, declared

declared()
SOURCE = Path(skimlearn.__file__).parents[1]


def skim(*arguments, code=0, **options):
    """Run a command in this process; its result, with the exit code that is expected."""
    done = CliRunner().invoke(app, [str(a) for a in arguments], **options)
    assert done.exit_code == code, f"{done.exit_code}: {done.output}\n{done.exception!r}"
    return done


def document(*arguments, code=0, **options):
    """The JSON document of a command, which is all of its standard output."""
    return json.loads(skim(*arguments, "--json", code=code, **options).stdout)


def start(*arguments, **options):
    """Start a process of its own."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "skimlearn", *map(str, arguments)]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(command, env=settings | given.pop("env", {}), **given)


def rows(n=200, d=30, classes=2, seed=0):
    """Sparse rows of classes that can be told apart, mostly."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    centers = np.random.default_rng(99).normal(size=(classes, d))
    X = (centers[y] + 2.0 * rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.4)
    return sp.csr_matrix(X), (2 * y - 1 if classes == 2 else y)


def write_data(folder):
    """Files of rows to learn from and to test with, by name."""
    X, y = rows()
    X_test, y_test = rows(100, seed=1)
    skimlearn.write_svmlight(X, y, folder / "rows.svm")
    skimlearn.write_svmlight(X_test, y_test, folder / "test.svm")
    many = rows(classes=3)
    skimlearn.write_svmlight(*many, folder / "many.svm")
    skimlearn.write_svmlight(X, X @ np.arange(30.0) + 0.5, folder / "numbers.svm")
    sp.save_npz(folder / "rows.npz", X)
    np.save(folder / "labels.npy", y)
    np.save(folder / "rows.npy", X.toarray())
    np.savez(folder / "both.npz", X=X.toarray(), y=y)
    skimlearn.Store.create(folder / "store", X, y)
    return folder
