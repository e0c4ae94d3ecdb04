#!/usr/bin/env python3
"""A history of simulated nights through the real program: a step is planted, found and answered for.

usage: nightly_history.py [--nsatune PROGRAM] [--nights 60] [--step-at 46] [--db FILE]

Each night `nsatune sweep` measures two variants in a world of known times (`nsatune worker-sim`, virtual time, so that a night
takes less than a second); its run is then dated one day after the one before. From night --step-at on one variant takes 8 %
longer and is other code. Said is what `check`, `selftest` and `ack` answer; the exit code is 0 where all of it is as it should be.
With --db the database is kept, for a look at `nsatune report`.
"""
import argparse
import datetime
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

SPEC = {
    "schema_version": 1, "name": "nights",
    "policy": {"samples": 1, "processes": 5, "min_rounds": 2, "max_rounds": 2, "cold": False, "deadline_s": 5, "refine": False,
               "noise_gate": False},
    "families": [{"name": "small", "base": {"q_heads": 4, "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8,
                                            "cmp_stride": 4, "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
                  "axes": {"seq_len": [256, 1024]}}]}


def world(night, slower):
    launch, rate = (10800, 108) if slower else (10000, 100)
    return {"schema_version": 1, "seed": night + 1, "executor": "sim", "stages": ["attend_selected"],
            "noise": {"white_sigma": 0.004},
            "variants": [{"name": "kept", "process_sigma": 0.003, "time": {"launch_ns": 9000, "terms": [{"ns": 110, "order": 1}]}},
                         {"name": "changed", "source_hash": "new" if slower else "old", "process_sigma": 0.003,
                          "time": {"launch_ns": launch, "terms": [{"ns": rate, "order": 1}]}}]}


class History:
    def __init__(self, program, folder, db):
        self.program, self.folder, self.db = os.path.abspath(program), folder, db
        with open(os.path.join(folder, "spec.json"), "w", encoding="utf-8") as file:
            json.dump(SPEC, file)

    def run(self, *words):
        environment = dict(os.environ, NSATUNE_DEVICE="cpu", NSATUNE_LOCK_DIR=self.folder)
        return subprocess.run([self.program, *words, "--db", self.db], cwd=self.folder, env=environment, text=True,
                              capture_output=True, check=False)

    def add_night(self, night, slower):
        with open(os.path.join(self.folder, "world.json"), "w", encoding="utf-8") as file:
            json.dump(world(night, slower), file)
        done = self.run("sweep", "spec.json", "--new", "-q", "--json", "--worker", f"'{self.program}' worker-sim world.json")
        if done.returncode != 0:
            sys.exit(f"nightly_history: sweep ended with {done.returncode}: {done.stderr}")
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=night)
        with sqlite3.connect(self.db) as database:
            database.execute("UPDATE run SET started_at = ? WHERE id = ?", (f"{day}T02:00:00.000Z", json.loads(done.stdout)["run_id"]))
        database.close()

    def check(self, *more):
        done = self.run("check", "--json", *more)
        return done.returncode, json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def changes_of(document):
    return {one["name"]: [change["index"] for change in one["changes"]] for one in document["series"] if one["changes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsatune", default="./nsatune")
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--step-at", type=int, default=46)
    parser.add_argument("--db")
    args = parser.parse_args()
    wrong = []

    def expect(what, found, wanted):
        print(f"{'ok   ' if found == wanted else 'WRONG'} {what}: {found}")
        if found != wanted:
            wrong.append(what)

    with tempfile.TemporaryDirectory() as folder:
        history = History(args.nsatune, folder, os.path.abspath(args.db) if args.db else os.path.join(folder, "nights.sqlite"))
        for night in range(args.nights):
            if night == 3:
                expect("exit code of the third night (warming up)", history.check()[0], 3)
            if night == args.step_at:
                code, document = history.check()
                expect("exit code of the last night before the step", code, 0)
                expect("changes until then", changes_of(document), {})
            history.add_night(night, night >= args.step_at)
            if night == args.step_at + 1:
                expect("exit code of the second night after the step", history.check()[0], 1)
        code, document = history.check()
        expect("exit code of the last night", code, 1)
        regressed = sorted(one["name"] for one in document["series"] if one["regression"])
        print("      " + "; ".join(f"{one['name']}: {one['reason']}" for one in document["series"] if one["regression"]))
        expect("series that regressed", len(regressed), 2)
        expect("all of them of the variant that changed", all("changed" in name for name in regressed), True)
        expect("nights at which they begin", sorted({i for found in changes_of(document).values() for i in found}), [args.step_at])
        expect("selftest", history.run("selftest").returncode, 0)
        until = str(datetime.date(2026, 1, 1) + datetime.timedelta(days=args.nights + 30))
        acks = os.path.join(folder, "acks.yaml")
        expect("ack", subprocess.run([history.program, "ack", "add", "*changed*", "--reason", "exact ties cost 8 %", "--until", until,
                                      "--acks", acks], cwd=folder, check=False, capture_output=True).returncode, 0)
        expect("exit code with the acknowledgement", history.check("--acks", acks)[0], 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
