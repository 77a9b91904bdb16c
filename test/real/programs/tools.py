"""Load generators and measuring tools, which read clocks all the time."""

import json
import os
import re

from harness.program import NUMBERS, Program


class StressNg(Program):
    """The clock, timerfd and vdso stressors. Not as root: the clock stressor tries to set clocks."""

    name = 'stress-ng'
    needs = (('stress-ng', 'stress-ng'),)
    user = 'nobody' if os.getuid() == 0 else ''
    unit = 'operations/s'
    higher_is_better = True
    own_calls = 'its clock stressor makes the system calls themselves, too'
    varies = 'numbers'

    def command(self, short):
        return ['stress-ng', '--temp-path', '/tmp', '--clock', 1, '--timerfd', 1, '--vdso', 1, '--metrics-brief',
                '--timeout', 1 if short else 5]

    def figures(self, text):
        # Operations, real, user and system seconds, operations per real second, per CPU second.
        return {name: float(rate) for name, rate in
                re.findall(r'\] (clock|timerfd|vdso) +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)', text)}


class Fio(Program):
    """The null engine, each I/O timed with clock_gettime(CLOCK_MONOTONIC), which is what this source is in Debian's build."""

    name = 'fio'
    needs = (('fio', 'fio'),)
    unit = 'I/Os per s'
    higher_is_better = True
    varies = 'numbers, and the latency rows that depend on them'
    masks = ((r'"(read|write|trim|sync)" : \{[\s\S]*?\n      \},', 'N'), (r'"latency_\w+" : \{[\s\S]*?\}', 'N'),
             (r'"time" : ".*"', 'N'), NUMBERS)

    def command(self, short):
        return ['fio', '--name=clocks', '--ioengine=null', '--rw=read', '--bs=4k', f'--size={"400k" if short else "6g"}',
                '--clocksource=clock_gettime', '--thread', '--output-format=json']

    def figures(self, text):
        job = json.loads(text[text.index('{'):])['jobs'][0]
        return {'null engine': job['read']['iops']}


class FioRaw(Fio):
    """The same with a log whose epoch is CLOCK_MONOTONIC_RAW, the only way in which fio reads that clock."""

    name = 'fio, raw clock'

    def command(self, short):
        return super().command(short) + ['--write_bw_log=clocks', '--log_avg_msec=100', '--log_alternate_epoch=1',
                                         '--log_alternate_epoch_clock_id=4']


class Sysbench(Program):
    """Memory writes in small blocks: each event is timed."""

    name = 'sysbench memory'
    needs = (('sysbench', 'sysbench'),)
    unit = 'operations/s'
    higher_is_better = True

    def command(self, short):
        return ['sysbench', 'memory', '--memory-block-size=1K', f'--memory-total-size={"200K" if short else "1G"}', '--time=0', 'run']

    def figures(self, text):
        return {'1 KiB blocks': float(rate) for rate in re.findall(r'\( *([\d.]+) per second\)', text)}


class Cyclictest(Program):
    """Waits for absolute deadlines; the clock says how late it woke up."""

    name = 'cyclictest'
    needs = (('cyclictest', 'rt-tests'),)
    unit = 'us'
    varies = 'numbers'

    def command(self, short):
        return ['cyclictest', '--quiet', '--interval=1000', f'--loops={50 if short else 4000}']

    def figures(self, text):
        return {'average lateness': float(late) for late in re.findall(r'Avg: +(\d+)', text)}


ALL = (StressNg, Fio, FioRaw, Sysbench, Cyclictest)
