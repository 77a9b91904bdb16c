"""Clock calls in a log of strace: how many went to the kernel, before the library attached and after. Pure.

The library reports when it has attached, so a process counts as attached from the opening of its report on. Threads and forked
children begin as their parent is; a new program begins unattached. Only calls that the library promises to serve are counted:
CPU clocks, alarm clocks and others are the kernel's with the library as without it.
"""

import collections
import dataclasses
import re

SERVED = frozenset(f'CLOCK_{name}' for name in (
    'REALTIME', 'MONOTONIC', 'MONOTONIC_RAW', 'BOOTTIME', 'TAI', 'REALTIME_COARSE', 'MONOTONIC_COARSE'))
LINE = re.compile(r'(?P<pid>\d+) +(?:<\.\.\. (?P<resumed>\w+) resumed>|(?P<call>\w+)\((?P<rest>.*))(?P<tail>.*)$')
RESULT = re.compile(r'= (-?\d+)(?: .*)?$')
BIRTHS = ('clone', 'clone3', 'fork', 'vfork')


@dataclasses.dataclass
class Count:
    """System calls for clocks that the library serves."""

    attaching: int = 0  # before the report, in programs that wrote one or not
    attached: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # after it, by call

    @property
    def after(self):
        """How many after the library attached."""
        return sum(self.attached.values())


def _what(call, rest):
    """The call as counted, or empty: not one of those."""
    if call in ('gettimeofday', 'time'):
        return call
    if call in ('clock_gettime', 'clock_getres'):
        clock = rest.split(',')[0].strip()
        return f'{call}({clock})' if clock in SERVED else ''
    return ''


def _parents(lines):
    """Who made which process. A child's first line may come before its parent's clone returns."""
    parents = {}
    for found in lines:
        if (found['call'] or found['resumed']) in BIRTHS:
            result = RESULT.search(found[0])
            if result and int(result[1]) > 0:
                parents[result[1]] = found['pid']
    return parents


def count(text, report):
    """Counts the calls in what `strace -f -o` wrote; `report` is the path that the library writes to."""
    lines = [found for found in map(LINE.match, text.splitlines()) if found]
    parents = _parents(lines)
    attached = {}
    out = Count()
    for found in lines:
        pid, call = found['pid'], found['call'] or found['resumed']
        if pid not in attached:
            attached[pid] = attached.get(parents.get(pid), False)
        if call == 'execve':
            result = RESULT.search(found[0])
            if result and result[1] == '0':
                attached[pid] = False
        elif call == 'openat' and f'"{report}"' in (found['rest'] or ''):
            attached[pid] = True
        elif found['call'] and (what := _what(call, found['rest'])):
            if attached[pid]:
                out.attached[what] += 1
            else:
                out.attaching += 1
    return out
