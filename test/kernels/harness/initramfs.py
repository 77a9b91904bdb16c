"""The guest's file system: one initramfs for every kernel.

Holds busybox, the wrapper, the library, the guest programs, and the loader and libraries that these need. Depends on ldd;
writes the cpio format itself (newc, the one that kernels unpack).
"""

import gzip
import pathlib
import re
import shutil
import stat
import subprocess

HOME = '/opt/vvarclock'  # the wrapper finds the library by its place in the source tree, so the guest has such a tree
PROGRAMS = ('guest_check', 'guest_jumps')


class MissingPart(Exception):
    """Something that the guest needs is not on this machine."""


def record(name, mode, data=b''):
    """One file of a newc archive."""
    raw = name.encode() + b'\0'
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    head = b'070701' + b''.join(b'%08x' % field for field in fields) + raw
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def _shared_objects(program):
    """What the loader would map for a dynamic program, the loader included: absolute paths."""
    listing = subprocess.run(['ldd', program], check=True, capture_output=True, text=True).stdout
    if 'not found' in listing:
        raise MissingPart(f'{program} needs a library that is not there:\n{listing}')
    return re.findall(r'(?:=> |^\s*)(/\S+) \(0x', listing, re.MULTILINE)


def _is_dynamic(program):
    return subprocess.run(['ldd', program], check=False, capture_output=True).returncode == 0


def _contents(source, build):
    """Path in the guest -> file here."""
    busybox = shutil.which('busybox')
    if busybox is None:
        raise MissingPart('busybox is missing (package busybox-static)')
    if _is_dynamic(busybox):
        raise MissingPart(f'{busybox} is not a static program (package busybox-static)')
    library = build / 'preload/libvvarclock.so'
    files = {
        '/init': source / 'test/kernels/init',
        '/bin/busybox': pathlib.Path(busybox),
        f'{HOME}/meson.build': source / 'meson.build',
        f'{HOME}/scripts/vvarclock': source / 'scripts/vvarclock',
        f'{HOME}/build/preload/libvvarclock.so': library,
    }
    for program in PROGRAMS:
        files[f'/bin/{program}'] = build / 'test/kernels' / program
    for path in files.values():
        if not path.exists():
            raise MissingPart(f'{path} is missing: build the project first')
    for program in [library] + [build / 'test/kernels' / program for program in PROGRAMS]:
        files.update({path: pathlib.Path(path) for path in _shared_objects(program)})
    return files


def pack(source, build, target):
    """Writes the initramfs to `target`."""
    source, build = pathlib.Path(source), pathlib.Path(build)
    files = _contents(source, build)
    folders = {'/proc', '/sys', '/dev', '/tmp'}
    for path in files:
        folders.update(str(parent) for parent in pathlib.PurePosixPath(path).parents)
    folders.discard('/')
    archive = b''.join(record(folder[1:], stat.S_IFDIR | 0o755) for folder in sorted(folders))
    archive += b''.join(record(path[1:], stat.S_IFREG | 0o755, file.read_bytes()) for path, file in files.items())
    archive += record('bin/sh', stat.S_IFLNK | 0o777, b'busybox')
    archive += record('TRAILER!!!', 0)
    target.write_bytes(gzip.compress(archive, compresslevel=1, mtime=0))
