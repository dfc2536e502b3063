#!/usr/bin/env python3
"""`profctl report` in a real Chromium: what one clicks, zooms and reads, without a console error and without a request; on a phone,
in the dark, on paper, with hostile names; and the file itself. Without Chromium: skipped."""
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import harness

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "analyze"), str(TESTS / "support")]
import browser  # noqa: E402
from job_sim import Fault, Shape, make  # noqa: E402

PROFCTL = str(harness.PROFCTL)
PAGE = TESTS.parent / "client" / "report" / "page"
SLOW = Fault("slow_compute", rank=5, factor=1.3)
GARBAGE = Fault("gc", rank=2, step=4, ms=40, count=1)


def profctl(*words):
    return subprocess.run([PROFCTL, *map(str, words)], capture_output=True, text=True, check=False)


class ReportCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-report-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.html = self.folder / "report.html"

    def job(self, *faults, **shape):
        make(Shape(**{"ranks": 8, "tp": 4, "steps": 7, "layers": 2, **shape}), list(faults), self.folder / "job")
        return self.folder / "job"

    def edit(self, rank, *statements):
        (path,) = (self.folder / "job").glob(f"*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
        with sqlite3.connect(path) as db:
            for statement in statements:
                db.execute(statement)

    def report(self, *words, code=0):
        result = profctl("report", self.folder / "job", "-o", self.html, *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.html.read_text()


class FileTest(ReportCase):
    def test_the_file(self):
        self.job(SLOW)
        page = self.report()
        self.assertLess(len(page), 2_000_000)
        self.assertEqual(page, self.report("--jobs", "1"))
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertTrue(policy.startswith("default-src 'none'; "), policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotRegex(re.sub(r"<script.*?</script>", "", page, flags=re.S), r'(src|href)="(?!#|data:,")')
        # Without any script: sentence, findings, evidence, tables.
        text = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
        self.assertRegex(text, r"<h1>A step takes \d")
        self.assertRegex(text, r"Rank 5 \(host1, device 1\) is late")
        self.assertIn("FlashAttentionScore", text)
        self.assertIn("Who waits for whom", text)
        own = max(re.findall(r"<script>(.*?)</script>", page, flags=re.S)[1:], key=len)
        self.assertLessEqual(len(own.encode()), 40_000)
        self.assertNotIn("innerHTML", own)

    def test_the_library_is_the_one_that_the_lock_file_names(self):
        lock = json.loads((PAGE / "uplot" / "package-lock.json").read_text())
        version = lock["packages"]["node_modules/uplot"]["version"]
        self.assertIn(f"(v{version})", (PAGE / "uplot" / "uPlot.iife.min.js").read_text()[:100])
        self.assertIn("MIT", (PAGE / "uplot" / "LICENSE").read_text())

    def test_what_the_build_takes_out_of_the_script_is_in_no_text(self):
        """Spaces, by rules that do not know a text from code: every text of the page must come through as it is."""
        def texts(script):
            whole = re.findall(r'"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`', script)
            return [re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "${}", text) for text in whole]

        self.job()
        page = self.report()
        own = max(re.findall(r"<script>(.*?)</script>", page, flags=re.S)[1:], key=len)
        order = re.search(r"page_files page\.css ([a-z. ]+)\)", (PAGE.parent / "CMakeLists.txt").read_text())[1].split()
        sources = [re.sub(r"^ *//.*$", "", (PAGE / name).read_text(), flags=re.M) for name in order]
        self.assertEqual(texts(own)[1:], [text for source in sources for text in texts(source)])  # the first is "use strict"

    def test_beside_what_was_before(self):
        self.job(SLOW)
        base = self.folder / "base"
        make(Shape(ranks=8, tp=4, steps=7, layers=2), [], base)
        page = re.sub(r"<(script|style).*?</\1>", "", self.report("--base", base), flags=re.S)
        part = page[page.index('id="compared"'):]
        part = part[:part.index("</section>")]
        self.assertRegex(part, r"A step takes [\d.]+ .s where it took [\d.]+ .s: it has become slower")
        # The falls add up to the difference.
        falls = part[part.index("Where it comes from"):part.index("</table>", part.index("Where it comes from"))]
        numbers = [float(text) for text in re.findall(r'<td class="n">([-+\d.]+)</td>', falls)]
        self.assertAlmostEqual(sum(numbers[:-1]), numbers[-1], delta=0.05)
        self.assertIn("FlashAttentionScore", part)
        self.assertIn('href="#compared"', page)
        self.assertNotIn('href="#compared"', self.report())
        self.assertEqual(profctl("report", self.folder / "job", "-o", self.html, "--base", self.folder / "nobody").returncode, 3)

    def test_exit_codes(self):
        self.job(SLOW)
        self.assertEqual(profctl("report", "-o", self.html).returncode, 2)
        self.assertEqual(profctl("report", self.folder / "job").returncode, 2)
        for words in (["--max-size", "5"], ["--max-size", "0M"], ["--jobs", "0"], ["--rules", "nobody"]):
            self.assertEqual(profctl("report", self.folder / "job", "-o", self.html, *words).returncode, 2, words)
        (self.folder / "empty").mkdir()
        self.assertEqual(profctl("report", self.folder / "empty", "-o", self.html).returncode, 3)
        self.assertFalse(self.html.exists())
        nowhere = profctl("report", self.folder / "job", "-o", self.folder / "nowhere" / "r.html")
        self.assertEqual(nowhere.returncode, harness.NOT_FOUND, nowhere)
        self.assertIn("nowhere/: there is no such folder: create it first, or name another", nowhere.stderr)
        told = profctl("report", self.folder / "job", "-o", self.html, "--json", "--title", "night run")
        self.assertEqual(json.loads(told.stdout)["bytes"], self.html.stat().st_size)
        self.assertIn("<title>night run</title>", self.html.read_text())
        self.assertEqual(profctl("report", self.folder / "job", "-o", self.html, "--max-size", "1M").returncode, 0)
        self.assertLess(self.html.stat().st_size, 1_000_000)


@unittest.skipUnless(browser.program(), "there is no Chromium")
class PageTest(ReportCase):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)
        self.browser.size(1440, 900)

    def open(self, *words, code=0):
        self.report(*words, code=code)
        self.browser.open(self.html)
        self.assert_calm()

    def assert_calm(self):
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.requests, [f"file://{self.html}"])

    def run_(self, script):
        return self.browser.run(script)

    def text(self, selector):
        return self.run_(f"document.querySelector({json.dumps(selector)}).textContent")

    def ink(self, selector):
        """How many colours a canvas shows."""
        return self.run_(f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
          const data = new Uint32Array(one.getContext("2d").getImageData(0, 0, one.width, one.height).data.buffer);
          return new Set(data).size; }})()""")

    def test_what_one_clicks(self):
        self.job(SLOW, GARBAGE)
        self.open()
        self.assertRegex(self.text("h1"), r"A step takes .* is possible")
        self.assertGreater(self.ink("#heat"), 10)
        self.assertGreater(self.ink("#axis"), 10)
        self.assertTrue(self.run_("document.querySelector('#step-chart canvas') !== null"))
        # A finding unfolds, and leads to the time axis.
        self.browser.click("details.finding summary")
        self.assertTrue(self.run_("document.querySelector('details.finding').open"))
        before = self.text("#axis-status")
        self.browser.click("details.finding[open] button.go")
        self.assertNotEqual(self.text("#axis-status"), before)
        # Keys and the wheel zoom; 0 shows all.
        self.browser.click("#axis-all")
        whole = self.text("#axis-status")
        self.run_("document.getElementById('axis').focus()")
        self.browser.key("+", "+")
        self.assertNotEqual(self.text("#axis-status"), whole)
        self.browser.key("0", "0")
        self.assertEqual(self.text("#axis-status"), whole)
        at = self.browser.middle("#axis", 0.6, 0.5)
        self.browser.mouse("mouseWheel", *at, deltaX=0, deltaY=-120, modifiers=2)
        self.browser.drawn()
        self.assertNotEqual(self.text("#axis-status").split(" · ")[0], whole.split(" · ")[0])
        # A cell of the heat map is read, and opens its step.
        self.browser.click("#heat", 0.5, 0.4)
        self.assertRegex(self.text("#heat-status"), r"rank \d \(host\d, device \d\), step \d: late [\d.]+ ms")
        self.browser.click("#heat-measures button[data-id=compute]")
        self.assertIn("kernels, ms of a step", self.text("#heat-what"))
        # The chart of steps says what it shows.
        self.browser.mouse("mouseMoved", *self.browser.middle("#step-chart .u-over", 0.4, 0.5))
        self.browser.drawn()
        self.assertRegex(self.text("#step-chart figcaption"), r"step \d: [\d.]+ ms")
        # Every rank can be chosen by its number.
        self.assertEqual(self.run_("[...document.querySelectorAll('#axis-rank option')].map(one => one.textContent)"),
                         [str(rank) for rank in range(8)])
        # Tables sort.
        self.browser.click(".matrix th[scope=col]")
        self.assertEqual(self.run_("document.querySelectorAll('th[aria-sort]').length"), 1)
        self.assert_calm()

    def test_who_is_late_is_not_who_comes_last(self):
        """Rank 5 holds up ranks 4 to 7, and by them all of their partners."""
        self.job(SLOW)
        self.open()
        waits = self.run_("""(() => { const table = document.querySelector(".matrix.small");
          const sums = {}; const heads = [...table.tHead.rows[0].cells].map(one => one.textContent);
          for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => {
            if (i) sums[heads[i]] = (sums[heads[i]] ?? 0) + (+cell.textContent || 0); });
          return sums; })()""")
        self.assertGreater(waits["5"], 0.8 * sum(waits.values()), waits)

    def test_what_to_do_first_is_what_costs_most(self):
        self.job(Fault("slow_compute", rank=5, factor=1.05), GARBAGE)
        self.open()
        self.assertIn("gc.freeze()", self.text(".first"))

    def faintest(self):
        """The least contrast of a number in a matrix to what is behind it (WCAG 2's ratio)."""
        return self.run_("""(() => {
          const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(value => value / 255)
            .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          return Math.min(...[...document.querySelectorAll(".matrix td.n")].map(cell => { const style = getComputedStyle(cell);
            const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); })); })()""")

    def test_light_dark_phone_and_paper(self):
        self.job(SLOW, GARBAGE)
        make(Shape(ranks=8, tp=4, steps=7, layers=2), [], self.folder / "base")
        self.report("--base", self.folder / "base")
        paper = {}
        for width in (1440, 768, 360):
            for dark in (False, True):
                self.browser.size(width, 900, dark)
                self.browser.open(self.html)
                self.assert_calm()
                self.assertLessEqual(self.run_("document.documentElement.scrollWidth"), width, width)
                self.assertGreaterEqual(self.faintest(), 3.8, dark)
                paper[dark] = self.run_("getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(paper[False], paper[True])
        self.browser.click("#theme")
        self.assertEqual(self.run_("getComputedStyle(document.body).backgroundColor"), paper[False])
        self.assertGreater(len(self.browser.pdf()), 20_000)
        self.assert_calm()

    def test_hostile_names(self):
        self.job(SLOW)
        for rank in range(8):
            self.edit(rank, "UPDATE STRING_IDS SET value = '</script><script>alert(1)</script><img src=x onerror=alert(2)>' || value "
                            "WHERE value LIKE '%Attention%' OR value LIKE 'hcom%'",
                      "UPDATE HOST_INFO SET hostName = '\"><svg onload=alert(3)>' || hostName")
        self.open("--title", "</title><script>alert(4)</script>")
        self.assertEqual(self.run_("document.querySelectorAll('img, [onload], [onerror]').length"), 0)
        self.assertEqual(self.run_("document.title"), "</title><script>alert(4)</script>")
        self.browser.click("details.finding summary")
        self.browser.click("details.finding[open] button.go")
        self.assert_calm()

    def test_little_data(self):
        """One rank; no steps; nothing found."""
        self.job(ranks=2, tp=2)
        self.open()
        self.assertIn("No findings", self.text("#findings h2"))
        for rank in range(2):
            self.edit(rank, "DELETE FROM STEP_TIME")
        self.open()
        self.assertIn("no steps are known", self.text("header"))
        shutil.rmtree(next((self.folder / "job").glob("host*_1001_*")))
        self.open()
        self.assertIn("One rank was recorded", self.text("#groups"))
        self.edit(0, "DELETE FROM COMMUNICATION_OP", "DELETE FROM CANN_API", "DELETE FROM PYTORCH_API")
        self.open()


if __name__ == "__main__":
    unittest.main()
