#!/usr/bin/env python3
"""A year of nights as a database and as CSV, and what `nsatune check` takes of memory and time to judge it.

usage: big_history.py [--nsatune PROGRAM] [--series 360] [--nights 365] [--replicates 10] [--samples 38] [--db FILE] [--figures]

One night is measured by the real `sweep` with the playback worker (virtual time); the other nights are copies of it with other
ids, days and seeded times, a row a replicate with as many samples as --samples says: 50 million in all unless told otherwise.
The CSV file has one value a replicate, without samples. With --db the database is kept, and used again where it is there.
--figures prints rows for `nightly_rates --more`: what, goal, measured, met, with tabs between them. The exit code is 0 where every
goal is met.
"""
import argparse
import array
import datetime
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

MOST_SECONDS, MOST_MEGABYTES = 2, 200


def spec(lengths):
    return {"schema_version": 1, "name": "year",
            "policy": {"samples": 1, "processes": 1, "min_rounds": 1, "max_rounds": 1, "cold": False, "deadline_s": 5,
                       "refine": False, "noise_gate": False, "control": False},
            "families": [{"name": "small", "base": {"q_heads": 4, "kv_heads": 2, "head_dim_k": 16, "head_dim_v": 16, "cmp_block": 8,
                                                    "cmp_stride": 4, "sel_block": 8, "sel_count": 4, "window": 16, "dtype": "fp32"},
                          "axes": {"seq_len": [64 * (i + 1) for i in range(lengths)]}}]}


def world(variants):
    return {"schema_version": 1, "seed": 1, "executor": "sim", "stages": ["attend_selected"],
            "variants": [{"name": f"v{i}", "time": {"launch_ns": 10000, "terms": [{"ns": 100 + i, "order": 1}]}}
                         for i in range(variants)]}


def one_night(program, folder, db, series):
    """The real sweep of one night: `series` rows or a few more, of ten variants."""
    for name, content in (("spec.json", spec((series + 9) // 10)), ("world.json", world(10))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    subprocess.run([program, "sweep", "spec.json", "-q", "--json", "--db", db, "--worker", f"'{program}' worker-sim world.json"],
                   cwd=folder, env=dict(os.environ, NSATUNE_DEVICE="cpu", NSATUNE_LOCK_DIR=folder), check=True, stdout=subprocess.DEVNULL)


def blobs(samples, rng):
    """Some packed samples, as schemas/sql/001_initial.sql says."""
    made = []
    for _ in range(64):
        times = array.array("q", [100000 + rng.randrange(1000) for _ in range(samples)])
        starts = array.array("q", [10 ** 9 + 10 ** 6 * i for i in range(samples)])
        made.append(struct.pack("<BBHI", 1, 0, 0, samples) + starts.tobytes() + times.tobytes() + times.tobytes())
    return made


def fill(db, series, nights, replicates, samples):
    rng = random.Random(25)
    made = blobs(samples, rng)
    database = sqlite3.connect(db, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    run_columns = [row[1] for row in database.execute("PRAGMA table_info(run)")]
    columns = [row[1] for row in database.execute("PRAGMA table_info(measurement)")]
    [run] = database.execute("SELECT * FROM run").fetchall()
    rows = database.execute("SELECT * FROM measurement WHERE control = 0 AND outcome = 'ok' GROUP BY problem_id, variant_id "
                            "ORDER BY problem_id, variant_id LIMIT ?", (series,)).fetchall()
    assert len(rows) == series, f"{len(rows)} rows of a night, {series} were asked for"
    at = {name: i for i, name in enumerate(columns)}
    insert = f"INSERT INTO measurement VALUES ({','.join('?' * len(columns))})"
    database.execute("BEGIN")
    for night in range(nights):
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=night)
        run_id = f"{night:08d}-0000-4000-8000-000000000000"
        values = dict(zip(run_columns, run), id=run_id, started_at=f"{day}T02:00:00.000Z", ended_at=f"{day}T03:00:00.000Z",
                      state="complete")
        database.execute(f"INSERT INTO run VALUES ({','.join('?' * len(run_columns))})", list(values.values()))
        for table in ("environment_fact", "device"):
            names = ", ".join(row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[1] != "run_id")
            database.execute(f"INSERT INTO {table} (run_id, {names}) SELECT ?, {names} FROM {table} WHERE run_id = ?", (run_id, run[0]))
        batch = []
        for number, row in enumerate(rows):
            level = row[at["median_ns"]] * (1 + 0.005 * rng.gauss(0, 1))
            for replicate in range(replicates):
                copy = list(row)
                key = f"{night}-{number}-{replicate}"
                copy[at["id"]], copy[at["job_key"]], copy[at["run_id"]] = key, key, run_id
                copy[at["process"]] = replicate
                copy[at["median_ns"]] = level * (1 + 0.003 * rng.gauss(0, 1))
                copy[at["samples_n"]], copy[at["samples"]] = samples, made[(number + replicate) % len(made)]
                copy[at["measured_at"]] = f"{day}T02:{number % 60:02d}:{replicate:02d}.000Z"
                batch.append(copy)
        database.executemany(insert, batch)
    database.execute("DELETE FROM run WHERE id = ?", (run[0],))
    database.execute("DELETE FROM measurement WHERE run_id = ?", (run[0],))
    database.execute("COMMIT")
    database.close()


def keep_series(program, folder, db):
    """The series of all nights, as the end of another sweep keeps them; that sweep is taken out again. Seconds of the sweep."""
    began = time.monotonic()
    one_night(program, folder, db, 1)
    seconds = time.monotonic() - began
    database = sqlite3.connect(db)
    [run] = database.execute("SELECT id FROM run WHERE substr(id, 9) <> '-0000-4000-8000-000000000000'").fetchone()
    for table in ("measurement", "environment_fact", "device", "library", "run_series"):
        database.execute(f"DELETE FROM {table} WHERE run_id = ?", (run,))
    database.execute("DELETE FROM run WHERE id = ?", (run,))
    database.commit()
    return seconds


def write_csv(path, series, nights, replicates):
    rng = random.Random(26)
    with open(path, "w", encoding="utf-8") as file:
        file.write("time," + ",".join(f"s{i}" for i in range(series)) + "\n")
        for night in range(nights):
            levels = [100 * (1 + 0.005 * rng.gauss(0, 1)) for _ in range(series)]
            for _ in range(replicates):
                file.write(f"{night}," + ",".join(f"{level * (1 + 0.003 * rng.gauss(0, 1)):.6g}" for level in levels) + "\n")


def peak_and_time(command):
    """The highest resident memory in MB, seconds of processor, and the document of a check, which must judge (exit 0 or 1)."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"big_history: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsatune", default="./nsatune")
    for name, default in (("series", 360), ("nights", 365), ("replicates", 10), ("samples", 38)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--db")
    parser.add_argument("--rows", action="store_true", help="without what the end of a sweep keeps: check reads row by row")
    parser.add_argument("--figures", action="store_true")
    args = parser.parse_args()
    program = os.path.abspath(args.nsatune)
    with tempfile.TemporaryDirectory() as folder:
        db = os.path.abspath(args.db) if args.db else os.path.join(folder, "year.sqlite")
        if not os.path.exists(db):
            one_night(program, folder, db, args.series)
            fill(db, args.series, args.nights, args.replicates, args.samples)
            if not args.rows:
                print(f"the series of all nights were kept in {keep_series(program, folder, db):.1f} s", file=sys.stderr)
        samples = sqlite3.connect(db).execute("SELECT sum(samples_n) FROM measurement").fetchone()[0]
        memory, seconds, document = peak_and_time([program, "check", "--json", "--db", db])
        gigabytes = os.path.getsize(db) / 1e9
        csv = os.path.join(folder, "year.csv")
        write_csv(csv, args.series, args.nights, args.replicates)
        csv_seconds = peak_and_time([program, "check", "--json", "--csv", csv])[1]
    year = f"{len(document['series'])} series, {document['nights']} nights, {args.replicates} replicates"
    figures = [(f"`check` of a database of {samples / 1e6:.1f} million samples ({year}; {gigabytes:.1f} GB): most memory",
                f"under {MOST_MEGABYTES} MB", f"{memory:.0f} MB", memory < MOST_MEGABYTES),
               (f"the same, one core", f"under {MOST_SECONDS} s", f"{seconds:.1f} s", seconds < MOST_SECONDS),
               (f"`check --csv` of {year}, one core", f"under {MOST_SECONDS} s", f"{csv_seconds:.1f} s", csv_seconds < MOST_SECONDS)]
    for what, goal, measured, met in figures:
        print("\t".join((what, goal, measured, "met" if met else "missed")) if args.figures else f"{what}: {measured} ({goal})")
    return 0 if all(figure[3] for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
