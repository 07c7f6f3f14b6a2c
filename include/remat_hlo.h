/* remat-hlo: reads HLO text as XLA dumps it, schedules it, rematerializes it under a byte budget,
 * and writes back HLO that XLA compiles.
 *
 *     rh_module *input, *scheduled, *result;
 *     rh_parse(text, length, NULL, &input, diags);
 *     rh_schedule(input, NULL, &scheduled, diags);
 *     rh_remat_options options = RH_REMAT_OPTIONS_INIT;
 *     options.limit_bytes = 12 * (int64_t)1024 * 1024 * 1024;
 *     rh_remat(scheduled, &options, &result, NULL, diags);
 *     rh_print(result, write, context);
 *
 * Modules do not change once they are made; several threads may read one at the same time. A module
 * keeps spans into the text that it was parsed from: the text must stay as it is until the module
 * and all modules made from it are freed, in any order. The library does no input or output but
 * through the functions that it is given, and keeps no state between calls.
 *
 * All sizes are bytes. Functions that can fail return a status and explain it in `diags`, which may
 * be NULL. */
#ifndef REMAT_HLO_H
#define REMAT_HLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(RH_BUILDING) && defined(__GNUC__)
#define RH_API __attribute__((visibility("default")))
#else
#define RH_API
#endif

/* The version of the library, "0.1.0". */
RH_API const char *rh_version(void);

/* ---- status and diagnostics ---- */

/* Also the exit codes of the tool. */
typedef enum rh_status {
  RH_OK = 0,
  RH_NO = 1,         /* the answer is no: budget not met, modules not equivalent */
  RH_ERR_USAGE = 2,  /* an option that is unknown or out of range */
  RH_ERR_INPUT = 3,  /* the module is not HLO, or contradicts itself */
  RH_ERR_SYSTEM = 4, /* writing failed, or a fault of our own */
} rh_status;

typedef enum rh_severity {
  RH_SEVERITY_ERROR,
  RH_SEVERITY_WARNING,
  RH_SEVERITY_NOTE,
} rh_severity;

#define RH_NO_OFFSET SIZE_MAX

typedef struct rh_diag {
  rh_severity severity;
  const char *message;  /* a sentence without capital and full stop; owned by the rh_diags */
  size_t offset;        /* into the text, RH_NO_OFFSET = nowhere in particular */
  size_t opener_offset; /* of the bracket or definition that it goes back to, or RH_NO_OFFSET */
  const char *rule;     /* of RH_LINT_RULES that it is a finding of; NULL for anything else */
} rh_diag;

typedef struct rh_diags rh_diags;

RH_API rh_diags *rh_diags_new(void);
RH_API void rh_diags_free(rh_diags *diags);
RH_API size_t rh_diags_len(const rh_diags *diags);
RH_API rh_diag rh_diags_get(const rh_diags *diags, size_t index);

/* Line and column of an offset, both from 1; columns are bytes. O(offset). */
RH_API void rh_locate(const char *text, size_t length, size_t offset, size_t *line, size_t *column);

/* The candidate that `word` is most likely a misspelling of, NULL when none is close. */
RH_API const char *rh_closest_word(const char *word, const char *const *candidates, size_t count);

/* ---- output ---- */

/* Takes bytes; returns 0, or anything else to stop. */
typedef int (*rh_write_fn)(void *context, const char *data, size_t length);

/* Text inside a module, not ended by NUL; lives as long as the module. */
typedef struct rh_text {
  const char *data;
  size_t length;
} rh_text;

/* ---- modules ---- */

typedef struct rh_module rh_module;

typedef struct rh_parse_options {
  size_t max_memory_bytes; /* of the module and all that is made from it, each; 0 = no limit */
  /* Called when memory runs out; must not return. NULL = abort(). */
  void (*on_out_of_memory)(void *context, size_t wanted_bytes, size_t limit_bytes);
  void *context;
  uint32_t max_errors; /* that `diags` gets at most: behind an error the next instruction is read,
                          as if what was broken were right; 0 = 1 */
} rh_parse_options;

#define RH_PARSE_OPTIONS_INIT \
  { 0, NULL, NULL, 0 }

/* Parses HLO text as XLA does; `options` may be NULL. On success `*module` is to be freed by the
 * caller; warnings may be in `diags`. RH_ERR_INPUT when XLA would not read it either: an error is
 * then in `diags`, the first one first. Linear. */
RH_API rh_status rh_parse(const char *text, size_t length, const rh_parse_options *options,
                          rh_module **module, rh_diags *diags);

/* What the module is compiled for, one of RH_TARGETS, or `auto`: what its text looks as if it was
 * compiled for. The first one if nobody says. Modules that are made from it later are for the same.
 * RH_ERR_USAGE when there is no such target. */
RH_API rh_status rh_set_target(rh_module *module, const char *name, rh_diags *diags);

/* How the model `heap` packs temporaries, one of RH_PACKINGS: `xla` if nobody says. At most so many
 * steps for each memory space, as rh_pack_options.max_steps. Likewise. */
RH_API rh_status rh_set_packing(rh_module *module, const char *name, uint64_t max_steps,
                                rh_diags *diags);

/* Whether a module is past XLA's copy-insertion. Then values share memory by design (outputs with
 * donated parameters, loop carries, updates in place), nothing copies them any more, and what reads
 * one of them after another was written reads wrong numbers. */
typedef enum rh_copies {
  RH_COPIES_AUTO,     /* it is if it may be: scheduled, with fusions, or with copies of donated
                         parameters or loop carries; of what is made from a module, as that is */
  RH_COPIES_INSERTED, /* it is: XLA's after_optimizations dumps, POST_SCHEDULER hooks */
  RH_COPIES_PENDING,  /* it is not: XLA will insert what is needed */
} rh_copies;

/* Whether the module has its copies; RH_COPIES_AUTO if nobody says. Likewise. What it is taken for:
 * RH_COPIES_INSERTED or RH_COPIES_PENDING. */
RH_API void rh_set_copies(rh_module *module, rh_copies copies);
RH_API rh_copies rh_get_copies(const rh_module *module);

/* Under the model `heap` temporaries lie in heaps, none of which is larger than so many bytes,
 * unless its largest value is (XLA's xla_multiheap_size_constraint_per_heap); each is memory of its
 * own, and their sum counts. -1 = one heap for each memory space, as if nobody says. */
RH_API void rh_set_heap_limit(rh_module *module, int64_t limit_bytes);

RH_API void rh_module_free(rh_module *module);

typedef struct rh_module_info {
  rh_text name;
  bool is_scheduled;     /* its text says so, or rh_schedule made it */
  const char *scheduler; /* that made its order, NULL = none did */
  uint64_t num_computations;
  uint64_t num_instructions;    /* of all computations (HloModule::instruction_count) */
  uint64_t num_elided_literals; /* `constant({...})`: the module cannot be run as it is */
  int64_t num_partitions;
  bool has_sharding_calls;     /* not partitioned yet: shapes are those of all devices together */
  bool is_optimized;           /* has fusions or a schedule: it is what runs, or near to it */
  uint64_t num_rematerialized; /* computations of values that rh_remat added */
  const char *target;          /* of RH_TARGETS */
} rh_module_info;

RH_API rh_module_info rh_get_info(const rh_module *module);

/* Whether the module is consistent enough to be analysed; the functions below check it themselves.
 * RH_ERR_INPUT with the place of the first contradiction. */
RH_API rh_status rh_check(const rh_module *module, rh_diags *diags);

typedef struct rh_lint_options {
  bool is_strict;        /* findings are errors, not warnings */
  uint64_t max_findings; /* that `diags` gets at most, those of rh_check included; 0 = all */
} rh_lint_options;

#define RH_LINT_OPTIONS_INIT \
  { false, 0 }

/* Looks for what XLA's parser takes and its HloVerifier would refuse, or drop in silence: shapes
 * that contradict operands, called computations, pairs and groups that do not fit, source locations
 * that are not there. The rules are RH_LINT_RULES; a diagnostic names the one it is a finding of.
 * What rh_check refuses is found too, all of it, as errors without a rule. RH_ERR_INPUT when there
 * is an error. `options` and `num_findings`, which counts beyond `max_findings`, may be NULL.
 * O(n log n). */
RH_API rh_status rh_lint(const rh_module *module, const rh_lint_options *options,
                         uint64_t *num_findings, rh_diags *diags);

/* Writes the module as HLO text: byte for byte what was parsed, or that with the changed pieces
 * replaced. RH_ERR_SYSTEM when `write` failed. */
RH_API rh_status rh_print(const rh_module *module, rh_write_fn write, void *context);

typedef struct rh_format_options {
  bool is_short; /* XLA's short form: no `%`, signatures, metadata; control dependencies stay */
  bool omit_metadata;  /* no metadata, no tables of source locations; is_short does so too */
  bool omit_locations; /* of metadata no files, lines and stack frames; no tables */
} rh_format_options;

#define RH_FORMAT_OPTIONS_INIT \
  { false, false, false }

/* Writes the module laid out as XLA's printer does it: one instruction a line, with its shape, its
 * operands as names, and its attributes in XLA's order. Names, the order of instructions, and the
 * spelling of numbers and strings are those of the text, so that XLA reads the same module; of the
 * comments those before the module stay. `options` may be NULL. RH_ERR_SYSTEM: `write` failed. */
RH_API rh_status rh_format(const rh_module *module, const rh_format_options *options,
                           rh_write_fn write, void *context);

/* ---- scheduling ---- */

typedef enum rh_inline_calls {
  RH_INLINE_AUTO, /* as XLA does: before scheduling, never in a scheduled module */
  RH_INLINE_NEVER,
  RH_INLINE_ALWAYS,
} rh_inline_calls;

enum {
  RH_UNFUSE_LOOP = 1,
  RH_UNFUSE_INPUT = 2,
  RH_UNFUSE_OUTPUT = 4,
  RH_UNFUSE_ALL = 7, /* custom fusions are never written out */
};

typedef struct rh_schedule_options {
  /* A name of RH_SCHEDULERS, or "auto": `input` if scheduled, else `default`. */
  const char *scheduler;
  bool ignore_schedule; /* take the module as unscheduled, text order as creation order */
  rh_inline_calls inline_calls;
  unsigned unfuse;  /* RH_UNFUSE_…: fusions whose instructions become the caller's */
  rh_copies copies; /* where they are inserted, nothing is read that has been overwritten */
} rh_schedule_options;

#define RH_SCHEDULE_OPTIONS_INIT \
  { "auto", false, RH_INLINE_AUTO, 0, RH_COPIES_AUTO }

/* A module with an order. An unscheduled one is prepared as XLA does before it schedules: calls are
 * inlined, each loop gets its own computations, dead code is dropped. `options` may be NULL. */
RH_API rh_status rh_schedule(const rh_module *module, const rh_schedule_options *options,
                             rh_module **scheduled, rh_diags *diags);

/* ---- memory ---- */

typedef struct rh_memory {
  int64_t peak_bytes;      /* as the model counts */
  int64_t temp_bytes;      /* of it: temporaries, alive at the peak */
  int64_t parameter_bytes; /* of the entry, tables of pointers included */
  int64_t output_bytes;    /* likewise */
  int64_t aliased_bytes;   /* outputs that take over a parameter (input_output_alias) */
  int64_t constant_bytes;
  int64_t total_bytes;             /* parameters + outputs - aliased + constants + temporaries */
  int64_t lower_bound_bytes;       /* of peak_bytes: no order and no recomputation can go below */
  rh_text peak_instruction;        /* empty when nothing needs memory */
  rh_text lower_bound_instruction; /* that sets the bound; empty when it is not one alone */
} rh_memory;

/* Memory of a scheduled module under a model of RH_MEMORY_MODELS. */
RH_API rh_status rh_measure_memory(const rh_module *module, const char *model, rh_memory *memory,
                                   rh_diags *diags);

/* What a byte budget bounds. */
typedef enum rh_limit_counts {
  RH_COUNT_TEMP,
  RH_COUNT_TEMP_OUTPUTS,
  RH_COUNT_TOTAL,
} rh_limit_counts;

RH_API int64_t rh_counted_bytes(const rh_memory *memory, rh_limit_counts counts);

/* A buffer that is alive at the peak. */
typedef struct rh_live_buffer {
  rh_text instruction; /* that makes it */
  rh_text opcode;
  int64_t bytes;
  const char *reason;      /* why it is not recomputed, a word; "none" when it could be */
  const char *explanation; /* the same as a sentence */
} rh_live_buffer;

typedef void (*rh_live_fn)(void *context, const rh_live_buffer *buffer);

struct rh_remat_options;

/* Visits what is alive at the peak, largest first. `options`, which may be NULL, say what could be
 * recomputed. */
RH_API rh_status rh_visit_live(const rh_module *module, const char *model,
                               const struct rh_remat_options *options, rh_live_fn visit,
                               void *context, rh_diags *diags);

/* ---- where the memory goes ---- */

/* A value that is alive at the peak. Texts are valid UTF-8; what is not known is empty. */
typedef struct rh_live_value {
  rh_text name; /* of the instruction that makes it, with the index of a part: `dot.3`, `x{1}` */
  rh_text opcode;
  rh_text shape;
  rh_text computation;
  rh_text op_name;
  rh_text source_file;
  int64_t source_line;  /* 0 = not known */
  bool is_inherited;    /* it has no metadata; that of what it comes from stands in for it */
  const char *category; /* `parameter`, `donated`, `output`, `while carry`, `constant`, `copy`,
                           `temporary`: the first that is true */
  int64_t bytes;        /* that the peak has of it */
  int64_t begin, end;   /* positions, first and last; the end of what outlives the module is
                           num_positions; -1 = not known */
  uint64_t num_aliases; /* values that share its memory, itself included */
} rh_live_value;

typedef enum rh_sum_kind {
  RH_BY_CATEGORY,
  RH_BY_OPCODE,
  RH_BY_SOURCE,      /* file and line */
  RH_BY_OP_NAME,     /* without what transformations add; the opcode where there is none */
  RH_BY_COMPUTATION, /* that makes the value */
  RH_NUM_SUMS,
} rh_sum_kind;

/* Live values that have something in common. */
typedef struct rh_sum {
  rh_text name; /* empty: of those that have none */
  int64_t line; /* of RH_BY_SOURCE, else 0 */
  int64_t bytes;
  uint64_t num_values;
} rh_sum;

typedef struct rh_sums {
  const rh_sum *list; /* largest first */
  size_t len;
} rh_sums;

/* A part of the names of operations, as a directory: `step/block/attention` below `step/block`. */
typedef struct rh_scope {
  rh_text path;
  rh_text name; /* the end of the path */
  uint32_t depth;
  int64_t bytes; /* with all below it */
  uint64_t num_values;
} rh_scope;

typedef struct rh_report {
  rh_text module;
  const char *memory_model;
  const char *target;        /* of RH_TARGETS */
  const char *packing;       /* of RH_PACKINGS */
  int64_t heap_limit_bytes;  /* of rh_set_heap_limit(), -1 = none */
  const int64_t *heap_bytes; /* of the model `heap`: the allocations that temporaries are in, of */
  size_t num_heaps;          /* all memory spaces; several of one only with a limit */
  rh_memory memory;          /* as rh_measure_memory gives it */
  int64_t liveness_peak_bytes; /* of the model `liveness` */
  int64_t packed_temp_bytes;   /* what temporaries take at the offsets that they get, of the model
                                  `heap`, and */
  int64_t fragmentation_bytes; /* what of it is lost at its peak */
  int64_t unused_bytes;        /* of the peak: held while no value is in it, which only `heap` knows
                                  (gaps, outputs that are not computed yet); all else is in `live` */
  int64_t shared_bytes;        /* of values that are put where another one was: what they would
                                  need besides if each had memory of its own */
  int64_t peak_position;       /* of memory.peak_instruction, -1 = nothing needs memory */
  rh_text peak_op_name;        /* where that comes from, as for a value */
  rh_text peak_source_file;
  int64_t peak_source_line;
  int64_t num_positions;     /* the entry's order with what it calls laid out before the call */
  const rh_live_value *live; /* at the peak, largest first; the bytes sum up to the peak */
  size_t num_live;
  rh_sums sums[RH_NUM_SUMS];
  const rh_scope *scopes; /* a tree: each behind its parent, siblings by size */
  size_t num_scopes;
} rh_report;

/* Explains the peak of a scheduled module under a model of RH_MEMORY_MODELS. `*report` is to be
 * freed before the module is. O(n log n). */
RH_API rh_status rh_report_make(const rh_module *module, const char *model, rh_report **report,
                                rh_diags *diags);
RH_API void rh_report_free(rh_report *report);

/* What has another size in `after`. */
typedef struct rh_change {
  rh_text name;
  int64_t line;
  int64_t before_bytes, after_bytes; /* 0 = it is not there */
  uint64_t before_num_values, after_num_values;
} rh_change;

typedef void (*rh_change_fn)(void *context, const rh_change *change);

/* Visits what differs between two lists of sums of one kind, matched by name and line, what changed
 * most first. Neither needs to come from a report; no two of a list have the same name and line.
 * O(n log n). */
RH_API void rh_compare_sums(rh_sums before, rh_sums after, rh_change_fn visit, void *context);

/* ---- memory maps ---- */

/* Memory that holds things of one kind. */
typedef struct rh_memory_space {
  const char *kind; /* `constants`, `parameters`, `outputs`, `temporaries` */
  int64_t color;    /* of temporaries: the memory space of their layouts, S(n); else 0 */
  int64_t bytes;    /* with a limit its heaps one behind the other */
} rh_memory_space;

/* A value in the place that it gets. No two of a space have the same bytes at the same time. */
typedef struct rh_placed_value {
  rh_live_value value;  /* its begin and end: where it is computed, where it is needed last */
  rh_text scope;        /* its op_name as a path in rh_report.scopes */
  size_t space;         /* which of the spaces */
  int64_t offset;       /* in it, bytes */
  int64_t begin, end;   /* positions at which the memory is its own, the end not among them; where
                           the memory goes to another value that is before value.end */
  int64_t position;     /* of the instruction that makes it */
  const int64_t *reads; /* positions of instructions that read it, ascending */
  size_t num_reads;
  bool is_rematerialized; /* rh_remat had it computed again */
} rh_placed_value;

/* Where every value of a module lies and when: what the model `heap` counts, and constants. */
typedef struct rh_memory_map {
  rh_text module;
  const rh_memory_space *spaces; /* in the order above: as they are stacked */
  size_t num_spaces;
  const rh_placed_value *values; /* by space, begin and offset */
  size_t num_values;
  int64_t num_positions;       /* as in rh_report */
  const rh_text *instructions; /* by position: names */
  const int64_t *live_bytes;   /* by position: of temporaries what is live, of all else all */
  int64_t peak_position;       /* where the most is live, -1 = nowhere */
  int64_t total_bytes;         /* of all spaces */
  rh_memory memory;            /* of the model `heap` */
} rh_memory_map;

/* Places the values of a scheduled module. `*map` is to be freed before the module is. What
 * rh_measure_memory takes for `heap`, and O(values · log values + uses). */
RH_API rh_status rh_memory_map_make(const rh_module *module, rh_memory_map **map, rh_diags *diags);
RH_API void rh_memory_map_free(rh_memory_map *map);

/* ---- cost ---- */

typedef struct rh_profile rh_profile; /* a device */

/* Reads a device profile (JSON, share/remat-hlo/profiles). */
RH_API rh_status rh_profile_parse(const char *json, size_t length, rh_profile **profile,
                                  rh_diags *diags);
RH_API void rh_profile_free(rh_profile *profile);
RH_API const char *rh_profile_name(const rh_profile *profile);
RH_API const char *rh_profile_description(const rh_profile *profile);
RH_API int64_t rh_profile_memory_bytes(const rh_profile *profile); /* of the device; 0 = unknown */

/* Sets the link to the host's memory and back, bytes per second; 0 = it stays. */
RH_API void rh_profile_set_host_link(rh_profile *profile, double to_host, double to_device);

typedef struct rh_cost {
  /* Sums over the entry as XLA's HloCostAnalysis gives them: loop bodies once, custom calls -1. */
  int64_t flops, transcendentals, bytes_accessed;
  /* The same weighted by trip counts, over everything that runs. */
  double flops_weighted, transcendentals_weighted, bytes_accessed_weighted;
  double offloaded_bytes; /* copied to the host's memory, weighted */
  double seconds;         /* modelled by the profile's roofline, weighted; 0 without a profile */
  /* Of them: that nothing runs because of a copy from or to the host's memory. In a module with an
   * order, asynchronous ones overlap with what runs. */
  double stall_seconds;
} rh_cost;

/* What somebody knows of instructions whose name, or custom_call_target, has a match of a POSIX
 * extended expression; a figure of -1 is not known. Each time that they run, no loops counted in.
 */
typedef struct rh_known_cost {
  const char *expression;
  int64_t flops, transcendentals, bytes_accessed;
} rh_known_cost;

/* These figures stand in for those that are found out, of modules that are made from it later too;
 * the first expression that matches holds. They count in weighted figures and in seconds, and where
 * algorithms look at cost, but not in HloCostAnalysis's own sums. A custom call whose flops are
 * known runs at the rate of matrix products. A fusion is meant by its own name only. RH_ERR_USAGE
 * when something is no expression. Costs that were set before are forgotten. */
RH_API rh_status rh_set_costs(rh_module *module, const rh_known_cost *costs, size_t count,
                              rh_diags *diags);

/* Cost of a module. `profile` may be NULL. `default_trip_count` stands in for loops whose trip
 * count the text does not tell. */
RH_API rh_status rh_measure_cost(const rh_module *module, const rh_profile *profile,
                                 int64_t default_trip_count, rh_cost *cost, rh_diags *diags);

/* ---- where the time goes ---- */

/* What takes part in the cost of a module: one instruction, or all that have something in common.
 * Figures are weighted: times how often each runs. */
typedef struct rh_cost_share {
  rh_text name; /* as in rh_sum; of a scope the end of its path; valid UTF-8, empty when unknown */
  int64_t line; /* of a source, else 0 */
  uint64_t num_instructions;
  double flops, transcendentals, bytes_accessed; /* XLA's -1 of custom calls counts as 0 */
  double seconds;                                /* modelled */
  double memory_seconds; /* of them: of instructions that the memory's bandwidth bounds */
} rh_cost_share;

typedef struct rh_cost_shares {
  const rh_cost_share *list; /* longest first */
  size_t len;
} rh_cost_shares;

typedef struct rh_cost_instruction {
  rh_cost_share share; /* its name is the instruction's */
  rh_text opcode, shape, computation, op_name, source_file;
  int64_t source_line; /* 0 = not known */
  double runs;         /* how often */
  const char *bound;   /* `compute`, `transcendentals`, `memory`, `link`, `launch` */
} rh_cost_instruction;

/* A scope of names of operations, as rh_scope. */
typedef struct rh_cost_scope {
  rh_cost_share share;
  rh_text path;
  uint32_t depth;
} rh_cost_scope;

typedef struct rh_cost_report {
  rh_text module;
  const char *device;
  rh_cost cost; /* as rh_measure_cost gives it */
  rh_cost_share total;
  uint64_t num_unknown_loops;       /* whose trip count the text does not tell */
  uint64_t num_unknown_calls;       /* custom calls: only the bytes that go in and out are known */
  rh_cost_shares sums[RH_NUM_SUMS]; /* none by category */
  const rh_cost_instruction *instructions; /* that take time, longest first */
  size_t num_instructions;
  const rh_cost_scope *scopes; /* a tree: each behind its parent, siblings by time */
  size_t num_scopes;
} rh_cost_report;

/* Explains a module's modelled time on a device. `*report` is to be freed before the module and the
 * profile are. O(n log n). */
RH_API rh_status rh_cost_report_make(const rh_module *module, const rh_profile *profile,
                                     int64_t default_trip_count, rh_cost_report **report,
                                     rh_diags *diags);
RH_API void rh_cost_report_free(rh_cost_report *report);

/* ---- rematerialization ---- */

typedef enum rh_emit {
  RH_EMIT_SCHEDULED,   /* is_scheduled=true, instructions in the order of the schedule */
  RH_EMIT_UNSCHEDULED, /* not scheduled: what was recomputed keeps its place by rh_protect alone */
} rh_emit;

/* What keeps XLA, which compiles the result, from merging recomputed values with the first ones and
 * from computing them early. All forms give the same results bit for bit. */
typedef enum rh_protect {
  RH_PROTECT_AUTO,         /* none where the result is scheduled, else control-deps */
  RH_PROTECT_NONE,         /* nothing: XLA's common subexpression elimination must be over */
  RH_PROTECT_CONTROL_DEPS, /* they wait for the instruction before them; StableHLO has no such thing
                            */
  RH_PROTECT_OPT_BARRIER, /* what they read comes through a barrier with a value made just before */
  RH_PROTECT_CONDITIONAL, /* they are a branch that is always taken, which XLA cannot know */
} rh_protect;

/* What XLA's algorithms may do with a value instead of keeping it; narrowing, which XLA does not
 * know, never changes a bit. */
enum {
  RH_REMAT_RECOMPUTE = 1,
  RH_REMAT_COMPRESS = 2, /* keep it in a layout with less padding, where the target pads arrays */
  RH_REMAT_OFFLOAD = 4,  /* keep it in the host's memory, where a profile says that there is time */
  RH_REMAT_NARROW = 8,   /* keep it as integers of fewer bits, where all its elements are such */
};

typedef struct rh_remat_options {
  const char *algorithm;    /* a name of RH_ALGORITHMS */
  const char *memory_model; /* a name of RH_MEMORY_MODELS */
  rh_limit_counts limit_counts;
  int64_t limit_bytes; /* INT64_MAX = no budget, nothing is done; 0 = as low as it gets */
  rh_emit emit;
  rh_protect protect;
  int64_t small_node_bytes; /* results of at most this size are not recomputed; 0 = all may be */
  bool remat_collectives;   /* they may be recomputed, by all devices together */
  bool clone_callees; /* a computation with several callers is cloned for those with other room */
  /* of XLA's algorithms */
  int64_t min_remat_bytes;   /* XLA's min_remat_size */
  uint32_t block_size_limit; /* consecutive instructions that are recomputed together */
  double block_factor;       /* XLA's block_rematerialization_factor; 0 = limit / 8, at least 1 */
  unsigned modes;            /* RH_REMAT_…, of `standard` and `peak-priority` */
  bool callees_once; /* each computation is reduced once, as its first caller needs it, as XLA does;
                        under the memory model `xla-remat` it always is */
  /* of `path` */
  uint32_t path_depth; /* instructions in a row that are recomputed to recompute a value, at most */
  rh_copies copies;    /* where they are inserted, clones read nothing that has been overwritten */
  /* of `checkpoint=collection`: POSIX extended expressions, one a line; kept is what has a match of
   * one in its name, its op_name or its `source_file:line`; NULL = nothing is kept for its name */
  const char *collection;
  /* Likewise, for all algorithms; NULL = nothing. What `pin` matches is left alone: its value stays
   * in memory, as it is, until its last use. What `never` matches is not computed a second time, by
   * itself or for something else, nor is a fusion that has it inside; it may be compressed or
   * offloaded. With a bitcast or get-tuple-element that matches, what it takes its value from is
   * meant, too. */
  const char *pin;
  const char *never;
  const rh_profile *profile; /* for RH_REMAT_OFFLOAD; NULL = nothing is offloaded */
  const char *parameters;    /* of RH_PARAMETERS, a `name=value` a line; NULL = the defaults */
  bool keep_plan;            /* so that rh_emit_plan can tell what was done */
} rh_remat_options;

#define RH_REMAT_OPTIONS_INIT                                                                   \
  {                                                                                             \
    "path", "heap", RH_COUNT_TOTAL, INT64_MAX, RH_EMIT_SCHEDULED, RH_PROTECT_AUTO,              \
        INT64_C(1) << 20, false, false, 0, 1, 0, RH_REMAT_RECOMPUTE, false, 10, RH_COPIES_AUTO, \
        NULL, NULL, NULL, NULL, NULL, false                                                     \
  }

typedef struct rh_remat_result {
  bool is_met;                          /* counted_bytes is within the limit */
  int64_t counted_bytes;                /* of the result, counted again from its text */
  int64_t xla_reported_after_bytes;     /* what XLA's pass would claim; -1 for other algorithms */
  rh_protect protect;                   /* what the options come to: never auto */
  double remat_seconds, verify_seconds; /* taken by the two */
} rh_remat_result;

/* Recomputes values of a scheduled module until it fits the budget. The result is parsed again from
 * the text that rh_print gives, and it is proven to compute what the module does that was parsed
 * first: RH_ERR_SYSTEM when that fails, a fault of ours. RH_NO when the budget is not met;
 * `*result` is then the best that was found. `result_info` may be NULL. */
RH_API rh_status rh_remat(const rh_module *module, const rh_remat_options *options,
                          rh_module **result, rh_remat_result *result_info, rh_diags *diags);

/* What was done to a module, step by step, as JSON that a person can edit; the manual page
 * documents its keys. */
typedef struct rh_plan rh_plan;

/* Reads a plan; the text need not stay. RH_ERR_INPUT when it is none, with the place. */
RH_API rh_status rh_plan_parse(const char *json, size_t length, rh_plan **plan, rh_diags *diags);
RH_API void rh_plan_free(rh_plan *plan);

/* How the module that it is applied to is to be scheduled, and for which of RH_TARGETS. They live
 * as long as the plan. */
RH_API rh_schedule_options rh_plan_preparation(const rh_plan *plan);
RH_API const char *rh_plan_target(const rh_plan *plan);

/* Does to a scheduled module what a plan says: the very same as rh_remat did, if the plan is that
 * of its result, and the module, its preparation and `emit` are the same. What is dead then is
 * dropped; `algorithm`, `collection` and `small_node_bytes` do not matter. The result is verified
 * as that of rh_remat, and RH_NO means the same. RH_ERR_INPUT when the plan cannot be done: it
 * names what is not there, computes again what may not be, or has something run before what it
 * reads. The places of diagnostics are in the plan's text. A plan for another module or order is a
 * warning. */
RH_API rh_status rh_apply_plan(const rh_module *module, const rh_plan *plan,
                               const rh_remat_options *options, rh_module **result,
                               rh_remat_result *result_info, rh_diags *diags);

/* Writes the plan of a result of rh_remat or rh_apply_plan whose options had `keep_plan`.
 * `profile`, which may be NULL, gives the seconds that steps take, `default_trip_count` is as for
 * rh_measure_cost. RH_ERR_USAGE when there is no plan, RH_ERR_SYSTEM when `write` failed. */
RH_API rh_status rh_emit_plan(const rh_module *result, const rh_profile *profile,
                              int64_t default_trip_count, rh_write_fn write, void *context,
                              rh_diags *diags);

typedef struct rh_verify_options {
  rh_copies copies;     /* whether XLA's copies are in `before` */
  bool ignore_schedule; /* side effects may come in another order than in `before` */
} rh_verify_options;

/* Whether `after` computes what `before` computes, bit for bit as HLO means it; and, where both
 * have an order and `before` is past copy-insertion, whether nothing in `after` is read when its
 * memory has been overwritten. RH_NO with notes in `diags` that say what differs when that cannot
 * be shown. `options` NULL: RH_COPIES_AUTO, and the order of side effects matters. */
RH_API rh_status rh_verify(const rh_module *before, const rh_module *after,
                           const rh_verify_options *options, rh_diags *diags);

/* ---- offset packing ---- */

/* Memory that is held in [lower, upper) of some clock. */
typedef struct rh_live_range {
  int64_t lower, upper; /* ticks, lower < upper */
  int64_t bytes;        /* 0 takes no memory: its offset is 0 */
  int64_t alignment;    /* of the offset, in bytes; 0 means 1 */
} rh_live_range;

typedef struct rh_pack_options {
  const char *packing;      /* a name of RH_PACKINGS */
  int64_t capacity_bytes;   /* a height that is good enough; -1 = as low as it gets */
  int64_t heap_limit_bytes; /* of one piece of memory, a heap: there are as many as it takes, and
                               none is larger unless its largest buffer is; -1 = one heap */
  uint64_t max_steps;       /* looks at a buffer at one time, some nanoseconds each */
  double max_seconds;       /* 0 = no limit; with one, the result depends on the machine */
  /* As those of rh_parse_options. */
  size_t max_memory_bytes;
  void (*on_out_of_memory)(void *context, size_t wanted_bytes, size_t limit_bytes);
  void *context;
} rh_pack_options;

#define RH_PACK_OPTIONS_INIT \
  { "best", -1, -1, UINT64_C(500000000), 0, 0, NULL, NULL }

typedef struct rh_pack_result {
  int64_t height_bytes;      /* the highest end of a buffer: what the memory must have; with a limit
                                the sum over the heaps */
  int64_t lower_bound_bytes; /* no packing is lower: what lives at one time at most, with padding to
                                what all alignments have in common if there is one heap */
  bool is_optimal;           /* proven: no packing is lower than this one */
  uint32_t num_heaps;        /* at least 1 */
  uint64_t num_steps;
  double seconds;
} rh_pack_result;

/* Finds offsets for buffers that share one memory: two that live at the same time do not overlap.
 * `offsets` has room for `count`, and so has `heaps`, which gets the heap that each offset is in,
 * from 0 on; it may be NULL. RH_NO when the height is above the capacity; the offsets are then
 * the best that were found. RH_ERR_INPUT when a range is not valid, or all sizes together are more
 * than INT64_MAX / 4. `options` and `result` may be NULL. The same result on every machine, unless
 * `max_seconds` is set. */
RH_API rh_status rh_pack(const rh_live_range *ranges, size_t count, const rh_pack_options *options,
                         int64_t *offsets, uint32_t *heaps, rh_pack_result *result,
                         rh_diags *diags);

/* A table of live ranges as a text. */
typedef struct rh_live_ranges rh_live_ranges;

/* Reads live ranges as minimalloc writes them: CSV whose first line names the columns, in any
 * order: `id` (or `buffer`, `buffer_id`), `lower` (or `begin`, `start`), `upper`, or `end`, the
 * last tick that is still included, `size`, and, if there are any, `alignment`, `offset`, `heap`
 * and `hint`, which are not read, and `gaps`, which must be empty. The text must stay as long as
 * `*ranges`, which the caller frees. `options` may be NULL. RH_ERR_INPUT: the errors are in
 * `diags`. Linear. */
RH_API rh_status rh_live_ranges_parse(const char *text, size_t length,
                                      const rh_parse_options *options, rh_live_ranges **ranges,
                                      rh_diags *diags);
RH_API void rh_live_ranges_free(rh_live_ranges *ranges);
RH_API size_t rh_live_ranges_len(const rh_live_ranges *ranges);
RH_API const rh_live_range *rh_live_ranges_data(const rh_live_ranges *ranges);

/* Writes the text again, line by line, with a last column `offset`, and one for `heap` behind it
 * unless `heaps` is NULL; those that were there are left out. RH_ERR_SYSTEM when `write` failed. */
RH_API rh_status rh_live_ranges_print(const rh_live_ranges *ranges, const int64_t *offsets,
                                      const uint32_t *heaps, rh_write_fn write, void *context);

/* ---- pictures and logs ---- */

typedef struct rh_dot_options {
  const char *memory_model;
  int64_t min_bytes; /* what is larger is shown; -1 = what matters and max_nodes allows */
  uint32_t max_nodes;
  const char *filter; /* "peak", "all", "name:…", "regex:…", "scope:…", "computation:…" */
  uint32_t num_hops;  /* of producers and readers around what the filter wants */
} rh_dot_options;

#define RH_DOT_OPTIONS_INIT \
  { "heap", -1, 80, "peak", 1 }

/* Whether a graph may have this filter; a diagnostic says what is wrong with it. */
RH_API rh_status rh_dot_check_filter(const char *filter, rh_diags *diags);

/* Writes a scheduled module's graph for graphviz. RH_ERR_USAGE when the library was built without.
 */
RH_API rh_status rh_emit_dot(const rh_module *module, const rh_dot_options *options,
                             rh_write_fn write, void *context, rh_diags *diags);

typedef enum rh_memlog_format {
  RH_MEMLOG_TEXT,
  RH_MEMLOG_CSV,
  RH_MEMLOG_JSONL,
} rh_memlog_format;

/* Writes what each instruction of a scheduled module does to memory, one line each, in order. */
RH_API rh_status rh_emit_memlog(const rh_module *module, const char *memory_model,
                                rh_memlog_format format, rh_write_fn write, void *context,
                                rh_diags *diags);

/* Where values lie and when, drawn: one map, or two side by side in one scale. */
typedef struct rh_picture {
  const rh_memory_map *before;
  const rh_memory_map *after; /* NULL = there is but one */
  const char *before_title;   /* over each, as the file's name; NULL = none */
  const char *after_title;
  int64_t limit_bytes; /* a line is drawn there; -1 = no line */
  rh_limit_counts limit_counts;
} rh_picture;

#define RH_PICTURE_INIT \
  { NULL, NULL, NULL, NULL, -1, RH_COUNT_TOTAL }

typedef enum rh_picture_format {
  RH_PICTURE_HTML,     /* a page that needs nothing else, to zoom, search and ask */
  RH_PICTURE_SVG,      /* stands still */
  RH_PICTURE_PERFETTO, /* trace-event JSON, a microsecond a position */
  RH_NUM_PICTURE_FORMATS,
} rh_picture_format;

/* Writes a picture. RH_ERR_SYSTEM when `write` failed. */
RH_API rh_status rh_emit_picture(const rh_picture *picture, rh_picture_format format,
                                 rh_write_fn write, void *context, rh_diags *diags);

/* `1.50 KiB`, `81.25 MiB`: powers of 1024, two decimals, no locale. Ends in NUL. */
#define RH_FORMAT_CHARS 32
RH_API void rh_format_bytes(int64_t bytes, char text[RH_FORMAT_CHARS]);

/* `1,234,567`. */
RH_API void rh_format_count(uint64_t count, char text[RH_FORMAT_CHARS]);

/* ---- registries ---- */

typedef enum rh_registry {
  RH_SCHEDULERS,
  RH_ALGORITHMS,
  RH_MEMORY_MODELS,
  RH_LINT_RULES,
  RH_PACKINGS,
  RH_TARGETS,
  RH_PARAMETERS, /* what steers algorithms, for experiments: rh_remat_options.parameters */
} rh_registry;

/* What to know of an entry before it is asked for. */
enum {
  /* algorithms */
  RH_TRAIT_OF_XLA = 1,           /* decides as XLA's own pass */
  RH_TRAIT_NEEDS_COLLECTION = 2, /* runs only with rh_remat_options.collection */
  RH_TRAIT_NEEDS_PADDING = 4,    /* finds nothing to do where the target pads no arrays */
  RH_TRAIT_IDLE = 8,             /* changes nothing */
  RH_TRAIT_ON_REQUEST = 128,     /* of interest to who asks for it: as it was published */
  /* memory models */
  RH_TRAIT_FREE_PARAMETERS = 16, /* its figures are without parameters */
  RH_TRAIT_PACKS = 32,           /* buffers share memory, and have places in it */
  /* targets */
  RH_TRAIT_PADS = 64, /* arrays, to the tiles in their layouts */
};

typedef struct rh_entry {
  const char *name;
  const char *summary;
  unsigned traits; /* RH_TRAIT_… */
} rh_entry;

/* The entry number `index` of a registry; false when there is none. */
RH_API bool rh_list(rh_registry registry, size_t index, rh_entry *entry);

/* The entry of this name; false when there is none. */
RH_API bool rh_find(rh_registry registry, const char *name, rh_entry *entry);

#ifdef __cplusplus
}
#endif

#endif
