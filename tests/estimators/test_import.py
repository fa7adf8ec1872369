"""The door of the package: a light import, and documentation for every public name."""

import inspect
import subprocess
import sys

import pytest

import skimlearn

CLASSES = [
    value for name in skimlearn.__all__ if inspect.isclass(value := getattr(skimlearn, name))
]
ESTIMATORS = [cls for cls in CLASSES if hasattr(cls, "fit")]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_import_loads_nothing_heavy():
    heavy = "{'numba', 'numpy', 'scipy', 'sklearn', 'pandas', 'polars', 'matplotlib', 'joblib'}"
    assert run(f"import sys, skimlearn; print(*{heavy} & set(sys.modules))") == []


def test_the_estimators_load_no_tools_of_the_developers():
    heavy = "{'matplotlib', 'hypothesis', 'pytest', 'dask'}"
    code = (
        f"import sys, skimlearn; skimlearn.LinearClassifierCV; print(*{heavy} & set(sys.modules))"
    )
    assert run(code) == []


def test_all_names_are_there():
    assert skimlearn.__all__ == sorted(skimlearn.__all__)
    for name in skimlearn.__all__:
        assert getattr(skimlearn, name) is not None
    assert dir(skimlearn) == sorted([*skimlearn.__all__, "__version__"])


def test_dir_is_complete_before_anything_is_loaded():
    found = run("import skimlearn; print(*dir(skimlearn))")
    assert set(skimlearn.__all__) <= set(found)


def test_unknown_names_are_refused():
    with pytest.raises(
        AttributeError, match="module 'skimlearn' has no attribute 'LinearClasifier'"
    ):
        skimlearn.LinearClasifier  # noqa: B018


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert skimlearn.__version__ == version("skimlearn")


# ----------------------------------------------------------------------------------- documentation


def public_names():
    for name in skimlearn.__all__:
        value = getattr(skimlearn, name)
        if not inspect.ismodule(value):
            yield name, value
    for module in (skimlearn.losses, skimlearn.regularizers):
        for name in module.__all__:
            if name != "Loss" and name != "Regularizer":  # base classes: the module has the example
                yield f"{module.__name__}.{name}", getattr(module, name)


@pytest.mark.parametrize("name", [name for name, _ in public_names()])
def test_every_public_name_has_an_example(name):
    doc = inspect.getdoc(dict(public_names())[name])
    assert doc
    assert ">>>" in doc


@pytest.mark.parametrize("module", ["datasets", "kernels", "losses", "regularizers"])
def test_every_public_module_has_a_docstring(module):
    assert inspect.getdoc(getattr(skimlearn, module))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_of_an_estimator_is_documented(cls):
    assert not set("{}") & {line.strip()[:1] for line in cls.__doc__.splitlines()}  # all filled in
    section = inspect.getdoc(cls).split("Attributes\n")[0].split("Parameters\n")[1]
    names = set()
    for line in section.splitlines():
        if not line.startswith(" "):
            names.update(part.strip() for part in line.split(" : ")[0].split(","))
    missing = set(inspect.signature(cls).parameters) - names
    assert not missing
    assert not {name for name in names if name.isidentifier()} - set(cls().get_params())


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_fitted_attribute_is_documented(cls):
    rows, numbers = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 1, 1, 1]
    model = cls(alphas=[0.1], cv=2) if "alphas" in cls().get_params() else cls()
    if "max_epochs" in model.get_params():
        model.set_params(tol=None, max_epochs=10)
    model.fit(rows, numbers)
    section = cls.__doc__.split("Attributes\n")[1].split("Examples\n")[0]
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    hidden = {"multilabel_", "results_", "n_rows_seen_"}  # of the classifier; of no use in a search
    for name in fitted - (hidden if "CV" in cls.__name__ else {"multilabel_", "results_"}):
        assert name in section, name


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_public_method_says_what_it_takes(cls):
    for name, method in inspect.getmembers(cls, callable):
        if name.startswith("_") or "skimlearn" not in getattr(method, "__module__", ""):
            continue
        doc = inspect.getdoc(method)
        assert doc, name
        for parameter in set(inspect.signature(method).parameters) - {"self"}:
            assert f"{parameter} :" in doc, (name, parameter)
