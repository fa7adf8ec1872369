"""What the times were measured on."""

import os
import platform
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


def describe():
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    return {
        "cpu": _read("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "cache": _read("/proc/cpuinfo", "cache size"),
        "memory": _read("/proc/meminfo", "MemTotal"),
        "governor": _read(governor),
        "system": platform.platform(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }
