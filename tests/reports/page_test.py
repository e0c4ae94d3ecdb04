"""The page of `nsatune report` in headless Chromium.

usage: page_test.py NSATUNE [SCREENSHOTS]; exit code 77: selenium, Chromium or libjs-vega is missing
"""
import json
import math
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from evidence import play, worlds  # noqa: E402
from page_browser import Browser, missing  # noqa: E402
from page_inputs import HOSTILE, history_csv, rank_json, trace_json, work_json  # noqa: E402

PROGRAM = "nsatune"
SCREENSHOTS = None
STEPPED = "attend selected 2048 + 50%"


def crossing_play():
    """Three variants at seven lengths: two that cross and one that grows with the square."""
    world, _ = worlds.crossing_world(3, 30)
    world["variants"].append({"name": "square", "time": {"launch_ns": 10, "terms": [{"ns": 0.01, "order": 2}]}})
    return play.Bench(PROGRAM, 1).play(world, [128, 256, 512, 1024, 2048, 4096, 8192])


def report(folder, *arguments, code=0):
    done = subprocess.run([os.path.abspath(PROGRAM), "report", *arguments], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}"
    return done.stderr


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="nsatune-page-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.names = [STEPPED, *HOSTILE, *(f"quiet {i}" for i in range(20))]
        history_csv(cls.folder / "h.csv", cls.names, 30, 4,
                    lambda name, night: 1.2 if name == STEPPED and night >= 25 else 1.0, hole=("quiet 3", 12))
        report(cls.folder, "--csv", "h.csv", "-o", "h.html")
        cls.browser = Browser(SCREENSHOTS)

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

    def test_variants_of_a_run_with_the_ranges_of_a_thresholds_file(self):
        with crossing_play() as played:
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
            self.assertEqual([int(row[0]) for row in self.browser.table_rows("crossover-plot")],
                             self.browser.js("return data.contests[0].lengths"))
            self.browser.js("document.getElementById('variants').scrollIntoView({behavior: 'instant'})")
            self.browser.screenshot("variants.png")
            self.assertQuiet()

    def test_growth_over_the_alarm_is_said_and_linked(self):
        with crossing_play() as played:
            page = played.path("v.html")
            report(played.folder, "--db", "results.sqlite", "-o", page)
            self.browser.open(page)
            rows = self.browser.js("""return Object.fromEntries([...document.querySelectorAll('#slopes tbody tr')].map(
                row => [row.cells[0].textContent.split(' ')[0], [row.cells[1].textContent, row.cells[3].textContent]]))""")
            self.assertEqual({name for name, (_, alarm) in rows.items() if alarm}, {"square"})
            self.assertRegex(rows["square"][0], r"^(2|1\.9\d?|2\.0\d?) \([\d.]+ to [\d.]+\)$")
            link = self.browser.driver.find_element("css selector", "#contest-choice .alert a")
            self.browser.open(page, link.get_attribute("href").split(".html")[1])
            self.assertEqual(self.browser.js("return document.getElementById('contest-select').value"),
                             self.browser.js("return document.querySelector('#contest-choice .alert a').textContent"))

    def test_roofline_and_memory_are_those_of_the_rows(self):
        with crossing_play() as played:
            with sqlite3.connect(played.path("results.sqlite")) as db:
                db.execute("""UPDATE measurement SET bytes = 1e6, workspace_bytes = 3 << 20, flop = iif(
                    problem_id IN (SELECT id FROM problem WHERE seq_len = 128), 4e3, 4e6)""")
                fastest = db.execute("SELECT min(median_ns) FROM measurement WHERE control = 0 AND outcome = 'ok'").fetchone()[0]
            db.close()
            page = played.path("v.html")
            report(played.folder, "--db", "results.sqlite", "-o", page)
            self.browser.open(page)
            cells = sum(self.browser.js("return data.contests[0].variants.map(v => v.cells.length)"))
            self.assertEqual(self.browser.marks("roofline-plot", "rates"), cells)
            self.assertEqual(self.browser.marks("roofline-plot", "roof"), 1)
            rows = self.browser.table_rows("roofline-plot")
            self.assertEqual(len(rows), cells)
            self.assertEqual({row[2] for row in rows}, {"0.004", "4"})
            for roof in ("arithmetic", "memory"):
                self.assertEqual(max(float(row[5].split()[0]) for row in rows if row[6] == roof), 100, roof)
            ceiling = self.browser.js("return data.contests[0].ceilings.bytes_per_s[0]")
            self.assertLessEqual(ceiling, 1.001e6 / fastest * 1e9)
            self.assertGreaterEqual(ceiling, 0.8e6 / fastest * 1e9)
            self.assertEqual(self.browser.marks("memory-plot", "bytes"), cells)
            self.assertEqual(self.browser.marks("memory-plot", "tensors"), 1)
            self.assertEqual(self.browser.table_rows("memory-plot")[0][1:3], ["977 KiB", "3 MiB"])
            self.assertQuiet()

    def test_results_of_run_are_listed_and_their_matrix_rate_is_a_roof(self):
        with crossing_play() as played:
            played.run("run", "--preset", "tiny", "--seq-len", "16", "--layers", "1", "--steps", "1", "--no-thresholds")
            with sqlite3.connect(played.path("results.sqlite")) as db:
                db.execute("UPDATE measurement SET flop = 4e3, bytes = 1e3")
                uuid, = db.execute("SELECT uuid FROM device JOIN measurement USING (run_id)").fetchone()
                dtype, = db.execute("SELECT dtype FROM problem").fetchone()
                db.execute("""UPDATE run_result SET report = json_set(report, '$.device.uuid', ?, '$.peak_flop_per_s', 9e12,
                              '$.peak_name', ?, '$.model.dtype', ?)""", (uuid, HOSTILE[1], dtype))
            db.close()
            page = played.path("r.html")
            report(played.folder, "--db", "results.sqlite", "-o", page)
            self.browser.open(page)
            rows = self.browser.js("return [...document.querySelectorAll('#results tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            self.assertEqual(len(rows), 1)
            self.assertIn("--preset tiny", rows[0][1])
            self.assertRegex(rows[0][5], r"weights [\d.]+ [KM]iB.*workspace at most")
            self.assertIn("9 TFLOP/s (" + HOSTILE[1], self.browser.js("return document.querySelector('#roofline-plot figcaption').textContent"))
            self.assertIsNone(self.browser.js("return window.hacked || null"))
            self.assertQuiet()

    def test_clocks_and_throttling_of_the_run(self):
        with crossing_play() as played:
            with sqlite3.connect(played.path("results.sqlite")) as db:
                db.execute("""UPDATE measurement SET sm_mhz = 1980, temperature_c = 30 + rowid % 20, power_w = 300 + rowid % 7,
                              throttle = CASE WHEN rowid % 10 = 0 THEN 'sw_power_cap' ELSE '' END,
                              measured_at = strftime('%Y-%m-%dT%H:%M:%fZ', 1760000000 + rowid, 'unixepoch')""")
                rows, throttled = db.execute("SELECT count(*), sum(throttle <> '') FROM measurement").fetchone()
            db.close()
            page = played.path("c.html")
            report(played.folder, "--db", "results.sqlite", "-o", page)
            self.browser.open(page)
            words = self.browser.js("return document.getElementById('clocks').textContent")
            self.assertIn(f"{throttled} of {rows} rows were throttled (sw_power_cap {throttled})", words)
            self.assertIn("Core clock: 1980 MHz throughout", words)
            self.assertIn("Temperature: 30 to 49", words)
            for figure in ("clocks-temperature_c", "clocks-power_w"):
                self.assertGreater(self.browser.marks(figure, "readings"), 20)
                self.assertEqual(self.browser.marks(figure, "range"), 1)
                self.assertGreater(self.browser.marks(figure, "throttled"), 0)
            table = self.browser.table_rows("clocks-temperature_c")
            self.assertEqual(len(table), self.browser.marks("clocks-temperature_c", "readings"))
            self.assertQuiet()

    def test_what_differs_between_environments(self):
        with crossing_play() as played:
            played.sweep()
            with sqlite3.connect(played.path("results.sqlite")) as db:
                old, new = [row[0] for row in db.execute("SELECT id FROM run ORDER BY started_at")]
                db.execute("UPDATE run SET started_at = '2025-01-01T00:00:00Z' WHERE id = ?", (old,))
                for run, driver in ((old, "550"), (new, HOSTILE[1])):
                    db.execute("INSERT INTO environment_fact VALUES (?, 'driver', ?, 1)", (run, driver))
            db.close()
            page = played.path("e.html")
            report(played.folder, "--db", "results.sqlite", "-o", page)
            self.browser.open(page)
            cells = self.browser.js("""return [...document.querySelectorAll('#environment-table tbody tr')].map(
                row => [...row.querySelectorAll('td:last-child > div > *:first-child > *')].map(e => e.textContent))""")
            self.assertEqual(cells, [[], [f"driver: 550 became {HOSTILE[1]}"]])
            self.assertIsNone(self.browser.js("return window.hacked || null"))
            self.assertQuiet()

    def test_steps_of_a_trace_in_parts(self):
        trace_json(self.folder / "step.json", "attend_selected/" + HOSTILE[1])
        report(self.folder, "--csv", "h.csv", "--trace", "step.json", "-o", "t.html")
        self.open(page="t.html")
        self.assertEqual(self.browser.marks("steps-plot-0", "parts"), 8)  # stage, none, nothing launched, launch pending
        self.assertIn("the GPU is idle for 60 % of that time", self.browser.js("return document.getElementById('traces').textContent"))
        rows = self.browser.table_rows("steps-plot-0")
        self.assertEqual([row[1:4] for row in rows], [["10 ms", "3 ms", "1 ms"]] * 2)
        kernels = self.browser.table_rows("traces > details")
        self.assertEqual([row[:2] for row in kernels], [[HOSTILE[0], "2"], ["other", "2"]])
        self.assertIsNone(self.browser.js("return window.hacked || null"))
        self.assertQuiet()

    def summary_page(self, *arguments):
        done = subprocess.run([os.path.abspath(PROGRAM), "trace", "summary", *arguments, "--html", "summary.html"], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.open(page="summary.html")
        self.assertQuiet()
        for words in ("undefined", "NaN", "[object"):
            self.assertNotIn(words, self.browser.js("return document.body.innerText"))
        return done.stdout

    def section_rows(self, section):
        """Cells of the first table of a section; None: it is not there."""
        return self.browser.js("""const table = document.querySelector(`#${arguments[0]} table`);
            return table && [...table.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))""", section)

    def test_a_page_of_ranks_has_the_tables_of_the_text(self):
        for rank in (0, 1):
            rank_json(self.folder / f"rank{rank}.json", rank)
        text = self.summary_page("rank0.json", "rank1.json")
        ranks, devices = self.section_rows("ranks"), self.section_rows("devices")
        self.assertEqual([row[0] for row in ranks], ["rank 0", "rank 1"])
        self.assertEqual([row[0] for row in devices if not row[0].startswith("stream")], ["rank 0, GPU 0", "rank 1, GPU 0"])
        self.assertEqual([row[0] for row in devices[1:3]], ["stream 7", "stream 20"])
        for name in ("rank 0, GPU 0", "rank 1, GPU 0"):
            self.assertIn(name, text)
        self.assertEqual([row[0] for row in self.section_rows("annotations")], ["forward"])
        self.assertIn("no stream is known to have waited for it", self.browser.js("return document.getElementById('overview').textContent"))
        self.assertIn("no stream is known to have waited for it", text)
        self.assertNotIn("trace 0", self.browser.js("return document.getElementById('sections').textContent"))

    def heads(self, section):
        return self.browser.js("return [...document.querySelectorAll(`#${arguments[0]} table:first-of-type th`)].map(head => head.textContent)", section)

    def test_every_what_if_has_its_name_on_the_page(self):
        work_json(self.folder / "work.json")
        text = self.summary_page("work.json")
        names = [row[0] for row in self.browser.table_rows("what-if")]
        asked = self.browser.js("return data.summary.critical_path.what_if.map(one => one.what)")
        self.assertLessEqual({"copy", "host_copy", "host_wait", "other_wait", "allocation", "host"}, set(asked))
        self.assertEqual(len(names), len(asked))
        self.assertNotIn("undefined", names)
        self.assertEqual(len(set(names)), len(names))
        for words in ("copies between host and device", "all waits of the host but allocations"):
            self.assertIn(words, names)
            self.assertIn(words, text)

    def test_a_page_has_the_rates_and_tables_of_the_text(self):
        work_json(self.folder / "work.json")
        text = self.summary_page("work.json")
        copies = dict(zip(self.heads("copies"), self.section_rows("copies")[0]))
        self.assertEqual(copies, {"Way": "HtoD", "Memory": "pageable", "Count": "3", "Bytes": "5.72 MiB", "Time": "300 µs", "Share": "33.3 %",
                                  "Median": "20 GB/s", "Best": "30 GB/s"})
        operator = dict(zip(self.heads("operators"), self.section_rows("operators")[0]))
        self.assertEqual((operator["Operator"], operator["Share"], operator["TFLOP/s"]), ("aten::mm", "66.7 %", "10.7"))  # 2 x 1024^3 in 200 us
        self.assertIn("10.7", text)
        self.assertEqual(operator["Of it most with"], "3x [[1024,1024],[1024,1024]]")
        self.assertEqual(self.section_rows("host-operators")[0][0], "aten::mm")
        self.assertEqual(self.section_rows("gpu-ranges")[0][:3], ["forward", "600 µs", "3"])
        recording = self.section_rows("recording")
        self.assertEqual(recording, [["1", "6", "5", "1", "0", "0", "complete"]])
        notes = self.browser.js("return document.getElementById('recording').textContent")
        self.assertIn("ranges cost .1 % of a step", notes)
        self.assertIn(HOSTILE[1], notes)
        self.assertIsNone(self.browser.js("return window.hacked || null"))
        self.assertNotIn("In backward", self.heads("stages"))  # no stage is inferred
        self.assertEqual(self.section_rows("stages")[-1][0], "unattributed")
        self.browser.emulate(390, True)
        self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), 390)

    def test_stages_of_a_page_say_what_of_them_is_backward(self):
        work_json(self.folder / "work.json")
        self.summary_page("work.json")
        page = (self.folder / "summary.html").read_text(encoding="utf-8")
        self.assertEqual(page.count('"stage":"forward"'), 1)
        at = page.index('"backward_ns":null', page.index('"stages":'))  # as of an inferred stage
        page = page[:at] + '"backward_ns":2000' + page[at + len('"backward_ns":null'):]
        page = page.replace('"inferred":false', '"inferred":true', 1)
        (self.folder / "inferred.html").write_text(page, encoding="utf-8")
        self.open(page="inferred.html")
        row = dict(zip(self.heads("stages"), self.section_rows("stages")[0]))
        self.assertEqual(row["In backward"], "2 µs")
        self.assertTrue(row["Stage"].endswith("(inferred)"))
        self.assertQuiet()

    def test_a_page_of_one_rank_says_which_figures_are_bounds(self):
        rank_json(self.folder / "alone.json", 0)
        text = self.summary_page("alone.json")
        row = self.section_rows("communication")[0]
        self.assertEqual([cell[:2] for cell in (row[8], row[10], row[11])], ["<=", ">=", ">="])
        for sign in (">= ", "<= ", "at least "):
            self.assertIn(sign, text)
        self.assertTrue(self.browser.table_rows("what-if")[0][1].startswith("at least "))
        self.assertIsNone(self.section_rows("ranks"))

    def test_idle_time_of_a_page_has_the_classes_of_the_text(self):
        trace_json(self.folder / "idle.json", "attend_selected")
        text = self.summary_page("idle.json")
        causes = {row[1] for row in self.browser.table_rows("idle-plot")}
        self.assertEqual(causes, {"nothing launched", "launch pending"})
        for words in causes:
            self.assertIn(words, text)
        self.assertTrue({f"idle: {words}" for words in causes} <= {row[0] for row in self.section_rows("overview")})

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
        done = subprocess.run([os.path.abspath(PROGRAM), "check", "--csv", "h.csv", "--format", "html", "-o", "check.html"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)  # the page shows it, the exit code says it
        self.assertEqual((self.folder / "check.html").read_bytes(), (self.folder / "report.html").read_bytes())

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
