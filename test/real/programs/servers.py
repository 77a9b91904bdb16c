"""Servers under the library, loaded by a client without it; and PostgreSQL's own test of timing."""

import os
import pathlib
import re
import signal
import socket

from harness.place import WITHOUT
from harness.program import NUMBERS, Program, Server

UNPRIVILEGED = 'nobody'
PORT = 18429


class Redis(Server):
    """Debian's redis-tools holds the server too, under another name: the service's package is not needed."""

    name = 'Redis'
    needs = (('redis-benchmark', 'redis-tools'), ('redis-check-rdb', 'redis-tools'))
    quick = True
    unit = 'requests/s'

    def prepare(self):
        self.folder = self.place.folder('redis')
        self.socket = self.folder / 'socket'
        program = self.folder / 'redis-server'
        program.symlink_to('/usr/bin/redis-check-rdb')

    def server(self):
        return [self.folder / 'redis-server', '--port', '0', '--unixsocket', self.socket, '--save', '', '--dir', self.folder]

    def _ask(self, word):
        return self.place.run(WITHOUT, ['redis-cli', '-s', self.socket, word]).text.strip()

    def answers(self):
        return self._ask('PING') == 'PONG'

    def stop(self, process):
        self._ask('SHUTDOWN')

    def client(self, short):
        requests = 200 if short else 50_000 if self.small else 150_000
        return self.place.run(WITHOUT, ['redis-benchmark', '-s', self.socket, '-n', requests, '-c', 20, '-t', 'set,get,incr', '--csv'])

    def figures(self, text):
        return {name: float(rate) for name, rate in re.findall(r'^"([A-Z]+)","([\d.]+)"', text, re.MULTILINE)}


class Nginx(Server):
    """Serves one small file to wrk."""

    name = 'nginx with wrk'
    needs = (('/usr/sbin/nginx', 'nginx-light'), ('wrk', 'wrk'))
    unit = 'requests/s'
    varies = 'numbers and their units'
    masks = ((r'\d[\d.]*(us|ms|s|[kKMG]?B?)?\b(/sec)?%?', 'N'), NUMBERS)
    SETTINGS = '''daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log; {1}
events {{ worker_connections 64; }}
http {{ access_log {0}/access.log; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{ listen 127.0.0.1:{2}; root {0}/www; }} }}
'''

    def prepare(self):
        self.folder = self.place.folder('nginx')
        (self.folder / 'www').mkdir()
        (self.folder / 'www/index.html').write_text('hello\n')
        user = f'user {UNPRIVILEGED} nogroup;' if os.getuid() == 0 else ''
        (self.folder / 'conf').write_text(self.SETTINGS.format(self.folder, user, PORT))

    def server(self):
        return ['/usr/sbin/nginx', '-p', self.folder, '-c', self.folder / 'conf']

    def answers(self):
        with socket.socket() as line:
            return line.connect_ex(('127.0.0.1', PORT)) == 0 and (self.folder / 'pid').exists()

    def stop(self, process):
        os.kill(int((self.folder / 'pid').read_text()), signal.SIGQUIT)

    def client(self, short):
        return self.place.run(WITHOUT, ['wrk', '-t1', '-c16', f'-d{1 if short else 5}s', f'http://127.0.0.1:{PORT}/'])

    def figures(self, text):
        return {'GET': float(rate) for rate in re.findall(r'Requests/sec: +([\d.]+)', text)}


def postgres_folder():
    """Where Debian keeps the newest PostgreSQL's programs."""
    found = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'), key=lambda path: float(path.parent.name))
    return found[-1] if found else pathlib.Path('/nonexistent')


class PostgresTiming(Program):
    """pg_test_timing: back to back, for a few seconds."""

    name = 'pg_test_timing'
    needs = (('/usr/lib/postgresql/*/bin/pg_test_timing', 'postgresql'),)
    varies = 'numbers, and which rows the histogram has'
    masks = ((r'^ +\d+ +[\d.]+ +\d+$', ''), NUMBERS)

    def command(self, short):
        return [postgres_folder() / 'pg_test_timing', '-d', 1 if short else 3]

    def figures(self, text):
        return {'per loop': float(cost) for cost in re.findall(r'including overhead: ([\d.]+) ns', text)}


class Postgres(Server):
    """A cluster in the scratch folder, reached by its socket only; PostgreSQL refuses to be root."""

    needs = (('/usr/lib/postgresql/*/bin/initdb', 'postgresql'),)
    user = UNPRIVILEGED if os.getuid() == 0 else ''

    def prepare(self):
        self.folder = self.place.folder('postgres')
        self.data = self.folder / 'data'
        self.place.must([postgres_folder() / 'initdb', '-D', self.data, '-A', 'trust', '-U', 'postgres', '--no-sync'], self.user)
        with self.serving(WITHOUT):
            self.fill()

    def fill(self):
        """Makes the data."""
        raise NotImplementedError

    def sql(self, *words):
        """psql without the library."""
        return self.place.run(WITHOUT, [postgres_folder() / 'psql', '-h', self.folder, '-U', 'postgres', '-X', '-At',
                                        '-v', 'ON_ERROR_STOP=1', *words])

    def server(self):
        settings = {'listen_addresses': '', 'unix_socket_directories': self.folder, 'fsync': 'off', 'autovacuum': 'off',
                    'max_parallel_workers_per_gather': 0, 'jit': 'off', 'max_wal_size': '4GB'}
        return [postgres_folder() / 'postgres', '-D', self.data, *(f'--{name}={value}' for name, value in settings.items())]

    def answers(self):
        return self.sql('-c', 'SELECT 1').status == 0

    def stop(self, process):
        first = (self.data / 'postmaster.pid').read_text().split()[0]
        os.kill(int(first), signal.SIGINT)


class Explain(Postgres):
    """EXPLAIN ANALYZE reads the clock twice for each row."""

    name = 'PostgreSQL EXPLAIN ANALYZE'
    unit = 'ms'
    higher_is_better = False

    def fill(self):
        rows = 500_000 if self.small else 5_000_000
        self.place.must([postgres_folder() / 'psql', '-h', self.folder, '-U', 'postgres', '-X', '-q', '-c',
                         f'CREATE TABLE many AS SELECT i, i % 7 AS j FROM generate_series(1, {rows}) AS i',
                         '-c', 'VACUUM ANALYZE many', '-c', 'CREATE TABLE few AS SELECT i FROM generate_series(1, 300) AS i'])

    def client(self, short):
        table = 'few' if short else 'many'
        return self.sql('-c', f'SELECT count(*) FROM {table}',
                        *(() if short else ('-c', f'EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM {table}')),
                        '-c', f'EXPLAIN ANALYZE SELECT count(*) FROM {table}')

    def figures(self, text):
        times = [float(each) for each in re.findall(r'Execution Time: ([\d.]+) ms', text)]
        return dict(zip(('TIMING OFF', 'TIMING ON'), times))


class Pgbench(Postgres):
    """pgbench's read-only script."""

    name = 'PostgreSQL pgbench'
    unit = 'transactions/s'

    def _pgbench(self, *words):
        return [postgres_folder() / 'pgbench', '-h', self.folder, '-U', 'postgres', *words, 'postgres']

    def fill(self):
        self.place.must(self._pgbench('-i', '-s', 5, '-q'))

    def client(self, short):
        return self.place.run(WITHOUT, self._pgbench('-n', '-S', '-M', 'prepared', '-c', 2,
                                                     *(('-t', 50) if short else ('-T', 10))))

    def figures(self, text):
        return {'select only': float(rate) for rate in re.findall(r'^tps = ([\d.]+)', text, re.MULTILINE)}


ALL = (Redis, Nginx, PostgresTiming, Explain, Pgbench)
