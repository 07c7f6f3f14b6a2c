"""Chromium without a window, for tests and screenshots of the pages of --html."""

import json
import os
import pathlib
import shutil
import sys
import time

SYSTEM_PYTHON = "/usr/bin/python3"
SKIPPED = 77


def need_selenium():
    """Goes on in the system's Python where only that has Selenium; ends with 77 where nothing has it."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        is_other = os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON)
        if is_other and os.path.exists(SYSTEM_PYTHON):
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        print("skipped: Selenium is missing (Debian: python3-selenium)")
        sys.exit(SKIPPED)
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            print(f"skipped: {program} is missing (Debian: chromium, chromium-driver)")
            sys.exit(SKIPPED)


class Browser:
    """Opens pages; `scheme` is light or dark."""

    def __init__(self, width=1280, height=800, scheme="light", ratio=1):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--hide-scrollbars", "--no-first-run", "--force-color-profile=srgb"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(240)
        self.driver.set_script_timeout(240)
        self.resize(width, height, ratio)
        self.set_scheme(scheme)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def send(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def resize(self, width, height, ratio=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=ratio, mobile=False)

    def set_scheme(self, scheme):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ])

    def open(self, path):
        self.driver.get(pathlib.Path(path).resolve().as_uri())

    def run(self, script, *arguments):
        """The value of an expression or the result of statements that return."""
        return self.driver.execute_script(script if "return" in script else f"return {script}", *arguments)

    def settle(self):
        """Waits for the frames that are asked for."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def wait_for(self, script, seconds=30):
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.02)

    def screenshot(self, path):
        self.settle()
        self.driver.save_screenshot(str(path))

    def console(self):
        """What is worse than a piece of information."""
        return [entry for entry in self.driver.get_log("browser")
                if entry["level"] in ("WARNING", "SEVERE")]

    # ---- mouse and keys ----

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x - 1, y)
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y, count=1):
        self.hover(x, y)
        for number in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=number)
            self.mouse("mouseReleased", x, y, button="left", clickCount=number)
        self.settle()

    def drag(self, x, y, dx, dy, pause=0):
        self.hover(x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + dx * step / 5, y + dy * step / 5, button="left", buttons=1)
            time.sleep(pause)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta, modifiers=0):
        """modifiers: 1 Alt, 8 Shift."""
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=modifiers)
        self.settle()

    def key(self, key, modifiers=0):
        text = key if len(key) == 1 else ""
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, modifiers=modifiers)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)
        self.settle()


def shown(value):
    return json.dumps(value, indent=1)
