"""A headless Chromium, driven through its DevTools protocol over a pipe; nothing but the standard library."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds for an answer


def program():
    """None: there is no Chromium."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One page. `problems` has what its console and its policy complained of, `requests` what it asked for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="profd-browser-")
        here, to = os.pipe()
        back, there = os.pipe()
        # The protocol is at the descriptors 3 and 4 of the browser.
        command = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", str(here), str(there), program(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--disable-background-networking", "--disable-component-update", "--no-first-run",
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(here, there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(here)
        os.close(there)
        self.to, self.back, self.buffer, self.number, self.session = to, back, b"", 0, None
        self.problems, self.requests = [], []
        (target,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"][:1]
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise AssertionError("the browser has ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, event, told):
        if event == "Runtime.exceptionThrown":
            self.problems.append(told["exceptionDetails"].get("exception", {}).get("description", told["exceptionDetails"]["text"]))
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(str([one.get("value", one.get("description")) for one in told["args"]]))
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, path):
        self.go(f"file://{path}")

    def go(self, url):
        self.problems, self.requests = [], []
        self.call("Page.navigate", url=url)
        self.run("""new Promise(done => {
          const ready = () => document.documentElement.dataset.ready || document.getElementById("broken")?.hidden === false;
          const look = () => document.readyState === "complete" && ready() ? requestAnimationFrame(() => done()) : requestAnimationFrame(look);
          look(); })""")

    def run(self, script):
        """The value of a script, a promise's when it is kept."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{script}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def drawn(self):
        """What has been asked for is on the screen."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def middle(self, selector, x=0.5, y=0.5):
        box = self.run(f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
          one.scrollIntoView({{block: "center", behavior: "instant"}}); const box = one.getBoundingClientRect();
          return [box.left, box.top, box.width, box.height]; }})()""")
        return box[0] + x * box[2], box[1] + y * box[3]

    def click(self, selector, x=0.5, y=0.5):
        at = self.middle(selector, x, y)
        self.mouse("mouseMoved", *at)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *at, button="left", clickCount=1)
        self.drawn()

    def key(self, name, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **more)
        self.drawn()

    def press(self, name):
        """A key that has a meaning to the browser itself."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r")}[name]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))
        self.drawn()

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
