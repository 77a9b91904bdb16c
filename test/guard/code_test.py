#!/usr/bin/env python3
"""Guards against: a hot path that has grown unnoticed. Times are noisy, instructions are not.

code: the built library's machine code. How many instructions the shortest and the longest way from a reader's entry to its return
take; and, whatever the compiler, what such a way must not hold: a stack frame, a call, a division, a loop, a counter read too many,
data other than the first lines of the dispatch table; nor may anything short of the fallback reach another library.
steps: the same by running it, instruction by instruction (step_calls.cc says why not by callgrind).
record: prints the table's rows anew, for hot_path.table.

Usage: code_test.py code|steps|record --library FILE --table FILE --compiler TEXT --sanitize TEXT --stepper PROGRAM
Status 0: passed, 77: skipped with the reason, anything else: failed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

from hot_path_rules import broken_rules, line_readers
from machine_code import Library
from records import COLUMNS, MODES, Records, printed

GENERIC = ("kBlockD", "kBlockDm", "kBlockV")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def count_code(library):
    """(row, column) -> {block: instructions}."""
    counted = {}

    def count(row, column, where, instructions):
        counted.setdefault((row, column), {})[where] = instructions

    for (function, block, counter, mode), start in library.readers().items():
        if block not in GENERIC:
            continue
        column = (counter.lower(), MODES[mode - 1])
        ways = library.lengths(start)
        count(f"{function}", column, block, ways[1][0])
        count(f"{function}:longest", column, block, ways[1][1])
        if 0 in ways:
            count(f"{function}:coarse", column, block, ways[0][1])
    for (function, block, counter, mode), start in line_readers(library, GENERIC).items():
        ways = library.lengths(start)
        count(f"{function}:{block.removeprefix('kBlock')}", (counter.lower(), MODES[mode - 1]), block, ways[1][1])
    for column in COLUMNS:
        count("time", column, "exported", library.lengths(library.functions["time"])[0][1])
        for function in ("clock_gettime", "gettimeofday", "timespec_get", "clock_getres"):
            count("exported", column, function, len(library.hot(library.functions[function])))
        for name, start in library.functions.items():
            if match := re.search(r"::clock_getres<.*::(kBlock\w+)[,>]", name):
                if match[1] in GENERIC:
                    count("clock_getres", column, match[1], library.lengths(start)[0][1])
    return counted


def count_steps(options):
    symbols = subprocess.run(["nm", "--demangle", options.library], check=True, text=True, stdout=subprocess.PIPE).stdout
    addresses = []
    for name in (r"dispatch$", r"page_readers\(", r"attach\("):
        found = re.findall(rf"^([0-9a-f]+) . vvarclock::serve::{name}", symbols, re.MULTILINE)
        if len(found) != 1:
            skip(f"the library has {len(found)} symbols vvarclock::serve::{name}: built with link-time optimisation or stripped?")
        addresses += found
    environment = {**os.environ, "LD_PRELOAD": options.library}
    done = subprocess.run([options.stepper, *addresses], env=environment, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        print(done.stdout, end="")
        sys.exit(done.returncode)
    counted = {}
    for line in done.stdout.splitlines():
        if line.startswith("steps "):
            _, call, order, mode, steps, page = line.split(None, 5)
            counted.setdefault((call, (order, mode)), {})["page " + page] = int(steps)
        else:
            print(line)
    return counted


def judge(kind, counted, options):
    """Against the table; the number of complaints."""
    records = Records(options.table)
    if records.compiler != options.compiler:
        print(f"not compared: the numbers are recorded for {records.compiler}, this library was compiled by {options.compiler}")
        return 0
    complaints, shorter = records.judge(kind, counted)
    for told in shorter:
        print(told)
    for told in complaints:
        print(f"FAIL: {told}", file=sys.stderr)
    print(f"{kind}: {sum(map(len, counted.values()))} counts compared, {len(complaints)} complaints")
    return len(complaints)


def test_code(options):
    library = Library(options.library)
    if not library.readers():
        skip("the library has no symbols: stripped?")
    frames = options.compiler.startswith("gcc ")
    if not frames:
        print(f"not checked: stack frames; {options.compiler} saves registers where gcc needs none")
    broken = broken_rules(library, options.library, GENERIC, frames)
    for told in broken:
        print(f"FAIL: {told}", file=sys.stderr)
    return len(broken) or judge("code", count_code(library), options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=("code", "steps", "record"))
    for name in ("library", "table", "compiler", "sanitize", "stepper"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    for tool in ("objdump", "nm", "readelf"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed (Debian: binutils)")
    if options.sanitize != "none" or not re.search(r" -O[23]", options.compiler):
        skip(f"compiled by {options.compiler}, sanitizer {options.sanitize}: only -O2 and -O3 promise a hot path")
    if options.task == "record":
        print(*printed("code", count_code(Library(options.library))), sep="\n")
        print(*printed("steps", count_steps(options)), sep="\n")
        return 0
    if options.task == "steps":
        return 1 if judge("steps", count_steps(options), options) else 0
    return 1 if test_code(options) else 0


if __name__ == "__main__":
    sys.exit(main())
