#!/usr/bin/env python3
"""Checks that the code in documents is copied from files that are compiled and tested.

    scripts/check_snippets.py              check all documents
    scripts/check_snippets.py --fix        copy the code into the documents
    scripts/check_snippets.py --self-test  check that each rule finds what it forbids

A comment before a fenced block says which region of which source file the block shows:

    <!-- snippet: tests/docs_tools_test.cpp tools-declare -->
    ```cpp
    ...
    ```

In the source the region is between the lines `// [tools-declare]` and `// [/tools-declare]`. The block must equal the
region without its common indentation. A comment without a region, `<!-- snippet: examples/short/1_one_answer.cpp -->`,
shows the whole file.

Rules:
  1. Every snippet names a file and a region that exist, and its block equals the region.
  2. A document with a snippet has no other C++ code: a block ```cpp without a snippet comment is an error.
  3. If documents show one region of a file, they show all of its regions.
"""

import pathlib
import re
import sys
import tempfile
import textwrap

SKIPPED = re.compile(r"^(build[^/]*|\.git|third_party)(/|$)")
SNIPPET = re.compile(
    r"^<!-- snippet: (?P<file>\S+)(?: (?P<name>\S+))? -->\n(?P<open>```[a-z+]*\n)(?P<code>.*?)(?P<close>^```$)",
    re.MULTILINE | re.DOTALL)
ANY_SNIPPET = re.compile(r"^<!-- snippet:.*$", re.MULTILINE)
ANY_CPP = re.compile(r"^```(cpp|c\+\+)$", re.MULTILINE)
REGION = re.compile(r"^[ \t]*// \[(?P<name>[a-z0-9-]+)\]\n(?P<code>.*?)^[ \t]*// \[/(?P=name)\]$",
                    re.MULTILINE | re.DOTALL)


WHOLE = None  # the name of the region that is the whole file


def regions(text):
    """The named regions of a source file, dedented, and the whole file."""
    named = {m["name"]: textwrap.dedent(m["code"]).strip("\n") + "\n" for m in REGION.finditer(text)}
    return {WHOLE: text} | named


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def documents(root):
    for path in sorted(root.rglob("*.md")):
        if not SKIPPED.match(path.relative_to(root).as_posix()):
            yield path


def check(root, fix):
    """All errors, one line each; with `fix`, the errors that could not be repaired."""
    problems, sources, shown = [], {}, {}
    for path in documents(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")

        def replace(match, text=text, name=name):
            where = f"{name}:{line_of(text, match.start())}"
            file, region = match["file"], match["name"]
            if file not in sources:
                source = root / file
                sources[file] = regions(source.read_text(encoding="utf-8")) if source.is_file() else None
            if sources[file] is None:
                problems.append(f"{where}: there is no file {file}")
                return match[0]
            shown.setdefault(file, set()).add(region)
            if region not in sources[file]:
                problems.append(f"{where}: {file} has no region [{region}]")
                return match[0]
            if match["code"] == sources[file][region]:
                return match[0]
            if not fix:
                what = file if region is WHOLE else f"[{region}] of {file}"
                problems.append(f"{where}: differs from {what}; scripts/check_snippets.py --fix repairs it")
            return match[0].replace(match["open"] + match["code"], match["open"] + sources[file][region], 1)

        repaired = SNIPPET.sub(replace, text)
        complete = {m.start() for m in SNIPPET.finditer(text)}
        marked = {m.start("open") for m in SNIPPET.finditer(text)}
        for match in ANY_SNIPPET.finditer(text):
            if match.start() not in complete:
                problems.append(f"{name}:{line_of(text, match.start())}: no fenced block follows this snippet comment")
        for match in ANY_CPP.finditer(text):
            if complete and match.start() not in marked:
                problems.append(f"{name}:{line_of(text, match.start())}: this code is not a snippet of a tested file")
        if fix and repaired != text:
            path.write_text(repaired, encoding="utf-8")
    for file, used in sorted(shown.items()):
        for region in sorted(set(sources[file]) - used - {WHOLE}):
            problems.append(f"{file}: no document shows the region [{region}]")
    return problems


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "t.cpp").write_text("{\n  // [a]\n  int x;\n    int y;\n  // [/a]\n  // [b]\n  // [/b]\n}\n")
        doc = root / "d.md"

        def problems(text, fix=False):
            doc.write_text(text)
            return check(root, fix)

        def block(name, code, file="t.cpp"):
            return f"<!-- snippet: {file} {name} -->\n```cpp\n{code}```\n"

        good = block("a", "int x;\n  int y;\n") + block("b", "\n")
        assert problems(good) == [], problems(good)
        assert "differs from [a]" in problems(good.replace("int x", "int z"))[0]
        assert problems(good.replace("int x", "int z"), fix=True) == [] and doc.read_text() == good
        assert "no region [c]" in problems(good + block("c", ""))[0]
        assert "no file u.cpp" in problems(good + block("a", "", "u.cpp"))[0]
        assert "no fenced block" in problems(good + "<!-- snippet: t.cpp a -->\n\n")[0]
        assert "not a snippet of a tested file" in problems(good + "```cpp\nint z;\n```\n")[0]
        assert "no document shows the region [b]" in problems(block("a", "int x;\n  int y;\n"))[0]
        assert problems("```cpp\nint z;\n```\n") == []
        (root / "whole.cpp").write_text("int main() {\n}\n")
        whole = "<!-- snippet: whole.cpp -->\n```cpp\nint main() {\n}\n```\n"
        assert problems(whole) == [], problems(whole)
        assert "differs from whole.cpp" in problems(whole.replace("main", "niam"))[0]
        assert problems(whole.replace("main", "niam"), fix=True) == [] and doc.read_text() == whole


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if arguments not in ([], ["--fix"]):
        return __doc__
    problems = check(pathlib.Path(__file__).resolve().parent.parent, fix=arguments == ["--fix"])
    return "\n".join(problems) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
