#!/usr/bin/env python3
"""bisect finds the right one of 64 commits of a real git repository, whose program plays times.

usage: bisect_test.py NSATUNE

Commit n says in a file that it is the n-th; from --first-bad on the program prints times that are 5 % longer, with an SD of 1 %.
One commit in the middle does not build, and one crashes when it is measured: git has to go around those that it meets.
"""
import os
import random
import subprocess
import sys
import tempfile

COMMITS, FIRST_BAD, STEP, SD = 64, 37, 0.05, 0.01
NO_BUILD, CRASH = 32, 39

# Noise comes from a list that every process reads on, so that a run can be repeated.
PLAY = f"""#!/bin/sh
number=$(cat number)
[ "$number" != {CRASH} ] || exit 9
line=$(($(cat "$STATE/used") + 1))
echo $line > "$STATE/used"
echo "some words"
awk -v n="$number" -v at=$line 'NR == at {{ print 100 * $1 * (n >= {FIRST_BAD} ? {1 + STEP} : 1) }}' "$STATE/noise"
"""
BUILD = f'echo "$(cat number)" >> "$STATE/builds" && [ "$(cat number)" != {NO_BUILD} ]'


def main():
    nsatune = os.path.abspath(sys.argv[1])
    rng = random.Random(64)
    with tempfile.TemporaryDirectory() as folder:
        repo, state = os.path.join(folder, "repo"), os.path.join(folder, "state's")
        os.makedirs(repo)
        os.makedirs(state)
        environment = dict(os.environ, STATE=state, HOME=folder, XDG_CACHE_HOME=os.path.join(folder, "cache"),
                           GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
        for name in ("AUTHOR", "COMMITTER"):
            environment[f"GIT_{name}_NAME"] = environment[f"GIT_{name}_EMAIL"] = "somebody"
            environment[f"GIT_{name}_DATE"] = "2026-01-01T00:00:00Z"  # where git goes from a skipped commit is by its hashes

        def run(*words, code=0):
            done = subprocess.run(words, cwd=repo, env=environment, text=True, capture_output=True, check=False)
            if done.returncode != code:
                sys.exit(f"{' '.join(words)} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
            return done.stdout

        def write(name, text, where=repo):
            with open(os.path.join(where, name), "w", encoding="utf-8") as file:
                file.write(text)

        write("used", "0\n", state)
        write("noise", "".join(f"{rng.lognormvariate(0, SD)}\n" for _ in range(10000)), state)
        run("git", "init", "-q")
        commits = []
        for number in range(COMMITS + 1):
            write("play", PLAY)
            os.chmod(os.path.join(repo, "play"), 0o755)
            write("number", f"{number}\n")
            run("git", "add", "-A")
            run("git", "commit", "-q", "-m", f"commit {number}")
            commits.append(run("git", "rev-parse", "HEAD").strip())
        history = "time,commit,forward_ms,steady_ms\n"
        for night in range(30):
            slow = night >= 26
            for _ in range(4):
                ms = 100 * rng.lognormvariate(0, SD) * (1 + STEP if slow else 1)
                history += f"{night},{commits[COMMITS if slow else 0]},{ms},{100 * rng.lognormvariate(0, SD)}\n"
        write("history.csv", history, folder)
        script = os.path.join(folder, "bisect.sh")
        csv = os.path.join(folder, "history.csv")
        said = run(nsatune, "bisect", "--csv", csv, "--build", BUILD, "--measure", "./play", "-o", script)
        for words in ("forward_ms", commits[0], commits[COMMITS]):
            if words not in said:
                sys.exit(f"bisect does not say {words}:\n{said}")
        run("git", "bisect", "start", commits[COMMITS], commits[0])
        out = run("git", "bisect", "run", script)
        with open(os.path.join(state, "builds"), encoding="utf-8") as file:
            builds = file.read().split()
    print(f"{len(builds)} builds: {' '.join(builds)}")
    if f"{commits[FIRST_BAD]} is the first bad commit" not in out:
        sys.exit(f"commit {FIRST_BAD} {commits[FIRST_BAD]} was not found:\n{out}")
    if len([number for number in builds if int(number) not in (NO_BUILD, CRASH)]) > 10:
        sys.exit("more than 10 builds of commits that can be told")
    if str(NO_BUILD) not in builds or builds[0] != "0":
        sys.exit("the good commit is not built first, or the one that does not build was not met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
