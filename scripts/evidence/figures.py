"""The figures: each plays its worlds and returns rows of (what, goal, measured, whether it is met).

A row without a verdict (None) belongs to another row, or has no goal."""
import math
import os
import random
import statistics

from . import worlds as w
from .play import Played

SLOPES = (2, 5, 20)  # % an octave


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def p95(values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)] if ordered else float("nan")


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def of(hits):
    """'19 of 20 (95.0 %)'"""
    hits = list(hits)
    return f"{sum(hits)} of {len(hits)} ({percent(mean(hits))})" if hits else "none"


def loss_row(what, losses, goal_mean, goal_p95):
    met = mean(losses) <= goal_mean and p95(losses) <= goal_p95
    goal = f"mean {percent(goal_mean, 2)}, p95 {percent(goal_p95, 2)}"
    measured = f"mean {percent(mean(losses), 3)}, p95 {percent(p95(losses), 3)}, worst {percent(max(losses), 2)}"
    return what, goal, measured, met


def on_grid(bench, n, lengths):
    """Mean loss of a tuning over the measured lengths, for each noise and slope."""
    rows = []
    for noise, extra in w.noises().items():
        for slope in SLOPES:
            def loss(seed):
                world, _ = w.crossing_world(seed, slope, extra, longest=lengths[-1])
                with bench.play(world, lengths) as played:
                    return mean(played.regrets(lengths))
            rows.append(loss_row(f"{noise}, {slope} % an octave", bench.each(range(n), loss), 1e-4, 5e-4))
    return rows


def three_crossings(bench, n, lengths):
    """Three crossings make four ranges."""
    octaves = math.log2(lengths[-1] / lengths[0])
    crossings = [lengths[0] * 2 ** (octaves * share) for share in (0.2, 0.5, 0.8)]

    def one(seed):
        made = w.world(seed, [w.line(), w.rival(-10, crossings)], noise={"white_sigma": 0.005})
        with bench.play(made, lengths) as played:
            return len(played.ranges), mean(played.regrets(lengths))
    results = bench.each(range(n), one)
    ranges = [count == 4 for count, _ in results]
    return [("three crossings: files of four ranges", "all", of(ranges), all(ranges)),
            loss_row("three crossings: loss", [loss for _, loss in results], 1e-4, 5e-4)]


def coverage_cells():
    """Name, slope, fields of the world, of both variants and of the second."""
    boost = {"clock": {"boost": {"launches": 30, "faster": 0.12},
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
        cells.append((f"recorded {name}", 5, {"noise": {"recorded": {"file": path}}}, {}, {}))
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
        told = [result for result in bench.each(range(n), one) if result]
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
        for overlaps_here, agrees in bench.each(range(n), one):
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
            made = w.world(seed, [w.line(**both), w.twin(**both)], noise={"white_sigma": 0.005})
            with bench.play(made, lengths) as played:
                return says_different(played.ranges)
        different = bench.each(range(n), one)
        rows.append((f"A/A declared different: {name}", "under 1 %", of(different), mean(different) < 0.01))
    return rows


NIGHT = {"noise": {"white_sigma": 0.005},
         "clock": {"correlated": {"sigma": 0.01, "lag1": 0.9}}}


def calm_nights(bench, n, lengths, nights=30):
    """Nights without a change, each tuned with the file of the night before."""
    both = {"process_sigma": 0.003}

    def one(seed):
        world, _ = w.crossing_world(seed, 5, NIGHT, both, {}, lengths[-1])
        with bench.play(world, lengths) as played:
            changes, before = 0, choices(played)
            for _ in range(nights - 1):
                next_night(played)
                changes += choices(played) != before
                before = choices(played)
            return changes
    changed = bench.each(range(max(1, n // 10)), one)
    return [(f"{nights} nights without a change: nights that changed a threshold", "0",
             f"{sum(changed)} in {len(changed)} series", sum(changed) == 0)]


def choices(played):
    return [(r["from"], r["variant"]["name"]) for r in played.ranges]


def next_night(played):
    """Sweeps again and decides with the file in use, which stays where nothing is decided."""
    played.sweep()
    played.tune("--shipped", "decided.json", output="tonight.json")
    if os.path.exists(played.path("tonight.json")):
        os.replace(played.path("tonight.json"), played.path("decided.json"))


def true_shift(bench, n, lengths):
    """At one measured length the second variant is 1 % slower; then it gets 2 % faster."""
    measured = lengths[len(lengths) // 2]
    at = measured * 2 ** (math.log(1.01) / math.log(1.10))  # where 10 % an octave have come to 1 %
    both = {"process_sigma": 0.003}

    def one(seed):
        made = w.world(seed, [w.line(**both), w.rival(-10, [at], **both)], **NIGHT)
        faster = w.world(seed, [w.line(**both), w.rival(-10, [at], factor=0.98, **both)], **NIGHT)
        with bench.play(made, lengths) as played:
            played.change(faster)
            for night in (1, 2):
                next_night(played)
                if played.choice(measured) == "second":
                    return night
            return 0
    nights = bench.each(range(n), one)
    adopted = [night > 0 for night in nights]
    return [("a true 2 % shift adopted within two nights", "95 %", of(adopted), mean(adopted) >= 0.95)]


def tile_world(seed):
    """The tiles of the faster variant cost it what it gains, where the length is no multiple."""
    rng = random.Random(seed)
    tile = {"size": rng.choice([64, 128, 256]), "remainder_factor": rng.uniform(1.02, 1.15)}
    second = w.twin(factor=rng.uniform(0.9, 0.99), tile=tile)
    return w.world(seed, [w.line(), second], noise={"white_sigma": 0.005})


def least_loss(truth, tile):
    """Mean loss of the best file that has one switch for multiples of the tile and one for others:
    what no decision by ranges and classes can be below."""
    total = 0
    for aligned in (True, False):
        times = [truth[length] for length in sorted(truth) if (length % tile == 0) == aligned]
        losses = []
        for switch in range(len(times) + 1):
            for below, above in (("first", "second"), ("second", "first")):
                losses.append(sum(t[below if i < switch else above] / min(t.values()) - 1
                                  for i, t in enumerate(times)))
        total += min(losses)
    return total / len(truth)


def order_world(seed, longest):
    """A linear variant with a large overhead against a quadratic one; they cross on the grid, or up
    to two octaves beyond its end."""
    rng = random.Random(seed)
    at = longest * 2 ** rng.uniform(-5, 2)
    second = {"name": "second", "order": {"seq_len": 2},
              "time": {"launch_ns": 8000, "terms": [{"ns": (12000 + 50 * at) / at ** 2, "order": 2}]}}
    variants = [w.line(), second]
    if rng.random() < 0.5:
        variants.reverse()
    return w.world(seed, variants, noise={"white_sigma": 0.005})


def off_grid(bench, n, lengths):
    """Losses at lengths that nobody measured: between, and beyond the longest."""
    rng = random.Random(7)
    between = {round(2 ** rng.uniform(math.log2(lengths[0]), math.log2(lengths[-1]))) for _ in range(60)}
    between = sorted((between | {256 * k for k in range(1, lengths[-1] // 256, 9)}) - set(lengths))

    def tiles(seed):
        world = tile_world(seed)
        with bench.play(world, lengths) as played:
            size = world["variants"][1]["tile"]["size"]
            return played.regrets(between), least_loss(played.truth(between), size)

    def orders(seed):
        far = [4 * lengths[-1], 16 * lengths[-1]]
        with bench.play(order_world(seed, lengths[-1]), lengths) as played:
            return played.regrets(between), played.regrets(far)
    tile_results = bench.each(range(n), tiles)
    tile_losses = [loss for losses, _ in tile_results for loss in losses]
    least = mean([loss for _, loss in tile_results])
    results = bench.each(range(n), orders)
    near = [loss for losses, _ in results for loss in losses]
    rows = [loss_row(f"off the grid, tiles (the best two classes lose {percent(least, 2)})", tile_losses, 2e-3, 1e-2),
            loss_row("off the grid, linear against quadratic", near, 2e-3, 1e-2)]
    for i, times in enumerate((4, 16)):
        losses = [far[i] for _, far in results]
        rows.append((f"linear against quadratic, {times} x the longest length", "1 %",
                     f"p95 {percent(p95(losses))}, worst {percent(max(losses))}", p95(losses) <= 1e-2))
    return rows


def economy(bench, n, lengths):
    """Device seconds until the ratio of two variants is known to .5 %, of which nvbench's rule
    takes half a second a variant at least (its --min-time)."""
    nvbench_s = 2 * 0.5

    def one(seed):
        rng = random.Random(seed)
        made = w.world(seed, [w.line(), w.twin(factor=rng.uniform(0.98, 1.02))],
                       clock=NIGHT["clock"], noise={"white_sigma": 0.005})
        with bench.play(made, [1600]) as played:  # 100 us
            widths = [(r["evidence"]["ratio_high"] - r["evidence"]["ratio_low"]) / 2
                      for r in played.ranges if "ratio_low" in r["evidence"]]
            return played.device_s(), max(widths, default=math.inf)
    results = bench.each(range(n), one)
    share, width = mean([s for s, _ in results]) / nvbench_s, p95([width for _, width in results])
    return [("economy: device seconds of nvbench's rule, half-width", "a third, .5 %",
             f"{percent(share)}, p95 of the half-width {percent(width, 2)}",
             share <= 1 / 3 and width <= 5e-3)]


def framework(bench, n, lengths):
    """What the harness takes of the wall time that a sweep of 100 us kernels had on a device."""
    def one(seed):
        made = w.world(seed, [w.line(), w.twin(factor=1.001)], noise={"white_sigma": 0.005})
        with bench.play(made, [1600], {"min_rounds": 20}) as played:
            ledger = played.swept["ledger"]
            return ledger["framework_s"] / (ledger["wall_s"] + played.device_s())
    shares = [one(seed) for seed in range(min(n, 5))]  # one at a time: this is wall time
    middle = statistics.median(shares)
    return [("framework's share of the wall, 100 us kernels", "5 %", percent(middle), middle <= 0.05)]


def many_rows(bench, n, lengths):
    """tune on 257 lengths x 24 variants, 100,000 rows."""
    variants = [w.line()] + [w.twin(f"v{i}", 1 + 0.01 * i) for i in range(23)]
    many = [128 + 100 * i for i in range(257)]
    policy = {"processes": 1, "min_rounds": 8, "max_rounds": 8, "control": False}
    made = w.world(1, variants, noise={"white_sigma": 0.005})
    with Played(bench, made, many, policy) as played:
        played.sweep()
        times = []
        for _ in range(3):
            played.tune()
            times.append(played.tune_s)
        return [(f"tune on {played.swept['rows']:,} rows", "2 s", f"{min(times):.2f} s", min(times) <= 2)]


ALL = {f.__name__: f for f in (on_grid, three_crossings, coverage, two_tunings, identical, calm_nights,
                               true_shift, off_grid, economy, framework, many_rows)}
