"""Over how many devices the values of a Program are spread, by rules like those of XLA's propagation for the common
equations: bytes are those of one device. A value that no rule is known for counts as whole on each device.

A place is a tuple with the set of mesh axes for each dimension."""

import math

from .equations import scan_counts

NOWHERE = frozenset()


def place_of(sharding, ndim):
    """The place that a NamedSharding or its spec says."""
    spec = getattr(sharding, "spec", sharding)
    entries = list(spec or ())[:ndim]
    entries += [None] * (ndim - len(entries))
    return tuple(frozenset(entry if isinstance(entry, tuple) else (entry,)) if isinstance(entry, (str, tuple))
                 else NOWHERE for entry in entries)


def spread(found, sizes):
    """The number of devices that each value is spread over, by its place. `sizes` are those of the mesh's axes."""
    return [_count(place, sizes) for place in found]


def body_places(equation, found):
    """The places of a scan's body's inputs, by those of the equation's inputs."""
    constants, carried = scan_counts(equation.params)
    places = [found[one] if isinstance(one, int) else None for one in equation.inputs]
    first = constants + carried
    return [*places[:first], *(place and place[1:] for place in places[first:])]


def _count(place, sizes):
    axes = set().union(*place) if place else set()
    return math.prod(sizes.get(axis, 1) for axis in axes)


def propagate(program, places):
    """The place of each value, by those of the program's inputs, None where nothing is known."""
    found = [tuple([NOWHERE] * len(getattr(aval, "shape", ()))) for aval in program.avals]
    for value, place in enumerate(places[:program.num_inputs]):
        if place is not None:
            found[value] = place
    for value, aval in enumerate(program.avals[:program.num_given]):
        own = getattr(getattr(aval, "sharding", None), "spec", None)
        if own and any(own):
            found[value] = place_of(own, len(aval.shape))
    for equation in program.equations:
        inputs = [(program.avals[one], found[one]) for one in equation.inputs if isinstance(one, int)]
        for position, output in enumerate(equation.outputs):
            aval = program.avals[output]
            if hasattr(aval, "shape"):
                found[output] = _without_repeats(_place(equation, position, inputs, aval, found, program))
    return found


def _without_repeats(place):
    """A mesh axis divides one dimension at most, the first that has it."""
    seen, kept = set(), []
    for axes in place:
        kept.append(frozenset(axes - seen))
        seen |= axes
    return tuple(kept)


def _place(equation, position, inputs, aval, found, program):
    nowhere = tuple([NOWHERE] * len(aval.shape))
    if not inputs:
        return nowhere
    first_aval, first = inputs[0]
    name, params = equation.name, equation.params
    if name == "sharding_constraint":
        return place_of(params["sharding"], len(aval.shape))
    if name == "dot_general" and len(inputs) == 2:
        return _dot_place(params, inputs)
    if name == "transpose":
        return tuple(first[axis] for axis in params["permutation"])
    if name == "broadcast_in_dim":
        return _broadcast_place(params, first_aval, first, aval)
    if name.startswith(("reduce_", "arg")) and "axes" in params:
        return tuple(axes for axis, axes in enumerate(first) if axis not in params["axes"])
    if name in ("reshape", "squeeze", "expand_dims"):
        return _reshape_place(first_aval.shape, first, aval.shape)
    if name == "gather":
        rest = inputs[-1][1][:-1]
        return (*rest, *nowhere)[:len(aval.shape)]
    if equation.body is not None:
        inner = propagate(equation.body, body_places(equation, found))
        output = equation.body.outputs[position]
        place = inner[output] if isinstance(output, int) else nowhere
        return place if len(place) == len(nowhere) else (NOWHERE, *place)
    same = [place for one, place in inputs if getattr(one, "shape", None) == aval.shape]
    if same:
        return tuple(frozenset().union(*axes) for axes in zip(*same))
    if len(first) == len(nowhere):  # slices, convolutions, windows: the leading dimension is the batch
        return (first[0], *nowhere[1:]) if nowhere and first_aval.shape[:1] == aval.shape[:1] else nowhere
    return nowhere


def _dot_place(params, inputs):
    ((left_contracted, right_contracted), (left_batch, right_batch)) = params["dimension_numbers"]
    (_, left), (_, right) = inputs
    batch = [left[a] | right[b] for a, b in zip(left_batch, right_batch)]
    free = [axes for axis, axes in enumerate(left) if axis not in (*left_contracted, *left_batch)]
    free += [axes for axis, axes in enumerate(right) if axis not in (*right_contracted, *right_batch)]
    return (*batch, *free)


def _broadcast_place(params, was, place, aval):
    made = [NOWHERE] * len(aval.shape)
    for axis, target in enumerate(params["broadcast_dimensions"]):
        if was.shape[axis] == aval.shape[target]:
            made[target] = place[axis]
    return tuple(made)


def _reshape_place(before, place, after):
    """The first dimension of a group that is split or merged has the group's axes."""
    made, i, j = [NOWHERE] * len(after), 0, 0
    while i < len(before) and j < len(after):
        first, left, right = j, before[i], after[j]
        axes = place[i]
        while left != right:
            if left < right:
                i += 1
                if i == len(before):
                    return tuple(made)
                left *= before[i]
            else:
                j += 1
                if j == len(after):
                    return tuple(made)
                right *= after[j]
        made[first] = axes
        i, j = i + 1, j + 1
    return tuple(made)
