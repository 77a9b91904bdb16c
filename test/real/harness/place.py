"""Where programs run: a scratch folder, a copy of the wrapper that finds the library under test, and one run of a command.

The wrapper looks for the library beside itself, so a tree of its own lets any build folder be tested, and lets programs run by
other users read both. Programs get an environment in which nothing of ours is set but what the way asks for.
"""

import contextlib
import dataclasses
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

TIMEOUT = 240  # seconds for one run
ORDERS = ('ordered', 'unordered')
TRACED = 'execve,clone,clone3,fork,vfork,openat,clock_gettime,clock_getres,gettimeofday,time'


class Unavailable(Exception):
    """A program cannot be had or does not run here; the reason in words."""


@dataclasses.dataclass(frozen=True)
class Way:
    """How a program is started: without the library, or under it."""

    name: str
    order: str = ''  # none: without the library
    off: bool = False  # under the library, switched off: every clock call becomes a system call
    log: pathlib.Path = None  # strace's


WITHOUT = Way('without')
WAYS = (WITHOUT, *(Way(order, order) for order in ORDERS))


@dataclasses.dataclass
class Ended:
    """A run that ended."""

    status: int
    text: str


class Place:
    """One scratch folder with its wrapper."""

    def __init__(self, source, build, scratch):
        self.source = source
        self.scratch = scratch
        scratch.chmod(0o755)
        tree = scratch / 'tree'
        for name in ('scripts', 'build/preload', 'build/doctor'):
            (tree / name).mkdir(parents=True)
        shutil.copy(source / 'scripts/vvarclock', tree / 'scripts')
        shutil.copy(source / 'meson.build', tree)
        shutil.copy(build / 'preload/libvvarclock.so', tree / 'build/preload')
        shutil.copy(build / 'doctor/vvarclock-doctor', tree / 'build/doctor')
        self.wrapper = tree / 'scripts/vvarclock'
        self.reports = scratch / 'reports'
        self.reports.mkdir()
        self.reports.chmod(0o777)

    @property
    def report(self):
        """Where traced programs write their report: the opening of this file tells that the library has attached."""
        return self.reports / 'report'

    def folder(self, name):
        """A fresh folder under the scratch folder, readable by everyone."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        path.chmod(0o777)
        return path

    def environment(self, way, more):
        """What the program finds in its environment."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(('VVARCLOCK', 'LD_', 'PYTHON', 'LC_')) and name != 'LANG'}
        kept.update({'LC_ALL': 'C', 'TZ': 'UTC', **more})
        if way.off:
            kept['VVARCLOCK'] = 'off'
        if way.log:
            kept['VVARCLOCK_REPORT'] = str(self.report)
        return kept

    def line(self, way, command, user):
        """The whole command line: strace, the change of user, the wrapper, the command."""
        out = []
        if way.log:
            out += ['strace', '-f', '--seccomp-bpf', '-qq', '-o', str(way.log), '-e', f'trace={TRACED}', '-e', 'signal=none']
        if user and os.getuid() == 0:
            found = pwd.getpwnam(user)
            out += ['setpriv', f'--reuid={found.pw_uid}', f'--regid={found.pw_gid}', '--clear-groups', '--']
        if way.order:
            out += [str(self.wrapper), '--order', way.order]
        return out + [str(word) for word in command]

    def run(self, way, command, user='', more=None):
        """Runs to the end; standard error is part of the text."""
        process = subprocess.Popen(self.line(way, command, user), env=self.environment(way, more or {}), cwd=self.scratch,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, umask=0o022,
                                   start_new_session=True)
        try:
            text = process.communicate(timeout=TIMEOUT)[0]
            return Ended(process.returncode, text.decode(errors='replace'))
        except subprocess.TimeoutExpired:
            # The session is the run's own: its children go too.
            os.killpg(process.pid, signal.SIGKILL)
            text = process.communicate()[0]
            return Ended(124, f'{text.decode(errors="replace")}\nnot done after {TIMEOUT} s')

    def must(self, command, user='', more=None):
        """A step of the preparations, without the library."""
        done = self.run(WITHOUT, command, user, more)
        if done.status != 0:
            last = done.text.strip().splitlines()[-1:] or ['no word']
            raise Unavailable(f'{pathlib.Path(command[0]).name} ended with status {done.status}: {last[0]}')
        return done.text

    def background(self, way, command, log, user='', more=None):
        """Starts a server; its words go to the log."""
        with open(log, 'ab') as out:
            return subprocess.Popen(self.line(way, command, user), env=self.environment(way, more or {}), cwd=self.scratch,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, umask=0o022)


@contextlib.contextmanager
def place(source, build):
    """A place that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix='vvarclock-real-') as folder:
        yield Place(source, build, pathlib.Path(folder))
