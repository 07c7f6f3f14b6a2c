"""A Fit for terminals and notebooks."""

import html

from .. import _show
from .._sizes import format_bytes, format_percent

WORDS = {True: "fits", False: "does not fit", None: "compiles; nothing says what the device offers"}


def text_of(fit):
    lines = [_verdict(fit), f"  {_parts(fit)}"]
    if fit.measured.error:
        lines.append(f"  the compiler: {fit.measured.error.splitlines()[0][:300]}")
    if fit.peak:
        lines += ["", f"{_peak_title(fit)}:", _indented(_show.table_text(("", "bytes"), _peak_rows(fit)))]
    if fit.curve:
        lines += ["", "less memory, and what it costs:",
                  _indented(_show.table_text(("by", "in all", "modelled time"), _curve_rows(fit)))]
    if fit.plan is not None:
        lines += ["", _plan(fit)]
    if fit.sizes:
        lines += ["", _growth(fit), _indented(_show.table_text(("n", "in all", ""), _size_rows(fit)))]
    if advice := _advice(fit):
        lines += ["", "what to change in the program:", _indented(advice)]
    return "\n".join(lines)


def html_of(fit):
    parts = [f"<p><b>{html.escape(_verdict(fit))}</b><br>{html.escape(_parts(fit))}</p>", _bar(fit)]
    if fit.measured.error:
        parts.append(f"<p>the compiler: {html.escape(fit.measured.error.splitlines()[0][:300])}</p>")
    for title, head, rows in ((_peak_title(fit), ("", "bytes"), _peak_rows(fit)),
                              ("less memory, and what it costs", ("by", "in all", "modelled time"), _curve_rows(fit)),
                              (_growth(fit), ("n", "in all", ""), _size_rows(fit))):
        if rows:
            parts.append(f"<p>{html.escape(title)}</p>" + _show.table_html(head, rows))
    if fit.plan is not None:
        parts.append(f"<p>{html.escape(_plan(fit))}</p>")
    if advice := _advice(fit):
        parts.append(f"<p>what to change in the program</p><pre>{html.escape(advice)}</pre>")
    return "".join(parts)


def _verdict(fit):
    words = f"{fit.name} on {fit.target.name}: {WORDS[fit.is_fitting]}"
    if fit.total_bytes is None:
        return words
    words += f": {format_bytes(fit.total_bytes)} in all"
    if fit.offered_bytes is None:
        return words
    if fit.is_fitting:
        return f"{words} of {format_bytes(fit.offered_bytes)} that there are"
    more = f", {format_bytes(fit.missing_bytes)} more than" if fit.missing_bytes > 0 else "; there are"
    return f"{words}{more} {format_bytes(fit.offered_bytes)}{' that there are' if fit.missing_bytes > 0 else ''}"


def _parts(fit):
    found = fit.measured
    if found.temp_bytes is None:
        return "the compiler does not say of what"
    return (f"arguments {format_bytes(found.argument_bytes)}, outputs {format_bytes(found.output_bytes)} "
            f"({format_bytes(found.alias_bytes)} of them in donated arguments), temporaries {format_bytes(found.temp_bytes)}")


def _plan(fit):
    """What makes it fit, or what comes nearest to that."""
    total = fit.plan.after["total_bytes"]
    size = "" if total is None else f", {format_bytes(total)}"
    if total is not None and fit.offered_bytes is not None and total > fit.offered_bytes:
        size += f", {format_bytes(total - fit.offered_bytes)} too much"
    if fit.measured.total_bytes is not None and total == fit.measured.total_bytes:
        return "no plan was found that takes less"
    return (f"with {'a plan that fits' if fit.plan.is_met else 'the best plan that was found, which does not fit'}{size}: "
            f"remat_hlo.jax.plan(step, …, mem_limit={fit.offered_bytes}, device='{fit.target.name}')")


def _peak_title(fit):
    where = ", before XLA puts values into VMEM" if fit.is_before_vmem else ""
    return f"at the peak{where}, by line of the program"


def _advice(fit):
    """A program that fits needs no change, whatever the library's figure of it is."""
    if not fit.advice:
        return ""
    return "nothing: it fits" if fit.is_fitting else fit.advice["summary"]


def _peak_rows(fit):
    return [(source or "no line", format_bytes(size)) for source, size in fit.peak]


def _curve_rows(fit):
    return [(point.way, format_bytes(point.total_bytes),
             "" if point.added_time is None else format_percent(point.added_time)) for point in fit.curve]


def _size_rows(fit):
    return [(size.n, "not said" if size.total_bytes is None else format_bytes(size.total_bytes),
             "fits" if size.is_fitting else "does not fit") for size in fit.sizes]


def _growth(fit):
    return f"largest n that fits: {fit.largest}" if fit.largest is not None else "no n that was tried fits"


def _bar(fit):
    """A bar of what the program takes beside what the device offers, as SVG."""
    found = fit.measured
    if found.temp_bytes is None:
        return ""
    whole = max(found.total_bytes, fit.offered_bytes or 0) or 1
    parts = (("arguments", found.argument_bytes, "#4e79a7"),
             ("outputs", found.output_bytes - found.alias_bytes, "#59a14f"), ("temporaries", found.temp_bytes, "#f28e2b"))
    shapes, x = [], 0.0
    for name, size, color in parts:
        width = 600 * size / whole
        shapes.append(f'<rect x="{x:.1f}" y="4" width="{width:.1f}" height="18" fill="{color}">'
                      f"<title>{name} {format_bytes(size)}</title></rect>")
        x += width
    if fit.offered_bytes:
        place = 600 * fit.offered_bytes / whole
        shapes.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="0" y2="26" stroke="#e15759" stroke-width="2">'
                      f"<title>offered {format_bytes(fit.offered_bytes)}</title></line>")
    return f'<svg width="604" height="26" role="img">{"".join(shapes)}</svg>'


def _indented(text):
    return "\n".join(f"  {line}" for line in text.splitlines())
