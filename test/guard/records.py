"""The recorded instruction counts: a table of rows (what is counted) and columns (order and clock mode).

Depends on nothing but the table's form, which the table's own head explains.
"""
ORDERS = ("lfence", "rdtscp", "unordered")
MODES = ("tsc", "pvclock", "hvclock")
COLUMNS = [(order, mode) for order in ORDERS for mode in MODES]


class Records:
    def __init__(self, path):
        self.rows, self.compiler, self.allowance = {}, None, None
        with open(path, encoding="utf-8") as table:
            for line in table:
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[0] == "compiler":
                    self.compiler = " ".join(words[1:])
                elif words[0] == "allowance":
                    self.allowance = int(words[1])
                else:
                    *row, = words[:-len(COLUMNS)]
                    assert len(row) == 2, f"{path}: {line}"
                    self.rows[tuple(row)] = dict(zip(COLUMNS, map(int, words[-len(COLUMNS):])))
        assert self.compiler and self.allowance is not None, f"{path}: no compiler or no allowance"

    def judge(self, kind, counted):
        """counted: (row, column) -> {where: count}. What has grown and what has shrunk, one line for each row of the table."""
        longer, shorter, complaints = {}, {}, []
        for (row, column), places in counted.items():
            recorded = self.rows.get((kind, row), {}).get(column)
            most = max(places.values())
            told = f"{'/'.join(column)} {recorded} -> {most}"
            if recorded is None:
                complaints.append(f"{kind} {row} {'/'.join(column)}: nothing is recorded")
            elif most > recorded + self.allowance:
                where = [place for place, count in places.items() if count > recorded + self.allowance]
                longer.setdefault(row, []).append(told + (f" ({', '.join(where)})" if len(where) < len(places) else ""))
            elif most < recorded:
                shorter.setdefault(row, []).append(told)
        complaints += [f"{kind} {row} has grown, allowed {self.allowance}: {', '.join(told)}" for row, told in longer.items()]
        complaints += [f"{kind} {row}: recorded, but no longer counted" for kind_of_row, row in self.rows
                       if kind_of_row == kind and not any(seen == row for seen, _ in counted)]
        return complaints, [f"{kind} {row} has shrunk: {', '.join(told)}" for row, told in shorter.items()]


def printed(kind, counted):
    """The rows of the table, as it wants them."""
    for row in dict.fromkeys(row for row, _ in counted):
        numbers = (max(counted.get((row, column), {"": 0}).values()) for column in COLUMNS)
        yield f"{kind:<5} {row:<24}" + "".join(f"{number:>8}" for number in numbers)
