"""Options are the parameters of the estimators: none is missing, none has drifted."""

import inspect

import pytest
import typer

import skimlearn
from command_line import skim
from skimlearn.cli import _app, _signatures
from skimlearn.cli._models import MODELS
from skimlearn.cli._options import LEFT_OUT, given, options_of
from skimlearn.cli._signatures import SOURCES, loss_names, parameters_of


def resolved(name):
    value = skimlearn
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_read_from_the_source_is_what_python_sees(name):
    seen = inspect.signature(resolved(name)).parameters
    found = parameters_of(name)
    assert list(found) == list(seen)
    for parameter in found.values():
        default = seen[parameter.name].default
        if default is inspect.Parameter.empty:
            assert parameter.default == ""
        elif not parameter.default.isupper():  # a constant of the module
            assert eval(parameter.default) == default
        assert parameter.kind
        assert parameter.text


@pytest.mark.parametrize("name", SOURCES)
def test_every_parameter_is_an_option_or_left_out_on_purpose(name):
    options = options_of([name])
    for parameter in parameters_of(name).values():
        assert (parameter.name in options) != (parameter.name in LEFT_OUT), parameter.name
    for option in options.values():
        for parameter in option.parameters.values():
            assert parameter.sort, f"{parameter}: convert it in _options.py, or leave it out"


OWN = '''
class Own:
    """A class.

    Parameters
    ----------
    alpha : float
        A strength.
    {more}

    Attributes
    ----------
    beta : float
        No parameter.
    """

    def __init__(self, alpha: float = 1.0, {beta}) -> None:
        pass

    def fit(self): ...
'''


def own_options(tmp_path, monkeypatch, more, beta="beta: float = 2.0"):
    """The options of a class that is written into a module of its own."""
    name = f"own_{len(list(tmp_path.iterdir()))}_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN.format(more=more, beta=beta))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(SOURCES, name, name)
    monkeypatch.setitem(_signatures.BASES, name, (name, "Own"))
    monkeypatch.setattr(_signatures, "_find", lambda m, _, find=_signatures._find: find(m, "Own"))
    return options_of([name])


def test_a_parameter_that_is_documented_is_an_option(tmp_path, monkeypatch):
    found = own_options(tmp_path, monkeypatch, "beta : float, default=2.0\n        A weight.")
    assert list(found) == ["alpha", "beta"]
    assert found["beta"].help == "A weight. (default: 2.0)"


@pytest.mark.parametrize("more", ["", "beta: float\n        A weight.", "beta : float"])
def test_a_parameter_without_its_line_is_an_error_that_says_so(tmp_path, monkeypatch, more):
    with pytest.raises(TypeError, match=r"does not explain 'beta': write a line 'beta : kind'"):
        own_options(tmp_path, monkeypatch, more)


def test_a_parameter_of_a_kind_that_texts_cannot_say_is_an_error(tmp_path, monkeypatch):
    line = "beta : callable\n        A function."
    with pytest.raises(TypeError, match=r"kind 'callable', which 'beta' is documented as"):
        own_options(tmp_path, monkeypatch, line, "beta: Callable[[], int] = int")


def test_what_is_not_where_it_should_be_is_named():
    with pytest.raises(TypeError, match=r"skimlearn.estimators.ball has no line that begins with"):
        _signatures._find("skimlearn.estimators.ball", "NoSuchClass")
    with pytest.raises(TypeError, match=r"skimlearn.data.store has no Store.no_such_method"):
        _signatures._find("skimlearn.data.store", "Store.no_such_method")
    with pytest.raises(FileNotFoundError, match="skim reads its options from this file's source"):
        _signatures._statement("skimlearn.no_such_module", "class")


def test_every_option_of_every_command_is_explained():
    for name, command in typer.main.get_command(_app.app).commands.items():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"skim {name}: {parameter.name} has no help"


def test_the_losses_are_those_of_the_table():
    assert loss_names() == tuple(skimlearn.losses.NAMES)


def test_the_estimators_take_what_the_options_give():
    for name in (*MODELS.values(), "EnclosingBall"):
        texts = {"float": "0.25", "int": "3", "weights": "1=2,-1=1", "float or word": "scale"}
        options = options_of([name])
        values = {
            key: True
            if option.flag
            else option.choices[-1]
            if option.choices
            else texts[option.first.sort]
            for key, option in options.items()
        }
        model = resolved(name)(**given(options, values))
        assert set(options) | (LEFT_OUT & set(model.get_params())) == set(model.get_params())


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("alpha", "1e-3", 1e-3),
        ("tol", "none", None),
        ("max_epochs", "None", None),
        ("max_reads", "1e6", 10**6),
        ("max_reads", "64M", 64 * 10**6),
        ("max_reads", "1_000", 1000),
        ("n_jobs", "-1", -1),
        ("bias", "none", "none"),  # a bias of that name, not None
        ("average", "none", None),
        ("loss", "huber", "huber"),
        ("class_weight", "balanced", "balanced"),
        ("class_weight", "-1=0.5,spam=2,1.5=3", {-1: 0.5, "spam": 2.0, 1.5: 3.0}),
    ],
)
def test_values(name, text, value):
    option = options_of(["LinearClassifier"])[name]
    assert option.convert(text) == value
    assert option._check(text) == text


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("alpha", "large", "not a number"),
        ("max_epochs", "1.5", "not a whole number"),
        ("max_epochs", "inf", "not a whole number"),
        ("max_epochs", "nan", "not a whole number"),
        ("max_epochs", "M", "not a number"),
        ("solver", "simplex", "one of auto"),
        ("class_weight", "2", "balanced"),
        ("class_weight", "a=b", "not a number"),
        ("alpha", "none", "not a number"),
    ],
)
def test_bad_values(name, text, message):
    with pytest.raises(typer.BadParameter, match=message):
        options_of(["LinearClassifier"])[name]._check(text)


def test_a_list_of_strengths():
    option = options_of(["regularization_path"])["alphas"]
    assert option.convert("5") == 5
    assert option.convert("1e-3") == [1e-3]
    assert option.convert("0.1,1e-3") == [0.1, 1e-3]


def test_only_what_was_given_is_handed_on():
    options = options_of(["Store.create"])
    nothing = {key: False if option.flag else None for key, option in options.items()}
    assert given(options, nothing) == {}
    assert given(options, nothing | {"overwrite": True, "memory": "1M"}) == {
        "overwrite": True,
        "memory": 10**6,
    }


def test_help_has_every_option_with_its_default():
    shown = skim("train", "--help", env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    for name in options_of(MODELS.values()):
        assert "--" + name.replace("_", "-") in shown
    assert "(default: 0.0001)" in shown
    assert "(0, 1], whose mean response" in shown  # no markup is seen in brackets
    assert "Only for SublinearSVC" in shown
    assert "Only for KernelClassifier" in shown


def test_every_command_has_help_and_the_common_options():
    page = skim("--help").stdout
    names = ("ingest", "check", "info", "train", "predict", "evaluate", "path", "ball", "game")
    for name in (*names, "export", "bench", "report", "demo", "cache"):
        assert name in page
        shown = skim(name, "-h").stdout
        for option in ("--json", "--quiet", "--debug"):
            assert option in shown
    assert len(_app.app.registered_commands) == 14


def test_the_version():
    assert skim("--version").stdout == f"skimlearn {skimlearn.__version__}\n"


def test_the_source_is_parsed_once():
    assert _signatures.parameters_of("EnclosingBall") is parameters_of("EnclosingBall")
