"""A Chromium without a window, and what tests of the page need of it. Needs Debian's python3-selenium and chromium."""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

NOT_INSTALLED = 77
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

WAIT = 60  # seconds; the machine may be busy
PICTURES = os.environ.get("LONGHAUL_PICTURES")  # a folder for screenshots


def need_browser():
    """Ends the program with status 77 and a line if a test of the page cannot run here."""
    if webdriver is None or not CHROMIUM or not DRIVER:
        print("skipped: the tests of the page need chromium, chromium-driver and python3-selenium of Debian")
        sys.exit(NOT_INSTALLED)


class Page:
    """One window of a browser with a profile of its own."""

    def __init__(self, width=1280, height=860):
        self.profile = tempfile.mkdtemp(prefix="longhaul-page-")
        self.downloads = pathlib.Path(self.profile, "downloads")
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", f"--user-data-dir={self.profile}",
                         f"--window-size={width},{height}", "--no-first-run", "--disable-background-networking"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_script_timeout(WAIT)
        self.resize(width, height)

    def media(self, feature, value):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": feature, "value": value}]})

    def dark(self, yes):
        self.media("prefers-color-scheme", "dark" if yes else "light")

    def resize(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, url):
        self.driver.get(url)
        self.until(lambda: self.run("return document.querySelector('main').children.length > 0"), "the page shows something")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.until(lambda: (self.all(selector) or [None])[0], selector)

    def text(self, selector):
        try:
            return " ".join(node.text for node in self.all(selector))
        except StaleElementReferenceException:
            return ""

    def until(self, condition, what, seconds=WAIT):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                found = condition()
            except StaleElementReferenceException:
                found = None
            if found:
                return found
            time.sleep(0.05)
        self.picture("failed")
        raise AssertionError(f"waited {seconds} s in vain: {what}; the page says: {self.text('body')[:1500]}")

    def click(self, selector):
        """A click by a person: on an element that is visible and drawn only once it stays."""
        def clicked():
            node = self.one(selector)
            self.run("arguments[0].scrollIntoView({block: 'nearest'})", node)
            node.click()
            return True
        self.until(clicked, f"click on {selector}")

    def button(self, name, within="body"):
        """Clicks the button with this text or label."""
        self.click_node(lambda: next((node for node in self.all(f"{within} button, {within} a")
                                      if node.is_displayed() and name in (node.text.strip(), node.get_attribute("aria-label"))), None), name)

    def click_node(self, find, what):
        node = self.until(find, what)
        self.run("arguments[0].scrollIntoView({block: 'nearest'})", node)
        node.click()

    def press(self, key):
        ActionChains(self.driver).send_keys(key).perform()

    def ask(self, question):
        field = self.one("#question")
        field.send_keys(question)
        field.send_keys(Keys.ENTER)

    def answered(self, count=1):
        """Waits until there are `count` answers and none is on its way."""
        self.until(lambda: len(self.all(".answer")) >= count and not self.all(".answer[aria-busy=true]"), f"{count} answers")

    def add_file(self, path):
        self.one("#file").send_keys(str(path))

    def picture(self, name):
        if PICTURES:
            pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(f"{PICTURES}/{name}.png")

    def problems(self):
        """Errors of scripts, and everything that the page asked of other servers."""
        found = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("http://127.0.0.1:", "blob:", "data:", "chrome:")):
                    found.append(f"request of {url}")
        return found


class PageTest(unittest.TestCase):
    """Tests share a window. Each has a server of its own, and so the page's storage is its own too. Afterwards no script
    may have failed."""

    @classmethod
    def setUpClass(cls):
        cls.page = Page()

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        self.page.driver.get("about:blank")
        self.page.problems()

    def tearDown(self):
        self.assertEqual(self.page.problems(), [])
