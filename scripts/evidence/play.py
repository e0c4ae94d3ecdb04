"""Plays worlds through the real program: sweep, tune, and the truth."""
import bisect
import csv
import io
import json
import math
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

POLICY = {"samples": 1, "processes": 2, "min_rounds": 5, "max_rounds": 20, "cold": False, "race": True}


class Failed(Exception):
    """A command that did not end well, with its last words."""


class Bench:
    """The program, how many worlds run side by side, and the seed of the first world of each cell."""

    def __init__(self, program, jobs, first_seed=0):
        self.program, self.jobs, self.first_seed = os.path.abspath(program), jobs, first_seed

    def seeds(self, n):
        return range(self.first_seed, self.first_seed + n)

    def each(self, tasks, work):
        """work(task) of every task, `jobs` at a time, in the order of the tasks."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(work, tasks))

    def play(self, world, lengths, policy=None):
        """A world that was swept and tuned once; close it, or use it in a with statement."""
        played = Played(self, world, lengths, policy)
        played.sweep()
        played.tune()
        return played


class Played:
    """A world in a folder of its own, with its database and its thresholds file."""

    def __init__(self, bench, world, lengths, policy=None):
        self.bench, self.lengths = bench, lengths
        self.temporary = tempfile.TemporaryDirectory(prefix="nsatune-world-")
        self.folder = self.temporary.name
        self.change(world)
        self.write("spec.json", {
            "schema_version": 1, "name": "played", "policy": {**POLICY, **(policy or {})},
            "families": [{"name": "lengths", "axes": {"seq_len": lengths}}]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, document):
        with open(self.path(name), "w") as f:
            json.dump(document, f)

    def change(self, world):
        """Another truth from now on; noise and virtual time go on."""
        self.names = [variant["name"] for variant in world["variants"]]
        self.write("world.json", world)

    def run(self, *arguments):
        environment = {**os.environ, "NSATUNE_LOCK_DIR": self.folder, "NSATUNE_DEVICE": "cpu", "NSATUNE_DB": "results.sqlite"}
        done = subprocess.run([self.bench.program, *arguments], cwd=self.folder, env=environment,
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise Failed(f"nsatune {' '.join(arguments)}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def sweep(self):
        """A new run; its document is in `swept`, its wall time in `sweep_s`."""
        begin = time.monotonic()
        worker = f"{self.bench.program} worker-sim world.json"
        self.swept = json.loads(self.run("sweep", "spec.json", "--new", "-q", "--json",
                                         "--worker", worker))
        self.sweep_s = time.monotonic() - begin

    def tune(self, *more, output="decided.json"):
        """Decides; the ranges of the file are in `ranges`, none where nothing was decided."""
        if os.path.exists(self.path(output)):
            os.remove(self.path(output))
        begin = time.monotonic()
        self.run("tune", "-q", "--executor", "played", "--unverified", "-o", output, *more)
        self.tune_s = time.monotonic() - begin
        self.ranges, self.alignment = [], None
        if os.path.exists(self.path(output)):
            with open(self.path(output)) as f:
                classes = json.load(f)["classes"]
            if classes and classes[0]["decisions"]:
                self.ranges = classes[0]["decisions"][0]["ranges"]
                self.alignment = classes[0]["decisions"][0].get("alignment")

    def truth(self, lengths, field="ns"):
        """{length: {variant: ns}}"""
        asked = ",".join(map(str, lengths))
        told = json.loads(self.run("worker-sim", "world.json", "--truth", asked))
        return {length: {v["name"]: v[field][i] for v in told["variants"]}
                for i, length in enumerate(told["lengths"])}

    def range_at(self, length):
        """The range that holds a length; None where the file says nothing."""
        apart = self.alignment and length % self.alignment["multiple"] == 0
        ranges = self.alignment["ranges"] if apart else self.ranges
        at = bisect.bisect_right([r["from"] for r in ranges], length) - 1
        if at < 0 or length >= ranges[at].get("to", float("inf")):
            return None
        return ranges[at]

    def choice(self, length):
        """What would run: the file's variant, else the first of the world, as a built-in order."""
        found = self.range_at(length)
        return found["variant"]["name"] if found else self.names[0]

    def regrets(self, lengths, field="ns"):
        """Share of time that the choices lose at each length."""
        return [times[self.choice(length)] / min(times.values()) - 1
                for length, times in self.truth(lengths, field).items()]

    def device_s(self):
        """Device time of all samples so far, A/A controls included, in seconds."""
        rows = csv.DictReader(io.StringIO(self.run("export")))
        return sum(float(r["median_ns"]) * int(r["samples_n"]) for r in rows
                   if r["median_ns"]) * 1e-9

    def covers(self, crossing, name):
        """Whether the interval at the start of the range of `name` holds the true crossing, and its
        width in octaves; None where no range of it begins anywhere."""
        for found in self.ranges[1:]:
            evidence = found["evidence"]
            if found["variant"]["name"] == name and "from_low" in evidence:
                low, high = evidence["from_low"], evidence["from_high"]
                return low <= crossing <= high, math.log2(max(high, 1) / max(low, 1))
        return None
