#!/usr/bin/env python3
"""The judge and the table: that wrong answers of a guest make failing rows, in the right place.

A matrix whose judge calls everything right would be worth nothing.
"""

import copy
import dataclasses
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import guest, judge, kernels, plan, table  # noqa: E402

RELEASE = '6.12.118+deb13-cloud-amd64'
KERNEL = kernels.Kernel(RELEASE, kernels.group_of(RELEASE), pathlib.Path('/nowhere'), set())
RUNS = (guest.Run('check', 'none', 'ordered', 1), guest.Run('check', 'fork', 'ordered', 1))
READER = {clock: 'reader' for clock in judge.ALL_CLOCKS}
NARROW_RUNS = tuple(dataclasses.replace(run, bits=32) for run in RUNS) + (guest.Run('prices', 'none', 'ordered', 0, 32),)


def result(namespace, bits=64):
    """What a guest program says when all is well."""
    return {'test': 'check', 'order': 'ordered', 'namespace': namespace, 'bits': bits, 'brackets': 1000, 'failures': 0,
            'served': sorted(judge.ALL_CLOCKS), 'problems': [], 'skipped': [], 'notes': []}


def good_process(name, status=0, words='', order='ordered'):
    """What guest_process says of one check."""
    return (32, order, name, status, words)


def good_report(bits=64):
    """What the library says when all is well."""
    return {'layout': '6.10-6.12', 'clock_mode': 'tsc', 'order': 'lfence', 'served': READER, 'refusals': [], 'bits': bits}


def good_price(clock):
    """What guest_prices says."""
    return {'bits': 32, 'order': 'ordered', 'clock': clock, 'ours': {'instructions': 62, 'ns': 70.2},
            'kernels': {'instructions': 97, 'ns': 101.0}}


def good_doctor(bits):
    """What the doctor says of one width of programs."""
    return {'bits': bits, 'layout': '6.10-6.12', 'clock_mode': 'tsc', 'library': {'active': True, 'observed': True},
            'clocks': {clock: {'served_by': 'reader', 'reason': None} for clock in judge.ALL_CLOCKS}}


def good_boot():
    """A boot in which all is well."""
    report = good_report()
    return guest.Boot(seconds=1.0, ended=True, release=RELEASE, source='tsc', reports=[report, copy.deepcopy(report)],
                      results=[result('none'), result('fork'), result('parent')],
                      exits=['0 check none ordered', '0 check fork ordered'])


def good_boot_of_both():
    """The same with 32-bit programs too."""
    boot = good_boot()
    boot.reports += [good_report(32), good_report(32), good_report(32)]
    boot.results += [result('none', 32), result('fork', 32), result('parent', 32)]
    boot.exits += ['0 check_32 none ordered', '0 check_32 fork ordered', '0 prices_32 none ordered']
    boot.prices = [good_price(clock) for clock in judge.PRICED_CLOCKS]
    return boot


def failures(change, setup=plan.TSC):
    """How many failures a good boot has after a change, in both of its rows."""
    boot = good_boot()
    change(boot)
    return [row.failures for row in judge.rows(boot, KERNEL, setup, RUNS, setup.name)]


def failures_of_both(change):
    """The same of a boot with programs of both widths: four rows."""
    boot = good_boot_of_both()
    change(boot)
    return [row.failures for row in judge.rows(boot, KERNEL, plan.TSC, RUNS + NARROW_RUNS, 'tsc')]


class JudgeTest(unittest.TestCase):
    """Each thing that a guest can say wrong."""

    def test_processes(self):
        runs = (guest.Run('process', 'none', 'ordered', 0, 32), guest.Run('process', 'none', 'unordered', 0, 32))
        right = [good_process('fork'), good_process('ids'), good_process('fork', order='unordered'),
                 good_process('ids', 77, 'no way', order='unordered')]
        cases = {'right': (right, 0), 'a failure': (right[:1] + [good_process('ids', 1)] + right[2:], 1),
                 'a crash': ([good_process('fork', 139)] + right[1:], 1), 'one not told': (right[1:], 1),
                 'an order not told': (right[:2], 1), 'nothing told': ([], 2)}
        for name, (told, wanted) in cases.items():
            with self.subTest(name):
                row = judge.Row(RELEASE, 'tsc')
                judge._judge_processes(row, told, runs)
                self.assertEqual(row.failures, wanted, row.problems)
                self.assertEqual(len(row.remarks), 1 if right[3] in told else 0)

    def test_doctors(self):
        cases = {
            'right': (lambda both: None, [0, 0]),
            'nothing said': (lambda both: both.clear(), [1, 1]),
            'one width not told': (lambda both: both.pop(), [0, 1]),
            'told twice': (lambda both: both.append(good_doctor(32)), [0, 1]),
            'a width that does not run': (lambda both: both.__setitem__(1, {'bits': 32, 'runs': False, 'reason': 'x'}), [0, 1]),
            'another layout': (lambda both: both[0].update(layout='6.13-6.14'), [1, 0]),
            'no layout': (lambda both: both[0].update(layout=None), [1, 0]),
            'another clock mode': (lambda both: both[1].update(clock_mode='none'), [0, 1]),
            'a clock by system call': (lambda both: both[0]['clocks']['CLOCK_TAI'].update(served_by='system call'), [1, 0]),
            'the library not at work': (lambda both: both[0]['library'].update(active=False), [1, 0]),
        }
        for name, (change, wanted) in cases.items():
            with self.subTest(name):
                boot = good_boot_of_both()
                boot.exits.append('0 doctor none ordered')
                boot.doctors = [good_doctor(64), good_doctor(32)]
                change(boot.doctors)
                runs = RUNS + NARROW_RUNS + (guest.Run('doctor', 'none', 'ordered', 0),)
                made = judge.rows(boot, KERNEL, plan.TSC, runs, 'tsc')
                self.assertEqual([made[0].failures, made[2].failures], wanted, made[0].problems + made[2].problems)

    def test_right(self):
        self.assertEqual(failures(lambda boot: None), [0, 0])

    def test_outside_row(self):
        changes = {
            'time-out': lambda boot: setattr(boot, 'timed_out', True),
            'no end': lambda boot: setattr(boot, 'ended', False),
            'another kernel': lambda boot: setattr(boot, 'release', '6.1.0-1-amd64'),
            'a clock source not offered': lambda boot: setattr(boot, 'missing', 'acpi_pm'),
            'another clock source': lambda boot: setattr(boot, 'source', 'hpet'),
            'a run missing': lambda boot: boot.exits.pop(),
            'a crash': lambda boot: boot.exits.__setitem__(0, '139 check none ordered'),
            'a stop too many': lambda boot: setattr(boot, 'stops', 1),
            'no report': lambda boot: boot.reports.clear(),
            'layout refused': lambda boot: boot.reports[0].update(layout=None),
            'layout of another kernel': lambda boot: boot.reports[1].update(layout='6.13-6.14'),
            'another clock mode': lambda boot: boot.reports[0].update(clock_mode='none'),
            'report of a syscall': lambda boot: boot.reports[0].update(served=READER | {'CLOCK_TAI': 'syscall'}),
            'a bracket': lambda boot: boot.results[0].update(failures=1, problems=['x']),
            'a bracket of the parent': lambda boot: boot.results[2].update(failures=1, problems=['x']),
            'a syscall': lambda boot: boot.results[0]['served'].pop(),
            'nothing tried': lambda boot: boot.results[0].update(brackets=0),
            'no result': lambda boot: boot.results.pop(0),
        }
        for name, change in changes.items():
            with self.subTest(name):
                outside, inside = failures(change)
                self.assertGreater(outside, 0)
                self.assertEqual(inside, 0)

    def test_inside_row(self):
        changes = {
            'a bracket': lambda boot: boot.results[1].update(failures=3, problems=['x']),
            'no result': lambda boot: boot.results.pop(1),
            'a syscall': lambda boot: boot.results[1]['served'].pop(),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.assertGreater(failures(change)[1], 0)

    def test_clocks_that_mode_none_cannot_have(self):
        def all_is_none(boot):
            boot.source = 'hpet'
            for report in boot.reports:
                report.update(clock_mode='none', served={clock: 'reader' for clock in judge.COARSE_CLOCKS})
        outside, inside = failures(all_is_none, plan.HPET)  # the results still name all seven
        self.assertGreater(outside, 0)
        self.assertGreater(inside, 0)

    def test_clocks_without_the_counter(self):
        def forbid(boot):
            boot.results[0].update(namespace='forbidden', served=sorted(judge.COARSE_CLOCKS))
        self.assertEqual(failures(forbid), [0, 0])

        def read_it(boot):
            boot.results[0].update(namespace='forbidden')
        self.assertGreater(failures(read_it)[0], 0)

    def test_layout_fits(self):
        self.assertTrue(judge.layout_fits('6.10-6.12', (6, 12)))
        self.assertTrue(judge.layout_fits('6.17-7.3', (7, 0)))
        self.assertFalse(judge.layout_fits('6.10-6.12', (6, 9)))
        self.assertFalse(judge.layout_fits('6.10-6.12', (6, 13)))
        self.assertFalse(judge.layout_fits(None, (6, 12)))

    def test_both_widths_right(self):
        boot = good_boot_of_both()
        made = judge.rows(boot, KERNEL, plan.TSC, RUNS + NARROW_RUNS, 'tsc')
        self.assertEqual([(row.setup, row.failures, row.seconds) for row in made],
                         [('tsc', 0, 1.0), ('tsc, namespace', 0, 0), ('tsc, 32-bit', 0, 0),
                          ('tsc, 32-bit, namespace', 0, 0)])
        self.assertEqual(made[2].prices, boot.prices)

    def test_32_bit_rows(self):
        narrow, inside, whole = 2, 3, 0
        changes = {
            'no report': (narrow, lambda boot: boot.reports.__delitem__(slice(2, None))),
            'not attached': (narrow, lambda boot: boot.reports[2].update(layout=None, clock_mode=None, served={})),
            'another layout': (narrow, lambda boot: boot.reports[3].update(layout='6.13-6.14')),
            'another clock mode': (narrow, lambda boot: boot.reports[4].update(clock_mode='none')),
            'a bracket': (narrow, lambda boot: boot.results[3].update(failures=1, problems=['x'])),
            'a syscall': (narrow, lambda boot: boot.results[3]['served'].pop()),
            'no result': (narrow, lambda boot: boot.results.pop(3)),
            'no price': (narrow, lambda boot: boot.prices.pop()),
            'a price of another order': (narrow, lambda boot: boot.prices[0].update(order='lfence')),
            'no instructions': (narrow, lambda boot: boot.prices[0]['ours'].update(instructions=0)),
            'a bracket inside': (inside, lambda boot: boot.results[4].update(failures=1, problems=['x'])),
            'no result inside': (inside, lambda boot: boot.results.pop(4)),
            'a crash': (whole, lambda boot: boot.exits.__setitem__(2, '126 check_32 none ordered')),
        }
        for name, (wrong, change) in changes.items():
            with self.subTest(name):
                for place, count in enumerate(failures_of_both(change)):
                    (self.assertGreater if place == wrong else self.assertEqual)(count, 0)

    def test_layouts_of_the_widths_agree(self):
        def both_fit(boot):  # each fits the kernel, and yet they are not the same
            for report in boot.reports:
                if report['bits'] == 32:
                    report.update(layout='6.11-6.12')
        self.assertEqual(failures_of_both(both_fit), [0, 0, 1, 0])

    def test_prices_are_shown(self):
        text = table.text(judge.rows(good_boot_of_both(), KERNEL, plan.TSC, RUNS + NARROW_RUNS, 'tsc'))
        self.assertRegex(text, rf'{re.escape(RELEASE)} +32-bit +62 / 97, 70 / 101 ns')
        self.assertNotIn('ns', table.text([judge.Row('k', 'a')]))

    def test_skips_say_why(self):
        rows = [judge.Row('k', 'a'), judge.Row('every kernel', '32-bit', skipped='no -m32')]
        self.assertIn('1 rows right, 0 rows with failures, 1 skipped', table.text(rows))
        self.assertIn('every kernel 32-bit: no -m32', table.text(rows))
        self.assertIn('\nok 2 - every kernel 32-bit # SKIP no -m32\n1..2', table.points(rows))

    def test_table_counts_rows(self):
        rows = [judge.Row('k', 'a'), judge.Row('k', 'b', failures=2, problems=['why'])]
        self.assertIn('1 rows right, 1 rows with failures', table.text(rows))
        self.assertIn('why', table.text(rows))
        self.assertIn('\nok 1 - k a\nnot ok 2 - k b\n1..2', table.points(rows))


if __name__ == '__main__':
    unittest.main()
