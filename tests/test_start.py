"""The start of a process: what is loaded when, and the notice of a process that compiles."""

import os
import subprocess
import sys
import textwrap

import pytest

KERNEL = """
    import sys
    {before}
    from skimlearn.data.inspection import as_rows
    print(*as_rows([[0.25, 0.75]]).shape)
"""
INTERACTIVE = "sys.ps1 = '>>> '"  # as in an interpreter or a notebook


def environment(cache):
    settings = dict(os.environ)
    if cache is not None:
        settings["NUMBA_CACHE_DIR"] = str(cache)
    settings.pop("NUMBA_DISABLE_JIT", None)
    return settings


def start(code, cache, **options):
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, env=environment(cache), stdout=subprocess.PIPE, text=True, timeout=120, **options
    )
    assert done.returncode == 0
    return done


def notice(before, cache):
    done = start(KERNEL.format(before=before), cache, stderr=subprocess.PIPE)
    assert done.stdout == "1 2\n"
    return done.stderr


def test_an_interactive_session_that_compiles_says_so_once(tmp_path):
    first = notice(INTERACTIVE, tmp_path)
    assert first.startswith("skimlearn: compiling")
    assert str(tmp_path) in first
    assert first.count("\n") == 1
    assert notice(INTERACTIVE, tmp_path) == ""  # the second finds the machine code


def test_nobody_is_told_where_nobody_waits(tmp_path):
    assert notice("", tmp_path) == ""


def test_a_session_without_a_cache_folder_is_told_the_remedy(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    text = notice(INTERACTIVE, tmp_path / "file" / "below")
    assert text.count("\n") == 1
    assert "in every process" in text
    assert "NUMBA_CACHE_DIR" in text


def test_functions_of_others_are_compiled_without_a_notice(tmp_path):
    code = """
        import sys
        sys.ps1 = ">>> "
        import numba
        import skimlearn._jit
        print(numba.njit(lambda x: 2.0 * x)(1.0))
    """
    done = start(code, tmp_path, stderr=subprocess.PIPE)
    assert (done.stdout, done.stderr) == ("2.0\n", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_the_notice_on_a_terminal(tmp_path):
    master, terminal = os.openpty()
    try:
        start(KERNEL.format(before=""), tmp_path, stderr=terminal)
        os.set_blocking(master, False)
        shown = os.read(master, 10_000).decode()
    finally:
        os.close(master)
        os.close(terminal)
    assert shown.startswith("skimlearn: compiling")
    assert shown.count("\n") == 1


def test_a_fit_loads_only_what_it_needs():
    """Nothing for pictures, terminals or tables beyond what scikit-learn itself loads."""
    code = """
        import sys
        from sklearn.base import BaseEstimator
        import scipy.sparse.linalg, scipy.linalg
        before = {name.partition(".")[0] for name in sys.modules}
        from skimlearn import LinearClassifier
        LinearClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
        after = {name.partition(".")[0] for name in sys.modules}
        heavy = {"matplotlib", "rich", "polars", "pandas", "dask", "onnx", "pytest", "hypothesis"}
        print(*(after - before) & heavy)
    """
    done = start(code, cache=None)
    assert done.stdout == "\n"
