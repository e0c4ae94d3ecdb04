"""The page of `nsatune report` in headless Chromium: the history here, runs and traces beside it.

usage: page_test.py NSATUNE [SCREENSHOTS]; exit code 77: selenium, Chromium or libjs-vega is missing
"""
import json
import math
import os
import subprocess
import sys
import time
import unittest
import urllib.parse

from page_browser import missing
from page_case import STEPPED, chosen, program, report
from page_inputs import HOSTILE, history_csv
from page_runs import Runs
from page_traces import Traces


class Page(Runs, Traces, unittest.TestCase):
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

    def test_an_ack_is_shown_with_its_reason(self):
        (self.folder / "acks.yaml").write_text(
            f"- series: '{STEPPED}'\n  commits: c024..c025\n  reason: exact ties cost 20 %\n  until: '2999-01-01'\n", encoding="utf-8")
        report(self.folder, "--csv", "h.csv", "--acks", "acks.yaml", "-o", "acked.html")
        self.open("#series=" + urllib.parse.quote(STEPPED, safe=""), page="acked.html")
        words = self.browser.js("return document.querySelector('#series-plot .plot').getAttribute('aria-label')")
        self.assertIn("exact ties cost 20 %, until 2999-01-01", words)
        self.assertRegex(self.browser.js("return document.getElementById('changes').textContent"), "acked.*exact ties cost 20 %")
        self.assertEqual(self.browser.marks("series-plot", "markers"), 1)
        self.assertEqual(self.browser.js("return document.querySelector('#series-plot g.commits-marks text').textContent"), "c024..c025")
        self.assertQuiet()

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

    def test_arrow_keys_say_what_a_pointer_over_the_marks_would(self):
        from selenium.webdriver.common.keys import Keys
        self.open()
        tip = lambda: self.browser.js("return document.querySelector('#series-plot .tip').textContent")
        plot = self.browser.driver.find_element("css selector", "#series-plot .plot")
        self.assertEqual(tip(), "")
        plot.send_keys(Keys.ARROW_RIGHT)
        first = tip()
        self.assertRegex(first, r"\S+.* \(1 of \d+\)$")
        plot.send_keys(Keys.ARROW_RIGHT)
        self.assertRegex(tip(), r"\(2 of \d+\)$")
        plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)  # stays at the first
        self.assertEqual(tip(), first)
        plot.send_keys(Keys.END)
        self.assertRegex(tip(), r"\((\d+) of \1\)$")
        plot.send_keys(Keys.ESCAPE)
        self.assertEqual(tip(), "")
        self.assertQuiet()

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
        history_csv(self.folder / "year.csv", [f"series {i}" for i in range(360)], 365, 10)
        begin = time.monotonic()
        report(self.folder, "--csv", "year.csv", "-o", "year.html")
        self.assertLess(time.monotonic() - begin, 5)
        self.assertLess((self.folder / "year.html").stat().st_size, 3_000_000)
        ready = []
        for _ in range(3):
            self.open(page="year.html")
            ready.append(float(self.browser.js("return document.body.dataset.ready")))  # ms since the navigation
        self.assertLess(min(ready), 1000)
        self.assertEqual(self.browser.marks("series-plot", "points"), 365)
        times = [self.browser.driver.execute_async_script("""const done = arguments[1], begin = performance.now();
            chooseSeries(verdicts[arguments[0]].name).then(() => done(performance.now() - begin));""", i)
            for i in range(1, 4)]
        self.assertLess(min(times), 1000)

    def test_what_was_not_given_is_said(self):
        self.open()
        words = self.browser.js("return ['variants', 'steps', 'clocks'].map(id => document.getElementById(id).textContent)")
        for text, part in zip(words, ("a history from CSV has no variants", "nsatune report --trace FILE", "has no clocks")):
            self.assertIn(part, text)

    def test_every_plot_has_a_table_for_those_who_do_not_see_it(self):
        self.open("#series=quiet%203")
        rows = self.browser.table_rows("series-plot")
        self.assertEqual(len(rows), 30)
        self.assertEqual(rows[12][1], "no value")
        self.assertRegex(rows[29][1], r"^[\d.]+$")
        self.assertEqual(rows[29][4:], ["c029", "new"])

    def test_a_long_table_is_shortened_until_asked_for(self):
        history_csv(self.folder / "many.csv", [f"many {i}" for i in range(130)], 8, 1)
        report(self.folder, "--csv", "many.csv", "-o", "many.html")
        self.open(page="many.html")
        self.assertEqual(self.visible_rows(), 100)
        self.browser.driver.find_element("id", "more").click()
        self.assertEqual(self.visible_rows(), 130)
        self.assertFalse(self.browser.driver.find_element("id", "more").is_displayed())

    def test_a_damaged_trace_is_one_line(self):
        (self.folder / "cut.json").write_text('{"traceEvents": [{"ph": "X",', encoding="utf-8")
        said = report(self.folder, "--csv", "h.csv", "--trace", "cut.json", "-o", "cut.html", code=2)
        self.assertIn("cut.json", said)
        self.assertEqual(said.count("\n"), 1)
        self.assertFalse((self.folder / "cut.html").exists())

    def test_without_the_plotting_library_nothing_is_written(self):
        said = report(self.folder, "--csv", "h.csv", "-o", "none.html", "--vega", "/nowhere", code=4)
        self.assertIn("libjs-vega", said)
        self.assertFalse((self.folder / "none.html").exists())

    def test_check_writes_the_same_page(self):
        report(self.folder, "--csv", "h.csv", "-o", "report.html")
        done = subprocess.run([program(), "check", "--csv", "h.csv", "--format", "html", "-o", "check.html"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)  # the page shows it, the exit code says it
        self.assertEqual((self.folder / "check.html").read_bytes(), (self.folder / "report.html").read_bytes())

    def test_never_writes_over_its_input(self):
        said = report(self.folder, "--csv", "h.csv", "-o", "h.csv", code=2)
        self.assertIn("is an input", said)


if __name__ == "__main__":
    chosen["program"] = sys.argv.pop(1)
    chosen["screenshots"] = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else None
    lacking = missing()
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(77)
    unittest.main()
