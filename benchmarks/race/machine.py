"""What the times were measured on."""

import os
import platform
import subprocess
from pathlib import Path


def _read(path, key=None):
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    if key is None:
        return text.strip()
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == key), None)


def commit():
    """The state of our code: a short hash, with a plus if files were changed since; or None."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
            cwd=here, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def describe():
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {
        "cpu": _read("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "cache": _read("/proc/cpuinfo", "cache size"),
        "memory": _read("/proc/meminfo", "MemTotal"),
        "governor": _read(governor),
        "system": platform.platform(),
        "commit": commit(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }
