"""Nothing is ever half there: full disks, kills, two writers, little memory."""

import errno
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skimlearn import (
    Store,
    StoreError,
    open_store,
)
from store_faults import (
    FORMER,
    NEW,
    Steps,
    check_after_kill,
    data,
    killed_after,
    killed_at_step,
    make,
    state,
)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_all_is_on_disk_before_it_gets_its_name(path, monkeypatch):
    told, rename = [], os.rename
    monkeypatch.setattr(os, "fsync", lambda handle: told.append(os.fstat(handle).st_ino))
    monkeypatch.setattr(os, "rename", lambda *args: (told.append("named"), rename(*args)))
    make(path)
    named = told.index("named")
    files = {os.stat(path / name).st_ino: name for name in os.listdir(path)}
    assert set(told[:named]) == {*files, os.stat(path).st_ino}
    assert told[named - 1] == os.stat(path).st_ino
    assert files[told[named - 2]] == "manifest.json"
    assert told[named + 1 :] == [os.stat(path.parent).st_ino]


def test_an_existing_target_is_refused_or_replaced(path, tmp_path):
    make(path, FORMER)
    with pytest.raises(StoreError, match="exists already: use overwrite=True"):
        make(path)
    former = open_store(path)
    make(path, overwrite=True)
    assert (state(path), former.shape[1]) == (NEW, FORMER)
    assert_array_equal(former[:5].toarray(), next(data(FORMER))[0][:5].toarray())  # still there
    assert os.listdir(tmp_path) == ["data"]


def test_what_is_no_store_is_never_replaced(tmp_path, path):
    path.mkdir()
    make(path, overwrite=True)  # an empty folder is nobody's
    (path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"has notes\.txt, so it is no store"):
        make(path, overwrite=True)
    assert state(path) == NEW
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "labels.npy").write_text("mine")
    with pytest.raises(StoreError, match=r"has no manifest\.json, so it is no store"):
        make(tmp_path / "a", overwrite=True)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(path)
    for name in ("file", "link"):
        with pytest.raises(StoreError, match="not a folder, so it is not replaced"):
            make(tmp_path / name, overwrite=True)
    (tmp_path / ".b.skimlearn-new").mkdir()
    (tmp_path / ".b.skimlearn-new" / "mine").write_text("mine")
    with pytest.raises(StoreError, match="foreign files, mine"):
        make(tmp_path / "b", overwrite=True)
    assert (tmp_path / ".b.skimlearn-new" / "mine").read_text() == "mine"
    with pytest.raises(StoreError, match="does not exist: make it first"):
        make(tmp_path / "no" / "such" / "folder")


@pytest.mark.parametrize("former", [False, True])
def test_a_full_disk_at_any_step_leaves_what_was_there(tmp_path, path, former):
    def fail(_name):
        raise OSError(errno.ENOSPC, "the disk is full")

    if former:
        make(path, FORMER)
    with Steps(None) as steps:
        make(tmp_path / "other")
    most = steps.count + 20  # removing the former takes some more
    failed = 0
    for k in range(1, most):
        try:
            with Steps(fail, k) as steps:
                make(path, overwrite=former)
        except OSError as error:
            failed += error.errno == errno.ENOSPC
        assert state(path) in ((FORMER, NEW) if former else (None, NEW))
        if state(path) == NEW:  # only the cleaning failed, or nothing did
            make(path, FORMER, overwrite=True)
            if not former:
                for name in os.listdir(path):
                    os.unlink(path / name)
                path.rmdir()
        left = {name for name in os.listdir(tmp_path) if name.startswith(".")}
        assert left <= {".data.skimlearn-new", ".data.skimlearn-old"}
    assert failed > 30
    make(path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["data", "other"]


@needs_fork
@pytest.mark.parametrize("former", [False, True])
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path, former):
    path = str(tmp_path / "data")
    with Steps(None) as steps:
        make(path, FORMER)
        make(path, overwrite=True)
    last = steps.count // 2 + 20
    killed, step = True, 1
    while killed and step < last:
        if former:
            make(path, FORMER, overwrite=True)
        elif os.path.exists(path):
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        killed = killed_at_step(path, step, overwrite=former)
        assert check_after_kill(path, former) is None, step
        step += 4
    assert step > 30


@needs_fork
def test_a_kill_at_any_time_leaves_all_or_nothing(tmp_path):
    rng = np.random.default_rng(0)
    path = str(tmp_path / "data")
    for _ in range(6):
        make(path, FORMER, overwrite=True)
        killed_after(path, 0.1 * rng.random(), rows=300, overwrite=True)
        assert check_after_kill(path, True) is None


def test_a_replacement_that_was_cut_off_loses_nothing(tmp_path, path):
    make(path, FORMER)
    os.rename(path, tmp_path / ".data.skimlearn-old")  # killed between two renamings
    assert open_store(path).shape[1] == FORMER
    with pytest.raises(StoreError, match="exists already"):
        make(path)
    assert state(path) == FORMER
    assert os.listdir(tmp_path) == ["data"]


def test_a_second_writer_is_told_to_wait(tmp_path, path):
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        for block in data(NEW):
            yield block
            begun.set()
            go_on.wait(20)

    writer = threading.Thread(target=lambda: Store.create(path, slow()))
    writer.start()
    assert begun.wait(20)
    with pytest.raises(StoreError, match="another process is writing it: wait for its end"):
        make(path)
    code = (
        "import sys, numpy as np\nfrom skimlearn import Store\nStore.create(sys.argv[1], np.eye(2))"
    )
    other = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(other, capture_output=True, text=True, check=False)
    assert "another process is writing it" in done.stderr
    go_on.set()
    writer.join()
    assert state(path) == NEW
    assert os.listdir(tmp_path) == ["data"]


def test_a_source_that_fails_leaves_nothing(tmp_path, path):
    def broken():
        yield from data(NEW)
        raise RuntimeError("the network is gone")

    def impatient(_stage, _done):
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="the network is gone"):
        Store.create(path, broken())
    with pytest.raises(KeyboardInterrupt):
        Store.create(path, data(NEW), progress=impatient)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="whoever may do anything may write anywhere"
)
def test_a_folder_that_is_not_writable(tmp_path, path):
    make(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            make(tmp_path / "other")
        assert state(path) == NEW
    finally:
        tmp_path.chmod(0o700)


LIMITED = """
import resource, sys, time
import numpy as np, scipy.sparse as sp
from skimlearn import LinearClassifier, Store, open_store

def blocks(count, rows=2000):
    rng = np.random.default_rng(0)
    w = rng.normal(size=2000)
    starts = np.arange(rows + 1) * 100
    for _ in range(count):
        columns = (20 * np.arange(100) + rng.integers(20, size=(rows, 100))).ravel()
        X = sp.csr_matrix((rng.normal(size=rows * 100), columns, starts), shape=(rows, 2000))
        yield X, np.where(X @ w > 0, 1, -1)

def model():
    return LinearClassifier(alpha=1e-6, solver="auto", max_epochs=4, tol=1e-9, random_state=0)

import warnings
warnings.simplefilter("ignore")
small = Store.create(sys.argv[1] + "/small", blocks(3), memory=2**16)
model().fit(small).score(small, small.y)
data = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (1024 * data + 60_000_000, -1))
try:
    np.ones(10_000_000)
    print("no limit")
except MemoryError:
    pass
began = time.perf_counter()
store = Store.create(sys.argv[1] + "/large", blocks(75), memory=2**24)
size = sum(a.nbytes for name, a in store._arrays.items() if name.startswith("row_"))
made = time.perf_counter() - began
fitted = model().fit(store)
print(size > 3 * 59_000_000, fitted.score(store, store.y) > 0.97, made, time.perf_counter() - began)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_DATA")
def test_a_store_of_three_times_the_memory_is_made_and_learned_from(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["True", "True"], done.stdout
