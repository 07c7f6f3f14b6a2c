"""What is expected of a program that was compiled: rows, whose `fault` says what is wrong."""

import dataclasses
import json
import subprocess

import plant
import safe_walk
import slice_notes
from apart import find
from targets import TARGETS

BEYOND_XLA = "not compiled by XLA"
BEFORE_VMEM = "before_buffer_assignment"
EXCEEDS = "XLA exceeds the most that was said by"
PACKED_OTHERWISE = "packed otherwise"
XLAS_OWN_READ = "XLA's own text reads what is overwritten"
# How far off what is said of a rewritten module may be on a GPU, where XLA's own rematerialization comes after us.
HOOK_TOLERANCE = 0.01
# On a TPU, what is said before memory-space assignment is a range. XLA may exceed its upper end by this share.
MOST_ABOVE_RANGE = 0.01


def row_of(made, arguments, **values):
    truth = made.truth()
    return {**dataclasses.asdict(made.case), "seed": arguments.seed, "fault": made.fault, "outcome": "compiled",
            "assigned_temp_bytes": truth and truth["temp_size_in_bytes"], "seconds": round(made.seconds, 1), **values}


def report_of(arguments, path, *options):
    """What the tool says of a file, which is all that it is given."""
    run = subprocess.run([arguments.tool, "report", "--quiet", "--json=-", *options, path],
                         capture_output=True, text=True)
    if run.returncode:
        raise ValueError(f"the tool refuses {path.name}: {run.stderr.strip()[-500:]}")
    return json.loads(run.stdout)


def error_of(said, assigned):
    return (said - assigned) / assigned if assigned else float(said > 0)


def error_of_range(least, most, assigned):
    """By how much XLA's figure lies outside of what was said: negative above it, positive below it."""
    return error_of(min(max(assigned, least), most), assigned)


def range_fault(target, least, most, assigned):
    if most - least > target.vmem_bytes:
        return f"the range is {most - least - target.vmem_bytes} bytes wider than VMEM"
    if error_of_range(least, most, assigned) < -MOST_ABOVE_RANGE and assigned - most > target.slack_bytes:
        return f"{EXCEEDS} {100 * (assigned - most) / most:.2f} %"
    return ""


def figure_fault(target, said, assigned):
    error = error_of(said, assigned)
    if -target.most_below <= error <= target.most_above or abs(said - assigned) <= target.slack_bytes:
        return ""
    return f"temporaries are wrong by {100 * error:+.2f} %"


def judge_plain(made, arguments):
    """A row for each text of the program as it is that the tool has to know."""
    target = TARGETS[made.case.target]
    if made.is_beyond_xla:
        yield row_of(made, arguments, fault="", outcome=BEYOND_XLA)
        return
    if made.fault or not made.truth():
        yield row_of(made, arguments, fault=made.fault or "nothing is assigned")
        return
    outcome = "out of memory" if made.is_out_of_memory else "compiled"
    if made.is_to_be_refused and not made.is_out_of_memory:
        yield row_of(made, arguments, fault="XLA has enough memory for it")
        return
    assigned = made.truth()["temp_size_in_bytes"]
    path = find(made.folder / "seen", "*after_optimizations.txt")
    values = {"text": "after_optimizations", "outcome": outcome, "plain_temp_bytes": assigned}
    try:
        said = report_of(arguments, path)
        walked = walk(made)
        values["reads"], missed = walked.reads, []
        if walked.faults:
            values["outcome"] += f", {XLAS_OWN_READ}: {walked.faults[0]}"
        else:
            values["planted"], missed = plant.missed(path.read_text(), made.assignment(), arguments.seed)
    except (ValueError, safe_walk.Fault) as error:
        yield row_of(made, arguments, **{**values, "fault": str(error)})
        return
    values["said_temp_bytes"] = said["temp_bytes"]
    values["error"] = round(error_of(said["temp_bytes"], assigned), 6)
    values["fault"] = f"not found: {missed[0].kind}: {missed[0].what}" if missed else figure_fault(
        target, said["temp_bytes"], assigned)
    if values["fault"] and not missed and is_packed_otherwise(made, said):
        values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    yield row_of(made, arguments, **values)
    if target.vmem_bytes:
        yield judge_range(made, arguments, {"plain_temp_bytes": assigned, "outcome": outcome})


def live_bytes(made):
    """Temporaries without what XLA loses between them; None: it did not dump the live ranges."""
    path = find(made.folder / "truth", "*-live-range.txt")
    return path and made.assignment().live_temp_bytes(path.read_text())


def is_packed_otherwise(made, said):
    """Whether a figure is wrong by the offsets alone: without what is lost between values it is XLA's."""
    live = live_bytes(made)
    return live is not None and not figure_fault(
        TARGETS[made.case.target], said["temp_bytes"] - said["fragmentation_bytes"], live)


def is_lost_between(made, said):
    """Whether XLA exceeds the upper end of a range by what it loses between values alone."""
    live = live_bytes(made)
    return live is not None and live <= said["said_temp_bytes"] * (1 + MOST_ABOVE_RANGE)


def judge_range(made, arguments, values):
    """The row for the text from before memory-space assignment, which is what JAX's hook sees."""
    target, assigned = TARGETS[made.case.target], made.truth()["temp_size_in_bytes"]
    path = find(made.folder / "seen", "*_before_buffer_assignment.txt")
    values["text"] = BEFORE_VMEM
    try:
        said = report_of(arguments, path, f"--device={target.profile}")
        least, most = said["least_temp_bytes"], said["most_temp_bytes"]
    except (ValueError, KeyError) as error:
        return row_of(made, arguments, **values, fault=f"no range is said: {error}")
    values.update(said_temp_bytes=most, said_least_bytes=least, seconds=0,
                  error=round(error_of_range(least, most, assigned), 6),
                  fault=range_fault(target, least, most, assigned))
    if values["fault"].startswith(EXCEEDS) and is_lost_between(made, values):
        values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    return row_of(made, arguments, **values)


def walk(made):
    """Walks the module that XLA assigned buffers to, and adds the faults of what it has noted of slices. Raises what
    the walk cannot go on from."""
    text = find(made.folder / "seen", "*after_optimizations.txt").read_text()
    walked = safe_walk.walk(text, made.assignment())
    walked.faults += slice_notes.check(text).faults
    return walked


def new_faults(walked, plain):
    """The faults of a rewritten module that are not of a kind which XLA's own text of the program has, too."""
    if not walked.faults:
        return []
    known = {safe_walk.kind_of(fault) for fault in walk(plain).faults}
    return [fault for fault in walked.faults if safe_walk.kind_of(fault) not in known]


def judge_rewritten(made, plain, arguments):
    values = {"plain_temp_bytes": (plain.truth() or {}).get("temp_size_in_bytes")}
    truth, report = made.truth(), report_of_hook(made)
    if made.fault or not truth or report is None:
        return row_of(made, arguments, **values, **({} if made.fault else {"fault": "it was not asked"}))
    values["outcome"] = report["outcome"] + (", out of memory" if made.is_out_of_memory else "")
    if made.case.is_whole:  # that code was generated for it is all that is asked
        return row_of(made, arguments, **values)
    for name in ("is_met", "limit_bytes", "added_time"):
        values[name] = report.get(name)
    values["decide_seconds"] = round(sum(report.get("seconds", {}).values()), 2)
    assigned, total = truth["temp_size_in_bytes"], made.total_bytes()
    values["assigned_total_bytes"] = total
    if report.get("after") and report["outcome"] == "rematerialized":
        after = report["after"]
        most, least = after["temp_bytes"] + after["temp_more_bytes"], after["temp_bytes"] - after["temp_less_bytes"]
        values["said_temp_bytes"], values["said_least_bytes"] = most, least
        values["error"] = round(error_of_range(least, most, assigned), 6)
    try:
        walked = walk(made)
        values["reads"], faults = walked.reads, new_faults(walked, plain)
        values["fault"] = faults[0] if faults else fault_of_rewritten(made, values, assigned, total)
        if values["fault"].startswith(EXCEEDS) and is_lost_between(made, values):
            values["outcome"] += f", {PACKED_OTHERWISE}: {values.pop('fault')}"
    except safe_walk.Fault as fault:
        values["fault"] = str(fault)
    if made.is_to_be_refused and not values.get("fault") and (made.is_out_of_memory or not values["is_met"]):
        values["fault"] = "it does not fit"
    return row_of(made, arguments, **values)


def report_of_hook(made):
    """The report on the program's own module. None: it was not asked about."""
    if made.case.route == "before":
        return made.report
    path = made.folder / "reports.json"
    reports = json.loads(path.read_text()) if path.exists() else []
    return next((r for r in reversed(reports) if r["name"] == f"jit_{made.case.program}"), None)


def fault_of_rewritten(made, values, assigned, total):
    target = TARGETS[made.case.target]
    if values["outcome"].startswith(("failed", "refused by XLA")):
        return values["outcome"]
    if made.warnings:
        return made.warnings[0]
    if values["plain_temp_bytes"] is not None and assigned > values["plain_temp_bytes"]:
        if "early" not in made.outcome or made.case.route == "before":
            return "more temporaries than without us"
        # Only a whole compilation goes on with the untouched module then.
        values["outcome"] += ", more temporaries than without us"
    # `min` is a limit of 0, and has nothing to exceed.
    if values["is_met"] and 0 < values["limit_bytes"] * (1 + HOOK_TOLERANCE) < total:
        # A whole compilation rewrites the program again where XLA:TPU loses more between values than was predicted.
        if not ("early" in made.outcome and target.vmem_bytes and is_lost_between(made, values)):
            return f"said to be met, and is above the limit by {total - values['limit_bytes']} bytes"
    error = values.get("error")
    if error is None or made.case.route == "before":  # where what XLA has assigned is what is said
        return ""
    if target.vmem_bytes:
        return range_fault(target, values["said_least_bytes"], values["said_temp_bytes"], assigned)
    return f"temporaries are predicted wrongly by {100 * error:+.2f} %" if abs(error) > HOOK_TOLERANCE else ""
