#!/usr/bin/env python3
"""README.md is at most 60 lines of at most 140 characters, its figures are those of the files that they come from,
and every link between documents leads somewhere.

usage: documents_test.py REPOSITORY
"""
import json
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def numbers(pattern, text):
    found = re.search(pattern, text, re.M)
    if not found:
        sys.exit(f"no page says {pattern}")
    return [float(group.replace(",", "")) for group in found.groups()]


def measured_ms(root, setting):
    """Of a forward pass of the 125M model at 2,048 tokens."""
    table = (root / "docs/results/users_tables.md").read_text(encoding="utf-8")
    return numbers(rf"^\| 2048 \| {setting} \|[^|]*\| ([\d.]+) \|", table)[0]


def break_even(root, q_heads):
    """Tokens from which on NSA attention beats dense attention, by the file that ships, in prefill."""
    classes = json.loads((root / "kernels/tuned/nvidia_h200.json").read_text(encoding="utf-8"))["classes"]
    return [c["dense_break_even"]["from"] for c in classes
            if "dense_break_even" in c and c["problem_class"]["phase"] == "prefill"
            and c["problem_class"].get("direction", "forward") == "forward"
            and c["problem_class"]["q_heads"] == q_heads and c["problem_class"]["batch_bin"] == "1"]


def wrong_figures(root):
    """A line for each figure of the pages that the files do not have, to as many digits as are written."""
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    results = " ".join((root / "docs/results/README.md").read_text(encoding="utf-8").split())
    nsa, dense = numbers(r"takes ([\d.]+) ms with NSA and ([\d.]+) ms with dense", readme)
    short, wide = numbers(r"from about ([\d,]+) tokens on \([^:]*: ([\d,]+)\)", readme)
    exact = numbers(r"from ([\d,]+) tokens on in prefill \(from ([\d,]+) with", results)
    by_shape = [break_even(root, q_heads) for q_heads in (12, 64)]
    checks = [("README.md", "ms with NSA", nsa, round(measured_ms(root, "all branches"), 2)),
              ("README.md", "ms with dense attention", dense, round(measured_ms(root, "dense attention"), 2)),
              ("README.md", "break-even of 12 heads", [short], [round(n, -3) for n in by_shape[0]]),
              ("README.md", "break-even of 64 heads", [wide], [round(n, -3) for n in by_shape[1]]),
              ("docs/results/README.md", "break-evens", [[n] for n in exact], by_shape)]
    return [f"{page}: {what} {said}, the files have {has}" for page, what, said, has in checks if said != has]


def main():
    root = pathlib.Path(sys.argv[1])
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    wrong = [f"README.md:{n}: {len(line)} characters" for n, line in enumerate(lines, 1) if len(line) > 140]
    if len(lines) > 60:
        wrong.append(f"README.md: {len(lines)} lines")
    wrong += wrong_figures(root)
    pages = [root / "README.md", root / "CONTRIBUTING.md", root / "schemas/README.md",
             *sorted((root / "docs").rglob("*.md"))]
    links = 0
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            if not (page.parent / target).exists():
                wrong.append(f"{page.relative_to(root)}: {target} is not there")
    print("\n".join(wrong) or f"{links} links of {len(pages)} pages lead somewhere")
    return 1 if wrong or links < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
