"""One program from start to row: runs it in every way, compares, counts its clock calls, and says what is wrong."""

import dataclasses
import re
import shutil
import statistics
import subprocess

from . import calls, packages
from .place import ORDERS, WAYS, WITHOUT, Unavailable, Way

PAGE_TEXT = 'no preloaded library can serve them'


@dataclasses.dataclass
class Row:
    """What came of one program."""

    name: str
    served: bool = True
    skipped: str = ''
    problems: list = dataclasses.field(default_factory=list)
    remarks: list = dataclasses.field(default_factory=list)
    figures: dict = dataclasses.field(default_factory=dict)  # what: {way: median}
    unit: str = ''
    higher_is_better: bool = False
    runs: int = 0
    varies: str = ''
    caught: int = -1  # clock calls that reach the library: system calls when it is switched off
    attaching: int = -1
    after: int = -1  # clock system calls after it attached


def first_difference(left, right):
    """In words, the first line in which two texts differ."""
    a, b = left.splitlines(), right.splitlines()
    for number in range(max(len(a), len(b))):
        mine, other = (lines[number] if number < len(lines) else '(end)' for lines in (a, b))
        if mine != other:
            return f'line {number + 1}: "{mine[:90]}" became "{other[:90]}"'
    return 'nothing'


def compare(row, program, runs):
    """Status and output of every run under the library against the runs without it."""
    plain = [(done.status, program.masked(done.text)) for done in runs['without']]
    if plain[0][0] != 0 and not program.may_fail:
        raise Unavailable(f'it fails here without the library too, status {plain[0][0]}: '
                          f'{(runs["without"][0].text.strip().splitlines() or [""])[-1][:120]}')
    if plain[0][0] != 0:
        row.remarks.append(f'status {plain[0][0]} without the library too: '
                           f'{", ".join(sorted(set(re.findall(r"^(?:FAIL|ERROR): (.*)", runs["without"][0].text, re.MULTILINE))))}')
    if len(set(plain)) > 1:
        row.remarks.append(f'its output differs from run to run without the library too: '
                           f'{first_difference(plain[0][1], next(text for _, text in plain if text != plain[0][1]))}'
                           if len({text for _, text in plain}) > 1 else 'its status differs from run to run')
    for order in ORDERS:
        for done in runs[order]:
            if done.status not in {status for status, _ in plain}:
                row.problems.append(f'{order}: status {done.status}, without the library {plain[0][0]}: '
                                    f'{(done.text.strip().splitlines() or [""])[-1][:120]}')
            elif (done.status, program.masked(done.text)) not in plain:
                row.problems.append(f'{order}: other output: {first_difference(plain[0][1], program.masked(done.text))}')


def figures_of(program, done):
    """What one run measured; nothing when its output is not what it should be."""
    try:
        return program.figures(done.text)
    except (ValueError, LookupError):
        return {}


def read_figures(row, program, runs):
    """Medians over the runs."""
    each = {way: [figures_of(program, done) for done in ended] for way, ended in runs.items()}
    for what in each['without'][0]:
        row.figures[what] = {way: statistics.median([found[what] for found in figures if what in found] or [float('nan')])
                             for way, figures in each.items()}
    if not row.figures:
        row.problems.append('no figure in its output')


def why_untraced():
    """Why strace cannot be used here, or nothing."""
    if not shutil.which('strace'):
        return 'strace is not installed'
    done = subprocess.run(['strace', '-f', '--seccomp-bpf', '-o', '/dev/null', 'true'], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    return '' if done.returncode == 0 else f'strace does not work here: {done.stderr.strip()[-100:]}'


def trace(row, program, place):
    """Counts clock system calls: with the library on, none may be left; with it off, each caught call is one."""
    if reason := why_untraced():
        row.remarks.append(f'clock calls not counted: {reason}')
        return
    counts = {}
    for name, off in (('on', False), ('off', True)):
        log = place.scratch / 'strace.log'
        # The library adds to its own user's report only, and rows run as different users.
        place.report.unlink(missing_ok=True)
        done = program.play(Way(f'traced, {name}', 'ordered', off, log), short=True)
        if done.status != 0 and not program.may_fail:
            row.problems.append(f'traced, {name}: status {done.status}: {(done.text.strip().splitlines() or [""])[-1][:120]}')
        counts[name] = calls.count(log.read_text(errors='replace'), place.report)
        log.unlink()
    row.attaching, row.after, row.caught = counts['on'].attaching, counts['on'].after, counts['off'].after
    left = ', '.join(f'{number} {what}' for what, number in counts['on'].attached.most_common(4))
    if row.after and program.own_calls:
        row.remarks.append(f'{left} after attaching: {program.own_calls}')
    elif row.after:
        row.problems.append(f'clock system calls after attaching: {left}')
    if program.served and not row.caught:
        row.problems.append('none of its clock calls reaches the library')
    if not program.served and row.caught:
        row.problems.append(f'{row.caught} of its clock calls reach the library, which is said not to serve it')


def examine(kind, place, quick, say, rounds=0):
    """The row of one program. `rounds`: other than its own number of runs each."""
    program = kind(place, quick)
    row = Row(program.name, program.served, unit=program.unit, higher_is_better=program.higher_is_better, varies=program.varies)
    try:
        packages.get(place.source, program.needs, install=not quick)
        program.prepare()
        runs = {way.name: [] for way in WAYS}
        row.runs = rounds or (1 if quick else program.rounds)
        for number in range(row.runs):
            say(f'{program.name}: round {number + 1} of {row.runs}')
            for way in WAYS:
                runs[way.name].append(program.play(way))
        compare(row, program, runs)
        read_figures(row, program, runs)
        trace(row, program, place)
        if not program.served:
            doctor = place.run(WITHOUT, [place.wrapper, '--doctor']).text
            if PAGE_TEXT not in ' '.join(doctor.split()):
                row.problems.append('the doctor does not say why such programs are not served')
    except Unavailable as reason:
        row.skipped = str(reason)
    return row
