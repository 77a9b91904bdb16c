"""What a program is to the harness: how to get it, start it, read its figures, and what of its output depends on time."""

import contextlib
import re
import signal
import subprocess
import time

from .place import Ended, Unavailable

START_TRIES = 600  # of a tenth of a second, until a server answers
NUMBERS = (r'[-+]?\d[\d.,]*(?:e[-+]?\d+)?', 'N')


class Program:
    """One program. Subclasses fill in the class attributes and `command`."""

    name = ''
    needs = ()  # (command or /path pattern, Debian package)
    quick = False  # runs in CI too
    served = True  # loads the library and takes its clocks from libc
    own_calls = ''  # why it makes clock system calls of its own, past libc, if it does
    may_fail = False  # a status other than 0 without the library is an answer to be compared, too
    user = ''  # whom to run it as
    unit = 'ns'
    higher_is_better = False
    rounds = 3
    varies = 'numbers'  # what is taken out of the output before it is compared, in words
    masks = (NUMBERS,)  # the same as patterns and replacements

    def __init__(self, place, quick):
        self.place = place
        self.small = quick

    def prepare(self):
        """Compiles, makes data, once. Raises Unavailable."""

    def command(self, short):
        """The command line. `short`: traced or a system call per clock call, so a hundredth of the work."""
        raise NotImplementedError

    def play(self, way, short=False):
        """One run."""
        return self.place.run(way, self.command(short), self.user)

    def figures(self, text):
        """{what: number} from the output; by default lines "what<tab>number"."""
        return {name: float(number) for name, number in re.findall(r'^([^\t\n]+)\t([\d.]+)$', text, re.MULTILINE)}

    def masked(self, text):
        """The output without what depends on time, spaces run together: columns move with their numbers."""
        for pattern, replacement in self.masks:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        return '\n'.join(' '.join(line.split()) for line in text.splitlines() if line.strip())


class Server(Program):
    """A server under the library, with a client that runs without it."""

    higher_is_better = True

    def server(self):
        """The server's command line."""
        raise NotImplementedError

    def answers(self):
        """Whether the server is ready."""
        raise NotImplementedError

    def stop(self, process):
        """Asks the server to end. Not by a signal to `process`, which may be strace."""
        raise NotImplementedError

    def client(self, short):
        """One run of the client."""
        raise NotImplementedError

    @contextlib.contextmanager
    def serving(self, way):
        """The server runs inside; afterwards its status is in `self.status`."""
        log = self.place.scratch / f'{self.name.split()[0]}.log'
        process = self.place.background(way, self.server(), log, self.user)
        try:
            for _ in range(START_TRIES):
                if self.answers():
                    break
                if process.poll() is not None:
                    break
                time.sleep(0.1)
            if process.poll() is not None or not self.answers():
                raise Unavailable(f'the server does not come up {way.name}: {log.read_text(errors="replace")[-200:]}')
            yield
        finally:
            self.status = self.end(process)

    def end(self, process):
        """Stops the server; its status."""
        if process.poll() is None:
            self.stop(process)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return 124

    def play(self, way, short=False):
        try:
            with self.serving(way):
                done = self.client(short)
        except Unavailable as reason:
            if not way.order:
                raise
            return Ended(125, str(reason))
        return Ended(done.status or self.status, done.text)
