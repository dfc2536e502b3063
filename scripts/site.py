#!/usr/bin/env python3
"""Makes a static site of the README and docs/, from the same Markdown: needs Debian's cmark-gfm.

    scripts/site.py [FOLDER]        default out/site; begin at index.html
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {ROOT / "README.md": "index.html", ROOT / "CHANGELOG.md": "changes.html", ROOT / "CONTRIBUTING.md": "contributing.html",
         ROOT / "SECURITY.md": "report.html",
         **{page: f"docs/{page.stem}.html" for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "README.md"}}
STYLE = """body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 sans-serif;color:#1a202c;background:#fff}
nav{border-bottom:1px solid #cbd5e0;padding-bottom:.5rem}table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #cbd5e0;padding:.3rem .6rem;text-align:left;vertical-align:top}img{max-width:100%}
pre{background:#f7fafc;border:1px solid #e2e8f0;padding:.7rem;overflow-x:auto}code{font-size:.9em}
@media(prefers-color-scheme:dark){body{background:#1a202c;color:#e2e8f0}pre{background:#2d3748;border-color:#4a5568}a{color:#90cdf4}}"""


def anchor(heading):
    text = html.unescape(re.sub(r"<[^>]*>", "", heading)).lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def link(page, up, target):
    """Pages become pages; what is no page lies in the sources, which a site has not."""
    path, _, place = target.partition("#")
    if not path or re.match(r"^\w+:", target):
        return target
    other = (page.parent / path).resolve()
    if other in PAGES:
        return up + PAGES[other] + (f"#{place}" if place else "")
    return target if other.suffix in (".png", ".svg") else None


def made(page):
    up = "../" * PAGES[page].count("/")
    body = subprocess.run(["cmark-gfm", "-e", "table", page], capture_output=True, text=True, check=True).stdout
    body = re.sub(r"<(h[1-6])>(.*?)</\1>", lambda found: f'<{found[1]} id="{anchor(found[2])}">{found[2]}</{found[1]}>', body)

    def linked(found):
        target = link(page, up, html.unescape(found[1]))
        return f'<a href="{html.escape(target)}">{found[2]}</a>' if target else found[2]

    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', linked, body, flags=re.S)
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body)
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title[1] if title else page.stem}</title><style>{STYLE}</style>"
            f'<nav><a href="{up}index.html">profd</a> · <a href="{up}docs/slow-job.html">my job is slow</a> · '
            f'<a href="{up}docs/profctl.html">profctl</a> · <a href="{up}docs/troubleshooting.html">troubleshooting</a> · '
            f'<a href="{up}docs/glossary.html">glossary</a></nav>{body}</html>')


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "site")
    if not shutil.which("cmark-gfm"):
        sys.exit("site.py: cmark-gfm is not installed: apt-get install cmark-gfm")
    (out / "docs").mkdir(parents=True, exist_ok=True)
    for page, name in PAGES.items():
        (out / name).write_text(made(page))
    for picture in [*(ROOT / "docs").glob("*.png"), *(ROOT / "docs").glob("*.svg")]:
        shutil.copy(picture, out / "docs")
    print(f"{out / 'index.html'}: {len(PAGES)} pages")


if __name__ == "__main__":
    main()
