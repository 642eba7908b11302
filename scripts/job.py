#!/usr/bin/env python3
"""The steps of each `make` job, in order.

    scripts/job.py run                 configure and build the command
    scripts/job.py test                what contributors and the continuous integration run
    scripts/job.py test-long           the tests of all builds with ten times the cases
    scripts/job.py check               everything: test-long, clang-tidy on every file, the debug build, shared libraries,
                                       the fuzz targets
    scripts/job.py debug [FOLDER...]   build and run the tests of folders of src/ (or tests, lanes); without a FOLDER
                                       those with uncommitted changes; `all` for everything
    scripts/job.py asan, tsan          the build with these sanitizers, and its tests
    scripts/job.py foreign             what `make foreign` needs: the npm packages, and the program that calls models
    scripts/job.py lint                the checks of `test` that run no tests; clang-tidy checks the folders that changed
                                       since the last release tag, or in the last 30 commits if there is no tag
"""

import os
import pathlib
import re
import subprocess
import sys

import lint_includes
import progress
from progress import ROOT, Step

JOBS = os.environ.get("JOBS") or str(os.cpu_count())
FOLDERS = {"release": "build"}


def build_folder(preset):
    return ROOT / FOLDERS.get(preset, f"build-{preset}")


def build(preset, seconds, *targets):
    command = ["scripts/build.sh", preset] + [word for target in targets for word in ("--target", target)]
    return Step(f"{preset}: build", seconds, command, " ".join(command))


def tests(preset, seconds, pattern=None, scale=None, after=None):
    command = ["ctest", "--preset", preset, "-j", JOBS, "--output-on-failure"]
    if pattern:
        command += ["-R", pattern]
    env = {"ALLM_TEST_SCALE": str(scale)} if scale else {}
    prefix = f"ALLM_TEST_SCALE={scale} " if scale else ""
    return Step(f"{preset}: tests", seconds, command, f"{prefix}ctest --preset {preset} --output-on-failure",
                results=build_folder(preset) / "results", env=env, after=after)


def script(name, seconds, *command, again=None):
    return Step(name, seconds, list(command), again or " ".join(command))


def quick_checks():
    return [
        script("format", 5, "scripts/format.sh", "--check", again="make format"),
        script("include order, self-test", 1, "scripts/lint_includes.py", "--self-test"),
        script("include order", 1, "scripts/lint_includes.py"),
        script("code in documents, self-test", 1, "scripts/check_snippets.py", "--self-test"),
        script("code in documents", 1, "scripts/check_snippets.py"),
        script("links in documents, self-test", 1, "scripts/check_links.py", "--self-test"),
        script("links in documents", 1, "scripts/check_links.py"),
    ]


def git_lines(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def changed_since_release():
    """Paths that differ from the last release tag, or from 30 commits ago; None if git fails."""
    tag = git_lines("describe", "--tags", "--match", "v*", "--abbrev=0")
    base = tag or git_lines("rev-parse", "--verify", "--quiet", "HEAD~30")
    return changed_since(base[0]) if base else None


def changed_since(base):
    changed, new = git_lines("diff", "--name-only", base), git_lines("ls-files", "--others", "--exclude-standard")
    return None if changed is None or new is None else changed + new


def source_folders():
    """Folders of src/ that have sources besides tests, as paths."""
    return sorted({path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.cpp")
                   if not path.name.endswith("_test.cpp")})


def folder_of(path):
    """The folder whose clang-tidy run checks a file; a public header belongs to the folders of its layer."""
    if path.startswith("include/"):
        return f"src/{lint_includes.layer_of(path)}"
    return str(pathlib.PurePosixPath(path).parent)


def layer_folder(folder):
    return "/".join(folder.split("/")[:2])


def tidy_changed():
    """clang-tidy on the folders with changed sources: one file takes nearly as long as its whole folder."""
    folders, changed = source_folders(), changed_since_release()
    if changed is not None:
        touched = {folder_of(path) for path in changed
                   if path.endswith((".cpp", ".hpp")) and not path.endswith("_test.cpp")}
        folders = [folder for folder in folders if ".clang-tidy" in changed or touched & {folder, layer_folder(folder)}]
    if not folders:
        return []
    targets = ["tidy_" + folder.replace("/", "_") for folder in folders]
    step = build("tidy", 11 * len(folders), *targets)
    step.name = f"clang-tidy on {len(folders)} folders that changed"
    return [step]


def headers():
    """Each public header is compiled alone."""
    step = build("tidy", 30, "headers")
    step.name = "headers are self-contained"
    return step


def installed(after):
    step = script("installed package", 35, "scripts/check_install.sh", "build")
    step.after = after
    return step


# (build, tests), alone on two cores
SECONDS = {"release": (350, 65), "tsan": (300, 200), "asan": (310, 105), "debug": (500, 60)}


def build_and_test(preset, scale=None):
    """The tests run beside the steps that follow."""
    build_seconds, test_seconds = SECONDS[preset]
    first = build(preset, build_seconds)
    return [first, tests(preset, test_seconds * (scale or 1), scale=scale, after=first)]


def test_steps():
    """The checks without tests are last, because the tests of the last build run beside them."""
    release = build_and_test("release")
    return [
        *quick_checks(),
        *release, installed(after=release[0]),
        *build_and_test("tsan"),
        *build_and_test("asan"),
        headers(),
        *tidy_changed(),
    ]


def long_steps():
    return [step for preset in ("release", "tsan", "asan") for step in build_and_test(preset, scale=10)]


def check_steps():
    tidy = build("tidy", 1500)
    tidy.name = "clang-tidy on every file"
    long = long_steps()
    return [
        *quick_checks(), *long, soak("asan", after=long[-1]), soak("tsan", after=long[-1]),
        installed(after=long[0]), script("shared libraries", 400, "scripts/check_install.sh", "--shared"),
        headers(),
        tidy,
        *build_and_test("debug"),
        *fuzz_steps(),
    ]


def soak(preset, after):
    """Ten minutes of random operations on 64 threads."""
    command = ["ctest", "--preset", preset, "-R", "^allm_soak$", "--output-on-failure"]
    return Step(f"{preset}: soak, ten minutes", 610, command, "ALLM_SOAK_SECONDS=600 " + " ".join(command),
                env={"ALLM_SOAK_SECONDS": "600"}, after=after)


def fuzz_steps():
    seconds = int(os.environ.get("FUZZ_SECONDS") or 60)
    targets = len(list((ROOT / "fuzz").glob("*_fuzz.cpp")))
    return [build("fuzz", 300), script(f"fuzz targets, {seconds} s each", seconds * (targets + 1) // 2,
                                       "scripts/fuzz.sh")]


def foreign_steps():
    return [script("npm packages", 60, "scripts/foreign.sh", "install"), build("release", 90, "allm_foreign_driver")]


def test_target(folder):
    return {"tests": "allm_tests", "lanes": "allm_lane_tests"}.get(folder, f"allm_{folder}_test")


def changed_folders():
    """Folders with uncommitted changes that have tests of their own; an empty list means everything."""
    found = set()
    for path in changed_since("HEAD") or []:
        match = re.match(r"src/(\w+)/|tests/(lanes)/|(tests)/\w+\.[ch]pp$|(include)/", path)
        if match:
            found.add(next(group for group in match.groups() if group))
    return [] if "include" in found else sorted(found)


def debug(folders):
    folders = folders or changed_folders()
    known = {path.relative_to(ROOT / "src").parts[0] for path in (ROOT / "src").rglob("*_test.cpp")} | {"tests", "lanes"}
    unknown = [folder for folder in folders if folder != "all" and folder not in known]
    if unknown:
        sys.exit(f"make debug: {unknown[0]} has no tests; FOLDER is one of {' '.join(sorted(known))}, or all")
    if not folders or "all" in folders:
        return build_and_test("debug")
    targets = [test_target(folder) for folder in folders]
    print(f"make debug: {', '.join(folders)} (`make debug FOLDER=all` for everything)", flush=True)
    return [build("debug", 20, *targets), tests("debug", 5, pattern=f"^({'|'.join(targets)})")]


def main():
    job, arguments = sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:]
    plans = {"run": lambda: [build("release", 90, "allm_cli")], "test": test_steps, "test-long": long_steps,
             "check": check_steps, "debug": lambda: debug(arguments), "asan": lambda: build_and_test("asan"),
             "tsan": lambda: build_and_test("tsan"), "foreign": foreign_steps,
             "lint": lambda: [*quick_checks(), headers(), *tidy_changed()]}
    if job not in plans:
        sys.exit(__doc__)
    os.chdir(ROOT)
    steps = plans[job]()
    display = progress.run(f"make {job}", steps)
    if job not in ("run", "foreign"):
        progress.finish(display, steps)


if __name__ == "__main__":
    main()
