"""Kernels and formulas: compiled once, kept on disk, never stale, for every kind of user code."""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core.errors import TypingError

import skimlearn
from skimlearn import _jit
from skimlearn.certificates import _mean_loss
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import responses
from skimlearn.formulas import regularizers
from skimlearn.formulas.losses import Hinge, Huber, Loss

PACKAGE = Path(skimlearn.__file__).parent
ONE = np.ones(1)

without_jit = bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))
needs_jit = pytest.mark.skipif(without_jit, reason="looks at what was compiled")


def value(loss, z=1.0):
    """The loss of one prediction, by a kernel of the package."""
    return _mean_loss(loss, z * ONE, 0.0, ONE, ONE)


# -------------------------------------------------------------------------- in another process

OWN = """
    from dataclasses import dataclass

    import helper
    from helper import TABLE, twice
    from skimlearn.formulas.losses import Loss

    @dataclass(frozen=True)
    class Own(Loss):
        weight: float = 1.0

        def value(self, z, y):
            return self.weight * (twice(z) + 10.0 * helper.thrice(z) + TABLE[0] + helper.LEVEL)

        def slope(self, z, y):
            return 1.0
"""

HELPER = """
    from skimlearn._jit import kernel

    TABLE = (100.0, 7.0)
    LEVEL = 1000.0

    @kernel
    def twice(z):
        return 2.0 * z

    @kernel
    def thrice(z):
        return 3.0 * z
"""

REPORT = """
    import json
    import numpy as np
    from skimlearn import _jit, certificates
    from skimlearn.data import _faults, inspection, rows

    def report(loss):
        z, one = np.empty(1), np.ones(1)
        rows.responses(inspection.as_rows([[0.25, 0.75]]), np.ones(2), z)
        result = certificates._mean_loss(loss, z, 0.0, one, one)
        kernels = [_faults.inspect_dense, rows.responses, certificates._mean_loss]
        print(json.dumps({
            "value": result,
            "hits": sum(sum(k.stats.cache_hits.values()) for k in kernels),
            "misses": sum(sum(k.stats.cache_misses.values()) for k in kernels),
            "folder": str(_jit.cache_directory()),
        }))
"""

MAIN = """
    from own import Own
    from report import report

    report(Own())
"""


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def command(folder, *arguments, cache=None, package=PACKAGE):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache or folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(package.parent), str(folder)]),
        "PYTHONDONTWRITEBYTECODE": "1",  # its time stamps are too coarse for quick edits
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.Popen(
        [sys.executable, "-W", "error", *map(str, arguments)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert errors == ""
    return json.loads(output)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The code of a user, run once: it has filled the cache."""
    folder = tmp_path_factory.mktemp("project")
    write(folder, own=OWN, helper=HELPER, report=REPORT, main=MAIN)
    first = result(command(folder, "main.py"))
    assert first["value"] == 2 + 30 + 100 + 1000
    assert first["misses"] == 3
    assert first["hits"] == 0
    return folder


def test_second_process_compiles_nothing(project):
    second = result(command(project, "main.py"))
    assert second["value"] == 1132.0
    assert second["misses"] == 0
    assert second["hits"] == 3
    assert Path(second["folder"]).is_relative_to(project / "cache")


MAKES_ARRAYS = """
    import json
    import numpy as np
    from skimlearn._jit import kernel
    from numba.core.runtime import rtsys

    @kernel
    def squares(x):
        out = [np.empty(0)]  # numba counts who holds these arrays
        for k in range(3):
            out.append(x * x + k)
        return out

    @kernel
    def unused(x):
        return x

    first = squares(np.arange(4.0))[3].tolist()
    print(json.dumps({
        "value": first,
        "misses": sum(squares.stats.cache_misses.values()),
        "runtime compiled": rtsys._init,
        "caches": ["_made" in vars(k._cache) for k in (squares, unused)],
    }))
"""


def test_kernels_that_make_arrays_are_loaded_without_the_runtime_of_a_compiler(tmp_path):
    write(tmp_path, main=MAKES_ARRAYS)
    first, second = (result(command(tmp_path, "main.py")) for _ in range(2))
    assert first["value"] == second["value"] == [2.0, 3.0, 6.0, 11.0]
    assert (first["misses"], first["runtime compiled"]) == (1, True)
    assert (second["misses"], second["runtime compiled"]) == (0, False)
    assert second["caches"] == [True, False]  # made for kernels that are called


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("own", "self.weight * (", "2.0 * self.weight * (", 2264.0),
        ("own", "weight: float = 1.0", "weight: float = 3.0", 3396.0),
        ("helper", "2.0 * z", "4.0 * z", 1134.0),  # imported by name
        ("helper", "3.0 * z", "5.0 * z", 1152.0),  # reached through its module
        ("helper", "TABLE = (100.0", "TABLE = (300.0", 1332.0),
        ("helper", "LEVEL = 1000.0", "LEVEL = 2000.0", 2132.0),
    ],
)
def test_edited_source_is_compiled_anew(project, file, old, new, expected):
    path = project / f"{file}.py"
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    try:
        assert result(command(project, "main.py"))["value"] == expected
    finally:
        path.write_text(before)


def test_loss_in_a_script_is_cached_too(tmp_path):
    write(tmp_path, report=REPORT)
    script = OWN.replace("import helper\n", "").replace("from helper import TABLE, twice", "")
    script = script.replace(
        "twice(z) + 10.0 * helper.thrice(z) + TABLE[0] + helper.LEVEL", "4.0 * z"
    )
    write(
        tmp_path, script=script + "\n    from report import report\n    report(Own(weight=2.0))\n"
    )
    first = result(command(tmp_path, "script.py"))
    assert (first["value"], first["misses"]) == (8.0, 3)
    second = result(command(tmp_path, "script.py"))
    assert (second["value"], second["misses"], second["hits"]) == (8.0, 0, 3)


def test_loss_typed_into_an_interpreter_without_a_cache(tmp_path):
    """No file for the class and no folder for machine code: everything works, without a warning."""
    write(tmp_path, report=REPORT)
    (tmp_path / "file").write_text("not a folder")
    code = """
        from dataclasses import dataclass
        from skimlearn.formulas.losses import Loss
        from skimlearn._jit import kernel
        from report import report

        @kernel
        def twice(z):
            return 2.0 * z

        @dataclass(frozen=True)
        class Own(Loss):
            def value(self, z, y):
                return twice(z) + y
            def slope(self, z, y):
                return 2.0

        report(Own())
    """
    process = command(tmp_path, "-c", textwrap.dedent(code), cache=tmp_path / "file" / "below")
    found = result(process)
    assert found == {"value": 3.0, "hits": 0, "misses": 3, "folder": "None"}


def test_two_processes_fill_the_cache_at_once(tmp_path):
    write(tmp_path, own=OWN, helper=HELPER, report=REPORT, main=MAIN)
    both = [command(tmp_path, "main.py") for _ in range(2)]
    assert [result(process)["value"] for process in both] == [1132.0, 1132.0]
    assert result(command(tmp_path, "main.py"))["misses"] == 0


def test_edited_package_is_compiled_anew(tmp_path):
    package = tmp_path / "site" / "skimlearn"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    script = "\n    from skimlearn.formulas.losses import Squared\n    report(Squared())\n"
    write(tmp_path, main=REPORT + script)
    before = result(command(tmp_path, "main.py", package=package))
    assert before["value"] == 0.0
    path = package / "data" / "_row_kinds.py"  # another file than that of the kernel `_mean_loss`
    text = path.read_text()
    assert text.count("        total += w[j] * rows.values[i, j]\n") == 1
    path.write_text(text.replace("total += w[j]", "total += 2.0 * w[j]"))
    after = result(command(tmp_path, "main.py", package=package))
    assert after["value"] == 0.5
    assert after["misses"] == 3
    assert after["folder"] != before["folder"]


# ------------------------------------------------------------------------------- the cache folder


def fresh(path, name="_disk"):
    """A module of `_jit`, of a copy of the package, as a new process would load it."""
    spec = importlib.util.spec_from_file_location("fresh" + name, path / "_jit" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", ["_jit/_disk.py", "formulas/losses.py", "solvers/new.py"])
def test_folder_is_named_after_all_of_the_source(tmp_path, monkeypatch, file):
    package = tmp_path / "skimlearn"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    first, second = (fresh(package).cache_directory() for _ in range(2))
    assert first == second
    with (package / file).open("a") as stream:
        stream.write("\n# edited\n")
    third = fresh(package).cache_directory()
    assert third != first
    assert third.parent == first.parent == tmp_path / "cache" / "skimlearn"
    assert third.is_dir()


@pytest.mark.parametrize("file", ["cli/train.py", "report/_page.py", "__main__.py"])
def test_the_layers_on_top_do_not_name_the_folder(tmp_path, monkeypatch, file):
    package = tmp_path / "skimlearn"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    first = fresh(package).cache_directory()
    with (package / file).open("a") as stream:
        stream.write("\n# edited\n")
    assert fresh(package).cache_directory() == first


def test_folder_follows_the_environment(tmp_path, monkeypatch):
    find = _jit.cache_directory.__wrapped__
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert find().is_relative_to(tmp_path / "numba")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert find().is_relative_to(tmp_path / "xdg")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert find().is_relative_to(tmp_path / "home" / ".cache")


def test_user_without_a_home_gets_no_folder_named_tilde(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert _jit.cache_directory.__wrapped__() is None
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------- notebooks

CELL = """
from dataclasses import dataclass
from skimlearn.formulas.losses import Loss

@dataclass(frozen=True)
class Own(Loss):
    def value(self, z, y):
        return FACTOR * z
    def slope(self, z, y):
        return FACTOR
"""


def notebook(code, **variables):
    """Run a cell as a notebook does."""
    session = {"__name__": "__main__", **variables}
    exec(compile(code, "<ipython-input-1>", "exec"), session)
    return session["Own"]


@pytest.mark.pure_python
def test_loss_of_a_notebook():
    assert value(notebook(CELL, FACTOR=2.0)()) == 2.0
    assert value(notebook(CELL.replace("* z", "+ z"), FACTOR=2.0)()) == 3.0  # the cell, edited
    assert value(notebook(CELL, FACTOR=5.0)()) == 5.0  # the cell before it, edited


@pytest.mark.parametrize(
    ("code", "one", "two"),
    [
        (CELL, 1.0, 2.0),
        (CELL, 1, True),
        (CELL.replace("FACTOR", "FACTOR[1]"), (0.0, 1.0), (0.0, 2.0)),
        (CELL.replace("FACTOR", "FACTOR[0][0]"), ((1.0,),), ((2.0,),)),
        (CELL.replace("FACTOR", "FACTOR[1]"), np.array([0.0, 1.0]), np.array([0.0, 2.0])),
        (CELL.replace("FACTOR", "FACTOR"), np.float32(1.0), np.float32(2.0)),
        (CELL.replace("FACTOR * z", "sum([FACTOR for _ in range(2)])"), 1.0, 2.0),
    ],
)
def test_type_of_a_formula_depends_on_what_it_takes_from_outside(code, one, two):
    def name(factor):
        return _jit.formula_type(notebook(code, FACTOR=factor)).name

    assert name(one) == name(one)
    assert name(one) != name(two)


# ------------------------------------------------------------------------------------- formulas


@pytest.mark.pure_python
def test_closure_is_refused():
    factor = 2.0

    @dataclass(frozen=True)
    class Closure(Loss):
        def value(self, z, y):
            return factor * z

        def slope(self, z, y):
            return factor

    message = r"Closure.* uses a local variable .*: make it a field of the dataclass"
    with pytest.raises(TypeError, match=message):
        _jit.formula_type(Closure)
    if not without_jit:
        with pytest.raises(TypeError, match=message):
            value(Closure())


@pytest.mark.pure_python
def test_local_class_without_a_closure_is_fine():
    @dataclass(frozen=True)
    class Local(Loss):
        factor: float = 2.0

        def value(self, z, y):
            return self.factor * z

        def slope(self, z, y):
            return self.factor

    assert value(Local(3.0)) == 3.0


@dataclass(frozen=True)
class WrongNames(Loss):
    def value(self, prediction, target):
        return 0.0

    def slope(self, z, y):
        return 0.0


@pytest.mark.pure_python
def test_other_names_of_arguments_are_refused():
    message = r"WrongNames.value\(self, prediction, target\) must name .*: value\(self, z, y\)"
    with pytest.raises(TypeError, match=message):
        _jit.formula_type(WrongNames)
    if not without_jit:
        with pytest.raises(TypeError, match=message):
            value(WrongNames())


def test_the_base_class_sets_the_names_even_if_a_user_comes_first():
    module = fresh(PACKAGE, "_formula")

    @dataclass(frozen=True)
    class Base(module.Formula):
        def value(self, z, y):
            return 0.0

    @dataclass(frozen=True)
    class First(Base):
        def value(self, u, v):
            return 0.0

    @dataclass(frozen=True)
    class Second(Base):
        def value(self, z, y):
            return 1.0

    with pytest.raises(TypeError, match=r"First.value\(self, u, v\) must name"):
        module.formula_type(First)
    module.formula_type(Second)


@needs_jit
def test_parameters_do_not_compile_anything():
    assert value(Huber(delta=1.0), z=4.0) == 2.5
    count = len(_mean_loss.signatures)
    assert value(Huber(delta=2.0), z=4.0) == 4.0
    assert value(Huber(delta=2), z=4.0) == 4.0  # an integer is a number too
    assert value(Huber(delta=np.float32(2.0)), z=4.0) == 4.0
    assert len(_mean_loss.signatures) == count


@dataclass(frozen=True)
class Scaled(Loss):
    scale: float = 3.0  # which is a method of regularizers
    value_at_zero: float = 0.5

    def value(self, z, y):
        return self.scale * abs(z - y) + self.value_at_zero

    def slope(self, z, y):
        return self.scale if z > y else -self.scale


@_jit.kernel
def _both(loss, regularizer, z):
    return loss.value(z, 0.0) + regularizer.scale(4.0, 1.0, 1.0)


@pytest.mark.pure_python
def test_a_field_may_have_the_name_of_another_formulas_method():
    regularizer = regularizers.resolve(1.5, None)
    expected = 6.5 + regularizer.scale(4.0, 1.0, 1.0)
    assert _both(Scaled(), regularizer, 2.0) == pytest.approx(expected, rel=1e-15)
    assert value(Scaled(scale=5.0), z=1.0) == 0.5  # the target is 1, too


@needs_jit
def test_parameter_that_is_no_number_is_an_error_not_a_crash():
    loss = Huber()
    object.__setattr__(loss, "delta", "wide")
    with pytest.raises(TypeError, match="must be real number, not str"):
        value(loss)
    object.__delattr__(loss, "delta")
    object.__setattr__(loss, "delta", None)
    with pytest.raises(TypeError, match="must be real number"):
        value(loss)
    assert value(Hinge()) == 0.0  # and the process goes on


@needs_jit
def test_nan_and_infinity_keep_their_meaning_in_kernels():
    for z in (math.nan, math.inf, -math.inf):
        assert value(Hinge(), z) == pytest.approx(max(0.0, 1.0 - z), nan_ok=True)


@pytest.mark.pure_python
def test_kinds_of_rows_are_told_apart_at_every_call():
    """Numba 0.60 knew them by bytes that it had not set, and ran code for other rows."""
    kinds = [as_rows(sp.csr_matrix(np.eye(3, dtype=t))) for t in (np.float64, np.float32)]
    out = np.empty(3)
    for k in range(1000):
        responses(kinds[k % 2], np.arange(3.0), out)
        assert out.tolist() == [0.0, 1.0, 2.0]


def test_kernel_keeps_name_and_documentation():
    @_jit.kernel
    def double(x):
        """Twice."""
        return 2.0 * x

    assert double(2.0) == 4.0
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice."


@dataclass(frozen=True)
class Rich(_jit.Formula):
    """Its method makes an array."""

    def first_of(self, n):
        return np.arange(n)[0] + n


@dataclass(frozen=True)
class Lean(Rich):
    """A method of the same name that makes none, compiled without counts of who holds arrays."""

    lean = True

    def first_of(self, n):
        return 2 * n


@dataclass(frozen=True)
class Mistaken(Rich):
    lean = True


@_jit.kernel
def _first_of(formula, n):
    return formula.first_of(n)


def test_lean_formulas_make_no_arrays_and_stand_beside_others():
    assert _first_of(Rich(), 3) == 3
    assert _first_of(Lean(), 3) == 6
    with pytest.raises(TypingError, match=r"NRT required|returning of array"):
        _first_of(Mistaken(), 3)
    assert _first_of(Rich(), 4) == 4
