"""Divides equations into segments: as few bytes as can be on the borders, and no more than a limit of what is kept
without checkpoints within each. A dynamic program over the places where a border is no worse than beside it."""


class Lifetimes:
    """What dividing a program's equations has to know of its values, whatever the limit."""

    def __init__(self, analysis):
        program = analysis.program
        count = len(program.equations)
        self.makers, self.last = program.makers(), program.last_uses()
        self.expiring = [[] for _ in range(count + 1)]
        for value, use in enumerate(self.last):
            if self.makers[value] >= 0 and use >= 0:
                self.expiring[use].append(value)
        self.kept = [0]
        for one in analysis.residual_bytes:
            self.kept.append(self.kept[-1] + one)
        self.places = _places(analysis, self.last)


def divide(analysis, most_bytes, fixed=(), whole=None):
    """The borders within `whole`, which is (begin, end), or all equations. Equations in `fixed` are segments by
    themselves."""
    known = analysis.lifetimes
    first, past = whole or (0, len(analysis.program.equations))
    needed = {first, past, *fixed, *(index + 1 for index in fixed)}
    places = sorted({*needed, *(place for place in known.places if first < place < past)})
    ends = {index: index + 1 for index in fixed}
    kept = known.kept
    best = {first: (0, 0, None)}  # bytes on borders, segments, the border before
    for place, begin in enumerate(places[:-1]):
        if begin not in best:
            continue
        for end, border in _borders(analysis, begin, places[place + 1:], known):
            if begin in ends and end != ends[begin]:
                break
            if end != places[place + 1] and (kept[end] - kept[begin] > most_bytes or _crosses(begin, end, fixed)):
                break
            new = (best[begin][0] + border, best[begin][1] + 1, begin)
            if end not in best or new < best[end]:
                best[end] = new
    borders = [past]
    while borders[-1] != first:
        borders.append(best[borders[-1]][2])
    return borders[::-1]


def _crosses(begin, end, fixed):
    return any(begin < index < end for index in fixed) or (begin in fixed and end > begin + 1)


def _places(analysis, last):
    """Where a border may be: local minima of what lives across."""
    program = analysis.program
    count = len(program.equations)
    live, across = 0, [0]
    leaving = [0] * (count + 1)
    for index, equation in enumerate(program.equations):
        for output in equation.outputs:
            if last[output] > index:
                live += analysis.bytes[output]
                leaving[last[output]] += analysis.bytes[output]
        live -= leaving[index]
        across.append(live)
    return [place for place in range(count + 1)
            if across[place] <= across[place - 1] and across[place] <= across[min(place + 1, count)]]


def _borders(analysis, begin, ends, known):
    """(end, bytes made since `begin` that are read after it) for each end."""
    made, position = 0, begin
    equations, bytes_of = analysis.program.equations, analysis.bytes
    for end in ends:
        while position < end:
            made += sum(bytes_of[output] for output in equations[position].outputs if known.last[output] > position)
            made -= sum(bytes_of[value] for value in known.expiring[position]
                        if begin <= known.makers[value] < position)
            position += 1
        yield end, made
