"""The page in a browser: it is drawn, without errors, on all screens and on paper."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from report_entries import EVIL, classifier, history, regressor, result, rows
from skimlearn.estimators.path import Path
from skimlearn.report import Entry, ErrorRecord, page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=10000",  # of the page's clock, which does not wait
    "--host-resolver-rules=MAP * ~NOTFOUND",  # there is no network
]
WHITE, BLACK = "rgb(255, 255, 255)", "rgb(17, 21, 27)"

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

# Written to the page when it has been drawn, and read from the text of its elements.
LOOK = """<script>
const waiting = setInterval(() => {
  const seen = document.documentElement.dataset;
  if (seen.drawn !== "yes") return;
  clearInterval(waiting);
  const charts = [...document.querySelectorAll(".chart")];
  const drawn = charts.filter((c) => c.querySelector(".scatterlayer .trace"));
  seen.charts = drawn.length + "/" + charts.length;
  seen.hacked = String(window.hacked);
  seen.ground = getComputedStyle(document.body).backgroundColor;
  seen.over = document.documentElement.scrollWidth - innerWidth;
  ACTION
  if (parent !== window) parent.postMessage(Object.assign({}, seen), "*");
}, 20);
</script></body>"""


@pytest.fixture(scope="module")
def html():
    """Two classifiers and all that can be known of them; then a regressor."""
    model = classifier((EVIL, "ham"), loss="log")
    X, y = rows(model)
    other = classifier((EVIL, "ham"), loss="hinge", seed=1, histories=[history(3.0)])
    path = Path(np.array([1e-1, 1e-3]), np.vstack([model.coef_] * 2), np.zeros(2), [result()] * 2)
    errors = [ErrorRecord(1.0, 0.1, 100, 0.25), ErrorRecord(2.0, 0.2, 200, 0.125)]
    first = Entry(
        model, name=EVIL, X=X, y=y, X_train=X, y_train=y, feature_names=[EVIL, "b", "c" * 200],
        regularization_path=path, errors=errors, command="skim fit " + "long " * 60,
    )  # fmt: skip
    line = regressor()
    A, t = rows(line)
    third = Entry(line, name="a line", X=A, y=t)
    return page([first, replace(first, model=other, name="the other"), third], title=EVIL)


def run(folder, html, *flags, address="", action=""):
    """Have the page looked at; return the text of all elements, and what the console said."""
    file = folder / "page.html"
    file.write_text(html.replace("</body>", LOOK.replace("ACTION", action)), encoding="utf-8")
    return browse(folder, f"{file.as_uri()}{address}", *flags)


def browse(folder, address, *flags):
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'user'}", *flags, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def seen(text, name):
    found = re.search(rf'<html[^>]* data-{name}="([^"]*)"', text)
    assert found, text[:500]
    return found.group(1)


def axis_titles(text):
    """The titles of the axes of the first chart."""
    first = text[text.index('id="chart-convergence"') :]
    return [re.search(rf'class="{side}title"[^>]*>(.*?)</text>', first)[1] for side in "xy"]


def test_it_is_drawn_without_errors_and_axes_switch(html, tmp_path):
    text, errors = run(
        tmp_path,
        html,
        "--dump-dom",
        "--window-size=1200,900",
        address="#x=epochs,y=objective,logy=0",
    )
    assert errors == []
    assert seen(text, "drawn") == "yes"
    assert seen(text, "hacked") == "undefined"
    drawn, wanted = seen(text, "charts").split("/")
    assert drawn == wanted == "6"  # convergence, margins, path, ROC, calibration, residuals
    assert seen(text, "ground") == WHITE
    assert int(seen(text, "over")) <= 0
    assert axis_titles(text) == ["epochs", "objective"]


def test_axes_switch_by_a_click_and_the_address_follows(html, tmp_path):
    action = (
        'document.querySelector("input[value=seconds]").click();'
        'document.querySelector("input[value=error]").click();'
        'document.getElementById("logx").click(); seen.address = location.hash;'
    )
    text, errors = run(tmp_path, html, "--dump-dom", action=action)
    assert errors == []
    assert axis_titles(text) == ["seconds", "error on other rows"]
    assert seen(text, "address") == "#x=seconds,y=error,logx=1,logy=1"


def test_an_address_that_means_nothing_changes_nothing(html, tmp_path):
    text, errors = run(tmp_path, html, "--dump-dom", address="#x=__proto__,y='],logx,z=1,&&=")
    assert errors == []
    assert axis_titles(text) == ["entries read to learn", "gap / objective, certified"]


def test_a_phone_in_the_dark(html, tmp_path):
    (tmp_path / "phone.html").write_text(
        "<!doctype html><html><body><iframe src='page.html' width=360 height=700></iframe><script>"
        "const seen = document.documentElement.dataset;"
        "addEventListener('message', (e) => Object.assign(seen, e.data))"
        "</script></body></html>"
    )
    (tmp_path / "page.html").write_text(
        html.replace("</body>", LOOK.replace("ACTION", "")), encoding="utf-8"
    )
    text, errors = browse(
        tmp_path, (tmp_path / "phone.html").as_uri(), "--dump-dom",
        "--blink-settings=preferredColorScheme=0",
    )  # fmt: skip
    assert errors == []
    assert seen(text, "ground") == BLACK
    assert int(seen(text, "over")) <= 0  # nothing is wider than the screen
    assert seen(text, "charts") == "6/6"


def test_it_prints_on_white_paper(html, tmp_path):
    target = tmp_path / "page.pdf"
    run(
        tmp_path, html, f"--print-to-pdf={target}", "--no-pdf-header-footer",
        "--blink-settings=preferredColorScheme=0",
    )  # fmt: skip
    content = target.read_bytes()
    pages = re.findall(rb"/Type /Page\b", content)
    assert content.startswith(b"%PDF")
    assert 3 <= len(pages) <= 12


def test_a_picture_of_it_is_not_empty(html, tmp_path):
    from PIL import Image

    target = tmp_path / "page.png"
    run(tmp_path, html, f"--screenshot={target}", "--window-size=1200,1500")
    picture = np.asarray(Image.open(target).convert("RGB"))
    assert picture.shape == (1500, 1200, 3)
    colours = {tuple(c) for c in picture[::3, ::3].reshape(-1, 3).tolist()}
    assert {(255, 255, 255), (35, 97, 196), (209, 80, 26)} <= colours  # ground, first, second
