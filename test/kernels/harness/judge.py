"""From what a guest said to rows of the table: what must be true of each kernel, setup and process.

Pure. A row fails when a bracket does not hold, when the layout that the kernel has is not believed, when the clock mode is
not the setup's, or when not exactly the expected clocks come without a system call. What 32-bit programs say makes rows of
its own, of which the same is demanded, and the layout that 64-bit programs on this kernel believe.
"""

import dataclasses
import re

ALL_CLOCKS = {'CLOCK_REALTIME', 'CLOCK_MONOTONIC', 'CLOCK_MONOTONIC_RAW', 'CLOCK_REALTIME_COARSE',
              'CLOCK_MONOTONIC_COARSE', 'CLOCK_BOOTTIME', 'CLOCK_TAI'}
COARSE_CLOCKS = {'CLOCK_REALTIME_COARSE', 'CLOCK_MONOTONIC_COARSE'}
INSIDE = ('fork', 'exec')  # where a process in a time namespace came from
TELLING = ('check', 'jumps')  # programs that give a result
SKIPPED = 77  # the exit status of a check that could not be tried
PRICED_CLOCKS = ('MONOTONIC', 'MONOTONIC_RAW')


@dataclasses.dataclass
class Row:
    """One line of the table."""

    kernel: str
    setup: str
    layout: str = '-'
    mode: str = '-'
    served: str = '-'
    brackets: int = 0
    failures: int = 0
    seconds: float = 0.0
    skipped: str = ''  # why nothing was tried
    problems: list = dataclasses.field(default_factory=list)
    remarks: list = dataclasses.field(default_factory=list)
    prices: list = dataclasses.field(default_factory=list)  # what one call costs, as guest_prices says it

    def fail(self, text, count=1):
        """Counts a failure and keeps its words."""
        self.failures += count
        self.problems.append(text)


def layout_fits(layout, series):
    """Does a layout's name ("6.10-6.12") hold a series, (6, 12)?"""
    numbers = [tuple(map(int, pair)) for pair in re.findall(r'(\d+)\.(\d+)', layout or '')]
    return len(numbers) in (1, 2) and numbers[0] <= series <= numbers[-1]


def _expected_clocks(mode, counter_allowed=True):
    return ALL_CLOCKS if mode == 'tsc' and counter_allowed else COARSE_CLOCKS


def _judge_reports(row, reports, kernel, setup, runs):
    """The library's own words: one report per attached process."""
    layouts = {report.get('layout') for report in reports}
    modes = {report.get('clock_mode') for report in reports}
    row.layout = '/'.join(sorted(map(str, layouts))) or '-'
    row.mode = '/'.join(sorted(map(str, modes))) or '-'
    if not reports:
        row.fail('no report from the library')
    for layout in layouts:
        if not layout_fits(layout, kernel.group.series):
            refusals = [f'{refusal["layout"]}: {refusal["test"]}' for report in reports if not report.get('layout')
                        for refusal in report.get('refusals', [])]
            row.fail(f'layout {layout} is believed on {kernel.release}; refused: {"; ".join(refusals) or "none"}')
    # A late run attaches once in the setup's mode and once in mode none.
    allowed = {setup.mode} | ({'none'} if any(run.namespace == 'late' for run in runs) else set())
    if modes != allowed:
        row.fail(f'clock mode {row.mode}, not {"/".join(sorted(allowed))}')
    for report in reports:
        said = {clock for clock, who in report.get('served', {}).items() if who == 'reader'}
        if said != _expected_clocks(report.get('clock_mode')):
            row.fail(f'report in order {report.get("order")}: the reader serves {sorted(said)}')
            break


def _judge_results(row, results, setup):
    """The guest programs' words."""
    counts = set()
    for result in results:
        row.brackets += result['brackets']
        where = f'{result["test"]} {result["order"]} {result["namespace"]}'
        if result['failures']:
            row.fail(f'{where}: ' + ' | '.join(result['problems']), result['failures'])
        if result['brackets'] == 0:
            row.fail(f'{where}: not one bracket was tried')
        row.remarks += [f'{where}: not tried: {text}' for text in result['skipped']]
        row.remarks += [f'{where}: {text}' for text in result['notes']]
        served = set(result['served'])
        counter_allowed = result['namespace'] != 'forbidden'
        if counter_allowed:
            counts.add(len(served))
        if served != _expected_clocks(setup.mode, counter_allowed):
            row.fail(f'{where}: without a system call come {sorted(served)}')
    if counts:
        row.served = '/'.join(map(str, sorted(counts))) + f' of {len(ALL_CLOCKS)}'


def _judge_boot(row, boot, kernel, setup, runs):
    """The guest as a whole."""
    begun = f', last begun: {boot.last_begun}' if boot.last_begun else ''
    if boot.missing:
        row.fail(f'clock source {boot.missing} is not offered')
    if boot.timed_out:
        row.fail(f'killed at the time-out{begun}')
    elif not boot.ended:
        row.fail(f'the guest ended too early{begun}')
    if boot.release != kernel.release:
        row.fail(f'the guest runs {boot.release or "nothing"}')
    if boot.source != setup.source:
        row.fail(f'clock source {boot.source or "unknown"}, not {setup.source}')
    if len(boot.exits) != len(runs):
        row.fail(f'{len(boot.exits)} of {len(runs)} runs came to an end')
    jumps = sum(run.program == 'jumps' for run in runs)
    if boot.stops != jumps:
        row.fail(f'the machine was stopped {boot.stops} times for {jumps} runs with jumps')
    for text in boot.exits:
        status, _, run = text.partition(' ')
        if status not in ('0', '1'):  # 1: failures, which the results have told
            row.fail(f'{run}: exit status {status}')
    row.remarks += [f'unexpected line: {line}' for line in boot.noise[:5]]


def _judge_prices(row, prices, runs):
    """What the calls cost is not judged; that it was measured is."""
    row.prices = prices
    wanted = sorted(run.order for run in runs if run.program == 'prices')
    for clock in PRICED_CLOCKS:
        found = [price for price in prices if price['clock'] == clock]
        if sorted(price['order'] for price in found) != wanted:
            row.fail(f'the price of {clock} was told {len(found)} times for {len(wanted)} runs')
        if any(price[who]['instructions'] <= 0 for price in found for who in ('ours', 'kernels')):
            row.fail(f'the price of {clock}: no instructions')


def _judge_processes(row, processes, runs):
    """The whole-process checks: each told in each order that was run, and none failed."""
    orders = {run.order for run in runs if run.program == 'process'}
    told = {}
    for _, order, name, status, words in processes:
        told.setdefault(order, set()).add(name)
        if status == SKIPPED:
            row.remarks.append(f'{name} {order}: not tried: {words}')
        elif status:
            row.fail(f'{name} {order}: status {status}: {words}')
    names = set().union(*told.values()) if told else set()
    for order in sorted(orders):
        if not told.get(order) or told[order] != names:
            row.fail(f'whole-process checks in order {order}: {len(told.get(order, ()))} of {len(names)} were told')


def _judge_doctors(row, doctors, kernel, setup, wanted):
    """What the doctor says of one width of programs, as often as it was asked."""
    if len(doctors) != wanted:
        row.fail(f'the doctor has examined this width {len(doctors)} times, not {wanted}')
    for said in doctors:
        if not said.get('runs', True):
            row.fail(f'the doctor: {said.get("reason")}')
            continue
        if not layout_fits(said['layout'], kernel.group.series) or said['clock_mode'] != setup.mode:
            row.fail(f'the doctor believes layout {said["layout"]}, clock mode {said["clock_mode"]}')
        served = {clock for clock, how in said['clocks'].items() if how['served_by'] == 'reader'}
        if served != _expected_clocks(setup.mode):
            row.fail(f'the doctor finds that the reader serves {sorted(served)}')
        if not said['library']['active'] or not said['library']['observed']:
            row.fail('the doctor has not seen the library at work')


def _rows_of_width(boot, kernel, setup, runs, label):
    """What the programs of one width say: outside a time namespace, and inside where there were such runs."""
    bits = runs[0].bits
    results = [result for result in boot.results if result['bits'] == bits]
    outside = Row(kernel.release, label)
    _judge_reports(outside, [report for report in boot.reports if report['bits'] == bits], kernel, setup, runs)
    told = [result for result in results if result['namespace'] not in INSIDE]
    _judge_results(outside, told, setup)
    _judge_prices(outside, [price for price in boot.prices if price['bits'] == bits], runs)
    _judge_processes(outside, [told for told in boot.processes if told[0] == bits], runs)
    wanted = sum(run.program in TELLING and run.namespace not in INSIDE for run in runs)
    if (count := sum(result['namespace'] != 'parent' for result in told)) != wanted:
        outside.fail(f'{count} of {wanted} runs outside gave a result')
    made = [outside]
    wanted = [run for run in runs if run.namespace in INSIDE]
    if wanted:
        inside = Row(kernel.release, label + ', namespace', outside.layout, outside.mode)
        found = [result for result in results if result['namespace'] in INSIDE]
        _judge_results(inside, found, setup)
        if len(found) != len(wanted):
            inside.fail(f'{len(found)} of {len(wanted)} runs inside gave a result')
        made.append(inside)
    return made


def rows(boot, kernel, setup, runs, label):
    """The rows of one boot, those of 64-bit programs first."""
    made = {}
    for bits in sorted({run.bits for run in runs}, reverse=True):
        of_width = tuple(run for run in runs if run.bits == bits)
        made[bits] = _rows_of_width(boot, kernel, setup, of_width, label + (', 32-bit' if bits == 32 else ''))
    asked = sum(run.program == 'doctor' for run in runs)
    for bits, rows_of_width in made.items():
        _judge_doctors(rows_of_width[0], [said for said in boot.doctors if said['bits'] == bits], kernel, setup, asked)
    if len(made) == 2 and made[32][0].layout != made[64][0].layout:
        made[32][0].fail(f'layout {made[32][0].layout}, in 64-bit programs {made[64][0].layout}')
    all_rows = [row for rows_of_width in made.values() for row in rows_of_width]
    all_rows[0].seconds = boot.seconds
    _judge_boot(all_rows[0], boot, kernel, setup, runs)
    return all_rows
