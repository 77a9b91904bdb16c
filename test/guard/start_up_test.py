#!/usr/bin/env python3
"""Guards against: a program's start that reads more of the library's file than its first 64 KiB, each stretch of which costs a
page fault, and a page that is written for nothing.

Reads the built file: where preload/start_up.ld has put what the constructor calls. It names functions and files by pattern, so a
renamed one would quietly go elsewhere.

Usage: start_up_test.py LIBRARY OPTIMIZATION SANITIZE LIBELF SCRIPT, LIBELF being "static" or "shared", SCRIPT "yes" where the
linker was given start_up.ld.
Status 0: passed, 77: skipped with the reason, anything else: failed.
"""
import os
import re
import subprocess
import sys

STRETCH = 0x10000
# What runs on every start where the page is believed, on the newest kernels; of libelf where it is inside.
NEEDED = ["attach_at_load", "parse_options", "host_kernel", "counter_allowed", "discover::discover", "claimed_image_size",
          "parse_vdso_image", "symbol_count", "scan_code_of", "probe_layout", "copy_page", "check_any_mode", "check_counting",
          "check_agreement", "read_clock_of_own_kind<vvarclock::arch::LfenceTsc>", "read_clock<vvarclock::vvar::kBlockV, "
          "vvarclock::arch::LfenceTsc>", "page_readers", "mode_to_want", "clock_mode_now", "serve::attach(", "write_report"]
NEEDED_OF_LIBELF = ["elf_begin", "elf_memory", "elf_end", "elf_kind", "gelf_getphdr", "elf64_getphdr", "gelf_getdyn",
                    "gelf_getsym", "gelf_getnote", "elf_getdata_rawchunk", "__wrap_malloc", "__wrap_calloc"]

library, optimization, sanitize, libelf, script = sys.argv[1:]
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
ends = {name: (int(start, 16), int(start, 16) + int(size, 16))
        for start, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (.*)$",
                                            output("nm", "--demangle", "--print-size", library), re.MULTILINE)}
if not ends:
    print("skipped: the library has no symbols: stripped?")
    sys.exit(77)
furthest = 0
for wanted in NEEDED + (NEEDED_OF_LIBELF if libelf == "static" else []):
    found = [extent for name, extent in ends.items() if wanted in name and "cold" not in name] \
        if ":" in wanted or "<" in wanted or "(" in wanted else \
            [extent for name, extent in ends.items() if re.search(rf"(^|[ :]){re.escape(wanted)}($|[(<])", name)]
    if not found:
        complain(f"{wanted} is not in the library")
    for start, end in found:
        furthest = max(furthest, end)
        if end > STRETCH:
            complain(f"{wanted} is at {start:x}-{end:x}, beyond the first {STRETCH:x} bytes")
for name in (".rodata.start_up", ".rela.dyn", ".rela.plt", ".plt"):
    if name in sections and sum(sections[name]) > STRETCH:
        complain(f"{name} is beyond the first {STRETCH:x} bytes")
print(f"what a start reads ends at {furthest:x} of {STRETCH:x}")
sys.exit(1 if failures else 0)
