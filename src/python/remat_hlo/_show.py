"""Tables for terminals and notebooks."""

import html

from ._sizes import format_bytes, format_change, format_percent, format_seconds

MOST_VALUES = 15
MOST_PICTURE_CHARS = 4_000_000  # a notebook keeps what it shows


def table_text(head, rows):
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def table_html(head, rows):
    def line(row, tag):
        return "<tr>" + "".join(
            f'<{tag} style="text-align:{"left" if i == 0 else "right"}">{html.escape(str(cell))}'
            f"</{tag}>" for i, cell in enumerate(row)) + "</tr>"
    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def _picture(module):
    picture = module.svg()
    if len(picture) > MOST_PICTURE_CHARS:
        return "<p>The picture is too large for a notebook: <code>.html(path)</code> writes it.</p>"
    # An element of its own, so that its styles do not meet those of the page or of other pictures.
    return (f'<iframe srcdoc="{html.escape(picture)}" style="width:100%;height:32em;border:0" '
            'sandbox></iframe>')


# ---- modules ----

def _memory_rows(memory):
    temporaries = [("temporaries", memory.temp_bytes)]
    if memory.has_temp_range:
        temporaries += [("temporaries, at least", memory.least_temp_bytes),
                        ("temporaries, at most", memory.most_temp_bytes)]
    return [("peak", memory.peak_bytes), *temporaries,
            ("outputs", memory.output_bytes), ("parameters", memory.parameter_bytes),
            ("constants", memory.constant_bytes), ("lower bound", memory.lower_bound_bytes)]


def module_html(module):
    rows = [(name, format_bytes(size)) for name, size in _memory_rows(module.memory())]
    return (f"<p><b>{html.escape(module.name)}</b>: {module.num_instructions:,} instructions</p>"
            + table_html(("", "bytes"), rows) + _picture(module))


def remat_rows(result):
    rows = [(name, format_bytes(before), format_bytes(after), format_change(before, after))
            for (name, before), (_, after) in zip(_memory_rows(result.memory_before),
                                                  _memory_rows(result.memory_after))
            if name != "lower bound"]
    before, after = result.cost_before.seconds, result.cost_after.seconds
    rows.append((f"modelled time ({result.device})", format_seconds(before), format_seconds(after),
                 format_change(before, after)))
    return rows


def remat_html(result):
    met = "met" if result.is_met else "not met, this is the best that was found"
    limit = "limit: min; " if result.is_min else "" if result.limit_bytes is None else \
        f"limit: {format_bytes(result.limit_bytes)}, {met}; "
    return (f"<p><b>{html.escape(result.name)}</b>: {limit}rematerialized: "
            f"{result.num_rematerialized:,}; moved: {result.num_moved:,}</p>"
            + table_html(("", "before", "after", ""), remat_rows(result)) + _picture(result))


# ---- reports ----

def _live_rows(report):
    return [(value.name, format_bytes(value.bytes), value.category, value.shape, value.source)
            for value in report.live[:MOST_VALUES]]


LIVE_HEAD = ("at the peak", "bytes", "category", "shape", "source")


def _rest(report):
    rest = report.live[MOST_VALUES:]
    return f"and {len(rest):,} more of {format_bytes(sum(v.bytes for v in rest))}" if rest else ""


def report_text(report):
    memory = "\n".join(f"{name:12} {format_bytes(size):>12}"
                       for name, size in _memory_rows(report.memory))
    parts = [f"{report.name}: peak at {report.memory.peak_instruction}", memory, "",
             table_text(LIVE_HEAD, _live_rows(report)), _rest(report)]
    return "\n".join(parts).rstrip()


def report_html(report):
    rows = [(name, format_bytes(size)) for name, size in _memory_rows(report.memory)]
    return (f"<p><b>{html.escape(report.name)}</b>: peak at "
            f"<code>{html.escape(report.memory.peak_instruction)}</code></p>"
            + table_html(("", "bytes"), rows) + table_html(LIVE_HEAD, _live_rows(report))
            + f"<p>{_rest(report)}</p>" + _picture(report.module))


# ---- comparisons ----

COMPARISON_HEAD = ("algorithm", "limit", "met", "peak", "", "added time", "values", "seconds")


def _comparison_rows(comparison):
    for row in comparison.rows:
        if row.error:
            yield row.algorithm, row.mem_limit, "failed", row.error, "", "", "", ""
            continue
        yield (row.algorithm, row.mem_limit, "yes" if row.is_met else "no",
               format_bytes(row.after_bytes), format_change(row.before_bytes, row.after_bytes),
               format_percent(row.added_time), row.num_rematerialized, f"{row.seconds:.2f}")


def comparison_text(comparison):
    return f"{comparison.name}\n" + table_text(COMPARISON_HEAD, list(_comparison_rows(comparison)))


def comparison_html(comparison):
    return f"<p><b>{html.escape(comparison.name)}</b></p>" + table_html(
        COMPARISON_HEAD, list(_comparison_rows(comparison)))
