#!/usr/bin/env python3
"""Guards against: something that is written coming to lie beside what every call reads, so that a neighbour's store makes each
call fetch the line again.

Lines are taken as 128 bytes: some machines have such lines, and others fetch their lines in pairs. Reads the built file, then the
map of a process that has loaded it. What calls read of the library's data is checked in "hot path code": the dispatch table's first
lines alone.

Usage: lines_test.py LIBRARY
Status 0: passed, 77: skipped with the reason, anything else: failed.
"""
import os
import re
import shutil
import subprocess
import sys

LINE, PAGE = 128, 4096
LIBRARY = sys.argv[1]
failures = 0


def complain(text):
    global failures
    failures += 1
    print(f"FAIL: {text}", file=sys.stderr)


def output(*command, **variables):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C", **variables}).stdout


def objects():
    """name -> (start, end) of every symbol in writable data. One without a size ends where it starts, but for a byte."""
    found = {}
    for line in output("nm", "--demangle", "--print-size", LIBRARY).splitlines():
        if match := re.match(r"^([0-9a-f]+) (?:([0-9a-f]+) )?[dDbB] (.*)$", line):
            start = int(match[1], 16)
            found[match[3]] = (start, start + max(1, int(match[2] or "1", 16)))
    return found


def sections():
    """name -> (start, end) of every section that a process can write to until it is attached."""
    found = {}
    for line in output("readelf", "--sections", "--wide", LIBRARY).splitlines():
        if match := re.match(r"^ +\[ *\d+\] (\S+) +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +WA ", line):
            start = int(match[2], 16)
            found[match[1]] = (start, start + int(match[3], 16))
    return found


def whole_lines(extent, size):
    start, end = extent
    return start // size * size, -(-end // size) * size


def alone(name, others, extent):
    """Nothing else is on these bytes."""
    for other, (start, end) in others.items():
        if other != name and start < extent[1] and extent[0] < end:
            complain(f"{other} ({start:x}-{end:x}) shares a line with {name} ({extent[0]:x}-{extent[1]:x})")


def test_file():
    """Where the linker has put things; the dispatch table's place."""
    found, parts = objects(), sections()
    if not found or "vvarclock::serve::dispatch" not in found:
        print("skipped: the library has no symbols: stripped?")
        sys.exit(77)
    dispatch = found["vvarclock::serve::dispatch"]
    if dispatch[0] % PAGE or dispatch[1] - dispatch[0] != PAGE:
        complain(f"the dispatch table has no page of its own: {dispatch[0]:x}-{dispatch[1]:x}")
    alone("vvarclock::serve::dispatch", found, whole_lines(dispatch, PAGE))
    raw_clock = found["vvarclock::serve::raw_clock"]
    if raw_clock[0] % LINE or raw_clock[1] % LINE:
        complain(f"the raw clock does not fill whole lines: {raw_clock[0]:x}-{raw_clock[1]:x}")
    alone("vvarclock::serve::raw_clock", found, whole_lines(raw_clock, LINE))
    holder = [name for name, (start, end) in parts.items() if start <= dispatch[0] < end]
    for extent in (whole_lines(dispatch, PAGE), whole_lines(raw_clock, LINE)):
        alone(holder[0], parts, extent)
    print(f"{len(found)} objects: the dispatch table is alone on page {dispatch[0]:x}, the raw clock on {raw_clock[0]:x}-"
          f"{raw_clock[1]:x}")
    return dispatch


def test_process(dispatch):
    """Once attached, the table's page is read-only, alone."""
    report = subprocess.run(["cat", "/dev/null"], env={**os.environ, "LD_PRELOAD": LIBRARY, "VVARCLOCK_REPORT": "json"},
                            check=True, text=True, stderr=subprocess.PIPE).stderr
    if '"attached": true' not in report:
        print("not looked at in a process: the library does not attach here")
        return
    maps = output("cat", "/proc/self/maps", LD_PRELOAD=LIBRARY)
    ours = re.findall(rf"^([0-9a-f]+)-([0-9a-f]+) (\S+) .* {re.escape(os.path.realpath(LIBRARY))}$", maps, re.MULTILINE)
    base = int(ours[0][0], 16)
    page = [rights for start, end, rights in ours if int(start, 16) <= base + dispatch[0] < int(end, 16)]
    if page != ["r--p"]:
        complain(f"the dispatch table's page is {page} in a process: {ours}")


test_process(test_file())
sys.exit(1 if failures else 0)
