#!/usr/bin/env python3
"""Guards against: a program's start that reads more of the library's file than its first 64 KiB, each stretch of which costs a
page fault, and a page that is written for nothing.

Watches a start, so that it sees what is called and not what was thought of: preload/start_up.ld names functions and files by
pattern, and a new or renamed one would quietly lie elsewhere.

Usage: start_up_test.py LIBRARY OPTIMIZATION SANITIZE SCRIPT WATCHER, SCRIPT being "yes" where the linker was given start_up.ld,
WATCHER the program of start_functions.cc.
Status 0: passed, 77: skipped with the reason, anything else: failed.
"""
import os
import re
import subprocess
import sys

STRETCH = 0x10000

library, optimization, sanitize, script, watcher = sys.argv[1:]
failures = 0


def complain(text):
    global failures
    failures += 1
    print(f"FAIL: {text}", file=sys.stderr)


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}).stdout


sections = {match[1]: (int(match[2], 16), int(match[3], 16))
            for match in re.finditer(r"^ +\[ *\d+\] (\S+) +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ",
                                     output("readelf", "--sections", "--wide", library), re.MULTILINE)}
if optimization != "2" or sanitize != "none":
    print("skipped: the sizes are those of -O2 without sanitizers")
    sys.exit(77)
if script != "yes":
    print("skipped: start_up.ld is for GNU ld")
    sys.exit(77)
if ".text.start_up" not in sections or ".rodata.start_up" not in sections:
    complain("start_up.ld has put nothing anywhere")
if sections.get(".bss", (0, 0))[1]:
    complain(f".bss has {sections['.bss'][1]} bytes: the loader copies a page to clear them")
functions = {int(start, 16): (int(start, 16) + int(size, 16), name) for start, size, name in re.findall(
    r"^([0-9a-f]+) ([0-9a-f]+) [tT] (.*)$", output("nm", "--demangle", "--print-size", library), re.MULTILINE)}
if not functions:
    print("skipped: the library has no symbols: stripped?")
    sys.exit(77)
watched = subprocess.run([watcher, os.path.realpath(library), *map("{:x}".format, functions)], text=True, stdout=subprocess.PIPE)
if watched.returncode == 77:
    print(watched.stdout, end="")
    sys.exit(77)
called = [functions[int(offset, 16)] for offset in re.findall(r"^called ([0-9a-f]+)$", watched.stdout, re.MULTILINE)]
if watched.returncode != 0 or not any("attach_at_load" in name for _, name in called):
    complain("a start could not be watched")
for end, name in called:
    if end > STRETCH:
        complain(f"a start calls {name}, which ends at {end:x}, beyond the first {STRETCH:x} bytes")
if not any("serve::attach(" in name for _, name in called):
    print("the library does not attach here, so less was called than elsewhere")
furthest = max((end for end, _ in called), default=0)
for name in (".rodata.start_up", ".rela.dyn", ".rela.plt", ".plt"):
    if name in sections and sum(sections[name]) > STRETCH:
        complain(f"{name} is beyond the first {STRETCH:x} bytes")
print(f"{len(called)} of {len(functions)} functions are called; the furthest ends at {furthest:x} of {STRETCH:x}")
sys.exit(1 if failures else 0)
