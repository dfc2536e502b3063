#!/usr/bin/env python3
"""profctl ui: who may ask for its page, what the page shows and does, in a real browser where there is one."""
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import browser
import harness

NASTY = "</td><img src=x onerror=alert(1)>"


class UiCase(harness.ProfdTest):
    def setUp(self):
        self.daemon = self.profd(sim="devices: 2\nchip: 910B\n", config="live: {hz: 10}\n")

    def ui(self, user=None):
        """profctl ui; its address is in self.address."""
        self.page = subprocess.Popen([str(harness.PROFCTL), "ui"], env=self.daemon.environment, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=user, group=user,
                                     extra_groups=[] if user else None)
        self.ends_with_the_test(self.page)
        self.addCleanup(self.page.stderr.close)
        self.address = self.page.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.secret = parts.port, parts.path.strip("/")
        return self.page

    def ask(self, path, method="GET", body=None, headers=None, secret=None, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            headers = dict(headers or {}, Host=f"127.0.0.1:{self.port}" if host is None else host)
            if body is not None:
                headers.setdefault("Content-Type", "application/json")
                body = json.dumps(body)
            connection.request(method, f"/{self.secret if secret is None else secret}/{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def json(self, *words, **more):
        status, body, _ = self.ask(*words, **more)
        self.assertEqual(status, 200, body)
        return json.loads(body)


class WhoMayTest(UiCase):
    def test_only_who_has_the_address(self):
        self.ui()
        self.assertRegex(self.address, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{64}/$")
        self.assertIn("ssh -L", "".join(self.page.stdout.readline() for _ in range(4)))
        self.assertEqual(self.ask("")[0], 200)
        wrong = ["", self.secret[:-1], self.secret + "0", self.secret[:-1] + ("0" if self.secret[-1] != "0" else "1"), "x" * 5000]
        for secret in wrong:
            for method, path in (("GET", ""), ("GET", "api/sessions"), ("POST", "api/stop"), ("GET", "ui.js")):
                status, body, _ = self.ask(path, method, {} if method == "POST" else None, secret=secret)
                self.assertEqual(status, 403, (secret, body))
        # A name that somebody's DNS made point here; ssh's port is another than ours.
        for host, expected in (("evil.example", 421), (f"evil.example:{self.port}", 421), ("127.0.0.1.evil.example", 421), ("", 421),
                               (f"localhost:{self.port}", 200), ("localhost:8080", 200), ("[::1]:8080", 200)):
            self.assertEqual(self.ask("", host=host)[0], expected, host)

    def test_nothing_is_done_by_another_page(self):
        self.ui()
        session = self.daemon.begin("--collect", "host-sys-mem")["session"]
        stop = {"session": session}
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Content-Type": "text/plain"},
                        {"Content-Type": "application/x-www-form-urlencoded"}):
            self.assertIn(self.ask("api/stop", "POST", stop, headers)[0], (403, 415), headers)
        self.assertEqual(self.ask("api/stop")[0], 404)  # not by GET
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertEqual(self.ask("api/stop", method)[0], 405, method)
        self.assertEqual(self.daemon.status(session)["state"], "running")
        self.assertEqual(self.ask("api/stop", "POST", stop, {"Origin": f"http://127.0.0.1:{self.port}"})[0], 200)
        self.assertEqual(self.daemon.status(session)["state"], "sealed")

    def test_what_answers_say_to_the_browser(self):
        self.ui()
        for path in ("", "ui.js", "ui.css", "api/sessions", "nothing"):
            _, _, headers = self.ask(path)
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'"), path)
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual((headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["Cache-Control"]),
                             ("nosniff", "no-referrer", "no-store"), path)
        script, markup = (self.ask(name)[1].decode() for name in ("ui.js", ""))
        self.assertLessEqual(len(script), 16_000)
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            self.assertNotIn(word, script)
        self.assertNotRegex(markup, r"<script(?! src=\"ui\.js\")|style=|\son\w+=")
        self.assertNotRegex(script + markup, r"https?://(?!www\.w3\.org)")

    def test_mistakes_are_answered(self):
        self.ui()
        for path, status in (("api/nothing", 404), ("report/nobody", 404), ("timeline/nobody", 404), ("api/findings/nobody", 404),
                             ("../../etc/passwd", 404), ("report/%2e%2e", 404)):
            self.assertEqual(self.ask(path)[0], status, path)
        for body in ({"preset": "nothing"}, {"preset": 7}, {"preset": "host", "duration": "long"}, {"preset": "host", "name": "a\nb"},
                     {"preset": "host", "devices": "x"}, {"preset": "host", "pids": "-1"}, ["host"], "host"):
            status, said, _ = self.ask("api/start", "POST", body)
            self.assertEqual(status, 400, (body, said))
            self.assertTrue(json.loads(said)["error"], body)
        self.assertEqual(self.daemon.ctl("list", "--json").json["sessions"], [])
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        self.addCleanup(connection.close)
        connection.putrequest("POST", f"/{self.secret}/api/start")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "200000")
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 400)

    def test_what_is_no_request(self):
        self.ui()
        for text, answer in ((b"nonsense\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 20_000, b"400"),
                             (b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
                             (f"GET /{self.secret} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(), b"308")):
            with socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE_S) as connection:
                connection.sendall(text)
                self.assertEqual(connection.recv(1000).split(b" ")[1], answer, text[:60])
        # Two at once, on one connection.
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE_S) as connection:
            connection.sendall(f"GET /{self.secret}/ui.css HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 2)
            seen = b""
            while seen.count(b"HTTP/1.1 200 OK") < 2:
                piece = connection.recv(1 << 16)
                self.assertTrue(piece, seen)
                seen += piece

    def test_it_ends_with_an_interrupt_and_needs_a_profd(self):
        page = self.ui()
        page.send_signal(signal.SIGINT)
        self.assertEqual(page.wait(harness.PATIENCE_S), 0)
        self.assertEqual(self.daemon.ctl("ui", "--port", "65536").code, harness.USAGE)
        self.assertEqual(self.daemon.ctl("--socket", "/nonexistent/socket", "ui").code, harness.UNAVAILABLE)

    def test_it_outlives_profd(self):
        self.ui()
        self.assertEqual(self.json("api/sessions")["sessions"], [])
        self.daemon.stop()
        self.assertEqual(self.ask("api/sessions")[0], 503)
        self.daemon.start()
        self.assertEqual(self.json("api/sessions")["sessions"], [])

    @harness.needs_root
    def test_it_may_what_its_user_may(self):
        mine = self.daemon.begin("--collect", "host-sys-mem")["session"]
        self.ui(user=65534)
        self.assertEqual(self.json("api/sessions")["sessions"], [])
        self.assertEqual(self.ask("api/stop", "POST", {"session": mine})[0], 404)
        self.assertEqual(self.ask("api/start", "POST", {"preset": "node", "devices": "0"})[0], 403)
        self.assertEqual(self.daemon.status(mine)["state"], "running")


@unittest.skipUnless(browser.program(), "there is no Chromium")
class PageTest(UiCase):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)
        self.browser.size(1280, 800)

    def open(self):
        self.ui()
        self.browser.go(self.address)
        self.assert_calm()

    def assert_calm(self):
        self.assertEqual(self.browser.problems, [])
        for request in self.browser.requests:
            self.assertTrue(request.startswith((self.address, "data:,")), request)

    def text(self, selector):
        return self.browser.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def wait_for(self, selector, pattern):
        try:
            return harness.wait_until(lambda: re.search(pattern, self.text(selector)), f"{pattern} in {selector}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.text(selector)!r}; {self.browser.problems}") from None

    def test_a_session_from_start_to_timeline_by_mouse(self):
        self.open()
        self.wait_for("#live tbody", "910B3")
        self.assertEqual(self.browser.run("document.querySelectorAll('#live tbody tr').length"), 2)
        self.assertEqual(self.browser.run("document.getElementById('duration').value"), "10s")
        # So long that a slow browser finds it running.
        self.browser.run("document.getElementById('preset').value = 'node'; document.getElementById('name').value = 'by mouse';"
                         "document.getElementById('duration').value = '5m'")
        self.browser.click("#go")
        self.wait_for("#said", "has been started")
        (session,) = self.daemon.ctl("list", "--json").json["sessions"]
        self.assertEqual((session["name"], session["duration_s"], session["devices"]), ("by mouse", 300, [0, 1]))
        self.daemon.let_run(session, 1)
        row = f"[data-session='{session['session']}']"
        self.wait_for(row, "running")
        self.browser.click(f"{row} button")
        self.wait_for("#said", "has been stopped")
        self.wait_for(row, "sealed")
        self.assertEqual(self.daemon.status(session["session"])["state"], "sealed")
        self.browser.click(f"{row} .findings button")
        self.wait_for(f"{row} .findings", "[a-z]{4}")
        self.assert_calm()
        status, body, headers = self.ask(f"timeline/{session['session']}")
        self.assertEqual(status, 200, body)
        self.assertIn(".json.gz", headers["Content-Disposition"])
        self.assertIn(b"HBM", gzip.decompress(body))

    def test_by_keyboard(self):
        self.open()
        self.browser.run("document.getElementById('duration').value = '5m'; document.getElementById('preset').value = 'host';"
                         "document.getElementById('preset').focus()")
        for _ in range(4):  # duration, devices, processes, name
            self.browser.press("Tab")
        self.browser.call("Input.insertText", text=NASTY)
        self.browser.press("Enter")
        self.wait_for("#said", "has been started")
        (session,) = self.daemon.ctl("list", "--json").json["sessions"]
        self.assertEqual(session["name"], NASTY)
        row = f"[data-session='{session['session']}']"
        self.wait_for(row, "running")
        # A name is text, whatever it looks like; whoever stands on a button keeps it when the list is drawn anew.
        self.assertIn(NASTY, self.text(row))
        self.assertEqual(self.browser.run("document.querySelectorAll('main img').length"), 0)
        self.browser.run(f"document.querySelector(\"{row} button\").focus(); document.querySelector(\"{row}\").dataset.old = 1")
        harness.wait_until(lambda: not self.browser.run(f"document.querySelector(\"{row}\").dataset.old"), "a new drawing")
        self.assertEqual(self.browser.run("document.activeElement.textContent"), "Stop")
        self.browser.press("Enter")
        self.wait_for(row, "sealed")
        self.assert_calm()

    def test_a_mistake_is_said(self):
        self.open()
        self.browser.run("document.getElementById('duration').value = 'long'")
        self.browser.click("#go")
        self.wait_for("#said", "'long'")
        self.browser.problems.clear()  # the browser notes that an answer was 400
        self.assertEqual(self.daemon.ctl("list", "--json").json["sessions"], [])

    def recorded(self):
        """The session of a job with steps and kernels."""
        job = subprocess.Popen([str(harness.RUN), "record", "--collect", "agent-step,agent-kernel,agent-api", "--", sys.executable,
                                str(harness.WORKLOAD), "60"], env=self.daemon.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ends_with_the_test(job)

        def running():
            for one in self.daemon.ctl("list", "--json").json["sessions"]:
                kinds = {kind["kind"]: kind["records"] for kind in self.daemon.status(one["session"])["kinds"]}
                if one["state"] == "running" and kinds.get("agent-kernel", 0) > 200 and kinds.get("agent-step", 0) > 20:
                    return one
            return None

        session = harness.wait_until(running, "kernels and steps")
        os.kill(session["pids"][0], signal.SIGTERM)
        job.wait(harness.PATIENCE_S)
        return session["session"]

    @unittest.skipUnless(harness.PLAIN_BUILD == harness.BUILD, "the agent of a sanitizer's build goes into no program")
    def test_reports_of_a_real_job_open_and_are_compared(self):
        cann = pathlib.Path(tempfile.mkdtemp(prefix="profd-cann-"))
        self.addCleanup(shutil.rmtree, cann)
        (cann / "lib64").mkdir()
        for name in ("libmspti.so", "libprofapi.so"):
            (cann / "lib64" / name).symlink_to(harness.BUILD / "sim" / name)
        self.daemon = self.profd(sim="devices: 2\nchip: 910B\nscenario: {step_ms: 20}\nmspti: {auto: true}\n",
                                 config="live: {hz: 10}\n", env={"ASCEND_HOME_PATH": str(cann)})
        earlier, newest = self.recorded(), self.recorded()
        self.open()
        self.wait_for(f"[data-session='{earlier}']", "sealed")
        self.browser.click(f"[data-session='{earlier}'] .open button")
        self.wait_for(f"[data-session='{earlier}'] .open button[aria-pressed=true]", "Is the base")
        self.wait_for(f"[data-session='{newest}'] .open", "Compare with base")
        links = self.browser.run(f"[...document.querySelectorAll(\"[data-session='{newest}'] .open a\")].map(one => one.href)")
        self.assertEqual(links, [f"{self.address}{path}" for path in
                                 (f"report/{newest}", f"timeline/{newest}", f"report/{newest}/{earlier}")])
        status, _, headers = self.ask(f"report/{newest}")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Security-Policy"].startswith("sandbox allow-scripts"))
        for path, compared in ((f"report/{newest}", False), (f"report/{newest}/{earlier}", True)):
            self.browser.go(self.address + path)
            self.assertEqual(self.browser.problems, [])
            self.assertIn("step", self.text("main"))
            self.assertEqual("A step, ms, mean of ranks" in self.text("main"), compared, path)
        self.assertEqual(self.ask(f"report/{newest}/nobody")[0], 404)

    def test_light_dark_and_narrow(self):
        self.daemon.end(self.daemon.begin("--collect", "hbm", "--devices", "all", "--name", "x" * 120)["session"])
        self.ui()
        for width in (1280, 420):
            for dark in (False, True):
                self.browser.size(width, 800, dark)
                self.browser.go(self.address)
                self.assert_calm()
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main()
