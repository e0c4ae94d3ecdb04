"""Answers to the wishes of the users' reports: a command that ran, a test, a figure of a GPU with its file, or a refusal."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = "CPU"  # what a figure that is measured here is called


class Failed(Exception):
    """An answer that does not hold any more."""


class Bench:
    """Runs commands once, in a folder of its own; `jobs` of a test are its names in the sources."""

    def __init__(self, nsatune):
        self.nsatune = str(pathlib.Path(nsatune).resolve())
        self.folder = tempfile.TemporaryDirectory()
        self.seen = {}
        self.tests = "\n".join(path.read_text() for path in sorted(ROOT.glob("tests/**/*.[cp][py]*")) if path.suffix != ".pyc") + "\n".join(
            path.read_text() for path in ROOT.glob("tests/**/CMakeLists.txt"))

    def output(self, command, exits=(0,)):
        """stdout of `nsatune command`."""
        if command not in self.seen:
            words = command.split()
            variables = {k: v for k, v in os.environ.items() if not k.startswith("NSA")}
            while "=" in words[0]:
                name, value = words.pop(0).split("=", 1)
                variables[name] = value
            done = subprocess.run([self.nsatune, *words], cwd=self.folder.name, env=variables, capture_output=True,
                                  text=True)
            self.seen[command] = done
        done = self.seen[command]
        if done.returncode not in exits:
            raise Failed(f"nsatune {command}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def document(self, command, exits=(0,)):
        return json.loads(self.output(command, exits))


def code(command):
    return "`" + command.replace("|", "\\|") + "`"


def ran(command, extract, exits=(0,)):
    """What a command says here; `extract` makes a line of its JSON (with --json) or of its text."""
    def answer(bench):
        whole = command + (" --json" if "--json" not in command and extract.__name__ != "text" else "")
        data = bench.output(command, exits) if extract.__name__ == "text" else bench.document(whole, exits)
        return code(typed(command)), extract(data)
    return answer


def typed(command):
    """As one types it: variables stand before the program."""
    words = command.split(" ")
    first = next(i for i, word in enumerate(words) if "=" not in word)
    return " ".join([*words[:first], "nsatune", *words[first:]])


def line(pattern):
    """The first match in a text."""
    def text(output):
        match = re.search(pattern, output, re.M)
        if not match:
            raise Failed(f"no {pattern!r} in what it printed")
        return match.group(match.lastindex or 0).strip()
    return text


def test(name, says, preset="cpu"):
    """A test case that exists."""
    def answer(bench):
        if name not in bench.tests:
            raise Failed(f"no test {name!r}")
        return code(f'ctest --preset {preset} -R "{name}"'), says
    return answer


def gpu_test(name, says):
    """A test case that needs a GPU, which a run on the H200 passed."""
    def answer(bench):
        if name not in (ROOT / "docs/results/h200_checks.txt").read_text():
            raise Failed(f"docs/results/h200_checks.txt has no test {name!r}")
        command, _ = test(name, "", "cuda")(bench)
        return command, f"not run here (no GPU). H200: good, {says} ([h200_checks.txt](../results/h200_checks.txt))"
    return answer


def gpu(command, file, pattern, says):
    """A figure of the H200 that stands in a file of docs/results."""
    def answer(_):
        text = (ROOT / "docs/results" / file).read_text()
        match = re.search(pattern, text, re.M)
        if not match:
            raise Failed(f"docs/results/{file} has no {pattern!r}")
        return code(command), f"not measured here (no GPU). H200: {says.format(*match.groups())} " \
                              f"([{file}](../results/{file}))"
    return answer


def only_gpu(command, why):
    """What nobody has measured yet, and how it would be."""
    return lambda _: (code(command), f"not measured here: {why}")


def refused(command, why, file=None, pattern=None):
    """What is not done, with the figures that say so."""
    def answer(_):
        figures = ""
        if file:
            match = re.search(pattern, (ROOT / "docs/results" / file).read_text(), re.M)
            if not match:
                raise Failed(f"docs/results/{file} has no {pattern!r}")
            figures = f" ([{file}](../results/{file}))"
            return (code(command) if command else "-"), "refused: " + why.format(*match.groups()) + figures
        return (code(command) if command else "-"), "refused: " + why
    return answer


def both(first, second):
    """Two answers to one wish."""
    def answer(bench):
        (a, b), (c, d) = first(bench), second(bench)
        return f"{a}<br>{c}", f"{b}<br>{d}"
    return answer
