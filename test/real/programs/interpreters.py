"""Interpreters: what one clock call costs from within each, and Python's own tests of time."""

import os
import re

from harness.program import Program

SHORT = 200
LONG = 500_000

PYTHON = '''import sys, time, timeit
count = int(sys.argv[1])
for name, call in (("time.monotonic", time.monotonic), ("time.perf_counter", time.perf_counter), ("time.time", time.time),
                   ("time.monotonic_ns", time.monotonic_ns), ("MONOTONIC_RAW", lambda: time.clock_gettime(time.CLOCK_MONOTONIC_RAW))):
    best = min(timeit.repeat(call, number=count // 5, repeat=5)) / (count // 5)
    print(f"{name}\\t{best * 1e9:.1f}")
first, second = time.monotonic_ns(), time.monotonic_ns()
print("monotonic goes", "on" if second >= first else "back")
'''
PERL = '''use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME);
my $count = shift;
sub cost { my ($name, $call) = @_; my $best = 1e9;
  for (1..5) { my $begin = clock_gettime(CLOCK_MONOTONIC); $call->() for 1..$count/5;
    my $took = (clock_gettime(CLOCK_MONOTONIC) - $begin) / ($count/5); $best = $took if $took < $best; }
  printf "%s\\t%.1f\\n", $name, $best * 1e9; }
cost("clock_gettime", sub { clock_gettime(CLOCK_MONOTONIC) });
cost("Time::HiRes::time", sub { Time::HiRes::time() });
cost("time", sub { time });
print "time agrees\\n" if abs(time - Time::HiRes::time()) < 2;
'''
NODE = '''const { performance } = require("perf_hooks");
const count = Number(process.argv[1]);
for (const [name, call] of [["performance.now", () => performance.now()], ["Date.now", () => Date.now()],
                            ["process.hrtime.bigint", () => process.hrtime.bigint()]]) {
  let best = Infinity;
  for (let round = 0; round < 5; ++round) {
    const begin = process.hrtime.bigint();
    for (let i = 0; i < count / 5; ++i) call();
    best = Math.min(best, Number(process.hrtime.bigint() - begin) / (count / 5));
  }
  console.log(name + "\\t" + best.toFixed(1));
}
'''


def debian_python():
    """The name of Debian's interpreter with its version: python3.11."""
    return os.path.basename(os.path.realpath('/usr/bin/python3'))


class Script(Program):
    """A script that takes the number of calls."""

    start = ()

    def command(self, short):
        return [*self.start, SHORT if short else LONG]


class Python(Script):
    """timeit of the functions of module time."""

    name = 'Python timeit'
    needs = (('/usr/bin/python3', 'python3'),)
    quick = True
    start = ('/usr/bin/python3', '-c', PYTHON)


class PythonTests(Program):
    """Python's own tests, of Debian's package of them."""

    name = 'Python tests'
    needs = (('/usr/bin/python3', 'python3'), (f'/usr/lib/{debian_python()}/test/test_time.py', f'lib{debian_python()}-testsuite'))
    quick = True
    may_fail = True
    unit = 's'
    rounds = 1
    masks = ()
    varies = 'all but the verdicts: what passed, what failed twice, what was skipped'

    def masked(self, text):
        """A test that fails is run again, for its tolerances are narrow on a busy machine; then there are two summaries."""
        last = text.rpartition('== Tests result: ')[2].replace('FAILURE then ', '')
        last = re.sub(r'^\d+ re-run tests?:\n( .*\n)*', '', last, flags=re.MULTILINE)
        return super().masked(re.sub(r'^(Total duration: ).*', r'\1', last, flags=re.MULTILINE))

    def command(self, short):
        tests = ['test_time'] if short or self.small else ['test_time', 'test_datetime', 'test_threading']
        return ['/usr/bin/python3', '-m', 'test', '-w', *tests]

    def figures(self, text):
        found = re.search(r'Total duration: (?:(\d+) min )?([\d.]+) (ms|sec)?', text)
        if not found:
            return {}
        seconds = float(found[2]) * (0.001 if found[3] == 'ms' else 1)
        return {'all tests': 60 * int(found[1] or 0) + seconds}


class Perl(Script):
    """Time::HiRes and the built-in time."""

    name = 'Perl'
    needs = (('/usr/lib/*/perl/*/Time/HiRes.pm', 'perl'),)
    quick = True
    start = ('/usr/bin/perl', '-e', PERL)


class Node(Script):
    """performance.now, Date.now, process.hrtime."""

    name = 'Node'
    needs = (('node', 'nodejs'),)
    start = ('node', '-e', NODE)


ALL = (Python, PythonTests, Perl, Node)
