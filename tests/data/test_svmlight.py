"""Svmlight files: the same numbers as Python's, errors with their place, whatever the threads."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from skimlearn import SvmlightError, iter_svmlight, read_svmlight, write_svmlight
from skimlearn.data import _svmlight_parts
from skimlearn.data._svmlight_parts import Parts
from skimlearn.data._svmlight_room import Rules
from skimlearn.data._text_blocks import open_source
from svmlight_reference import WrongError, make_text, mutate, read

SOUND = b"""# a comment: 1:2
+1 1:0.5 3:2 # another\r
-1\t2:1e-3  4:.25 \r

2.5 qid:7 10:-3 2:5.
0 3:12345678901234567890.5"""

pure_python = pytest.mark.pure_python


def same(found, expected):
    """Equal to the bit."""
    (X, *rest), (Z, *others) = found, expected
    assert X.shape == Z.shape
    assert X.dtype == Z.dtype
    np.testing.assert_array_equal(X.indptr, Z.indptr)
    np.testing.assert_array_equal(X.indices, Z.indices)
    np.testing.assert_array_equal(X.data, Z.data)
    np.testing.assert_array_equal(np.signbit(X.data), np.signbit(Z.data))
    for one, other in zip(rest, others, strict=True):
        np.testing.assert_array_equal(one, other)


def check_against_reference(text, n_jobs=None):
    """The same rows as the plain reader has, or an error in the same line."""
    try:
        rows, wrong = read(text), 0
    except WrongError as error:
        rows, wrong = [], error.line
    if wrong:
        with pytest.raises(SvmlightError) as caught:
            read_svmlight(text, n_jobs=n_jobs)
        assert caught.value.line == wrong, text
        return False
    X, y = read_svmlight(text, n_jobs=n_jobs)
    ids = [column for _, _, entries in rows for column, _ in entries]
    first = min(ids, default=0) > 0
    np.testing.assert_array_equal(y, [labels[0] for labels, _, _ in rows])
    np.testing.assert_array_equal(X.indices, np.array(ids, dtype=np.int64) - first)
    values = np.array([value for _, _, entries in rows for _, value in entries])
    np.testing.assert_array_equal(X.data.view(np.uint64), values.view(np.uint64))
    np.testing.assert_array_equal(np.diff(X.indptr), [len(entries) for _, _, entries in rows])
    assert X.shape[1] == (max(ids) + 1 - first if ids else 0)
    return True


# ------------------------------------------------------------------------------------------ numbers


def value_of(token, **options):
    X, _ = read_svmlight(b"1 1:" + token + b" 2:1\n", **options)
    return X.data[0]


def assert_same_number(token):
    expected = float(token)
    if np.isinf(expected):
        with pytest.raises(SvmlightError, match="column 5"):
            value_of(token)
    found = value_of(token, finite=False)
    assert found == expected
    assert np.signbit(found) == np.signbit(expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_shortest_decimals_are_read_to_the_bit(number):
    assert_same_number(repr(number).encode())


@given(st.from_regex(r"\A[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?\Z"))
@settings(max_examples=200, deadline=None)
def test_any_decimals_are_read_to_the_bit(text):
    assert_same_number(text.encode("ascii", "ignore"))


@given(st.floats(min_value=0, max_value=1e308), st.integers(1, 40), st.sampled_from([-1, 0, 1]))
@settings(max_examples=200, deadline=None)
def test_numbers_at_the_middle_of_two_doubles_are_read_to_the_bit(number, digits, shift):
    from decimal import Decimal, getcontext, localcontext

    with localcontext(getcontext()) as context:
        context.prec = 1100
        middle = (Decimal(number) + Decimal(float(np.nextafter(number, np.inf)))) / 2
        context.prec = 800
        middle += shift * middle.scaleb(-700)
        assert_same_number(f"{middle:e}".encode())
        assert_same_number(f"{middle:.{digits}e}".encode())


@pure_python
@pytest.mark.parametrize(
    "token",
    [
        "0", "-0", "+0.0", "1", "+1", ".5", "5.", "-.5e1", "1e-3", "1E+3", "0.1", "123456.789",
        "12345678", "123456789", "0.12345678", "0.123456789012345678", "9007199254740993",
        "9007199254740993.0000000000000000000001", "18446744073709551615", "9999999999999999999",
        "1e22", "1e23", "8.5e22", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
        "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623158e308",
        "1.7976931348623159e308", "0e99999999999999999999", "1e-99999999999999999999",
        "0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "1e999", "-inf", "Infinity", "iNf",
    ],
)  # fmt: skip
def test_special_numbers(token):
    assert_same_number(token.encode())


@pure_python
def test_nan_is_taken_if_allowed():
    assert np.isnan(value_of(b"nan", finite=False))
    assert np.isnan(value_of(b"-NaN", finite=False))


def test_single_precision_is_rounded_from_double():
    tokens = [b"0.1", b"16777217", b"3.4e38", b"1e-50"]
    for token in tokens:
        found = value_of(token, dtype=np.float32)
        assert found.dtype == np.float32
        assert found == np.float32(float(token))


# -------------------------------------------------------------------------------------------- forms


@pure_python
def test_a_sound_file():
    X, y, query = read_svmlight(SOUND.replace(b"1 1", b"1 qid:-2 1").replace(b"-1\t", b"-1 qid:3 ")
                                .replace(b"\n0", b"\n0 qid:4"), query_id=True)  # fmt: skip
    expected = np.zeros((4, 10))
    expected[0, [0, 2]] = 0.5, 2.0
    expected[1, [1, 3]] = 1e-3, 0.25
    expected[2, [1, 9]] = 5.0, -3.0
    expected[3, 2] = 12345678901234567890.5
    np.testing.assert_array_equal(X.toarray(), expected)
    assert X.has_canonical_format
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert y.tolist() == [1.0, -1.0, 2.5, 0.0]
    assert query.tolist() == [-2, 3, 7, 4]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("zero_based", [True, False, "auto"])
def test_the_same_as_scikit_learn(seed, zero_based):
    text = make_text(np.random.default_rng(seed), rows=20, plain=True)
    try:
        theirs = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    except ValueError:
        with pytest.raises(SvmlightError, match="id '0' is below 1"):
            read_svmlight(text, zero_based=zero_based)
        text = re.sub(rb"\b0:[^ ]*", b"", text)
        theirs = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    same(read_svmlight(text, zero_based=zero_based, n_features=theirs[0].shape[1]), theirs)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_file_of_scikit_learn(seed, zero_based):
    rng = np.random.default_rng(seed)
    X = sp.random(7, 5, 0.4, format="csr", random_state=rng)
    X.data = rng.choice([-1.0, 0.1, 1e-7, 123.0, rng.random()], X.nnz)
    y, query = rng.integers(-2, 3, 7), rng.integers(9, size=7)
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=zero_based, query_id=query, comment="a: b")
    options = {"n_features": 5, "zero_based": zero_based, "query_id": True}
    theirs = load_svmlight_file(io.BytesIO(file.getvalue()), **options)
    same(read_svmlight(file.getvalue(), **options), theirs)


@pure_python
def test_many_labels():
    text = b"3,1,2.5 1:1\n2:5 3:1\n-1\nqid:4 1:2\n"
    X, y = read_svmlight(text, multilabel=True)
    assert y == [(1.0, 2.5, 3.0), (), (-1.0,), ()]
    assert X.toarray().tolist() == [[1, 0, 0], [0, 5, 1], [0, 0, 0], [2, 0, 0]]
    theirs = load_svmlight_file(
        io.BytesIO(text.replace(b"-1\nqid:4", b"-1 4:0\n")), multilabel=True
    )
    assert theirs[1] == y
    blocks = list(iter_svmlight(text, multilabel=True, rows=3))
    assert [y for _, y in blocks] == [y[:3], y[3:]]


@pure_python
@pytest.mark.parametrize("text", [b"", b"\n", b"\r\n \t\n", b"# nothing", b"#\n#"])
def test_no_rows(text):
    X, y = read_svmlight(text)
    assert X.shape == (0, 0)
    assert y.shape == (0,)
    assert read_svmlight(text, n_features=3)[0].shape == (0, 3)
    assert list(iter_svmlight(text)) == []


@pure_python
def test_where_ids_begin():
    assert read_svmlight(b"1 1:1")[0].shape == (1, 1)
    assert read_svmlight(b"1 1:1\n1 0:1")[0].shape == (2, 2)
    assert read_svmlight(b"1 1:1", zero_based=True)[0].shape == (1, 2)
    assert read_svmlight(b"1 2:1", n_features=2)[0].shape == (1, 2)
    with pytest.raises(SvmlightError, match=r"line 2: the id 2 is beyond 1") as caught:
        read_svmlight(b"1 0:1\n1 2:1\n1 1:2 2:1", n_features=2)
    assert (caught.value.line, caught.value.column) == (2, None)


@pure_python
def test_large_ids_have_64_bits():
    assert read_svmlight(b"1 2147483647:1", zero_based=False)[0].indices.dtype == np.int32
    X, _ = read_svmlight(b"1 1:2 2147483649:1\n1 2:5", zero_based=False)
    assert X.indices.dtype == X.indptr.dtype == np.int64
    assert X.indices.tolist() == [0, 2147483648, 1]
    X, _ = read_svmlight(b"1 9223372036854775807:1 1:2", zero_based=False)
    assert X.indices.tolist() == [0, 2**63 - 2]
    assert X.shape[1] == 2**63 - 1
    X, _ = read_svmlight(b"1 00000000000000000000000000012:1", zero_based=True)
    assert X.indices.tolist() == [12]


@pytest.mark.parametrize("order", ["falling", "random"])
def test_long_unsorted_rows(order):
    rng = np.random.default_rng(0)
    ids = np.arange(30_000)[::-1] if order == "falling" else rng.permutation(30_000)
    text = b"1 " + b" ".join(b"%d:%d.5" % (i, i) for i in ids)
    X, _ = read_svmlight(text)
    assert X.indices.tolist() == list(range(30_000))
    assert X.data.tolist() == [i + 0.5 for i in range(30_000)]


def test_hard_numbers_stay_with_their_ids():
    hard = b"9007199254740993.0000000000000000000000000001"
    X, _ = read_svmlight(b"1 9:1 8:" + hard + b" 7:2\n")
    assert X.data.tolist() == [2.0, float(hard), 1.0]
    _, y = read_svmlight(hard + b" 1:1\n")
    assert y[0] == float(hard)


# ------------------------------------------------------------------------------------------- errors

ERRORS = [
    (b"x 1:1", 1, "expected a label, a number, but found 'x'"),
    (b"1:1 2:2", 1, "expected a label, a number, but found '1:1'"),
    (b"1x 1:1", 1, "expected a label"),
    (b"  \x00\xff", 3, r"found '\\x00\\xff'"),
    (b"1,2 1:1", 1, "expected one label, but found '1,2': use multilabel=True"),
    (b"inf 1:1", 1, "'inf' is not a finite number"),
    (b"1 qid:x 1:1", 3, "expected qid: and a whole number"),
    (b"1 qid:9223372036854775808 1:1", 3, "below 2\\^63"),
    (b"1 1:1 qid:3", 7, "expected an id and its value, as in 3:0.5, but found 'qid:3'"),
    (b"1 1:1 -2:3", 7, "expected an id and its value"),
    (b"1 :3", 3, "expected an id and its value"),
    (b"1 1:1 2", 7, "expected a colon and a value after an id"),
    (b"1 1 :2", 3, "expected a colon"),
    (b"1 1:", 5, "expected the value of an id, .* but found the end of the line"),
    (b"1 1: 2", 5, "expected the value of an id"),
    (b"1 1:x", 5, "but found 'x'"),
    (b"1 1:1,2", 5, "but found '1,2'"),
    (b"1 1:1e", 5, "but found '1e'"),
    (b"1 1:1e+ 2:3", 5, "but found '1e"),
    (b"1 1:.", 5, "but found '.'"),
    (b"1 1:-", 5, "but found '-'"),
    (b"1 1:0x10", 5, "but found '0x10'"),
    (b"1 1:1_0", 5, "but found '1_0'"),
    (b"1 1:infinit", 5, "but found 'infinit'"),
    (b"1 1:" + b"9" * 99 + b"x", 5, "but found '9{40}'\\.\\.\\."),
    (b"1 1:nan", 5, "'nan' is not a finite number"),
    (b"1 1:0 2:-1e999", 9, "'-1e999' is not a finite number"),
    (b"1 1:1" + b"9" * 308 + b".9", 5, "is not a finite number"),
    (b"1 1:1 9223372036854775807:2", 7, "id '9223372036854775807' is too large"),
    (b"1 99999999999999999999999999:1", 3, "is too large"),
    (b"1 1:1 2:2 1:3", 11, "the id 1 is there twice, here and in column 3"),
    (b"1 3:1 3:2", 7, "the id 3 is there twice"),
]


@pure_python
@pytest.mark.parametrize(("line", "column", "message"), ERRORS)
def test_errors_name_the_line_and_the_column(line, column, message):
    for before in (b"", b"1 5:1\n\n# x\n2 1:1 # 1:x\r\n"):
        for after in (b"", b"\n", b"\r\n", b" \n1 1:1\n"):
            with pytest.raises(SvmlightError, match=message) as caught:
                read_svmlight(before + line + after)
            error = caught.value
            assert (error.path, error.line) == ("<bytes>", before.count(b"\n") + 1)
            assert error.column == column
            assert str(error).startswith(f"<bytes>, line {error.line}, column {column}: ")


@pure_python
def test_errors_that_depend_on_options():
    cases = [
        (b"1 1:1 0:2", {"zero_based": False}, 7, "id '0' is below 1: use zero_based=True"),
        (b"1 1:1 5:2", {"zero_based": True, "n_features": 5}, 7, "id '5' is beyond 4"),
        (b"1 1:1 6:2", {"n_features": 5}, 7, "id '6' is beyond 5"),
        (b"1 1:1", {"query_id": True}, 3, "expected qid:number after the label"),
        (b"1", {"query_id": True}, 2, "but found the end of the line"),
        (b"1,x 1:1", {"multilabel": True}, 3, "expected a label, a number, but found 'x'"),
        (b"1, 1:1", {"multilabel": True}, 3, "expected a label, .* the end of"),
    ]
    for text, options, column, message in cases:
        with pytest.raises(SvmlightError, match=message) as caught:
            read_svmlight(b"\n" + text, **options)
        assert (caught.value.line, caught.value.column) == (2, column)


def test_the_first_of_several_faults_is_named():
    faults = [b"1 2:1 1:1 2:2\n", b"1 1:1" + b"9" * 308 + b".9\n", b"1 1:x\n"]
    for first in faults:
        for second in faults:
            with pytest.raises(SvmlightError) as caught:
                read_svmlight(b"1 1:1\n" + first + second)
            assert caught.value.line == 2


def test_errors_can_be_sent_to_other_processes():
    error = pickle.loads(pickle.dumps(SvmlightError("wrong", "a.svm", 3, 4)))
    assert str(error) == "a.svm, line 3, column 4: wrong"
    assert (error.path, error.line, error.column) == ("a.svm", 3, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features=0 must be a whole number"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"dtype": np.int32}, "must be float32 or float64"),
        ({"zero_based": "yes"}, "zero_based='yes' must be True, False or 'auto'"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        read_svmlight(b"1 1:1", **options)


def test_bad_options_of_blocks():
    with pytest.raises(ValueError, match="rows=0 must be"):
        iter_svmlight(b"1 1:1", rows=0)
    with pytest.raises(ValueError, match="cannot be seen before the end"):
        iter_svmlight(b"1 1:1", zero_based="auto")


def test_bad_sources(tmp_path):
    with pytest.raises(TypeError, match="binary mode"):
        read_svmlight(io.StringIO("1 1:1"))
    with pytest.raises(TypeError, match="must be a path, a binary file object or bytes"):
        read_svmlight(3)
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "none.svm")
    with pytest.raises(IsADirectoryError):
        read_svmlight(tmp_path)


# ------------------------------------------------------------------------------- blocks and threads


def parts(text, block, workers):
    rules = Rules(np.uint64(0), np.uint64(2**62), True, False, False)
    return list(Parts(open_source(text), rules, dtype=np.float64, workers=workers, block=block))


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_blocks_may_end_anywhere(workers):
    (whole,) = parts(SOUND, 1000, 1)
    for block in range(1, len(SOUND) + 2):
        found = parts(SOUND, block, workers)
        assert len(found) > 1 or block > len(SOUND) // 2
        for field in ("labels", "columns", "values"):
            joined = np.concatenate([getattr(part, field) for part in found])
            np.testing.assert_array_equal(joined, getattr(whole, field))
        lengths = np.concatenate([np.diff(part.starts) for part in found])
        np.testing.assert_array_equal(lengths, np.diff(whole.starts))
        assert sum(part.lines for part in found) == whole.lines


@pure_python
def test_small_blocks():
    for block in (1, 7, 20):
        assert sum(len(part.values) for part in parts(SOUND, block, 1)) == 7


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_errors_are_the_same_for_all_blocks_and_threads(n_jobs, monkeypatch):
    sound = SOUND + b"\n1 1:1\n" * 50
    text = sound + b"1 1:x\n" + b"1 y:1\n" * 50
    for block in (1, 10, 100, 10_000):
        monkeypatch.setattr(_svmlight_parts, "BLOCK", block)
        with pytest.raises(SvmlightError) as caught:
            read_svmlight(text, n_jobs=n_jobs)
        assert (caught.value.line, caught.value.column) == (sound.count(b"\n") + 1, 5)
        assert threading.active_count() == 1  # although the error is still there


def test_threads_give_the_same_matrix(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(2000, 1000, 0.1, format="csr", random_state=rng)
    write_svmlight(X, np.arange(2000), tmp_path / "X.svm")
    assert (tmp_path / "X.svm").stat().st_size > 3 * _svmlight_parts.BLOCK
    expected = (X, np.arange(2000))
    for n_jobs in (None, 1, 2, 3, -1):
        same(read_svmlight(tmp_path / "X.svm", n_features=1000, n_jobs=n_jobs), expected)
    assert threading.active_count() == 1


@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("known", [True, False])
def test_a_pile_grows_whatever_the_beginning_promises(zero_based, known, monkeypatch):
    monkeypatch.setattr(_svmlight_parts, "BLOCK", 100)
    rng = np.random.default_rng(0)
    wide = [[3], *([] for _ in range(200)), *([2, 7, 2**40] for _ in range(300)), [], [5]]
    lines = [f"{k} " + " ".join(f"{j}:{k}.5" for j in row) for k, row in enumerate(wide)]
    lines += [f"{j} {j}:1" for j in rng.integers(1, 9, 50)]
    text = "\n".join(lines).encode()
    X, y = read_svmlight(text if known else io.BytesIO(text), zero_based=zero_based)
    first = int(zero_based is not True)
    assert X.shape == (len(lines), 2**40 + 1 - first)
    assert y.tolist() == [float(line.split()[0]) for line in lines]
    entries = [tuple(map(float, e.split(":"))) for line in lines for e in line.split()[1:]]
    assert X.indices.tolist() == [int(j) - first for j, _ in entries]
    assert X.data.tolist() == [value for _, value in entries]
    assert X.indptr.tolist() == np.cumsum([0, *(len(line.split()) - 1 for line in lines)]).tolist()
    owner = X.data if X.data.base is None else X.data.base
    assert owner.nbytes == X.data.nbytes  # no room is left behind the last entry


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_blocks_of_rows(rows, block, monkeypatch):
    monkeypatch.setattr(_svmlight_parts, "BLOCK", block)
    text = b"".join(b"%d qid:%d %d:1 9:%d\n" % (i, i, i % 5 + 1, i) for i in range(20))
    X, y, query = read_svmlight(text, query_id=True)
    found = list(iter_svmlight(text, rows=rows, query_id=True, n_features=9))
    assert [len(y) for _, y, _ in found[:-1]] == [rows] * (len(found) - 1)
    joined = (sp.vstack([X for X, _, _ in found], format="csr"),)
    joined += tuple(np.concatenate(part) for part in list(zip(*found, strict=True))[1:])
    same(joined, (X, y, query))


def test_blocks_grow_wider():
    text = b"1 1:1\n1 3:1\n1 2:1\n"
    widths = [X.shape[1] for X, _ in iter_svmlight(text, rows=1)]
    assert widths == sorted(widths)
    assert widths[-1] == 3


def test_memory_is_bounded():
    """An endless file is read as far as it is asked for."""

    class Endless:
        def __init__(self):
            self.given = 0

        def read(self, size):
            self.given += size
            return (b"1 1:0.5 2:3\n" * (size // 12 + 1))[: size // 12 * 12]

    for n_jobs in (1, 2):
        file = Endless()
        blocks = iter_svmlight(file, rows=1000, n_jobs=n_jobs)
        for _ in range(5):
            assert next(blocks)[0].shape == (1000, 2)
        blocks.close()
        assert file.given < 10 * _svmlight_parts.BLOCK


def test_a_long_line_among_short_ones():
    entries = b" ".join(b"%d:0.5" % i for i in range(1, 300_001))
    text = b"1 1:1\n" * 1000 + b"2 " + entries + b"\n" + b"3 2:1\n" * 1000
    for n_jobs in (1, 2):
        X, y = read_svmlight(text, n_jobs=n_jobs)
        assert X.shape == (2001, 300_000)
        assert X.nnz == 302_000
        assert y.tolist() == [1.0] * 1000 + [2.0] + [3.0] * 1000


def test_errors_of_the_file_reach_the_caller():
    class Broken:
        def read(self, size):
            raise OSError("the disk is gone")

    class BrokenLater(io.BytesIO):
        def readinto(self, buffer):
            raise OSError("the disk is gone")

    for n_jobs in (1, 2):
        with pytest.raises(OSError, match="the disk is gone"):
            read_svmlight(Broken(), n_jobs=n_jobs)
        with pytest.raises(OSError, match="the disk is gone"):
            read_svmlight(BrokenLater(b"1 1:1\n2 2:2\n"), n_jobs=n_jobs)
    assert threading.active_count() == 1


# ------------------------------------------------------------------------------------------ sources


def zstd():
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(write_checksum=True).compress


COMPRESSORS = {"gz": lambda: gzip.compress, "bz2": lambda: bz2.compress,
               "xz": lambda: lzma.compress, "zst": zstd}  # fmt: skip


@pytest.mark.parametrize("end", COMPRESSORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_compressed(end, n_jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(_svmlight_parts, "BLOCK", 2**14)
    compress = COMPRESSORS[end]()
    text = SOUND + b"\n" + b"1 2:0.25 3:7\n" * 5_000
    expected = read_svmlight(text)
    (tmp_path / "no.name").write_bytes(compress(text))
    same(read_svmlight(tmp_path / "no.name", n_jobs=n_jobs), expected)
    same(read_svmlight(os.fsencode(tmp_path / "no.name").decode(), n_jobs=n_jobs), expected)
    same(read_svmlight(compress(text), n_jobs=n_jobs), expected)
    half = len(text) // 2
    same(read_svmlight(compress(text[:half]) + compress(text[half:]), n_jobs=n_jobs), expected)
    blocks = list(iter_svmlight(compress(text), n_jobs=n_jobs, n_features=10))
    same((sp.vstack([X for X, _ in blocks], format="csr"),), expected[:1])
    write_svmlight(*expected, tmp_path / f"X.{end}")
    same(read_svmlight(tmp_path / f"X.{end}", n_jobs=n_jobs), expected)
    assert (tmp_path / f"X.{end}").stat().st_size < len(text) / 10


@pytest.mark.parametrize("end", COMPRESSORS)
def test_compressed_data_that_are_cut_off(end):
    whole = COMPRESSORS[end]()(SOUND)
    for length in range(1, len(whole)):
        with pytest.raises(SvmlightError) as caught:
            read_svmlight(whole[:length])
        if length > 6:
            assert "too early" in str(caught.value)
            assert caught.value.column is None


@pytest.mark.parametrize("end", COMPRESSORS)
def test_compressed_data_that_are_damaged(end):
    rng = np.random.default_rng(0)
    whole = COMPRESSORS[end]()(SOUND * 5)
    expected = read_svmlight(SOUND * 5)
    for _ in range(100):
        data = bytearray(whole)
        at = rng.integers(6, len(data))
        data[at] ^= 1 << rng.integers(8)
        try:
            found, message = read_svmlight(bytes(data)), ""
        except SvmlightError as error:
            message = str(error)
        if message:
            assert "damaged" in message or "too early" in message
        else:
            same(found, expected)  # a bit that says nothing


def test_the_line_where_compressed_data_end(tmp_path):
    rng = np.random.default_rng(0)
    text = b"".join(b"1 1:%r\n" % x for x in rng.random(100_000).tolist())
    data = gzip.compress(text)
    for n_jobs in (1, 2):
        with pytest.raises(SvmlightError, match="end too early") as caught:
            read_svmlight(data[: len(data) // 2], n_jobs=n_jobs)
        assert 45_000 < caught.value.line < 55_000


def test_a_missing_module_is_named(monkeypatch):
    for name in ("compression", "zstandard", "pyarrow"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(ImportError, match="pip install zstandard"):
        read_svmlight(b"\x28\xb5\x2f\xfd0000")
    with pytest.raises(ImportError, match="pip install zstandard"):
        write_svmlight([[1.0]], [1], "x.zst")
    assert not os.path.exists("x.zst")


def test_file_objects(tmp_path):
    path = tmp_path / "X.svm"
    path.write_bytes(SOUND)
    expected = read_svmlight(path)
    with open(path, "rb") as file:
        same(read_svmlight(file), expected)
        assert not file.closed
    same(read_svmlight(io.BytesIO(SOUND)), expected)
    same(read_svmlight(bytearray(SOUND)), expected)
    same(read_svmlight(memoryview(SOUND)), expected)

    class Trickle:  # a few bytes at a time, as a pipe may give them
        def __init__(self):
            self.file = io.BytesIO(SOUND)

        def read(self, size):
            return self.file.read(min(size, 3))

    same(read_svmlight(Trickle()), expected)
    path.write_bytes(SOUND + b":")
    with pytest.raises(SvmlightError, match=r"X\.svm, line 6"):
        read_svmlight(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = gzip.compress(SOUND * 3)
    writer = threading.Thread(target=lambda: pipe.write_bytes(text))
    writer.start()
    X, _ = read_svmlight(pipe)
    writer.join()
    assert X.shape[0] == 12


# ------------------------------------------------------------------------------------------ mutants


def test_mutants():
    """Texts with some bytes changed: the same as the plain reader, or an error in the same line."""
    sound = 0
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        text = mutate(rng, make_text(rng))
        if text[:2] != b"\x1f\x8b":
            sound += check_against_reference(text, n_jobs=1 + seed % 2)
    assert 200 < sound < 1300


@pure_python
def test_some_mutants():
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        check_against_reference(mutate(rng, make_text(rng)))


def test_garbage():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        text = rng.integers(256, size=rng.integers(1, 200), dtype=np.uint8).tobytes()
        check_against_reference(text)


# ------------------------------------------------------------------------------------------ writing


@pure_python
def test_what_is_written():
    file = io.BytesIO()
    X = np.array([[0.0, 0.5, -2.0], [0.0, 0.0, 0.0], [1e-7, 1e90, 1 / 3]])
    write_svmlight(X, [1, -1, 0.25], file, query_id=[3, -4, 2**62])
    assert file.getvalue() == (
        b"1 qid:3 2:0.5 3:-2\n"
        b"-1 qid:-4\n"
        b"0.25 qid:4611686018427387904 1:1e-07 2:1e+90 3:0.3333333333333333\n"
    )
    file = io.BytesIO()
    write_svmlight(sp.csr_array(X), [(1, 2), (), (0.5,)], file, multilabel=True, zero_based=True)
    assert file.getvalue() == (b"1,2 1:0.5 2:-2\n\n0.5 0:1e-07 1:1e+90 2:0.3333333333333333\n")


@pure_python
def test_numbers_that_only_python_can_write():
    X = np.array([[5e-324, 1.0], [0.5, 2.0], [2.5e-310, -1e-300]])
    y = [1e-320, 1.0, 2.0]
    file = io.BytesIO()
    write_svmlight(X, y, file)
    same(read_svmlight(file.getvalue()), (sp.csr_array(X), np.array(y)))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_round_trip(numbers, zero_based, seed):
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(10**6, len(numbers), replace=False))
    starts = np.sort(np.append(rng.integers(len(numbers) + 1, size=3), [0, len(numbers)]))
    X = sp.csr_array((np.array(numbers), columns, starts), shape=(4, 10**6))
    y = rng.choice(numbers, 4)
    file = io.BytesIO()
    write_svmlight(X, y, file, zero_based=zero_based)
    same(read_svmlight(file.getvalue(), n_features=10**6, zero_based=zero_based), (X, y))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_round_trip_in_single_precision(numbers):
    X = sp.csr_array(np.array([numbers], dtype=np.float32))
    file = io.BytesIO()
    write_svmlight(X, [1], file)
    found, _ = read_svmlight(file.getvalue(), dtype=np.float32, n_features=X.shape[1])
    np.testing.assert_array_equal(found.toarray(), X.toarray())


def test_few_digits_are_written():
    rng = np.random.default_rng(0)
    numbers = [float(f"{x:.6g}") for x in rng.random(1000)]
    numbers += (rng.standard_normal(1000) * 10.0 ** rng.integers(-200, 200, 1000)).tolist()
    file = io.BytesIO()
    write_svmlight(np.array([numbers]), [1], file)
    written = [token.split(b":")[1].decode() for token in file.getvalue().split()[1:]]
    assert [repr(float(text)) for text in written] == [repr(x) for x in numbers]
    assert sum(map(len, written)) <= sum(len(repr(x)) for x in numbers)
    single = np.array([numbers[:1000]], dtype=np.float32)
    file = io.BytesIO()
    write_svmlight(single, [1], file)
    written = [token.split(b":")[1].decode() for token in file.getvalue().split()[1:]]
    assert max(map(len, written)) <= 12


@pytest.mark.parametrize("kind", ["dense", "csr", "float32", "int64 indices"])
def test_large_matrices_are_written_in_parts(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(4000, 300, 0.1, format="csr", random_state=rng)
    X.data = np.round(X.data, 3) + 0.001
    given_X = {
        "dense": X.toarray(),
        "csr": X,
        "float32": X.astype(np.float32),
        "int64 indices": sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr), X.shape),
    }[kind]
    write_svmlight(given_X, np.ones(4000), tmp_path / "X")
    found, _ = read_svmlight(tmp_path / "X", n_features=300, dtype=given_X.dtype)
    assert (found != sp.csr_array(given_X)).nnz == 0


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    path = tmp_path / "X.svm"
    write_svmlight([[1.0]], [1], path)
    before = path.read_bytes()
    for X, y in (([[np.nan]], [1]), ([[1.0]], [1, 2]), ([[1.0]], [np.inf]), ([[1.0]], [[1, 2]])):
        with pytest.raises(ValueError, match=r"NaN|rows|finite|multilabel"):
            write_svmlight(X, y, path)
    with pytest.raises(ValueError, match="query_id"):
        write_svmlight([[1.0]], [1], path, query_id=[0.5])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["X.svm"]
    write_svmlight([[2.0]], [1], path)
    assert path.read_bytes() == b"1 1:2\n"


def test_nothing_is_left_of_a_file_that_failed(tmp_path, monkeypatch):
    from skimlearn.data import _svmlight_write

    def fail(*arguments):
        raise KeyboardInterrupt

    path = tmp_path / "X.svm"
    path.write_bytes(b"old")
    monkeypatch.setattr(_svmlight_write, "_write_rows", fail)
    with pytest.raises(KeyboardInterrupt):
        write_svmlight([[1.0]], [1], path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["X.svm"]


def test_blocks_by_the_length_of_text(monkeypatch):
    monkeypatch.setattr("skimlearn.data._svmlight_parts.BLOCK", 64)
    text = b"".join(b"%d 1:%d %d:2 # comment\n\n" % (k % 2, k, 3 + k) for k in range(40))
    X, y = read_svmlight(text)
    for n_jobs in (1, 2):
        parts = list(iter_svmlight(text, rows=None, n_features=X.shape[1], n_jobs=n_jobs))
        assert 5 < len(parts) < 40
        assert all(part.shape[0] for part, _ in parts)
        assert (sp.vstack([part for part, _ in parts]) != X).nnz == 0
        np.testing.assert_array_equal(np.concatenate([labels for _, labels in parts]), y)
