"""scripts/evidence_decisions.py: how it judges, and one figure played through the program.

usage: evidence_test.py NSATUNE
"""
import math
import pathlib
import subprocess
import sys
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from evidence import intervals, losses, play, report, worlds  # noqa: E402

PROGRAM = "nsatune"


def ranges_of(*parts):
    """(from, to, variant, evidence) as ranges of a thresholds file."""
    return [{"from": low, "variant": {"name": name}, "evidence": evidence, **({"to": high} if high else {})}
            for low, high, name, evidence in parts]


class Judging(unittest.TestCase):
    def played(self, *parts):
        made = play.Played.__new__(play.Played)
        made.names, made.ranges, made.alignment = ["first", "second"], ranges_of(*parts), None
        return made

    def test_lengths_that_fill_every_tile_go_by_ranges_of_their_own(self):
        played = self.played((64, 1024, "second", {}))
        played.alignment = {"multiple": 128, "ranges": ranges_of((64, 512, "third", {}))}
        self.assertEqual([played.choice(at) for at in (127, 128, 384, 512, 700)],
                         ["second", "third", "third", "first", "second"])

    def test_choice_beyond_the_file_is_the_first_of_the_world(self):
        played = self.played((64, 100, "second", {}), (100, 200, "third", {}))
        self.assertEqual([played.choice(at) for at in (63, 64, 99, 100, 199, 200)],
                         ["first", "second", "second", "third", "third", "first"])

    def test_coverage_is_of_the_range_that_begins_at_the_crossing(self):
        played = self.played((0, 100, "first", {}), (100, None, "second", {"from_low": 50, "from_high": 200}))
        self.assertEqual(played.covers(200, "second"), (True, 2))
        self.assertEqual(played.covers(201, "second"), (False, 2))
        self.assertIsNone(self.played((0, None, "second", {})).covers(100, "second"))

    def test_calibrated(self):
        self.assertTrue(intervals.calibrated([True] * 95 + [False] * 5))
        self.assertFalse(intervals.calibrated([True] * 92 + [False] * 8))
        self.assertTrue(intervals.calibrated([True] * 500))
        self.assertFalse(intervals.calibrated([True] * 1000))

    def test_called_different(self):
        even, apart = {"ratio_low": 0.99, "ratio_high": 1.01}, {"ratio_low": 0.9, "ratio_high": 0.99}
        self.assertFalse(intervals.says_different(ranges_of((0, None, "first", even))))
        self.assertTrue(intervals.says_different(ranges_of((0, None, "first", apart))))
        self.assertTrue(intervals.says_different(ranges_of((0, 9, "first", even), (9, None, "second", even))))
        self.assertFalse(intervals.says_different([]))

    def test_least_loss_has_a_switch_for_multiples_and_one_for_others(self):
        truth = {64: {"first": 2, "second": 1}, 128: {"first": 2, "second": 1},
                 100: {"first": 1, "second": 2}, 200: {"first": 1, "second": 2}}
        self.assertEqual(losses.least_loss(truth, 64), 0)
        truth[300] = {"first": 2, "second": 1}
        self.assertEqual(losses.least_loss(truth, 64), 0)
        truth[400] = {"first": 1, "second": 1.5}
        self.assertAlmostEqual(losses.least_loss(truth, 64), 0.5 / 6)

    def test_grid_and_crossings_lie_where_they_shall(self):
        self.assertEqual(worlds.grid(1, 128, 1024), [128, 256, 512, 1024])
        for seed in range(20):
            _, at = worlds.crossing_world(seed, 5, longest=8192)
            self.assertTrue(128 * 2 ** 1.5 <= at <= 128 * 2 ** 4.5)
        self.assertEqual(report.p95(list(range(1, 101))), 95)
        self.assertTrue(math.isnan(report.p95([])))


class Playing(unittest.TestCase):
    def test_a_figure_is_played_and_printed(self):
        done = subprocess.run([sys.executable, str(SCRIPTS / "evidence_decisions.py"), "--nsatune", PROGRAM,
                               "--quick", "--only", "three_crossings", "--worlds", "1"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\| three crossings: loss \| mean 0.01 %, p95 0.05 % \| mean 0\.\d+ %")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
