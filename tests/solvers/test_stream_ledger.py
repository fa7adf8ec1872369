"""The ledger of the streams, against rows that write down which of their entries are taken.

Kernels are plain Python here (NUMBA_DISABLE_JIT=1), and ask for single entries. A row that one
function takes is read once, whatever it does with it; but the weights of rows come from entries of
columns that were drawn, and each of these is a read of its own.
"""

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import (
    LinearClassifier,
    LinearRegressor,
    RowStream,
    _jit,
    one_pass_ball,
    stream_ball,
    stream_margin,
)
from skimlearn.data.ledger import Reads
from skimlearn.estimators._stream import Stream

N, D = 23, 6
rng = np.random.default_rng(2)
LABELS = np.where(rng.random(N) < 0.5, 1.0, -1.0)
X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
X[:, 0] = LABELS * (1.0 + rng.random(N))  # no row is empty
CUTS = [slice(0, 9), slice(9, 10), slice(10, N)]

PROVING = {"StreamGame._certified", "_Margin.check", "_Ball.check", "_Margin.explicit",
           "_Ball.explicit", "one_pass_ball"}  # fmt: skip
FINDING = {"_grown"}  # the first pass of one_pass_ball
LOOPS = {"_weigh", "_norms", "_squared_distances", "_grow", "responses", "combine", "take"}

plain = pytest.mark.skipif(not _jit.numba.config.DISABLE_JIT, reason="looks inside of kernels")


class Tape:
    """Entries that were taken: to find the answer, by their number and by width; to prove it."""

    def __init__(self):
        self.found = self.wide = self.proved = 0
        self.visits = set()  # entries that a function that is still running has at hand
        self.last = None

    def touch(self, block, row, entry):
        frame, loop, proves = sys._getframe(2), None, None
        while frame is not None and (loop is None or proves is None):
            code = frame.f_code
            if loop is None and code.co_name in LOOPS:
                loop = (code.co_name, id(frame))
            if proves is None and code.co_qualname in PROVING | FINDING:
                proves = code.co_qualname in PROVING
            frame = frame.f_back
        if loop is None:
            loop = ("visit", 0)
        line = (loop, block, row)
        if line != self.last or loop[0] == "_weigh":
            self.visits.clear()
            if not proves and loop[0] != "_weigh":
                self.wide += D
        self.last = line
        if entry in self.visits:
            return
        self.visits.add(entry)
        if proves:
            self.proved += 1
        else:
            self.found += 1


class Entries:
    """The values of rows, which tell a tape what is taken from them."""

    base = None

    def __init__(self, rows, tape, block):
        self.array, self.tape, self.block = rows.values, tape, block
        self.starts = getattr(rows, "starts", None)
        self.shape, self.dtype, self.flags = self.array.shape, self.array.dtype, self.array.flags
        self.strides, self.itemsize = self.array.strides, self.array.itemsize

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        if self.starts is None:
            lines, places = key if isinstance(key, tuple) else (key, range(self.shape[1]))
            for line in np.atleast_1d(lines).tolist():
                for place in np.atleast_1d(places).tolist():
                    self.tape.touch(self.block, line, place)
        else:
            for place in np.atleast_1d(np.arange(len(self.array))[key]).tolist():
                line = int(np.searchsorted(self.starts, place, side="right")) - 1
                self.tape.touch(self.block, line, place)
        return self.array[key]

    def __array__(self, *_, **__):
        raise AssertionError("all entries are used at once, without a record")


def recorded(rows, tape, block):
    return rows._replace(values=Entries(rows, tape, block))


def given(form):
    return [(form(X[cut]), LABELS[cut]) for cut in CUTS]


def stored(form):
    return int((X != 0.0).sum()) if form is sp.csr_array else N * D


@pytest.fixture
def tape(monkeypatch):
    """Blocks of streams are recorded, from now on."""
    record, original = Tape(), RowStream.blocks

    def blocks(stream, **options):
        for block in original(stream, **options):
            yield block._replace(rows=recorded(block.rows, record, block.number))

    monkeypatch.setattr(RowStream, "blocks", blocks)
    return record


OPTIONS = {
    "rebuilt": {},
    "kept": {"keep_weights": True},
    "without a proof": {"certify": False},
    "sketched": {"sketch": 32, "max_passes": 4},
    "sketched, without a proof": {"sketch": 32, "max_passes": 4, "certify": False},
}
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@plain
@pytest.mark.pure_python
@FORMS
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("function", [stream_margin, stream_ball])
def test_reads_of_passes(function, options, form, tape):
    small = {"rows_per_pass": 3, "columns_per_pass": 4, "max_passes": 7, "eps": 1e-9}
    small.update(options)
    result = function(given(form), **small, random_state=0)
    assert tape.found > stored(form)
    assert result.reads.nnz == tape.found
    assert result.reads.certificate == tape.proved
    assert (tape.proved > 0) == options.get("certify", True)
    same = function(
        given(np.asarray), **small, random_state=0
    )  # zeros are read, and change nothing
    assert result.reads.dense == same.reads.nnz


@plain
@pytest.mark.pure_python
@FORMS
@pytest.mark.parametrize("certify", [False, True])
def test_reads_of_a_ball_in_one_pass(certify, form, tape):
    result = one_pass_ball(given(form), certify=certify)
    assert tape.found == stored(form)
    assert result.reads == Reads(N * D, tape.found, tape.proved)
    assert tape.proved == (stored(form) if certify else 0)


SOLVERS = ("asgd", "sgd", "casgd", "ftrl", "pegasos", "pgs")


@plain
@pytest.mark.pure_python
@FORMS
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [LinearClassifier, LinearRegressor])
def test_reads_of_one_pass_learning(kind, solver, form, monkeypatch):
    tape, original, blocks = Tape(), Stream.learn, []

    def learn(stream, problem, rng):
        blocks.append(problem)
        rows = recorded(problem.rows, tape, len(blocks))
        return original(stream, replace(problem, rows=rows), rng)

    monkeypatch.setattr(Stream, "learn", learn)
    loss = {"loss": "log"} if kind is LinearClassifier else {}
    if solver == "pegasos":
        loss = {"loss": "hinge"} if kind is LinearClassifier else {"loss": "absolute"}
    model = kind(**loss, solver=solver, alpha=0.1, random_state=0).fit_stream(given(form))
    assert len(blocks) == len(CUTS)
    reads = model.result_.reads
    assert reads.nnz == tape.found
    assert reads.certificate == tape.proved == 0
    assert reads.dense == tape.wide
    assert tape.found >= stored(form)
