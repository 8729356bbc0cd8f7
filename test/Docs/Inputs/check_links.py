# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds links of README.md and docs/ that lead nowhere, files that the pages
name and the repository lacks, and pages that docs/README.md does not list."""
import glob
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
problems = []


def anchors(page):
    for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def prose(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


for page in pages:
    text = prose(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = page if not path else page.parent / path
        if not linked.exists():
            problems.append(f"{page}: no file for link '{target}'")
        elif anchor and anchor not in anchors(linked):
            problems.append(f"{page}: no section for link '{target}'")
    named = r"(?<![\w/.-])(?:lib|include|test|tools|scripts|docs|benchmarks|cmake|python|examples)/[\w./*+-]*[\w*]"
    for path in re.findall(named, text):
        if not glob.glob(str(root / path)):
            problems.append(f"{page}: no file '{path}'")

index = (root / "docs/README.md").read_text()
for page in pages[1:]:
    name = page.relative_to(root / "docs").as_posix()
    if name != "README.md" and f"({name})" not in index:
        problems.append(f"docs/README.md: does not list {name}")

print("\n".join(problems))
sys.exit(bool(problems))
