#!/usr/bin/env python3
"""The README's pictures: what profctl found in the quickstart's recording, and its time axis at the finding, as a headless
Chromium shows the report. Run scripts/quickstart.sh first.

    scripts/picture.py [PROF_DIRECTORY]
"""
import base64
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
import browser  # noqa: E402

WIDTH = 1100


def clip(page, path, first, last, more=12):
    """What lies from one element to `more` pixels behind another."""
    top, bottom = page.run(f"[document.querySelector('{first}').getBoundingClientRect().top + scrollY - 12, "
                           f"document.querySelector('{last}').getBoundingClientRect().bottom + scrollY + {more}]")
    shot = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                     clip={"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1})
    path.write_bytes(base64.b64decode(shot["data"]))
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


def main():
    made = sorted((ROOT / "out" / "quickstart").glob("PROF_*"))
    directory = sys.argv[1] if len(sys.argv) > 1 else made[-1]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.html"
        subprocess.run([ROOT / "build" / "bin" / "profctl", "report", directory, "-o", report, "--title", "quickstart"], check=True,
                       stdout=subprocess.DEVNULL)
        page = browser.Browser()
        try:
            page.size(WIDTH, 900)
            page.open(report)
            clip(page, ROOT / "docs" / "picture-report.png", "#head", "#findings .finding")
            page.run("document.querySelector('#time').scrollIntoView()")
            page.run("document.querySelector('#time canvas').focus()")
            for key in ("1", "]", "-", "-"):  # at the finding, then the step behind it and what is around that
                page.key(key)
            clip(page, ROOT / "docs" / "picture-timeline.png", "#time", "#axis", 190)
        finally:
            page.close()


if __name__ == "__main__":
    main()
