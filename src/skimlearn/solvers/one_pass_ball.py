r"""A ball around rows that pass by once: at most 3/2 times as large as it need be.

Problem:  R = min over c of max_i ||a_i - c||.

Algorithm: keep a ball of centre c and radius r, at first the first row. A row outside of it, at the
distance s > r from c, makes it grow to the smallest ball that holds the old one and the row:

    f = (s - r) / (2 s);   c <- (1 - f) c + f a_i;   r <- (s + r) / 2

All rows so far are inside, and r <= 3/2 R, in any order of the rows: Zarrabi-Zadeh and Chan, "A
simple streaming algorithm for minimum enclosing balls" (2006). Memory: d numbers.

The centre is a mean of rows, with known weights. So the spread of these rows around it, which obeys
D <- (1 - f) D + f (1 - f) s^2, is a lower bound of R^2 by duality, beside (2 r / 3)^2.
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import add, entry, size, stored
from skimlearn.data.stream import RowStream, as_stream
from skimlearn.result import Certificate, Record, Status, StreamResult
from skimlearn.solvers.ball import squared_distances

__all__ = ["FACTOR", "one_pass_ball"]

Vector = NDArray[np.float64]
FACTOR = 1.5  # of the radius, at most
RADIUS, SQUARE, SPREAD, BEST = range(4)  # positions in the state


def one_pass_ball(source: Any, *, certify: bool = False) -> StreamResult:
    """A ball that holds all rows, with a radius of at most 3/2 times the least, in one pass.

    Parameters
    ----------
    source : RowStream, path, iterable of blocks, generator, callable, Store, ...
        Blocks of rows; see `RowStream`. Labels are not looked at.
    certify : bool, default=False
        Make a second pass, which finds the farthest row: the ball shrinks to it.

    Returns
    -------
    StreamResult
        ``x`` is the centre and ``bias`` the squared radius; ``p`` is empty. The certificate is one
        of the squared radius: its ``primal`` is at most 9/4 of its ``dual``, and often far less.

    See Also
    --------
    stream_ball : to any accuracy, in several passes.

    Examples
    --------
    >>> result = one_pass_ball([[[0.0, 0.0], [2.0, 0.0]], [[1.0, 1.0], [1.0, -0.5]]])
    >>> result.x, result.certificate
    (array([1., 0.]), Certificate(primal=1.0, dual=1.0, maximize=False, failure=0.0))
    """
    began, stream = time.perf_counter(), as_stream(source)
    if certify:
        stream.require_again("one_pass_ball with certify=True")
    c, state, reads = _grown(stream)
    radius, best = float(state[RADIUS]), float(state[BEST])
    primal, dual = radius * radius, max(best, (radius / FACTOR) ** 2)
    history = [Record(1.0, time.perf_counter() - began, reads.nnz, primal, dual)]
    status = Status.STREAMED
    if certify:
        primal, more = 0.0, 0
        with closing(stream.blocks()) as blocks:
            for block in blocks:
                primal = max(primal, float(squared_distances(block.rows, c).max()))
                more += stored(block.rows)
        reads += Reads(certificate=more)
        history.append(Record(2.0, time.perf_counter() - began, reads.nnz, primal, dual))
        status = Status.PLANNED
    passes = 1 + certify
    return StreamResult(
        x=c, bias=primal, p=np.zeros(0), certificate=Certificate(primal, min(dual, primal)),
        reads=reads, seconds=time.perf_counter() - began, epochs=float(passes), status=status,
        history=history, solver="one_pass_ball", passes=passes, memory=c.nbytes + state.nbytes,
    )  # fmt: skip


def _grown(stream: RowStream) -> tuple[Vector, Vector, Reads]:
    """The ball after one pass: its centre, the state, and the reads."""
    c, state, reads = np.zeros(0), np.zeros(4), Reads()
    with closing(stream.blocks()) as blocks:
        for block in blocks:
            rows = block.rows
            first = len(c) == 0
            if first:
                c = np.zeros(rows.shape[1])
            _grow(rows, rows.shape[0], c, state, first)
            reads += Reads(rows.shape[0] * rows.shape[1], stored(rows))
    return c, state, reads


@kernel
def _grow(rows, count, c, state, first):
    """Let the ball grow to hold all rows of a block."""
    radius, square, spread, best = state[RADIUS], state[SQUARE], state[SPREAD], state[BEST]
    for i in range(count):
        if first and i == 0:
            add(rows, i, 1.0, c)
            square = _squared(c)
            continue
        near, covered, stored = 0.0, 0.0, np.int64(size(rows, i))
        for k in range(size(rows, i)):
            j, x = entry(rows, i, k)
            near += (x - c[j]) * (x - c[j])
            covered += c[j] * c[j]
        s = math.sqrt(near + (max(square - covered, 0.0) if stored < len(c) else 0.0))
        if s > radius:
            f = 0.5 * (s - radius) / s
            for j in range(len(c)):
                c[j] *= 1.0 - f
            add(rows, i, f, c)
            square = _squared(c)
            spread = (1.0 - f) * spread + f * (1.0 - f) * s * s
            radius = 0.5 * (s + radius)
            best = max(best, spread)
    state[RADIUS], state[SQUARE], state[SPREAD], state[BEST] = radius, square, spread, best


@kernel
def _squared(c):
    total = 0.0
    for j in range(len(c)):
        total += c[j] * c[j]
    return total
