#!/usr/bin/env python3
"""Guards against: 64-bit divisions and multiplications by calls of the compiler's library on the call path of 32-bit programs.

Reads the machine code of a 32-bit library. Usage: wide_helpers_test.py LIBRARY. Promises nothing about inlined code: what
that costs is counted where real kernels run (test/kernels, guest_prices).
"""

import re
import subprocess
import sys

HELPER = re.compile(r"<(__(?:u?div|u?mod|u?divmod|mul|ashl|ashr|lshr|neg|cmp|ucmp)[dt]i[34]?)(?:@|>|\+)")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# What runs once, or beside a system call: attaching, the reports, what system calls teach the raw clock.
NOT_ON_THE_PATH = re.compile(r"vvarclock::discover::|vvarclock::serve::RawClock::|vvarclock::vvar::RawFit::|"
                             r"vvarclock::serve::append_|^_*g?elf|^__libelf|^__(u?div|u?mod)")
READER = re.compile(r"::serve::\(anonymous namespace\)::(clock_gettime|gettimeofday|timespec_get|clock_getres|time|raw_clock_gettime)<")


def calls(library):
    """(function, helper) for every call or jump to a helper; and the names of all functions."""
    listing = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    function, found, names = "", [], []
    for line in listing.splitlines():
        if match := FUNCTION.match(line):
            function = match[1]
            names.append(function)
        elif match := HELPER.search(line):
            found.append((function, match[1]))
    return found, names


def main():
    """Complains about each call that is on the path."""
    found, names = calls(sys.argv[1])
    readers = [name for name in names if READER.search(name)]
    wrong = [(function, helper) for function, helper in found if not NOT_ON_THE_PATH.search(function)]
    if len(readers) < 50:
        wrong.append((f"only {len(readers)} readers are seen", "a library with its symbols is wanted"))
    for function, helper in wrong:
        print(f"FAIL: {function}: {helper}")
    print(f"{len(readers)} readers, {len(found)} calls of helpers elsewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
