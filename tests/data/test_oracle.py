"""Features on demand: counted to the entry, asked once, bounded, and safe against failure."""

import numpy as np
import pytest

from skimlearn.data.oracle import Oracle, OracleError, ReadLimit

A = np.arange(12.0).reshape(3, 4)


class Service:
    """A matrix behind functions that remember what they were asked for."""

    def __init__(self):
        self.asked = []

    def row(self, i):
        self.asked.append(("row", i))
        return A[i]

    def column(self, j):
        self.asked.append(("column", j))
        return A[:, j].tolist()

    def entry(self, i, j):
        self.asked.append((i, j))
        return A[i, j]


def test_lines_are_right_and_asked_for_once():
    service = Service()
    oracle = Oracle(A.shape, row=service.row, column=service.column)
    for _ in range(3):
        np.testing.assert_array_equal(oracle.row(1), A[1])
        np.testing.assert_array_equal(oracle.column(2), A[:, 2])
    assert service.asked == [("row", 1), ("column", 2)]
    assert oracle.reads == 4 + 3


def test_single_entries_are_never_asked_for_twice():
    service = Service()
    oracle = Oracle(A.shape, entry=service.entry)
    for j in range(4):
        np.testing.assert_array_equal(oracle.column(j), A[:, j])
    for i in range(3):
        np.testing.assert_array_equal(oracle.row(i), A[i])
    assert len(service.asked) == len(set(service.asked)) == oracle.reads == A.size


def test_a_missing_column_function_is_made_from_entries():
    service = Service()
    oracle = Oracle(A.shape, row=service.row, entry=service.entry)
    oracle.row(0)
    np.testing.assert_array_equal(oracle.column(3), A[:, 3])
    assert service.asked == [("row", 0), (1, 3), (2, 3)]
    assert oracle.reads == 4 + 2


@pytest.mark.parametrize("limit", range(13))
def test_the_limit_holds_to_the_entry(limit):
    service = Service()
    oracle = Oracle(A.shape, row=service.row, column=service.column, max_reads=limit)

    def read():
        for i in range(3):
            oracle.row(i)
            oracle.column(i)

    with pytest.raises(ReadLimit, match=f"max_reads={limit}"):
        read()
    assert oracle.reads <= limit
    assert oracle.reads == sum(4 if kind == "row" else 3 for kind, _ in service.asked)


def test_the_memory_is_bounded_and_the_oldest_goes_first():
    service = Service()
    oracle = Oracle(A.shape, row=service.row, column=service.column, cache_bytes=2 * 4 * 8)
    oracle.row(0)
    oracle.row(1)
    oracle.row(0)  # used again: now row 1 is the oldest
    oracle.row(2)
    oracle.row(0)
    oracle.row(1)
    assert service.asked == [("row", 0), ("row", 1), ("row", 2), ("row", 1)]
    tiny = Oracle(A.shape, row=service.row, column=service.column, cache_bytes=8)
    np.testing.assert_array_equal(tiny.row(0), tiny.row(0))
    assert tiny.reads == 8


def test_a_failure_says_where_and_leaves_the_state_intact():
    broken = {2}

    def row(i):
        if i in broken:
            raise ConnectionError("no answer")
        return A[i]

    oracle = Oracle(A.shape, row=row, column=lambda j: A[:, j])
    oracle.row(0)
    with pytest.raises(OracleError, match=r"row\(2\) failed: ConnectionError") as caught:
        oracle.row(2)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert oracle.reads == 4
    broken.clear()
    np.testing.assert_array_equal(oracle.row(2), A[2])
    entries = Oracle(A.shape, entry=lambda i, j: 1 / (j - 1))
    with pytest.raises(OracleError, match=r"entry\(0, 1\) failed: ZeroDivisionError"):
        entries.row(0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), r"row\(0\) gave an array of shape \(3,\) instead of \(4,\)"),
        ([0.0, np.nan, 0.0, 0.0], r"entry \(0, 1\) is nan"),
        ([0.0, 0.0, 0.0, np.inf], r"entry \(0, 3\) is inf"),
        (["a", "b", "c", "d"], r"row\(0\) failed: ValueError"),
        (None, r"row\(0\)"),
    ],
)
def test_bad_answers_are_named(given, message):
    oracle = Oracle(A.shape, row=lambda i: given, column=lambda j: A[:, j])
    with pytest.raises(OracleError, match=message):
        oracle.row(0)


def test_what_is_given_cannot_be_corrupted():
    mine = A.copy()
    oracle = Oracle(A.shape, row=lambda i: mine[i], column=lambda j: mine[:, j])
    line = oracle.row(0)
    with pytest.raises(ValueError, match="read-only"):
        line[0] = 99.0
    mine[0] = 7.0
    np.testing.assert_array_equal(oracle.row(0), A[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (0, 4), "entry": max}, "shape"),
        ({"row": len}, "needs both row"),
        ({"column": len}, "needs both row"),
        ({}, "needs both row"),
        ({"entry": max, "max_reads": -1}, "max_reads=-1"),
        ({"entry": max, "rows_norm": [1.0, 2.0]}, "rows_norm has shape"),
        ({"entry": max, "rows_norm": -1.0}, "rows_norm must be"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Oracle(**{"shape": (3, 4)} | options)


def test_a_function_must_be_one():
    with pytest.raises(TypeError, match="entry=3 must be a function"):
        Oracle((3, 4), entry=3)


@pytest.mark.parametrize("index", [-1, 4, 10**9])
def test_an_index_out_of_range_is_named(index):
    oracle = Oracle(A.shape, entry=lambda i, j: A[i, j])
    with pytest.raises(IndexError, match=f"column {index} is out of range"):
        oracle.column(index)
