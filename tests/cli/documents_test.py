#!/usr/bin/env python3
"""README.md is at most 60 lines of at most 140 characters, and every link between documents leads somewhere.

usage: documents_test.py REPOSITORY
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def main():
    root = pathlib.Path(sys.argv[1])
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    wrong = [f"README.md:{n}: {len(line)} characters" for n, line in enumerate(lines, 1) if len(line) > 140]
    if len(lines) > 60:
        wrong.append(f"README.md: {len(lines)} lines")
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
