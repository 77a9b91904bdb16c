#!/usr/bin/env python3
"""The harness itself: that wrong answers of a guest make failing rows, and that packages and releases are told apart.

A matrix whose judge calls everything right would be worth nothing.
"""

import copy
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import guest, initramfs, judge, kernels, plan, table  # noqa: E402

RELEASE = '6.12.118+deb13-cloud-amd64'
KERNEL = kernels.Kernel(RELEASE, kernels.group_of(RELEASE), pathlib.Path('/nowhere'), set())
RUNS = (guest.Run('check', 'none', 'ordered', 1), guest.Run('check', 'fork', 'ordered', 1))
READER = {clock: 'reader' for clock in judge.ALL_CLOCKS}


def result(namespace):
    """What a guest program says when all is well."""
    return {'test': 'check', 'order': 'ordered', 'namespace': namespace, 'brackets': 1000, 'failures': 0,
            'served': sorted(judge.ALL_CLOCKS), 'problems': [], 'skipped': [], 'notes': []}


def good_boot():
    """A boot in which all is well."""
    report = {'layout': '6.10-6.12', 'clock_mode': 'tsc', 'order': 'lfence', 'served': READER, 'refusals': []}
    return guest.Boot(seconds=1.0, ended=True, release=RELEASE, source='tsc', reports=[report, copy.deepcopy(report)],
                      results=[result('none'), result('fork'), result('parent')],
                      exits=['0 check none ordered', '0 check fork ordered'])


def failures(change, setup=plan.TSC):
    """How many failures a good boot has after a change, in both of its rows."""
    boot = good_boot()
    change(boot)
    return [row.failures for row in judge.rows(boot, KERNEL, setup, RUNS, setup.name)]


class DeathTest(unittest.TestCase):
    """A kernel that dies of itself is told from one that is killed."""

    def death(self, text):
        """What is made of a console."""
        with tempfile.TemporaryDirectory() as folder:
            console = pathlib.Path(folder) / 'console'
            console.write_text(text)
            return guest.death(console)

    def test_panic(self):
        said = ('[   46.5] Oops: int3: 0000 [#1] SMP NOPTI\n[   46.6] RIP: 0010:ktime_get+0x57/0x150\n'
                '[   46.7] RIP: 0033:0x7fc8b4038829\n[   46.8] Kernel panic - not syncing: Fatal exception in interrupt\n')
        self.assertEqual(self.death(said), 'Oops: int3: 0000 [#1] SMP NOPTI; RIP: 0010:ktime_get+0x57/0x150')

    def test_alive(self):
        self.assertEqual(self.death(''), '')
        self.assertEqual(self.death('[    1.0] BUG: something that it survived\n'), '')
        self.assertEqual(guest.death('/nowhere/console'), '')


class JudgeTest(unittest.TestCase):
    """Each thing that a guest can say wrong."""

    def test_right(self):
        self.assertEqual(failures(lambda boot: None), [0, 0])

    def test_outside_row(self):
        changes = {
            'time-out': lambda boot: setattr(boot, 'timed_out', True),
            'no end': lambda boot: setattr(boot, 'ended', False),
            'another kernel': lambda boot: setattr(boot, 'release', '6.1.0-1-amd64'),
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

    def test_table_counts_rows(self):
        rows = [judge.Row('k', 'a'), judge.Row('k', 'b', failures=2, problems=['why'])]
        self.assertIn('1 rows right, 1 rows with failures', table.text(rows))
        self.assertIn('why', table.text(rows))
        self.assertIn('\nok 1 - k a\nnot ok 2 - k b\n1..2', table.points(rows))


class LinesTest(unittest.TestCase):
    """The guest's lines."""

    def test_lines(self):
        boot = guest.Boot()
        for line in ('kernel x', 'source tsc', 'result {"a": 1}', 'report {"b": 2}', 'report {broken', 'begin steps',
                     'exit 0 check', 'hello', 'end'):
            boot.take(line)
        self.assertEqual((boot.release, boot.source, boot.last_begun, boot.ended), ('x', 'tsc', 'steps', True))
        self.assertEqual((boot.results, boot.reports, boot.exits), ([{'a': 1}], [{'b': 2}], ['0 check']))
        self.assertEqual(boot.noise, ['report {broken', 'hello'])


class PackagesTest(unittest.TestCase):
    """Names of packages and releases."""

    def test_names(self):
        for name, release in {'linux-image-5.10.0-46-cloud-amd64-unsigned': '5.10.0-46-cloud-amd64',
                              'linux-image-6.1.0-57-amd64': '6.1.0-57-amd64',
                              'linux-binary-unsigned-7.3.4+deb13-cloud-amd64': '7.3.4+deb13-cloud-amd64'}.items():
            self.assertEqual(kernels.PACKAGE.fullmatch(name)['release'], release)
        for name in ('linux-image-7.3-amd64', 'linux-image-amd64', 'linux-headers-6.1.0-57-amd64',
                     'linux-image-6.1.0-57-amd64-dbg'):
            self.assertIsNone(kernels.PACKAGE.fullmatch(name))

    def test_groups(self):
        self.assertEqual(kernels.group_of('6.1.0-0.deb11.52-amd64'), kernels.Group((6, 1), 'deb11'))
        self.assertEqual(kernels.group_of('6.1.0-57-cloud-amd64'), kernels.Group((6, 1), ''))
        self.assertNotEqual(kernels.group_of('7.2.12+deb13-amd64'), kernels.group_of('7.2.13+deb14-amd64'))


class ArchiveTest(unittest.TestCase):
    """The archive format, as another program reads it."""

    @unittest.skipUnless(shutil.which('busybox'), 'busybox is missing')
    def test_cpio_reads_it(self):
        archive = initramfs.record('a', 0o100644, b'12345') + initramfs.record('bb/c', 0o100755, b'') + \
            initramfs.record('TRAILER!!!', 0)
        with tempfile.NamedTemporaryFile() as file:
            file.write(archive)
            file.flush()
            listing = subprocess.run(['busybox', 'cpio', '-t', '-F', file.name], check=True, capture_output=True, text=True)
        self.assertEqual(listing.stdout.split(), ['a', 'bb/c'])


if __name__ == '__main__':
    unittest.main()
