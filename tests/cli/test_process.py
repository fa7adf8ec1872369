"""What needs a process of its own: signals, pipes, terminals, and the weight of the start."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import skimlearn
from command_line import document, skim, start, write_data
from model_faults import FORMER, NEW, Steps, fault, killed_after, killed_at_step, train

ENDLESS = ("--solver", "sgd", "--tol", "1e-15", "--max-epochs", "none", "--max-seconds", "60")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files, and machine code for the fits below."""
    folder = write_data(tmp_path_factory.mktemp("data"))
    skim("train", folder / "rows.svm", "--solver", "sgd", "--max-epochs", "3", "--tol", "1e-15")
    skim("train", folder / "rows.svm", "-o", folder / "model", "--random-state", "0")
    return folder


def ended(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


# --------------------------------------------------------------------------------------- the start


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['skim', 'train', '--help']\n"
        "from skimlearn.cli import run\n"
        "assert run() == 0\n"
        "heavy = {'numba', 'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'onnx'}\n"
        "print('heavy:', *sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--max-seconds" in done.stdout
    assert done.stdout.endswith("heavy:\n")


def test_numba_starts_without_what_it_has_no_use_for(data, tmp_path):
    """And packages that were refused to it are there for others."""
    code = (
        "import sys; from skimlearn.cli import run\n"
        f"sys.argv = ['skim', 'train', {str(data / 'rows.svm')!r}, '--solver', 'dual', '-q']\n"
        "assert run() == 0\n"
        "assert 'numba' in sys.modules\n"
        "print(*sorted({'colorama', 'scipy', 'yaml'} & set(sys.modules)), file=sys.stderr)\n"
        "import scipy.sparse\n"
    )
    settings = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    subprocess.run([sys.executable, "-c", code], **settings)  # a compiler may load more
    assert subprocess.run([sys.executable, "-c", code], **settings).stderr == "\n"
    (tmp_path / ".numba_config.yaml").write_text("opt: 3\n")  # settings that numba must read
    found = subprocess.run([sys.executable, "-c", code], **settings).stderr
    assert "yaml" in found or importlib.util.find_spec("yaml") is None


def test_a_profiler_has_its_say_at_the_end(data, tmp_path):
    line = ["-m", "skimlearn", "predict", str(data / "model"), str(data / "test.svm")]
    command = [sys.executable, "-m", "cProfile", "-o", str(tmp_path / "found"), *line]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    assert (tmp_path / "found").stat().st_size > 0


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_packages_it_says_what_to_install(missing, monkeypatch, capsys):
    import importlib.util

    from skimlearn.cli import main

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else found(name)
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert capsys.readouterr().err == (
        f"skim: the command needs {missing}: pip install 'skimlearn[cli]'\n"
    )


def test_the_script_is_declared():
    from importlib.metadata import entry_points

    found = [e for e in entry_points(group="console_scripts") if e.name == "skim"]
    if not found:
        pytest.skip("installed before there was a command line")
    assert found[0].value == "skimlearn.cli:main"


def test_completion_knows_commands_and_words():
    settings = {"_SKIM_COMPLETE": "complete_bash", "_TYPER_COMPLETE_ARGS": "skim tra"}
    settings |= {"COMP_WORDS": "skim tra", "COMP_CWORD": "1"}
    code, out, _ = ended(start(env=settings))
    assert code == 0
    assert out.split() == ["train"]


# ------------------------------------------------------------------------------------------ pipes


def test_a_closed_pipe_is_no_error(data, tmp_path):
    text = (data / "test.svm").read_text() * 300  # more than a pipe holds
    (tmp_path / "long.svm").write_text(text)
    process = start("predict", data / "model", tmp_path / "long.svm", "--scores")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_on_a_full_disk(data):
    with open("/dev/full", "w") as full:
        code, _, err = ended(start("info", data / "store", "--json", stdout=full))
    assert (code, err) == (1, "skim: No space left on device\n")


# ---------------------------------------------------------------------------------------- signals


def check_saved(found, model, err):
    """The document of an interrupted fit, and its model."""
    assert found["interrupted"]
    assert found["status"] == "INTERRUPTED"
    assert "interrupted: the model is the best one found so far; saved: " in err
    assert "Traceback" not in err
    assert skimlearn.load(model).result_.certificate.primal == found["certificate"]["primal"]
    assert found["certificate"]["gap"] < 1.0


def test_an_interrupt_saves_the_best_model_so_far(data, tmp_path):
    model = tmp_path / "model"
    for patience in (1.0, 4.0, 16.0):  # the fit must have begun, which nothing tells
        process = start("train", data / "rows.svm", "-o", model, *ENDLESS, "--json")
        assert "learning a LinearClassifier" in process.stderr.readline()
        time.sleep(patience)
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
        if model.exists():
            break
    assert code == 130
    check_saved(json.loads(out), model, err)
    assert "\x1b" not in out + err  # no terminal, no control characters
    assert "objective" not in err  # nor progress


def test_the_end_of_a_job_saves_it_too(data, tmp_path, monkeypatch):
    """SIGTERM, here to this process: the fit has begun when it asks for a check."""
    from skimlearn.cli._progress import Progress

    model = tmp_path / "model"
    monkeypatch.setattr(Progress, "record", lambda *_: signal.raise_signal(signal.SIGTERM))
    done = skim("train", data / "rows.svm", "-o", model, *ENDLESS, "--json", code=143)
    check_saved(json.loads(done.stdout), model, done.stderr)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_interrupt_that_nothing_hears_is_repeated(data, tmp_path, monkeypatch):
    """Raised in a callback of C code, say, where exceptions are lost."""
    from skimlearn.cli._progress import Progress

    def deaf(*_):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    model = tmp_path / "model"
    monkeypatch.setattr(Progress, "record", deaf)
    done = skim("train", data / "rows.svm", "-o", model, *ENDLESS, "--json", code=130)
    check_saved(json.loads(done.stdout), model, done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")
def test_a_kill_leaves_a_whole_model(data, tmp_path):
    """A few trials; tools/fault_train.py makes a hundred."""
    former, model = tmp_path / "former", tmp_path / "work" / "model"
    model.parent.mkdir()
    train(data / "rows.svm", former, FORMER)
    with Steps() as steps:
        train(data / "rows.svm", tmp_path / "new", NEW)
    weights = [skimlearn.load(path).coef_ for path in (former, tmp_path / "new")]
    for step in range(1, steps.count + 1):
        shutil.copy(former, model)
        assert killed_at_step(data / "rows.svm", model, step)
        assert fault(model, *weights) is None
    for seconds in (0.003, 0.01, 0.03):
        shutil.copy(former, model)
        killed_after(data / "rows.svm", model, seconds)
        assert fault(model, *weights) is None


# -------------------------------------------------------------------------------------- terminals


def on_terminal(*arguments, columns=80, **settings):
    """What a terminal of this width gets."""
    import fcntl
    import struct
    import termios

    master, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {"TERM": "xterm-256color", "COLUMNS": str(columns)} | settings
    process = start(
        *arguments, stdin=terminal, stdout=terminal, stderr=terminal, text=False, env=environment
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(60) == 0
    return shown.decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_shows_progress(data):
    endless = [*ENDLESS[:-1], "1"]
    shown = on_terminal("train", data / "rows.svm", *endless, columns=50, NO_COLOR="1")
    assert "learning  objective" in shown
    assert "\x1b[2K" in shown  # the line goes away
    assert "\x1b[3" not in shown  # no colours
    lines = [line for line in shown.replace("\r", "").split("\n") if "\x1b" not in line]
    assert all(len(line) <= 50 for line in lines if "learning a" not in line)


@pytest.mark.parametrize("columns", [12, 40, 200])
def test_a_line_fits_into_any_terminal(columns, monkeypatch):
    from skimlearn.cli._output import Output
    from skimlearn.cli._progress import Progress
    from skimlearn.result import Record

    monkeypatch.setenv("FORCE_COLOR", "1")  # for rich this is a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    progress = Progress(Output(), "learning")
    for dual in (0.1, float("-inf")):
        progress.record(Record(epoch=3, seconds=1.5, reads=12_345_678, primal=0.125, dual=dual))
        line = progress._line().plain
        assert len(line) < columns
    assert ("12.3 M reads" in line) == (columns > 50)
    if columns == 200:
        assert "objective 0.125  gap -  12.3 M reads  8.23 M/s  epoch 3" in line


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB, where the user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(data, small_disk):
    model = small_disk / "model"
    skim("train", data / "rows.svm", "-o", model, *FORMER)
    former = model.read_bytes()
    with contextlib.suppress(OSError), open(small_disk / "filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    for arguments in (
        ["train", data / "rows.svm", "-o", model, *NEW],
        ["ingest", data / "rows.svm", small_disk / "store"],
    ):
        code, out, err = ended(start(*arguments))
        assert (code, out) == (1, "")
        assert "No space left" in err
        assert "Traceback" not in err
        assert model.read_bytes() == former
        assert {file.name for file in small_disk.iterdir()} == {"model", "filler"}


def test_two_ingests_into_one_target(data, tmp_path):
    """The second is refused or comes after the first; the store is whole."""
    many = tmp_path / "many.svm"
    many.write_bytes((data / "rows.svm").read_bytes() * 200)
    both = [start("ingest", many, tmp_path / "store") for _ in range(2)]
    ends = [ended(process) for process in both]
    assert sorted(code for code, *_ in ends) == [0, 1]
    (err,) = [err for code, _, err in ends if code == 1]
    assert "another process is writing it" in err or "exists already" in err
    assert document("check", tmp_path / "store")["rows"] == 200 * 200
    assert {file.name for file in tmp_path.iterdir()} == {"many.svm", "store"}
