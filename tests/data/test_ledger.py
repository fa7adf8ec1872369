"""The ledger counts to the entry."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Ledger, Reads

pytestmark = pytest.mark.pure_python

# rows with 2, 0, 3 and 1 stored entries
X = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 5.0]])


@pytest.fixture(params=["dense", "csr"])
def ledger(request):
    return Ledger(as_rows(X if request.param == "dense" else sp.csr_array(X)))


def sparse_ledger():
    return Ledger(as_rows(sp.csr_array(X)))


def test_reads_add_up_part_by_part():
    assert Reads(1, 2, 3) + Reads(10, 20, 30) == Reads(11, 22, 33)
    assert Reads() == Reads(0, 0, 0)


def test_visits_of_sparse_rows():
    ledger = sparse_ledger()
    ledger.visit(np.array([2, 0, 0, 1]))
    assert ledger.reads == Reads(dense=12, nnz=7, certificate=0)
    ledger.visit(np.array([3]))
    assert ledger.reads == Reads(dense=15, nnz=8, certificate=0)


def test_visits_of_dense_rows_cost_their_width():
    ledger = Ledger(as_rows(X))
    ledger.visit(np.array([2, 0, 0, 1]))
    assert ledger.reads == Reads(dense=12, nnz=12)


def test_a_pass_is_a_visit_to_every_row(ledger):
    ledger.pass_over()
    once = ledger.reads
    ledger.reads = Reads()
    ledger.visit(np.arange(4))
    assert ledger.reads == once
    assert once.nnz == ledger.total


def test_certificates_are_counted_apart(ledger):
    ledger.certify(np.int64(6))
    ledger.certify(4)
    assert ledger.reads == Reads(dense=0, nnz=0, certificate=10)


def test_counts_are_plain_integers(ledger):
    ledger.visit(np.array([0, 1]))
    ledger.pass_over()
    ledger.certify(np.int64(3))
    assert {type(count) for count in vars(ledger.reads).values()} == {int}


def test_an_empty_visit_costs_nothing(ledger):
    ledger.visit(np.array([], dtype=np.int64))
    assert ledger.reads == Reads()


@pytest.mark.parametrize(
    ("limit", "rows"), [(0, 0), (1, 0), (2, 2), (4, 2), (5, 3), (6, 4), (7, 4), (8, 5), (99, 5)]
)
def test_affordable_is_exact_to_the_entry(limit, rows):
    order = np.array([0, 1, 2, 3, 0])  # costs 2, 0, 3, 1, 2
    ledger = sparse_ledger()
    ledger.limit = limit
    part = ledger.affordable(order)
    np.testing.assert_array_equal(part, order[:rows])
    ledger.visit(part)
    assert ledger.reads.nnz <= limit
    if rows < len(order):
        assert ledger.reads.nnz + ledger.lengths[order[rows]] > limit


def test_affordable_takes_account_of_what_was_read():
    ledger = sparse_ledger()
    ledger.visit(np.array([2, 2]))
    for limit, rows in [(8, [0]), (9, [0, 3]), (5, [])]:  # the last: overspent, nothing more
        ledger.limit = limit
        assert ledger.affordable(np.array([0, 3])).tolist() == rows
    ledger.certify(1000)
    ledger.limit = 9
    assert ledger.affordable(np.array([0, 3])).tolist() == [0, 3]  # certificates are apart


def test_a_pass_over_the_rows_beyond_the_limit_is_refused():
    ledger = sparse_ledger()
    ledger.limit = ledger.total
    ledger.pass_over()
    assert ledger.left == 0
    with pytest.raises(ValueError, match="max_reads=6 is too small"):
        ledger.pass_over()


def test_a_row_without_entries_is_always_affordable_at_the_limit():
    ledger = sparse_ledger()
    ledger.limit = 0
    assert ledger.affordable(np.array([1, 1, 0])).tolist() == [1, 1]


def test_counts_do_not_overflow():
    ledger = sparse_ledger()
    ledger.reads = Reads(dense=2**62, nnz=2**62)
    for _ in range(4):
        ledger.reads += ledger.reads
    ledger.pass_over()
    assert ledger.reads.nnz == 2**66 + 6
