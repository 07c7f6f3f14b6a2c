"""Runs a program with every module that XLA compiles rematerialized:

    python -m remat_hlo --mem-limit=12GiB train.py ARGUMENT...
    python -m remat_hlo --mem-limit=12GiB -m package.train ARGUMENT...

or fits a device profile to measured times:

    python -m remat_hlo calibrate MEASUREMENTS.json -o profile.json

or says whether a program fits a device, which need not be there:

    python -m remat_hlo fit PACKAGE.MODULE:FUNCTION --device=v5e:2x2"""

import dataclasses
import os
import runpy
import sys

from ._options import PREFIX, Options

USAGE = ("usage: python -m remat_hlo --mem-limit=LIMIT [OPTION...] PROGRAM.py|-m MODULE [ARGUMENT...]\n"
         "       python -m remat_hlo calibrate MEASUREMENTS.json [-o PROFILE.json]\n"
         "       python -m remat_hlo fit PACKAGE.MODULE:FUNCTION [--device=DEVICE] [OPTION...]")


def _flag(field):
    return "--" + field.name.replace("_", "-")


def _help():
    lines = [USAGE, "", "Runs the program with every module that XLA compiles rematerialized.", ""]
    for field in dataclasses.fields(Options):
        default = field.default
        shown = f" [{default}]" if default not in (None, (), True, False) else ""
        value = "=0|1" if field.type in (bool, "bool") else "=VALUE"
        lines.append(f"  {_flag(field) + value:28} {field.metadata['help']}{shown}")
    lines += ["", f"Each option may also be in the environment: {PREFIX}MEM_LIMIT and so on.",
              "Expressions and parameters may be given several times."]
    return "\n".join(lines)


def _fail(message):
    print(f"remat_hlo: error: {message}\n{USAGE}", file=sys.stderr)
    sys.exit(2)


def _parse(arguments):
    """(options, what remains: the program and its arguments)"""
    fields = {_flag(field): field for field in dataclasses.fields(Options)}
    given, arguments = {}, list(arguments)
    while arguments and arguments[0].startswith("-") and arguments[0] != "-m":
        word = arguments.pop(0)
        if word in ("-h", "--help"):
            print(_help())
            sys.exit(0)
        if word == "--":
            break
        flag, equals, value = word.partition("=")
        if flag not in fields:
            _fail(f"there is no option '{flag}'; --help has all")
        field = fields[flag]
        if not equals and field.type in (bool, "bool"):
            value = "1"
        elif not equals:
            if not arguments:
                _fail(f"{flag} needs a value")
            value = arguments.pop(0)
        if field.metadata.get("is_list"):
            given.setdefault(field.name, []).append(value)
        else:
            given[field.name] = value
    return given, arguments


def main():
    if sys.argv[1:2] == ["calibrate"]:
        from . import _calibrate
        sys.exit(_calibrate.main(sys.argv[2:]))
    if sys.argv[1:2] == ["fit"]:
        try:
            from ._checkpoints import fit_cli
        except ImportError as error:
            _fail(error)
        sys.exit(fit_cli.main(sys.argv[2:]))
    given, arguments = _parse(sys.argv[1:])
    if not arguments or arguments == ["-m"]:
        _fail("there is no program to run")
    if arguments[0] != "-m" and not os.path.exists(arguments[0]):
        _fail(f"there is no file '{arguments[0]}'")
    try:
        from . import jax
        jax.install(**given)
    except (ImportError, RuntimeError, ValueError) as error:
        _fail(error)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
