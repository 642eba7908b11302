"""Runs the steps of a long job with one line of progress. If a step fails, shows what failed and how to run only that.

Tests run beside the next builds: they wait often, for processes and deadlines, and builds use the cores meanwhile. On a
terminal the line is rewritten in place. Elsewhere a line is written at the end of each step and after every ten per cent.
The whole output of each step is in build/logs/.
"""

import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
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
    after    another step of the job, or None: the step starts when that one has passed, beside the steps that follow it
    """

    def __init__(self, name, seconds, command, again, results=None, env=None, after=None):
        self.name, self.seconds, self.command, self.again = name, seconds, command, again
        self.results, self.env, self.after = results, env or {}, after


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
    """The lines of progress. Any thread may call it."""

    def __init__(self, title, steps):
        self.title = title
        self.total = sum(step.seconds for step in steps)
        self.done = {step: 0.0 for step in steps}  # the part of each step that is done, from 0 to 1
        self.start = time.monotonic()
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.next_mark = 10
        self.lock = threading.Lock()

    def percent(self):
        done = sum(step.seconds * part for step, part in self.done.items())
        return int(100 * done / self.total) if self.total else 100

    def show(self, step, part, what):
        with self.lock:
            self.done[step] = part
            percent = self.percent()
            text = f"{percent:3d}%  {step.name}" + (f": {what}" if what else "")
            if self.terminal:
                width = shutil.get_terminal_size().columns - 1
                left = f"  {clock(time.monotonic() - self.start)}"
                sys.stdout.write("\r\x1b[K" + text[: max(width - len(left), 0)] + left)
                sys.stdout.flush()
            elif percent >= self.next_mark:
                self.next_mark = percent // 10 * 10 + 10
                print(text, flush=True)

    def passed(self, step, seconds):
        with self.lock:
            self.done[step] = 1.0
            self.write(f"{self.percent():3d}%  {step.name:44} {clock(seconds):>6}")

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


def log_of(step, display):
    return LOGS / (re.sub(r"\W+", "-", f"{display.title} {step.name}").strip("-") + ".log")


class Job:
    """Runs the steps on two threads: those without `after` in their order, and those with it in theirs."""

    def __init__(self, steps, display):
        self.steps, self.display = steps, display
        self.changed = threading.Condition()
        self.passed, self.failed = set(), None
        self.processes = []

    def run(self):
        """The step that failed first, or None."""
        threads = [threading.Thread(target=self.run_in_order, args=(part,)) for part in (
            [step for step in self.steps if step.after is None], [step for step in self.steps if step.after is not None])]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self.fail(None)
            sys.exit(130)
        return self.failed

    def run_in_order(self, steps):
        for step in steps:
            with self.changed:
                self.changed.wait_for(lambda: self.failed or step.after is None or step.after in self.passed)
                if self.failed:
                    return
            before = time.monotonic()
            if not self.run_step(step):
                return
            self.display.passed(step, time.monotonic() - before)
            with self.changed:
                self.passed.add(step)
                self.changed.notify_all()

    def fail(self, step):
        """Remembers the first failure and ends the commands of other steps."""
        with self.changed:
            self.failed = self.failed or step or True
            self.changed.notify_all()
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)

    def start(self, step):
        """Starts the command in a session of its own, so that all of it can be ended, unless a step has failed."""
        environment = dict(os.environ, NINJA_STATUS="[%f/%t] ", CLICOLOR_FORCE="0", **step.env)
        with self.changed:
            if self.failed:
                return None
            process = subprocess.Popen(step.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       start_new_session=True)
            self.processes.append(process)
        return process

    def run_step(self, step):
        """True if the step's command succeeded."""
        LOGS.mkdir(parents=True, exist_ok=True)
        if step.results is not None:
            shutil.rmtree(step.results, ignore_errors=True)
        self.display.show(step, 0, "")
        process = self.start(step)
        if process is None:
            return False
        with log_of(step, self.display).open("w", encoding="utf-8", buffering=1) as out, process:
            out.write(f"$ {shlex.join(step.command)}\n")
            for line in process.stdout:
                out.write(line)
                ninja, test = NINJA.match(line), CTEST.match(line)
                if ninja:
                    self.display.show(step, int(ninja.group(1)) / int(ninja.group(2)), describe(ninja.group(3)))
                elif test:
                    self.display.show(step, int(test.group(1)) / int(test.group(2)), test.group(3))
        if process.returncode != 0:
            self.fail(step)
        return process.returncode == 0


def run(title, steps):
    """Runs the steps. At the first failure the program exits with status 1."""
    display = Display(title, steps)
    job = Job(steps, display)
    failed = job.run()
    if failed:
        explain(failed, log_of(failed, display), display)
        left = [step.name for step in steps if step is not failed and step not in job.passed]
        print(f"\n{title}: FAILED after {clock(time.monotonic() - display.start)}"
              + (f"; not run to the end: {', '.join(left)}" if left else ""), flush=True)
        sys.exit(1)
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
