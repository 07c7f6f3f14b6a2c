"""What the package uses of include/remat_hlo.h, for ctypes: constants, structs and functions."""

import ctypes
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t
from ctypes import c_uint, c_uint32, c_uint64, c_void_p

OK, OVER_LIMIT, NOT_EQUIVALENT, USAGE, INPUT, WRITE, MEMORY, INTERNAL = range(8)
SEVERITIES = ("error", "warning", "note")
NO_OFFSET = ctypes.c_size_t(-1).value
NO_LIMIT = (1 << 63) - 1
TIME_SOURCE_CHARS = 128
SMALL_NODE_BYTES = 1 << 20
TRAIT_ALL_SIZES = 512
BAD_OPTION = 6  # of Diag.code

# ---- structs, in the order of the header ----


class Diag(Structure):
    _fields_ = [("severity", c_int), ("code", c_int), ("message", c_char_p), ("offset", c_size_t),
                ("opener_offset", c_size_t), ("rule", c_char_p), ("wanted_bytes", c_size_t),
                ("limit_bytes", c_size_t)]


class Text(Structure):
    _fields_ = [("data", POINTER(c_char)), ("length", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode("utf-8", "replace") \
            if self.length else ""


COPIES = {"auto": 0, "inserted": 1, "pending": 2}
FRAMES = {"innermost": 0, "user": 1, "outermost": 2}


class Sized(Structure):
    """A struct whose first field is its own size. `DEFAULTS` are the values of RH_…_INIT that are
    not 0."""
    DEFAULTS = {}

    def __init__(self, **fields):
        super().__init__()
        self.struct_size = ctypes.sizeof(self)
        for name, value in {**self.DEFAULTS, **fields}.items():
            setattr(self, name, value)


class ParseOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("max_memory_bytes", c_size_t),
                ("max_errors", c_uint32), ("unused", c_uint32), ("copies", c_int)]


class ModuleInfo(Structure):
    _fields_ = [("name", Text), ("is_scheduled", c_bool), ("scheduler", c_char_p),
                ("num_computations", c_uint64), ("num_instructions", c_uint64),
                ("num_elided_literals", c_uint64), ("num_partitions", c_int64),
                ("has_sharding_calls", c_bool), ("is_optimized", c_bool),
                ("num_rematerialized", c_uint64), ("copies", c_int),
                ("copies_are_sure", c_bool), ("copies_reason", c_char_p)]


class FormatOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("is_short", c_bool), ("omit_metadata", c_bool),
                ("omit_locations", c_bool)]


class KnownCost(Structure):
    _fields_ = [("expression", c_char_p), ("flops", c_int64), ("transcendentals", c_int64),
                ("bytes_accessed", c_int64)]


class Settings(Sized):
    _fields_ = [("struct_size", c_size_t), ("target", c_char_p), ("copies", c_int),
                ("packing", c_char_p), ("max_pack_steps", c_uint64), ("heap_limit_bytes", c_int64),
                ("costs", POINTER(KnownCost)), ("num_costs", c_size_t), ("cost_size", c_size_t),
                ("frames", c_int), ("library", c_char_p), ("device", c_char_p),
                ("times", c_void_p)]
    DEFAULTS = {"heap_limit_bytes": -1, "cost_size": ctypes.sizeof(KnownCost),
                "frames": FRAMES["user"]}


class ScheduleOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("scheduler", c_char_p), ("ignore_schedule", c_bool),
                ("inline_calls", c_int), ("unfuse", c_uint), ("fuse", c_bool)]
    DEFAULTS = {"scheduler": b"auto"}


class Memory(Sized):
    _fields_ = [("struct_size", c_size_t), ("peak_bytes", c_int64), ("temp_bytes", c_int64),
                ("parameter_bytes", c_int64), ("output_bytes", c_int64),
                ("aliased_bytes", c_int64), ("constant_bytes", c_int64), ("total_bytes", c_int64),
                ("lower_bound_bytes", c_int64), ("peak_instruction", Text),
                ("lower_bound_instruction", Text), ("lower_bound_kind", c_char_p),
                ("lower_bound_within", c_uint), ("temp_more_bytes", c_int64),
                ("temp_less_bytes", c_int64)]


class LiveValue(Structure):
    _fields_ = [("name", Text), ("opcode", Text), ("shape", Text), ("computation", Text),
                ("op_name", Text), ("source_file", Text), ("source_line", c_int64),
                ("is_inherited", c_bool), ("category", c_char_p), ("bytes", c_int64),
                ("begin", c_int64), ("end", c_int64), ("num_aliases", c_uint64), ("frame", c_int64),
                ("argument", Text)]


class Sum(Structure):
    _fields_ = [("name", Text), ("line", c_int64), ("bytes", c_int64), ("num_values", c_uint64)]


class Sums(Structure):
    _fields_ = [("list", POINTER(POINTER(Sum))), ("len", c_size_t)]


class Report(Structure):
    _fields_ = [("module", Text), ("memory_model", c_char_p), ("target", c_char_p),
                ("packing", c_char_p), ("heap_limit_bytes", c_int64),
                ("heap_bytes", POINTER(c_int64)), ("num_heaps", c_size_t),
                ("memory", POINTER(Memory)), ("liveness_peak_bytes", c_int64),
                ("packed_temp_bytes", c_int64), ("fragmentation_bytes", c_int64),
                ("unused_bytes", c_int64), ("shared_bytes", c_int64), ("peak_position", c_int64),
                ("peak_op_name", Text), ("peak_source_file", Text), ("peak_source_line", c_int64),
                ("num_positions", c_int64), ("live", POINTER(POINTER(LiveValue))),
                ("num_live", c_size_t), ("sums", POINTER(Sums))]


class Change(Structure):
    _fields_ = [("name", Text), ("line", c_int64), ("before_bytes", c_int64),
                ("after_bytes", c_int64), ("before_num_values", c_uint64),
                ("after_num_values", c_uint64)]


class ProfileOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("to_host", c_double), ("to_device", c_double)]


class Cost(Sized):
    _fields_ = [("struct_size", c_size_t), ("flops", c_int64), ("transcendentals", c_int64),
                ("bytes_accessed", c_int64), ("flops_weighted", c_double),
                ("transcendentals_weighted", c_double), ("bytes_accessed_weighted", c_double),
                ("offloaded_bytes", c_double), ("seconds", c_double), ("stall_seconds", c_double),
                ("estimated_seconds", c_double), ("measured_seconds", c_double),
                ("measured_steps", c_uint64)]


class ModelError(Sized):
    _fields_ = [("struct_size", c_size_t), ("rank_correlation", c_double),
                ("median_error", c_double), ("worst_error", c_double), ("sum_ratio", c_double)]


class CalibrateOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("default_trip_count", c_int64),
                ("groups", POINTER(c_char_p))]
    DEFAULTS = {"name": b"calibrated", "default_trip_count": 1}


class Calibration(Structure):
    _fields_ = [("profile", c_void_p), ("before_seconds", POINTER(c_double)),
                ("fitted_seconds", POINTER(c_double)), ("held_out_seconds", POINTER(c_double)),
                ("before", POINTER(ModelError)), ("fitted", POINTER(ModelError)),
                ("held_out", POINTER(ModelError)), ("num_groups", c_size_t),
                ("estimated_seconds", POINTER(c_double)), ("num_instructions", c_size_t)]


class RematOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("algorithm", c_char_p), ("memory_model", c_char_p),
                ("limit_counts", c_int), ("limit_bytes", c_int64), ("emit", c_int),
                ("protect", c_int), ("small_node_bytes", c_int64), ("remat_collectives", c_bool),
                ("clone_callees", c_bool), ("min_remat_bytes", c_int64),
                ("block_size_limit", c_uint32), ("block_factor", c_double), ("modes", c_uint),
                ("callees_once", c_bool), ("path_depth", c_uint32), ("collection", c_char_p),
                ("pin", c_char_p), ("never", c_char_p), ("profile", c_void_p),
                ("parameters", c_char_p), ("keep_plan", c_bool), ("effort", c_int),
                ("time_limit_seconds", c_double), ("num_threads", c_uint), ("cancel", c_void_p),
                ("progress", c_void_p), ("context", c_void_p), ("keep_order", c_bool)]
    DEFAULTS = {"algorithm": b"auto", "memory_model": b"heap", "limit_counts": 2,
                "limit_bytes": NO_LIMIT, "small_node_bytes": -1, "block_size_limit": 1, "modes": 1,
                "path_depth": 10, "effort": 5, "num_threads": 1}


class RematResult(Sized):
    _fields_ = [("struct_size", c_size_t), ("is_met", c_bool), ("counted_bytes", c_int64),
                ("xla_reported_after_bytes", c_int64), ("protect", c_int),
                ("remat_seconds", c_double), ("verify_seconds", c_double), ("scans", c_void_p),
                ("num_scans", c_size_t), ("is_interrupted", c_bool), ("is_timed_out", c_bool),
                ("added_seconds_bound", c_double), ("bound_kind", c_char_p),
                ("algorithm", c_char_p), ("num_moved", c_uint64), ("num_moves_lost", c_uint64),
                ("default_counted_bytes", c_int64), ("bfs_counted_bytes", c_int64),
                ("num_ordered", c_uint64), ("num_tied", c_uint64 * 4), ("num_merged", c_uint64),
                ("compiled_default_bytes", c_int64), ("compiled_bfs_bytes", c_int64),
                ("num_compressed", c_uint64), ("num_narrowed", c_uint64),
                 ("num_offloaded", c_uint64), ("rounds_alike", c_bool), ("hardly_helps", c_bool),
                 ("is_out_of_steps", c_bool)]
    DEFAULTS = {"default_counted_bytes": -1, "bfs_counted_bytes": -1, "compiled_default_bytes": -1,
                "compiled_bfs_bytes": -1}


class Way(Structure):
    _fields_ = [("option", c_char_p), ("value", c_char_p), ("bytes", c_int64),
                ("explanation", c_char_p)]


class VerifyOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("ignore_schedule", c_bool),
                ("any_rounding", c_bool)]


class AdviceOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("limit_bytes", c_int64), ("limit_counts", c_int),
                ("profile", c_void_p), ("default_trip_count", c_int64), ("max_steps", c_uint32)]
    DEFAULTS = {"limit_bytes": NO_LIMIT, "limit_counts": 2, "default_trip_count": 1}


class PatchOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("attribute", c_char_p), ("value", c_char_p)]


class Picture(Sized):
    _fields_ = [("struct_size", c_size_t), ("before", c_void_p), ("after", c_void_p),
                ("before_title", c_char_p), ("after_title", c_char_p), ("limit_bytes", c_int64),
                ("limit_counts", c_int), ("advice", c_void_p)]
    DEFAULTS = {"limit_bytes": -1, "limit_counts": 2}


class Entry(Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p), ("traits", c_uint)]


COUNTS = {"temp": 0, "temp+outputs": 1, "total": 2}
EMITS = {"scheduled": 0, "unscheduled": 1}
PROTECTS = {"auto": 0, "none": 1, "control-deps": 2, "opt-barrier": 3, "conditional": 4}
INLINES = {"auto": 0, "never": 1, "always": 2}
UNFUSE = {"loop": 1, "input": 2, "output": 4, "all": 7, "shared": 8}
MODES = {"recompute": 1, "compress": 2, "offload": 4, "narrow": 8}
PROSPECTS = {"within": 0, "little": 1, "below": 2, "open": 3}
EFFORT_BY_SIZE = -1
PICTURES = {"html": 0, "svg": 1, "perfetto": 2}
SUMS = {"category": 0, "opcode": 1, "source": 2, "op_name": 3, "computation": 4}
REGISTRIES = {"schedulers": 0, "algorithms": 1, "memory_models": 2, "lint_rules": 3, "packings": 4,
              "targets": 5, "parameters": 6}

WRITE_FN = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_char), c_size_t)
CANCEL_FN = ctypes.CFUNCTYPE(c_bool, c_void_p)
WAY_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Way))
CHANGE_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Change))

HANDLE = c_void_p
OUT = POINTER(c_void_p)
SETTINGS = POINTER(Settings)

# name: (result, arguments). Those whose result is a status go through call().
FUNCTIONS = {
    "rh_version": (c_char_p, ()),
    "rh_status_name": (c_char_p, (c_int,)),
    "rh_diags_new": (HANDLE, ()),
    "rh_diags_free": (None, (HANDLE,)),
    "rh_diags_len": (c_size_t, (HANDLE,)),
    "rh_diags_get": (POINTER(Diag), (HANDLE, c_size_t)),
    "rh_locate": (None, (c_char_p, c_size_t, c_size_t, POINTER(c_size_t), POINTER(c_size_t))),
    "rh_parse": (c_int, (c_char_p, c_size_t, POINTER(ParseOptions), OUT, HANDLE)),
    "rh_module_free": (None, (HANDLE,)),
    "rh_get_info": (POINTER(ModuleInfo), (HANDLE,)),
    "rh_print": (c_int, (HANDLE, WRITE_FN, c_void_p, HANDLE)),
    "rh_patch_proto": (c_int, (HANDLE, HANDLE, c_char_p, c_size_t, POINTER(PatchOptions), WRITE_FN,
                               c_void_p, HANDLE)),
    "rh_print_proto": (c_int, (c_char_p, c_size_t, WRITE_FN, c_void_p, HANDLE)),
    "rh_format": (c_int, (HANDLE, POINTER(FormatOptions), WRITE_FN, c_void_p, HANDLE)),
    "rh_check_settings": (c_int, (SETTINGS, HANDLE)),
    "rh_guess_copies": (c_int, (c_char_p,)),
    "rh_guess_target": (c_char_p, (HANDLE,)),
    "rh_schedule": (c_int, (HANDLE, SETTINGS, POINTER(ScheduleOptions), OUT, HANDLE)),
    "rh_split_fusions": (c_int, (HANDLE, SETTINGS, OUT, HANDLE)),
    "rh_measure_memory": (c_int, (HANDLE, SETTINGS, c_char_p, POINTER(Memory), HANDLE)),
    "rh_counted_bytes": (c_int64, (POINTER(Memory), c_int)),
    "rh_counted_bound_bytes": (c_int64, (POINTER(Memory), c_int)),
    "rh_weigh_budget": (c_int, (POINTER(Memory), c_int, c_int64, c_int64)),
    "rh_report_make": (c_int, (HANDLE, SETTINGS, c_char_p, POINTER(POINTER(Report)), HANDLE)),
    "rh_report_free": (None, (POINTER(Report),)),
    "rh_advice_make": (c_int, (HANDLE, SETTINGS, POINTER(AdviceOptions), OUT, HANDLE)),
    "rh_advice_print": (c_int, (HANDLE, WRITE_FN, c_void_p, HANDLE)),
    "rh_advice_free": (None, (HANDLE,)),
    "rh_compare_sums": (c_int, (Sums, Sums, CHANGE_FN, c_void_p, HANDLE)),
    "rh_memory_map_make": (c_int, (HANDLE, SETTINGS, OUT, HANDLE)),
    "rh_memory_map_free": (None, (HANDLE,)),
    "rh_profile_parse": (c_int, (c_char_p, c_size_t, POINTER(ProfileOptions), OUT, HANDLE)),
    "rh_profile_free": (None, (HANDLE,)),
    "rh_profile_name": (c_char_p, (HANDLE,)),
    "rh_profile_description": (c_char_p, (HANDLE,)),
    "rh_profile_memory_bytes": (c_int64, (HANDLE,)),
    "rh_profile_print": (c_int, (HANDLE, WRITE_FN, c_void_p, HANDLE)),
    "rh_compare_seconds": (c_int, (POINTER(c_double), POINTER(c_double), c_size_t,
                                   POINTER(ModelError), HANDLE)),
    "rh_calibrate": (c_int, (OUT, POINTER(c_double), c_size_t, SETTINGS, HANDLE,
                             POINTER(CalibrateOptions), POINTER(POINTER(Calibration)), HANDLE)),
    "rh_calibration_free": (None, (POINTER(Calibration),)),
    "rh_times_parse": (c_int, (c_char_p, c_size_t, OUT, HANDLE)),
    "rh_times_free": (None, (HANDLE,)),
    "rh_profile_scaled": (c_int, (HANDLE, HANDLE, SETTINGS, c_int64, OUT, HANDLE)),
    "rh_time_source": (None, (POINTER(Cost), HANDLE, c_char_p)),
    "rh_measure_cost": (c_int, (HANDLE, SETTINGS, HANDLE, c_int64, POINTER(Cost), HANDLE)),
    "rh_remat": (c_int, (HANDLE, SETTINGS, POINTER(RematOptions), OUT, POINTER(RematResult),
                         HANDLE)),
    "rh_visit_ways": (c_int, (HANDLE, HANDLE, SETTINGS, POINTER(RematOptions), POINTER(RematResult),
                              WAY_FN, c_void_p, HANDLE)),
    "rh_plan_parse": (c_int, (c_char_p, c_size_t, OUT, HANDLE)),
    "rh_plan_free": (None, (HANDLE,)),
    "rh_plan_preparation": (c_int, (HANDLE, POINTER(ScheduleOptions), HANDLE)),
    "rh_plan_target": (c_char_p, (HANDLE,)),
    "rh_apply_plan": (c_int, (HANDLE, SETTINGS, HANDLE, POINTER(RematOptions), OUT,
                              POINTER(RematResult), HANDLE)),
    "rh_emit_plan": (c_int, (HANDLE, SETTINGS, HANDLE, c_int64, WRITE_FN, c_void_p, HANDLE)),
    "rh_verify": (c_int, (HANDLE, HANDLE, SETTINGS, POINTER(VerifyOptions), HANDLE)),
    "rh_emit_picture": (c_int, (POINTER(Picture), c_int, WRITE_FN, c_void_p, HANDLE)),
    "rh_list": (POINTER(Entry), (c_int, c_size_t)),
    "rh_find": (POINTER(Entry), (c_int, c_char_p)),
}
