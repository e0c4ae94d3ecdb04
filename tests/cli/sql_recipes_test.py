"""Runs each recipe of docs/sql.md on a database that the program makes.

sql_recipes_test.py NSATUNE DOCS_SQL_MD [--pandas]

Without --pandas: every block of SQL, and those of Python that need no pandas. With it: all blocks of
Python, in their order; exit 77 (skipped) where pandas is missing.
"""
import contextlib
import importlib.util
import io
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

SPEC = {
    "schema_version": 1,
    "name": "small",
    "policy": {"samples": 2, "processes": 1, "min_rounds": 2, "max_rounds": 3, "noise_gate": False,
               "refine": False, "verify_rows": 8},
    "families": [
        {
            "name": "small",
            "stages": ["score"],
            "base": {
                "seq_lens": [256], "context_lens": [0], "q_heads": 2, "kv_heads": 1,
                "head_dim_k": 16, "head_dim_v": 16, "dtype": "bf16"
            },
            "axes": {"seq_len": ["256", "512"]},
        }
    ],
}


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def run(nsatune, *arguments, **variables):
    subprocess.run([nsatune, *arguments], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **variables})


def fail_one_visit():
    """No variant of ours fails here, and one recipe lists what failed."""
    with sqlite3.connect("results.sqlite") as db:
        db.execute("UPDATE measurement SET outcome = 'timeout', reason = 'no answer in 5 s', median_ns = NULL "
                   "WHERE id = (SELECT min(id) FROM measurement WHERE control = 0)")


def make_database(nsatune):
    with open("small.json", "w") as file:
        json.dump(SPEC, file)
    for _ in range(2):
        run(nsatune, "sweep", "small.json", "--new", "--quiet")
    fail_one_visit()
    tiny = ["run", "--preset", "tiny", "--steps", "1", "--no-thresholds", "--quiet"]
    run(nsatune, *tiny, "--seq-len", "32", "--decode", "2", NSA_USE_FA2="0")
    run(nsatune, *tiny, "--seq-len", "64", NSA_USE_FA2="1")


def check_sql(db, query):
    cursor = db.execute(query)
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    assert rows, f"no rows:\n{query}"
    for name, values in zip(names, zip(*rows)):
        assert any(value is not None for value in values), f"{name} is NULL everywhere:\n{query}"
    return [dict(zip(names, row)) for row in rows]


def check_medians(db):
    """The view against Python's median of the same rows."""
    rows = db.execute("SELECT run_id, variant_id, problem_id, median_ns FROM measurement WHERE outcome = 'ok' AND "
                      "verification <> 'wrong_result' AND control = 0 AND held_out = 0").fetchall()
    expected = {}
    for *key, median_ns in rows:
        expected.setdefault(tuple(key), []).append(median_ns / 1e6)
    seen = db.execute("SELECT run_id, variant, problem_id, median_ms FROM variant_summary").fetchall()
    assert len(seen) == len(expected) > 4
    for *key, median_ms in seen:
        assert abs(median_ms - statistics.median(expected[tuple(key)])) < 1e-9 * median_ms


def check_plain(text):
    db = sqlite3.connect("results.sqlite")
    queries = blocks(text, "sql")
    assert len(queries) >= 8
    for query in queries:
        check_sql(db, query)
    check_medians(db)
    for recipe in blocks(text, "python"):
        if "pandas" in recipe or "pd." in recipe or "summary" in recipe:
            continue
        names = {}
        exec(recipe, names)
        assert names["rows"] and all(len(names["times_ns"][id]) == n for id, _, n in names["rows"])


def check_pandas(text):
    names, printed = {}, io.StringIO()
    for recipe in blocks(text, "python"):
        with contextlib.redirect_stdout(printed):
            exec(recipe, names)
    assert "256" in printed.getvalue()
    assert not names["table"].empty and not names["speed"].empty
    assert (names["summary"].vs_best >= 1).all()
    counted = names["db"].execute("SELECT sum(samples_n) FROM measurement").fetchone()[0]
    assert len(names["every_sample"]) == counted


def main():
    nsatune, document, *options = sys.argv[1:]
    nsatune = os.path.abspath(nsatune)
    if options == ["--pandas"] and importlib.util.find_spec("pandas") is None:
        print("skipped: this Python has no pandas")
        return 77
    with open(document) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_database(nsatune)
        (check_pandas if "--pandas" in options else check_plain)(text)
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
