"""Take pictures of a report for the documentation, with the browser chromium.

    python docs/make_report_images.py

writes ``report.html`` to the present folder, and ``docs/images/report.png`` (a wide screen) and
``docs/images/report_phone.png`` (a phone in the dark). Times in the pictures are those of the
machine.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skimlearn import LinearClassifier, regularization_path
from skimlearn.report import Entry, error_curve, write

FOLDER = Path(__file__).parent / "images"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic", "--virtual-time-budget=10000",
)  # fmt: skip


def entries():
    """Three ways to learn the same, tested on rows that were held back."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    labels = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, labels, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    common = {"X": X_test, "y": y_test, "X_train": X, "y_train": y, "feature_names": names}
    found = []
    for loss, solver in (("log", "dual"), ("log", "asgd"), ("hinge", "pegasos")):
        model = LinearClassifier(loss, solver=solver, alpha=1e-3, max_epochs=200, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # Pegasos takes its time
            model.fit(X[:50], y[:50])  # so that the time of the next fit has no compiling in it
            model.fit(X, y)
            errors = error_curve(model, X, y, X_test, y_test)
        path = None
        if not found:
            path = regularization_path(X, y, loss=loss, random_state=0)
        title = f"{loss} loss, {solver}"
        found.append(Entry(model, name=title, errors=errors, regularization_path=path, **common))
    return found


def shoot(browser, address, target, width, height, *flags):
    """Take a picture of a page, as a small file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            browser, *FLAGS, *flags, f"--user-data-dir={folder}", f"--screenshot={target}",
            f"--window-size={width},{height}", address,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    picture = Image.open(target).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"wrote {target}")


def main():
    """Write the page and take its pictures."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("error: the browser chromium is needed (Debian, Ubuntu: apt install chromium)")
    page = Path("report.html").absolute()
    write(entries(), page, title="Breast cancer: three ways to learn")
    shoot(browser, page.as_uri(), FOLDER / "report.png", 1200, 1500)
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder, "phone.html")  # a window can't be as narrow as a phone
        frame.write_text(
            "<body style='margin:0'><iframe style='border:0' width=390 height=844 "
            f"src='{page.as_uri()}'></iframe>"
        )
        target = FOLDER / "report_phone.png"
        shoot(browser, frame.as_uri(), target, 500, 844, "--blink-settings=preferredColorScheme=0")
    picture = Image.open(target)
    picture.crop((0, 0, 390, 844)).save(target, optimize=True)


if __name__ == "__main__":
    main()
