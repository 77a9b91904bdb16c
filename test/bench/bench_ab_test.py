#!/usr/bin/env python3
"""Guards against a comparison that sees nothing, or sees what is not there: a library that does more in one function, against
the same without, must be told apart in that function and in no other; mistakes are refused.

Usage: bench_ab_test.py BENCH_AB
Prints TAP.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

BENCH_AB = sys.argv[1]
COMPILER = shlex.split(os.environ.get("CC", "cc"))
SOURCE = """
#include <stddef.h>
struct timespec; struct timeval;
static volatile int sink;
static int spend(int turns) { for (int i = 0; i < turns; ++i) { sink = i; } return 0; }
int clock_gettime(int id, struct timespec* t) { return id == 1 ? spend(MONOTONIC) : spend(100); }
int gettimeofday(struct timeval* t, void* z) { return spend(100); }
long time(long* t) { return spend(100); }
int timespec_get(struct timespec* t, int base) { return spend(100), base; }
int clock_getres(int id, struct timespec* t) { return spend(100); }
"""
points = 0
failed = False


def point(name, holds, note):
    global points, failed
    points += 1
    failed = failed or not holds
    print(("ok" if holds else "not ok") + f" {points} - {name}", *([] if holds else note.splitlines()), sep="\n# ", flush=True)


def library(folder, turns):
    path = folder / f"turns{turns}.so"
    subprocess.run([*COMPILER, "-O2", "-shared", "-fPIC", f"-DMONOTONIC={turns}", "-x", "c", "-", "-o", path], input=SOURCE,
                   text=True, check=True)
    return path


def compare(*words):
    return subprocess.run([sys.executable, BENCH_AB, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def verdicts(output):
    """{call: [verdict of each order]}"""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if line.startswith("  ") and words:
            found.setdefault(words[0], []).append(words[-1])
    return found


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    short, long = library(folder, 100), library(folder, 400)
    quick = ("--processes", "4", "--rounds", "20")
    done = compare(short, long, *quick)
    found = verdicts(done.stdout)
    point("what got slower is called slower, in both orders", found.get("CLOCK_MONOTONIC") == ["slower", "slower"], done.stdout)
    done = compare(long, short, *quick, "--orders", "lfence")
    point("and the other way round faster", verdicts(done.stdout).get("CLOCK_MONOTONIC") == ["faster"], done.stdout)
    for work in ("loads", "arithmetic"):
        done = compare(short, long, *quick, "--orders", "ordered", "--work", work, "--only", "CLOCK_MONOTONIC")
        point(f"also inside work: {work}", verdicts(done.stdout).get("CLOCK_MONOTONIC") == ["slower"], done.stdout)
        point(f"--only prints nothing else: {work}", "gettimeofday" not in verdicts(done.stdout), done.stdout)
    point("every function and order has its line", len(found) == 12 and all(len(each) == 2 for each in found.values()),
          f"{found}")
    done = compare(short, folder / "none.so")
    point("a library that is not there", done.returncode == 2 and "none.so" in done.stderr, done.stderr)
    done = compare(short, "/etc/passwd", *quick)
    point("a library that does not load", done.returncode == 1 and "ab_cost" in done.stderr, done.stderr)
    done = compare(short, long, "--processes", "1")
    point("too few processes", done.returncode == 2, done.stderr)
print(f"1..{points}")
sys.exit(failed)
