"""Divides equations into segments: as few bytes as can be on the borders, and no more than a limit of what is kept
without checkpoints within each. A dynamic program over the places where a border is no worse than beside it."""


def divide(analysis, most_bytes, fixed=()):
    """The borders, from 0 to the number of equations. Equations in `fixed` are segments by themselves."""
    count = len(analysis.program.equations)
    places = _places(analysis, sorted(fixed))
    ends = {index: index + 1 for index in fixed}
    makers, last = analysis.program.makers(), analysis.program.last_uses()
    expiring = [[] for _ in range(count + 1)]
    for value, use in enumerate(last):
        if makers[value] >= 0 and use >= 0:
            expiring[use].append(value)
    kept = [0]
    for one in analysis.residual_bytes:
        kept.append(kept[-1] + one)
    best = {0: (0, 0, None)}  # bytes on borders, segments, the border before
    for place, begin in enumerate(places[:-1]):
        if begin not in best:
            continue
        for end, border in _borders(analysis, begin, places[place + 1:], makers, last, expiring):
            if begin in ends and end != ends[begin]:
                break
            if end != places[place + 1] and (kept[end] - kept[begin] > most_bytes or _crosses(begin, end, fixed)):
                break
            new = (best[begin][0] + border, best[begin][1] + 1, begin)
            if end not in best or new < best[end]:
                best[end] = new
    borders = [count]
    while borders[-1]:
        borders.append(best[borders[-1]][2])
    return borders[::-1]


def _crosses(begin, end, fixed):
    return any(begin < index < end for index in fixed) or (begin in fixed and end > begin + 1)


def _places(analysis, fixed):
    """Where a border may be: local minima of what lives across, and around what is fixed."""
    program = analysis.program
    count = len(program.equations)
    last, live, across = program.last_uses(), 0, [0]
    leaving = [0] * (count + 1)
    for index, equation in enumerate(program.equations):
        for output in equation.outputs:
            if last[output] > index:
                live += analysis.bytes[output]
                leaving[last[output]] += analysis.bytes[output]
        live -= leaving[index]
        across.append(live)
    needed = {0, count, *fixed, *(index + 1 for index in fixed)}
    return [place for place in range(count + 1) if place in needed or (
        across[place] <= across[place - 1] and across[place] <= across[min(place + 1, count)])]


def _borders(analysis, begin, ends, makers, last, expiring):
    """(end, bytes made since `begin` that are read after it) for each end."""
    made, position = 0, begin
    equations, bytes_of = analysis.program.equations, analysis.bytes
    for end in ends:
        while position < end:
            made += sum(bytes_of[output] for output in equations[position].outputs if last[output] > position)
            made -= sum(bytes_of[value] for value in expiring[position]
                        if begin <= makers[value] < position)
            position += 1
        yield end, made
