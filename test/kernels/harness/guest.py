"""One boot: a kernel, a clock setup, a list of runs; what came back over the serial line.

Depends on qemu-system-x86_64 with software emulation (tcg), so that it works inside virtual machines and the guest's clock
source can be chosen freely. The first serial line carries the console, into a log file; the second the results. Lines
of the guest that begin with "gap" ask for something: "stop" to have the machine stopped by its monitor for a while,
"halt" to have the emulator's process stopped, "mem" and "freeze" to be woken up from the suspend that follows.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

QEMU = 'qemu-system-x86_64'
GAP = 3  # seconds
MONITOR_TIMEOUT = 60  # seconds
PROMPT = b'\r\n(qemu) '


@dataclasses.dataclass(frozen=True)
class Setup:
    """How the guest's clock is set up, and what must come of it."""

    name: str
    source: str  # the kernel's clock source
    mode: str  # the clock mode that the page then has
    cpu: str = 'max'
    cpus: int = 1


@dataclasses.dataclass(frozen=True)
class Run:
    """One start of a guest program."""

    program: str
    namespace: str
    order: str
    seconds: int
    bits: int = 64  # the program's width

    def __str__(self):
        return f'{self.program}:{self.bits}:{self.namespace}:{self.order}:{self.seconds}'


@dataclasses.dataclass
class Boot:
    """What a guest said."""

    seconds: float = 0.0
    ended: bool = False
    timed_out: bool = False
    release: str = ''
    source: str = ''
    missing: str = ''  # the clock source, when the kernel does not offer it; nothing was run then
    last_begun: str = ''
    stops: int = 0  # gaps made by the monitor, which the guest cannot notice
    results: list = dataclasses.field(default_factory=list)
    reports: list = dataclasses.field(default_factory=list)  # each with the reporting program's width, "bits"
    prices: list = dataclasses.field(default_factory=list)
    processes: list = dataclasses.field(default_factory=list)  # of the whole-process checks: bits, order, name, status, words
    doctors: list = dataclasses.field(default_factory=list)  # what the doctor says of each width
    exits: list = dataclasses.field(default_factory=list)
    noise: list = dataclasses.field(default_factory=list)

    def take(self, line):
        """One line of the second serial line."""
        word, _, rest = line.partition(' ')
        try:
            if word == 'result':
                self.results.append(json.loads(rest))
            elif word == 'report':
                bits, _, report = rest.partition(' ')
                self.reports.append(json.loads(report) | {'bits': int(bits)})
            elif word == 'price':
                self.prices.append(json.loads(rest))
            elif word == 'doctor':
                self.doctors.append(json.loads(rest))
            elif word == 'process':
                bits, order, name, status, *words = rest.split(' ')
                self.processes.append((int(bits), order, name, int(status), ' '.join(words)))
            elif word == 'exit':
                self.exits.append(rest)
            elif word == 'kernel':
                self.release = rest
            elif word == 'source':
                self.source = rest
            elif word == 'missing':
                self.missing = rest
            elif word == 'begin':
                self.last_begun = rest
            elif word == 'end':
                self.ended = True
            elif word:
                self.noise.append(line)
        except ValueError:
            self.noise.append(line)


def available():
    """Is the emulator there?"""
    return shutil.which(QEMU) is not None


def _command(kernel, initramfs, setup, runs, console, monitor, by_turns):
    words = ['console=ttyS0', 'quiet', 'loglevel=3', 'panic=-1', 'rdinit=/init', 'tsc=reliable',
             'ia32_emulation=on',  # kernels may have 32-bit programs switched off
             'no_timer_check',  # a busy machine delays the emulated timer, and the kernel would panic over it
             f'clocksource={setup.source}', f'GUEST_SOURCE={setup.source}', 'GUEST_RUN=' + ','.join(map(str, runs))]
    accelerator = 'tcg,thread=single' if by_turns else 'tcg'
    return [QEMU, '-accel', accelerator, '-machine', 'pc', '-cpu', setup.cpu, '-smp', str(setup.cpus), '-m', '256',
            '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
            '-serial', f'file:{console}', '-serial', 'stdio', '-monitor', f'unix:{monitor},server=on,wait=off',
            '-kernel', str(kernel), '-initrd', str(initramfs), '-append', ' '.join(words)]


def _await_prompt(monitor):
    said = b''
    while not said.endswith(PROMPT):
        if not (more := monitor.recv(4096)):
            raise OSError('the monitor has closed the line')
        said += more


def _monitor_say(path, *commands):
    """Says something to the emulator's monitor and waits until each command is done."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as monitor:
        monitor.settimeout(MONITOR_TIMEOUT)
        monitor.connect(str(path))
        _await_prompt(monitor)
        for command in commands:
            monitor.sendall(command.encode() + b'\n')
            _await_prompt(monitor)


def _type(process, text):
    """Into the guest's second serial line."""
    process.stdin.write(text)
    process.stdin.flush()


def _make_gap(kind, process, monitor, boot, went_on):
    """Takes the machine's time away for some seconds, or ends a suspend. went_on: the guest has said something since."""
    if kind == 'stop':
        _monitor_say(monitor, 'stop')
        time.sleep(GAP)
        _monitor_say(monitor, 'cont')
        boot.stops += 1
    elif kind == 'halt':
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(GAP)
        os.kill(process.pid, signal.SIGCONT)
    else:
        while not went_on.wait(GAP):  # a call that comes before the guest sleeps is lost
            if kind == 'mem':
                _monitor_say(monitor, 'system_wakeup')
            elif kind == 'freeze':
                _type(process, '\n')  # only an interrupt ends this state
            else:
                return


def _gap_thread(*arguments):
    try:
        _make_gap(*arguments)
    except OSError:  # the guest is gone; what it did not say tells the rest
        pass


def _listen(process, boot, monitor):
    went_on = threading.Event()
    for line in process.stdout:
        line = line.strip()
        went_on.set()
        if line.startswith('gap '):
            went_on = threading.Event()
            threading.Thread(target=_gap_thread, args=(line.removeprefix('gap '), process, monitor, boot,
                                                        went_on)).start()
        else:
            boot.take(line)
    went_on.set()


def death(console):
    """Why the guest's kernel died of itself, from its console; empty when it did not.

    No program can do that to a kernel that is right. Under emulation it happens when the kernel patches its own code
    (int3) while the clock source is switched: one emulated CPU still has the old code when the other believes it gone.
    """
    try:
        lines = pathlib.Path(console).read_text(errors='replace').splitlines()
    except FileNotFoundError:
        return ''
    if not any('Kernel panic' in line for line in lines):
        return ''
    causes = [line for line in lines if 'Oops' in line or 'BUG' in line or 'RIP: 0010' in line or 'Kernel panic' in line]
    return '; '.join(line.split('] ', 1)[-1].strip() for line in causes[:2])


def boot(kernel, initramfs, setup, runs, console, timeout, by_turns=False):
    """Boots and waits for the end or the time-out (seconds); what the guest said.

    by_turns: the emulated CPUs take turns on one of the machine's, and so never run at once.
    """
    said = Boot()
    started = time.monotonic()
    pathlib.Path(console).parent.mkdir(parents=True, exist_ok=True)
    # A socket's path must be short, so it does not go beside the log.
    with tempfile.TemporaryDirectory(prefix='vvarclock-') as folder:
        monitor = pathlib.Path(folder) / 'monitor'
        with subprocess.Popen(_command(kernel, initramfs, setup, runs, console, monitor, by_turns), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace') as process:
            listener = threading.Thread(target=_listen, args=(process, said, monitor))
            listener.start()
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                said.timed_out = True
            finally:
                process.kill()
            listener.join()
    said.seconds = time.monotonic() - started
    return said
