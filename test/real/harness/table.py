"""Rows as text: the figures, the comparison, then failures, remarks and what was skipped; or as test points. Pure."""

from .place import ORDERS


def _columns(lines, numbers):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ['  '.join(cell.rjust(width) if i in numbers else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]


def _number(value):
    return f'{value:.0f}' if value >= 1000 else f'{value:.4g}'


def times_as_fast(row, medians, way):
    """How many times as fast a way is as going without."""
    pair = medians[way], medians['without']
    high, low = pair if row.higher_is_better else pair[::-1]
    return f'{high / low:.2f}' if low > 0 else '-'


def speed(rows):
    """The figures, with the times as fast behind each."""
    lines = [('program', 'figure', 'unit', 'without', 'ordered', 'times', 'unordered', 'times')]
    for row in rows:
        for what, medians in row.figures.items():
            cells = [cell for way in ORDERS for cell in (_number(medians[way]), times_as_fast(row, medians, way))]
            lines.append((row.name, what, row.unit, _number(medians['without']), *cells))
    return _columns(lines, range(3, 8))


def sameness(rows):
    """Whether each program did the same, and where its clock calls went."""
    def calls(number):
        return str(number) if number >= 0 else 'not counted'
    lines = [('program', 'runs each', 'output and status', 'calls caught', 'while attaching', 'after')]
    for row in rows:
        lines.append((row.name, str(row.runs), 'WRONG' if row.problems else 'same',
                      calls(row.caught) if row.served else 'not served', calls(row.attaching), calls(row.after)))
    return _columns(lines, (1, 3, 4, 5))


def text(rows):
    """The whole report."""
    ran = [row for row in rows if not row.skipped]
    out = []
    if ran:
        out += ['Speed (medians; times: how many times as fast as without)', *speed(ran), '',
                'Clock calls (caught: those that are system calls when the library is switched off)', *sameness(ran), '',
                'Taken out of the outputs before comparing: '
                + '; '.join(f'{row.name}: {row.varies}' for row in ran)]
    for title, pick in (('Failures', lambda row: row.problems), ('Remarks', lambda row: row.remarks),
                        ('Skipped', lambda row: [row.skipped] if row.skipped else [])):
        found = [f'  {row.name}: {item}' for row in rows for item in pick(row)]
        if found:
            out += ['', title + ':'] + found
    wrong = sum(1 for row in ran if row.problems)
    return '\n'.join(out + ['', f'{len(ran) - wrong} programs the same, {wrong} with failures, {len(rows) - len(ran)} skipped'])


def points(rows):
    """One test point (TAP) per program, the report before them as comments."""
    out = [f'# {line}'.rstrip() for line in text(rows).splitlines()]
    for number, row in enumerate(rows, 1):
        skip = f' # SKIP {row.skipped}'.replace('\n', ' ') if row.skipped else ''
        out.append(f'{"not ok" if row.problems else "ok"} {number} - {row.name}{skip}')
    return '\n'.join(out + [f'1..{len(rows)}'])
