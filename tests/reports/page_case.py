"""What every test of the page shares: the program, the browser, a history of nights."""
import os
import pathlib
import subprocess
import tempfile

from page_browser import Browser
from page_inputs import HOSTILE, history_csv

STEPPED = "attend selected 2048 + 50%"
chosen = {"program": "nsatune", "screenshots": None}  # by the command line


def program():
    return os.path.abspath(chosen["program"])


def report(folder, *arguments, code=0):
    done = subprocess.run([program(), "report", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}"
    return done.stderr


class PageCase:
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="nsatune-page-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.names = [STEPPED, *HOSTILE, *(f"quiet {i}" for i in range(20))]
        history_csv(cls.folder / "h.csv", cls.names, 30, 4,
                    lambda name, night: 1.2 if name == STEPPED and night >= 25 else 1.0, hole=("quiet 3", 12))
        report(cls.folder, "--csv", "h.csv", "-o", "h.html")
        cls.browser = Browser(chosen["screenshots"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.driver.quit()
        cls.temporary.cleanup()

    def setUp(self):
        self.browser.emulate(1200, False)

    def assertQuiet(self):
        self.assertEqual(self.browser.driver.get_log("browser"), [])
        self.assertEqual(self.browser.requests(), [])

    def open(self, place="", page="h.html"):
        self.browser.open(self.folder / page, place)

    def visible_rows(self):
        return self.browser.js("return [...document.querySelectorAll('#table tbody tr')].filter(r => !r.hidden).length")

    def heading(self):
        return self.browser.js("const h = document.querySelector('#chosen h3'); return h ? h.textContent : null")
