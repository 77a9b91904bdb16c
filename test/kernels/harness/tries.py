"""Boots that prove nothing are repeated; a kernel that died of the emulator is booted with CPUs that take turns.

Emulated CPUs that run at once do not all see in time what a kernel patches in its own code.
"""

from . import guest

MOST = 3


def why_again(said, log):
    """Why a boot proves nothing and is repeated; '' when it stands."""
    if death := guest.death(log):
        return f'the kernel died: {death}'
    if not said.release:
        return 'the kernel did not come up'
    # 32-bit kernels measure the rate of acpi_pm when they boot, and a starved emulator fails that.
    return f'the kernel has refused clock source {said.missing}' if said.missing else ''


def boot(once, log, tell):
    """Boots until one stands, MOST times at most; what the last one said, and remarks about the tries.

    once(by_turns) boots and writes the console to log; tell(text) says at once what went wrong. Consoles of boots in vain are kept.
    """
    remarks = []
    died = by_turns = False
    for count in range(1, MOST + 1):
        by_turns = died
        said = once(by_turns)
        if not (reason := why_again(said, log)):
            break
        remarks.append(f'a boot in vain{", its CPUs taking turns" if by_turns else ""}: {reason}')
        tell(remarks[-1])
        died = died or bool(guest.death(log))
        if count < MOST and log.exists():
            log.rename(log.with_suffix(f'.vain-{count}.log'))
    return said, remarks + ['its CPUs took turns'] * by_turns
