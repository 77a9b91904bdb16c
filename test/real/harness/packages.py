"""Getting what a program needs by apt, through scripts/lib/packages.sh, which installs only what is missing.

As root on a machine with apt only; everywhere else what is missing is named. Services that come with a package are not
started: a policy that says so is put in place for the time of the installation where there is none.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

from .place import Unavailable

POLICY = pathlib.Path('/usr/sbin/policy-rc.d')


def missing(wanted):
    """The packages of [(command or path, package)] that are not there."""
    return [package for thing, package in wanted
            if not (list(pathlib.Path('/').glob(thing[1:])) if thing.startswith('/') else shutil.which(thing))]


@contextlib.contextmanager
def _no_services():
    if POLICY.exists():
        yield
        return
    POLICY.write_text('#!/bin/sh\nexit 101\n')
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def get(source, wanted, install):
    """Returns when all is there."""
    packages = missing(wanted)
    if not packages:
        return
    names = ' '.join(packages)
    if not install:
        raise Unavailable(f'not installed: {names}')
    if os.getuid() != 0 or not shutil.which('apt-get'):
        raise Unavailable(f'not installed, and installing needs root and apt-get: {names}')
    steps = '. "$0"; for p; do want_file "$p" /nonexistent; done; install_wanted'
    with _no_services():
        done = subprocess.run(['sh', '-u', '-c', steps, source / 'scripts/lib/packages.sh', *packages], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or missing(wanted):
        raise Unavailable(f'apt-get does not give {names}: {(done.stdout.strip().splitlines() or [""])[-1]}')
