"""What the site has beyond the pages of docs/: files of the repository, decisions, formulas.

mkdocs calls these functions (``hooks`` in mkdocs.yml).
"""

import importlib.resources
import re
from html import unescape
from pathlib import Path

import latex2mathml.converter
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
TAKEN = {  # pages of the site that are files beside docs/
    "benchmarks.md": "benchmarks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
TITLE = re.compile(r"^# (?:\d+\. )?(.*)$", re.MULTILINE)
LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
TIGHT = re.compile(r"<mo[^>]*>(&#x0(?:2016|007C|002F);)</mo>")  # bars and slashes
SIGN = re.compile(r"(<mrow>|<mo[^>]*>&#x0(?:0028|005B|002C|003D);</mo>)<mo>&#x02212;</mo>")
NAME = re.compile(r"<mi>([a-z]{2,})</mi>")  # log, cos and so on: they need a space
FONT = "STIXTwoMath-Regular.ttf"  # MathML needs a font that knows how to draw it


def on_config(config):
    """Leave out the pages of the nav that do not exist, and list the decisions."""
    config.nav = list(_existing(config.nav))
    return config


def _existing(nav):
    for item in nav:
        name, target = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        if isinstance(target, list):
            inner = list(_existing(target))
            if inner:
                yield {name: inner}
        elif target == "decisions/":
            yield {name: ["decisions/README.md", *_decisions()]}
        elif target in TAKEN or (ROOT / "docs" / target).exists():
            yield item


def _decisions():
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        title = TITLE.search(path.read_text(encoding="utf-8"))[1]
        yield {f"{int(path.name[:4])}. {title}": f"decisions/{path.name}"}


def on_files(files, config):
    """Add the files beside docs/."""
    for page, source in TAKEN.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = LINK.sub(lambda found, at=source: found[1] + _link(found[2], at), text)
        files.append(File.generated(config, page, content=text))
    font = importlib.resources.files("ziamath") / "fonts" / FONT
    files.append(File.generated(config, f"assets/fonts/{FONT}", content=font.read_bytes()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Let pages of docs/ that name a file beside it lead to its page of the site."""
    folder = Path("docs", page.file.src_uri).parent
    up = "../" * (len(folder.parts) - 1)

    def replaced(found):
        target = _inside(folder / found[2])
        for name, source in TAKEN.items():
            if target == source:
                return found[1] + up + name
        return found[0]

    return markdown if page.file.src_uri in TAKEN else LINK.sub(replaced, markdown)


def on_page_content(html, page, config, files):
    """Write formulas as MathML, which browsers draw themselves: no script, no network."""
    return FORMULA.sub(_mathml, html)


def _mathml(found):
    display = "block" if found[1] == "div" else "inline"
    mathml = latex2mathml.converter.convert(unescape(found[2].strip()), display=display)
    mathml = SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', mathml)
    mathml = NAME.sub(r'<mo lspace="0.1em" rspace="0.15em">\1</mo>', mathml)
    mathml = TIGHT.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', mathml)
    # a formula that is wider than a phone scrolls by itself
    return f'<div class="formula">{mathml}</div>' if display == "block" else mathml


def _link(link, source):
    """A link of a file beside docs/, as the site has it."""
    target = _inside(Path(source).parent / link)
    for name, taken in TAKEN.items():
        if target == taken:
            return name
    return target.removeprefix("docs/")


def _inside(path):
    return (ROOT / path).resolve().relative_to(ROOT.resolve()).as_posix()
