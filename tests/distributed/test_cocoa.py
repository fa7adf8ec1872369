"""The rounds without a cluster: against a naive version and against exact answers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from cluster_reference import naive_joint, naive_round
from skimlearn import LinearClassifier, LinearRegressor, losses
from skimlearn.distributed._parcel import Parcel, added
from skimlearn.distributed._pieces import Spec, piece_of
from skimlearn.distributed._rounds import solve
from skimlearn.distributed._team import Serial
from skimlearn.distributed.cocoa import Ascent
from skimlearn.distributed.mixing import Mixing
from skimlearn.formulas import regularizers
from skimlearn.result import Budget, Status
from skimlearn.solvers._run import rounding


class Apart(Ascent):
    """Without joint rounds."""

    joins = False


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


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_joint_rounds_are_those_of_the_naive_version(loss, bias):
    X, y = data(90, 3, labels=loss == "hinge")
    team, spec = team_of(X, y, 3, loss=loss, bias=bias)
    method = Ascent(team, spec, 7, epochs=2)
    state, kinds = None, []
    for _ in range(8):
        kinds.append(method.joint > 0)
        before = method.value
        method.advance()
        make = naive_joint if kinds[-1] else naive_round
        state = make(team.pieces, spec, 7, 2, state)
        if kinds[-1] and bias != "free":  # whose centre moves
            assert method.value >= before
        assert method.value == pytest.approx(state.value, abs=1e-10)
        assert (method.joint > 0) == (not kinds[-1] and state.is_few)
    assert 2 <= sum(kinds) <= 4
    np.testing.assert_allclose(method.theta, state.theta, atol=1e-10)
    for (found, _), a in zip(method.states, state.a, strict=True):
        np.testing.assert_allclose(found.a, a, atol=1e-9)
    assert method.centre + method.offset == pytest.approx(state.bias, abs=1e-10)
    assert method.visits == state.visits
    assert method.reads == 3 * state.visits


def test_joint_rounds_save_most_rounds_of_the_hinge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 40)) + 1.0  # rows that are much alike
    y = np.sign((X - 1.0) @ rng.standard_normal(40) + rng.standard_normal(600))
    found = []
    for kind in (Ascent, Apart):
        team, spec = team_of(X, y, 4, loss="hinge", alpha=1e-2)
        result = solve(team, kind(team, spec, 0), Budget(gap=1e-3, epochs=800), entries=X.size)
        assert result.status is Status.CONVERGED
        found.append(result.history[-1].rounds)
    assert found[0] <= found[1] / 3


def test_joint_rounds_end_where_too_many_rows_are_open(monkeypatch):
    X, y = data(90, 3)
    monkeypatch.setattr("skimlearn.distributed.cocoa.MOST_OPEN", 2)  # less than a row has
    team, spec = team_of(X, y, 3, loss="hinge")
    method = Ascent(team, spec, 7)
    for _ in range(8):
        method.advance()
        assert not method.joint


def test_dense_and_sparse_partitions_meet_in_a_joint_round():
    X, y = data(90, 3)
    answers = []
    for kinds in ((np.asarray,) * 3, (sp.csr_matrix,) * 3, (sp.csr_matrix, np.asarray, np.asarray)):
        team, spec = team_of(X, y, 3, loss="hinge")
        team.pieces = [
            piece_of(k, kind(X[k::3]), y[k::3], None, labels=True) for k, kind in enumerate(kinds)
        ]
        method = Ascent(team, spec, 7)
        joint = 0
        for _ in range(8):
            joint += method.joint > 0
            method.advance()
        assert joint >= 2
        answers.append(method.theta)
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-12)
    np.testing.assert_allclose(answers[2], answers[0], atol=1e-12)


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
        method, values = Apart(team, spec, 0), []
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


@pytest.mark.parametrize("gap", [1e-3, None])
def test_an_optimum_of_zero_is_reached_within_rounding(gap):
    X, _ = data(90, 3)
    y = np.full(90, 1e3)
    team, spec = team_of(X, y, 3, loss="absolute")
    spec = replace(spec, rounding=rounding(spec.loss, 1e3))
    assert 0.0 < spec.rounding < 1e-8
    result = solve(team, Ascent(team, spec, 0), Budget(gap=gap, epochs=2000), entries=X.size)
    assert result.status is (Status.STALLED if gap is None else Status.CONVERGED)
    assert result.certificate.gap < spec.rounding
    assert result.history[-1].rounds < 200


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
    X, y = data(90, 3)
    for loss in ("log", "hinge"):
        team, spec = team_of(X, y, 3, loss=loss)
        whole, joint = Ascent(team, spec, 0), []
        for _ in range(8):
            joint.append(whole.joint)
            whole.advance()
        assert any(joint) == (loss == "hinge")  # some of the states are those before a joint round
        for last in range(1, 8):
            first, second = Ascent(team, spec, 0), Ascent(team, spec, 0)
            for _ in range(last):
                first.advance()
            second.restore(first.dump())
            for _ in range(8 - last):
                second.advance()
            np.testing.assert_array_equal(whole.theta, second.theta)
            assert (whole.reads, whole.visits) == (second.reads, second.visits)


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
        assert names.count("open") > 0
        rounds = names.count("ascend") + names.count("open")
        counts.append((rounds, names.count("certify")))
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
    method = Apart(team, spec, 0)
    for _ in range(3):
        method.advance()
        method.check()
    sent = method.moved
    method.advance()
    assert method.moved - sent == 4 * (8 * spec.d + 6 * 8) + 16 * spec.n  # the vectors of 4 parts
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
