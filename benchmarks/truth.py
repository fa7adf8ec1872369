"""Is the certificate true? The default solver beside liblinear and ridge regression.

    python benchmarks/truth.py                       # the bundled mail corpus
    python benchmarks/truth.py a9a.svm.xz folder/    # svmlight files, or all of a folder

Both sides minimise the same objective with the same alpha:

hinge, log    with a regularised bias, against liblinear (LinearSVC, LogisticRegression), for files
              with two different targets, or of any number of classes with --task classify (the
              largest class against the rest);
ridge         the squared loss with a free bias, against scikit-learn's Ridge, for other files.

gap       the certified gap, relative: the answer is at most so far above the optimum
distance  how far the answer is above the better of the two answers, relative
bound     "holds" if the lower bound is not above the reference's objective
agrees    "yes" if the distance is at most tol
s ref.    not a race: the reference is asked for far more digits, to be the truth

An objective with a star is that of a model that gave up before it converged. The exit status is 1
if a bound is broken, or if an answer that is said to have converged does not agree.
"""

import argparse
import bz2
import gzip
import lzma
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import MaxAbsScaler, normalize
from sklearn.svm import LinearSVC

from skimlearn import LinearClassifier, LinearRegressor
from skimlearn.datasets import load_spam

OPEN = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
KINDS = (".svm", ".svmlight", ".libsvm")


def find(paths):
    """The files named, and those of the folders named."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            if file.is_file() and any(kind in file.suffixes for kind in KINDS):
                yield file


def read(path):
    with OPEN.get(path.suffix, open)(path, "rb") as file:
        return load_svmlight_file(file)


def prepare(X, y, options):
    """A sample of the rows, scaled; targets -1 and +1 for a classification; whether it is one."""
    rng = np.random.default_rng(options.seed)
    if X.shape[0] > options.max_rows:
        chosen = np.sort(rng.choice(X.shape[0], options.max_rows, replace=False))
        X, y = X[chosen], y[chosen]
    X = X[:, np.unique(X.indices)].astype(np.float64)  # columns without an entry change nothing
    if options.scale == "rows":
        X = normalize(X)
    elif options.scale == "columns":
        X = MaxAbsScaler().fit_transform(X)
    classes, counts = np.unique(y, return_counts=True)
    classify = options.task == "classify" or (options.task == "auto" and len(classes) == 2)
    if classify:
        positive = classes[1] if len(classes) == 2 else classes[np.argmax(counts)]
        y = np.where(y == positive, 1.0, -1.0)
    else:
        y = (y - y.mean()) / (y.std() or 1.0)
    return X.tocsr(), y, classify


def objective(kind, model, X, y, alpha):
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    z = X @ w + b
    value = alpha / 2 * float(w @ w)
    if kind == "ridge":
        return value + 0.5 * float(np.mean((z - y) ** 2))
    value += alpha / 2 * b * b
    if kind == "hinge":
        return value + float(np.maximum(0.0, 1.0 - y * z).mean())
    return value + float(np.logaddexp(0.0, -y * z).mean())


def models(kind, n, options):
    """Our model and the reference of the same objective."""
    common = {"alpha": options.alpha, "tol": options.tol, "random_state": options.seed}
    C = 1.0 / (options.alpha * n)
    if kind == "ridge":
        ours = LinearRegressor(loss="squared", bias="free", **common)
        return ours, Ridge(alpha=options.alpha * n, solver="sparse_cg", tol=1e-10, max_iter=10_000)
    ours = LinearClassifier(loss=kind, bias="regularized", **common)
    if kind == "hinge":
        return ours, LinearSVC(
            loss="hinge", C=C, tol=1e-6, max_iter=options.max_iter, random_state=options.seed
        )
    return ours, LogisticRegression(C=C, solver="liblinear", tol=1e-8, max_iter=options.max_iter)


def timed_fit(model, X, y):
    """Seconds, and whether the model converged."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    failed = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return time.perf_counter() - start, not failed


def warm_up():
    """Compile, so that the times below are those of learning."""
    X, y = load_spam()
    for bias, loss in (("regularized", "hinge"), ("regularized", "log"), ("free", "squared")):
        cls = LinearRegressor if loss == "squared" else LinearClassifier
        cls(loss=loss, bias=bias, tol=None, max_epochs=2).fit(X, y)
        small = X[:, X.getnnz(axis=0).argsort()[-5:]]
        cls(loss=loss, bias=bias).fit(small, y)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="svmlight files (.xz, .gz, .bz2 too) or folders")
    parser.add_argument("--alpha", type=float, default=1e-4)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--task", choices=("auto", "classify", "regress"), default="auto")
    parser.add_argument(
        "--scale", choices=("columns", "rows", "none"), default="columns",
        help="columns to a largest value of 1, or rows to length 1",
    )  # fmt: skip
    parser.add_argument("--max-rows", type=int, default=20_000, help="take a sample above that")
    parser.add_argument("--max-iter", type=int, default=20_000, help="of the reference")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    warm_up()
    titles = ("objective", "reference", "gap", "distance", "bound", "agrees", "s", "s ref.")
    print("data".ljust(24), "n".rjust(6), "d".rjust(7), "loss ", *(t.rjust(10) for t in titles))
    wrong = 0
    files = list(find(options.paths))
    if options.paths and not files:
        raise SystemExit(f"no svmlight files ({', '.join(KINDS)}) in {options.paths}")
    for file in files or [None]:
        X, y, classify = prepare(*(load_spam() if file is None else read(file)), options)
        name = "spam" if file is None else file.name.partition(".svm")[0]
        for kind in ("hinge", "log") if classify else ("ridge",):
            ours, reference = models(kind, X.shape[0], options)
            seconds, reached = timed_fit(ours, X, y)
            reference_seconds, converged = timed_fit(reference, X, y)
            value = objective(kind, ours, X, y, options.alpha)
            other = objective(kind, reference, X, y, options.alpha)
            certificate = ours.result_.certificate
            distance = value / min(value, other) - 1.0
            holds = certificate.dual <= other * (1.0 + 1e-9)
            agrees = distance <= options.tol
            wrong += not holds or (reached and not agrees)
            print(
                name[:24].ljust(24),
                f"{X.shape[0]:6d} {X.shape[1]:7d}",
                kind.ljust(5),
                f"{value:.6f}{' ' if reached else '*'}".rjust(10),
                f"{other:.6f}{' ' if converged else '*'}".rjust(10),
                f"{certificate.relative_gap:10.1e}",
                f"{distance:10.1e}",
                ("holds" if holds else "BROKEN").rjust(10),
                ("yes" if agrees else "NO").rjust(10),
                f"{seconds:10.2f}",
                f"{reference_seconds:10.2f}",
                flush=True,
            )
    raise SystemExit(f"{wrong} wrong" if wrong else 0)


if __name__ == "__main__":
    main()
