"""Runs the steps of a long job with one line of progress. If a step fails, shows what failed and how to run only that.

On a terminal the line is rewritten in place. Elsewhere a line is written at the end of each step and after every ten per
cent. The whole output of each step is in build/logs/.
"""

import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"

NINJA = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
CTEST = re.compile(r"^ *(\d+)/(\d+) +Test +#\d+: (\S+) ")
UNITY = re.compile(r"Unity/unity_(\w+?)_cxx\.cxx")


class Step:
    """One command of a job.

    seconds  estimated duration, for the percentage
    again    the command that runs only this step again
    results  a folder of GoogleTest's JSON files that the command writes, or None
    env      variables on top of the environment
    """

    def __init__(self, name, seconds, command, again, results=None, env=None):
        self.name, self.seconds, self.command, self.again = name, seconds, command, again
        self.results, self.env = results, env or {}


def describe(ninja_text):
    """A short description of a line of ninja's output."""
    unity = UNITY.search(ninja_text)
    if unity:
        return "compiling " + unity.group(1).replace("_", "/")
    verb, _, rest = ninja_text.partition(" CXX ")
    if rest:
        path = re.sub(r"^.*\.dir/", "", rest.split(" ", 1)[-1])
        return ("linking " if verb == "Linking" else "compiling ") + path.removesuffix(".o")
    return ninja_text


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Display:
    def __init__(self, title, steps):
        self.title, self.steps = title, steps
        self.total = sum(step.seconds for step in steps)
        self.start = time.monotonic()
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.next_mark = 10

    def percent(self, index, fraction):
        done = sum(step.seconds for step in self.steps[:index]) + fraction * self.steps[index].seconds
        return int(100 * done / self.total) if self.total else 100

    def line(self, index, fraction, what):
        text = f"{self.percent(index, fraction):3d}%  {self.steps[index].name}"
        return f"{text}: {what}" if what else text

    def show(self, index, fraction, what):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            text = self.line(index, fraction, what)
            left = f"  {clock(time.monotonic() - self.start)}"
            sys.stdout.write("\r\x1b[K" + text[: max(width - len(left), 0)] + left)
            sys.stdout.flush()
        elif self.percent(index, fraction) >= self.next_mark:
            self.next_mark = self.percent(index, fraction) // 10 * 10 + 10
            print(self.line(index, fraction, what), flush=True)

    def write(self, text):
        if self.terminal:
            sys.stdout.write("\r\x1b[K")
        print(text, flush=True)


def ninja_failures(lines):
    """The parts of ninja's output that belong to failed commands, without the commands themselves."""
    kept, skip, inside = [], False, False
    for line in lines:
        if line.startswith("FAILED:"):
            kept.append(line)
            inside = skip = True
        elif NINJA.match(line) or line.startswith("ninja: "):
            inside = False
        elif inside and not skip:
            kept.append(line)
        else:
            skip = False
    return kept


def failed_tests(folder):
    """(entry, test, message) of each failed GoogleTest test in a folder of JSON files."""
    found = []
    for path in sorted(folder.glob("*.json")):
        for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
            for test in suite["testsuite"]:
                for failure in test.get("failures", [])[:1]:
                    found.append((path.stem, f'{suite["name"]}.{test["name"]}', failure["failure"]))
    return found


def count_tests(folder):
    """(tests that ran, [(seconds, name)] of all of them) in a folder of GoogleTest's JSON files."""
    times = []
    for path in sorted(folder.glob("*.json")):
        for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
            for test in suite["testsuite"]:
                if test.get("result") == "COMPLETED":
                    times.append((float(test["time"].removesuffix("s")), f'{suite["name"]}.{test["name"]}'))
    return len(times), times


def whole_entry(entry):
    """allm_tests for allm_tests_2_of_4, because with a filter a test may be in another part."""
    return re.sub(r"_\d+_of_\d+$", "", entry)


def explain(step, log, display):
    """Writes what failed in a step, and the commands that run only that again."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    shown = ninja_failures(lines)
    again = [step.again]
    if step.results is not None:
        tests = failed_tests(step.results) if step.results.is_dir() else []
        failed = [m.group(1) for line in lines if (m := re.match(r"^\s+\d+ - (\S+) \(", line))]
        shown = [f"{test}\n{message}" for _, test, message in tests]
        again = [f"GTEST_FILTER='{test}' {step.again} -R '^{whole_entry(entry)}'" for entry, test, _ in tests]
        for entry in failed:
            if not any(entry == known for known, _, _ in tests):  # the entry crashed, hung or is not a GoogleTest
                shown += output_of(entry, lines)
                again.append(f"{step.again} -R '^{entry}$'")
        again = again or [step.again]
    if not shown:
        shown = lines[-40:]
    display.write(f"\nFAILED: {step.name}\n")
    print("\n".join("\n".join(shown).splitlines()[:120]))
    print("\nTo run only this again:")
    for command in again[:5]:
        print(f"    {command}")
    print(f"The whole output: {log.relative_to(ROOT)}", flush=True)


def output_of(entry, lines):
    """The last sixty lines of ctest's output for one failed entry."""
    start = next((i for i, line in enumerate(lines) if (m := CTEST.match(line)) and m.group(3) == entry), None)
    if start is None:
        return lines[-60:]
    end = next((i for i in range(start + 1, len(lines)) if CTEST.match(lines[i])), len(lines))
    return [lines[start]] + lines[max(start + 1, end - 60):end]


def run_step(index, step, display):
    """True if the step's command succeeded."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / (re.sub(r"\W+", "-", f"{display.title} {step.name}").strip("-") + ".log")
    if step.results is not None:
        shutil.rmtree(step.results, ignore_errors=True)
    display.show(index, 0, "")
    environment = dict(os.environ, NINJA_STATUS="[%f/%t] ", CLICOLOR_FORCE="0", **step.env)
    with log.open("w", encoding="utf-8", buffering=1) as out:
        out.write(f"$ {shlex.join(step.command)}\n")
        with subprocess.Popen(step.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            for line in process.stdout:
                out.write(line)
                ninja, test = NINJA.match(line), CTEST.match(line)
                if ninja:
                    display.show(index, int(ninja.group(1)) / int(ninja.group(2)), describe(ninja.group(3)))
                elif test:
                    display.show(index, int(test.group(1)) / int(test.group(2)), test.group(3))
    if process.returncode != 0:
        explain(step, log, display)
    return process.returncode == 0


def run(title, steps):
    """Runs the steps in order. At the first failure the program exits with status 1."""
    display = Display(title, steps)
    for index, step in enumerate(steps):
        before = time.monotonic()
        good = run_step(index, step, display)
        if not good:
            left = [step.name for step in steps[index + 1:]]
            print(f"\n{title}: FAILED after {clock(time.monotonic() - display.start)}"
                  + (f"; not run: {', '.join(left)}" if left else ""), flush=True)
            sys.exit(1)
        display.write(f"{display.percent(index, 1):3d}%  {step.name:44} {clock(time.monotonic() - before):>6}")
    return display


def finish(display, steps):
    """Prints the last lines of a job that passed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total, slowest = 0, []
    for step in steps:
        if step.results is not None:
            count, times = count_tests(step.results)
            total += count
            slowest += [(seconds, f"{name} ({step.name})") for seconds, name in times]
    if total:
        (LOGS / "slowest.txt").write_text(
            "".join(f"{seconds:7.2f} s  {name}\n" for seconds, name in sorted(slowest, reverse=True)[:20]),
            encoding="utf-8")
        print(f"\nThe twenty slowest tests: {(LOGS / 'slowest.txt').relative_to(ROOT)}")
        print(f"{total} passed, 0 failed")
    print(f"{display.title}: PASSED in {clock(time.monotonic() - display.start)} "
          f"({used.ru_utime + used.ru_stime:.0f} s of CPU)")
