"""Programs that are compiled here from small sources: each prints what one clock call costs by its language's own means."""

import os
import shutil

from harness.program import Program

SHORT = 200  # calls of each kind when traced
LONG = 2_000_000


class Compiled(Program):
    """Sources are in test/real/sources; the program takes the number of calls."""

    source = ''
    quick = True

    def compiler(self, source, out):
        """The compiler's command line."""
        raise NotImplementedError

    def prepare(self):
        folder = self.place.folder(self.name.replace(' ', '-').replace('+', 'x'))
        self.program = folder / 'program'
        source = self.place.source / 'test/real/sources' / self.source
        # Go's compiler wants a folder for what it keeps.
        self.place.must(self.compiler(source, self.program), more={'GOCACHE': str(folder / 'cache'), 'GO111MODULE': 'off',
                                                                    'HOME': os.environ.get('HOME', str(folder))})

    def command(self, short):
        return [self.program, SHORT if short else LONG]


class Chrono(Compiled):
    """std::chrono and the C functions beside it."""

    name = 'C++ std::chrono'
    needs = (('g++', 'g++'),)
    source = 'chrono.cc'

    def compiler(self, source, out):
        return ['g++', '-O2', '-o', out, source]


class Rust(Compiled):
    """std::time."""

    name = 'Rust std::time'
    needs = (('rustc', 'rustc'),)
    source = 'times.rs'

    def compiler(self, source, out):
        return ['rustc', '-O', '-o', out, source]


class Static(Compiled):
    """The C++ program, linked statically: no loader, no preloading."""

    name = 'static C++'
    needs = (('g++', 'g++'),)
    source = 'chrono.cc'
    served = False

    def compiler(self, source, out):
        return ['g++', '-O2', '-static', '-o', out, source]


class Go(Compiled):
    """time.Now: Go calls the vDSO by itself."""

    name = 'Go time'
    needs = (('go', 'golang-go'),)
    source = 'times.go'
    served = False

    def compiler(self, source, out):
        return ['go', 'build', '-o', out, source]


class Musl(Compiled):
    """The C library is another: linked statically, as musl-gcc users do."""

    name = 'static musl C'
    needs = (('musl-gcc', 'musl-tools'),)
    source = 'times.c'
    served = False

    def compiler(self, source, out):
        return ['musl-gcc', '-O2', '-static', '-o', out, source]


class Java(Compiled):
    """System.nanoTime and currentTimeMillis, and the CPU clocks of threads, which stay the kernel's."""

    name = 'Java'
    needs = (('javac', 'default-jdk-headless'), ('java', 'default-jre-headless'))
    source = 'Times.java'
    quick = False

    def compiler(self, source, out):
        return ['javac', '-d', out.parent, source]

    def command(self, short):
        return [shutil.which('java'), '-Xint' if short else '-Xshare:auto', '-cp', self.program.parent, 'Times',
                SHORT if short else LONG]


ALL = (Java, Chrono, Rust, Go, Static, Musl)
