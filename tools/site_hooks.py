"""What the site has beyond the pages of docs/: files of the repository, and a list of decisions.

mkdocs calls these functions (``hooks`` in mkdocs.yml).
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
TAKEN = {  # pages of the site that are files beside docs/
    "benchmarks.md": "benchmarks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
TITLE = re.compile(r"^# (?:\d+\. )?(.*)$", re.MULTILINE)
LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)")


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


def _link(link, source):
    """A link of a file beside docs/, as the site has it."""
    target = _inside(Path(source).parent / link)
    for name, taken in TAKEN.items():
        if target == taken:
            return name
    return target.removeprefix("docs/")


def _inside(path):
    return (ROOT / path).resolve().relative_to(ROOT.resolve()).as_posix()
