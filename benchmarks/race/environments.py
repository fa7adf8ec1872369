"""Environments for the peers: one for all that live together, one each for those that do not."""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
# multicore: its module has the name of liblinear's; intelex: it brings its own scikit-learn
ENVIRONMENTS = ("main", "multicore", "intelex")


def _requirements(environment):
    lines = (HERE / f"requirements-{environment}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def set_up(folder, log=print):
    """Make the environments; a package that does not install is named and left out."""
    missing = []
    for environment in ENVIRONMENTS:
        path = Path(folder) / environment
        log(f"{path}")
        venv.create(path, with_pip=True)
        pip = [str(path / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        wanted = _requirements(environment)
        if subprocess.run([*pip, *wanted]).returncode == 0:
            continue
        for package in wanted:  # one by one: what fails must not take the others with it
            if subprocess.run([*pip, package]).returncode != 0:
                missing.append(f"{package} ({environment})")
                log(f"did not install: {package}")
    return missing


if __name__ == "__main__":
    set_up(sys.argv[1])
