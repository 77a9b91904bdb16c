"""The machine code of a built library, as objdump prints it: functions, the ways through them, what they refer to.

A way starts at a function's first instruction and goes through whatever it jumps to, as long as that is hot: it ends at a return,
and a jump into a cold part or into a function that is kept out of line leaves it. Depends on objdump and on the standard library.
Knows the registers and operands of no instruction but those that it is asked about.
"""
import functools
import os
import re
import subprocess

# Where a call goes that is no longer the usual case. The names are those of core/serve.
LEFT = re.compile(r"\[clone \.cold\]|::rest_of_|::raw_clock_gettime<|::fallback::")
FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(?:(?:cs|ds|data16|notrack|bnd|rex\.\w+) )*(\S+) *(.*)$")
PADDING = re.compile(r"^(nop|xchg +%ax,%ax|int3|data16)")
COUNTERS = ("rdtsc", "rdtscp")
READER = re.compile(r"::serve::\(anonymous namespace\)::(clock_gettime|gettimeofday|timespec_get|raw_clock_gettime)"
                    r"<.*::(kBlock\w+), .*::(\w+)Tsc, (\d)[,>]")


class Instruction:
    def __init__(self, address, name, operands, function):
        self.address, self.name, self.operands, self.function = address, name, operands, function
        target = re.match(r"([0-9a-f]+) <", operands)
        self.target = int(target[1], 16) if target and name.startswith(("j", "call")) else None
        self.target_name = operands[target.end():].rstrip(">") if self.target is not None else None
        memory = re.search(r"\(%rip\).*# ([0-9a-f]+) <", operands)
        self.refers_to = int(memory[1], 16) if memory else None

    def __str__(self):
        return f"{self.address:x}: {self.name} {self.operands}"

    def is_jump(self):
        return self.name == "jmp"

    def is_branch(self):
        return self.name.startswith("j") and not self.is_jump()

    def ends(self):
        return self.name in ("ret", "retq", "hlt", "ud2") or self.is_jump()

    def returns(self):
        return self.name in ("ret", "retq")


class Library:
    """All functions, by name and by address."""

    def __init__(self, path):
        text = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", "--wide", path],
                              env={**os.environ, "LC_ALL": "C"}, check=True, text=True, stdout=subprocess.PIPE).stdout
        self.functions, self.at, self.next, self.previous = {}, {}, {}, {}
        name = last = None
        for line in text.splitlines():
            if start := FUNCTION.match(line):
                name, last = start[2], None
                self.functions.setdefault(name, int(start[1], 16))
            elif name and (found := INSTRUCTION.match(line)):
                one = Instruction(int(found[1], 16), found[2], found[3].strip(), name)
                self.at[one.address] = one
                if last is not None:
                    self.next[last] = one.address
                    self.previous[one.address] = last
                last = one.address

    def readers(self):
        """(function, block kind, counter, clock mode) -> where it starts."""
        return {match.groups()[:3] + (int(match[4]),): address for name, address in self.functions.items()
                if (match := READER.search(name)) and "[clone" not in name}

    def successors(self, one):
        """Where the way goes on from an instruction, the hot ones alone."""
        after = []
        if one.target in self.at and (one.is_jump() or one.is_branch()):
            if self.at[one.target].function == one.function or not LEFT.search(one.target_name):
                after.append(one.target)
        if not one.ends():
            after.append(self.next.get(one.address))
        return [self.at[address] for address in after if address in self.at]

    @functools.lru_cache(maxsize=None)
    def hot(self, start):
        """Every instruction that can run between a function's first one and its return, in order of address."""
        seen, open_ends = set(), [self.at[start]]
        while open_ends:
            one = open_ends.pop()
            if one not in seen:
                seen.add(one)
                open_ends.extend(self.successors(one))
        return sorted(seen, key=lambda one: one.address)

    def returning(self, start):
        """Those of them from which a return can be reached: a loop or a way out is not among them."""
        before = {}
        for one in self.hot(start):
            for after in self.successors(one):
                before.setdefault(after, []).append(one)
        seen, open_ends = set(), [one for one in self.hot(start) if one.returns()]
        while open_ends:
            one = open_ends.pop()
            if one not in seen:
                seen.add(one)
                open_ends.extend(before.get(one, []))
        return seen

    def loops(self, start):
        """An instruction to which a hot way comes back, or None."""
        state = {}
        stack = [(self.at[start], iter(self.successors(self.at[start])))]
        state[self.at[start]] = "open"
        while stack:
            one, rest = stack[-1]
            after = next(rest, None)
            if after is None:
                state[one] = "done"
                stack.pop()
            elif after not in state:
                state[after] = "open"
                stack.append((after, iter(self.successors(after))))
            elif state[after] == "open":
                return after
        return None

    def lengths(self, start):
        """Counter reads on a way to a return -> (fewest, most) instructions of such a way. Only where nothing loops."""
        found = {}

        def ways(one):
            if one in found:
                return found[one]
            mine = {}
            for after in self.successors(one):
                for reads, (fewest, most) in ways(after).items():
                    reads += one.name in COUNTERS
                    low, high = mine.get(reads, (fewest + 1, most + 1))
                    mine[reads] = (min(low, fewest + 1), max(high, most + 1))
            found[one] = {0: (1, 1)} if one.returns() else mine
            return found[one]

        for one in reversed(self.in_order(start)):  # ends first, so that no call goes deep
            ways(one)
        return ways(self.at[start])

    def in_order(self, start):
        """The hot instructions, each before those that follow it."""
        order, seen = [], set()
        stack = [(self.at[start], iter(self.successors(self.at[start])))]
        seen.add(self.at[start])
        while stack:
            one, rest = stack[-1]
            after = next(rest, None)
            if after is None:
                order.append(one)
                stack.pop()
            elif after not in seen:
                seen.add(after)
                stack.append((after, iter(self.successors(after))))
        return order[::-1]
