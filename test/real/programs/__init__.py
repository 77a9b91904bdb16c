"""The programs, in the order of the table."""

from . import compiled, interpreters, servers, tools

ALL = (*interpreters.ALL, *compiled.ALL, *servers.ALL, *tools.ALL)
