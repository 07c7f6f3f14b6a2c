"""Modules of any size that need memory as training steps do: layers forward, whose activations stay until
the layers come backward."""

import argparse
import sys

LAYER = 9  # values of a layer, forward and backward


class Writer:
    def __init__(self):
        self.lines = []

    def add(self, name, shape, what, scope, line):
        place = f'metadata={{op_name="jit(step)/{scope}" source_file="model.py" source_line={line}}}'
        self.lines.append(f"  {name} = {shape} {what}, {place}")


def layer_width(index):
    """Layers differ in size, so that boxes do."""
    return 256 * (1 + (index * 7) % 5)


def write_forward(out, index, before):
    width = layer_width(index)
    scope = f"jvp(block_{index // 8})/layer_{index}"
    hidden = f"f32[512,{width}]"
    out.add(f"expand.{index}", hidden, f"dot({before}, w.{index}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}", f"{scope}/mlp/dot_general", 20)
    out.add(f"gelu.{index}", hidden, f"tanh(expand.{index})", f"{scope}/mlp/gelu", 21)
    out.add(f"shrink.{index}", "f32[512,256]",
            f"dot(gelu.{index}, w.{index}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}",
            f"{scope}/mlp/dot_general", 22)
    out.add(f"norm.{index}", "f32[512,256]", f"add(shrink.{index}, {before})", f"{scope}/norm/add", 31)
    return f"norm.{index}"


def write_backward(out, index, before, gradient):
    width = layer_width(index)
    scope = f"transpose(jvp(block_{index // 8}))/layer_{index}"
    hidden = f"f32[512,{width}]"
    out.add(f"dgelu.{index}", hidden, f"dot({gradient}, w.{index}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}", f"{scope}/mlp/dot_general", 22)
    out.add(f"slope.{index}", hidden, f"multiply(gelu.{index}, dgelu.{index})", f"{scope}/mlp/mul", 21)
    out.add(f"dexpand.{index}", hidden, f"subtract(slope.{index}, gelu.{index})", f"{scope}/mlp/sub", 21)
    out.add(f"dw.{index}", f"f32[256,{width}]", f"dot({before}, dexpand.{index}), lhs_contracting_dims={{0}}, "
            "rhs_contracting_dims={0}", f"{scope}/mlp/dot_general", 20)
    out.add(f"dnorm.{index}", "f32[512,256]", f"dot(dexpand.{index}, w.{index}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={1}", f"{scope}/mlp/dot_general", 20)
    return f"dnorm.{index}"


def training_step(num_values):
    num_layers = max(1, num_values // (LAYER + 1))
    out = Writer()
    out.lines.append("  x = f32[512,256] parameter(0)")
    for i in range(num_layers):
        out.lines.append(f"  w.{i} = f32[256,{layer_width(i)}] parameter({i + 1})")
    inputs = ["x"]
    for i in range(num_layers):
        inputs.append(write_forward(out, i, inputs[-1]))
    gradient = inputs[-1]
    for i in reversed(range(num_layers)):
        gradient = write_backward(out, i, inputs[i], gradient)
    shapes = ", ".join(f"f32[256,{layer_width(i)}]" for i in range(num_layers))
    names = ", ".join(f"dw.{i}" for i in range(num_layers))
    out.lines.append(f"  ROOT gradients = ({shapes}) tuple({names})")
    body = "\n".join(out.lines)
    return f"HloModule jit_step_{num_values}, is_scheduled=true\n\nENTRY main {{\n{body}\n}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("values", type=int, help="how many, about")
    sys.stdout.write(training_step(parser.parse_args().values))


if __name__ == "__main__":
    main()
