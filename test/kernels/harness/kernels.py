"""Which kernels there are, 64-bit and 32-bit, and their images in the cache; and the shell of 32-bit guests.

Package names are found at run time, since point releases vanish. A group is one series built by one Debian release (that
is: by one compiler) for one width; of each group the newest kernel that can be had is used, in the flavour with the
smallest download. Depends on apt.py and dpkg-deb.
"""

import dataclasses
import fcntl
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile

from . import apt

# linux-image-6.1.0-57-cloud-amd64[-unsigned]; from 6.16 or so the image is in linux-binary[-unsigned]-....
PACKAGE = re.compile(r'linux-(?:image|binary)(?:-unsigned)?-'
                     r'(?P<release>\d+\.\d+(?:\.|-rc)\S*?-(?:(?:cloud-)?amd64|686-pae))(?:-unsigned)?')
BUSYBOX = 'busybox-static'
LEAST_SIZE = 4 << 20  # bytes: what is smaller is a package that only depends on others
TRIES = 14  # downloads that may fail before a group is given up: lists can name many that are gone


@dataclasses.dataclass(frozen=True)
class Group:
    """A series and who built it."""

    series: tuple  # (6, 12)
    build: str  # 'deb13', or '' where the release does not say
    bits: int = 64

    def __str__(self):
        words = [self.build] * bool(self.build) + ['32-bit'] * (self.bits == 32)
        return '.'.join(map(str, self.series)) + (f' ({", ".join(words)})' if words else '')


@dataclasses.dataclass
class Candidate:
    """One package that holds a kernel image."""

    release: str
    package: str
    version: str
    size: int
    suites: set


@dataclasses.dataclass
class Kernel:
    """An image in the cache."""

    release: str
    group: Group
    image: pathlib.Path
    suites: set


def group_of(release):
    """The group of a kernel release, as uname -r gives it."""
    numbers = re.match(r'(\d+)\.(\d+)', release)
    build = re.search(r'deb\d+', release)
    bits = 32 if release.endswith('-686-pae') else 64
    return Group((int(numbers[1]), int(numbers[2])), build[0] if build else '', bits)


def _age(candidate):
    return [int(number) for number in re.findall(r'\d+', re.sub('amd64|686-pae', '', candidate.release))]


class Store:
    """The cache of kernel images, <folder>/images/vmlinuz-<release>, and of the 32-bit shell, and how to fill it.

    What a mirror lists but does not have is written down, and not asked for again until the lists are fetched anew.
    """

    def __init__(self, folder, say):
        self.folder = pathlib.Path(folder)
        self.images = self.folder / 'images'
        self.images.mkdir(parents=True, exist_ok=True)
        self.missing = self.folder / 'missing'
        self.say = say
        self.sources = {'amd64': apt.Apt(self.folder / 'apt', 'amd64'), 'i386': apt.Apt(self.folder / 'apt-i386', 'i386')}

    def _refresh(self, refresh):
        """The architectures that have lists, fetched anew where they are old."""
        usable = []
        for name, source in self.sources.items():
            try:
                if source.lists_are_old() or refresh:
                    self.missing.unlink(missing_ok=True)
                    if not source.update():
                        continue
                usable.append(name)
            except apt.AptError as error:
                self.say(f'no package lists for {name}: {error}')
        return usable

    def candidates(self, source):
        """Group -> candidates, the best first. Empty when apt offers nothing."""
        names = [name for name in source.names('linux-') if (match := PACKAGE.fullmatch(name)) and '-rt-' not in match[0]]
        suites = source.suites(names)
        groups = {}
        for record in source.records(names):
            release = PACKAGE.fullmatch(record['Package'])['release']
            if record['Size'] >= LEAST_SIZE:
                groups.setdefault(group_of(release), []).append(
                    Candidate(release, record['Package'], record['Version'], record['Size'],
                              suites.get((record['Package'], record['Version']), set())))
        for found in groups.values():
            found.sort(key=lambda candidate: candidate.size)
            found.sort(key=_age, reverse=True)
        return groups

    def kernels(self, refresh=False):
        """The list of kernels to be had: of each group the newest, oldest group first; 32-bit ones after the others."""
        with open(self.folder / 'lock', 'w', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found, groups = [], {}
            for name in self._refresh(refresh):
                source = self.sources[name]
                try:
                    offered = self.candidates(source)
                except apt.AptError as error:
                    self.say(f'no package lists for {name}: {error}')
                    continue
                groups |= offered
                found += [kernel for group, candidates in offered.items()
                          if (kernel := self._fetch(source, group, candidates))]
            found += self._cached_beside(groups)
        return sorted(found, key=lambda kernel: (-kernel.group.bits, kernel.group.series, kernel.group.build))

    def busybox_32(self):
        """A static 32-bit busybox; None when it cannot be had. After kernels(), which sees to the lists."""
        program = self.folder / 'busybox-i386'
        source = self.sources['i386']
        with open(self.folder / 'lock', 'w', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                for record in [] if program.exists() else source.records([BUSYBOX]):
                    self.say(f'fetching {BUSYBOX} {record["Version"]} for i386')
                    if self._download(source, record['Package'], record['Version'], 'busybox', program):
                        break
            except apt.AptError as error:
                self.say(f'no 32-bit {BUSYBOX}: {error}')
        return program if program.exists() else None

    def _cached_beside(self, groups):
        """Images of groups that the lists do not offer (any more): the newest of each."""
        found = {}
        for image in self.images.glob('vmlinuz-*'):
            release = image.name.removeprefix('vmlinuz-')
            group = group_of(release)
            if group not in groups:
                kernel = Kernel(release, group, image, set())
                found[group] = max(found.get(group, kernel), kernel, key=_age)
        return list(found.values())

    def _fetch(self, source, group, candidates):
        tries = TRIES
        missing = self.missing.read_text(encoding='ascii').split() if self.missing.exists() else []
        for candidate in candidates:
            image = self.images / f'vmlinuz-{candidate.release}'
            if image.exists():
                return Kernel(candidate.release, group, image, candidate.suites)
            name = f'{candidate.package}={candidate.version}'
            if tries > 0 and name not in missing:
                self.say(f'fetching {name} ({candidate.size >> 20} MiB)')
                if self._download(source, candidate.package, candidate.version, 'vmlinuz', image):
                    return Kernel(candidate.release, group, image, candidate.suites)
                self.say(f'{name} cannot be had')
                with self.missing.open('a', encoding='ascii') as file:
                    print(name, file=file)
                tries -= 1
        self.say(f'kernel {group}: none of the packages that the archive lists can be had')
        return None

    def _download(self, source, package, version, prefix, target):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            deb = source.download(package, version, folder)
            return deb is not None and _extract(deb, prefix, target)


def _extract(deb, prefix, target):
    """The first file of a package whose name has the prefix, into the file `target`. False: there is none in it."""
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as unpack:
        with tarfile.open(fileobj=unpack.stdout, mode='r|') as archive:
            for member in archive:
                if member.isfile() and os.path.basename(member.name).startswith(prefix):
                    partial = target.with_name('partial')
                    partial.write_bytes(archive.extractfile(member).read())
                    partial.rename(target)
                    unpack.kill()
                    return True
    return False
