"""BLAS is held to one thread while somebody asks for it, and set free afterwards."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from skimlearn import LinearClassifier
from skimlearn.data.blas import LONG, WIDE, linalg, one_thread, one_thread_for
from skimlearn.data.inspection import as_rows
from skimlearn.solvers import sgd


def threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _two_threads():
    """Two threads in every library, on any machine."""
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread")
        yield
        assert threads() == {2}  # whatever a test did, it is undone


def test_it_holds_and_lets_go():
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
        assert linalg() is scipy.linalg
        assert threads() == {1}
    assert threads() == {2}


def test_an_error_lets_go():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert threads() == {2}


def test_other_threads_do_nothing():
    """Two of them whose times overlap could not agree on what to go back to."""
    seen = []

    def other():
        with one_thread():
            seen.append(threads())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [{2}]


LATE = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skimlearn.data.blas import linalg, one_thread

def threads():
    return sorted(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")

with threadpool_limits(2, user_api="blas"):
    with one_thread():
        with one_thread():
            before = threads()
            if LOADED_BY_OTHERS:
                import scipy.linalg
            linalg()
            print(len(threads()) - len(before), set(threads()))
        print(set(threads()))
    print(2 in threads())
"""


@pytest.mark.parametrize("by_others", [False, True])
def test_a_library_that_is_loaded_late_is_held_too(by_others):
    """In a new process, where scipy.linalg is not there yet."""
    script = LATE.replace("LOADED_BY_OTHERS", str(by_others))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    inside, outside, after = run.stdout.splitlines()
    if inside.startswith("0 "):
        pytest.skip("NumPy and SciPy have one BLAS together")
    assert (inside, outside, after) == ("1 {1}", "{1}", "True")


@pytest.mark.parametrize(
    ("X", "held"),
    [
        (sp.random_array((300, 2 * WIDE), density=0.1, format="csr", rng=0), 1),
        (np.ones((3, WIDE - 1)), 1),
        (np.ones((3, WIDE)), 2),
    ],
    ids=["sparse", "narrow", "wide"],
)
def test_wide_dense_rows_keep_their_threads(X, held):
    with one_thread_for(as_rows(X)):
        assert threads() == {held}


@pytest.mark.parametrize(("classes", "held"), [(2, 2), (3, 1)])
def test_a_fit_holds_it(classes, held):
    """Not for two classes of wide dense rows; but for several, each on a thread of its own."""
    seen = []
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, WIDE)), np.arange(60) % classes
    model = LinearClassifier(solver="dual", n_jobs=2, callback=lambda _: seen.append(threads()))
    model.fit(X, y)
    assert seen
    assert all(one == {held} for one in seen)
    seen.clear()
    model.fit(sp.csr_array(np.where(X > 0.0, X, 0.0)), y)
    assert seen
    assert all(one == {1} for one in seen)


def test_a_batch_of_a_stream_holds_it(monkeypatch):
    """Its steps take products of two vectors, which have threads if they are long."""
    seen = []
    move = sgd.Sgd.move

    def watched(self, order):
        seen.append(threads())
        move(self, order)

    monkeypatch.setattr(sgd.Sgd, "move", watched)
    for width, held in ((LONG, {1}), (LONG - 1, threads())):
        seen.clear()
        X, y = np.random.default_rng(0).normal(size=(20, width)), np.arange(20) % 2
        LinearClassifier(solver="casgd").partial_fit(X, y)
        assert seen
        assert all(one == held for one in seen)
