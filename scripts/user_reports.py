#!/usr/bin/env python3
"""Answers every wish of the users' reports with a command and its result, and writes docs/evidence/user_reports.md.

usage: user_reports.py [--nsatune build/cpu/bin/nsatune] [--only WORD [--update]] [-o FILE.md] [--check]

--only answers the wishes with this word and prints them; with --update they take the place of the page's answers. --check runs no command: it exits 1 where the page has other wishes or commands than this script, or where a test or a figure
that an answer rests on is gone. Rates are of the machine that runs it; what only a GPU can say has the command for it.
"""
import argparse
import datetime
import os
import pathlib
import platform
import sys

from evidence import reports_bench
from evidence.reports_checklist import ROWS, TITLES

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/user_reports.md"


class Unrun(reports_bench.Bench):
    """Gives commands without running them."""

    def output(self, command, exits=(0,)):
        raise reports_bench.Failed("")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsatune", default=str(ROOT / "build/cpu/bin/nsatune"), help="the program")
    parser.add_argument("--only", help="wishes with this word, printed and not written")
    parser.add_argument("--update", action="store_true", help="with --only: put them into the page")
    parser.add_argument("-o", "--output", help="file to write (default docs/evidence/user_reports.md)")
    parser.add_argument("--check", action="store_true", help="compare the page with this script")
    return parser.parse_args()


def answers(bench, rows):
    for report, wish, answer in rows:
        print(f"{report}: {wish}", file=sys.stderr)
        command, result = answer(bench)
        yield f"| {report} | {wish} | {command} | {result.replace('|', '/')} |"


def page(lines):
    titles = "\n".join(f"- {number}: {title}" for number, title in TITLES.items())
    return f"""# What the users' reports asked for

Written by `scripts/user_reports.py` on {datetime.date.today()}; do not edit. Five reports of people who train with NSA:

{titles}

Figures that say CPU were measured by that command on {platform.processor() or platform.machine()}, {os.cpu_count()} cores, and say
nothing of a GPU. Figures of the H200 are those of [docs/results](../results/README.md). Rates are forward only but where a row
says that they are of training; the one is never judged by the other.

| report | wish | command | result |
|---|---|---|---|
""" + "\n".join(lines) + "\n"


def updated(text, lines):
    """The page with these answers instead of its own to the same wishes, and the head of today."""
    rows = text[text.index("\n| "):].strip().split("\n")[2:]
    for line in lines:
        begin = "|".join(line.split("|")[:3])
        places = [i for i, row in enumerate(rows) if row.startswith(begin + "|")]
        if len(places) != 1:
            sys.exit(f"user_reports: {PAGE.name} has no row '{begin}|'; write it whole")
        rows[places[0]] = line
    return page(rows)


def check(rows):
    """What differs between the page and this script."""
    text = PAGE.read_text()
    bench = Unrun("nsatune")
    for report, wish, answer in rows:
        if f"| {report} | {wish} |" not in text:
            yield f"{PAGE.name}: no row '{wish}' of report {report}"
        try:
            command, _ = answer(bench)
        except reports_bench.Failed as failed:
            if str(failed):
                yield f"{wish}: {failed}"
            continue
        if command not in text:
            yield f"{PAGE.name}: '{wish}' has another command"


def main():
    o = options()
    rows = [row for row in ROWS if not o.only or o.only in row[1]]
    if o.check:
        problems = list(check(rows))
        print("\n".join(problems), end="\n" if problems else "")
        sys.exit(1 if problems else 0)
    try:
        lines = list(answers(reports_bench.Bench(o.nsatune), rows))
    except reports_bench.Failed as failed:
        sys.exit(f"user_reports: {failed}")
    if o.only:
        print("\n".join(lines))
        if o.update:
            PAGE.write_text(updated(PAGE.read_text(), lines))
        return
    pathlib.Path(o.output or PAGE).write_text(page(lines))


if __name__ == "__main__":
    main()
