"""Counts what a run of `meson test` reported, names what was skipped and what failed, and ends with one line:
"N passed, N failed, N skipped". Status 1 when something failed or nothing ran.

Usage: count_results.py TESTLOG.JSON [STATUS]     STATUS is that of `meson test`

Counted is the smallest thing that a test reports: Catch2 test cases, TAP points, else the test itself. A test that meson calls
failed counts as one failure at least, whatever it printed (it may have died half-way). A Catch2 case that printed
"skipped: reason" is skipped, not passed.
"""

import json
import re
import sys

RULER = re.compile(r"^-{70,}$")
SKIPPED = re.compile(r"^\s*skipped: *(.*\S)")
ALL_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)", re.M)
CASES = re.compile(r"^test cases: *(\d+) *\|(.*)$", re.M)
NOTHING_RAN = re.compile(r"^No tests? (cases matched|ran)", re.M)
PART = re.compile(r"(\d+) (passed|failed as expected|failed|skipped)")
TAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*(skip)\w*\s*(.*))?", re.M | re.I)
TAP_POINT = re.compile(r"^(not )?ok\b(?: *\d+)?(?: *- *)?([^#\n]*)(?:#\s*(skip|todo)\w*\s*(.*))?$", re.M | re.I)


class Count:
    """Numbers passed, and lines that name the failed and the skipped."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def reasons_by_case(output):
    """Catch2's console output -> {test case: reason of its first skip}. A case's header is its name between two rulers."""
    found = {}
    case, in_header = "", False
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if RULER.match(line):
            in_header = not in_header
            if in_header:
                case = "".join(lines[number + 1 : number + 2]).strip()
        match = SKIPPED.match(line)
        if match:
            found.setdefault(case, match.group(1))
    return found


def count_catch(name, output):
    """None when the output is not Catch2's."""
    parts = {}
    whole = ALL_PASSED.search(output)
    some = CASES.search(output)
    if whole:
        parts["passed"] = int(whole.group(1))
    elif some:
        parts = {word: int(number) for number, word in PART.findall(some.group(2))}
    elif not NOTHING_RAN.search(output):
        return None
    count = Count()
    for case, reason in reasons_by_case(output).items():
        count.skipped.append(f"{name}: {case}: {reason}")
    count.passed = max(parts.get("passed", 0) + parts.get("failed as expected", 0) - len(count.skipped), 0)
    # Version 3 counts its own kind of skip; the reason is in the log.
    count.skipped += [f"{name}: a test case (the log says why)"] * parts.get("skipped", 0)
    count.failed = [f"{name}: a test case"] * parts.get("failed", 0)
    return count


def count_tap(name, output):
    """None when the output is not TAP."""
    plan = TAP_PLAN.search(output)
    if not plan:
        return None
    count = Count()
    points = TAP_POINT.findall(output)
    for bad, label, directive, reason in points:
        point = f"{name}: {label.strip()}"
        if directive.lower() == "skip":
            count.skipped.append(f"{point}: {reason or 'no reason given'}")
        elif bad:
            count.failed.append(point)
        else:
            count.passed += 1
    if plan.group(2):
        count.skipped.append(f"{name}: {plan.group(3) or 'no reason given'}")
    elif int(plan.group(1)) != len(points):
        count.failed.append(f"{name}: {len(points)} of {plan.group(1)} points were reported")
    return count


def reason_of_exit(test):
    """Why a whole test was skipped: the line that says so, else its last line."""
    text = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        match = SKIPPED.match(line)
        if match:
            return match.group(1)
    return lines[-1] if lines else "no reason given"


def count_test(test):
    name, result = test["name"], test["result"]
    output = test.get("stdout") or ""
    count = count_tap(name, output) or count_catch(name, output)
    if count is None:
        count = Count()
        if result == "SKIP":
            count.skipped.append(f"{name}: {reason_of_exit(test)}")
        elif result in ("OK", "EXPECTEDFAIL"):
            count.passed = 1
    if result not in ("OK", "EXPECTEDFAIL", "SKIP") and not count.failed:
        count.failed.append(f"{name}: {result.lower()}")
    elif count.passed + len(count.failed) + len(count.skipped) == 0:
        count.failed.append(f"{name}: it ran nothing")
    return count


def main(arguments):
    total = Count()
    try:
        with open(arguments[1], encoding="utf-8", errors="replace") as log:
            for line in log:
                total.add(count_test(json.loads(line)))
    except FileNotFoundError:
        pass
    status = int(arguments[2]) if len(arguments) > 2 else 0
    if status != 0 and not total.failed:
        total.failed.append(f"meson test ended with status {status}")
    if total.passed + len(total.failed) + len(total.skipped) == 0:
        total.failed.append("no test ran")
    for title, lines in (("Skipped", total.skipped), ("Failed", total.failed)):
        if lines:
            print(f"\n{title}:")
            print("\n".join(f"  {line}" for line in lines))
    print(f"\n{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
