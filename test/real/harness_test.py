#!/usr/bin/env python3
"""The harness itself: that calls are counted where they belong, that a difference is seen, and that speeds have the right sense.

A comparison that calls everything the same would be worth nothing.
"""

import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import programs  # noqa: E402
from harness import calls, examine, packages, table  # noqa: E402
from harness.place import WITHOUT, Ended, Unavailable, Way  # noqa: E402
from harness.program import Program, Server  # noqa: E402

REPORT = '/tmp/reports/report'
OPENED = f'openat(AT_FDCWD, "{REPORT}", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3'
READ = 'clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0'


def count(*lines):
    """(attaching, after) of a log."""
    found = calls.count('\n'.join(lines), REPORT)
    return found.attaching, found.after


class CallsTest(unittest.TestCase):
    """Logs as strace writes them."""

    def test_before_and_after(self):
        self.assertEqual(count(f'10 {READ}', f'10 {OPENED}', f'10 {READ}', f'10 {READ}'), (1, 2))

    def test_other_files_do_not_count(self):
        self.assertEqual(count('10 openat(AT_FDCWD, "/tmp/reports/report2", O_RDONLY) = 3', f'10 {READ}'), (1, 0))

    def test_which_calls(self):
        for call, counted in (('gettimeofday({tv_sec=1}, NULL) = 0', 1), ('time(NULL) = 1', 1),
                              ('clock_getres(CLOCK_TAI, NULL) = 0', 1), ('clock_gettime(CLOCK_THREAD_CPUTIME_ID, {}) = 0', 0),
                              ('clock_gettime(0xb /* CLOCK_??? */, 0x1) = -1 EINVAL', 0), ('times(NULL) = 1', 0),
                              ('clock_gettime(CLOCK_BOOTTIME_ALARM, {}) = 0', 0),
                              ('clock_gettime(CLOCK_REALTIME_COARSE,  <unfinished ...>', 1),
                              ('<... clock_gettime resumed>{tv_sec=1}) = 0', 0)):
            self.assertEqual(count(f'10 {OPENED}', f'10 {call}'), (0, counted), call)

    def test_threads_and_children_are_as_their_parent(self):
        self.assertEqual(count(f'10 {OPENED}', '10 clone3({flags=CLONE_VM} => {parent_tid=[11]}, 88) = 11', f'11 {READ}'), (0, 1))
        self.assertEqual(count('10 fork() = 11', f'11 {READ}'), (1, 0))

    def test_child_speaks_before_its_birth_is_told(self):
        self.assertEqual(count(f'10 {OPENED}', '10 clone(child_stack=NULL <unfinished ...>', f'11 {READ}',
                               '10 <... clone resumed>, child_tidptr=0x7f) = 11'), (0, 1))

    def test_new_program(self):
        failed = '10 execve("/bin/a", ["a"], 0x7f /* 9 vars */) = -1 ENOENT (No such file or directory)'
        self.assertEqual(count(f'10 {OPENED}', failed, f'10 {READ}'), (0, 1))
        self.assertEqual(count(f'10 {OPENED}', '10 execve("/bin/a", ["a"], 0x7f /* 9 vars */) = 0', f'10 {READ}'), (1, 0))
        self.assertEqual(count(f'10 {OPENED}', '10 execve("/bin/a", ["a"], 0x7f <unfinished ...>', '10 <... execve resumed>) = 0',
                               f'10 {READ}'), (1, 0))


class CompareTest(unittest.TestCase):
    """Outputs and statuses."""

    def compare(self, plain, ordered, unordered, kind=Program):
        row = examine.Row('a program')
        examine.compare(row, kind(None, True), {'without': plain, 'ordered': ordered, 'unordered': unordered})
        return len(row.problems)

    def test_numbers_are_no_difference(self):
        self.assertEqual(self.compare([Ended(0, 'took  1.5 us\n')], [Ended(0, 'took 22.25e-3 us')], [Ended(0, 'took 3 us')]), 0)

    def test_differences(self):
        plain = [Ended(0, 'took 1 us')]
        for other in (Ended(0, 'took 1 ms'), Ended(0, ''), Ended(0, 'took 1 us\nand more'), Ended(1, 'took 1 us'),
                      Ended(-11, 'took 1 us')):
            self.assertEqual(self.compare(plain, plain, [other]), 1, other)
            self.assertEqual(self.compare(plain, plain + [other], plain), 1, other)

    def test_what_fails_without_us_says_nothing(self):
        with self.assertRaises(Unavailable):
            self.compare([Ended(1, '')], [Ended(1, '')], [Ended(1, '')])
        judged = type('Judged', (Program,), {'may_fail': True})
        self.assertEqual(self.compare([Ended(1, '')], [Ended(1, '')], [Ended(0, '')], judged), 1)

    def test_what_each_program_leaves_out(self):
        """Masks must leave the words that tell a difference."""
        names = [kind.name for kind in programs.ALL]
        self.assertEqual(len(names), len(set(names)))
        tests = next(kind for kind in programs.ALL if kind.name == 'Python tests')(None, True)
        right = '0:00:02 [1/1] test_time\n\n== Tests result: SUCCESS ==\n\nAll 1 test OK.\n\nTotal duration: 2.2 sec\n'
        again = '== Tests result: FAILURE ==\n\n1 test failed:\n    test_time\n' + right.replace(
            'SUCCESS', 'FAILURE then SUCCESS').replace('OK.\n', 'OK.\n\n1 re-run test:\n    test_time\n')
        self.assertEqual(tests.masked(right), tests.masked(right.replace('2.2', '33.3')))
        self.assertEqual(tests.masked(right), tests.masked(again))
        for wrong in ('1 test failed:\n    test_time', '1 test skipped:\n    test_time', 'All 2 tests OK.'):
            self.assertNotEqual(tests.masked(right), tests.masked(right.replace('All 1 test OK.', wrong)))
        self.assertNotEqual(tests.masked(right), tests.masked(''))
        self.assertEqual(tests.figures(right), {'all tests': 2.2})
        self.assertEqual(tests.figures('Total duration: 1 min 3 sec'), {'all tests': 63})


class TraceTest(unittest.TestCase):
    """What the counts must be. strace is played by a program that writes its log."""

    def problems(self, on, off, **attributes):
        class Played(Program):
            """Writes a log with as many calls as asked for."""

            def play(self, way, short=False):
                way.log.write_text('\n'.join([f'1 {OPENED}'] + [f'1 {READ}'] * (off if way.off else on)))
                return Ended(0, '')

        row = examine.Row('a program')
        found = examine.why_untraced
        examine.why_untraced = lambda: ''
        try:
            with tempfile.TemporaryDirectory() as folder:
                here = types.SimpleNamespace(scratch=pathlib.Path(folder), report=pathlib.Path(REPORT))
                examine.trace(row, type('Case', (Played,), attributes)(here, True), here)
        finally:
            examine.why_untraced = found
        return len(row.problems)

    def test_served(self):
        self.assertEqual(self.problems(0, 9), 0)
        self.assertEqual(self.problems(1, 9), 1)  # a call that went to the kernel
        self.assertEqual(self.problems(0, 0), 1)  # nothing was caught
        self.assertEqual(self.problems(1, 9, own_calls='it likes to'), 0)

    def test_server_that_does_not_come_up(self):
        """Without the library that is a skip, under it a failure."""
        class Down(Server):
            """Never answers."""

            name = 'down'

            def server(self):
                return ['false']

            def answers(self):
                return False

        with tempfile.TemporaryDirectory() as folder:
            here = types.SimpleNamespace(scratch=pathlib.Path(folder), background=lambda way, line, log, user:
                                         log.write_text('') or subprocess.Popen(line))
            with self.assertRaises(Unavailable):
                Down(here, True).play(WITHOUT)
            self.assertEqual(Down(here, True).play(Way('ordered', 'ordered')).status, 125)

    def test_not_served(self):
        self.assertEqual(self.problems(0, 0, served=False), 0)
        self.assertEqual(self.problems(0, 9, served=False), 1)


class TableTest(unittest.TestCase):
    """What the reader sees."""

    def test_times_as_fast(self):
        row = examine.Row('a program')
        medians = {'without': 20.0, 'ordered': 10.0}
        self.assertEqual(table.times_as_fast(row, medians, 'ordered'), '2.00')
        row.higher_is_better = True
        self.assertEqual(table.times_as_fast(row, medians, 'ordered'), '0.50')

    def test_points(self):
        rows = [examine.Row('good'), examine.Row('bad', problems=['x']), examine.Row('gone', skipped='not there')]
        lines = table.points(rows).splitlines()
        self.assertEqual([line for line in lines if not line.startswith('#')],
                         ['ok 1 - good', 'not ok 2 - bad', 'ok 3 - gone # SKIP not there', '1..3'])
        self.assertIn('# 1 programs the same, 1 with failures, 1 skipped', lines)

    def test_missing_packages(self):
        self.assertEqual(packages.missing([('/bin/s[h]', 'dash'), ('sh', 'dash'), ('no-such-command', 'a'), ('/no/such*', 'b')]),
                         ['a', 'b'])


if __name__ == '__main__':
    unittest.main()
