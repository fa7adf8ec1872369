"""Files that get their name when they are complete, and what killed processes leave."""

import os
import signal
import subprocess
import sys
import time

import pytest

from skimlearn.data import _replacing
from skimlearn.data._replacing import replacing

HOLD = """
import sys, time
from skimlearn.data._replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process in the middle of writing a file."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "file")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def write(path):
    with replacing(path) as file:
        file.write(b"whole")


def unfinished(folder):
    return [file for file in folder.iterdir() if file.suffix == ".part"]


def test_what_a_killed_process_left_goes_away(tmp_path, holder):
    pytest.importorskip("fcntl")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    (left,) = unfinished(tmp_path)
    os.utime(left, (time.time() - 60, time.time() - 60))
    foreign = tmp_path / "file.notes.part"
    foreign.write_text("of the user")
    write(tmp_path / "file")
    assert unfinished(tmp_path) == [foreign]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_file_in_the_making_is_left_alone(tmp_path, holder):
    (other,) = unfinished(tmp_path)
    os.utime(other, (time.time() - 60, time.time() - 60))
    write(tmp_path / "file")
    assert unfinished(tmp_path) == [other]


def test_a_young_file_may_not_be_locked_yet(tmp_path):
    young = tmp_path / "file.0123abcd.part"
    young.write_bytes(b"")
    write(tmp_path / "file")
    assert young.exists()
    os.utime(young, (time.time() - 2 * _replacing.YOUNG,) * 2)
    write(tmp_path / "other")  # not of that name
    assert young.exists()
