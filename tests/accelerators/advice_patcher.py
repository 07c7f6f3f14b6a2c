"""Changes a program's source as the structured advice of `remat-hlo advise --json` says, and knows nothing else of it:
a function, method or class gets the decorator that the advice's code is, the step of a loop becomes a function with it, a
scan gets the checkpoint around its body, an argument is donated, a function of rows is computed in pieces, a loop's steps
are computed one after the other."""

import ast
import functools
import importlib.util
import inspect
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name  # noqa: F401, for what is patched

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("programs", "advice_programs", "advice_networks", "advice_steps",
         "advice_applications", "advice_loops")  # a file may import those before it
SCANS = ("checkpoint-scan", "nested-scan")


class CannotApply(Exception):
    """What the advice is about is not in the program's source, or this patcher knows no such change."""


# ---- the source ----

def _functions(tree):
    """(qualified name as in Python's code objects, node) of each function and class."""
    def walk(node, before):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = before + child.name
                yield name, child
                yield from walk(child, name + ("." if isinstance(child, ast.ClassDef) else ".<locals>."))
            else:
                yield from walk(child, before)
    yield from walk(tree, "")


def _named(tree, name, is_class=False):
    """The function of a qualified name, or, for a class, of the last part of it."""
    for found, node in _functions(tree):
        is_meant = node.name == name and isinstance(node, ast.ClassDef) if is_class else found == name
        if is_meant:
            return node
    raise CannotApply(f"there is no {name}")


def _defining(trees, tree, name):
    """The tree with a function that this one defines or imports, by its qualified name."""
    first = name.partition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in trees and first in [alias.name for alias in node.names]:
            return trees[node.module]
    return tree


def _around(tree, line):
    """The innermost function that has a line."""
    found = [node for _, node in _functions(tree)
             if isinstance(node, ast.FunctionDef) and node.lineno <= line <= node.end_lineno]
    if not found:
        raise CannotApply(f"no function has line {line}")
    return max(found, key=lambda node: node.lineno)


def _decorate(node, decorator):
    """Puts a call of this module's `decorator` before a function: where it is applied first."""
    node.decorator_list.append(ast.copy_location(ast.parse(decorator, mode="eval").body, node))
    ast.fix_missing_locations(node)


class _Naming(ast.NodeTransformer):
    """Gives names to the products of lines."""

    def __init__(self, names):
        self.names = names

    def _call(self, node, is_product):
        self.generic_visit(node)
        if not is_product or node.lineno not in self.names:
            return node
        name = ast.Constant(self.names[node.lineno])
        function = ast.parse("__patcher__.checkpoint_name", mode="eval").body
        return ast.copy_location(ast.Call(function, [node, name], []), node)

    def visit_BinOp(self, node):
        return self._call(node, isinstance(node.op, ast.MatMult))

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return self._call(node, name in ("einsum", "dot", "matmul", "dot_general", "tensordot"))


class _Without(ast.NodeTransformer):
    """Takes the program's own checkpoints away, or has something else in their place."""

    def __init__(self, instead="no_checkpoint"):
        self.instead = instead

    def visit_Attribute(self, node):
        if ast.unparse(node) == "jax.checkpoint":
            return ast.copy_location(ast.parse(f"__patcher__.{self.instead}", mode="eval").body, node)
        return self.generic_visit(node)


def _loop_around(function, remedy):
    """The innermost loop of a function that has the lines of a step in its body; None if there is none."""
    first, last, found = remedy.get("first_line"), remedy.get("last_line"), None
    for node in ast.walk(function) if first else ():
        if isinstance(node, ast.For) and node.body[0].lineno <= first and last <= node.body[-1].end_lineno:
            found = node if found is None or node.lineno >= found.lineno else found
    return found


def _names(nodes, context):
    return [node.id for root in nodes for node in ast.walk(root)
            if isinstance(node, ast.Name) and isinstance(node.ctx, context)]


def _read_first(body, assigned):
    """Those names that the statements read before they have a value."""
    read, known = set(), set()
    for statement in body:
        read.update(name for name in _names([statement], ast.Load) if name not in known)
        if isinstance(statement, ast.AugAssign):
            read.update(name for name in _names([statement.target], ast.Store) if name not in known)
        known.update(_names([statement], ast.Store))
    return sorted(read & assigned)


class _Replacing(ast.NodeTransformer):
    """Puts statements in the place of one."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit_For(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def _make_step(function, loop, decorator):
    """The body of a loop becomes a function, which reads what else it needs from the one that it is in."""
    if any(isinstance(node, (ast.Return, ast.Break, ast.Continue)) for one in loop.body for node in ast.walk(one)):
        raise CannotApply("the loop is left in its step")
    if any(getattr(node, "attr", "") in ("append", "extend") for one in loop.body for node in ast.walk(one)):
        raise CannotApply("the step adds to a list")
    assigned = set(_names(loop.body, ast.Store))
    given = _read_first(loop.body, assigned)
    inside = {id(node) for one in loop.body for node in ast.walk(one)}
    used = {node.id for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside}
    results = "".join(f"{name}, " for name in sorted(assigned & (used | set(given))))
    step, call = ast.parse(f"@{decorator}\ndef step_{loop.lineno}({', '.join(given)}):\n    return ({results})\n"
                           f"({results}) = step_{loop.lineno}({', '.join(given)})").body
    step.body[:0] = loop.body
    for new in (step, call):
        for node in ast.walk(new):
            ast.copy_location(node, loop) if not hasattr(node, "lineno") or id(node) not in inside else None
    made = ast.copy_location(ast.For(loop.target, loop.iter, [call], loop.orelse), loop)
    _Replacing(loop, [step, made]).visit(function)
    ast.fix_missing_locations(function)


def _checkpoint_scope(tree, remedy, trees):
    """What the code of the advice says: its callable, around what it names, with its keywords."""
    if "in place of the one whose" in remedy["code"] and remedy["every"] > 1:
        _Without(f"at_some({remedy['every']}, {remedy['function'].rpartition('.')[2]!r})").visit(tree)
        return ast.fix_missing_locations(tree)
    if "in place of" in remedy["code"]:
        _Without().visit(tree)
    names = {int(line): name for name, line in
             re.findall(r'checkpoint_name\(x, "(\w+)"\)  # x: the product of .*:(\d+)', remedy["code"])}
    if names and not remedy["function"]:
        raise CannotApply("a scope alone is no function, whose lines could be named")
    if names:
        defining = _defining(trees, tree, remedy["function"])
        _Naming(names).visit(defining)
        ast.fix_missing_locations(defining)
    call = ast.parse(remedy["code"].replace("…", "...").split("\n")[-1]).body[0].value
    if remedy.get("is_step"):
        call = call.func  # of what is applied to the loop's variables
    wrap = ast.unparse(call.func)
    keywords = "".join(f", {ast.unparse(keyword)}" for keyword in call.keywords)
    argument = ast.unparse(call.args[0])
    if wrap == "nn.remat":
        return _decorate(_named(tree, argument, is_class=True), f"__patcher__.of_class({wrap!r}{keywords})")
    if not remedy["function"]:
        raise CannotApply("a scope alone is no function")
    node = _named(_defining(trees, tree, remedy["function"]), remedy["function"])
    decorator = f"__patcher__.of_function({wrap!r}, {remedy['every']}{keywords})"
    loop = _loop_around(node, remedy)
    if loop is None and remedy.get("is_step"):
        raise CannotApply(f"{remedy['function']} has no such loop")
    return _make_step(node, loop, decorator) if loop else _decorate(node, decorator)


def _chunk(tree, remedy, _):
    _decorate(_around(tree, remedy["source_line"]), f"__patcher__.in_pieces({remedy['num_chunks']})")


def _in_turn(tree, remedy, _):
    """Before each step of the innermost loop of Python around the line, the arrays that it reads wait for what the steps
    before it have made."""
    line = remedy["source_line"]
    function = _around(tree, line)
    loops = [node for node in ast.walk(function)
             if isinstance(node, ast.For) and node.body[0].lineno <= line <= node.end_lineno]
    if not loops:
        raise CannotApply(f"no loop has line {line}")
    loop = max(loops, key=lambda node: node.lineno)
    inside = {id(node) for one in loop.body for node in ast.walk(one)}
    before = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and id(node) not in inside
              and isinstance(node.ctx, ast.Store) and node.lineno <= loop.lineno}
    before |= {one.arg for one in function.args.args}
    read = set(_names(loop.body, ast.Load)) & before
    made = sorted(read & {*_names(loop.body, ast.Store), *_appended(loop)})
    given = sorted(read - set(made))
    names = "".join(f"{name}, " for name in given + made)
    first = ast.parse(f"({names}) = __patcher__.wait_for_all(({names}), {len(given)})").body[0]
    for node in ast.walk(first):
        ast.copy_location(node, loop.body[0])
    loop.body.insert(0, first)
    ast.fix_missing_locations(function)


def _appended(loop):
    return [node.func.value.id for one in loop.body for node in ast.walk(one)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append"
            and isinstance(node.func.value, ast.Name)]


_IN_SOURCE = {"in-turn": _in_turn, "checkpoint-scope": _checkpoint_scope, "chunk": _chunk, "chunk-loss": _chunk}


def load(remedies):
    """Modules of programs, changed, in the place of those that are imported: {name: function that makes a program}."""
    made, trees = {}, {name: ast.parse((HERE / f"{name}.py").read_text()) for name in FILES}
    for remedy in remedies:
        name = pathlib.Path(remedy["source_file"] or "").stem
        if name in trees and remedy["kind"] in _IN_SOURCE:
            _IN_SOURCE[remedy["kind"]](trees[name], remedy, trees)
    for name, tree in trees.items():
        path = HERE / f"{name}.py"
        module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path))
        sys.modules[name] = module
        module.__patcher__ = sys.modules[__name__]
        exec(compile(tree, str(path), "exec"), vars(module))
        made.update(module.PROGRAMS)
        made.update(getattr(module, "NOTHING", {}))
    for remedy in remedies:
        if remedy["kind"] in SCANS:
            jax.lax.scan = _patched_scan(remedy, jax.lax.scan)
        elif remedy["kind"] not in (*_IN_SOURCE, "donate"):
            raise CannotApply(f"nothing applies {remedy['kind']}")
    return made


# ---- what decorators do ----

def no_checkpoint(function, **_):
    return function


def at_some(every, name):
    """In place of jax.checkpoint around a function of this name: it keeps nothing at every so-manieth call."""
    def checkpoint(function, **named):
        if getattr(function, "__name__", "") != name:
            raise CannotApply(f"the checkpoint that is there is not around {name}")
        calls, kept, other = iter(range(1 << 30)), jax.checkpoint(function, **named), jax.checkpoint(function)
        return lambda *arguments: (other if next(calls) % every == 0 else kept)(*arguments)
    return checkpoint


def _library(wrap):
    """jax.checkpoint, nn.remat, nnx.remat, eqx.filter_checkpoint, hk.remat."""
    owner, _, name = wrap.rpartition(".")
    modules = {"jax": "jax", "nn": "flax.linen", "nnx": "flax.nnx", "eqx": "equinox", "hk": "haiku"}
    return getattr(importlib.import_module(modules[owner]), name)


def of_class(wrap, **keywords):
    return lambda owner: _library(wrap)(owner, **keywords)


def of_function(wrap, every, **keywords):
    """At every so-manieth call. A function may take what is no array: it is not traced."""
    checkpoint, calls = _library(wrap), iter(range(1 << 30))

    def decorate(function):
        if wrap == "nnx.remat":
            inner = checkpoint(function, **keywords)
        else:
            def inner(*arguments, **named):
                places = [i for i, one in enumerate(arguments) if _is_traced(one)]

                def call(*traced):
                    given = list(arguments)
                    for place, one in zip(places, traced):
                        given[place] = one
                    return function(*given, **named)
                return checkpoint(call, **keywords)(*(arguments[i] for i in places))

        @functools.wraps(function)
        def outer(*arguments, **named):
            return (inner if next(calls) % every == 0 else function)(*arguments, **named)
        return outer
    return decorate


def _is_traced(tree):
    leaves = jax.tree.leaves(tree)
    return bool(leaves) and all(isinstance(leaf, jax.Array) for leaf in leaves)


def wait_for_all(values, num_given):
    """The same values, of which no array among those given is used before the others are there. Trees that are given are
    weights, which need not wait."""
    waits = [number >= num_given or isinstance(value, jax.Array) for number, value in enumerate(values)]
    arrays = [leaf for value, is_waiting in zip(values, waits) if is_waiting
              for leaf in jax.tree.leaves(value) if isinstance(leaf, jax.Array)]
    behind = iter(jax.lax.optimization_barrier(arrays))

    def replaced(value):
        return jax.tree.map(lambda leaf: next(behind) if isinstance(leaf, jax.Array) else leaf, value)
    return tuple(replaced(value) if is_waiting else value for value, is_waiting in zip(values, waits))


def in_pieces(count):
    """Rows of the first argument that is an array in pieces. Others are cut as well if their first dimension is that of a
    batch, which three dimensions and more have, or if they have a number, or labels, for each row. Numbers are means."""
    def decorate(plain):
        @functools.wraps(plain)
        def pieces(*arguments):
            first = next((i for i, a in enumerate(arguments) if getattr(a, "ndim", 0)), None)
            if first is None:
                raise CannotApply("only functions of rows are computed in pieces")
            rows = arguments[first].shape[0]
            if rows % count:
                raise CannotApply(f"{rows} rows are not divided by {count}")
            is_cut = [i == first or (getattr(a, "ndim", 0) and a.shape[0] == rows and
                                     (a.ndim != 2 or jnp.issubdtype(a.dtype, jnp.integer)))
                      for i, a in enumerate(arguments)]
            cut = [a.reshape(count, rows // count, *a.shape[1:]) for a, c in zip(arguments, is_cut) if c]

            def piece(parts):
                parts = iter(parts)
                return plain(*(next(parts) if c else a for a, c in zip(arguments, is_cut)))
            results = jax.lax.map(jax.checkpoint(piece), cut)
            return jnp.mean(results) if results.ndim == 1 else results.reshape(rows, *results.shape[2:])
        return pieces
    return decorate


# ---- scans ----

def _is_called_from(remedy):
    """Whether the program's line is on the stack: libraries may call the scan for it."""
    frame = sys._getframe(2)
    file, line = pathlib.Path(remedy["source_file"] or "").name, remedy["source_line"]
    while frame:
        if frame.f_lineno == line and pathlib.Path(frame.f_code.co_filename).name == file:
            return True
        frame = frame.f_back
    return False


def _patched_scan(remedy, plain):
    policy = remedy["policy"] and getattr(jax.checkpoint_policies, remedy["policy"])

    def scan(body, carry, xs=None, length=None, reverse=False, unroll=1, **named):
        named.update(reverse=reverse, unroll=unroll)
        if not _is_called_from(remedy):
            return plain(body, carry, xs, length, **named)
        wrapped = jax.checkpoint(body, policy=policy)
        if remedy["kind"] == "checkpoint-scan":
            return plain(wrapped, carry, xs, length, **named)
        inner, trips = remedy["segment"], remedy["num_instances"]
        if any(leaf.shape[0] != trips for leaf in jax.tree.leaves(xs)):
            raise CannotApply(f"the scan has not the {trips} iterations of the loop: a library has peeled some")
        split = jax.tree.map(lambda x: x.reshape(trips // inner, inner, *x.shape[1:]), xs)
        segment = jax.checkpoint(lambda c, x: plain(wrapped, c, x, None if jax.tree.leaves(x) else inner, **named))
        carry, ys = plain(segment, carry, split, None if jax.tree.leaves(xs) else trips // inner)
        return carry, jax.tree.map(lambda y: y.reshape(trips, *y.shape[2:]), ys)
    return scan


# ---- arguments ----

def donated(program, remedies):
    """The arguments that a program donates then."""
    names = list(inspect.signature(program.function).parameters)
    more = [names.index(name) for remedy in remedies if remedy["kind"] == "donate"
            for name in remedy["argument"].split(",")]
    return tuple(sorted({*program.donated, *more}))
