/* remat-hlo: reads HLO text as XLA dumps it, schedules it, rematerializes it under a byte budget,
 * and writes back HLO that XLA compiles. A whole program (tests/api/example.c):
 *
 *     #include <remat_hlo.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     static int put(void *file, const char *data, size_t length) {
 *       return fwrite(data, 1, length, (FILE *)file) == length ? 0 : 1;
 *     }
 *
 *     static rh_status reduce(const char *hlo, int64_t limit_bytes, rh_diags *diags) {
 *       rh_module *input = NULL, *scheduled = NULL, *result = NULL;
 *       rh_remat_options options = RH_REMAT_OPTIONS_INIT;
 *       rh_status status = rh_parse(hlo, strlen(hlo), NULL, &input, diags);
 *       options.limit_bytes = limit_bytes;
 *       if (status == RH_OK) status = rh_schedule(input, NULL, NULL, &scheduled, diags);
 *       if (status == RH_OK) status = rh_remat(scheduled, NULL, &options, &result, NULL, diags);
 *       if (status == RH_OVER_LIMIT) fputs("above the limit, but the best there is:\n", stderr);
 *       if (result != NULL && rh_print(result, put, stdout, diags) != RH_OK) status = RH_ERR_WRITE;
 *       rh_module_free(result);
 *       rh_module_free(scheduled);
 *       rh_module_free(input);
 *       return status;
 *     }
 *
 *     int main(void) {
 *       const char *hlo =
 *           "HloModule m\n\nENTRY e {\n  p = f32[1000] parameter(0)\n"
 *           "  a = f32[1000] negate(p)\n  ROOT r = f32[1000] add(p, a)\n}\n";
 *       rh_diags *diags = rh_diags_new();
 *       rh_status status = reduce(hlo, 12000, diags);
 *       for (size_t i = 0; i < rh_diags_len(diags); i++)
 *         fprintf(stderr, "%s\n", rh_diags_get(diags, i)->message);
 *       rh_diags_free(diags);
 *       return status == RH_OK ? 0 : 1;
 *     }
 *
 * What holds for all functions:
 *
 * - Modules do not change once they are made: whatever is done to one makes another. What a text
 *   does not tell, such as the machine that it is compiled for, are rh_settings, which go with each
 *   call that they influence.
 * - The library does no input or output but through the functions that it is given, and keeps
 *   nothing between calls. It never prints, exits or aborts, but for a failed assert of a debug
 *   build. All sizes are bytes.
 * - A function that can fail returns a status, and explains it in `diags`, which may be NULL. If it
 *   fails, a result that it would have made is NULL, one that it would have filled in is all zero,
 *   and nothing is lost. It fails with RH_OVER_LIMIT too, but then there are results.
 * - Running out of memory is RH_ERR_MEMORY, everywhere. (What cgraph does then, which writes the
 *   graphs of rh_emit_dot, is its own matter: it may end the program.)
 * - What is made is freed by the function named so, which takes NULL too. What a pointer to const
 *   leads to belongs to the library, and lives as long as what it was asked of, unless its comment
 *   says otherwise. A module keeps spans into the text that it was parsed from: the text must stay
 *   as it is until the module and all modules made from it are freed, in any order.
 * - A pointer may be NULL only where a comment says so.
 * - Functions that are given (`write`, `visit`) are called before the call returns, by the thread
 *   that made it. They may call the library; they must return, and not by longjmp or an exception.
 *
 * Threads. Each comment says one of these:
 *
 * - Threads: any. Any number of threads may call it at the same time, also with the same const
 *   arguments; two calls at the same time need two rh_diags.
 * - Threads: one for each X. As long as it runs, no other call is given the same X.
 * - Threads: one. As long as it runs, nobody else in the program calls it, or anything else that
 *   its comment names.
 *
 * How structs grow. A program that was compiled with this header runs with later versions of the
 * library that have the same RH_VERSION_MAJOR (below 1.0.0: the same major and minor one). For
 * that, three rules:
 *
 * - A struct that the caller makes, for options and results, begins with `struct_size`, and begins
 *   its life as RH_…_INIT, which sets it. The library reads and writes no more than that. Later
 *   versions add fields at the end only, and there 0 means what was before there was the field. A
 *   field that the library does not know, because it is older than the program, must be 0: else the
 *   call fails with RH_ERR_USAGE, as it does when `struct_size` is not set.
 * - A struct that the library makes is read through the pointer that leads to it, and gets new
 *   fields at its end. Lists of such are lists of pointers: `report->live[i]->bytes`. Whoever
 *   copies one sets `struct_size` of the copy, if it has that, to its own sizeof.
 * - rh_text, rh_sums, rh_cost_shares and rh_live_range never change. Enumerations get new values at
 *   their end; so a program has a default for those that it does not know. A value that the library
 *   does not know makes a call fail with RH_ERR_USAGE. */
#ifndef REMAT_HLO_H
#define REMAT_HLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of this header. CMakeLists.txt takes them from here. */
#define RH_VERSION_MAJOR 0
#define RH_VERSION_MINOR 1
#define RH_VERSION_PATCH 0

/* For comparisons: `#if RH_VERSION_NUMBER >= RH_VERSION_OF(0, 2, 0)`. */
#define RH_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define RH_VERSION_NUMBER RH_VERSION_OF(RH_VERSION_MAJOR, RH_VERSION_MINOR, RH_VERSION_PATCH)

#define RH_VERSION_QUOTE(text) #text
#define RH_VERSION_JOIN(major, minor, patch) \
  RH_VERSION_QUOTE(major) "." RH_VERSION_QUOTE(minor) "." RH_VERSION_QUOTE(patch)
/* "0.1.0" */
#define RH_VERSION_STRING RH_VERSION_JOIN(RH_VERSION_MAJOR, RH_VERSION_MINOR, RH_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#if defined(RH_BUILDING) && defined(__GNUC__)
#define RH_API __attribute__((visibility("default")))
#else
#define RH_API
#endif

/* The version of the library that runs, "0.1.0"; a constant. Threads: any. */
RH_API const char *rh_version(void);

/* The same as a number, to be compared with RH_VERSION_NUMBER. Threads: any. */
RH_API int rh_version_number(void);

/* ---- status and diagnostics ---- */

typedef enum rh_status {
  RH_OK = 0,
  RH_OVER_LIMIT = 1,     /* done, but the result is above the byte limit: the best one is there */
  RH_NOT_EQUIVALENT = 2, /* it is not shown that two modules compute the same */
  RH_ERR_USAGE = 3,      /* an argument that is unknown, out of range or too early */
  RH_ERR_INPUT = 4,      /* the text is not what it should be, or contradicts itself */
  RH_ERR_WRITE = 5,      /* the function that takes the output said so */
  RH_ERR_MEMORY = 6,     /* there is none, or no more than was allowed */
  RH_ERR_INTERNAL = 7,   /* a fault of ours, found before it did harm; please report it */
} rh_status;

/* The name, "RH_OK"; "unknown" for what is none. A constant. Threads: any. */
RH_API const char *rh_status_name(rh_status status);

typedef enum rh_severity {
  RH_SEVERITY_ERROR,
  RH_SEVERITY_WARNING,
  RH_SEVERITY_NOTE,
} rh_severity;

/* What a diagnostic is about, for programs: messages may be worded anew, numbers stay. */
typedef enum rh_code {
  RH_CODE_OTHER = 0,
  /* errors of any call */
  RH_CODE_OUT_OF_MEMORY = 1, /* wanted_bytes and limit_bytes say how much */
  RH_CODE_WRITE_FAILED = 2,
  RH_CODE_INTERNAL = 3,
  RH_CODE_STRUCT_SIZE = 4,  /* a struct was not begun as RH_…_INIT, or is of a later version */
  RH_CODE_UNKNOWN_NAME = 5, /* there is no such algorithm, model, target, … */
  RH_CODE_BAD_OPTION = 6,   /* an option's value cannot be */
  RH_CODE_EXPRESSION = 7,   /* this is no POSIX extended expression, or a too expensive one */
  RH_CODE_NOT_BUILT = 8,    /* this build of the library cannot do it */
  RH_CODE_NO_SCHEDULE = 9,  /* the module has no order yet: rh_schedule gives it one */
  RH_CODE_NO_PLAN = 10,     /* the module was not made with rh_remat_options.keep_plan */
  RH_CODE_TOO_LARGE = 11,   /* more than the library can count: 4 GiB of text, 2^30 ranges */
  /* errors of texts */
  RH_CODE_SYNTAX = 20,        /* XLA's parser would not read the HLO text either */
  RH_CODE_UNDEFINED = 21,     /* the HLO text uses a name that is not defined above */
  RH_CODE_CONTRADICTION = 22, /* the module reads well, and contradicts itself */
  RH_CODE_FINDING = 23,       /* of rh_lint; `rule` names which */
  RH_CODE_JSON = 24,          /* this is not JSON */
  RH_CODE_PROFILE = 25,       /* the JSON is no device profile */
  RH_CODE_PLAN = 26,          /* the JSON is no plan, or one that cannot be done */
  RH_CODE_TABLE = 27,         /* the CSV is no table of live ranges */
  RH_CODE_RANGE = 28,         /* a live range cannot be */
  /* notes with RH_NOT_EQUIVALENT */
  RH_CODE_DIFFERENCE = 40, /* what differs, or cannot be shown to be the same */
  /* warnings */
  RH_CODE_OTHER_MODULE = 60,    /* the plan was made for another module, or another order */
  RH_CODE_PLAN_INCOMPLETE = 61, /* the plan that is kept does not tell all that was done */
  RH_CODE_ENDED_EARLY = 62,     /* an algorithm was ended, as it would not come to an end in time */
  RH_CODE_NO_MATCH = 63,        /* nothing has a match of a filter or expression */
  RH_CODE_OVERWRITTEN_READ = 64, /* the module reads what has been overwritten, as it came */
} rh_code;

#define RH_NO_OFFSET SIZE_MAX

/* One diagnostic. Made by the library. */
typedef struct rh_diag {
  rh_severity severity;
  rh_code code;
  const char *message;  /* a sentence without capital and full stop */
  size_t offset;        /* into the text, RH_NO_OFFSET = nowhere in particular; rh_locate tells line
                           and column. The text is that of the module, or what the function parses;
                           of rh_apply_plan that of the plan */
  size_t opener_offset; /* of the bracket or definition that it goes back to, or RH_NO_OFFSET */
  const char *rule;     /* of RH_LINT_RULES that it is a finding of; NULL for anything else */
  size_t wanted_bytes;  /* of RH_CODE_OUT_OF_MEMORY: what could not be had, and */
  size_t limit_bytes;   /* the limit that was set, 0 = none; both 0 for anything else */
} rh_diag;

/* A list of diagnostics that calls add to. */
typedef struct rh_diags rh_diags;

/* An empty list, NULL when there is no memory. To be freed with rh_diags_free. Threads: any. */
RH_API rh_diags *rh_diags_new(void);

/* Threads: one for each list. */
RH_API void rh_diags_free(rh_diags *diags);

/* How many there are; of NULL none. Threads: any, as long as no call adds to the list. */
RH_API size_t rh_diags_len(const rh_diags *diags);

/* The one of this index, from 0, NULL behind the last; valid until a call adds to the list.
 * Threads: any, as long as no call adds to the list. */
RH_API const rh_diag *rh_diags_get(const rh_diags *diags, size_t index);

/* Line and column of an offset, both from 1; columns are bytes. O(offset). Threads: any. */
RH_API void rh_locate(const char *text, size_t length, size_t offset, size_t *line, size_t *column);

/* The candidate that `word` is most likely a misspelling of, NULL when none is close. Threads: any.
 */
RH_API const char *rh_closest_word(const char *word, const char *const *candidates, size_t count);

/* ---- output ---- */

/* Takes bytes; returns 0, or anything else to stop: the call then fails with RH_ERR_WRITE. What was
 * taken before is not taken back, so whoever writes files writes them elsewhere first. */
typedef int (*rh_write_fn)(void *context, const char *data, size_t length);

/* Text that the library owns, not ended by NUL. */
typedef struct rh_text {
  const char *data;
  size_t length;
} rh_text;

/* ---- modules ---- */

typedef struct rh_module rh_module;

typedef struct rh_parse_options {
  size_t struct_size;
  size_t max_memory_bytes; /* of the module and of all that is made from it, each; 0 = no limit */
  uint32_t max_errors; /* that `diags` gets at most: behind an error the next instruction is read,
                          as if what was broken were right; 0 = 1 */
} rh_parse_options;

#define RH_PARSE_OPTIONS_INIT \
  { sizeof(rh_parse_options), 0, 0 }

/* Parses HLO text as XLA does; `options` may be NULL. `*module` is to be freed with rh_module_free;
 * warnings may be in `diags`. RH_ERR_INPUT when XLA would not read it either: an error is then in
 * `diags`, the first one first. Linear. Threads: any. */
RH_API rh_status rh_parse(const char *text, size_t length, const rh_parse_options *options,
                          rh_module **module, rh_diags *diags);

/* What is made from a module may stay. Threads: one for each module. */
RH_API void rh_module_free(rh_module *module);

/* Whether a module is past XLA's copy-insertion. Then values share memory by design (outputs with
 * donated parameters, loop carries, updates in place), nothing copies them any more, and what reads
 * one of them after another was written reads wrong numbers. */
typedef enum rh_copies {
  RH_COPIES_AUTO,     /* it is if it may be: scheduled, with fusions, or with copies of donated
                         parameters or loop carries; of what is made from a module, as that was
                         taken */
  RH_COPIES_INSERTED, /* it is: XLA's after_optimizations dumps, POST_SCHEDULER hooks */
  RH_COPIES_PENDING,  /* it is not: XLA will insert what is needed */
} rh_copies;

/* What is told of a module. Made by the library. */
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
  rh_copies copies;            /* what RH_COPIES_AUTO comes to: never auto */
} rh_module_info;

/* What there is to know of a module. O(1). Threads: any. */
RH_API const rh_module_info *rh_get_info(const rh_module *module);

/* Whether the module is consistent enough to be analysed; the functions below check it themselves.
 * RH_ERR_INPUT with the place of the first contradiction. Threads: any. */
RH_API rh_status rh_check(const rh_module *module, rh_diags *diags);

typedef struct rh_lint_options {
  size_t struct_size;
  uint64_t max_findings; /* that `diags` gets at most, those of rh_check included; 0 = all */
  bool is_strict;        /* findings are errors, not warnings */
} rh_lint_options;

#define RH_LINT_OPTIONS_INIT \
  { sizeof(rh_lint_options), 0, false }

/* Looks for what XLA's parser takes and its HloVerifier would refuse, or drop in silence: shapes
 * that contradict operands, called computations, pairs and groups that do not fit, source locations
 * that are not there. The rules are RH_LINT_RULES; a diagnostic names the one it is a finding of.
 * What rh_check refuses is found too, all of it, as errors without a rule. RH_ERR_INPUT when there
 * is an error. `options` and `num_findings`, which counts beyond `max_findings`, and is right with
 * RH_ERR_INPUT too, may be NULL. O(n log n). Threads: any. */
RH_API rh_status rh_lint(const rh_module *module, const rh_lint_options *options,
                         uint64_t *num_findings, rh_diags *diags);

/* Writes the module as HLO text: byte for byte what was parsed, or that with the changed pieces
 * replaced. RH_ERR_WRITE when `write` failed. Threads: any. */
RH_API rh_status rh_print(const rh_module *module, rh_write_fn write, void *context,
                          rh_diags *diags);

typedef struct rh_format_options {
  size_t struct_size;
  bool is_short; /* XLA's short form: no `%`, signatures, metadata; control dependencies stay */
  bool omit_metadata;  /* no metadata, no tables of source locations; is_short does so too */
  bool omit_locations; /* of metadata no files, lines and stack frames; no tables */
} rh_format_options;

#define RH_FORMAT_OPTIONS_INIT \
  { sizeof(rh_format_options), false, false, false }

/* Writes the module laid out as XLA's printer does it: one instruction a line, with its shape, its
 * operands as names, and its attributes in XLA's order. Names, the order of instructions, and the
 * spelling of numbers and strings are those of the text, so that XLA reads the same module; of the
 * comments those before the module stay. `options` may be NULL. RH_ERR_WRITE: `write` failed.
 * Threads: any. */
RH_API rh_status rh_format(const rh_module *module, const rh_format_options *options,
                           rh_write_fn write, void *context, rh_diags *diags);

/* ---- settings ---- */

/* What somebody knows of instructions whose name, or custom_call_target, has a match of a POSIX
 * extended expression; a figure of -1 is not known. Each time that they run, no loops counted in.
 */
typedef struct rh_known_cost {
  const char *expression;
  int64_t flops, transcendentals, bytes_accessed;
} rh_known_cost;

/* What the text of a module does not tell, and figures depend on: a plain struct of the caller's
 * that every function takes which measures. Its address, or NULL for RH_SETTINGS_INIT, stands
 * behind the module. It is looked at during the call only. No function remembers it: what is to be
 * compared is asked for with the same settings. */
typedef struct rh_settings {
  size_t struct_size;
  /* What the module is compiled for, one of RH_TARGETS, or "auto": what its text looks as if it was
   * compiled for (rh_guess_target). NULL = the first of RH_TARGETS. */
  const char *target;
  /* Whether the module has its copies. */
  rh_copies copies;
  /* How the model `heap` packs temporaries, one of RH_PACKINGS; NULL = "xla". At most so many steps
   * for each memory space, as rh_pack_options.max_steps. */
  const char *packing;
  uint64_t max_pack_steps;
  /* Under the model `heap` temporaries lie in heaps, none of which is larger than so many bytes,
   * unless its largest value is (XLA's xla_multiheap_size_constraint_per_heap); each is memory of
   * its own, and their sum counts. -1 = one heap for each memory space. */
  int64_t heap_limit_bytes;
  /* These figures stand in for those that are found out; the first expression that matches holds.
   * They count in weighted figures and in seconds, and where algorithms look at cost, but not in
   * HloCostAnalysis's own sums. A custom call whose flops are known runs at the rate of matrix
   * products. A fusion is meant by its own name only. `cost_size` is the sizeof of one, which
   * RH_SETTINGS_INIT sets. */
  const rh_known_cost *costs;
  size_t num_costs;
  size_t cost_size;
} rh_settings;

#define RH_SETTINGS_INIT \
  { sizeof(rh_settings), NULL, RH_COPIES_AUTO, NULL, 0, -1, NULL, 0, sizeof(rh_known_cost) }

/* Whether a call would take these settings: RH_ERR_USAGE when there is no such target or packing,
 * or something is no expression. Threads: any. */
RH_API rh_status rh_check_settings(const rh_settings *settings, rh_diags *diags);

/* The target that the text of the module looks as if it was compiled for, one of RH_TARGETS; a
 * constant. O(instructions). Threads: any. */
RH_API const char *rh_guess_target(const rh_module *module);

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
  size_t struct_size;
  /* A name of RH_SCHEDULERS, or "auto": `input` if scheduled, else `default`. */
  const char *scheduler;
  bool ignore_schedule; /* take the module as unscheduled, text order as creation order */
  rh_inline_calls inline_calls;
  unsigned unfuse; /* RH_UNFUSE_…: fusions whose instructions become the caller's */
} rh_schedule_options;

#define RH_SCHEDULE_OPTIONS_INIT \
  { sizeof(rh_schedule_options), "auto", false, RH_INLINE_AUTO, 0 }

/* A module with an order. An unscheduled one is prepared as XLA does before it schedules: calls are
 * inlined, each loop gets its own computations, dead code is dropped. Where a module has its
 * copies, nothing is read that has been overwritten. `settings` and `options` may be NULL.
 * `*scheduled` is to be freed with rh_module_free. RH_ERR_INPUT when the module contradicts itself.
 * Threads: any. */
RH_API rh_status rh_schedule(const rh_module *module, const rh_settings *settings,
                             const rh_schedule_options *options, rh_module **scheduled,
                             rh_diags *diags);

/* ---- memory ---- */

typedef struct rh_memory {
  size_t struct_size;
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

#define RH_MEMORY_INIT                                      \
  {                                                         \
    sizeof(rh_memory), 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, { \
      NULL, 0                                               \
    }                                                       \
  }

/* Memory of a scheduled module under a model of RH_MEMORY_MODELS. `settings` may be NULL. The texts
 * in `*memory` live as long as the module. RH_ERR_USAGE when the module has no order. Threads: any.
 */
RH_API rh_status rh_measure_memory(const rh_module *module, const rh_settings *settings,
                                   const char *model, rh_memory *memory, rh_diags *diags);

/* What a byte budget bounds. */
typedef enum rh_limit_counts {
  RH_COUNT_TEMP,
  RH_COUNT_TEMP_OUTPUTS,
  RH_COUNT_TOTAL,
} rh_limit_counts;

/* Of the figures those that such a budget bounds, added up. Threads: any. */
RH_API int64_t rh_counted_bytes(const rh_memory *memory, rh_limit_counts counts);

/* A buffer that is alive at the peak. Made by the library. */
typedef struct rh_live_buffer {
  rh_text instruction; /* that makes it */
  rh_text opcode;
  int64_t bytes;
  const char *reason;      /* why it is not recomputed, a word; "none" when it could be */
  const char *explanation; /* the same as a sentence */
} rh_live_buffer;

/* The buffer is there until the function returns, its texts as long as the module. */
typedef void (*rh_live_fn)(void *context, const rh_live_buffer *buffer);

struct rh_remat_options;

/* Visits what is alive at the peak of a scheduled module, largest first. `settings` and `options`,
 * which say what could be recomputed, may be NULL. Threads: any. */
RH_API rh_status rh_visit_live(const rh_module *module, const rh_settings *settings,
                               const char *model, const struct rh_remat_options *options,
                               rh_live_fn visit, void *context, rh_diags *diags);

/* ---- where the memory goes ---- */

/* A value that is alive at the peak. Texts are valid UTF-8; what is not known is empty. Made by the
 * library. */
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

/* Live values that have something in common. Made by the library; who makes some for
 * rh_compare_sums fills in these four. */
typedef struct rh_sum {
  rh_text name; /* empty: of those that have none */
  int64_t line; /* of RH_BY_SOURCE, else 0 */
  int64_t bytes;
  uint64_t num_values;
} rh_sum;

typedef struct rh_sums {
  const rh_sum *const *list; /* largest first */
  size_t len;
} rh_sums;

/* A part of the names of operations, as a directory: `step/block/attention` below `step/block`.
 * Made by the library. */
typedef struct rh_scope {
  rh_text path;
  rh_text name; /* the end of the path */
  uint32_t depth;
  int64_t bytes; /* with all below it */
  uint64_t num_values;
} rh_scope;

/* Made by the library. */
typedef struct rh_report {
  rh_text module;
  const char *memory_model;
  const char *target;        /* of RH_TARGETS */
  const char *packing;       /* of RH_PACKINGS */
  int64_t heap_limit_bytes;  /* of the settings, -1 = none */
  const int64_t *heap_bytes; /* of the model `heap`: the allocations that temporaries are in, of */
  size_t num_heaps;          /* all memory spaces; several of one only with a limit */
  const rh_memory *memory;   /* as rh_measure_memory gives it */
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
  int64_t num_positions; /* the entry's order with what it calls laid out before the call */
  const rh_live_value *const *live; /* at the peak, largest first; the bytes sum up to the peak */
  size_t num_live;
  const rh_sums *sums;           /* by rh_sum_kind, as many as the library knows */
  const rh_scope *const *scopes; /* a tree: each behind its parent, siblings by size */
  size_t num_scopes;
} rh_report;

/* Explains the peak of a scheduled module under a model of RH_MEMORY_MODELS. `settings` may be
 * NULL.
 * `*report` is to be freed with rh_report_free, before the module is. O(n log n). Threads: any. */
RH_API rh_status rh_report_make(const rh_module *module, const rh_settings *settings,
                                const char *model, rh_report **report, rh_diags *diags);

/* Threads: one for each report. */
RH_API void rh_report_free(rh_report *report);

/* What has another size in `after`. Made by the library. */
typedef struct rh_change {
  rh_text name;
  int64_t line;
  int64_t before_bytes, after_bytes; /* 0 = it is not there */
  uint64_t before_num_values, after_num_values;
} rh_change;

/* The change is there until the function returns. */
typedef void (*rh_change_fn)(void *context, const rh_change *change);

/* Visits what differs between two lists of sums of one kind, matched by name and line, what changed
 * most first. Neither needs to come from a report; no two of a list have the same name and line.
 * O(n log n). Threads: any. */
RH_API rh_status rh_compare_sums(rh_sums before, rh_sums after, rh_change_fn visit, void *context,
                                 rh_diags *diags);

/* ---- memory maps ---- */

/* Memory that holds things of one kind. Made by the library. */
typedef struct rh_memory_space {
  const char *kind; /* `constants`, `parameters`, `outputs`, `temporaries` */
  int64_t color;    /* of temporaries: the memory space of their layouts, S(n); else 0 */
  int64_t bytes;    /* with a limit its heaps one behind the other */
} rh_memory_space;

/* A value in the place that it gets. No two of a space have the same bytes at the same time. Made
 * by the library. */
typedef struct rh_placed_value {
  const rh_live_value *value; /* its begin and end: where it is computed, where needed last */
  rh_text scope;              /* its op_name as a path in rh_report.scopes */
  size_t space;               /* which of the spaces */
  int64_t offset;             /* in it, bytes */
  int64_t begin, end;   /* positions at which the memory is its own, the end not among them; where
                           the memory goes to another value that is before value.end */
  int64_t position;     /* of the instruction that makes it */
  const int64_t *reads; /* positions of instructions that read it, ascending */
  size_t num_reads;
  bool is_rematerialized; /* rh_remat had it computed again */
} rh_placed_value;

/* Where every value of a module lies and when: what the model `heap` counts, and constants. Made by
 * the library. */
typedef struct rh_memory_map {
  rh_text module;
  const rh_memory_space *const *spaces; /* in the order above: as they are stacked */
  size_t num_spaces;
  const rh_placed_value *const *values; /* by space, begin and offset */
  size_t num_values;
  int64_t num_positions;       /* as in rh_report */
  const rh_text *instructions; /* by position: names */
  const int64_t *live_bytes;   /* by position: of temporaries what is live, of all else all */
  int64_t peak_position;       /* where the most is live, -1 = nowhere */
  int64_t total_bytes;         /* of all spaces */
  const rh_memory *memory;     /* of the model `heap` */
} rh_memory_map;

/* Places the values of a scheduled module. `settings` may be NULL. `*map` is to be freed with
 * rh_memory_map_free, before the module is. What rh_measure_memory takes for `heap`, and
 * O(values · log values + uses). Threads: any. */
RH_API rh_status rh_memory_map_make(const rh_module *module, const rh_settings *settings,
                                    rh_memory_map **map, rh_diags *diags);

/* Threads: one for each map. */
RH_API void rh_memory_map_free(rh_memory_map *map);

/* ---- cost ---- */

typedef struct rh_profile rh_profile; /* a device */

typedef struct rh_profile_options {
  size_t struct_size;
  double to_host, to_device; /* bytes per second over the link to the host's memory and back; 0 = as
                                the profile says */
} rh_profile_options;

#define RH_PROFILE_OPTIONS_INIT \
  { sizeof(rh_profile_options), 0, 0 }

/* Reads a device profile (JSON, share/remat-hlo/profiles). The text need not stay. `options` may be
 * NULL. `*profile`, which does not change any more, is to be freed with rh_profile_free.
 * RH_ERR_INPUT when it is none. Threads: any. */
RH_API rh_status rh_profile_parse(const char *json, size_t length,
                                  const rh_profile_options *options, rh_profile **profile,
                                  rh_diags *diags);

/* Threads: one for each profile. */
RH_API void rh_profile_free(rh_profile *profile);

/* As it is called, and in a line what it is. Threads: any. */
RH_API const char *rh_profile_name(const rh_profile *profile);
RH_API const char *rh_profile_description(const rh_profile *profile);

/* The device's memory; 0 = unknown. Threads: any. */
RH_API int64_t rh_profile_memory_bytes(const rh_profile *profile);

typedef struct rh_cost {
  size_t struct_size;
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

#define RH_COST_INIT \
  { sizeof(rh_cost), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Cost of a module. `settings` and `profile` may be NULL. `default_trip_count` stands in for loops
 * whose trip count the text does not tell. Threads: any. */
RH_API rh_status rh_measure_cost(const rh_module *module, const rh_settings *settings,
                                 const rh_profile *profile, int64_t default_trip_count,
                                 rh_cost *cost, rh_diags *diags);

/* ---- where the time goes ---- */

/* What takes part in the cost of a module: one instruction, or all that have something in common.
 * Figures are weighted: times how often each runs. Made by the library, as all structs below. */
typedef struct rh_cost_share {
  rh_text name; /* as in rh_sum; of a scope the end of its path; valid UTF-8, empty when unknown */
  int64_t line; /* of a source, else 0 */
  uint64_t num_instructions;
  double flops, transcendentals, bytes_accessed; /* XLA's -1 of custom calls counts as 0 */
  double seconds;                                /* modelled */
  double memory_seconds; /* of them: of instructions that the memory's bandwidth bounds */
} rh_cost_share;

typedef struct rh_cost_shares {
  const rh_cost_share *const *list; /* longest first */
  size_t len;
} rh_cost_shares;

typedef struct rh_cost_instruction {
  const rh_cost_share *share; /* its name is the instruction's */
  rh_text opcode, shape, computation, op_name, source_file;
  int64_t source_line; /* 0 = not known */
  double runs;         /* how often */
  const char *bound;   /* `compute`, `transcendentals`, `memory`, `link`, `launch` */
} rh_cost_instruction;

/* A scope of names of operations, as rh_scope. */
typedef struct rh_cost_scope {
  const rh_cost_share *share;
  rh_text path;
  uint32_t depth;
} rh_cost_scope;

typedef struct rh_cost_report {
  rh_text module;
  const char *device;
  const rh_cost *cost; /* as rh_measure_cost gives it */
  const rh_cost_share *total;
  uint64_t num_unknown_loops; /* whose trip count the text does not tell */
  uint64_t num_unknown_calls; /* custom calls: only the bytes that go in and out are known */
  const rh_cost_shares *sums; /* by rh_sum_kind; none by category */
  const rh_cost_instruction *const *instructions; /* that take time, longest first */
  size_t num_instructions;
  const rh_cost_scope *const *scopes; /* a tree: each behind its parent, siblings by time */
  size_t num_scopes;
} rh_cost_report;

/* Explains a module's modelled time on a device. `settings` may be NULL. `*report` is to be freed
 * with rh_cost_report_free, before the module and the profile are. O(n log n). Threads: any. */
RH_API rh_status rh_cost_report_make(const rh_module *module, const rh_settings *settings,
                                     const rh_profile *profile, int64_t default_trip_count,
                                     rh_cost_report **report, rh_diags *diags);

/* Threads: one for each report. */
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
  size_t struct_size;
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

#define RH_REMAT_OPTIONS_INIT                                                                    \
  {                                                                                              \
    sizeof(rh_remat_options), "path", "heap", RH_COUNT_TOTAL, INT64_MAX, RH_EMIT_SCHEDULED,      \
        RH_PROTECT_AUTO, INT64_C(1) << 20, false, false, 0, 1, 0, RH_REMAT_RECOMPUTE, false, 10, \
        NULL, NULL, NULL, NULL, NULL, false                                                      \
  }

typedef struct rh_remat_result {
  size_t struct_size;
  bool is_met;                          /* counted_bytes is within the limit */
  int64_t counted_bytes;                /* of the result, counted again from its text */
  int64_t xla_reported_after_bytes;     /* what XLA's pass would claim; -1 for other algorithms */
  rh_protect protect;                   /* what the options come to: never auto */
  double remat_seconds, verify_seconds; /* taken by the two */
} rh_remat_result;

#define RH_REMAT_RESULT_INIT \
  { sizeof(rh_remat_result), false, 0, 0, RH_PROTECT_AUTO, 0, 0 }

/* Recomputes values of a scheduled module until it fits the budget. The result is parsed again from
 * the text that rh_print gives, and it is proven to compute what the module does that was parsed
 * first: RH_ERR_INTERNAL when that fails. Where a module has its copies, clones read nothing that
 * has been overwritten. RH_OVER_LIMIT when the budget is not met; `*result`, which is to be freed
 * with rh_module_free, is then the best that was found. `settings` and `result_info` may be NULL.
 * Threads: any. */
RH_API rh_status rh_remat(const rh_module *module, const rh_settings *settings,
                          const rh_remat_options *options, rh_module **result,
                          rh_remat_result *result_info, rh_diags *diags);

/* What was done to a module, step by step, as JSON that a person can edit; the manual page
 * documents its keys. */
typedef struct rh_plan rh_plan;

/* Reads a plan; the text need not stay. `*plan` is to be freed with rh_plan_free. RH_ERR_INPUT when
 * it is none, with the place. Threads: any. */
RH_API rh_status rh_plan_parse(const char *json, size_t length, rh_plan **plan, rh_diags *diags);

/* Threads: one for each plan. */
RH_API void rh_plan_free(rh_plan *plan);

/* How the module that it is applied to is to be scheduled, and for which of RH_TARGETS. Texts live
 * as long as the plan. `*options` is begun as RH_SCHEDULE_OPTIONS_INIT. Threads: any. */
RH_API rh_status rh_plan_preparation(const rh_plan *plan, rh_schedule_options *options,
                                     rh_diags *diags);
RH_API const char *rh_plan_target(const rh_plan *plan);

/* Does to a scheduled module what a plan says: the very same as rh_remat did, if the plan is that
 * of its result, and the module, its preparation, `settings` and `emit` are the same. With
 * RH_COPIES_AUTO the plan says whether the module has its copies. What is dead then is dropped;
 * `algorithm`, `collection` and `small_node_bytes` do not matter. The result is verified as that of
 * rh_remat, and RH_OVER_LIMIT means the same. RH_ERR_INPUT when the plan cannot be done: it names
 * what is not there, computes again what may not be, or has something run before what it reads. A
 * plan for another module or order is a warning. `settings` and `result_info` may be NULL.
 * Threads: any. */
RH_API rh_status rh_apply_plan(const rh_module *module, const rh_settings *settings,
                               const rh_plan *plan, const rh_remat_options *options,
                               rh_module **result, rh_remat_result *result_info, rh_diags *diags);

/* Writes the plan of a result of rh_remat or rh_apply_plan whose options had `keep_plan`.
 * `profile`, which may be NULL, gives the seconds that steps take, `settings`, which may be NULL,
 * and `default_trip_count` are as for rh_measure_cost. RH_ERR_USAGE when there is no plan,
 * RH_ERR_WRITE when `write` failed. Threads: any. */
RH_API rh_status rh_emit_plan(const rh_module *result, const rh_settings *settings,
                              const rh_profile *profile, int64_t default_trip_count,
                              rh_write_fn write, void *context, rh_diags *diags);

typedef struct rh_verify_options {
  size_t struct_size;
  bool ignore_schedule; /* side effects may come in another order than in `before` */
} rh_verify_options;

#define RH_VERIFY_OPTIONS_INIT \
  { sizeof(rh_verify_options), false }

/* Whether `after` computes what `before` computes, bit for bit as HLO means it; and, where both
 * have an order and `before` is past copy-insertion, whether nothing in `after` is read when its
 * memory has been overwritten. RH_NOT_EQUIVALENT with notes in `diags` that say what differs when
 * that cannot be shown. Of `settings` only the copies of `before` matter; they and `options` may be
 * NULL. Threads: any. */
RH_API rh_status rh_verify(const rh_module *before, const rh_module *after,
                           const rh_settings *settings, const rh_verify_options *options,
                           rh_diags *diags);

/* ---- offset packing ---- */

/* Memory that is held in [lower, upper) of some clock. */
typedef struct rh_live_range {
  int64_t lower, upper; /* ticks, lower < upper */
  int64_t bytes;        /* 0 takes no memory: its offset is 0 */
  int64_t alignment;    /* of the offset, in bytes; 0 means 1 */
} rh_live_range;

typedef struct rh_pack_options {
  size_t struct_size;
  const char *packing;      /* a name of RH_PACKINGS */
  int64_t capacity_bytes;   /* a height that is good enough; -1 = as low as it gets */
  int64_t heap_limit_bytes; /* of one piece of memory, a heap: there are as many as it takes, and
                               none is larger unless its largest buffer is; -1 = one heap */
  uint64_t max_steps;       /* looks at a buffer at one time, some nanoseconds each */
  double max_seconds;       /* 0 = no limit; with one, the result depends on the machine */
  size_t max_memory_bytes;  /* 0 = no limit */
} rh_pack_options;

#define RH_PACK_OPTIONS_INIT \
  { sizeof(rh_pack_options), "best", -1, -1, UINT64_C(500000000), 0, 0 }

typedef struct rh_pack_result {
  size_t struct_size;
  int64_t height_bytes;      /* the highest end of a buffer: what the memory must have; with a limit
                                the sum over the heaps */
  int64_t lower_bound_bytes; /* no packing is lower: what lives at one time at most, with padding to
                                what all alignments have in common if there is one heap */
  bool is_optimal;           /* proven: no packing is lower than this one */
  uint32_t num_heaps;        /* at least 1 */
  uint64_t num_steps;
  double seconds;
} rh_pack_result;

#define RH_PACK_RESULT_INIT \
  { sizeof(rh_pack_result), 0, 0, false, 0, 0, 0 }

/* Finds offsets for buffers that share one memory: two that live at the same time do not overlap.
 * `offsets` has room for `count`, and so has `heaps`, which gets the heap that each offset is in,
 * from 0 on; it may be NULL. RH_OVER_LIMIT when the height is above the capacity; the offsets are
 * then the best that were found. RH_ERR_INPUT when a range is not valid, or all sizes together are
 * more than INT64_MAX / 4. `options` and `result` may be NULL. The same result on every machine,
 * unless `max_seconds` is set. Both arrays have no meaning when the call fails. Threads: any. */
RH_API rh_status rh_pack(const rh_live_range *ranges, size_t count, const rh_pack_options *options,
                         int64_t *offsets, uint32_t *heaps, rh_pack_result *result,
                         rh_diags *diags);

/* A table of live ranges as a text. */
typedef struct rh_live_ranges rh_live_ranges;

/* Reads live ranges as minimalloc writes them: CSV whose first line names the columns, in any
 * order: `id` (or `buffer`, `buffer_id`), `lower` (or `begin`, `start`), `upper`, or `end`, the
 * last tick that is still included, `size`, and, if there are any, `alignment`, `offset`, `heap`
 * and `hint`, which are not read, and `gaps`, which must be empty. The text must stay as long as
 * `*ranges`, which is to be freed with rh_live_ranges_free. `options` may be NULL. RH_ERR_INPUT:
 * the errors are in `diags`. Linear. Threads: any. */
RH_API rh_status rh_live_ranges_parse(const char *text, size_t length,
                                      const rh_parse_options *options, rh_live_ranges **ranges,
                                      rh_diags *diags);

/* Threads: one for each table. */
RH_API void rh_live_ranges_free(rh_live_ranges *ranges);

/* The rows, in order. Threads: any. */
RH_API size_t rh_live_ranges_len(const rh_live_ranges *ranges);
RH_API const rh_live_range *rh_live_ranges_data(const rh_live_ranges *ranges);

/* Writes the text again, line by line, with a last column `offset`, and one for `heap` behind it
 * unless `heaps` is NULL; those that were there are left out. RH_ERR_WRITE when `write` failed.
 * Threads: any. */
RH_API rh_status rh_live_ranges_print(const rh_live_ranges *ranges, const int64_t *offsets,
                                      const uint32_t *heaps, rh_write_fn write, void *context,
                                      rh_diags *diags);

/* ---- pictures and logs ---- */

typedef struct rh_dot_options {
  size_t struct_size;
  const char *memory_model;
  int64_t min_bytes; /* what is larger is shown; -1 = what matters and max_nodes allows */
  uint32_t max_nodes;
  const char *filter; /* "peak", "all", "name:…", "regex:…", "scope:…", "computation:…" */
  uint32_t num_hops;  /* of producers and readers around what the filter wants */
} rh_dot_options;

#define RH_DOT_OPTIONS_INIT \
  { sizeof(rh_dot_options), "heap", -1, 80, "peak", 1 }

/* Whether a graph may have this filter: RH_ERR_USAGE, and a diagnostic says what is wrong with it.
 * Threads: any. */
RH_API rh_status rh_dot_check_filter(const char *filter, rh_diags *diags);

/* Writes a scheduled module's graph for graphviz. `settings` and `options` may be NULL.
 * RH_ERR_USAGE when the library was built without, RH_ERR_WRITE when `write` failed. Threads: one,
 * and what else in the program uses cgraph counts, too: cgraph has state that all graphs share. */
RH_API rh_status rh_emit_dot(const rh_module *module, const rh_settings *settings,
                             const rh_dot_options *options, rh_write_fn write, void *context,
                             rh_diags *diags);

typedef enum rh_memlog_format {
  RH_MEMLOG_TEXT,
  RH_MEMLOG_CSV,
  RH_MEMLOG_JSONL,
} rh_memlog_format;

/* Writes what each instruction of a scheduled module does to memory, one line each, in order.
 * `settings` may be NULL. RH_ERR_WRITE when `write` failed. Threads: any. */
RH_API rh_status rh_emit_memlog(const rh_module *module, const rh_settings *settings,
                                const char *memory_model, rh_memlog_format format,
                                rh_write_fn write, void *context, rh_diags *diags);

/* Where values lie and when, drawn: one map, or two side by side in one scale. */
typedef struct rh_picture {
  size_t struct_size;
  const rh_memory_map *before;
  const rh_memory_map *after; /* NULL = there is but one */
  const char *before_title;   /* over each, as the file's name; NULL = none */
  const char *after_title;
  int64_t limit_bytes; /* a line is drawn there; -1 = no line */
  rh_limit_counts limit_counts;
} rh_picture;

#define RH_PICTURE_INIT \
  { sizeof(rh_picture), NULL, NULL, NULL, NULL, -1, RH_COUNT_TOTAL }

typedef enum rh_picture_format {
  RH_PICTURE_HTML,     /* a page that needs nothing else, to zoom, search and ask */
  RH_PICTURE_SVG,      /* stands still */
  RH_PICTURE_PERFETTO, /* trace-event JSON, a microsecond a position */
  RH_NUM_PICTURE_FORMATS,
} rh_picture_format;

/* Writes a picture. RH_ERR_USAGE when the library was built without the format, RH_ERR_WRITE when
 * `write` failed. Threads: any. */
RH_API rh_status rh_emit_picture(const rh_picture *picture, rh_picture_format format,
                                 rh_write_fn write, void *context, rh_diags *diags);

/* Room for what the two below write. */
#define RH_FORMAT_CHARS 32

/* `1.50 KiB`, `81.25 MiB`: powers of 1024, two decimals, no locale. Ends in NUL. Threads: any.
 */
RH_API void rh_format_bytes(int64_t bytes, char text[RH_FORMAT_CHARS]);

/* `1,234,567`. Threads: any. */
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

/* A constant. Made by the library. */
typedef struct rh_entry {
  const char *name;
  const char *summary;
  unsigned traits; /* RH_TRAIT_… */
} rh_entry;

/* The entry number `index` of a registry, from 0; NULL when there is none. Threads: any. */
RH_API const rh_entry *rh_list(rh_registry registry, size_t index);

/* The entry of this name; NULL when there is none. Threads: any. */
RH_API const rh_entry *rh_find(rh_registry registry, const char *name);

#ifdef __cplusplus
}
#endif

#endif
