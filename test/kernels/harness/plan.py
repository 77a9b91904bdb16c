"""What is booted: the clock setups and the runs in each.

Depends on guest.py's types. Mode none comes with every clock source that the vDSO cannot read, here hpet and acpi_pm.
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
CHECK_TIMEOUT = 400  # seconds for one boot with checks; idle machines need 30
JUMPS_TIMEOUT = 1200  # seconds for one boot with jumps; idle machines need 180


@dataclasses.dataclass(frozen=True)
class Job:
    """One boot."""

    kernel: object
    setup: Setup
    label: str
    runs: tuple
    timeout: int


def check(kernel, setup):
    """Brackets of every clock in every order, then without the counter, then in time namespaces."""
    runs = [Run('check', 'none', order, 1) for order in ORDERS]
    runs.append(Run('check', 'forbidden', 'ordered', 1))
    runs += [Run('check', where, order, 1) for where in ('fork', 'exec') for order in ORDERS[:2]]
    return Job(kernel, setup, setup.name, tuple(runs), CHECK_TIMEOUT)


def jumps(kernel):
    """Steps, slews, leap seconds, gaps, suspend, and clock sources that change; in a namespace; attached in mode none."""
    runs = [Run('jumps', where, order, 10)
            for where, order in (('none', 'ordered'), ('late', 'unordered'), ('fork', 'ordered'))]
    return Job(kernel, TWO_CPUS, 'jumps', tuple(runs), JUMPS_TIMEOUT)


def everything(kernels):
    """The whole matrix, setup by setup: what is wrong with one kernel shows early."""
    return [check(kernel, setup) for setup in SETUPS for kernel in kernels] + [jumps(kernel) for kernel in kernels]


def quick(kernels):
    """Three kernels: the oldest, bookworm's, the newest; mode none and the jumps on bookworm's alone."""
    bookworm = [kernel for kernel in kernels if any(suite.startswith('bookworm') and 'backports' not in suite
                                                    for suite in kernel.suites)]
    middle = bookworm[0] if bookworm else kernels[len(kernels) // 2]
    three = list({kernel.release: kernel for kernel in (kernels[0], middle, kernels[-1])}.values())
    return [check(kernel, TSC) for kernel in three] + [check(middle, HPET), jumps(middle)]
