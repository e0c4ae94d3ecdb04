"""The page of `nsatune report` in headless Chromium.

usage: page_test.py NSATUNE [SCREENSHOTS]; exit code 77: selenium, Chromium or libjs-vega is missing
"""
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from evidence import play, worlds  # noqa: E402

PROGRAM = "nsatune"
SCREENSHOTS = None
HOSTILE = ['</script><script>window.hacked = 1</script>', '"><img src=x onerror="window.hacked = 1">',
           "javascript:window.hacked=1//' \u2028 & <!-- {{DATA}}", "=cmd|' /C calc'!A0 \u202e evil"]
STEPPED = "attend selected 2048 + 50%"


def missing():
    """What this machine lacks for the test, or nothing."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "python3-selenium"
    for name in ("chromium", "chromedriver"):
        if not shutil.which(name):
            return name
    return None if os.path.isdir("/usr/share/javascript/vega") else "libjs-vega"


def history_csv(path, names, nights, replicates, factor_at=lambda name, night: 1.0, hole=None):
    """Nights of 1 ms with .3 % of noise; the environment changes at a third."""
    rng = random.Random(7)
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    with open(path, "w", encoding="utf-8") as f:
        f.write("time,commit,environment," + ",".join(quoted) + "\n")
        for night in range(nights):
            day = time.strftime("%Y-%m-%d", time.gmtime(1760000000 + 86400 * night))
            levels = [factor_at(name, night) * rng.gauss(1, 0.003) for name in names]
            for _ in range(replicates):
                cells = ["" if hole == (name, night) else f"{level * rng.gauss(1, 0.001):.7g}"
                         for name, level in zip(names, levels)]
                f.write(f"{day},c{night:03d},{'old' if night < nights / 3 else 'new'}," + ",".join(cells) + "\n")


def report(folder, *arguments, code=0):
    done = subprocess.run([os.path.abspath(PROGRAM), "report", *arguments], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}"
    return done.stderr


class Browser:
    """One Chromium for all tests."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,900"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def open(self, path, place=""):
        self.driver.get("about:blank")  # so that another place in the address loads anew
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get("file://" + str(path) + place)
        self.wait("return document.body.dataset.ready !== undefined")

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.js(script):
            assert time.monotonic() < end, f"never: {script}; {self.driver.get_log('browser')}"
            time.sleep(0.02)

    def requests(self):
        """Addresses that the page asked for, itself left out."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("data:", "about:")) and ".html" not in url]

    def marks(self, figure, name):
        """Items with a shape of one mark of a plot."""
        return self.js("return document.querySelectorAll(`#${arguments[0]} g.${arguments[1]}-marks > *`).length",
                       figure, name)

    def emulate(self, width, dark):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def screenshot(self, name):
        if SCREENSHOTS:
            time.sleep(0.4)
            self.driver.save_screenshot(os.path.join(SCREENSHOTS, name))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="nsatune-page-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.names = [STEPPED, *HOSTILE, *(f"quiet {i}" for i in range(20))]
        history_csv(cls.folder / "h.csv", cls.names, 30, 4,
                    lambda name, night: 1.2 if name == STEPPED and night >= 25 else 1.0, hole=("quiet 3", 12))
        report(cls.folder, "--csv", "h.csv", "-o", "h.html")
        cls.browser = Browser()

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

    def test_opens_with_the_most_urgent_series_and_every_mark_of_its_plot(self):
        self.open()
        self.assertEqual(self.heading(), STEPPED)
        for name, count in (("points", 30), ("levels", 3), ("changes", 1), ("markers", 1), ("epochs", 1), ("band", 1)):
            self.assertEqual(self.browser.marks("series-plot", name), count, name)
        self.browser.screenshot("desktop.png")
        self.assertQuiet()

    def test_what_a_plot_shows_is_also_said(self):
        self.open()
        words = self.browser.js("return document.querySelector('#series-plot .plot').getAttribute('aria-label')")
        self.assertRegex(words, r"30 nights .* regression 2025-\d\d-\d\d: \+\d+\.\d %.*c024\.\.c025")

    def test_nights_are_those_of_the_file(self):
        self.open()
        with open(self.folder / "h.csv", encoding="utf-8") as f:
            rows = [line.split(",") for line in f.read().rstrip().split("\n")[1:]]  # U+2028 ends no line here
        for night in (0, 12, 29):
            values = sorted(float(row[3]) for row in rows[4 * night:4 * night + 4])
            shown = self.browser.js("return nightsOf(0)[arguments[0]]", night)
            self.assertTrue(math.isclose(shown["low"], values[0], rel_tol=1e-4))
            self.assertTrue(math.isclose(shown["median"], sum(values[1:3]) / 2, rel_tol=1e-4))
            self.assertTrue(math.isclose(shown["high"], values[3], rel_tol=1e-4))
        self.assertIsNone(self.browser.js("return nightsOf(arguments[0])[12]", self.names.index("quiet 3")))

    def test_filters_by_words_and_by_state(self):
        self.open()
        self.browser.driver.find_element("id", "words").send_keys("QUIET 1")
        self.assertEqual(self.visible_rows(), 11)
        self.assertIn("words=QUIET%201", self.browser.js("return location.hash"))
        self.open("#state=confirmed")
        self.assertEqual(self.visible_rows(), 1)

    def test_links_into_the_page(self):
        for name in (STEPPED, *HOSTILE, "quiet 3"):
            self.open("#series=" + urllib.parse.quote(name, safe=""))
            self.assertEqual(self.heading()[:5], name[:5])
            self.assertEqual(self.browser.marks("series-plot", "points"), 29 if name == "quiet 3" else 30)
        self.open("#series=nobody")
        self.assertIn("no series nobody", self.browser.js("return document.getElementById('chosen').textContent"))

    def test_hostile_names_stay_text(self):
        for name in HOSTILE:
            self.open("#series=" + urllib.parse.quote(name, safe=""))
            self.assertIsNone(self.browser.js("return window.hacked || null"))
            self.assertEqual(self.browser.js("return document.querySelectorAll('img, iframe').length"), 0)
            self.assertEqual(self.browser.js("return document.querySelectorAll('script').length"), 4)
            self.assertNotIn("\u202e", self.heading())
            self.assertQuiet()

    def test_keyboard_reaches_the_skip_link_and_a_series(self):
        from selenium.webdriver.common.keys import Keys
        self.open()
        body = self.browser.driver.find_element("tag name", "body")
        body.send_keys(Keys.TAB)
        self.assertEqual(self.browser.js("return document.activeElement.className"), "skip")
        link = self.browser.driver.find_element("link text", "quiet 7")
        link.send_keys(Keys.ENTER)
        self.browser.wait("return document.querySelector('#chosen h3').textContent === 'quiet 7'")
        self.browser.driver.back()
        self.browser.wait("return document.querySelector('#chosen h3').textContent !== 'quiet 7'")

    def test_fits_a_phone_in_the_dark(self):
        self.browser.emulate(390, True)
        self.open()
        self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), 390)
        self.assertEqual(self.browser.js("return getComputedStyle(document.body).backgroundColor"), "rgb(20, 23, 27)")
        before = self.browser.js("return document.querySelector('#series-plot g.points-marks path').getAttribute('fill')")
        self.browser.screenshot("phone_dark.png")
        self.browser.emulate(390, False)
        self.browser.wait("return document.querySelector('#series-plot g.points-marks path').getAttribute('fill') !== "
                          + json.dumps(before))
        self.assertQuiet()

    def test_has_landmarks_and_names(self):
        self.open()
        self.assertEqual(self.browser.js("""return [...document.querySelectorAll('section, table, input, figure .plot')]
            .filter(e => !(e.getAttribute('aria-labelledby') || e.getAttribute('aria-label') || e.caption ||
                           (e.labels && e.labels.length))).map(e => e.outerHTML.slice(0, 80))"""), [])
        self.assertEqual(self.browser.js("return document.querySelectorAll('main, header, nav').length"), 3)

    def test_year_of_360_series_is_small_and_fast(self):
        history_csv(self.folder / "year.csv", [f"series {i}" for i in range(360)], 365, 3)
        begin = time.monotonic()
        report(self.folder, "--csv", "year.csv", "-o", "year.html")
        self.assertLess(time.monotonic() - begin, 5)
        self.assertLess((self.folder / "year.html").stat().st_size, 3_000_000)
        self.open(page="year.html")
        self.assertEqual(self.browser.marks("series-plot", "points"), 365)
        times = [self.browser.driver.execute_async_script("""const done = arguments[1], begin = performance.now();
            chooseSeries(verdicts[arguments[0]].name).then(() => done(performance.now() - begin));""", i)
            for i in range(1, 4)]
        self.assertLess(min(times), 1000)

    def test_variants_of_a_run_with_the_ranges_of_a_thresholds_file(self):
        world, _ = worlds.crossing_world(3, 30)
        world["variants"].append(worlds.twin("square", 3.0))
        with play.Bench(PROGRAM, 1).play(world, [128, 256, 512, 1024, 2048, 4096, 8192]) as played:
            page = played.path("v.html")
            report(played.folder, "--db", "results.sqlite", "--thresholds", "decided.json", "-o", page)
            self.browser.open(page)
            count = self.browser.marks
            cells = self.browser.js("return data.contests[0].variants.map(v => v.cells.length)")
            self.assertEqual(len(cells), 3)
            self.assertGreaterEqual(min(cells), 7)
            self.assertEqual(count("crossover-plot", "points"), sum(cells))
            self.assertEqual(count("crossover-plot", "intervals"), 3)
            colours = self.browser.js("""return ['chosen', 'ratios'].map(name => [...document.querySelectorAll(
                `#crossover-plot g.${name}-marks path`)].map(p => p.getAttribute(name === 'chosen' ? 'fill' : 'stroke')))""")
            self.assertGreaterEqual(len(colours[0]), 2)
            self.assertLessEqual(set(colours[0]), set(colours[1]))
            self.assertEqual(count("heatmap-plot", "heat"), sum(cells))
            self.assertEqual(count("scaling-plot", "times"), sum(cells))
            self.assertEqual(count("scaling-plot", "fits"), 3)
            rows = self.browser.js("return [...document.querySelectorAll('#slopes tbody tr')].map(r => r.textContent)")
            self.assertEqual(len(rows), 3)
            self.assertRegex(rows[0], r"0\.\d+ \(0\.\d+ to \d\.\d+\)")
            self.browser.js("document.getElementById('variants').scrollIntoView({behavior: 'instant'})")
            self.browser.screenshot("variants.png")
            self.assertQuiet()

    def test_without_the_plotting_library_nothing_is_written(self):
        said = report(self.folder, "--csv", "h.csv", "-o", "none.html", "--vega", "/nowhere", code=4)
        self.assertIn("libjs-vega", said)
        self.assertFalse((self.folder / "none.html").exists())

    def test_never_writes_over_its_input(self):
        said = report(self.folder, "--csv", "h.csv", "-o", "h.csv", code=2)
        self.assertIn("is an input", said)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    SCREENSHOTS = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else None
    lacking = missing()
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(77)
    unittest.main()
