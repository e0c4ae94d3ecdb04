"""Whether intervals hold the truth, and what two sweeps of one world say."""
import math

from . import worlds as w
from .report import mean, of, percent


def coverage_cells():
    """Name, slope, fields of the world, of both variants and of the second."""
    boost = {"clock": {"boost": {"launches": 12, "faster": 0.12},
                       "correlated": {"sigma": 0.01, "lag1": 0.9}}, "noise": {"white_sigma": 0.003}}
    white = {"noise": {"white_sigma": 0.005}}
    half = {"clock_sensitivity": 0.5}
    cells = [("straight curves", 5, white, {}, {}),
             ("1.5 % ripple between lengths", 5, white, {"ripple": 0.015}, {}),
             (".3 % between processes", 5, white, {"process_sigma": 0.003}, {}),
             ("one variant half as clock-sensitive", 10, boost, {}, half),
             ("half as clock-sensitive, no cycles", 10, no_cycles(boost), {}, half),
             ("half as clock-sensitive, lying cycles", 10, lying(boost), {}, half)]
    for name, path in w.recorded_files().items():
        recorded = {"noise": {"recorded": {"file": path}}}
        cells += [(name, 5, recorded, {}, {}), (f"{name}, half as clock-sensitive", 10, recorded, {}, half)]
    return cells


def no_cycles(extra):
    return {**extra, "clock": {**extra["clock"], "cycles": "none"}}


def lying(extra):
    return {**extra, "clock": {**extra["clock"], "cycles": "lying"}}


def coverage(bench, n, lengths):
    """Whether from_low and from_high of the second variant's range hold the true crossing."""
    rows = []
    for name, slope, extra, both, second in coverage_cells():
        def one(seed):
            world, at = w.crossing_world(seed, slope, extra, both, second, lengths[-1])
            with bench.play(world, lengths) as played:
                return played.covers(at, "second")
        told = [result for result in bench.each(bench.seeds(n), one) if result]
        hits, widths = [hit for hit, _ in told], [width for _, width in told]
        measured = f"{of(hits)}, width {mean(widths):.2f} octaves; {n - len(told)} without a crossing"
        rows.append((f"coverage: {name}", "93 to 99.5 %", measured, len(told) == n and calibrated(hits)))
    return rows


def calibrated(hits):
    """93 to 99.5 %. Where all are hits, too many only if so many tell that from 99.5 %."""
    if all(hits):
        return 0.995 ** len(hits) > 0.05
    return 0.93 <= mean(hits) <= 0.995


def overlap(first, second, name):
    """Whether the intervals where the range of `name` begins overlap."""
    ends = []
    for ranges in (first, second):
        for found in ranges[1:]:
            if found["variant"]["name"] == name and "from_low" in found["evidence"]:
                ends.append((found["evidence"]["from_low"], found["evidence"]["from_high"]))
                break
    return len(ends) == 2 and max(ends[0][0], ends[1][0]) <= min(ends[0][1], ends[1][1])


def two_tunings(bench, n, lengths):
    """The same world tuned twice, with other noise."""
    cells = {"white .5 %": {"noise": {"white_sigma": 0.005}}}
    cells.update({name: {"noise": {"recorded": {"file": path}}}
                  for name, path in w.recorded_files().items()})
    axis = w.grid(24, lengths[0], lengths[-1])
    overlaps, agreements = [], []
    for extra in cells.values():
        def one(seed):
            world, _ = w.crossing_world(seed, 5, extra, {"process_sigma": 0.003}, {}, lengths[-1])
            with bench.play(world, lengths) as played:
                first, chosen = played.ranges, [played.choice(length) for length in axis]
                played.sweep()
                played.tune()
                same = [name == played.choice(length) for name, length in zip(chosen, axis)]
                return overlap(first, played.ranges, "second"), mean(same)
        for overlaps_here, agrees in bench.each(bench.seeds(n), one):
            overlaps.append(overlaps_here)
            agreements.append(agrees)
    return [("two tunings: intervals overlap", "98 %", of(overlaps), mean(overlaps) >= 0.98),
            ("two tunings: choices agree on the logarithmic axis", "98 %", percent(mean(agreements)),
             mean(agreements) >= 0.98)]


def says_different(ranges):
    """Whether a file holds two variants for different: a switch between them, or an interval of
    their ratio without 1. Where it says undecided, it does not."""
    def apart(found):
        evidence = found["evidence"]
        low, high = evidence.get("ratio_low", 0), evidence.get("ratio_high", math.inf)
        return not (low <= 1 <= high)
    decided = [r for r in ranges if r.get("basis") != "undecided" and not r["evidence"].get("ties")]
    return any(map(apart, decided)) or len({r["variant"]["name"] for r in decided}) > 1


def identical(bench, n, lengths):
    """Two variants with the same times, called different."""
    rows = []
    for name, both in (("alike", {}), (".3 % between processes", {"process_sigma": 0.003})):
        def one(seed):
            made = w.world(seed, [w.line(**both), w.scaled(**both)], noise={"white_sigma": 0.005})
            with bench.play(made, lengths) as played:
                return says_different(played.ranges)
        different = bench.each(bench.seeds(n), one)
        rows.append((f"A/A declared different: {name}", "under 1 %", of(different), mean(different) < 0.01))
    return rows
