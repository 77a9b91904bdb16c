"""Which kernels there are, and their images in the cache.

Package names are found at run time, since point releases vanish. A group is one series built by one Debian release (that
is: by one compiler); of each group the newest kernel that can be had is used, in the flavour with the smallest download.
Depends on apt.py and dpkg-deb.
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
                     r'(?P<release>\d+\.\d+(?:\.|-rc)\S*?-(?:cloud-)?amd64)(?:-unsigned)?')
LEAST_SIZE = 4 << 20  # bytes: what is smaller is a package that only depends on others
TRIES = 6  # downloads that may fail before a group is given up


@dataclasses.dataclass(frozen=True)
class Group:
    """A series and who built it."""

    series: tuple  # (6, 12)
    build: str  # 'deb13', or '' where the release does not say

    def __str__(self):
        return '.'.join(map(str, self.series)) + (f' ({self.build})' if self.build else '')


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
    return Group((int(numbers[1]), int(numbers[2])), build[0] if build else '')


def _age(candidate):
    return [int(number) for number in re.findall(r'\d+', candidate.release.replace('amd64', ''))]


class Store:
    """The cache of kernel images, <folder>/images/vmlinuz-<release>, and how to fill it.

    What a mirror lists but does not have is written down, and not asked for again until the lists are fetched anew.
    """

    def __init__(self, folder, say):
        self.folder = pathlib.Path(folder)
        self.images = self.folder / 'images'
        self.images.mkdir(parents=True, exist_ok=True)
        self.missing = self.folder / 'missing'
        self.say = say

    def candidates(self, refresh=False):
        """Group -> candidates, the best first. Empty when apt offers nothing."""
        source = apt.Apt(self.folder / 'apt')
        if source.lists_are_old() or refresh:
            self.missing.unlink(missing_ok=True)
            if not source.update():
                return {}
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
        """The list of kernels to be had: of each group the newest, oldest group first."""
        with open(self.folder / 'lock', 'w', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                groups = self.candidates(refresh)
            except apt.AptError as error:
                self.say(f'no package lists: {error}')
                groups = {}
            found = [kernel for group, candidates in groups.items() if (kernel := self._fetch(group, candidates))]
            found += self._cached_beside(groups)
        return sorted(found, key=lambda kernel: (kernel.group.series, kernel.group.build))

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

    def _fetch(self, group, candidates):
        tries = TRIES
        missing = self.missing.read_text(encoding='ascii').split() if self.missing.exists() else []
        for candidate in candidates:
            image = self.images / f'vmlinuz-{candidate.release}'
            if image.exists():
                return Kernel(candidate.release, group, image, candidate.suites)
            name = f'{candidate.package}={candidate.version}'
            if tries > 0 and name not in missing:
                self.say(f'fetching {name} ({candidate.size >> 20} MiB)')
                if self._download(candidate, image):
                    return Kernel(candidate.release, group, image, candidate.suites)
                self.say(f'{name} cannot be had')
                with self.missing.open('a', encoding='ascii') as file:
                    print(name, file=file)
                tries -= 1
        self.say(f'kernel {group}: nothing could be fetched')
        return None

    def _download(self, candidate, image):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            deb = apt.Apt(self.folder / 'apt').download(candidate.package, candidate.version, folder)
            return deb is not None and _extract_image(deb, image)


def _extract_image(deb, image):
    """The vmlinuz of a package into the file `image`. False: there is none in it."""
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as unpack:
        with tarfile.open(fileobj=unpack.stdout, mode='r|') as archive:
            for member in archive:
                if member.isfile() and os.path.basename(member.name).startswith('vmlinuz'):
                    partial = image.with_name('partial')
                    partial.write_bytes(archive.extractfile(member).read())
                    partial.rename(image)
                    unpack.kill()
                    return True
    return False
