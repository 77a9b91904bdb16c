"""Debian's package lists through apt with a configuration of our own: the machine's own lists and sources stay as they are.

Depends on apt-get and apt-cache. The mirror is read from the machine's own sources at run time. Promises nothing about
which suites a mirror carries: what it lacks is left out.
"""

import pathlib
import re
import subprocess
import time

# i386: from trixie on Debian builds no 32-bit kernels.
SUITES = {
    'amd64': ('bullseye', 'bookworm', 'bookworm-backports', 'trixie', 'trixie-backports', 'forky', 'sid', 'experimental'),
    'i386': ('bullseye', 'bookworm', 'bookworm-backports'),
}
SECURITY_SUITES = {
    'amd64': ('bullseye-security', 'bookworm-security', 'trixie-security'),
    'i386': ('bullseye-security', 'bookworm-security'),
}
KEYRING = pathlib.Path('/usr/share/keyrings/debian-archive-keyring.gpg')
LISTS_AGE = 24 * 3600  # seconds until the lists are fetched anew
FETCH_TIMEOUT = 900  # seconds for one call of apt


class AptError(Exception):
    """apt is missing, or nothing can be had from it."""


class Apt:
    """A private apt for one architecture in one folder."""

    def __init__(self, folder, architecture):
        self.folder = pathlib.Path(folder)
        self.architecture = architecture
        self.lists = self.folder / 'lists'
        self.sources = self.folder / 'sources.list'
        self.stamp = self.folder / 'updated'
        for part in ('lists/partial', 'cache/archives/partial'):
            (self.folder / part).mkdir(parents=True, exist_ok=True)

    def lists_are_old(self):
        """Must the lists be fetched anew?"""
        return not self.stamp.exists() or time.time() - self.stamp.stat().st_mtime > LISTS_AGE

    def update(self):
        """Fetches the lists. False: there are none to work with."""
        self._write_sources()
        # A suite that the mirror has dropped makes apt complain; the others are good all the same.
        self._run('apt-get', 'update', check=False)
        if not any(self.lists.glob('*Packages*')):
            return False
        self.stamp.touch()
        return True

    def names(self, prefix):
        """Every package name with this prefix."""
        return self._run('apt-cache', 'pkgnames', prefix).stdout.split()

    def records(self, packages):
        """For each package version: a dictionary with Package, Version and Size."""
        text = self._run('apt-cache', 'show', *packages, check=False).stdout
        records = []
        for block in text.split('\n\n'):
            fields = dict(re.findall(r'^(Package|Version|Size): (.*)$', block, re.MULTILINE))
            if len(fields) == 3:
                fields['Size'] = int(fields['Size'])
                records.append(fields)
        return records

    def suites(self, packages):
        """(package, version) -> the suites that offer it."""
        found = {}
        for line in self._run('apt-cache', 'madison', *packages, check=False).stdout.splitlines():
            fields = [field.strip() for field in line.split('|')]
            if len(fields) == 3 and (suite := re.search(r' (\S+)/main ', fields[2])):
                found.setdefault((fields[0], fields[1]), set()).add(suite.group(1))
        return found

    def download(self, package, version, folder):
        """One .deb into the folder; its path, or None when it cannot be had."""
        done = self._run('apt-get', 'download', f'{package}={version}', check=False, cwd=folder)
        found = list(pathlib.Path(folder).glob(f'{package}_*.deb'))
        return found[0] if done.returncode == 0 and found else None

    def _run(self, program, *arguments, check=True, cwd=None):
        options = {
            'Dir::State::Lists': self.lists,
            'Dir::State::status': '/dev/null',
            'Dir::Cache': self.folder / 'cache',
            'Dir::Cache::pkgcache': 'pkgcache.bin',  # containers often switch these two off, and then every call is slow
            'Dir::Cache::srcpkgcache': 'srcpkgcache.bin',
            'Dir::Etc::SourceList': self.sources,
            'Dir::Etc::SourceParts': '/dev/null',
            'Dir::Etc::Preferences': '/dev/null',
            'Dir::Etc::PreferencesParts': '/dev/null',
            'Acquire::Languages': 'none',
            'Acquire::Check-Valid-Until': 'false',  # suites that are no longer updated
            'APT::Architecture': self.architecture,
            'APT::Architectures': self.architecture,
            'APT::Sandbox::User': '',  # the folder may be closed to apt's own user
        }
        command = [program, '-qq'] + [word for key, value in options.items() for word in ('-o', f'{key}={value}')]
        try:
            return subprocess.run(command + list(arguments), check=check, cwd=cwd, capture_output=True, text=True,
                                  timeout=FETCH_TIMEOUT, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as error:
            raise AptError(f'{program}: {error}') from error

    def _write_sources(self):
        archive, security = _mirrors()
        if archive is None:
            raise AptError('the apt sources of this machine name no Debian archive')
        trust = f' signed-by={KEYRING}' if KEYRING.exists() else ''
        kind = f'deb [arch={self.architecture}{trust}]'
        lines = [f'{kind} {archive} {suite} main' for suite in SUITES[self.architecture]]
        if security is not None:
            lines += [f'{kind} {security} {suite} main' for suite in SECURITY_SUITES[self.architecture]]
        self.sources.write_text('\n'.join(lines) + '\n', encoding='ascii')


def _mirrors():
    """The archive and the security archive that this machine itself uses; None for what it has not."""
    try:
        listing = subprocess.run(['apt-get', 'indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)',
                                  'Created-By: Packages'], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AptError(f'apt-get indextargets: {error}') from error
    archive = security = None
    for line in listing.splitlines():
        uri, release, component = line.split()
        if component != 'main':
            continue
        if release.endswith('-security'):
            security = security or uri
        elif release.split('-')[0] in SUITES['amd64'] or release in ('stable', 'oldstable', 'testing', 'unstable'):
            archive = archive or uri
    return archive, security
