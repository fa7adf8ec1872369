"""When a fit ends, and what it shows on the way: limits, callbacks, Ctrl-C, the progress line."""

import math
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from skimlearn import LinearClassifier, LinearRegressor, Status
from skimlearn.result import Record

N, D = 300, 8
rng = np.random.default_rng(4)
X = rng.normal(size=(N, D))
y = np.where(X[:, 0] + rng.normal(size=N) > 0, 1, -1)
THREE = np.digitize(X[:, 0] + rng.normal(size=N), [-0.5, 0.5])
SOLVERS = ["auto", "sgd", "asgd", "casgd", "pegasos", "pgs", "dual"]


def model(**parameters):
    return LinearClassifier(**{"alpha": 1e-3, "random_state": 0, **parameters})


# ----------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_tol_is_the_relative_gap(solver, tol):
    fitted = model(solver=solver, tol=tol, max_epochs=None).fit(X, y)
    assert fitted.result_.status is Status.CONVERGED
    assert fitted.result_.certificate.relative_gap <= tol
    loose = model(solver="dual", tol=0.1, max_epochs=None).fit(X, y)
    tight = model(solver="dual", tol=1e-6, max_epochs=None).fit(X, y)
    assert loose.result_.reads.nnz < tight.result_.reads.nnz


@pytest.mark.parametrize("solver", SOLVERS)
def test_max_epochs_with_a_warning_that_names_the_remedy(solver):
    with pytest.warns(
        ConvergenceWarning, match=r"above tol=1e-12, after 2 epochs: raise max_epochs"
    ):
        fitted = model(solver=solver, tol=1e-12, max_epochs=2).fit(X, y)
    assert fitted.result_.status is Status.EPOCHS
    assert fitted.result_.epochs <= 2
    assert fitted.n_iter_ == 2
    certificate = fitted.result_.certificate
    assert math.isfinite(certificate.gap)
    assert certificate.gap > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_target_no_warning(solver):
    fitted = model(solver=solver, tol=None, max_epochs=2).fit(X, y)
    assert fitted.result_.status is Status.EPOCHS
    assert fitted.result_.epochs == 2


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("max_reads", [1, 1000, 10007])
def test_max_reads_is_kept_to_the_entry(solver, kind, max_reads):
    thin = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    limited = model(solver=solver, tol=None, max_epochs=None, max_reads=max_reads)
    if solver == "casgd" and max_reads <= 1000:  # it needs the mean
        with pytest.raises(
            ValueError, match=rf"max_reads={max_reads} is too small.*'auto' or 'asgd'"
        ):
            limited.fit(kind(thin), y)
        return
    fitted = limited.fit(kind(thin), y)
    result = fitted.result_
    assert result.status is Status.READS
    assert result.reads.nnz <= max_reads
    if max_reads > 10_000:  # one row more would be too much
        assert result.reads.nnz > max_reads - D
    assert result.certificate.gap >= 0
    assert np.isfinite(fitted.coef_).all()


def test_max_reads_is_shared_by_the_classes():
    fitted = model(solver="asgd", tol=None, max_epochs=None, max_reads=30_000).fit(X, THREE)
    assert 29_000 < fitted.result_.reads.nnz <= 30_000
    assert fitted.result_.status is Status.READS


def test_max_seconds():
    big = rng.normal(size=(20_000, 20))
    noise = np.where(rng.random(20_000) < 0.5, 1, -1)
    warm = model(solver="dual", tol=None, max_epochs=1).fit(big, noise)  # compiles
    assert warm.result_.epochs == 1
    fitted = model(solver="dual", tol=0.0, max_epochs=None, max_seconds=0.3).fit(big, noise)
    assert fitted.result_.status is Status.SECONDS
    assert 0.3 <= fitted.result_.seconds < 3.0
    assert math.isfinite(fitted.result_.certificate.gap)
    short = model(solver="dual", tol=0.0, max_epochs=None, max_seconds=1e-9).fit(big, noise)
    assert short.result_.status is Status.SECONDS
    assert short.result_.certificate.gap >= 0


def test_max_seconds_is_shared_by_the_classes():
    big = rng.normal(size=(20_000, 20))
    noise = rng.integers(0, 4, size=20_000)
    began = time.perf_counter()
    fitted = model(solver="asgd", tol=None, max_epochs=None, max_seconds=0.8).fit(big, noise)
    assert 0.7 < time.perf_counter() - began < 4.0
    assert {result.status for result in fitted.results_} == {Status.SECONDS}
    seconds = [result.seconds for result in fitted.results_]
    assert max(seconds) < 3.0 * min(seconds)


def test_the_reads_and_the_history_are_kept():
    fitted = model(solver="dual", tol=1e-6, max_epochs=None).fit(X, y)
    history = fitted.result_.history
    assert all(isinstance(record, Record) for record in history)
    primals, reads = [r.primal for r in history], [r.reads for r in history]
    assert primals == sorted(primals, reverse=True)
    assert reads == sorted(reads)
    assert reads[-1] == fitted.result_.reads.nnz
    assert history[-1].primal - history[-1].dual == pytest.approx(fitted.result_.certificate.gap)
    assert fitted.result_.reads.certificate > 0


# ------------------------------------------------------------------------------------- the callback


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_sees_every_epoch_and_may_stop(solver):
    seen = []

    def callback(record):
        seen.append(record)
        return len(seen) == 3

    # so many epochs that "auto" would otherwise choose Newton's method, whose epochs are steps
    fitted = model(solver=solver, tol=None, max_epochs=100, callback=callback).fit(X, y)
    assert fitted.result_.status is Status.STOPPED
    assert len(seen) == 3
    assert [record.epoch for record in seen] == sorted(record.epoch for record in seen)
    assert fitted.result_.epochs == pytest.approx(seen[-1].epoch)
    assert fitted.result_.certificate.gap >= 0


def test_a_callback_of_many_classes_stops_the_one_at_work():
    seen = []

    def callback(record):
        seen.append(record)
        return record.epoch >= 2

    fitted = model(solver="asgd", tol=None, max_epochs=9, callback=callback).fit(X, THREE)
    assert [result.status for result in fitted.results_] == [Status.STOPPED] * 3
    assert len(seen) == 6


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_callback_reaches_the_caller(n_jobs):
    class Oops(Exception):
        pass

    def callback(record):
        raise Oops("mine")

    with pytest.raises(Oops, match="mine"):
        model(callback=callback, n_jobs=n_jobs, solver="dual", tol=1e-9).fit(X, THREE)


def test_an_error_in_one_thread_ends_the_others():
    calls = []

    def callback(record):
        calls.append(record)
        if len(calls) == 5:
            raise RuntimeError("mine")

    forever = model(callback=callback, n_jobs=2, solver="asgd", tol=None, max_epochs=None)
    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="mine"):
        forever.set_params(max_seconds=60.0).fit(X, THREE)
    assert time.perf_counter() - began < 10.0


# -------------------------------------------------------------------------------------- processes

LONG = """
    import os
    import numpy as np
    from skimlearn import LinearClassifier, LinearClassifierCV, LinearRegressor, Status
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = rng.integers(0, {classes}, size=3000)

    def callback(record):
        if record.epoch >= {after}:
            os.write(1, b"working\\n")  # at once, whichever thread it is

    forever = dict(alpha=1e-7, solver="asgd", tol=0.0, max_epochs=None, random_state=0)
"""


def script(code, **values):
    values = {"classes": 2, "after": 3, **values}
    text = textwrap.dedent(LONG).format(**values) + textwrap.dedent(code).format(**values)
    return [sys.executable, "-c", text]


def interrupted(command):
    """Start a process, send it SIGINT when it says that it works, and wait for its end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert first == "working\n", err
    return process.returncode, out.replace("working\n", ""), err


@pytest.mark.parametrize(("classes", "n_jobs"), [(2, None), (3, None), (3, 2)])
def test_ctrl_c_returns_the_best_answer_so_far(classes, n_jobs):
    code, out, err = interrupted(
        script(
            """
            model = LinearClassifier(callback=callback, n_jobs={n_jobs}, **forever).fit(X, y)
            certificates = [result.certificate for result in model.results_]
            assert all(np.isfinite(c.gap) and c.gap >= 0 for c in certificates), certificates
            assert model.predict(X).shape == (3000,)
            print(model.result_.status.name, model.coef_.shape)
            """,
            classes=classes,
            n_jobs=n_jobs,
        )
    )
    assert code == 0, err
    assert out == f"INTERRUPTED {(1 if classes == 2 else 3, 10)}\n"
    assert "UserWarning: the fit was interrupted: the model is the best one found so far" in err


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_ends_a_search_at_once(n_jobs):
    code, out, err = interrupted(
        script(
            """
            from skimlearn.estimators import cv
            fits = []
            class Telling(cv.LinearClassifier):
                def fit(self, X, y):
                    fits.append(self)
                    if len(fits) == 1:
                        os.write(1, b"working\\n")
                    return super().fit(X, y)
            cv.LinearClassifier = Telling
            model = LinearClassifierCV(alphas=[1e-6, 1e-7], solver="asgd", tol=0.0,
                                       max_epochs=None, n_jobs={n_jobs})
            try:
                model.fit(X, y)
            except KeyboardInterrupt:
                print("stopped", len(fits) <= 2, hasattr(model, "coef_"))
            """,
            n_jobs=n_jobs,
        )
    )
    assert code == 0, err
    assert out == "stopped True False\n"


def on_a_terminal(command, seconds=30.0):
    """What a process writes to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    shown, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if not select.select([leader], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=10) == 0, shown
    finally:
        process.kill()
        os.close(leader)
    # numba's colours, where the package for them is installed, are reset when a process ends
    return shown.decode().removesuffix("\x1b[0m")


FIT = """
    for verbose, seconds in {fits}:
        LinearClassifier(verbose=verbose, max_seconds=seconds, **forever).fit(X, y)
    print("done", flush=True)
"""


def test_a_progress_line_appears_on_a_terminal_and_goes_away():
    shown = on_a_terminal(script(FIT, fits=[(None, 1.5)]))
    lines = shown.split("\r")
    assert any(line.startswith("epoch ") and "primal" in line and "gap" in line for line in lines)
    assert "\n" not in shown.split("done")[0]  # one line, written again and again
    assert shown.endswith("\r\x1b[Kdone\r\n")  # erased before what follows


def test_the_progress_line_is_that_of_the_whole_fit():
    # three classes of half a second each: none takes a second, all three do
    shown = on_a_terminal(script(FIT, fits=[(None, 1.5)], classes=3))
    assert "epoch" in shown
    assert shown.endswith("\r\x1b[Kdone\r\n")


def test_short_and_quiet_fits_show_nothing_on_a_terminal():
    assert on_a_terminal(script(FIT, fits=[(None, 0.2), (False, 1.2)])) == "done\r\n"


def test_nothing_is_shown_where_there_is_no_terminal():
    command = script(FIT, fits=[(None, 1.2)])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_verbose_writes_a_line_for_every_epoch(capsys):
    model(verbose=True, solver="asgd", tol=None, max_epochs=5).fit(X, y)
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("epoch 1 ")
    assert lines[-1].startswith("epoch 5 ")
    assert captured.out == ""
    model(verbose=True, tol=1e-3).fit(X, y)
    assert "target" in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [None, False])
def test_quiet_without_a_terminal(capsys, verbose):
    model(verbose=verbose, tol=1e-6).fit(X, y)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_no_standard_error_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    assert LinearRegressor().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.99
