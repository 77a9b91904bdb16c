"""What a hot path's machine code must not hold, whichever compiler made it.

Depends on machine_code.py, and on readelf for where the file's writable data begins.
"""
import os
import re
import subprocess

EXPORTED = ("clock_gettime", "gettimeofday", "timespec_get", "time", "clock_getres")
FIRST_LINES = 128  # bytes of the dispatch table that calls read
MODES = {1: "tsc", 2: "pvclock", 3: "hvclock"}
# The end of what is ours alone: the fallback asks libc where errno is, and the raw clock learns from what a system call answered.
BESIDE_SYSTEM_CALLS = ("vvarclock::serve::fallback::", "vvarclock::serve::RawClock::learn")


class Data:
    """What is writable in the file, and what of it a reader may refer to."""

    def __init__(self, path):
        def run(*command):
            return subprocess.run([*command, path], check=True, text=True, stdout=subprocess.PIPE,
                                  env={**os.environ, "LC_ALL": "C"}).stdout
        symbols = run("nm", "--demangle", "--print-size")

        def extent(name):
            found = re.search(rf"^([0-9a-f]+) ([0-9a-f]+) . vvarclock::serve::{name}$", symbols, re.MULTILINE)
            return range(int(found[1], 16), int(found[1], 16) + int(found[2], 16))

        self.table = extent("dispatch")[:FIRST_LINES]
        self.raw_clock = extent("raw_clock")
        segments = re.findall(r"^ +LOAD +\S+ 0x(\S+) .* RW ", run("readelf", "--program-headers", "--wide"), re.MULTILINE)
        self.first = min(int(found, 16) for found in segments)

    def is_foreign(self, address, by_line):
        return address is not None and address >= self.first and address not in self.table and not (
            by_line and address in self.raw_clock)


def fence_rule(library, one, counter):
    """The order that the reader's name promises, at one counter read."""
    if (one.name == "rdtscp") != (counter == "Rdtscp"):
        return f"reads the counter by {one.name}"
    fenced = library.at[library.previous[one.address]].name == "lfence"
    return None if fenced == (counter == "Lfence") else f"has {'an' if fenced else 'no'} lfence before {one.name}"


def frame_rules(one):
    """A stack frame."""
    if re.search(r"%[er]?sp\b", one.operands) or one.name.startswith(("push", "pop", "enter", "leave")):
        yield "uses the stack"


def rules_for_all(one, data, by_line):
    if one.name.startswith("call"):
        yield "calls"
    if one.name.startswith(("div", "idiv")):
        yield "divides"
    if one.name in ("syscall", "sysenter", "int", "cpuid", "mfence") or one.operands.startswith("*"):
        yield "has an instruction that does not belong there"
    if data.is_foreign(one.refers_to, by_line):
        yield "refers to data that is none of its own"


def reader_rules(library, key, start, data, by_line, frames):
    function, _, counter, mode = key
    for one in sorted(library.returning(start), key=lambda one: one.address):
        yield from ((told, one) for told in rules_for_all(one, data, by_line))
        # The 64 x 64 multiply of the Hyper-V page takes a register more than there are for nothing; so do the many tests of a line.
        if frames and mode != 3 and not by_line:
            yield from ((told, one) for told in frame_rules(one))
        if one.name in ("rdtsc", "rdtscp") and (told := fence_rule(library, one, counter)):
            yield told, one
    if back := library.loops(start):
        yield "has a loop", back
    elif set(library.lengths(start)) != ({0, 1} if function == "clock_gettime" else {1}):
        yield f"reads the counter so many times on its ways: {sorted(library.lengths(start))}", library.at[start]


def line_readers(library, blocks):
    """Those of CLOCK_MONOTONIC_RAW where the page has no record of it: blocks that are not the generic vDSO's. None in mode hvclock."""
    return {key: start for key, start in library.readers().items()
            if key[0] == "raw_clock_gettime" and key[1] not in blocks and key[3] != 3}


def reached(library, starts):
    """Every instruction to which jumps and calls lead, but for what comes with a system call."""
    came_from = {start: None for start in starts}
    open_ends = list(starts)
    while open_ends:
        one = library.at.get(open_ends.pop())
        if one is None or one.function.startswith(BESIDE_SYSTEM_CALLS):
            continue
        after = [] if one.ends() else [library.next.get(one.address)]
        for address in after + [one.target]:
            if address is not None and address not in came_from:
                came_from[address] = one
                open_ends.append(address)
    return [library.at[address] for address in came_from if address in library.at]


def broken_rules(library, path, blocks, frames):
    """One line each. frames: may a reader have no stack frame?"""
    broken = []
    data = Data(path)
    readers = {key: start for key, start in library.readers().items() if key[1] in blocks}
    seen = {key[0:1] + key[2:] for key in readers}
    if len(readers) != len(blocks) * len(seen) or len(seen) != 4 * 3 * 3:
        broken.append(f"{len(readers)} readers were found, not one of each function, block, counter and mode")
    lines = line_readers(library, blocks)
    if len(lines) != len({key[1] for key in lines}) * 3 * 2 or not lines:
        broken.append(f"{len(lines)} readers of a raw line were found, not one of each block, counter and mode")
    for key, start in [*readers.items(), *lines.items()]:
        what = f"{key[0]}, {key[1]}, {key[2]}, {MODES[key[3]]}"
        broken += [f"{what}: {told} ({one})" for told, one in reader_rules(library, key, start, data, key in lines, frames)]
    for name in EXPORTED:
        hot = library.hot(library.functions[name])
        ways_on = [one for one in hot if one.operands.startswith("*")]
        if len(ways_on) != 1:
            broken.append(f"{name}: {len(ways_on)} indirect jumps, not one through the table")
        for one in hot:
            told = list(frame_rules(one)) + (["calls"] if one.name.startswith("call") else [])
            broken += [f"{name}: {each} ({one})" for each in told]
    starts = [library.functions[name] for name in EXPORTED] + list(library.readers().values())
    for one in reached(library, starts):
        if one.target_name and one.target_name.endswith("@plt"):
            broken.append(f"{one.function} leaves the library ({one})")
    return broken
