"""The ledger of every algorithm that skims, against a source that records what is taken from it.

An `Oracle` records in the functions of the user. A matrix records in its array of values, which is
asked for single entries when the kernels are plain Python (NUMBA_DISABLE_JIT=1).

A reading is a line, row or column, that is touched; as long as no other line is touched and no
other part of a step begins, it is at hand and not read again. Its cost is what was really touched
of it (``nnz``), or its width (``dense``). What is read inside of the functions in `CERTIFYING` is
there to prove an answer, all else to find it. Copies that are made of the whole matrix before an
algorithm begins (its transpose, its rows times their labels) are not its reads.
"""

import importlib
import inspect
import pkgutil
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import skimlearn
from skimlearn import (
    EnclosingBall,
    Matrix,
    Oracle,
    SublinearSVC,
    _jit,
    enclosing_ball,
    hard_margin,
    l2_svm,
    matrix_game,
    max_margin,
    primal_dual,
    shortest_vector,
    simplex_qp,
    soft_ball,
    soft_margin,
    soft_margin_path,
)
from skimlearn import solvers as solvers_package
from skimlearn.data.columns import as_matrix
from skimlearn.data.ledger import Reads
from skimlearn.solvers import badoiu_clarkson as badoiu_clarkson_module
from skimlearn.solvers import ball as ball_module
from skimlearn.solvers import low_regret, samplers
from skimlearn.solvers._limits import MODES, Limits
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._skim import Method, Skim
from skimlearn.solvers._sweep import Sweeper
from skimlearn.solvers.badoiu_clarkson import badoiu_clarkson
from skimlearn.solvers.choose_margin import SOLVERS, MarginRun
from skimlearn.solvers.extragradient import extragradient
from skimlearn.solvers.extragradient_qp import extragradient_qp
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe
from skimlearn.solvers.mirror_prox import mirror_prox
from skimlearn.solvers.players import Reader
from skimlearn.solvers.soft_margin import explained
from skimlearn.solvers.tracking import Tracking
from skimlearn.solvers.verify import verify
from skimlearn.solvers.working_set import working_set, working_set_qp

CERTIFYING = {
    "MarginSkim.check",
    "MarginSkim._longest",
    "MarginRun._know_length",
    "explained",
    "verify",
    "SimplexRun.check",
    "QpRun.know_longest",
    "_responses",  # of l2_svm
    "Reader.products",
    "MarginRuns.__init__",
    "EnclosingBall._scores",
}
LEARNING = {"Finish._take"}  # the rows that a finish begins with are chosen in a check


def certifies():
    """Whether the reader is at work on a proof: the innermost function of a known purpose says."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_qualname
        if name in CERTIFYING or name in LEARNING:
            return name in CERTIFYING
        frame = frame.f_back
    return False


# ------------------------------------------------------------------------------------- recorders


class Tape:
    """The readings of lines, one after the other: of which axis, why, and the entries touched."""

    def __init__(self, shape, parts=False):
        self.widths = shape[::-1]  # of rows and of columns
        self.parts = parts  # whether a line may be read in part: then that is its cost
        self.readings = []
        self.pause()

    def pause(self):
        """Put away the line at hand."""
        self.at_hand = None

    def touch(self, axis, line, entries):
        key = (axis, int(line))
        if key != self.at_hand:
            self.at_hand = key
            self.readings.append((*key, certifies(), set()))
        self.readings[-1][3].update(entries)

    @property
    def reads(self):
        dense = sum(
            len(entries) if self.parts else self.widths[axis]
            for axis, _, proof, entries in self.readings
            if not proof
        )
        nnz = sum(len(entries) for _, _, proof, entries in self.readings if not proof)
        return Reads(dense, nnz, sum(len(e) for _, _, proof, e in self.readings if proof))

    @property
    def known(self):
        """The reads of one who keeps every line that he was ever given."""
        lines = {(axis, line): len(entries) for axis, line, _, entries in self.readings}
        return Reads(sum(self.widths[axis] for axis, _ in lines), sum(lines.values()))


class Recorded:
    """The values of `Dense` or `Csr` rows; any use but that of single entries and lines fails."""

    base = None

    def __init__(self, rows, tape, axis):
        self.rows, self.tape, self.axis = rows, tape, axis
        self.array, self.starts = rows.values, getattr(rows, "starts", None)
        self.shape, self.dtype, self.flags = self.array.shape, self.array.dtype, self.array.flags

    def __getitem__(self, key):
        if self.starts is None:
            lines, places = key if isinstance(key, tuple) else (key, range(self.shape[1]))
            for line in np.atleast_1d(lines):
                self.tape.touch(self.axis, line, map(int, np.atleast_1d(places)))
        else:
            for place in np.atleast_1d(np.arange(len(self.array))[key]):
                line = np.searchsorted(self.starts, place, side="right") - 1
                self.tape.touch(self.axis, line, [int(place)])
        return self.array[key]

    def __mul__(self, factors):
        """The matrix times signs, made before an algorithm begins."""
        return Recorded(self.rows._replace(values=self.array * factors), self.tape, self.axis)

    def __array__(self, *_, **__):
        raise AssertionError("all entries are used at once, without a record")


def recorded_matrix(X, kind):
    matrix = as_matrix(sp.csr_array(X) if kind == "csr" else X)
    tape, lines = Tape(X.shape, parts=kind == "dense"), (matrix.rows, matrix.columns)
    rows, columns = (r._replace(values=Recorded(r, tape, k)) for k, r in enumerate(lines))
    return Matrix(rows, columns), tape


class Asked:
    """What the functions of an oracle gave away, to learn and to certify."""

    def __init__(self, X, kind):
        self.given = [0, 0]
        names = {"lines": ("row", "column"), "entries": ("entry",), "all": ("row", "entry")}
        functions = {
            "row": lambda i: X[i],
            "column": lambda j: X[:, j],
            "entry": lambda i, j: X[i, j],
        }
        chosen = {
            name: self._counted(functions[name]) for name in names[kind.removesuffix("-forgotten")]
        }
        cache = {"cache_bytes": 0} if kind.endswith("-forgotten") else {}
        self.oracle = Oracle(X.shape, **chosen, **cache)

    def _counted(self, function):
        def give(*place):
            value = function(*place)
            self.given[certifies()] += np.size(value)
            return value

        return give

    @property
    def reads(self):
        return Reads(self.given[0], self.given[0], self.given[1])


@pytest.fixture
def parts_begin(monkeypatch):
    """Let a tape know when a part of a step begins, or a pass: then no line is at hand."""
    tapes = []

    def announced(function):
        def call(*arguments):
            for tape in tapes:
                tape.pause()
            return function(*arguments)

        return call

    kinds, places = [Method, Skim], [(Sweeper, "sweep"), (Reader, "_line")]
    places += [(badoiu_clarkson_module, name) for name in ("_add", "_distances")]
    places += [(ball_module, "_squared_distances")]
    for kind in kinds:  # grows
        kinds += kind.__subclasses__()
        names = {"draw", "column", "row", "check"} & set(vars(kind))
        places += [(kind, name) for name in sorted(names)]
    for kind, name in places:
        monkeypatch.setattr(kind, name, announced(getattr(kind, name)))
    return tapes


# ----------------------------------------------------------------------------------------- cases


def make(seed=3, n=13, d=7):
    """Rows of many lengths, about half of their entries 0, and labels that they nearly tell."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = (rng.normal(size=(n, d)) + 0.8 * y[:, None]) * (rng.random((n, d)) < 0.55)
    X[np.arange(n), np.arange(n) % d] = 0.5 + rng.random(n)  # no line is empty
    return X, y


X, Y = make()
WIDE, SIDES = make(5, n=40, d=16)
TALL = make(6, n=530, d=40)[0]


def limits(**given):
    return Limits(**{"eps": 1e-3, "max_steps": 60} | given)


def margin(**options):
    return lambda A: max_margin(A, Y, **{"eps": 0.01, "max_steps": 70, "random_state": 0} | options)


def soft(**options):
    return lambda A: soft_margin(
        A, Y, **{"eps": 0.01, "max_steps": 70, "random_state": 0} | options
    )


def path(**options):
    def run(A):
        answers = list(soft_margin_path(A, Y, eps=0.05, max_steps=70, random_state=0, **options))
        return sum((answer.reads for answer in answers), Reads())

    return run


def handed_over(A):
    """Steps that find no proof, then a working set."""
    rng = np.random.default_rng(0)
    run = MarginRun(A, SIDES, rng, kappa=0.3, bias=True, eps=10.0)
    run.set_eps(1e-6)  # far beyond what the steps can do
    result = explained(run, run.run(Limits(eps=1e-6)))
    assert result.solver == "tracking, working-set"
    return result


def opened(**options):
    """Columns are read for one block of rows in four, then in two, then for all."""

    def run(A):
        settings = Tracking(sample=128.0, opening=20.0, **options)
        rng, y = np.random.default_rng(0), np.where(np.arange(A.shape[0]) % 3 == 0, 1.0, -1.0)
        return MarginSkim(A, rng, y=y, settings=settings, eps=1e-3).run(limits(max_steps=30))

    return run


def players(lra, sampler, **options):
    def run(A):
        left, right = lra(A), sampler(A)
        return primal_dual(
            left,
            right,
            A.shape[0],
            evaluate=right.evaluate,
            max_steps=300,
            random_state=0,
            **options,
        )

    return run


PLAYERS = (
    (low_regret.Ball, samplers.InnerProducts),
    (low_regret.Simplex, samplers.InnerProducts),
    (low_regret.Mean, samplers.SquaredDistances),
)


def verified(eps):
    x = np.where(np.arange(600) % 3 == 0, 600.0**-0.5, 0.002)

    def run(A):
        check = verify(A, x, eps=eps, delta=0.5, rng=0, rows_norm=2.0)
        return Reads(certificate=check.reads)

    return run


def svc(**options):
    def run(A):
        model = SublinearSVC(**{"max_steps": 70, "random_state": 0, "eps": 0.01} | options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(A, Y).result_

    return run


def svc_that_goes_on(**options):
    """The reads of a run that stopped and went on are those since it began."""

    def run(A):
        model = SublinearSVC(warm_start=True, eps=1e-4, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = model.set_params(max_steps=40).fit(A, Y).result_
            second = model.set_params(max_steps=80).fit(A, Y).result_
        assert first.reads.dense < second.reads.dense or isinstance(A, Oracle)
        return second

    return run


def ball_estimator(**options):
    def run(A, monkeypatch):
        """As the estimator takes arrays alone, it is led to the recorded matrix."""
        from skimlearn.estimators import ball as estimator
        from skimlearn.solvers import ball, soft_ball

        monkeypatch.setattr(estimator, "as_rows", lambda *_, **__: A.rows)
        monkeypatch.setattr(ball, "as_source", lambda _: A)
        monkeypatch.setattr(soft_ball, "as_rows", lambda *_, **__: A.rows)
        return EnclosingBall(random_state=0, **options).fit(X).result_

    return run


def case(name, function, run, *, data=X, sources="matrix oracle", keeps=False):
    return SimpleNamespace(
        name=name, function=function, run=run, data=data, sources=sources, keeps=keeps
    )


def calls(function, *more, **options):
    """The function, for the source that it will be given."""
    return lambda A: function(A, *more, **options)


def calls_rows(function, *more, **options):
    return lambda A: function(A.rows, *more, **options)


def calls_drawing(function, *more, **options):
    return lambda A: function(A, *more, rng=np.random.default_rng(0), **options)


def cases():
    yield from margin_cases()
    yield from simplex_cases()
    yield from ball_cases()
    yield from other_cases()


def simplex_cases():
    terms = {
        "-": {},
        "linear": {"b": np.linspace(0.0, 2.0, 13)},
        "extra and ridge": {"extra_column": Y, "ridge": 0.1},
    }
    for mode in MODES:
        o = {"mode": mode, "max_steps": 60, "random_state": 1}
        for name, term in terms.items():
            run = calls(simplex_qp, eps=1e-3, **o, **term)
            yield case(f"simplex_qp, {mode}, {name}", simplex_qp, run)
        yield case(f"shortest_vector, {mode}", shortest_vector, calls(shortest_vector, **o))
        for beta in (0.0, 1.0):
            run = calls(hard_margin, Y, beta=beta, eps=1e-3, **o)
            yield case(f"hard_margin, {mode}, beta={beta}", hard_margin, run)
        for bias in (False, True):
            run = calls(l2_svm, Y, bias=bias, **o)
            yield case(f"l2_svm, {mode}, bias={bias}", l2_svm, run)
    run = calls(simplex_qp, eps=3.0, max_steps=90, random_state=0, mode="high-probability")
    yield case("simplex_qp, from samples", simplex_qp, run, data=many_columns())
    for limit in (0, 300, 700, 1100):
        run = calls(simplex_qp, eps=1e-9, max_reads=limit, max_steps=90, random_state=0)
        yield case(f"simplex_qp, max_reads={limit}", simplex_qp, run)
    for cap in (1.0, 0.2):
        for steps in (1, 20, 150):
            run = calls_rows(pairwise_frank_wolfe, FAR, cap=cap, max_steps=steps)
            name = f"pairwise_frank_wolfe, cap={cap}, {steps} steps"
            yield case(name, pairwise_frank_wolfe, run, sources="matrix")


def ball_cases():
    for mode in MODES:
        run = calls(enclosing_ball, eps=1e-3, mode=mode, max_steps=60, random_state=1)
        yield case(f"enclosing_ball, {mode}", enclosing_ball, run)
        run = ball_estimator(mode=mode, eps=0.3, contamination=0.0)
        yield case(f"EnclosingBall, {mode}", EnclosingBall, run, sources="matrix")
    run = calls(enclosing_ball, eps=1.5, mode="high-probability", max_steps=80, random_state=0)
    yield case("enclosing_ball, from samples", enclosing_ball, run, data=many_columns())
    for limit in (900, 1200, 2000):
        run = calls(enclosing_ball, eps=1e-9, max_reads=limit, max_steps=90, random_state=0)
        yield case(f"enclosing_ball, max_reads={limit}", enclosing_ball, run, data=WIDE)
    for part in (0.05, 0.3, 0.47):
        run = calls(soft_ball, contamination=part, eps=1e-4, max_steps=20)
        yield case(f"soft_ball, {part}", soft_ball, run, sources="matrix")
        run = ball_estimator(contamination=part)
        yield case(f"EnclosingBall, {part}", EnclosingBall, run, sources="matrix")
    for limit in (None, 0, 60, 200, 333):
        run = calls_rows(badoiu_clarkson, limits=limits(eps=1e-9, max_reads=limit))
        yield case(f"badoiu_clarkson, max_reads={limit}", badoiu_clarkson, run, sources="matrix")


def other_cases():
    for o in ({"eps": 0.5}, {"eps": 0.1}, {"eps": 1e-6, "max_reads": 300}):
        run = calls(matrix_game, max_steps=40, random_state=0, **o)
        yield case(f"matrix_game, {o}", matrix_game, run, data=WIDE, keeps=True)
    for lra, sampler in PLAYERS:
        for weights in ("hedge", "product"):
            run = players(lra, sampler, weights=weights)
            yield case(f"primal_dual, {lra.__name__}, {weights}", primal_dual, run)
        for limit in (50, 700):
            run = players(lra, sampler, max_reads=limit)
            yield case(f"primal_dual, {lra.__name__}, max_reads={limit}", primal_dual, run)
    for eps in (2.0, 0.5, 0.01):
        yield case(f"verify, eps={eps}", verify, verified(eps), data=many_columns())


def margin_cases():
    for mode in MODES:
        for solver in SOLVERS:
            name = f"{solver}, {mode}"
            yield case(f"max_margin, {name}", max_margin, margin(solver=solver, mode=mode))
            for bias in (False, True):
                o = {"solver": solver, "mode": mode, "bias": bias, "kappa": 0.4}
                yield case(f"soft_margin, {name}, bias={bias}", soft_margin, soft(**o))
            o = {"solver": solver, "mode": mode}
            yield case(f"SublinearSVC, {name}", SublinearSVC, svc(**o))
            yield case(f"SublinearSVC, {name}, 0", SublinearSVC, svc(kappa=1e-3, bias="none", **o))
        for bias in (False, True):
            o = {"mode": mode, "bias": bias}
            yield case(f"soft_margin, nu, {mode}, bias={bias}", soft_margin, soft(nu=0.2, **o))
            run = path(nu=[0.1, 0.3, 0.6], **o)
            yield case(f"soft_margin_path, {mode}, bias={bias}", soft_margin_path, run)
        yield case(f"max_margin, {mode}, q=1.3", max_margin, margin(mode=mode, q=1.3))
        for solver in ("simba", "tracking"):
            o = {"solver": solver, "mode": mode, "batch": 3}
            yield case(f"max_margin, {solver}, {mode}, batch", max_margin, margin(**o))
            yield case(f"soft_margin, {solver}, {mode}, batch", soft_margin, soft(kappa=0.4, **o))
            run = svc_that_goes_on(solver=solver, mode=mode)
            yield case(f"SublinearSVC, {solver}, {mode}, goes on", SublinearSVC, run)
        yield case(f"SublinearSVC, {mode}, nu", SublinearSVC, svc(nu=0.2, mode=mode))
    run = soft(kappa=0.4, steps=50, mode="monte-carlo", solver="simba")
    yield case("soft_margin, steps", soft_margin, run)
    yield case("soft_margin, handed over", soft_margin, handed_over, data=WIDE, sources="matrix")
    for solver in SOLVERS:
        for limit in (0, 150, 400):
            run = margin(solver=solver, max_reads=limit, eps=1e-6)
            yield case(f"max_margin, {solver}, max_reads={limit}", max_margin, run)
    for o in ({}, {"width": 4.0, "bias": 1.0, "cap": 0.01}):
        yield case(f"max_margin, opened, {o}", max_margin, opened(**o), data=TALL)
    for cap, bias in ((1.0, False), (0.2, True)):
        name = f"cap={cap}"
        run = calls_drawing(extragradient, Y, cap=cap, bias=bias, limits=limits())
        yield case(f"extragradient, {name}", extragradient, run)
        run = calls_drawing(extragradient_qp, cap=cap, limits=limits())
        yield case(f"extragradient_qp, {name}", extragradient_qp, run)
        run = calls(working_set_qp, cap=cap, limits=limits(max_steps=9))
        yield case(f"working_set_qp, {name}", working_set_qp, run)
        for function in (working_set, mirror_prox):
            for limit in (None, 300):
                until = limits(eps=1e-6, max_steps=9, max_reads=limit)
                run = calls(function, Y, cap=cap, bias=bias, limits=until)
                yield case(f"{function.__name__}, {name}, max_reads={limit}", function, run)


def many_columns():
    """Columns so many that some of them, drawn at random, tell enough of the rows."""
    rng = np.random.default_rng(1)
    A = (rng.normal(size=(4, 600)) + 0.4) * (rng.random((4, 600)) < 0.9) * 0.05
    A[0, ~A.any(axis=0)] = 0.05
    return A


# A step of Frank and Wolfe is one kernel, and nothing tells its pass from the pair before it: with
# this linear term neither the first nor the last row of a pass is one of the pair.
FAR = np.r_[1e6, np.zeros(len(X) - 2), 1e6]
CASES = list(cases())
OF_MATRICES = [c for c in CASES if "matrix" in c.sources]
OF_ORACLES = [c for c in CASES if "oracle" in c.sources]


def by_name(chosen):
    return pytest.mark.parametrize("chosen", [pytest.param(c, id=c.name) for c in chosen])


# ----------------------------------------------------------------------------------------- tests


def figures(answer):
    return answer if isinstance(answer, Reads) else answer.reads


@pytest.mark.pure_python
@pytest.mark.skipif(not _jit.numba.config.DISABLE_JIT, reason="looks inside of kernels")
@pytest.mark.parametrize("kind", ["dense", "csr"])
@by_name(OF_MATRICES)
def test_reads_of_a_matrix(chosen, kind, parts_begin, monkeypatch):
    matrix, tape = recorded_matrix(chosen.data, kind)
    parts_begin.append(tape)
    more = [monkeypatch] if chosen.function is EnclosingBall else []
    reads = figures(chosen.run(matrix, *more))
    expected = tape.known if chosen.keeps else tape.reads
    assert reads == expected


@pytest.mark.parametrize("kind", ["lines", "entries", "all", "lines-forgotten"])
@by_name(OF_ORACLES)
def test_reads_of_an_oracle(chosen, kind):
    asked = Asked(chosen.data, kind)
    reads = figures(chosen.run(asked.oracle))
    assert asked.oracle.reads == sum(asked.given)
    assert reads == asked.reads


def test_no_algorithm_is_missing():
    here = {c.function for c in CASES}
    rows_only = {
        "auto",
        "choose",
        "column_descent",
        "dual",
        "ftrl",
        "newton",
        "newton_cg",
        "pegasos",
        "pgs",
        "sgd",
    }  # see test_run.py
    elsewhere = (
        "_",
        "kernel_",
    )  # those on kernel values count in their table: test_kernel_solvers.py
    returned = {"Result", "SoftMargin", "Iterator[SoftMargin]", "Verification"}
    found = set()
    for module in pkgutil.iter_modules(solvers_package.__path__):
        if not module.name.startswith(elsewhere) and module.name not in rows_only:
            home = importlib.import_module(f"skimlearn.solvers.{module.name}")
            values = {getattr(home, name) for name in home.__all__}
            found |= {
                value
                for value in filter(inspect.isfunction, values)
                if inspect.signature(value).return_annotation in returned
                and value.__name__ != "explained"  # a part of soft_margin
            }
    assert found | {SublinearSVC, EnclosingBall} == here
    public = {getattr(skimlearn, name) for name in skimlearn.__all__}
    solving = {f for f in public if getattr(f, "__module__", "").startswith("skimlearn.solvers")}
    on_streams = {skimlearn.stream_margin, skimlearn.stream_ball, skimlearn.one_pass_ball}
    on_kernels = {skimlearn.kernel_simplex_qp}  # test_kernel_ledger.py
    assert {
        f for f in solving if inspect.isfunction(f)
    } <= here | on_kernels | on_streams  # test_stream_ledger.py
    ready_made = {getattr(m, name) for m in (low_regret, samplers) for name in m.__all__}
    assert ready_made == {player for pair in PLAYERS for player in pair}
