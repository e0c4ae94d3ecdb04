"""What the choices lose, at measured lengths and at others. Each figure plays its worlds and returns rows of report.py."""
import math
import random

from . import worlds as w
from .report import loss_row, mean, of, p95, percent

SLOPES = (2, 5, 20)  # % an octave


def on_grid(bench, n, lengths):
    """Mean loss of a tuning over the measured lengths, for each noise and slope."""
    rows = []
    for noise, extra in w.noises().items():
        for slope in SLOPES:
            def loss(seed):
                world, _ = w.crossing_world(seed, slope, extra, longest=lengths[-1])
                with bench.play(world, lengths) as played:
                    return mean(played.regrets(lengths))
            rows.append(loss_row(f"{noise}, {slope} % an octave", bench.each(bench.seeds(n), loss), 1e-4, 5e-4))
    return rows


def three_crossings(bench, n, lengths):
    """Three crossings make four ranges."""
    octaves = math.log2(lengths[-1] / lengths[0])
    crossings = [lengths[0] * 2 ** (octaves * share) for share in (0.2, 0.5, 0.8)]

    def one(seed):
        made = w.world(seed, [w.line(), w.rival(-10, crossings)], noise={"white_sigma": 0.005})
        with bench.play(made, lengths) as played:
            measured = [r for r in played.ranges if r.get("basis", "measured") == "measured"]
            return len(measured), mean(played.regrets(lengths))
    results = bench.each(bench.seeds(n), one)
    ranges = [count == 4 for count, _ in results]
    return [("three crossings: files of four ranges", "all", of(ranges), all(ranges)),
            loss_row("three crossings: loss", [loss for _, loss in results], 1e-4, 5e-4)]


def tile_world(seed):
    """The tiles of the faster variant cost it what it gains, where the length is not a multiple."""
    rng = random.Random(seed)
    tile = {"size": rng.choice([64, 128, 256]), "remainder_factor": rng.uniform(1.02, 1.15)}
    second = w.scaled(factor=rng.uniform(0.9, 0.99), tile=tile)
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
    tile_results = bench.each(bench.seeds(n), tiles)
    tile_losses = [loss for losses, _ in tile_results for loss in losses]
    least = mean([loss for _, loss in tile_results])
    results = bench.each(bench.seeds(n), orders)
    near = [loss for losses, _ in results for loss in losses]
    rows = [loss_row(f"off the grid, tiles (the best two classes lose {percent(least, 2)})", tile_losses, 2e-3, 1e-2),
            loss_row("off the grid, linear against quadratic", near, 2e-3, 1e-2)]
    for i, times in enumerate((4, 16)):
        losses = [far[i] for _, far in results]
        rows.append((f"linear against quadratic, {times} x the longest length", "1 %",
                     f"p95 {percent(p95(losses))}, worst {percent(max(losses))}", p95(losses) <= 1e-2))
    return rows
