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


@pytest.mark.parametrize("failure", [OSError("busy"), KeyboardInterrupt(), np.nan])
def test_what_came_before_a_failure_is_neither_asked_for_nor_paid_again(failure):
    asked = []

    def entry(i, j):
        asked.append((i, j))
        if asked.count((i, j)) == 1 and (i, j) == (1, 2):
            if isinstance(failure, BaseException):
                raise failure
            return failure
        return A[i, j]

    oracle = Oracle(A.shape, entry=entry)
    with pytest.raises((OracleError, KeyboardInterrupt)):
        oracle.row(1)
    given = 3 if failure is np.nan else 2  # an answer that is refused was given all the same
    assert oracle.reads == given
    np.testing.assert_array_equal(oracle.column(0), A[:, 0])  # (1, 0) is known
    np.testing.assert_array_equal(oracle.row(1), A[1])
    assert asked == [(1, 0), (1, 1), (1, 2), (0, 0), (2, 0), (1, 2), (1, 3)]
    assert oracle.reads == given + 4


def test_the_limit_counts_only_what_a_failure_left_out():
    answers = iter([0.0, 1.0, OSError("busy"), 2.0, 3.0])

    def entry(i, j):
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    oracle = Oracle(A.shape, entry=entry, max_reads=4)
    with pytest.raises(OracleError, match=r"entry\(0, 2\)"):
        oracle.row(0)
    np.testing.assert_array_equal(oracle.row(0), A[0])
    assert oracle.reads == 4


def test_partial_lines_share_the_bounded_memory():
    broken = True

    def entry(i, j):
        if broken and j == 3:
            raise OSError("busy")
        return A[i, j]

    oracle = Oracle(A.shape, entry=entry, cache_bytes=4 * 8)  # room for a single row
    for i in range(3):
        with pytest.raises(OracleError):
            oracle.row(i)
    assert oracle.reads == 9
    broken = False
    np.testing.assert_array_equal(oracle.row(2), A[2])
    assert oracle.reads == 10  # only the row that was kept is completed
    np.testing.assert_array_equal(oracle.row(0), A[0])
    assert oracle.reads == 14


def test_a_line_that_all_others_tell_is_not_asked_for():
    service = Service()
    oracle = Oracle(A.shape, row=service.row, column=service.column)
    for j in range(4):
        oracle.column(j)
    np.testing.assert_array_equal(oracle.row(1), A[1])
    assert oracle.reads == 12
    assert ("row", 1) not in service.asked


def test_lines_that_a_failure_left_incomplete_tell_only_what_they_know():
    service = Service()
    broken = True

    def entry(i, j):
        if broken and i == 1:
            raise OSError("busy")
        return A[i, j]

    oracle = Oracle(A.shape, row=service.row, entry=entry)
    for j in range(4):
        with pytest.raises(OracleError):
            oracle.column(j)
    np.testing.assert_array_equal(oracle.row(0), A[0])  # told by the first entries of the columns
    assert service.asked == []
    np.testing.assert_array_equal(oracle.row(1), A[1])
    assert service.asked == [("row", 1)]
    broken = False
    np.testing.assert_array_equal(oracle.column(2), A[:, 2])
    assert oracle.reads == 4 + 4 + 1


@pytest.mark.parametrize("kind", ["row", "entry"])
def test_a_function_may_end_the_run_by_its_own_limit(kind):
    def broke(*place):
        raise ReadLimit("the money is spent")

    functions = {"column": lambda j: A[:, j]} | {kind: broke}
    with pytest.raises(ReadLimit, match="the money is spent"):
        Oracle(A.shape, **functions).row(0)


def test_within_is_a_limit_for_a_while():
    oracle = Oracle(A.shape, entry=lambda i, j: A[i, j], max_reads=11)
    with oracle.within(4):
        oracle.row(0)
        with pytest.raises(ReadLimit, match="max_reads=4, of which 4"):
            oracle.row(1)
    with oracle.within(100):  # never more than max_reads
        oracle.row(1)
        with pytest.raises(ReadLimit, match="max_reads=11"):
            oracle.row(2)
    assert oracle.max_reads == 11
    with oracle.within(np.inf):
        assert oracle.max_reads == 11


def test_no_memory_at_all():
    oracle = Oracle(A.shape, entry=lambda i, j: A[i, j], cache_bytes=0)
    for _ in range(2):
        np.testing.assert_array_equal(oracle.row(2), A[2])
    assert oracle.reads == 8


def test_a_long_history_keeps_count():
    """Random requests under failures: always right, within the memory, counted as given."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(13, 17))
    given = 0

    def entry(i, j):
        nonlocal given
        if rng.random() < 0.02:
            raise TimeoutError("busy")
        given += 1
        return B[i, j]

    oracle = Oracle(B.shape, entry=entry, cache_bytes=8 * 100)
    failures = 0
    for _ in range(3000):
        axis = int(rng.integers(2))
        index = int(rng.integers(B.shape[axis]))
        try:
            line = oracle.column(index) if axis else oracle.row(index)
        except OracleError:
            failures += 1
            continue
        np.testing.assert_array_equal(line, B[:, index] if axis else B[index])
        held = [line for lines in oracle._lines for line in lines.values()]
        assert sum(line.nbytes for line in held) == oracle._held <= oracle.cache_bytes
    assert oracle.reads == given
    assert 100 < failures < 1500


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
        ({"shape": (3,), "entry": max}, r"shape=\(3,\)"),
        ({"shape": (3.5, 4), "entry": max}, r"shape=\(3.5, 4\)"),
        ({"entry": max, "cache_bytes": -1}, "cache_bytes=-1"),
        ({"entry": max, "cache_bytes": float("nan")}, "cache_bytes=nan"),
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
    with pytest.raises(TypeError):
        oracle.column(1.0)


@pytest.mark.parametrize("answer", [None, "one", [1.0, 2.0]])
def test_an_entry_that_is_no_number_is_named(answer):
    oracle = Oracle(A.shape, entry=lambda i, j: answer)
    with pytest.raises(OracleError, match=r"entry\(2, 0\) failed: (Type|Value)Error"):
        oracle.row(2)
