"""No decision depends on a function of the C library whose last bit differs from machine to machine: what
is transcendental is called in src/emit alone, which only shows. sqrt() is rounded correctly everywhere
(IEEE 754), and what rounds to whole numbers, or scales by powers of two, is exact. Besides, products and
sums are not contracted. usage: check_math.py SOURCE_DIR"""

import pathlib
import re
import sys

INEXACT = re.compile(r"(?<![\w.>])(pow|exp|exp2|exp10|expm1|log|log2|log10|log1p|logb|cbrt|hypot|sin|cos|tan|asin|"
                     r"acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|lgamma|tgamma|fma)[fl]?\(")
# Comments and texts name operations of HLO and of JavaScript.
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def main():
    root = pathlib.Path(sys.argv[1])
    found, num_files = [], 0
    for path in sorted((root / "src").rglob("*.[ch]")):
        if path.relative_to(root).parts[1] == "emit":
            continue
        num_files += 1
        text = NO_CODE.sub(blank, path.read_text())
        for number, line in enumerate(text.splitlines(), 1):
            if call := INEXACT.search(line):
                found.append(f"{path.relative_to(root)}:{number}: {call[1]}() rounds differently elsewhere; "
                             "analysis/cost/elementary.h has what does not")
    if num_files < 100:
        found.append("hardly any files: nothing was checked")
    if "-ffp-contract=off" not in (root / "CMakeLists.txt").read_text():
        found.append("CMakeLists.txt: -ffp-contract=off is missing")
    if not INEXACT.search("x = exp(y)") or INEXACT.search("steady_exp(y)"):
        found.append("the expression does not find what it is for")
    print("\n".join(found) or "nothing inexact")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
