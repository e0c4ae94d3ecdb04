"""Variants, results and environments of runs on the page."""
import pathlib
import sqlite3
import sys

from page_case import PageCase, chosen, report
from page_inputs import HOSTILE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from evidence import play, worlds  # noqa: E402


def crossing_play():
    """Three variants at seven lengths: two that cross and one that grows with the square."""
    world, _ = worlds.crossing_world(3, 30)
    world["variants"].append({"name": "square", "time": {"launch_ns": 10, "terms": [{"ns": 0.01, "order": 2}]}})
    return play.Bench(chosen["program"], 1).play(world, [128, 256, 512, 1024, 2048, 4096, 8192])


class Runs(PageCase):
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
