#!/usr/bin/env python3
"""Compares plans with checkpoints that people write, on TPUs and GPUs that are not there: jax.checkpoint around each
block or scan body, with JAX's policies. A plan is as low as the lowest of them, and meets the bytes of each in no more
time, by the model, or by XLA:TPU's estimated cycles with --whole, for which code is generated.
With --large, programs of tests/python/large_programs.py that do not fit on v5e have to fit with a plan instead.
usage: check_plans.py [--targets=v5e] [--only=EXPRESSION] [--whole] [--budgets=70,50] | --large=NAMES [--compilations=6];
needs JAX, its plugins and the package. Prints a table; ends with 1 if a plan is worse."""

import argparse
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import plan_programs

import remat_hlo.jax as live
from remat_hlo._checkpoints import compiling
from remat_hlo._checkpoints.targets import find_target

POLICIES = {"nothing": None, "dots": jax.checkpoint_policies.dots_saveable,
            "dots without batch": jax.checkpoint_policies.dots_with_no_batch_dims_saveable}
LOOPS = ("llama", "fsdp")     # whose blocks are the bodies of scans
MOST_MORE_TIME = 0.005        # that a modelled time may be off by: fusions differ by next to nothing


def by_hand(name, policy):
    """The program with jax.checkpoint around each block."""
    return plan_programs.PROGRAMS[name](
        lambda loss: loss,
        lambda block: jax.checkpoint(block, policy=POLICIES[policy], prevent_cse=name not in LOOPS))


def time_of(measured):
    found = measured if isinstance(measured, dict) else measured.to_dict()
    return found["cycles"] or found["seconds"]


class Comparison:
    """One program on one target."""

    def __init__(self, name, target, is_whole):
        self.name, self.target, self.is_whole = name, target, is_whole
        self.step, self.arguments = plan_programs.PROGRAMS[name](live.checkpoint, lambda block: block)
        self.faults = []

    def show(self, what, total_bytes, time, temp_bytes):
        print(f"{self.name:8} {self.target:8} {what:28} {total_bytes / 2**20:9,.0f} {temp_bytes / 2**20:9,.0f} {time:12.6g}",
              flush=True)

    def measure(self, step, arguments, chooser=None):
        return compiling.measure(step, arguments, {}, find_target(self.target), chooser, is_whole=self.is_whole)

    def plan(self, limit, what):
        """A plan for a limit: (bytes, time)."""
        made = live.plan(self.step, *self.arguments, mem_limit=limit, device=self.target)
        after = made.after
        if self.is_whole:
            after = self.measure(self.step, self.arguments, made).to_dict()
        self.show(f"plan, {what}", after["total_bytes"], time_of(after), after["temp_bytes"])
        return made, after["total_bytes"], time_of(after)

    def run(self, budgets):
        plain = self.measure(self.step, self.arguments)
        self.show("as it is", plain.total_bytes, time_of(plain), plain.temp_bytes)
        lowest = None
        for policy in POLICIES:
            hand = self.measure(*by_hand(self.name, policy))
            self.show(f"by hand, {policy}", hand.total_bytes, time_of(hand), hand.temp_bytes)
            lowest = hand if lowest is None or hand.total_bytes < lowest.total_bytes else lowest
        made, size, time = self.plan(lowest.total_bytes, "as low as by hand")
        if size > lowest.total_bytes:
            self.faults.append(f"{size:,} bytes, by hand {lowest.total_bytes:,}")
        elif time > time_of(lowest) * (1 + MOST_MORE_TIME):
            self.faults.append(f"time {time:.6g}, by hand {time_of(lowest):.6g}")
        for budget in budgets:
            between = size + (plain.total_bytes - size) * budget // 100
            made, _, _ = self.plan(between, f"{budget} % between")
            if not made.is_met:
                self.faults.append(f"{budget} % between is not met")
        return self.faults


def large(name, most):
    """Whether a program that does not fit on v5e fits with a plan."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    import large_programs
    loss, shapes, batch = large_programs.PROGRAMS[name]()
    params = jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32), shapes,
                          is_leaf=large_programs._is_shape)

    def step(params, batch):
        value, slopes = jax.value_and_grad(live.checkpoint(loss))(params, batch)
        return value, jax.tree.map(lambda p, g: p - 0.01 * g, params, slopes)
    made = live.plan(jax.jit(step, donate_argnums=0), params, batch, mem_limit="auto", device="v5e", max_compilations=most)
    for one in made.measured:
        said = f"{one['total_bytes'] / 2**30:.2f} GiB" if one["total_bytes"] is not None else "no figure"
        print(f"{name}: {one['level']}: {said}, {one['seconds']} s{', refused' if one['error'] else ''}", flush=True)
    return made.is_met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", default="")
    parser.add_argument("--compilations", type=int, default=6)
    parser.add_argument("--targets", default="v5e")
    parser.add_argument("--only", default="")
    parser.add_argument("--budgets", default="50")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    if options.large:
        return int(not all([large(name, options.compilations) for name in options.large.split(",")]))
    print(f"{'program':8} {'target':8} {'':28} {'MiB':>9} {'temp':>9} {'time':>12}")
    faults = {}
    for target in options.targets.split(","):
        for name in plan_programs.PROGRAMS:
            if re.search(options.only, name):
                found = Comparison(name, target, options.whole).run([int(one) for one in options.budgets.split(",") if one])
                faults.update({f"{name} on {target}": found} if found else {})
    for what, found in faults.items():
        print(f"{what}: {'; '.join(found)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
