"""The benchmark of a store that is larger than memory: limits are found, and hold."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def benchmark(monkeypatch):
    """The module of the benchmark, which is not installed."""
    pytest.importorskip("resource")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import store_memory

    return store_memory


@pytest.mark.parametrize(
    ("lines", "files", "limit"),
    [
        ("0::/user/scope\n", {"user/scope/memory.max": "1000\n"}, 1000),
        ("0::/user/scope\n", {"user/memory.max": "500\n", "user/scope/memory.max": "max\n"}, 500),
        ("0::/\n", {}, None),
        (
            "4:memory:/a/b\n3:cpu:/\n0::/\n",
            {"memory/a/b/memory.limit_in_bytes": "7000\n", "memory/memory.limit_in_bytes": "9000"},
            7000,
        ),
        (
            "4:cpu,memory:/a\n0::/\n",
            {"memory/a/memory.limit_in_bytes": f"{2**63 - 4096}\n"},
            None,
        ),
    ],
)
def test_the_limit_of_a_control_group(benchmark, tmp_path, lines, files, limit):
    (tmp_path / "proc").write_text(lines)
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    assert benchmark.group_limit(tmp_path / "proc", tmp_path / "root") == limit


@linux
@pytest.mark.slow
def test_a_store_of_three_times_the_memory_is_learned_from(benchmark, tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "store_memory.py", "--dir", tmp_path],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    found = dict(re.findall(r"^(.*?) {2,}([-\d.]+)", done.stdout, re.M))
    assert float(found["private memory, beyond that of the start"]) < 60.0
    assert float(found["accuracy"]) > 0.97
    assert float(found["swapped"]) == 0.0
    assert list(tmp_path.iterdir()) == []
