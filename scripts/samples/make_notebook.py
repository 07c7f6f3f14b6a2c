"""Writes man/notebook.ipynb: the cells below, with what they show. A test runs this and compares.

usage: REMAT_HLO_LIBRARY=build/release/libremat_hlo.so python3 scripts/samples/make_notebook.py FILE"""

import ast
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
if "REMAT_HLO_LIBRARY" in os.environ:
    sys.path.insert(0, str(ROOT / "src/python"))
    os.environ.setdefault("REMAT_HLO_PROFILE_DIR", str(ROOT / "share/remat-hlo/profiles"))
MOST_HTML = 20_000  # larger ones, which have pictures, are left to those who run it

CELLS = """\
# Rematerialization in a notebook

Run it in a checkout, after `pip install .`. The modules are dumps in `hlo_samples`; yours come from
`remat_hlo.load(jax.jit(f).lower(...).compile())` or from a dump file.
---
import remat_hlo
module = remat_hlo.load("../hlo_samples/unet_donated.after_optimizations.hlo", device="cpu")
module
---
Where the memory goes at the peak:
---
module.report()
---
What each algorithm makes of budgets, in parts of what can be reduced:
---
module.compare(["r70%", "r50%", "r30%"], algorithms=["path", "search"])
---
One of them. The result shows memory over time, before and after:
---
result = module.remat("r50%", algorithm="search")
result
---
print(result.is_met, result.num_rematerialized, result.memory_before.temp_bytes, "->", result.memory_after.temp_bytes)
---
It computes the same, which `remat` has proven already. This does it again, on the two texts:
---
module.verify(remat_hlo.load(result.text()))
---
Within JAX's compilation the same takes two lines (see python.md):

    import remat_hlo.jax
    remat_hlo.jax.install(mem_limit="r50%")
"""


def run(source, names):
    """Runs a cell. Returns what a notebook shows of it."""
    tree, outputs, printed = ast.parse(source), [], []
    names["print"] = lambda *words: printed.append(" ".join(map(str, words)) + "\n")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    if printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
        if 0 < len(html) < MOST_HTML:
            data["text/html"] = html.splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {},
                        "data": data})
    return outputs


def notebook():
    os.chdir(ROOT / "man")
    cells, names = [], {}
    for number, source in enumerate(CELLS.split("---\n")):
        source = source.rstrip("\n")
        cell = {"id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
        if source.startswith(("import ", "module", "result", "print")):
            cell.update(cell_type="code", execution_count=None, outputs=run(source, names))
        else:
            cell.update(cell_type="markdown")
        cells.append(cell)
    return {"cells": cells, "metadata": {"kernelspec": {
        "display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4,
            "nbformat_minor": 5}


if __name__ == "__main__":
    file = pathlib.Path(sys.argv[1]).resolve()
    file.write_text(json.dumps(notebook(), indent=1, sort_keys=True) + "\n")
