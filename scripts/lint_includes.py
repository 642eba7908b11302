#!/usr/bin/env python3
"""Checks that includes follow the order of the layers.

    scripts/lint_includes.py              check the repository
    scripts/lint_includes.py --self-test  check that each rule finds what it forbids

Rules:
  1. A file of src/<layer>/ includes only files of its own layer and of the layers that LAYERS lists for it.
     PUBLIC_HEADERS has the layer of each public header.
  2. A public header includes only public headers, the standard library and nlohmann/json. allm/asio.hpp and its
     implementation may include Asio; no file of include/ or src/ includes allm/asio.hpp.
  3. Headers include one another without cycles.
  4. Every file included with quotes exists; paths start at src/ or at include/.
  5. File names are snake_case.
  6. Examples, tests and benchmarks do not include the headers in allm/detail/.
  7. Only src/cli/command/parser.cpp includes CLI11.
Tests (*_test.cpp) may include every layer except the command, because they may need an engine with a scripted model, and
the shared headers in tests/.
"""

import pathlib
import re
import sys
import tempfile

# The layers that each layer may include, besides itself. A layer of MAIN_LINE may include all layers before it.
MAIN_LINE = ["data", "schema", "runtime", "process", "engine", "tools", "lanes", "chat", "session", "stores"]
LAYERS = {layer: set(MAIN_LINE[:i]) for i, layer in enumerate(MAIN_LINE)}
LAYERS["http"] = {"data", "runtime"}
LAYERS["providers"] = {"data", "schema", "runtime", "engine", "http"}
LAYERS["top"] = set(LAYERS)  # allm/allm.hpp
LAYERS["testing"] = set(LAYERS)
LAYERS["cli"] = set(LAYERS)
LAYERS["helper"] = set(MAIN_LINE)  # the executable allm-helper

# The layer of each header in include/allm/. Those in detail/ are the implementation of public templates: programs do
# not include them.
PUBLIC_HEADERS = {
    "data": "detail/handler_forms end error event handler json lane limits media message model pending_call repair request response result "
            "serialize session thread tool tool_outcome trace usage validate",
    "schema": "describe detail/describe schema structured typed_tool",
    "runtime": "asio detail/asio_operation runtime stream wake_queue",
    "engine": "adapter approval budget catalogue engine executor keys options prepare_step retry telemetry",
    "tools": "tool_help",
    "lanes": "tool_runner tools_file workers",
    "chat": "agent_tool approve chat collector fallback result_stream steps",
    "session": "session_file session_ops",
    "stores": "session_export session_runner store stored_budget work_queue",
    "providers": "demo providers",
    "testing": "conformance fake recording scenario store_conformance testing",
    "top": "allm",
}
LAYER_OF_HEADER = {name: layer for layer, names in PUBLIC_HEADERS.items() for name in names.split()}

# What a public header may include with <>, besides the standard library (names without a slash or dot).
PUBLIC_THIRD_PARTY = {"nlohmann/json.hpp", "nlohmann/json_fwd.hpp"}
# The bridge to Asio, which no other file of include/ or src/ may include.
ASIO_BRIDGE = "allm/asio.hpp"
ASIO_FILES = {"include/allm/asio.hpp", "include/allm/detail/asio_operation.hpp"}

# The only file that includes CLI11.
COMMAND_LINE_PARSER = "src/cli/command/parser.cpp"


def is_allowed_in_public(path, target):
    bridge = path in ASIO_FILES and target.startswith(("boost/asio/", "asio/"))
    return bridge or target in PUBLIC_THIRD_PARTY


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SNAKE_CASE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*\.(hpp|cpp)")


def includes(path):
    """(line, '<' or '"', included name) of each include in a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(text)]


def layer_of(path):
    """The layer of a path such as src/data/codec.hpp or include/allm/json.hpp; None if unknown."""
    if path.startswith("include/"):
        return LAYER_OF_HEADER.get(path.removeprefix("include/allm/").removesuffix(".hpp"))
    layer = path.split("/")[1]
    return layer if layer in LAYERS else None


def find_cycle(graph):
    """The nodes of a cycle, the first one also at the end; None if there is no cycle."""
    done, trail = set(), []

    def visit(node):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done:
            return None
        trail.append(node)
        for target in graph.get(node, ()):
            cycle = visit(target)
            if cycle:
                return cycle
        trail.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def detail_in_programs(root):
    """Programs are written as users write theirs: with the public headers only."""
    files = sorted(f for top in ("examples", "tests", "bench") for f in (root / top).rglob("*.[ch]pp"))
    return [f"{f.relative_to(root).as_posix()}:{line}: a program does not include {target}; include the public header"
            for f in files for line, _, target in includes(f) if target.startswith("allm/detail/")]


def check(root):
    """All problems of the tree at root, one text each."""
    problems = []
    files = sorted(f.relative_to(root).as_posix() for top in ("include", "src") for f in (root / top).rglob("*")
                   if f.suffix in {".hpp", ".cpp", ".h", ".cc"})
    graph = {}
    for path in files:
        name = pathlib.PurePosixPath(path).name
        public = path.startswith("include/")
        test = path.endswith("_test.cpp")
        if not SNAKE_CASE.fullmatch(name):
            problems.append(f"{path}: file names are snake_case and end in .hpp or .cpp")
        layer = layer_of(path)
        if layer is None:
            what = "header" if public else "folder"
            problems.append(f"{path}: this {what} has no layer yet; give it one in scripts/lint_includes.py")
            continue
        for line, style, target in includes(root / path):
            where = f"{path}:{line}"
            if test and target.startswith("tests/") and (root / target).is_file():
                continue
            if style == "<":
                if target.startswith("CLI/") and path != COMMAND_LINE_PARSER:
                    problems.append(f"{where}: only {COMMAND_LINE_PARSER} includes <{target}>")
                elif target.startswith("allm/"):
                    problems.append(f'{where}: write "{target}", not <{target}>')
                elif public and re.search(r"[/.]", target) and not is_allowed_in_public(path, target):
                    problems.append(f"{where}: a public header shows no type of <{target}>")
                continue
            if target == ASIO_BRIDGE:
                problems.append(f"{where}: only programs include {ASIO_BRIDGE}")
                continue
            found = next((f"{top}/{target}" for top in ("include", "src") if (root / top / target).is_file()), None)
            if found is None and ((root / path).parent / target).is_file():
                full = path.removeprefix("src/").removeprefix("include/").rsplit("/", 1)[0] + "/" + target
                problems.append(f'{where}: write "{full}": paths start at src/ or include/')
                continue
            if found is None:
                problems.append(f'{where}: no "{target}" in include/ or src/ (third-party headers go in <>)')
                continue
            if path.endswith(".hpp"):
                graph.setdefault(path, []).append(found)
            if public and not found.startswith("include/"):
                problems.append(f'{where}: a public header includes public headers only, not "{target}"')
                continue
            other = layer_of(found)
            allowed = LAYERS["testing"] | {"testing"} | LAYERS[layer] if test else LAYERS[layer]
            if other is not None and other != layer and other not in allowed:
                problems.append(f'{where}: {layer} may not include {other} ("{target}")')
    problems += detail_in_programs(root)
    cycle = find_cycle(graph)
    if cycle:
        problems.append("headers include one another in a circle: " + " -> ".join(cycle))
    return problems


SELF_TEST = [
    # (files, text in the only reported problem; None: no problem is reported)
    ({"include/allm/json.hpp": "#include <nlohmann/json.hpp>\n#include <vector>\n",
      "src/data/codec.hpp": '#include "allm/json.hpp"\n',
      "src/tools/runner.cpp": '#include "data/codec.hpp"\n#include <simdjson.h>\n',
      "src/data/codec_test.cpp": '#include "tools/runner.hpp"\n', "src/tools/runner.hpp": ""}, None),
    ({"src/data/codec.cpp": '\n#include "engine/engine.hpp"\n', "src/engine/engine.hpp": ""},
     "src/data/codec.cpp:2: data may not include engine"),
    ({"src/data/codec.cpp": '#include "allm/engine.hpp"\n', "include/allm/engine.hpp": ""},
     "data may not include engine"),
    ({"src/http/transport.hpp": '#include "engine/engine.hpp"\n', "src/engine/engine.hpp": ""},
     "http may not include engine"),
    ({"src/providers/openai/openai.cpp": '#include "tools/runner.hpp"\n', "src/tools/runner.hpp": ""},
     "providers may not include tools"),
    ({"src/session/ops.cpp": '#include "cli/main.hpp"\n', "src/cli/main.hpp": ""}, "session may not include cli"),
    ({"src/testing/run.cpp": '#include "cli/main.hpp"\n', "src/cli/main.hpp": ""}, "testing may not include cli"),
    ({"src/chat/run.cpp": '#include "allm/fake.hpp"\n', "include/allm/fake.hpp": ""}, "chat may not include testing"),
    ({"include/allm/allm.hpp": '#include "allm/fake.hpp"\n', "include/allm/fake.hpp": ""}, "top may not include testing"),
    ({"include/allm/json.hpp": "#include <curl/curl.h>\n"}, "no type of <curl/curl.h>"),
    ({"include/allm/asio.hpp": "#include <boost/asio/post.hpp>\n"}, None),
    ({"include/allm/detail/describe.hpp": "", "include/allm/describe.hpp": '#include "allm/detail/describe.hpp"\n'}, None),
    ({"include/allm/detail/describe.hpp": "", "examples/a.cpp": "#include <allm/detail/describe.hpp>\n"},
     "a program does not include"),
    ({"include/allm/json.hpp": "#include <boost/asio/post.hpp>\n"}, "no type of <boost/asio/post.hpp>"),
    ({"include/allm/asio.hpp": "", "src/data/a.cpp": '#include "allm/asio.hpp"\n'}, "only programs include"),
    ({"include/allm/json.hpp": "#include <simdjson.h>\n"}, "no type of <simdjson.h>"),
    ({"include/allm/json.hpp": '#include "data/codec.hpp"\n', "src/data/codec.hpp": ""}, "public headers only"),
    ({"include/allm/novel.hpp": ""}, "has no layer yet"),
    ({"src/novel/novel.cpp": ""}, "has no layer yet"),
    ({"src/data/a.hpp": '#include "data/b.hpp"\n', "src/data/b.hpp": '#include "data/a.hpp"\n'}, "in a circle"),
    ({"src/data/CamelCase.cpp": ""}, "snake_case"),
    ({"src/data/a.cpp": '#include "b.hpp"\n', "src/data/b.hpp": ""}, 'write "data/b.hpp"'),
    ({"src/data/a.cpp": '#include "fmt/format.h"\n'}, 'no "fmt/format.h"'),
    ({"src/data/a.cpp": "#include <allm/json.hpp>\n"}, 'write "allm/json.hpp"'),
    ({"src/data/a_test.cpp": '#include "tests/fixture.hpp"\n', "tests/fixture.hpp": ""}, None),
    ({"src/data/a.cpp": '#include "tests/fixture.hpp"\n', "tests/fixture.hpp": ""}, 'no "tests/fixture.hpp"'),
    ({"src/cli/ask.cpp": "#include <CLI/CLI.hpp>\n"}, "only src/cli/command/parser.cpp"),
    ({"src/cli/command/parser.cpp": "#include <CLI/CLI.hpp>\n"}, None),
    ({"src/data/a.cpp": '/*\n#include "cli/main.hpp"\n*/\n// #include "cli/main.hpp"\n'}, None),
]


def self_test():
    for number, (tree, expected) in enumerate(SELF_TEST):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in tree.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            problems = check(root)
        good = not problems if expected is None else len(problems) == 1 and expected in problems[0]
        if not good:
            sys.exit(f"lint_includes self-test {number}: expected {expected!r}, got {problems}")
    print(f"include lint, self-test: {len(SELF_TEST)} cases behave")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"include lint: {len(problems)} problem(s)")
    print("include lint: the layers hold")


if __name__ == "__main__":
    main()
