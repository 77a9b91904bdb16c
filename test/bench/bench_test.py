#!/usr/bin/env python3
"""The benchmark as a whole process: it measures everything that it says, its JSON and its picture can be read, and what it
cannot do it says before measuring. Looks at no figure but that it is one.

Usage: bench_test.py BENCH LIBRARY VERSION
Prints TAP.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

BENCH, LIBRARY, VERSION = sys.argv[1:]
CLOCKS = {"CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI", "CLOCK_REALTIME_COARSE",
          "CLOCK_MONOTONIC_COARSE", "CLOCK_PROCESS_CPUTIME_ID"}
CALLS = CLOCKS | {"gettimeofday", "time", "timespec_get", "clock_getres"}
IN_WORK = {"added_to_dependent_loads", "added_to_independent_arithmetic"}
points = 0
failed = False


def point(name, test, *arguments):
    global points, failed
    points += 1
    try:
        reason = test(*arguments)
        print(f"ok {points} - {name}" + (f" # SKIP {reason}" if reason else ""), flush=True)
    except AssertionError as breach:
        failed = True
        print(f"not ok {points} - {name}", *f"{breach}".splitlines()[:20], sep="\n# ", flush=True)


def run(*words, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("VVARCLOCK", "LD_PRELOAD"))}
    environment.update(variables)
    return subprocess.run([BENCH, "--library", LIBRARY, *words], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


def measured(*words, **variables):
    """The JSON of a run that must succeed, and its table."""
    file = FOLDER / "figures.json"
    done = run("--quick", "--json", file, *words, **variables)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(file.read_text()), done.stdout


def check_cell(where, cell, may_be_nothing):
    assert cell["low"] <= cell["ns"] <= cell["high"] and cell["samples"] > 100, (where, cell)
    assert cell["error_percent"] >= 0 and cell["deviation"] >= 0 and isinstance(cell["unstable"], bool), (where, cell)
    if not may_be_nothing:
        assert cell["ns"] > 0 and cell["tsc_cycles"] > 0, (where, cell)
        # The same figure twice, both rounded to two places.
        cycles = cell["ns"] * FIGURES["machine"]["tsc_hz"] / 1e9
        assert abs(cycles - cell["tsc_cycles"]) < 0.05 + 0.01 * cycles, (where, cell)


def every_call_by_every_way():
    ways = {"libc", "lfence", "unordered", "syscall"} | ({"rdtscp"} if FIGURES["machine"]["rdtscp"] else set())
    assert set(FIGURES["calls"]) == CALLS, FIGURES["calls"].keys()
    for name, shapes in FIGURES["calls"].items():
        assert set(shapes) == IN_WORK | {"back_to_back"}, (name, shapes.keys())
        assert set(shapes["back_to_back"]) == ways, (name, shapes["back_to_back"].keys())
        for shape, row in shapes.items():
            for way, cell in row.items():
                check_cell((name, shape, way), cell, shape in IN_WORK)
                if shape not in IN_WORK:
                    assert ("times_as_fast_as_libc" in cell) == (way != "libc"), (name, way)


def the_bare_counter():
    bare = FIGURES["bare"]
    wanted = {"loop alone", "call that returns at once", "rdtsc", "lfence; rdtsc"}
    assert set(bare) == wanted | ({"rdtscp"} if FIGURES["machine"]["rdtscp"] else set()), bare.keys()
    for name, shapes in bare.items():
        for shape, cell in shapes.items():
            check_cell((name, shape), cell, shape in IN_WORK or name == "loop alone")
    # The work in between is work: it takes longer than the empty loop.
    for shape in IN_WORK:
        assert bare["loop alone"][shape]["ns"] > bare["loop alone"]["back_to_back"]["ns"], (shape, bare)


def the_tail():
    for way, tail in FIGURES["tail"]["ns"].items():
        assert 0 < tail["p50"] <= tail["p99"] <= tail["p99.9"] <= tail["max"] and tail["calls"] > 1000, (way, tail)
    assert "counter reads alone" in FIGURES["tail"]["ns"], FIGURES["tail"]


def the_threads():
    cpus = FIGURES["machine"]["cpus"]
    counts = {"1"} | ({"2"} if cpus >= 2 else set()) | {str(cpus)}
    for way, row in FIGURES["threads"]["calls_per_second"].items():
        assert set(row) == counts, (way, row)
        assert all(each["median"] > 0 for each in row.values()), (way, row)


def the_machine():
    machine = FIGURES["machine"]
    assert FIGURES["version"] == VERSION, FIGURES["version"]
    assert machine["kernel"].endswith(os.uname().release) and machine["cpu"], machine
    assert machine["tsc_hz"] > 1e6 and machine["ordered_is"] == ("rdtscp" if machine["rdtscp"] else "lfence"), machine


def the_table():
    for word in [*CALLS, "TSC cycles", "rdtsc", "p99.9", "threads" if FIGURES["machine"]["cpus"] > 1 else "thread"]:
        assert word in TABLE, (word, TABLE)
    if not FIGURES["machine"]["rdtscp"]:
        assert "does not offer rdtscp" in TABLE, TABLE


def one_id_whatever_the_environment_says():
    found, _ = measured("--id", "monotonic", "--id=time", VVARCLOCK="off", VVARCLOCK_ORDER="nonsense", LD_PRELOAD=LIBRARY)
    assert set(found["calls"]) == {"CLOCK_MONOTONIC", "time"}, found["calls"].keys()
    assert found["machine"]["by_syscall"] == FIGURES["machine"]["by_syscall"], found["machine"]


def a_picture():
    if not shutil.which("gnuplot"):
        return "gnuplot is not installed"
    file = FOLDER / "it's a picture.svg"
    done = run("--quick", "--id", "MONOTONIC", "--id", "time", "--plot", file)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)
    root = xml.etree.ElementTree.parse(file).getroot()
    words = " ".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))
    for word in ("vvarclock", os.uname().release, "clock source", "libc", "ours, unordered", "ns per call", "MONOTONIC"):
        assert word in words, (word, words)
    return None


def without_gnuplot():
    done = run("--quick", "--plot", FOLDER / "x.svg", PATH=str(FOLDER))
    assert done.returncode == 1 and "needs gnuplot" in done.stderr and not done.stdout, (done.returncode, done.stderr)


def where_gnuplot_fails():
    if not shutil.which("gnuplot"):
        return "gnuplot is not installed"
    done = run("--quick", "--id", "time", "--plot", FOLDER / "no/such/folder.svg")
    assert done.returncode == 1 and "did not draw" in done.stderr, (done.returncode, done.stderr)
    return None


def refused(status, part, *words):
    done = run(*words)
    assert done.returncode == status and part in done.stderr and not done.stdout, (done.returncode, done.stderr)


with tempfile.TemporaryDirectory() as name:
    FOLDER = pathlib.Path(name)
    FIGURES, TABLE = measured()
    point("every call, by every way, in every shape", every_call_by_every_way)
    point("the bare counter", the_bare_counter)
    point("the tail", the_tail)
    point("the threads", the_threads)
    point("the machine", the_machine)
    point("the table", the_table)
    point("one id, whatever the environment says", one_id_whatever_the_environment_says)
    point("a picture", a_picture)
    point("without gnuplot it says so before measuring", without_gnuplot)
    point("a picture that cannot be drawn is a failure", where_gnuplot_fails)
    point("a file that cannot be written", refused, 1, "cannot write /no/such/file", "--json", "/no/such/file")
    point("a library that does not load", refused, 1, "cannot load", "--library", "/etc/passwd")
    point("a library that is not there", refused, 1, "cannot copy", "--library", "/no/such/library")
    point("a wrong word", refused, 125, "unknown option '--fast'", "--fast")
print(f"1..{points}")
sys.exit(failed)
