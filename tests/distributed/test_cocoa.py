"""The rounds without a cluster: against a naive version and against exact answers."""

import numpy as np
import pytest
import scipy.sparse as sp

from cluster_reference import naive_round
from skimlearn import LinearClassifier, LinearRegressor, losses
from skimlearn.distributed._parcel import Parcel, added
from skimlearn.distributed._pieces import Spec, piece_of
from skimlearn.distributed._rounds import solve
from skimlearn.distributed._team import Serial
from skimlearn.distributed.cocoa import Ascent
from skimlearn.distributed.mixing import Mixing
from skimlearn.formulas import regularizers
from skimlearn.result import Budget, Status


def data(n=200, d=8, seed=0, labels=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal(d) + rng.standard_normal(n) + 0.5
    return X, np.sign(z) if labels else z


def team_of(X, y, parts, **options):
    spec = {"alpha": 0.05, "bias": "free", "p": 2.0, "radius": None, "loss": "hinge"} | options
    labels = losses.resolve(spec["loss"], labels=True).labels
    pieces = [piece_of(k, X[k::parts], y[k::parts], None, labels=labels) for k in range(parts)]
    square = float(sum(piece.squares.sum() for piece in pieces)) / len(y)
    return Serial(pieces), Spec(
        loss=losses.resolve(spec["loss"], labels=True),
        regularizer=regularizers.resolve(spec["p"], spec["radius"]),
        alpha=spec["alpha"],
        bias=spec["bias"],
        n=len(y),
        d=X.shape[1],
        mean_weight=1.0,
        bias_square={"free": square / parts, "regularized": 1.0, "none": 0.0}[spec["bias"]],
        positive=1.0 if labels else None,
    )


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_rounds_are_those_of_the_naive_version(loss, bias):
    X, y = data(60, 5)
    team, spec = team_of(X, y, 3, loss=loss, bias=bias)
    method = Ascent(team, spec, 7, epochs=2)
    state = None
    for _ in range(4):
        method.advance()
        state = naive_round(team.pieces, spec, 7, 2, state)
    np.testing.assert_allclose(method.theta, state.theta, atol=1e-10)
    for (found, _), a in zip(method.states, state.a, strict=True):
        np.testing.assert_allclose(found.a, a, atol=1e-9)
    assert method.centre + method.offset == pytest.approx(state.bias, abs=1e-10)


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        ({"loss": "hinge"}, {}),
        ({"loss": "log", "bias": "regularized"}, {}),
        ({"loss": "squared_hinge", "bias": "none"}, {}),
        ({"loss": "hinge", "p": 1.5}, {}),
        ({"loss": "log", "p": 1.0, "radius": 3.0}, {}),
        ({"loss": "huber"}, {}),
    ],
)
@pytest.mark.parametrize("parts", [1, 5])
def test_certificates_hold_the_exact_optimum_at_every_round(options, plain, parts):
    X, y = data()
    labels = options["loss"] != "huber"
    if not labels:
        X, y = data(labels=False)
    team, spec = team_of(X, y, parts, **options)
    result = solve(team, Ascent(team, spec, 0), Budget(gap=1e-4, epochs=2000), entries=X.size)
    kind = LinearClassifier if labels else LinearRegressor
    exact = kind(alpha=spec.alpha, tol=1e-8, random_state=0, **options).fit(X, y).result_
    best = exact.certificate
    assert result.status is Status.CONVERGED
    room = 1e-9 * best.primal
    for record in result.history:
        assert record.dual <= best.primal + room
        assert record.primal >= best.dual - room
    assert result.certificate.primal <= best.primal * (1 + 1.1e-4)


def test_the_dual_variables_of_the_result_prove_its_bound():
    from skimlearn import certificates
    from skimlearn.problem import make_problem

    X, y = data()
    team, spec = team_of(X, y, 4, loss="hinge")
    result = solve(team, Ascent(team, spec, 0), Budget(gap=1e-3, epochs=2000), entries=X.size)
    order = np.concatenate([np.arange(len(y))[k::4] for k in range(4)])
    problem = make_problem(X[order], y[order], loss="hinge", alpha=spec.alpha)
    proven = certificates.dual(problem, result.p)
    assert abs(problem.weights @ result.p) < 1e-9 * len(y)
    room = proven.value - result.certificate.dual  # what is lost by sending numbers, not vectors
    assert -1e-12 * proven.value <= room <= 1e-3 * result.certificate.gap
    value = certificates.primal(problem, result.x, result.bias).value
    assert value <= result.certificate.primal * (1 + 1e-9)


def test_acceleration_saves_rounds_and_the_dual_never_falls_without_it():
    X, y = data(400, 10)
    team, spec = team_of(X, y, 8, loss="hinge", alpha=1e-3, bias="none")

    def gap_after(rounds, accelerated):
        method, values = Ascent(team, spec, 0), []
        for _ in range(rounds):
            if not accelerated:
                method.momentum = 1.0
            method.advance()
            values.append(method.value)
        answer = method.check()
        return (answer.primal - answer.dual) / answer.primal, np.array(values)

    slow, values = gap_after(60, False)
    assert (np.diff(values) >= -1e-12).all()  # what the safe bound promises
    assert gap_after(60, True)[0] < 0.5 * slow


@pytest.mark.parametrize(("kind", "p"), [("asgd", 2.0), ("pgs", 1.5)])
def test_mixing_comes_near_the_optimum_with_a_valid_certificate(kind, p):
    X, y = data(600, 8)
    team, spec = team_of(X, y, 3, loss="log", p=p)
    method = Mixing(team, spec, 0, kind=kind, epochs=2)
    result = solve(team, method, Budget(epochs=40), entries=X.size)
    exact = LinearClassifier("log", alpha=spec.alpha, p=p, tol=1e-8).fit(X, y).result_.certificate
    assert result.certificate.dual <= exact.primal * (1 + 1e-9)
    assert exact.primal * (1 - 1e-9) <= result.certificate.primal <= 1.01 * exact.primal


def test_a_state_that_was_dumped_goes_on_to_the_same_bits():
    X, y = data()
    team, spec = team_of(X, y, 3, loss="log")
    whole, first = Ascent(team, spec, 0), Ascent(team, spec, 0)
    for _ in range(6):
        whole.advance()
    for _ in range(3):
        first.advance()
    second = Ascent(team, spec, 0)
    second.restore(first.dump())
    for _ in range(3):
        second.advance()
    np.testing.assert_array_equal(whole.theta, second.theta)


@pytest.mark.parametrize("parts", [3, 20])
def test_checks_that_are_made_with_rounds_change_no_bit_and_save_tasks(parts, monkeypatch):
    X, y = data()
    results, counts = [], []
    for tol in (None, 1e-4):
        team, spec = team_of(X, y, parts, loss="hinge")
        names, each = [], team.each

        def noted(name, *items, names=names, each=each, **given):
            names.append(name)
            return each(name, *items, **given)

        monkeypatch.setattr(team, "each", noted)
        method = Ascent(team, spec, 0, tol=tol)
        results.append(solve(team, method, Budget(gap=1e-4, epochs=2000), entries=X.size))
        counts.append((names.count("ascend"), names.count("certify")))
    apart, together = results
    np.testing.assert_array_equal(apart.x, together.x)
    np.testing.assert_array_equal(apart.p, together.p)
    assert apart.certificate == together.certificate
    for one, other in zip(apart.history, together.history, strict=True):
        assert (one.primal, one.dual, one.reads) == (other.primal, other.dual, other.reads)
    assert counts[0][1] == counts[0][0] + 1
    assert counts[1][1] <= counts[0][1] / 2
    assert counts[1][0] <= counts[0][0] + 1  # one round at most is made in vain


def test_theta_is_sent_once_in_a_round_and_checks_send_numbers():
    X, y = data(200, 100)
    team, spec = team_of(X, y, 4, loss="hinge")
    method = Ascent(team, spec, 0)
    for _ in range(3):
        method.advance()
        method.check()
    sent = method.moved
    method.advance()
    assert method.moved - sent == 4 * (8 * spec.d + 4 * 8) + 16 * spec.n  # the vectors of 4 parts
    sent = method.moved
    method.check()
    assert method.moved - sent == 8 * spec.d + 4 * 8 * (9 + 3)


def test_parcels_are_short_where_that_is_shorter():
    few, many = np.zeros(1000), np.ones(1000)
    few[3] = 2.0
    assert Parcel.of(few).moved < 20
    assert Parcel.of(many).moved == 8000
    total = added([Parcel.of(few, [1.0]), Parcel.of(many, [2.0])])
    np.testing.assert_array_equal(total.vector, few + many)
    assert total.numbers.tolist() == [3.0]


def test_sparse_and_dense_pieces_give_the_same_answer():
    X, y = data(120, 6)
    X[np.abs(X) < 0.7] = 0.0
    answers = []
    for rows in (X, sp.csr_matrix(X)):
        team, spec = team_of(rows, y, 3, loss="log")
        method = Ascent(team, spec, 0)
        for _ in range(5):
            method.advance()
        answers.append(method.theta)
    np.testing.assert_allclose(*answers, atol=1e-12)
