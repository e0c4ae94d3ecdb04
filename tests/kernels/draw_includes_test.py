"""The check of includes finds a shared folder that knows a stage, and nothing in the tree, of which the committed drawing is."""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/draw_includes"
DRAWING = ROOT / "docs/images/kernels_includes.svg"
# file, what it includes, whether that is wrong
PLANTED = [
    ("cuda/flash/band.cuh", "attend_selected/supports.hpp", True),
    ("cuda/flash/band.cuh", "../../attend_selected/supports.hpp", True),
    ("cpu/rows.cpp", "attend_selected/supports.hpp", True),
    ("cuda/flash/band.cuh", "cpu/rows.hpp", False),
    ("attend_selected/variants.cpp", "cuda/flash/tile.cuh", False),
]
HEADERS = ["attend_selected/supports.hpp", "cpu/rows.hpp", "cuda/flash/tile.cuh"]


def planted(root, path, included):
    kernels = root / "kernels"
    for name in HEADERS + [path]:
        (kernels / name).parent.mkdir(parents=True, exist_ok=True)
        (kernels / name).write_text("#pragma once\n")
    (kernels / path).write_text(f'#include "{included}"\n')


def check(root, *more):
    return subprocess.run([SCRIPT, "--root", root, *more], capture_output=True, text=True)


def drawn(svg):
    """Folders and arrows of a drawing: what Graphviz calls its parts, whatever their place."""
    return {html.unescape(title) for title in re.findall(r'class="(?:node|edge)">\s*<title>(.*?)</title>', svg)}


def declared(dot):
    """The same of the text that it is drawn from."""
    nodes = re.findall(r'^  "([^"]+)" \[', dot, re.M)
    return set(nodes) | {f"{a}->{b}" for a, b in re.findall(r'^  "([^"]+)" -> "([^"]+)";', dot, re.M)}


def stale(dot, svg):
    """What the drawing lacks, and what it has that is gone."""
    now, then = declared(dot), drawn(svg)
    return [f"lacks {part}" for part in sorted(now - then)] + [f"still has {part}" for part in sorted(then - now)]


def main():
    failed = 0
    for path, included, wrong in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            planted(root, path, included)
            done = check(root, "--output", root / "drawing.dot")
            arrow = "attend_selected" in (root / "drawing.dot").read_text()
            if (done.returncode == 1) != wrong or (f"kernels/{path}" in done.stdout) != wrong:
                print(f"wrong about {path} with {included}: {done.stdout}{done.stderr}")
                failed = 1
            if wrong and not arrow:
                print(f"no arrow drawn for {path} with {included}")
                failed = 1
    with tempfile.TemporaryDirectory() as folder:
        dot = pathlib.Path(folder, "tree.dot")
        tree = subprocess.run([SCRIPT, "--output", dot], capture_output=True, text=True)
        differences = stale(dot.read_text(), DRAWING.read_text())
    if differences:
        print(f"{DRAWING.relative_to(ROOT)} is stale; scripts/draw_includes --output {DRAWING.relative_to(ROOT)} draws it:",
              *differences, sep="\n  ")
        failed = 1
    print(tree.stdout, tree.stderr, sep="", end="")
    return failed or tree.returncode


if __name__ == "__main__":
    sys.exit(main())
