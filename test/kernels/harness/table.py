"""Rows as text: the table, then each failure in words, then what was not tried; or as test points. Pure."""

HEADINGS = ('kernel', 'setup', 'layout', 'mode', 'reader', 'brackets', 'failures', 'seconds')


def _cells(row):
    seconds = f'{row.seconds:.0f}' if row.seconds else ''  # the rows of one boot share its time
    return (row.kernel, row.setup, row.layout, row.mode, row.served, str(row.brackets), str(row.failures), seconds)


def text(rows):
    """The whole report."""
    lines = [HEADINGS] + [_cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    numbers = range(HEADINGS.index('brackets'), len(HEADINGS))
    out = ['  '.join(cell.rjust(width) if i in numbers else cell.ljust(width)
                     for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
    for title, pick in (('Failures', lambda row: row.problems), ('Remarks', lambda row: row.remarks)):
        found = [f'  {row.kernel} {row.setup}: {item}' for row in rows for item in pick(row)]
        if found:
            out += ['', title + ':'] + found
    failed = sum(1 for row in rows if row.failures)
    out += ['', f'{len(rows) - failed} rows right, {failed} rows with failures, '
                f'{sum(row.brackets for row in rows)} brackets on {len({row.kernel for row in rows})} kernels']
    return '\n'.join(out)


def points(rows):
    """One test point (TAP) per row, the table before them as comments."""
    out = [f'# {line}'.rstrip() for line in text(rows).splitlines()]
    out += [f'{"not ok" if row.failures else "ok"} {number} - {row.kernel} {row.setup}'
            for number, row in enumerate(rows, 1)]
    return '\n'.join(out + [f'1..{len(rows)}'])


def skipped_point(reason):
    """Nothing was tried."""
    return f'1..0 # SKIP {reason}'
