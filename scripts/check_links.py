#!/usr/bin/env python3
"""Checks that relative links in documents point to a file that exists and to a heading that it has.

    scripts/check_links.py              check all documents
    scripts/check_links.py --self-test  check that the check finds wrong links

Links to other sites are not checked. Headings have the anchors that GitHub gives them.
"""

import pathlib
import re
import sys
import tempfile

from check_snippets import documents, line_of

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def blanked(pattern, text):
    """The text with every match replaced by as many lines, so that line numbers stay."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def anchors(text):
    """The anchors of all headings; a repeated heading gets a number."""
    found, counts = set(), {}
    for match in HEADING.finditer(blanked(FENCED, text)):
        anchor = re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-")
        count = counts.get(anchor, 0)
        counts[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def check(root):
    """All wrong links, one line each."""
    errors = []
    for path in documents(root):
        text = blanked(FENCED, path.read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            target = match[1]
            if re.match(r"[a-z]+:", target):
                continue
            where = f"{path.relative_to(root).as_posix()}:{line_of(text, match.start())}"
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                errors.append(f"{where}: there is no file {name}")
            elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                errors.append(f"{where}: {name or 'this page'} has no heading #{anchor}")
    return errors


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.md").write_text("# Filters and `on_event`\n## Notes\n## Notes\n```\n# no heading\n```\n")

        def errors(text):
            (root / "b.md").write_text(text)
            return check(root)

        assert errors("[a](a.md) [a](a.md#notes-1) [web](https://example.org/x)") == []
        assert errors("[`a`](a.md#filters-and-on_event)\n# B\n[b](#b)") == []
        assert errors("```\n[a](c.md)\n```\n") == []
        assert errors("\n[c](c.md)") == ["b.md:2: there is no file c.md"]
        assert errors("[a](a.md#no-heading)") == ["b.md:1: a.md has no heading #no-heading"]
        assert errors("[b](#c)") == ["b.md:1: this page has no heading #c"]


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments:
        return __doc__
    return "\n".join(check(pathlib.Path(__file__).resolve().parent.parent)) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
