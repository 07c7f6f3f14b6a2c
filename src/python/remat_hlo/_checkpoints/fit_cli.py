"""python -m remat_hlo fit PACKAGE.MODULE:FUNCTION --device=v5e:2x2

FUNCTION returns (step, arguments) or (step, arguments, shardings): a step as for remat_hlo.jax.plan, its arguments as
arrays or shapes, and a tree like them, or a part of it, of shardings. With --grow=N it is called with a size, N first, and
the largest that fits is looked for. Exit status: 0 if the program fits, 1 if not, 2 for wrong usage, 3 if the program
fails, 4 if the device's compiler is not installed."""

import argparse
import importlib
import json
import os
import sys
import traceback

from .._files import write_file
from .._refusals import WrongUsage
from .._sizes import parse_size


def main(words):
    parser = argparse.ArgumentParser(prog="python -m remat_hlo fit", allow_abbrev=False,
                                     description="Says whether a program fits a device, which need not be there.")
    parser.add_argument("function", metavar="PACKAGE.MODULE:FUNCTION",
                        help="returns (step, arguments) or (step, arguments, shardings)")
    parser.add_argument("--device", help="v5e:2x2, h100, cpu …; without it, what JAX computes on here")
    parser.add_argument("--mem-limit", metavar="SIZE", help="what may be taken, if not what the device offers")
    parser.add_argument("--grow", metavar="N", type=int, help="FUNCTION takes a size: look for the largest from N on")
    parser.add_argument("--max-compilations", metavar="COUNT", type=int, default=6,
                        help="for what a plan makes of marked functions [6]; 1: no plan")
    parser.add_argument("--json", metavar="FILE", help="writes all of the answer; - is stdout")
    parser.add_argument("--html", metavar="FILE", help="writes what a notebook shows")
    options = parser.parse_args(words)
    if options.grow is not None and options.grow < 1:
        parser.error(f"--grow={options.grow}: the first size is at least 1")
    if options.max_compilations < 1:
        parser.error(f"--max-compilations={options.max_compilations}: the program itself is the first")
    sys.path.insert(0, os.getcwd())
    if options.device:  # whatever it is, nothing is computed on it here: plugins need not look for devices
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from .targets import MissingPlugin, find_target
    try:
        target, limit = find_target(options.device), options.mem_limit and parse_size(options.mem_limit)
        target.need_plugin()
    except MissingPlugin as error:
        print(f"remat_hlo: error: {error}", file=sys.stderr)
        return 4
    except ValueError as error:
        parser.error(str(error))
    function = _find(parser, options.function)
    try:
        answer = _run(function, options, limit)
    except WrongUsage as error:
        parser.error(f"{options.function}: {error}")
    except Exception as error:  # of the program: 1 would say that it does not fit
        traceback.print_exception(error)
        print(f"remat_hlo: error: {options.function} fails, as above", file=sys.stderr)
        return 3
    _write(options, answer)
    return answer.exit_code


def _run(function, options, limit):
    from .fit import fit
    named = {"device": options.device, "mem_limit": limit, "max_compilations": options.max_compilations}
    if options.grow is None:
        step, arguments = _placed(function())
        return fit(step, *arguments, **named)
    step, _ = _placed(function(options.grow))
    return fit(step, args_of=lambda n: _placed(function(n))[1], n=options.grow, **named)


def _find(parser, name):
    module, colon, attribute = name.partition(":")
    if not colon:
        parser.error(f"'{name}' is not PACKAGE.MODULE:FUNCTION")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        return parser.error(f"'{name}' cannot be loaded: {error}")


def _placed(given):
    """(step, arguments with their shardings) of what FUNCTION returns."""
    import jax
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise WrongUsage(f"it returns {type(given).__name__}, not (step, arguments) or (step, arguments, shardings)")
    step, arguments, *shardings = given
    if not callable(step) or not isinstance(arguments, (tuple, list)):
        raise WrongUsage(f"it returns ({type(step).__name__}, {type(arguments).__name__}), not a step and its arguments")
    if not shardings:
        return step, tuple(arguments)

    def place(sharding, part):
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), part)
    return step, tuple(jax.tree.map(place, tuple(shardings[0]), tuple(arguments),
                                    is_leaf=lambda one: isinstance(one, jax.sharding.Sharding)))


def _write(options, answer):
    if options.json == "-":
        print(json.dumps(answer.to_dict(), indent=1))
    else:
        print(answer)
        write_file(options.json, json.dumps(answer.to_dict(), indent=1) + "\n")
    if options.html:
        write_file(options.html, answer._repr_html_())
