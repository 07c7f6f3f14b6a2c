"""A Plan for terminals and notebooks."""

import html

from .. import _show
from .._sizes import format_bytes, format_percent


def change_of(plan):
    """Bytes before and after, in a line."""
    before, after = plan.before, plan.after
    line = f"{_said(before)} -> {_said(after)}"
    if plan.limit_bytes:
        line += f", limit {format_bytes(plan.limit_bytes)} {'met' if plan.is_met else 'not met'}"
    if before.get("seconds") and after.get("seconds"):
        line += f", modelled time {format_percent(after['seconds'] / before['seconds'] - 1)}"
    return line


def _said(measured):
    return format_bytes(measured["total_bytes"]) if measured.get("total_bytes") is not None else "does not compile"


def text_of(plan):
    """What the plan saves and computes again, by line of the program."""
    return "\n".join(_lines(plan))


def html_of(plan):
    return f"<p>{html.escape(_lines(plan)[0])}</p>" + _show.table_html(("saved", "bytes", "source"), _saved_rows(plan))


def _lines(plan):
    lines = [f"plan for {plan.device}: {change_of(plan)}; {len(plan.measured)} compilations"]
    for function in plan.functions:
        if function.block is None:
            lines.append(f"{function.name} ({function.source}): as it is")
            continue
        lines.append(f"{function.name} ({function.source}):")
        lines += [f"  {line}" for line in _block_text(function.shown)]
    return lines


def _block_text(shown, indent=""):
    for number, segment in enumerate(shown["segments"]):
        if not segment["is_checkpoint"]:
            continue
        saved, again = segment["saved"], segment["computed_again"]
        yield (f"{indent}checkpoint {number}: saves {format_bytes(sum(one['bytes'] for one in saved))}, "
               f"computes {format_bytes(sum(again.values()))} again"
               + (f", in {len(segment['parts'])} parts" if "parts" in segment else ""))
        for one in saved:
            yield f"{indent}  saves {one['type']} of {one['made_by']}, {one['source']}"
        for source, size in sorted(again.items(), key=lambda item: (-item[1], item[0]))[:3]:
            yield f"{indent}  computes again {source}, {format_bytes(size)}"
    for index, body in shown["scans"].items():
        yield f"{indent}body of the scan at equation {index}:"
        yield from _block_text(body, indent + "  ")


def _saved_rows(plan):
    rows = {}

    def visit(shown):
        for segment in shown["segments"]:
            for one in segment.get("saved", ()):
                key = f"{one['type']} {one['made_by']}", one["source"]
                rows[key] = rows.get(key, 0) + one["bytes"]
        for body in shown["scans"].values():
            visit(body)
    for function in plan.functions:
        if function.block is not None:
            visit(function.shown)
    ordered = sorted(rows.items(), key=lambda item: (-item[1], item[0]))
    return [(what, format_bytes(size), source) for (what, source), size in ordered[:_show.MOST_VALUES]]
