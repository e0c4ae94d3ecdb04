#!/usr/bin/env python3
"""The commands of examples/ci and docs/ci.md are ones that the program has, with flags that it has; the
container is built without what a build leaves, and the nightly workflow runs what only it can run.

usage: ci_examples_test.py NSATUNE REPOSITORY
"""
import pathlib
import re
import subprocess
import sys

COMMAND = re.compile(r'(?:^|\s|")(?:build/cuda/bin/)?(?:nsatune|"?\$NSATUNE"?) ([a-z]+(?: (?:merge|add))?)((?: [^|&\n]*)?)', re.M)


def help_of(program, words):
    done = subprocess.run([program, *words, "--help"], text=True, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def loose_rights(file):
    """What a workflow leaves to others: rights of its token, and actions that a tag may move."""
    text = file.read_text(encoding="utf-8")
    found = []
    if "jobs:" in text and not re.search(r"^permissions:", text, re.M):
        found.append(f"{file.name}: no permissions:, so that its token may write")
    for action in re.findall(r"uses: ([^\s.]\S*)", text):
        if not re.fullmatch(r"\S+@[0-9a-f]{40}", action):
            found.append(f"{file.name}: {action} is not pinned to a commit")
    return found


def copied_into_a_container(root):
    """What git ignores and `COPY . .` would copy; fetched sources (.deps) may be."""
    file = root / ".dockerignore"
    left_out = set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()
    found = []
    for line in (root / ".gitignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#") or line == "/.deps":
            continue
        pattern = line[1:] if line.startswith("/") else "**/" + line
        if pattern not in left_out:
            found.append(f".dockerignore: lacks {pattern}, which git ignores")
    return found


def not_run_nightly(root):
    """Long checks that nightly.yml leaves out, or a part of."""
    text = (root / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    wanted = ["try_packages", "compare_packages", "examples/ci/Containerfile", "debian:12", "ubuntu:24.04", "--privileged"]
    found = [f"nightly.yml: no {word}" for word in wanted if word not in text]
    stride = re.search(r"NSATUNE_FAULT_STRIDE: (\d+)", text)
    firsts = re.search(r"first: \[([\d, ]+)\]", text)
    tried = [int(first) for first in firsts.group(1).split(",")] if firsts else [0]
    if stride and tried != list(range(int(stride.group(1)))):
        found.append(f"nightly.yml: every {stride.group(1)}th call fails from {tried} on: not every call")
    return found


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted((root / "examples/ci").glob("*.yml")) + [root / "docs/ci.md"]
    wrong, seen = [], 0
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            words_of_line = line.split()
            command = COMMAND.search(line)
            if not command or not ("--" in line or "run:" in words_of_line):
                continue
            seen += 1
            text = help_of(program, command.group(1).split())
            if text is None:
                wrong.append(f"{file.name}: no command '{command.group(1)}': {line.strip()}")
                continue
            for flag in re.findall(r"(?<= )--?[a-z][a-z-]*", command.group(2)):
                if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text):
                    wrong.append(f"{file.name}: {command.group(1)} has no {flag}: {line.strip()}")
    for file in [*sorted((root / ".github/workflows").glob("*.yml")), *files[:-1]]:
        wrong += loose_rights(file)
    wrong += copied_into_a_container(root) + not_run_nightly(root)
    print("\n".join(wrong) or f"{seen} commands of {len(files)} files are right")
    return 1 if wrong or seen < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
