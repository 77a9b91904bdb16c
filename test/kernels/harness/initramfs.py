"""The guest's file system: one initramfs for 64-bit kernels and one for 32-bit kernels.

Holds busybox, the wrapper, the library, the doctor, the guest programs, and the loader and libraries that these need; for 64-bit
kernels the 32-bit ones of all these too, where the build has them. Depends on readelf; writes the cpio format itself
(newc, the one that kernels unpack).
"""

import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess

HOME = '/opt/vvarclock'  # the wrapper finds the library by its place in the source tree, so the guest has such a tree
PROGRAMS = ('guest_check', 'guest_jumps', 'guest_prices')
LIBRARY = 'preload/libvvarclock.so'
LIBRARY_32 = 'preload/i386/libvvarclock.so'
DOCTOR = 'doctor/vvarclock-doctor'
DOCTOR_32 = 'doctor/vvarclock-doctor-32'
PARTS_32 = (LIBRARY_32, DOCTOR_32, *(f'test/kernels/{program}_32' for program in PROGRAMS))
BY_LIB = 'preload/by-lib'  # where the wrapper leads each width's loader to its own library
# Where the loaders look, in Debian's and in other distributions' folders.
FOLDERS = {
    64: ('/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu', '/lib64', '/usr/lib64', '/lib', '/usr/lib'),
    32: ('/lib32', '/usr/lib32', '/lib/i386-linux-gnu', '/usr/lib/i386-linux-gnu', '/lib', '/usr/lib'),
}
CLASSES = {'ELF64': 64, 'ELF32': 32}


class MissingPart(Exception):
    """Something that the guest needs is not on this machine."""


def record(name, mode, data=b''):
    """One file of a newc archive."""
    raw = name.encode() + b'\0'
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    head = b'070701' + b''.join(b'%08x' % field for field in fields) + raw
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def _elf(path):
    """(bits, interpreter or '', names of the libraries needed) of a program or library; bits 0: it is neither."""
    said = subprocess.run(['readelf', '-W', '-h', '-l', '-d', path], check=False, capture_output=True, text=True,
                          env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stdout
    kind = re.search(r'^ *Class: *(\S+)', said, re.MULTILINE)
    interpreter = re.search(r'program interpreter: (\S+)\]', said)
    return (CLASSES.get(kind[1], 0) if kind else 0, interpreter[1] if interpreter else '',
            re.findall(r'\(NEEDED\).*\[(.*)\]', said))


def shared_objects(program):
    """What the loader would map for a program or library, the loader included: absolute paths.

    Not by ldd, which runs the program's loader: this machine may not run 32-bit programs.
    """
    found, names, waiting = set(), set(), [program]
    while waiting:
        path = waiting.pop()
        bits, interpreter, needed = _elf(path)
        if interpreter:
            found.add(interpreter)
        for name in needed:
            if name in names:
                continue
            names.add(name)
            for folder in FOLDERS.get(bits, ()):
                library = pathlib.Path(folder) / name
                if library.exists() and _elf(library)[0] == bits:
                    found.add(str(library))
                    waiting.append(library)
                    break
            else:
                raise MissingPart(f'{path} needs {name}, and there is no such {bits}-bit library')
    return found


def _shell(busybox, bits):
    if busybox is None:
        raise MissingPart('busybox is missing (package busybox-static)')
    if _elf(busybox) != (bits, '', []):
        raise MissingPart(f'{busybox} is not a static {bits}-bit program (package busybox-static)')
    return pathlib.Path(busybox)


def why_no_32(build):
    """Why this build cannot be tried in 32-bit programs; '' when it can."""
    for part in PARTS_32:
        if not (pathlib.Path(build) / part).exists():
            return (f'the build has no {part} (it needs a compiler that does -m32 and a 32-bit libelf archive: see '
                    '"library for 32-bit programs" in what meson setup prints)')
    return ''


def process_checks(build):
    """The whole-process checks as 32-bit programs."""
    return sorted((pathlib.Path(build) / 'test/i386').glob('*_process_32'))


def _contents(source, build, kernel_bits, busybox):
    """Path in the guest -> file here."""
    files = {
        '/init': source / 'test/kernels/init',
        '/bin/busybox': busybox,
        f'{HOME}/meson.build': source / 'meson.build',
        f'{HOME}/scripts/vvarclock': source / 'scripts/vvarclock',
    }
    own = {}
    if kernel_bits == 64:
        own |= {f'{HOME}/build/{part}': build / part for part in (LIBRARY, DOCTOR)}
        files['/bin/guest_doctor'] = source / 'test/kernels/guest_doctor'
        own |= {f'/bin/{program}': build / 'test/kernels' / program for program in PROGRAMS}
    if kernel_bits == 32 or not why_no_32(build):
        # On a 32-bit system these lie where a build for that system has them.
        own |= {f'{HOME}/build/{there if kernel_bits == 32 else part}': build / part
                for part, there in ((LIBRARY_32, LIBRARY), (DOCTOR_32, DOCTOR))}
        own |= {f'/bin/{program}_32': build / 'test/kernels' / f'{program}_32' for program in PROGRAMS}
        own |= {f'/bin/process/{path.name}': path for path in process_checks(build)}
        files |= {f'/bin/guest_{script}_32': source / f'test/kernels/guest_{script}' for script in ('process', 'doctor')}
    files |= own
    for path in files.values():
        if not path.exists():
            raise MissingPart(f'{path} is missing: build the project first')
    for path in own.values():
        files |= {library: pathlib.Path(library) for library in shared_objects(path)}
    return files


def _links(build, kernel_bits):
    """Path in the guest -> where the symbolic link leads."""
    links = {'/bin/sh': 'busybox'}
    if kernel_bits == 64:
        for path in sorted((build / BY_LIB).rglob('*')):
            if path.is_symlink():
                links[f'{HOME}/build/{path.relative_to(build)}'] = os.readlink(path)
    return links


def pack(source, build, target, kernel_bits=64, busybox_32=None):
    """Writes the initramfs for kernels of one width to `target`."""
    if shutil.which('readelf') is None:
        raise MissingPart('readelf is missing (package binutils)')
    source, build = pathlib.Path(source), pathlib.Path(build)
    busybox = _shell(shutil.which('busybox') if kernel_bits == 64 else busybox_32, kernel_bits)
    files, links = _contents(source, build, kernel_bits, busybox), _links(build, kernel_bits)
    folders = {'/proc', '/sys', '/dev', '/tmp'}
    for path in [*files, *links]:
        folders.update(str(parent) for parent in pathlib.PurePosixPath(path).parents)
    folders.discard('/')
    archive = b''.join(record(folder[1:], stat.S_IFDIR | 0o755) for folder in sorted(folders))
    archive += b''.join(record(path[1:], stat.S_IFREG | 0o755, file.read_bytes()) for path, file in files.items())
    archive += b''.join(record(path[1:], stat.S_IFLNK | 0o777, target.encode()) for path, target in links.items())
    archive += record('TRAILER!!!', 0)
    target.write_bytes(gzip.compress(archive, compresslevel=1, mtime=0))
