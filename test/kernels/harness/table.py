"""Rows as text: the table, then prices, then each failure in words, then what was not tried; or as test points. Pure."""

HEADINGS = ('kernel', 'setup', 'layout', 'mode', 'reader', 'brackets', 'failures', 'seconds')
PRICES_TITLE = ("One call, ours / the kernel's own vDSO: instructions, and nanoseconds of the guest's time (emulated, so good "
                'for comparing the two only):')


def _cells(row):
    seconds = f'{row.seconds:.0f}' if row.seconds else ''  # the rows of one boot share its time
    return (row.kernel, row.setup, row.layout, row.mode, row.served, str(row.brackets), str(row.failures), seconds)


def _columns(lines, numbers=()):
    """Lines of cells, in columns; those of `numbers` to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ['  '.join(cell.rjust(width) if i in numbers else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]


def _price(price):
    ours, kernels = price['ours'], price['kernels']
    return f'{ours["instructions"]} / {kernels["instructions"]}, {ours["ns"]:.0f} / {kernels["ns"]:.0f} ns'


def prices(rows):
    """What one call costs: a line for each kernel and width of programs."""
    priced = [row for row in rows if row.prices]
    if not priced:
        return []
    kinds = list(dict.fromkeys((price['clock'], price['order']) for row in priced for price in row.prices))
    lines = [('kernel', 'programs') + tuple(f'{clock} {order}' for clock, order in kinds)]
    for row in priced:
        found = {(price['clock'], price['order']): _price(price) for price in row.prices}
        lines.append((row.kernel, f'{row.prices[0]["bits"]}-bit') + tuple(found.get(kind, '-') for kind in kinds))
    return ['', PRICES_TITLE] + [f'  {line}' for line in _columns(lines)]


def text(rows):
    """The whole report."""
    out = _columns([HEADINGS] + [_cells(row) for row in rows], range(HEADINGS.index('brackets'), len(HEADINGS)))
    out += prices(rows)
    for title, pick in (('Failures', lambda row: row.problems), ('Remarks', lambda row: row.remarks),
                        ('Skipped', lambda row: [row.skipped] * bool(row.skipped))):
        found = [f'  {row.kernel} {row.setup}: {item}' for row in rows for item in pick(row)]
        if found:
            out += ['', title + ':'] + found
    failed = sum(1 for row in rows if row.failures)
    skipped = sum(1 for row in rows if row.skipped)
    out += ['', f'{len(rows) - failed - skipped} rows right, {failed} rows with failures, {skipped} skipped, '
                f'{sum(row.brackets for row in rows)} brackets on '
                f'{len({row.kernel for row in rows if not row.skipped})} kernels']
    return '\n'.join(out)


def points(rows):
    """One test point (TAP) per row, the table before them as comments."""
    out = [f'# {line}'.rstrip() for line in text(rows).splitlines()]
    out += [f'{"not ok" if row.failures else "ok"} {number} - {row.kernel} {row.setup}' +
            (f' # SKIP {row.skipped}' if row.skipped else '') for number, row in enumerate(rows, 1)]
    return '\n'.join(out + [f'1..{len(rows)}'])


def skipped_point(reason):
    """Nothing was tried."""
    return f'1..0 # SKIP {reason}'
