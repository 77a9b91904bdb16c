#!/usr/bin/env python3
"""The harness itself: what it makes of a guest's lines, of packages and releases; what it boots and puts into a guest."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import guest, initramfs, kernels, plan, tries  # noqa: E402

RELEASE = '6.12.118+deb13-cloud-amd64'


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


class TriesTest(unittest.TestCase):
    """Which boots are repeated, how, and what is told of them."""

    PANIC = '[    1.1] Kernel panic - not syncing: Oops\n'

    def boot(self, *boots):
        """Boots that end so, each a console and what was said; the last one's words, the remarks, who took turns, the logs kept."""
        turns, told = [], []
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / 'console.log'

            def once(by_turns):
                turns.append(by_turns)
                console, said = boots[len(turns) - 1]
                log.write_text(console)
                return said
            said, remarks = tries.boot(once, log, told.append)
            kept = sorted(path.name for path in pathlib.Path(folder).iterdir())
        self.assertEqual(told, [remark for remark in remarks if 'in vain' in remark])
        return said, remarks, turns, kept

    def test_the_first_stands(self):
        right = guest.Boot(release=RELEASE)
        self.assertEqual(self.boot(('', right)), (right, [], [False], ['console.log']))

    def test_a_death_is_followed_by_turns(self):
        right = guest.Boot(release=RELEASE)
        said, remarks, turns, kept = self.boot((self.PANIC, guest.Boot(release='dead')), ('', right))
        self.assertIs(said, right)
        self.assertEqual(remarks, ['a boot in vain: the kernel died: Kernel panic - not syncing: Oops', 'its CPUs took turns'])
        self.assertEqual((turns, kept), ([False, True], ['console.log', 'console.vain-1.log']))

    def test_what_did_not_come_up_runs_at_once_again(self):
        missing = guest.Boot(release=RELEASE, missing='acpi_pm')
        said, remarks, turns, _ = self.boot(('', guest.Boot()), ('', missing), ('', guest.Boot(release=RELEASE)))
        self.assertEqual(said.release, RELEASE)
        self.assertEqual(remarks, ['a boot in vain: the kernel did not come up',
                                   'a boot in vain: the kernel has refused clock source acpi_pm'])
        self.assertEqual(turns, [False] * 3)

    def test_the_last_one_is_what_is_judged(self):
        dead = [guest.Boot(release=str(count)) for count in range(tries.MOST)]
        said, remarks, turns, kept = self.boot(*((self.PANIC, boot) for boot in dead))
        self.assertIs(said, dead[-1])
        self.assertEqual(turns, [False, True, True])
        self.assertEqual([remark.partition(':')[0] for remark in remarks],
                         ['a boot in vain'] + ['a boot in vain, its CPUs taking turns'] * 2 + ['its CPUs took turns'])
        self.assertEqual(kept, ['console.log', 'console.vain-1.log', 'console.vain-2.log'])


class LinesTest(unittest.TestCase):
    """The guest's lines."""

    def test_lines(self):
        boot = guest.Boot()
        for line in ('kernel x', 'source tsc', 'missing acpi_pm', 'result {"a": 1}', 'report 32 {"b": 2}',
                     'report 64 {broken', 'begin steps', 'price {"c": 3}', 'doctor {"d": 4}', 'exit 0 check', 'hello', 'end'):
            boot.take(line)
        self.assertEqual((boot.release, boot.source, boot.missing), ('x', 'tsc', 'acpi_pm'))
        self.assertEqual((boot.last_begun, boot.ended), ('steps', True))
        self.assertEqual((boot.results, boot.reports, boot.exits), ([{'a': 1}], [{'b': 2, 'bits': 32}], ['0 check']))
        self.assertEqual((boot.noise, boot.prices, boot.doctors), (['report 64 {broken', 'hello'], [{'c': 3}], [{'d': 4}]))


class PackagesTest(unittest.TestCase):
    """Names of packages and releases."""

    def test_names(self):
        for name, release in {'linux-image-5.10.0-46-cloud-amd64-unsigned': '5.10.0-46-cloud-amd64',
                              'linux-image-6.1.0-57-amd64': '6.1.0-57-amd64',
                              'linux-image-6.1.0-50-686-pae-unsigned': '6.1.0-50-686-pae',
                              'linux-binary-unsigned-7.3.4+deb13-cloud-amd64': '7.3.4+deb13-cloud-amd64'}.items():
            self.assertEqual(kernels.PACKAGE.fullmatch(name)['release'], release)
        for name in ('linux-image-7.3-amd64', 'linux-image-amd64', 'linux-headers-6.1.0-57-amd64',
                     'linux-image-6.1.0-57-amd64-dbg', 'linux-image-6.1.0-50-686', 'linux-image-686-pae'):
            self.assertIsNone(kernels.PACKAGE.fullmatch(name))

    def test_groups(self):
        self.assertEqual(kernels.group_of('6.1.0-0.deb11.52-amd64'), kernels.Group((6, 1), 'deb11'))
        self.assertEqual(kernels.group_of('6.1.0-57-cloud-amd64'), kernels.Group((6, 1), ''))
        self.assertEqual(kernels.group_of('6.1.0-50-686-pae'), kernels.Group((6, 1), '', 32))
        self.assertEqual(str(kernels.group_of('6.5.0-0.deb12.4-686-pae')), '6.5 (deb12, 32-bit)')
        self.assertNotEqual(kernels.group_of('7.2.12+deb13-amd64'), kernels.group_of('7.2.13+deb14-amd64'))


def kernel_of(release, *suites):
    """A kernel that nobody boots."""
    return kernels.Kernel(release, kernels.group_of(release), pathlib.Path('/nowhere'), set(suites))


class PlanTest(unittest.TestCase):
    """Which kernels run programs of which width."""

    KERNELS = (kernel_of('5.10.0-46-cloud-amd64', 'bullseye'), kernel_of('6.1.0-57-cloud-amd64', 'bookworm-security'),
               kernel_of(RELEASE, 'trixie'), kernel_of('6.1.0-50-686-pae', 'bookworm'))

    def widths(self, jobs):
        """Label and release -> widths of the programs run."""
        return {(job.label, job.kernel.release): {run.bits for run in job.runs} for job in jobs}

    def test_everything(self):
        widths = self.widths(plan.everything(self.KERNELS))
        self.assertEqual(len(widths), (len(plan.SETUPS) + 1) * len(self.KERNELS))
        for label in ('tsc', 'hpet', 'tsc, 2 cpus', 'jumps'):
            self.assertEqual(widths[label, RELEASE], {64, 32})
        for (_, release), bits in widths.items():
            self.assertEqual(64 in bits, '686' not in release)
        self.assertEqual(widths['tsc', '6.1.0-50-686-pae'], {32})

    def test_everything_without_processes(self):
        jobs = plan.everything(self.KERNELS), plan.everything(self.KERNELS, processes=())
        runs = [[run for job in some for run in job.runs] for some in jobs]
        self.assertEqual(runs[1], [run for run in runs[0] if run.program != 'process'])
        self.assertLess(len(runs[1]), len(runs[0]))

    def test_without_32_bit_programs(self):
        for jobs in (plan.everything(self.KERNELS[:3], False), plan.quick(self.KERNELS[:3], False)):
            self.assertEqual({run.bits for job in jobs for run in job.runs}, {64})

    def test_quick(self):
        widths = self.widths(plan.quick(self.KERNELS))
        self.assertEqual({release for _, release in widths}, {kernel.release for kernel in self.KERNELS})
        self.assertEqual([widths['tsc', kernel.release] for kernel in self.KERNELS], [{64, 32}] * 3 + [{32}])
        self.assertEqual(widths['jumps', '6.1.0-50-686-pae'], {32})

    def test_far_is_for_32_bit_programs(self):
        runs = plan.check(self.KERNELS[1], plan.TSC).runs
        self.assertEqual([run.bits for run in runs if run.namespace == 'far'], [32])


class ArchiveTest(unittest.TestCase):
    """The archive format, as another program reads it, and what is put into it."""

    def test_libraries_of_a_program(self):
        program = os.path.realpath(sys.executable)
        found = initramfs.shared_objects(program)
        listing = subprocess.run(['ldd', program], check=True, capture_output=True, text=True).stdout
        self.assertIn('libc.so.6', {pathlib.Path(path).name for path in found})
        for name in re.findall(r'^\s*(\S+\.so\S*) =>', listing, re.MULTILINE):
            self.assertIn(name, {pathlib.Path(path).name for path in found})

    def test_why_no_32(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            self.assertIn(initramfs.LIBRARY_32, initramfs.why_no_32(build))
            for part in initramfs.PARTS_32:
                self.assertIn(part, initramfs.why_no_32(build))
                (build / part).parent.mkdir(parents=True, exist_ok=True)
                (build / part).touch()
            self.assertEqual(initramfs.why_no_32(build), '')

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
