"""Reads as much of a module's text as a walk over its instructions needs: computations, shapes as trees, operands
and what is called. It is made for this and shares nothing with the tool, so that neither's faults hide the other's."""

import dataclasses
import re

NAME = r"[\w.\-]+"
INSTRUCTION = re.compile(rf"\s+(ROOT )?%?({NAME}) = ")
OPERAND = re.compile(rf"%({NAME})((?:#\d+)*)")
CALLS = re.compile(rf"\b(calls|to_apply|body|condition|true_computation|false_computation)=%?({NAME})")
BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
OPENING, CLOSING = "([{", ")]}"


@dataclasses.dataclass
class Instruction:
    name: str
    shape: object                    # a list for a tuple; the text for an array
    opcode: str
    operands: list                   # (name, index): %while.3#2 is ("while.3", (2,))
    rest: str                        # what is between the parentheses, and the attributes
    is_root: bool
    line_number: int                 # in the text, from 0

    def called(self, attribute):
        return next((name for key, name in CALLS.findall(self.rest) if key == attribute), None)

    @property
    def branches(self):
        if found := BRANCHES.search(self.rest):
            return [name.strip().lstrip("%") for name in found[1].split(",")]
        return [self.called("true_computation"), self.called("false_computation")]

    @property
    def parameter_number(self):
        return int(self.rest.partition(")")[0].lstrip("("))

    @property
    def custom_call_target(self):
        found = re.search(r'custom_call_target="([^"]*)"', self.rest)
        return found and found[1]


@dataclasses.dataclass
class Computation:
    name: str
    instructions: list
    is_entry: bool

    @property
    def root(self):
        return next((one for one in self.instructions if one.is_root), self.instructions[-1])


@dataclasses.dataclass
class Module:
    header: str
    computations: dict
    entry: Computation

    def output_aliases(self):
        """(output index, parameter number, parameter index) of what the outputs share with parameters."""
        begin = self.header.find("input_output_alias={")
        if begin < 0:
            return []
        begin += len("input_output_alias=")
        part = self.header[begin:end_of_group(self.header, begin)]
        index = r"\{([\d, ]*)\}"
        return [(_index(out), int(number), _index(inner)) for out, number, inner in
                re.findall(rf"{index}: \((\d+), {index}", part)]


def literal_of(constant):
    """What says its value: the element type and dimensions, without the layout, and the literal. Nothing where the
    text leaves the literal out."""
    literal = constant.rest.partition(")")[0]
    if not isinstance(constant.shape, str) or "..." in literal:
        return None
    return constant.shape.partition("{")[0], literal


def _index(text):
    return tuple(int(number) for number in text.replace(" ", "").split(",") if number)


def end_of_group(text, begin):
    """Behind the bracket that closes the one at `begin`; strings are skipped."""
    depth, at = 0, begin
    while at < len(text):
        char = text[at]
        if char == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif char in OPENING:
            depth += 1
        elif char in CLOSING:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError(f"a bracket that is not closed: {text[begin:begin + 80]}")


def read_shape(text, at):
    """(tree, behind it). An array is its text with the layout."""
    if text[at] != "(":
        end = text.index("[", at)
        end = end_of_group(text, end)
        if end < len(text) and text[end] == "{":
            end = end_of_group(text, end)
        return text[at:end], end
    parts, at = [], at + 1
    while text[at] != ")":
        if text[at] in ", ":
            at += 1
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            part, at = read_shape(text, at)
            parts.append(part)
    return parts, at + 1


def token_safe(text):
    """Shapes without brackets get them, so that all are read alike."""
    return re.sub(r"\b(token|opaque)\b(?!\[)", r"\1[]", text)


def indices(shape, prefix=()):
    """All indices of a shape, those of tuples before those of their elements."""
    yield prefix
    if isinstance(shape, list):
        for number, part in enumerate(shape):
            yield from indices(part, prefix + (number,))


def at_index(shape, index):
    for number in index:
        shape = shape[number]
    return shape


def read_instruction(line, line_number):
    found = INSTRUCTION.match(line)
    line = line[:found.end()] + token_safe(line[found.end():]) if "token" in line or "opaque" in line else line
    shape, at = read_shape(line, found.end())
    begin = line.index("(", at)
    end = end_of_group(line, begin)
    inner = line[begin + 1:end - 1]
    opcode = line[at:begin].strip()
    operands = [] if opcode in ("constant", "parameter") else [
        (name, tuple(int(n) for n in path.split("#") if n)) for name, path in OPERAND.findall(inner)]
    return Instruction(found[2], shape, opcode, operands, inner + ")" + line[end:], bool(found[1]),
                       line_number)


def read(text):
    computations, header, entry, current = {}, "", None, None
    for line_number, line in enumerate(text.splitlines()):
        if not header and line.startswith("HloModule"):
            header = line
        elif current is None and line.rstrip().endswith("{") and not line.startswith((" ", "HloModule")):
            is_entry = line.startswith("ENTRY ")
            name = line.removeprefix("ENTRY ").lstrip("%").split(" ")[0].split("(")[0]
            current = computations[name] = Computation(name, [], is_entry)
            entry = current if is_entry else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and INSTRUCTION.match(line):
            current.instructions.append(read_instruction(line, line_number))
    if entry is None:
        raise ValueError("there is no entry computation")
    return Module(header, computations, entry)
