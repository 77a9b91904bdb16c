"""What is booted: the clock setups and the runs in each.

Depends on guest.py's types. Mode none comes with every clock source that the vDSO cannot read, here hpet and acpi_pm.
A 64-bit kernel runs programs of both widths in one boot, since boots are dear; 32-bit kernels, of which Debian's last is
bookworm's, run 32-bit ones alone, and everything that 64-bit kernels run in 64 bits.
"""

import dataclasses

from .guest import Run, Setup

TSC = Setup('tsc', 'tsc', 'tsc')
HPET = Setup('hpet', 'hpet', 'none')
ACPI_PM = Setup('acpi_pm', 'acpi_pm', 'none')
NO_RDTSCP = Setup('tsc, no rdtscp', 'tsc', 'tsc', cpu='max,-rdtscp')
TWO_CPUS = Setup('tsc, 2 cpus', 'tsc', 'tsc', cpus=2)
SETUPS = (TSC, HPET, ACPI_PM, NO_RDTSCP, TWO_CPUS)

ORDERS = ('ordered', 'unordered', 'lfence', 'rdtscp')
CHECK_TIMEOUT = 400  # seconds for one boot with checks; idle machines need 40
PROCESSES_TIMEOUT = 600  # seconds more for each order of the whole-process checks; idle machines need 40
JUMPS_TIMEOUT = 1600  # seconds for one boot with jumps; idle machines need 240


@dataclasses.dataclass(frozen=True)
class Job:
    """One boot."""

    kernel: object
    setup: Setup
    label: str
    runs: tuple
    timeout: int


def _prices(bits):
    return [Run('prices', 'none', order, 0, bits) for order in ORDERS[:2]]


def _all_checks(setup, bits):
    """Brackets of every clock in every order, then without the counter, then in time namespaces; the prices; the doctor."""
    runs = [Run('check', 'none', order, 1, bits) for order in ORDERS]
    runs.append(Run('check', 'forbidden', 'ordered', 1, bits))
    runs += [Run('check', where, order, 1, bits) for where in ('fork', 'exec') for order in ORDERS[:2]]
    if setup == TSC:
        runs += [Run('check', 'far', 'ordered', 1, bits)] * (bits == 32) + _prices(bits)
    if setup in (TSC, HPET):
        runs.append(Run('doctor', 'none', 'ordered', 0, bits))  # examines both widths where the kernel runs both
    return runs


def _compat_checks(setup):
    """What a setup runs in 32-bit programs on a 64-bit kernel: the order of reads is up to the same instructions."""
    wheres = {
        TSC: (('none', 'ordered'), ('none', 'unordered'), ('forbidden', 'ordered'), ('far', 'ordered'),
              ('fork', 'ordered'), ('exec', 'unordered')),
        HPET: (('none', 'ordered'), ('fork', 'ordered')),
        TWO_CPUS: (('none', 'ordered'), ('none', 'unordered')),
    }
    runs = [Run('check', where, order, 1, 32) for where, order in wheres.get(setup, ())]
    return runs + (_prices(32) if setup == TSC else [])


def check(kernel, setup, with_32=True, processes=ORDERS[:2]):
    """The checks of one setup. with_32: 32-bit programs too, on a 64-bit kernel.

    processes: the orders in which the whole-process checks are run as 32-bit programs, in the setups TSC and TWO_CPUS.
    """
    bits = kernel.group.bits
    runs = _all_checks(setup, bits) + (_compat_checks(setup) if with_32 and bits == 64 else [])
    timeout = CHECK_TIMEOUT
    if setup in (TSC, TWO_CPUS) and (with_32 or bits == 32):
        runs += [Run('process', 'none', order, 0, 32) for order in processes]
        timeout += PROCESSES_TIMEOUT * len(processes)
    return Job(kernel, setup, setup.name, tuple(runs), timeout)


def jumps(kernel, with_32=True, brief=False):
    """Steps, slews, leap seconds, gaps, suspend, and clock sources that change; in a namespace; attached in mode none.

    brief: the first of these alone.
    """
    bits = kernel.group.bits
    runs = [Run('jumps', where, order, 10, bits)
            for where, order in (('none', 'ordered'), ('late', 'unordered'), ('fork', 'ordered'))[:1 if brief else None]]
    if with_32 and bits == 64:
        runs.append(Run('jumps', 'none', 'ordered', 10, 32))
    return Job(kernel, TWO_CPUS, 'jumps', tuple(runs), JUMPS_TIMEOUT)


def everything(kernels, with_32=True, processes=ORDERS[:2]):
    """The whole matrix, setup by setup: what is wrong with one kernel shows early. processes: as check() has it."""
    return ([check(kernel, setup, with_32, processes) for setup in SETUPS for kernel in kernels] +
            [jumps(kernel, with_32) for kernel in kernels])


def _of_bookworm(kernels):
    """Bookworm's own kernel; the middle one where there is none."""
    found = [kernel for kernel in kernels if any(suite.startswith('bookworm') and 'backports' not in suite
                                                 for suite in kernel.suites)]
    return found[0] if found else kernels[len(kernels) // 2]


def quick(kernels, with_32=True):
    """Three kernels: the oldest, bookworm's, the newest; mode none and the jumps on bookworm's alone; its 32-bit kernel.

    The jumps in 32 bits are the 32-bit kernel's. The long boots come first, so that all end at about one time.
    """
    wide = [kernel for kernel in kernels if kernel.group.bits == 64]
    narrow = [kernel for kernel in kernels if kernel.group.bits == 32]
    jobs = []
    if wide:
        middle = _of_bookworm(wide)
        three = list({kernel.release: kernel for kernel in (wide[0], middle, wide[-1])}.values())
        jobs += [jumps(middle, False)] + [check(kernel, TSC, with_32, ()) for kernel in three]
        jobs.append(check(middle, HPET, with_32))
    if narrow:
        middle = _of_bookworm(narrow)
        jobs[1:1] = [jumps(middle, brief=True)]
        jobs.append(check(middle, TSC))
    return jobs
