"""Traces on the page, and the page of `trace summary --html`."""
import subprocess

from page_case import PageCase, program, report
from page_inputs import HOSTILE, rank_json, trace_json, work_json


class Traces(PageCase):
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
        done = subprocess.run([program(), "trace", "summary", *arguments, "--html", "summary.html"], cwd=self.folder,
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
