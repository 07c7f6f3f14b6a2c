/* remat-hlo is a library that reads HLO text as XLA dumps it, schedules it, rematerializes it to
 * fit a byte budget, and writes HLO that XLA compiles. A complete program (tests/api/example.c):
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
 * Conventions that apply to all functions:
 *
 * - Modules are immutable. A function that transforms a module returns a new one. Information that
 *   the HLO text does not contain, such as the machine that it is compiled for, is given by
 *   rh_settings, which is passed to every call that depends on it.
 * - The library performs no input or output except through the callbacks that it is given, and it
 *   keeps no state between calls. It never prints, exits or aborts, except when an assert fails in
 *   a debug build. All sizes are in bytes.
 * - A function that can fail returns a status and adds diagnostics that explain it to `diags`,
 *   which may be NULL. If the function fails, a result object that it would have created is NULL, a
 *   result struct that it would have filled in is all zero, and no memory is leaked.
 *   RH_OVER_LIMIT is the exception: the results are then set.
 * - Every function reports that it ran out of memory as RH_ERR_MEMORY. (The exception is cgraph,
 *   the library that rh_emit_dot uses to write graphs: it may end the program instead.)
 * - The caller frees each object that a function creates, with the free function of its type, which
 *   also accepts NULL. An object that is returned through a pointer to const belongs to the library
 *   and lives as long as the object that it was obtained from, unless its comment says otherwise. A
 *   module refers to the text that it was parsed from: the text must remain valid and unchanged
 *   until the module and all modules made from it have been freed. They may be freed in any order.
 * - A pointer argument may be NULL only where a comment says so.
 * - Callbacks (`write`, `visit`) are called by the thread that made the call, before the call
 *   returns, unless their comments say otherwise. They may call the library. They must return
 *   normally, not by longjmp or an exception.
 *
 * Thread safety. The comment of each function contains one of these:
 *
 * - Threads: any. Any number of threads may call the function at the same time, even with the same
 *   const arguments. Concurrent calls must not share an rh_diags.
 * - Threads: one for each X. While the function runs, no other call may use the same X.
 * - Threads: one. While the function runs, no other thread in the program may call it or anything
 *   else that its comment names.
 *
 * Binary compatibility. A program that was compiled with this header runs with later versions of
 * the library that have the same RH_VERSION_MAJOR (before 1.0.0: the same RH_VERSION_MAJOR and
 * RH_VERSION_MINOR). Three rules make this possible:
 *
 * - A struct that the caller creates, for options and results, begins with `struct_size` and must
 *   be initialized with RH_…_INIT, which sets it. The library reads and writes at most that many
 *   bytes. Later versions add fields only at the end, and in a new field the value 0 selects the
 *   behavior from before the field existed. If the library is older than the program, fields that
 *   it does not know must be 0; otherwise the call fails with RH_ERR_USAGE. A call also fails with
 *   RH_ERR_USAGE if `struct_size` is not set.
 * - A struct that the library creates must be accessed through the pointer that the library
 *   returns; later versions add fields at its end. For this reason, lists of such structs are lists
 *   of pointers: `report->live[i]->bytes`. A program that copies such a struct must set
 *   `struct_size` of the copy, if the struct has this field, to the sizeof that the program was
 *   compiled with.
 * - rh_text, rh_sums, rh_cost_shares and rh_live_range never change. Enumerations get new values
 *   only at the end, so programs should handle unknown values by a default. A call that passes a
 *   value that the library does not know fails with RH_ERR_USAGE. */
#ifndef REMAT_HLO_H
#define REMAT_HLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header. CMakeLists.txt reads the version of the project from here. */
#define RH_VERSION_MAJOR 0
#define RH_VERSION_MINOR 1
#define RH_VERSION_PATCH 0

/* A version as a number, for comparisons: `#if RH_VERSION_NUMBER >= RH_VERSION_OF(0, 2, 0)`. */
#define RH_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define RH_VERSION_NUMBER RH_VERSION_OF(RH_VERSION_MAJOR, RH_VERSION_MINOR, RH_VERSION_PATCH)

#define RH_VERSION_QUOTE(text) #text
#define RH_VERSION_JOIN(major, minor, patch) \
  RH_VERSION_QUOTE(major) "." RH_VERSION_QUOTE(minor) "." RH_VERSION_QUOTE(patch)
/* The version as a string literal, "0.1.0". */
#define RH_VERSION_STRING RH_VERSION_JOIN(RH_VERSION_MAJOR, RH_VERSION_MINOR, RH_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#if defined(RH_BUILDING) && defined(__GNUC__)
#define RH_API __attribute__((visibility("default")))
#else
#define RH_API
#endif

/* Returns the version of the library at run time as a constant string, for example "0.1.0".
 * Threads: any. */
RH_API const char *rh_version(void);

/* Returns the version of the library at run time as a number that can be compared with
 * RH_VERSION_NUMBER. Threads: any. */
RH_API int rh_version_number(void);

/* ---- status and diagnostics ---- */

typedef enum rh_status {
  RH_OK = 0,
  RH_OVER_LIMIT = 1,     /* the call completed and returned the best result that it found, but the
                            result exceeds the byte limit */
  RH_NOT_EQUIVALENT = 2, /* two modules could not be shown to compute the same results */
  RH_ERR_USAGE = 3,    /* an argument is unknown or out of range, or the call was made too early */
  RH_ERR_INPUT = 4,    /* the input text is malformed or contradicts itself */
  RH_ERR_WRITE = 5,    /* the caller's write function reported a failure */
  RH_ERR_MEMORY = 6,   /* out of memory, or the memory limit that was set is exceeded */
  RH_ERR_INTERNAL = 7, /* a bug in the library, detected before it did harm; please report it */
} rh_status;

/* Returns the name of a status as a constant string, for example "RH_OK", or "unknown" if `status`
 * is not a value of the enumeration. Threads: any. */
RH_API const char *rh_status_name(rh_status status);

typedef enum rh_severity {
  RH_SEVERITY_ERROR,
  RH_SEVERITY_WARNING,
  RH_SEVERITY_NOTE,
} rh_severity;

/* Identifies the kind of a diagnostic for programs. The wording of messages may change between
 * versions; these numbers do not. */
typedef enum rh_code {
  RH_CODE_OTHER = 0,
  /* Errors that any call can report. */
  RH_CODE_OUT_OF_MEMORY = 1, /* wanted_bytes and limit_bytes give the amounts */
  RH_CODE_WRITE_FAILED = 2,
  RH_CODE_INTERNAL = 3,
  RH_CODE_STRUCT_SIZE = 4,  /* a struct was not initialized with RH_…_INIT, or belongs to a later
                               version of the library */
  RH_CODE_UNKNOWN_NAME = 5, /* there is no algorithm, memory model, target, … of this name */
  RH_CODE_BAD_OPTION = 6,   /* the value of an option is invalid */
  RH_CODE_EXPRESSION = 7,   /* not a POSIX extended expression, or one that is too expensive */
  RH_CODE_NOT_BUILT = 8,    /* this build of the library does not include the feature */
  RH_CODE_NO_SCHEDULE = 9,  /* the module has no schedule yet; rh_schedule creates one */
  RH_CODE_NO_PLAN = 10,     /* the module was not made with rh_remat_options.keep_plan */
  RH_CODE_TOO_LARGE = 11,   /* more than the library can count: 4 GiB of text, 2^30 ranges */
  RH_CODE_NO_PATCH = 12,    /* the result has something that rh_patch_proto cannot write */
  RH_CODE_NO_TEXT = 13,     /* the message has something that rh_print_proto cannot print */
  /* Errors in input texts. */
  RH_CODE_SYNTAX = 20,        /* the HLO text has an error that XLA's parser rejects, too */
  RH_CODE_UNDEFINED = 21,     /* the HLO text uses a name that is not defined before its use */
  RH_CODE_CONTRADICTION = 22, /* the module is syntactically correct, but contradicts itself */
  RH_CODE_FINDING = 23,       /* a finding of rh_lint; `rule` names the rule */
  RH_CODE_JSON = 24,          /* the text is not JSON */
  RH_CODE_PROFILE = 25,       /* the JSON is not a device profile */
  RH_CODE_PLAN = 26,          /* the JSON is not a plan, or the plan cannot be applied */
  RH_CODE_TABLE = 27,         /* the CSV is not a table of live ranges */
  RH_CODE_RANGE = 28,         /* a live range is invalid */
  RH_CODE_PROTO = 29,         /* the bytes are not an HloModuleProto, or not that of the module */
  /* Notes that accompany RH_NOT_EQUIVALENT. */
  RH_CODE_DIFFERENCE = 40, /* a difference, or something that cannot be shown to be the same */
  /* Warnings. */
  RH_CODE_OTHER_MODULE = 60,     /* the plan was made for another module or another schedule */
  RH_CODE_PLAN_INCOMPLETE = 61,  /* the plan that was kept does not describe all that was done */
  RH_CODE_ENDED_EARLY = 62,      /* an algorithm, or its solver, ended before it was finished */
  RH_CODE_NO_MATCH = 63,         /* nothing matches a filter or an expression */
  RH_CODE_OVERWRITTEN_READ = 64, /* the input module already reads overwritten memory */
  RH_CODE_OPEN_COPIES = 65,      /* the modules are equivalent only if XLA has still to insert its
                                    copies, and nothing in the first one says so */
  RH_CODE_UNREADABLE = 66,       /* the text has something that XLA prints and its parser refuses */
} rh_code;

#define RH_NO_OFFSET SIZE_MAX

/* One diagnostic. Made by the library. */
typedef struct rh_diag {
  rh_severity severity;
  rh_code code;
  const char *message;  /* a sentence without initial capital and final full stop */
  size_t offset;        /* byte offset into the text, or RH_NO_OFFSET if the diagnostic has no
                           particular place; rh_locate converts it to line and column. The text is
                           that of the module, or the text that the function parses; for
                           rh_apply_plan it is the text of the plan */
  size_t opener_offset; /* byte offset of the bracket or definition that the diagnostic refers back
                           to, or RH_NO_OFFSET */
  const char *rule;     /* the rule of RH_LINT_RULES that made this finding; NULL for all other
                           diagnostics */
  size_t wanted_bytes; /* for RH_CODE_OUT_OF_MEMORY: the size that could not be allocated; else 0 */
  size_t limit_bytes;  /* for RH_CODE_OUT_OF_MEMORY: the limit that was set, 0 = none; else 0 */
} rh_diag;

/* A list of diagnostics, to which calls append. */
typedef struct rh_diags rh_diags;

/* Creates an empty list. Returns NULL if there is not enough memory. The caller frees the list with
 * rh_diags_free. Threads: any. */
RH_API rh_diags *rh_diags_new(void);

/* Frees a list and its diagnostics. `diags` may be NULL. Threads: one for each list. */
RH_API void rh_diags_free(rh_diags *diags);

/* Returns the number of diagnostics in a list. `diags` may be NULL; the result is then 0.
 * Threads: any, as long as no call adds to the list. */
RH_API size_t rh_diags_len(const rh_diags *diags);

/* Returns the diagnostic at `index`, which counts from 0, or NULL if `index` is past the end of the
 * list. The diagnostic remains valid until a call adds to the list. Threads: any, as long as no
 * call adds to the list. */
RH_API const rh_diag *rh_diags_get(const rh_diags *diags, size_t index);

/* Converts a byte offset into `text` to a line and a column. Both count from 1; columns are counted
 * in bytes. O(offset). Threads: any. */
RH_API void rh_locate(const char *text, size_t length, size_t offset, size_t *line, size_t *column);

/* Returns the candidate that `word` is most likely a misspelling of, or NULL if none of the `count`
 * candidates is similar. Threads: any. */
RH_API const char *rh_closest_word(const char *word, const char *const *candidates, size_t count);

/* ---- output ---- */

/* Receives `length` bytes of output. The function returns 0 to continue; any other value stops the
 * output, and the call then fails with RH_ERR_WRITE. Bytes that were already passed to the function
 * are not revoked, so a program that writes a file should write to a temporary file first. */
typedef int (*rh_write_fn)(void *context, const char *data, size_t length);

/* A text that the library owns. It is not terminated by NUL. */
typedef struct rh_text {
  const char *data;
  size_t length;
} rh_text;

/* ---- modules ---- */

typedef struct rh_module rh_module;

/* Specifies whether XLA's copy-insertion pass has already run on a module. After this pass, values
 * share memory by design (outputs with donated parameters, loop carries, in-place updates), and no
 * later pass copies them. An instruction that reads one of these values after another one has been
 * written to the same memory therefore reads wrong data. */
typedef enum rh_copies {
  RH_COPIES_AUTO, /* decided by what rh_parse_options.copies says, if it says something; else the
                     pass has not run if a value has no copy that it always gets; else it is assumed
                     to have run if it may have: the module is scheduled, has fusions, or has copies
                     of donated parameters or loop carries. A module that was made from another one
                     inherits the decision made for that module */
  RH_COPIES_INSERTED, /* the pass has run: XLA's after_optimizations dumps, POST_SCHEDULER hooks */
  RH_COPIES_PENDING,  /* the pass has not run: XLA will insert the copies that are needed */
} rh_copies;

typedef struct rh_parse_options {
  size_t struct_size;
  size_t max_memory_bytes; /* memory limit of the module, and of each module or other object that is
                              made from it; 0 = no limit */
  uint32_t max_errors;     /* maximum number of errors that are added to `diags`; after an error,
                              parsing continues with the next instruction as if the faulty
                              one were correct; 0 = 1 */
  uint32_t unused;         /* padding of earlier versions */
  rh_copies copies; /* what is known about the text's origin, from rh_guess_copies for example;
                       RH_COPIES_AUTO = nothing. Settings and plans override it, and it is
                       ignored if it is RH_COPIES_PENDING and the module is scheduled */
} rh_parse_options;

#define RH_PARSE_OPTIONS_INIT \
  { sizeof(rh_parse_options), 0, 0, 0, RH_COPIES_AUTO }

/* Returns what the name of a file says about the module in it, if the name is one that XLA gives to
 * its dumps, such as `module_0001.jit_f.before_optimizations.txt`; else RH_COPIES_AUTO. `path` may
 * contain folders. Threads: any. */
RH_API rh_copies rh_guess_copies(const char *path);

/* Parses HLO text by the same rules as XLA. `text` has `length` bytes. `options` may be NULL. The
 * caller frees `*module` with rh_module_free. If the call succeeds, `diags` may contain warnings.
 * Returns RH_ERR_INPUT if XLA would reject the text, too; `diags` then contains at least one error,
 * in the order of detection. Linear in `length`. Threads: any. */
RH_API rh_status rh_parse(const char *text, size_t length, const rh_parse_options *options,
                          rh_module **module, rh_diags *diags);

/* Frees a module. `module` may be NULL. Modules that were made from it remain valid.
 * Threads: one for each module. */
RH_API void rh_module_free(rh_module *module);

/* Properties of a module. Made by the library. */
typedef struct rh_module_info {
  rh_text name;
  bool is_scheduled;     /* the text declares it, or rh_schedule made the module */
  const char *scheduler; /* the scheduler that made the schedule, NULL = none did */
  uint64_t num_computations;
  uint64_t num_instructions;    /* in all computations (HloModule::instruction_count) */
  uint64_t num_elided_literals; /* `constant({...})`; a module with any cannot be run as is */
  int64_t num_partitions;
  bool has_sharding_calls;     /* the module is not partitioned yet: its shapes are those of all
                                  devices together */
  bool is_optimized;           /* the module has fusions or a schedule: it is the module that runs,
                                  or close to it */
  uint64_t num_rematerialized; /* recomputations of values that rh_remat added */
  rh_copies copies;            /* the value that RH_COPIES_AUTO resolves to; never RH_COPIES_AUTO */
  bool copies_are_sure;        /* false: nothing excludes the other value of `copies`; in a module
                                  that was made from another one, nothing in that one does */
  const char *copies_reason;   /* what `copies` was decided by, as a clause: "it has fusions" */
} rh_module_info;

/* Returns the properties of a module. O(1). Threads: any. */
RH_API const rh_module_info *rh_get_info(const rh_module *module);

/* Checks whether a module is consistent enough to be analyzed. The functions below make this check
 * themselves. Returns RH_ERR_INPUT if the module contradicts itself; the diagnostic then gives the
 * place of the first contradiction. Threads: any. */
RH_API rh_status rh_check(const rh_module *module, rh_diags *diags);

typedef struct rh_lint_options {
  size_t struct_size;
  uint64_t max_findings; /* maximum number of findings that are added to `diags`, including those of
                            rh_check; 0 = all */
  bool is_strict;        /* findings are reported as errors instead of warnings */
} rh_lint_options;

#define RH_LINT_OPTIONS_INIT \
  { sizeof(rh_lint_options), 0, false }

/* Finds constructs that XLA's parser accepts, but that its HloVerifier would reject or silently
 * drop: shapes that contradict operands; called computations, pairs and groups that do not fit;
 * source locations that do not exist. The rules are listed in RH_LINT_RULES, and each diagnostic
 * names its rule. All contradictions that make rh_check fail are reported, too, as errors without a
 * rule. `options` may be NULL. `num_findings` may be NULL; `*num_findings` also counts findings
 * beyond `max_findings`, and it is valid even if the call returns RH_ERR_INPUT. Returns
 * RH_ERR_INPUT if there is an error among the findings. O(n log n). Threads: any. */
RH_API rh_status rh_lint(const rh_module *module, const rh_lint_options *options,
                         uint64_t *num_findings, rh_diags *diags);

/* Writes a module as HLO text. The output is the parsed text byte for byte, except for the parts
 * that have changed. A warning says if XLA's parser refuses what it contains. Returns
 * RH_ERR_WRITE if `write` failed. Threads: any. */
RH_API rh_status rh_print(const rh_module *module, rh_write_fn write, void *context,
                          rh_diags *diags);

typedef struct rh_patch_options {
  size_t struct_size;
  const char *attribute, *value; /* a frontend attribute that the first parameter of the entry gets,
                                    unless the program has no parameters; NULL = none */
} rh_patch_options;

#define RH_PATCH_OPTIONS_INIT \
  { sizeof(rh_patch_options), NULL, NULL }

/* Writes a module as a serialized HloModuleProto of XLA, for programs that get such a message from
 * XLA and give it back. `proto` is the message that the text of `before` was printed from, with all
 * constants; it may have been printed without metadata. `after` is what was made of `before`, as
 * rh_remat returns it. The message that is written is `proto` with the computations that differ
 * written anew, and with the schedule of `after` if the text has one. Each of their instructions
 * has the message of an instruction of `before` whose text is the same but for its name, its
 * operands and what it calls; so fields that HLO text does not show, and those of later versions of
 * XLA, are kept.
 *
 * `options` may be NULL. Nothing is written unless the call succeeds or `write` failed, with which
 * it returns RH_ERR_WRITE. Returns RH_ERR_INPUT with the code RH_CODE_PROTO if `proto` is malformed
 * or not that of `before`, and with RH_CODE_NO_PATCH if `after` has an instruction that is like
 * none of `before`; XLA then reads it from the text of rh_print. Returns RH_ERR_USAGE with
 * RH_CODE_NOT_BUILT if the library was built without protobuf-c. O(n). Threads: any. */
RH_API rh_status rh_patch_proto(const rh_module *before, const rh_module *after, const void *proto,
                                size_t length, const rh_patch_options *options, rh_write_fn write,
                                void *context, rh_diags *diags);

/* Writes the HLO text of a serialized HloModuleProto of XLA, or of an HloProto or HloSnapshot that
 * has one, as its dumps `*.hlo.pb` have: byte for byte what XLA prints for the module that it reads
 * from the message, with its default options and print_large_constants. What is not known to be
 * printed like that is refused: an opcode, a type of constant, a field of a later version of XLA. A
 * message that contradicts itself, so that XLA would not read it, may be printed. The text has no
 * counts of replicas and partitions, which the message has as a device assignment and XLA does not
 * print, either.
 *
 * Nothing is written unless the call succeeds or `write` failed, with which it returns
 * RH_ERR_WRITE. Returns RH_ERR_INPUT with the code RH_CODE_PROTO if the bytes are malformed, and
 * with RH_CODE_NO_TEXT if the message is refused; the diagnostic names what stands in the way.
 * Returns RH_ERR_USAGE with RH_CODE_NOT_BUILT if the library was built without protobuf-c. O(n).
 * Threads: any. */
RH_API rh_status rh_print_proto(const void *proto, size_t length, rh_write_fn write, void *context,
                                rh_diags *diags);

typedef struct rh_format_options {
  size_t struct_size;
  bool is_short;       /* use XLA's short form: no `%`, signatures or metadata; control dependencies
                          are kept */
  bool omit_metadata;  /* omit metadata and the tables of source locations; is_short implies this */
  bool omit_locations; /* omit files, lines and stack frames from metadata, and the tables of source
                          locations */
} rh_format_options;

#define RH_FORMAT_OPTIONS_INIT \
  { sizeof(rh_format_options), false, false, false }

/* Writes a module in the layout of XLA's printer: one instruction per line, with its shape, the
 * names of its operands, and its attributes in XLA's order. Names, the order of instructions, and
 * the spelling of numbers and strings are taken from the text, so that XLA reads the same module.
 * Comments before the module are kept; all others are dropped. `options` may be NULL. Returns
 * RH_ERR_WRITE if `write` failed. Threads: any. */
RH_API rh_status rh_format(const rh_module *module, const rh_format_options *options,
                           rh_write_fn write, void *context, rh_diags *diags);

/* ---- settings ---- */

/* Cost figures that the caller supplies for instructions whose name or custom_call_target contains
 * a match of a POSIX extended regular expression. Each figure is for a single execution of the
 * instruction, without multiplying by the trip counts of loops; -1 means that it is not known. */
typedef struct rh_known_cost {
  const char *expression;
  int64_t flops, transcendentals, bytes_accessed;
} rh_known_cost;

/* The frame of the stack in which an instruction was traced that gives its source position. Stacks
 * are in the tables FileNames, FunctionNames, FileLocations and StackFrames of a module. */
typedef enum rh_frames {
  RH_FRAMES_INNERMOST, /* the metadata's source_file, or else the innermost frame */
  RH_FRAMES_USER,      /* the innermost frame outside of libraries; as RH_FRAMES_INNERMOST if all
                          frames are those of libraries */
  RH_FRAMES_OUTERMOST,
} rh_frames;

/* Information that measurements depend on, but that the text of a module does not contain. This is
 * a plain struct that the caller owns. Every function that measures takes a pointer to it as the
 * argument after the module; NULL is equivalent to RH_SETTINGS_INIT. The struct is read only during
 * the call, and no function remembers it: figures can be compared only if they were computed with
 * the same settings. */
typedef struct rh_settings {
  size_t struct_size;
  /* The target that the module is compiled for, one of RH_TARGETS, or "auto" for the one that its
   * text appears to be compiled for (rh_guess_target). NULL = the first of RH_TARGETS. */
  const char *target;
  /* Whether copy-insertion has run on the module. */
  rh_copies copies;
  /* The algorithm that the memory model `heap` packs temporaries with, one of RH_PACKINGS;
   * NULL = "xla". `max_pack_steps` is the maximum number of steps for each memory space, with the
   * meaning of rh_pack_options.max_steps. */
  const char *packing;
  uint64_t max_pack_steps;
  /* The maximum size of a heap, in bytes. The memory model `heap` places temporaries in as many
   * heaps as are needed; a heap exceeds the maximum only if its largest value does (XLA's
   * xla_multiheap_size_constraint_per_heap). Each heap is separate memory, and the sum of their
   * sizes counts. -1 = one heap for each memory space. */
  int64_t heap_limit_bytes;
  /* Costs that replace the figures that the library determines. For each instruction, the first
   * expression that matches applies. The costs are used in weighted figures, in seconds, and
   * wherever an algorithm considers cost, but not in the sums of HloCostAnalysis. A custom call
   * with known flops runs at the rate of matrix products. A fusion is matched by its own name only.
   * `cost_size` is sizeof(rh_known_cost), which RH_SETTINGS_INIT sets. */
  const rh_known_cost *costs;
  size_t num_costs;
  size_t cost_size;
  /* Which source positions results show. They change no figure, except which values the expressions
   * of rh_remat_options select by position. */
  rh_frames frames;
  /* Which files of the stack tables belong to libraries: POSIX extended regular expressions, one in
   * each line, in addition to what is known: files below folders that are named site-packages,
   * dist-packages, flax, optax, jax, jaxlib, keras or tensorflow, and those of Python itself. A
   * file that matches an expression after `!` belongs to no library. The last expression that
   * matches decides. NULL = none. */
  const char *library;
  /* The device that the module is compiled for, a name of RH_DEVICES. It decides how much VMEM
   * XLA:TPU has (rh_memory.temp_less_bytes), and nothing else. NULL or a name that is not known =
   * the device that has the most. */
  const char *device;
  /* Measured times of instructions, by their names and that of their module (rh_times_parse). They
   * are the instructions' seconds, a clone has those of its original, and what was not measured is
   * modeled, and scaled by what was. Must live as long as the settings are used. NULL = none. */
  const struct rh_times *times;
} rh_settings;

#define RH_SETTINGS_INIT                                                                    \
  {                                                                                         \
    sizeof(rh_settings), NULL, RH_COPIES_AUTO, NULL, 0, -1, NULL, 0, sizeof(rh_known_cost), \
        RH_FRAMES_USER, NULL, NULL, NULL                                                    \
  }

/* Checks whether settings are valid. Returns RH_ERR_USAGE if the target or the packing does not
 * exist, or if an expression is not valid. Threads: any. */
RH_API rh_status rh_check_settings(const rh_settings *settings, rh_diags *diags);

/* Returns the target that the text of the module appears to be compiled for: a constant string, one
 * of RH_TARGETS. O(instructions). Threads: any. */
RH_API const char *rh_guess_target(const rh_module *module);

/* ---- scheduling ---- */

typedef enum rh_inline_calls {
  RH_INLINE_AUTO, /* as XLA does: before scheduling, and never in a scheduled module */
  RH_INLINE_NEVER,
  RH_INLINE_ALWAYS,
} rh_inline_calls;

enum {
  RH_UNFUSE_LOOP = 1,
  RH_UNFUSE_INPUT = 2,
  RH_UNFUSE_OUTPUT = 4,
  RH_UNFUSE_ALL = 7, /* custom fusions are never unfused */
  /* Values that several loop fusions compute, each for itself, get a fusion of their own, where
     that changes no bit. rh_remat does it by itself where it meets a budget that is missed
     otherwise. */
  RH_UNFUSE_SHARED = 8,
};

typedef struct rh_schedule_options {
  size_t struct_size;
  /* A name of RH_SCHEDULERS, or "auto": `input` if the module is scheduled, otherwise `default`. */
  const char *scheduler;
  bool ignore_schedule; /* treat the module as unscheduled, with the order of the text as the order
                           in which instructions were created */
  rh_inline_calls inline_calls;
  unsigned unfuse; /* RH_UNFUSE_…: the fusions whose instructions are moved into the caller */
  /* Of a module that XLA has yet to optimize: chains of elementwise instructions become fusions, as
   * XLA:GPU and XLA:TPU will make them, so that bytes, seconds and what rh_remat decides are those
   * of fusions. rh_split_fusions takes them apart again. Other modules stay as they are. */
  bool fuse;
} rh_schedule_options;

#define RH_SCHEDULE_OPTIONS_INIT \
  { sizeof(rh_schedule_options), "auto", false, RH_INLINE_AUTO, 0, false }

/* Makes a module that has a schedule. An unscheduled module is first prepared as XLA does before
 * scheduling: calls are inlined, each loop gets computations of its own, and dead code is removed.
 * If copy-insertion has run on the module, no instruction of the result reads memory that has been
 * overwritten. `settings` and `options` may be NULL. The caller frees `*scheduled` with
 * rh_module_free. Returns RH_ERR_INPUT if the module contradicts itself. Threads: any. */
RH_API rh_status rh_schedule(const rh_module *module, const rh_settings *settings,
                             const rh_schedule_options *options, rh_module **scheduled,
                             rh_diags *diags);

/* Makes an unscheduled module of one that rh_schedule has made with `fuse`, or rh_remat of such a
 * one: the instructions of its fusions are written one by one again, and XLA fuses them as it
 * likes. The caller frees `*split` with rh_module_free. Threads: any. */
RH_API rh_status rh_split_fusions(const rh_module *module, const rh_settings *settings,
                                  rh_module **split, rh_diags *diags);

/* ---- memory ---- */

/* What a lower bound takes as it is. */
enum {
  RH_WITHIN_FUSIONS = 1, /* there are fusions that rh_schedule_options.unfuse splits */
  RH_WITHIN_CALLS = 2, /* there are calls that RH_INLINE_ALWAYS inlines, and with them the loops in
                          them can stack less for each other */
};

typedef struct rh_memory {
  size_t struct_size;
  int64_t peak_bytes;      /* peak memory as the memory model counts it */
  int64_t temp_bytes;      /* the part of the peak that is temporaries, live at the peak */
  int64_t parameter_bytes; /* parameters of the entry computation, including tables of pointers */
  int64_t output_bytes;    /* outputs of the entry computation, including tables of pointers */
  int64_t aliased_bytes;   /* outputs that reuse the memory of a parameter (input_output_alias) */
  int64_t constant_bytes;
  int64_t total_bytes;       /* parameters + outputs - aliased + constants + temporaries */
  int64_t lower_bound_bytes; /* lower bound of peak_bytes: no schedule and no recomputation can
                                go below it; lower_bound_kind says which ones, and
                                lower_bound_within what must stay as it is for that */
  rh_text peak_instruction;  /* the instruction at the peak; empty if nothing needs memory */
  rh_text lower_bound_instruction; /* the instruction that determines the lower bound; empty if no
                                      single instruction does */
  /* The changes that cannot go below the lower bound: `order+recompute` in modules where no loop
     stacks values for another, `order+recompute+loops` where recomputation across the border
     between loops is covered, too. Where a single instruction determines the bound, offloading,
     compression and narrower types may go below it. */
  const char *lower_bound_kind;
  unsigned lower_bound_within; /* RH_WITHIN_…: what other instructions could replace, so that less
                                  memory might do; 0 = the bound holds for these, too */
  /* How far XLA's temporaries may lie above and below `temp_bytes` if that cannot be known yet; 0 =
   * it can. XLA:TPU puts some temporaries into VMEM after its hooks have run, by memory-space
   * assignment, and packs the rest around other gaps. `temp_bytes` is what they take without VMEM.
   * The upper end is that, or what is left beside a VMEM that takes what lives the shortest, if it
   * is more, and half of the gaps that this packing has; the range is as wide as the device's VMEM.
   * Only the memory model `heap` says this, of a module that has no array in VMEM. */
  int64_t temp_more_bytes;
  int64_t temp_less_bytes;
} rh_memory;

#define RH_MEMORY_INIT \
  { sizeof(rh_memory), 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, NULL, 0, 0, 0 }

/* Measures the memory of a scheduled module under `model`, a name of RH_MEMORY_MODELS. `settings`
 * may be NULL. The texts in `*memory` live as long as the module. Returns RH_ERR_USAGE if the
 * module has no schedule. Threads: any. */
RH_API rh_status rh_measure_memory(const rh_module *module, const rh_settings *settings,
                                   const char *model, rh_memory *memory, rh_diags *diags);

/* The memory that a byte budget limits. */
typedef enum rh_limit_counts {
  RH_COUNT_TEMP,
  RH_COUNT_TEMP_OUTPUTS,
  RH_COUNT_TOTAL,
} rh_limit_counts;

/* Returns the sum, in bytes, of those figures in `memory` that a budget of the kind `counts`
 * limits. Temporaries count with the most that XLA may assign, `temp_bytes` + `temp_more_bytes`.
 * Threads: any. */
RH_API int64_t rh_counted_bytes(const rh_memory *memory, rh_limit_counts counts);

/* Returns what no order and no recomputation brings rh_counted_bytes() below, as
 * `lower_bound_bytes` says of the peak. Constants that `counts` adds to the peak are in it, unless
 * the bound covers loops, whose states may then do without those that they begin with. Threads:
 * any.
 */
RH_API int64_t rh_counted_bound_bytes(const rh_memory *memory, rh_limit_counts counts);

/* What a budget asks of a module that takes `memory`, before anything is searched. */
typedef enum rh_prospect {
  RH_PROSPECT_WITHIN, /* the module fits the budget as it is */
  RH_PROSPECT_LITTLE, /* nothing can be saved, or less than what is worth a search */
  RH_PROSPECT_BELOW,  /* the budget is below the bound: no search meets it, and one with a limit of
                         0, as low as possible, does not look for what there is not */
  RH_PROSPECT_OPEN,
} rh_prospect;

/* Compares a budget with what a module takes and with its lower bound, which offloading,
 * compression and narrower types do not keep to: it is for callers that only allow recomputation.
 * `min_reducible_bytes` is what must lie above the bound for a search to be worth while; 0 = any.
 * O(1), so that a program that compiles many modules asks this first. Threads: any. */
RH_API rh_prospect rh_weigh_budget(const rh_memory *memory, rh_limit_counts counts,
                                   int64_t limit_bytes, int64_t min_reducible_bytes);

/* What a module needs of a memory space apart from the device's memory: S(n) of layouts, such as
 * VMEM on XLA:TPU, or the host's memory. No other figure counts it. Made by the library. */
typedef struct rh_space {
  int64_t number;           /* n of S(n) */
  rh_text name;             /* such as `VMEM`; empty if it is not known */
  int64_t bytes;            /* that the memory model `heap` assigns in it */
  int64_t peak_bytes;       /* the most that is live in it at once */
  rh_text peak_instruction; /* the first instruction at which that is live */
  uint64_t num_values;      /* that are in it at some time */
} rh_space;

/* Receives one memory space, which is valid until the function returns; its texts are valid as long
 * as the module. */
typedef void (*rh_space_fn)(void *context, const rh_space *space);

/* Visits the memory spaces that a scheduled module uses apart from the device's memory, by
 * ascending number. `settings` may be NULL. Threads: any. */
RH_API rh_status rh_visit_spaces(const rh_module *module, const rh_settings *settings,
                                 rh_space_fn visit, void *context, rh_diags *diags);

#define RH_MAX_REASONS 4

/* A buffer that is live at the peak. Made by the library. */
typedef struct rh_live_buffer {
  rh_text instruction; /* the instruction that produces it */
  rh_text opcode;
  int64_t bytes;
  const char *reason;      /* one word that says why it is not recomputed; "none" if it could be */
  const char *explanation; /* the reason as a sentence */
  /* All reasons, if it would be kept even without the first one, such as a small collective. */
  const char *reasons[RH_MAX_REASONS];
  const char *explanations[RH_MAX_REASONS];
  size_t num_reasons; /* at least 1: `reason` and `explanation` */
} rh_live_buffer;

/* Receives one buffer. The buffer is valid until the function returns; its texts are valid as long
 * as the module. */
typedef void (*rh_live_fn)(void *context, const rh_live_buffer *buffer);

struct rh_remat_options;

/* Visits the buffers that are live at the peak of a scheduled module under the memory model
 * `model`, largest first. `options` determines which buffers could be recomputed. `settings` and
 * `options` may be NULL. Threads: any. */
RH_API rh_status rh_visit_live(const rh_module *module, const rh_settings *settings,
                               const char *model, const struct rh_remat_options *options,
                               rh_live_fn visit, void *context, rh_diags *diags);

/* ---- where the memory goes ---- */

/* A call on the stack in which instructions were traced. Made by the library. */
typedef struct rh_frame {
  rh_text file;
  rh_text function; /* empty if unknown */
  int64_t line;     /* 0 = unknown */
  int64_t parent;   /* index of the caller's frame, -1 = none; it is less than that of this frame */
  bool is_library;  /* the file belongs to a library, see rh_settings.library */
} rh_frame;

/* A value that is live at the peak. Texts are valid UTF-8, and empty if unknown. Made by the
 * library. */
typedef struct rh_live_value {
  rh_text name; /* the name of the instruction that produces it, followed by the tuple index for a
                   part of a result: `dot.3`, `x{1}` */
  rh_text opcode;
  rh_text shape;
  rh_text computation;
  rh_text op_name;
  rh_text source_file;
  int64_t source_line;  /* 0 = unknown */
  bool is_inherited;    /* the instruction has no metadata, or no source position; those of an
                           instruction that it derives from, or else of one that reads it, are used
                           instead */
  const char *category; /* the first of these that applies: `parameter`, `donated`, `output`,
                           `while carry`, `constant`, `copy`, `temporary` */
  int64_t bytes;        /* bytes that the value contributes to the peak */
  int64_t begin, end;   /* first and last position of its live range; `end` is num_positions if the
                           value outlives the module; -1 = unknown */
  uint64_t num_aliases; /* number of values that share its memory, including itself */
  int64_t frame;        /* index of the innermost frame of its stack in rh_report.frames or
                           rh_memory_map.frames, -1 = unknown */
  rh_text argument;     /* the path of the argument that the value is, or derives from, such as
                           `params['w'][0]`; empty if there is a source position instead */
} rh_live_value;

typedef enum rh_sum_kind {
  RH_BY_CATEGORY,
  RH_BY_OPCODE,
  RH_BY_SOURCE,      /* source file and line; for arguments, the beginning of their path */
  RH_BY_OP_NAME,     /* op_name without the parts that transformations add; the opcode if there is
                        no op_name */
  RH_BY_COMPUTATION, /* the computation that produces the value */
  RH_NUM_SUMS,
} rh_sum_kind;

/* The sum over all live values that have one property in common. Made by the library. A program
 * that makes sums of its own for rh_compare_sums fills in these four fields. */
typedef struct rh_sum {
  rh_text name; /* empty for the values that do not have the property */
  int64_t line; /* the source line for RH_BY_SOURCE, -1 = `name` is an argument; otherwise 0 */
  int64_t bytes;
  uint64_t num_values;
} rh_sum;

typedef struct rh_sums {
  const rh_sum *const *list; /* largest first */
  size_t len;
} rh_sums;

/* A node of the hierarchy of operation names, which works like a directory: `step/block/attention`
 * is below `step/block`. Made by the library. */
typedef struct rh_scope {
  rh_text path;
  rh_text name; /* the last component of the path */
  uint32_t depth;
  int64_t bytes; /* including all scopes below it */
  uint64_t num_values;
} rh_scope;

/* An array in a loop's state of which each iteration writes a slice. Made by the library. */
typedef struct rh_stack {
  rh_text name;     /* the instruction whose value it stores, or `loop#element` for one that exists
                       only within a fusion: the names that plans use */
  uint32_t element; /* of the loop's state */
  rh_text shape;    /* of the whole array */
  int64_t bytes;
  rh_text op_name; /* origin of the value */
  rh_text source_file;
  int64_t source_line;     /* 0 = unknown */
  const char *reason;      /* why it is stored where as little as possible is, for programs; `none`
                              if the loops that read it can compute it again */
  const char *explanation; /* the same as a sentence */
} rh_stack;

/* The stacks that a loop writes and other loops read slice by slice, such as those that the forward
 * loop of a differentiated scan saves for its backward loop. Made by the library. */
typedef struct rh_stacks {
  rh_text loop;           /* the while that writes them */
  int64_t num_iterations; /* -1 = unknown */
  rh_text op_name;        /* origin of the loop, or else of a value that it stores */
  rh_text source_file;
  int64_t source_line;    /* 0 = unknown */
  const rh_text *readers; /* the loops that read them */
  size_t num_readers;
  int64_t bytes;                 /* of all stacks of the loop */
  const rh_stack *const *stacks; /* largest first */
  size_t num_stacks;
  /* Why nothing about them can be recomputed, for programs, and as a sentence; `none` if some of it
   * can. The figures below are then 0. */
  const char *reason, *explanation;
  int64_t least_bytes; /* of the stacks that remain where as little as possible is stored */
  double least_added;  /* what that adds to the modelled time, as a fraction */
  int64_t fast_bytes; /* the same where only that is recomputed that takes no longer than storing */
  double fast_added;  /* it; at most 0 */
} rh_stacks;

/* An explanation of the peak memory of a module. Made by the library. */
typedef struct rh_report {
  rh_text module;
  const char *memory_model;
  const char *target;       /* one of RH_TARGETS */
  const char *packing;      /* one of RH_PACKINGS */
  int64_t heap_limit_bytes; /* as in the settings, -1 = none */
  /* The sizes of the heaps that hold temporaries under the memory model `heap`, for all memory
   * spaces. A memory space has several heaps only if there is a heap limit. */
  const int64_t *heap_bytes;
  size_t num_heaps;
  const rh_memory *memory;     /* the result of rh_measure_memory */
  int64_t liveness_peak_bytes; /* peak under the memory model `liveness` */
  int64_t packed_temp_bytes;   /* bytes that temporaries occupy at the offsets that the memory model
                                  `heap` assigns to them */
  int64_t fragmentation_bytes; /* the part of packed_temp_bytes that is unused at its peak */
  int64_t unused_bytes;        /* the part of the peak that is held while no value is in it, which
                                  only the memory model `heap` counts (gaps, outputs that are not
                                  computed yet); the rest of the peak is in `live` */
  int64_t shared_bytes;        /* memory saved by values that reuse the memory of other values: how
                                  much larger liveness_peak_bytes would be if each value had memory
                                  of its own from its definition to its last read */
  int64_t peak_position;       /* position of memory.peak_instruction, -1 = nothing needs memory */
  rh_text peak_op_name;        /* origin of memory.peak_instruction, as in rh_live_value */
  rh_text peak_source_file;
  int64_t peak_source_line;
  int64_t num_positions;            /* length of the schedule of the entry computation, in which the
                                       instructions of called computations come before the caller */
  const rh_live_value *const *live; /* values live at the peak, largest first; their bytes add up to
                                       the peak */
  size_t num_live;
  const rh_sums *sums; /* indexed by rh_sum_kind; one for each kind that the library knows */
  const rh_scope *const *scopes; /* a tree in preorder: each scope follows its parent; siblings are
                                    ordered by size */
  size_t num_scopes;
  const rh_stacks *const *stacks; /* one for each loop that stacks values for others; the loop with
                                     the most bytes first */
  size_t num_stacks;
  const rh_frame *const *frames; /* of the stacks of `live`; callers come before what they call */
  size_t num_frames;
  const rh_space *const *spaces; /* as rh_visit_spaces visits them */
  size_t num_spaces;
} rh_report;

/* Explains the peak memory of a scheduled module under `model`, a name of RH_MEMORY_MODELS.
 * `settings` may be NULL. The caller must free `*report` with rh_report_free before it frees the
 * module. O(n log n). Threads: any. */
RH_API rh_status rh_report_make(const rh_module *module, const rh_settings *settings,
                                const char *model, rh_report **report, rh_diags *diags);

/* Frees a report. `report` may be NULL. Threads: one for each report. */
RH_API void rh_report_free(rh_report *report);

/* A sum that differs between `before` and `after`. Made by the library. */
typedef struct rh_change {
  rh_text name;
  int64_t line;
  int64_t before_bytes, after_bytes; /* 0 = the sum does not exist on this side */
  uint64_t before_num_values, after_num_values;
} rh_change;

/* Receives one change, which is valid until the function returns. */
typedef void (*rh_change_fn)(void *context, const rh_change *change);

/* Visits the differences between two lists of sums of the same kind, largest change first. Sums are
 * matched by name and line. The lists need not come from a report, but within one list no two sums
 * may have the same name and line. O(n log n). Threads: any. */
RH_API rh_status rh_compare_sums(rh_sums before, rh_sums after, rh_change_fn visit, void *context,
                                 rh_diags *diags);

/* ---- memory maps ---- */

/* A region of memory that holds values of one kind. Made by the library. */
typedef struct rh_memory_space {
  const char *kind; /* `constants`, `parameters`, `outputs`, `temporaries` */
  int64_t color;    /* for temporaries, the memory space of their layouts, S(n); otherwise 0 */
  int64_t bytes;    /* if there is a heap limit, the heaps of the space are laid end to end */
} rh_memory_space;

/* A value and the memory that is assigned to it. No two values of a space occupy the same bytes at
 * the same time. Made by the library. */
typedef struct rh_placed_value {
  const rh_live_value *value; /* its `begin` and `end` are the positions at which the value is
                                 computed and last needed */
  rh_text scope;              /* its op_name as a path in rh_report.scopes */
  size_t space;               /* index into rh_memory_map.spaces */
  int64_t offset;             /* byte offset in the space */
  int64_t begin, end;   /* positions [begin, end) during which the memory belongs to the value; if
                           another value takes over the memory, `end` is before value.end */
  int64_t position;     /* position of the instruction that produces the value */
  const int64_t *reads; /* positions of the instructions that read it, ascending */
  size_t num_reads;
  bool is_rematerialized; /* rh_remat added this value as a recomputation */
} rh_placed_value;

/* The place and live range of every value that the memory model `heap` counts, and of constants.
 * Made by the library. */
typedef struct rh_memory_map {
  rh_text module;
  const rh_memory_space *const *spaces; /* in the order of rh_memory_space.kind, in which they are
                                           stacked */
  size_t num_spaces;
  const rh_placed_value *const *values; /* ordered by space, begin and offset */
  size_t num_values;
  int64_t num_positions;       /* as in rh_report */
  const rh_text *instructions; /* names of instructions, indexed by position */
  const int64_t *live_bytes;   /* indexed by position: the bytes of live temporaries, plus all bytes
                                  of the other kinds */
  int64_t peak_position;       /* the position at which live_bytes is largest, -1 = none */
  int64_t total_bytes;         /* sum over all spaces */
  const rh_memory *memory;     /* measured under the memory model `heap` */
  const rh_frame *const *frames; /* of the stacks of `values`; callers come before what they call */
  size_t num_frames;
  /* Of which memory the map is: S(n) of layouts, 0 = the device's; the name is empty if it is not
   * known. The map of the device's memory has a map of each further memory that is used, by
   * ascending number, with the same positions, frames and `memory`. */
  int64_t memory_space;
  rh_text memory_space_name;
  const struct rh_memory_map *const *others;
  size_t num_others;
} rh_memory_map;

/* Determines the place in memory of the values of a scheduled module. `settings` may be NULL. The
 * caller must free `*map` with rh_memory_map_free before it frees the module. Takes the time of
 * rh_measure_memory for `heap`, plus O(values · log values + uses). Threads: any. */
RH_API rh_status rh_memory_map_make(const rh_module *module, const rh_settings *settings,
                                    rh_memory_map **map, rh_diags *diags);

/* Frees a memory map. `map` may be NULL. Threads: one for each map. */
RH_API void rh_memory_map_free(rh_memory_map *map);

/* ---- cost ---- */

typedef struct rh_profile rh_profile; /* a profile of a device */

typedef struct rh_profile_options {
  size_t struct_size;
  double to_host, to_device; /* bandwidth of the link to host memory and back, in bytes per second;
                                0 = the value in the profile */
} rh_profile_options;

#define RH_PROFILE_OPTIONS_INIT \
  { sizeof(rh_profile_options), 0, 0 }

/* Parses a device profile (JSON, as in share/remat-hlo/profiles). The text is not needed after the
 * call. `options` may be NULL. `*profile` is immutable; the caller frees it with rh_profile_free.
 * Returns RH_ERR_INPUT if the text is not a device profile. Threads: any. */
RH_API rh_status rh_profile_parse(const char *json, size_t length,
                                  const rh_profile_options *options, rh_profile **profile,
                                  rh_diags *diags);

/* Makes the profile of a device that is built in; rh_list(RH_DEVICES, …) has their names. `options`
 * and `*profile` are as for rh_profile_parse. Returns RH_ERR_USAGE if there is no such device.
 * Threads: any. */
RH_API rh_status rh_profile_named(const char *name, const rh_profile_options *options,
                                  rh_profile **profile, rh_diags *diags);

/* Frees a profile. `profile` may be NULL. Threads: one for each profile. */
RH_API void rh_profile_free(rh_profile *profile);

/* Return the name of the profile, and a description of the device in one line. Both strings live as
 * long as the profile. Threads: any. */
RH_API const char *rh_profile_name(const rh_profile *profile);
RH_API const char *rh_profile_description(const rh_profile *profile);

/* Returns the size of the device's memory in bytes, 0 = unknown. Threads: any. */
RH_API int64_t rh_profile_memory_bytes(const rh_profile *profile);

/* Writes a profile as JSON that rh_profile_parse reads. Threads: any. */
RH_API rh_status rh_profile_print(const rh_profile *profile, rh_write_fn write, void *context,
                                  rh_diags *diags);

typedef struct rh_cost {
  size_t struct_size;
  /* Sums over the entry computation as XLA's HloCostAnalysis computes them: loop bodies count once,
   * and custom calls count as -1. */
  int64_t flops, transcendentals, bytes_accessed;
  /* The same figures weighted by trip counts, over all instructions that run. */
  double flops_weighted, transcendentals_weighted, bytes_accessed_weighted;
  double offloaded_bytes; /* bytes copied to host memory, weighted */
  double seconds;         /* time by the roofline model of the profile, weighted; 0 without a
                             profile */
  /* The part of `seconds` during which nothing runs because of a copy from or to host memory. In a
   * module that has a schedule, asynchronous copies overlap with other instructions. */
  double stall_seconds;
  /* The parts of `seconds` that are estimates of XLA:TPU or XLA:GPU, which the text has, and that
   * were measured (rh_settings.times) in so many steps; the rest is modeled. */
  double estimated_seconds, measured_seconds;
  uint64_t measured_steps;
} rh_cost;

#define RH_COST_INIT \
  { sizeof(rh_cost), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Size of the buffer that rh_time_source writes to, including the final NUL. */
#define RH_TIME_SOURCE_CHARS 128

/* Names whose seconds a cost has: `roofline`, `fitted to XLA:TPU's estimates`, `XLA:TPU's
 * estimates`, `XLA:GPU's estimates`, `measured, 12 steps`, or one of these with the share of
 * another. `profile` is the one
 * that the cost was computed with. Threads: any. */
RH_API void rh_time_source(const rh_cost *cost, const rh_profile *profile,
                           char text[RH_TIME_SOURCE_CHARS]);

/* Computes the cost of a module. `settings` and `profile` may be NULL. `default_trip_count` is used
 * for loops whose trip count cannot be determined from the text. Threads: any. */
RH_API rh_status rh_measure_cost(const rh_module *module, const rh_settings *settings,
                                 const rh_profile *profile, int64_t default_trip_count,
                                 rh_cost *cost, rh_diags *diags);

/* ---- measured times ---- */

typedef struct rh_times rh_times;

/* A module in a profile. Made by the library. */
typedef struct rh_timed_module {
  rh_text name;
  uint64_t num_steps;        /* how often it ran; figures of seconds are averages over its runs */
  uint64_t num_instructions; /* that were measured */
  double step_seconds;       /* from the first instruction of a run to the end of its last one */
  double busy_seconds;       /* of these, during which at least one instruction ran */
  double overlap_seconds; /* sum over the instructions less busy_seconds: what ran beside others */
} rh_timed_module;

/* Reads a profile of jax.profiler or of XProf: an XSpace (`….xplane.pb`) or the trace of it as JSON
 * (`….trace.json`, decompressed). `data` is not needed after the call. The caller frees `*times`
 * with rh_times_free. Returns RH_ERR_INPUT if it is neither, or if no event in it names an
 * instruction. Threads: any. */
RH_API rh_status rh_times_parse(const char *data, size_t length, rh_times **times, rh_diags *diags);

/* Frees a profile. `times` may be NULL. Threads: one for each profile. */
RH_API void rh_times_free(rh_times *times);

/* Lists the modules of a profile, the one that took longest first; they live as long as `times`.
 * Threads: any. */
RH_API const rh_timed_module *const *rh_times_modules(const rh_times *times, size_t *count);

/* What an allocator of device memory had given out while a profile was made: the least and the most
 * of all its events, whoever asked for it. Made by the library. */
typedef struct rh_timed_allocator {
  rh_text name;
  uint64_t num_events; /* allocations and deallocations */
  int64_t least_bytes;
  int64_t most_bytes;
} rh_timed_allocator;

/* Lists the allocators of a profile, sorted by name; they live as long as `times`. XLA:GPU has
 * events of its allocators; other backends may have none. Threads: any. */
RH_API const rh_timed_allocator *const *rh_times_allocators(const rh_times *times, size_t *count);

/* Finds the HloProto messages in an XSpace. `*hlo` becomes that of the module named `name`, or, if
 * that is NULL, the largest one: a pointer into `data`, for rh_print_proto. NULL = there is none,
 * or `data` is no XSpace. Threads: any. */
RH_API rh_status rh_times_find_hlo(const char *data, size_t length, const char *name,
                                   const char **hlo, size_t *hlo_length, rh_diags *diags);

/* Makes a profile whose modeled times are multiplied by the ratio of what was measured in
 * `settings->times` to what is modeled of the same instructions; without measured times, the same
 * profile. Results are to be computed with it, so that times that were not measured are comparable
 * with those that were. `*scaled` is to be freed like `profile`. Threads: any. */
RH_API rh_status rh_profile_scaled(const rh_profile *profile, const rh_module *module,
                                   const rh_settings *settings, int64_t default_trip_count,
                                   rh_profile **scaled, rh_diags *diags);

/* ---- where the time goes ---- */

/* A share of the cost of a module: one instruction, or all instructions that have one property in
 * common. Figures are weighted, that is, multiplied by the number of times that each instruction
 * runs. Made by the library, as are all other structs of this section. */
typedef struct rh_cost_share {
  rh_text name; /* as in rh_sum; for a scope the last component of its path; valid UTF-8, empty if
                   unknown */
  int64_t line; /* the source line for RH_BY_SOURCE, otherwise 0 */
  uint64_t num_instructions;
  double flops, transcendentals, bytes_accessed; /* XLA's -1 for custom calls counts as 0 */
  double seconds;                                /* modeled time */
  double memory_seconds; /* the part of `seconds` in instructions that memory bandwidth bounds */
} rh_cost_share;

typedef struct rh_cost_shares {
  const rh_cost_share *const *list; /* longest time first */
  size_t len;
} rh_cost_shares;

typedef struct rh_cost_instruction {
  const rh_cost_share *share; /* its name is that of the instruction */
  rh_text opcode, shape, computation, op_name, source_file;
  int64_t source_line; /* 0 = unknown */
  double runs;         /* the number of times that the instruction runs */
  const char *bound;   /* what limits its speed: `compute`, `transcendentals`, `memory`, `link`,
                          `launch` */
} rh_cost_instruction;

/* A node of the hierarchy of operation names, as rh_scope. */
typedef struct rh_cost_scope {
  const rh_cost_share *share;
  rh_text path;
  uint32_t depth;
} rh_cost_scope;

typedef struct rh_cost_report {
  rh_text module;
  const char *device;
  const rh_cost *cost; /* the result of rh_measure_cost */
  const rh_cost_share *total;
  uint64_t num_unknown_loops; /* loops whose trip count cannot be determined from the text */
  uint64_t num_unknown_calls; /* custom calls of which only the bytes of operands and results are
                                 known */
  const rh_cost_shares *sums; /* indexed by rh_sum_kind; empty for RH_BY_CATEGORY */
  const rh_cost_instruction *const *instructions; /* those that take time, longest first */
  size_t num_instructions;
  const rh_cost_scope *const *scopes; /* a tree in preorder: each scope follows its parent; siblings
                                         are ordered by time */
  size_t num_scopes;
} rh_cost_report;

/* Explains the modeled run time of a module on a device. `settings` may be NULL.
 * `default_trip_count` is as for rh_measure_cost. The caller must free `*report` with
 * rh_cost_report_free before it frees the module or the profile. O(n log n). Threads: any. */
RH_API rh_status rh_cost_report_make(const rh_module *module, const rh_settings *settings,
                                     const rh_profile *profile, int64_t default_trip_count,
                                     rh_cost_report **report, rh_diags *diags);

/* Frees a report. `report` may be NULL. Threads: one for each report. */
RH_API void rh_cost_report_free(rh_cost_report *report);

/* ---- calibration ---- */

/* How far modeled times are from measured times. */
typedef struct rh_model_error {
  size_t struct_size;
  double rank_correlation; /* Spearman's, equal values sharing their mean rank; NaN if the modeled
                              or the measured times are all the same */
  double median_error;     /* of |modeled / measured - 1| over all pairs */
  double worst_error;
  double sum_ratio; /* the sum of the modeled times, divided by that of the measured ones */
} rh_model_error;

#define RH_MODEL_ERROR_INIT \
  { sizeof(rh_model_error), 0, 0, 0, 0 }

/* Compares `count` pairs of times; all figures are NaN if there are none. Threads: any. */
RH_API rh_status rh_compare_seconds(const double *modeled, const double *measured, size_t count,
                                    rh_model_error *error, rh_diags *diags);

typedef struct rh_calibrate_options {
  size_t struct_size;
  const char *name;           /* of the new profile */
  int64_t default_trip_count; /* as for rh_measure_cost */
  const char *const *groups;  /* for each measurement a name: measurements of one group, such as
                                 those of variants of one program, are held out together; NULL =
                                 each one is a group of its own */
} rh_calibrate_options;

#define RH_CALIBRATE_OPTIONS_INIT \
  { sizeof(rh_calibrate_options), "calibrated", 1, NULL }

/* A profile that was fitted to measured times, and how far it is from them. Made by the library.
 * The lists have an element for each measurement. */
typedef struct rh_calibration {
  const rh_profile *profile;      /* the new one */
  const double *before_seconds;   /* modeled with the profile that was given */
  const double *fitted_seconds;   /* modeled with the new profile */
  const double *held_out_seconds; /* modeled with a profile that was fitted to the measurements of
                                     all other groups only; NULL if there is only one group */
  const rh_model_error *before, *fitted;
  const rh_model_error *held_out; /* the error to expect of modules that were not measured; NULL if
                                     there is only one group */
  size_t num_groups;
  const double *estimated_seconds; /* of rh_calibrate_estimates: the sum of the estimates in each
                                      module; else NULL */
  size_t num_instructions;         /* of rh_calibrate_estimates: those that it was fitted to */
} rh_calibration;

/* Fits a device profile to measured run times of modules: memory bandwidth, the rates of matrix
 * products, of other operations and of transcendentals, and the fixed cost of a kernel. Everything
 * else is copied from `profile`, from whose proportions the fit departs only where the measurements
 * require it. `seconds` has the time of each of the `count` modules, which must be at least 2.
 * `settings` and `options` may be NULL. The caller frees `*calibration` with rh_calibration_free.
 * Returns RH_ERR_USAGE if there are fewer measurements, or if a time is not a number above 0. Takes
 * time proportional to the number of groups times that of the instructions. Threads: any. */
RH_API rh_status rh_calibrate(const rh_module *const *modules, const double *seconds, size_t count,
                              const rh_settings *settings, const rh_profile *profile,
                              const rh_calibrate_options *options, rh_calibration **calibration,
                              rh_diags *diags);

/* Fits the prices of units of work in a device profile to XLA:TPU's own estimates of time, which
 * the modules have for most of their instructions (`estimated_cycles` in their backend_config, in
 * texts from after code generation). `profile` must know the device's clock. `before`, `fitted` and
 * `held_out` are errors over all instructions with an estimate, of equal ones in a module one; the
 * lists of seconds have sums over those of each module, each once. Other parameters and results are
 * as for rh_calibrate. Returns RH_ERR_INPUT if no instruction has an estimate, and RH_ERR_USAGE if
 * the profile has no clock. Takes time proportional to the number of groups times that of the
 * instructions. Threads: any. */
RH_API rh_status rh_calibrate_estimates(const rh_module *const *modules, size_t count,
                                        const rh_settings *settings, const rh_profile *profile,
                                        const rh_calibrate_options *options,
                                        rh_calibration **calibration, rh_diags *diags);

/* Frees a calibration, with its profile. `calibration` may be NULL. Threads: one for each
 * calibration. */
RH_API void rh_calibration_free(rh_calibration *calibration);

/* ---- rematerialization ---- */

typedef enum rh_emit {
  RH_EMIT_SCHEDULED,   /* is_scheduled=true, with instructions in the order of the schedule */
  RH_EMIT_UNSCHEDULED, /* not scheduled: only rh_protect keeps recomputations in their place */
} rh_emit;

/* The mechanism that prevents XLA, when it compiles the result, from merging recomputed values with
 * the original ones and from computing them early. All mechanisms give bit-identical results. */
typedef enum rh_protect {
  RH_PROTECT_AUTO,         /* RH_PROTECT_NONE if the result is scheduled, otherwise
                              RH_PROTECT_CONTROL_DEPS */
  RH_PROTECT_NONE,         /* no protection: XLA's common subexpression elimination must not run
                              anymore */
  RH_PROTECT_CONTROL_DEPS, /* a control dependency makes a recomputation wait for the instruction
                              before it; StableHLO has no control dependencies */
  RH_PROTECT_OPT_BARRIER,  /* the operands of a recomputation pass through an optimization barrier
                              together with a value that is computed just before */
  RH_PROTECT_CONDITIONAL,  /* a recomputation is a branch of a conditional that is always taken,
                              which XLA cannot know */
} rh_protect;

/* What an XLA algorithm may do with a value instead of keeping it in memory. RH_REMAT_NARROW, which
 * XLA does not have, never changes a bit of the results. */
enum {
  RH_REMAT_RECOMPUTE = 1,
  RH_REMAT_COMPRESS = 2, /* keep it in a layout with less padding, if the target pads arrays */
  RH_REMAT_OFFLOAD = 4,  /* keep it in host memory, if there is time for the copies according to a
                            profile */
  RH_REMAT_NARROW = 8,   /* keep it as integers with fewer bits, if these can represent all its
                            elements */
};

/* What rh_remat has found so far. Made by the library; valid until the function that receives it
 * returns. */
typedef struct rh_progress {
  int64_t best_bytes;   /* the memory that the budget bounds, of the best result so far */
  bool is_met;          /* the best result meets the budget */
  double added_seconds; /* modelled time of the best result less that of the module given */
} rh_progress;

/* Receives the best result so far, each time that a better one is found. It is called by the thread
 * that called rh_remat. */
typedef void (*rh_progress_fn)(void *context, const rh_progress *progress);

/* Returns true to end the call early with the best result so far, and false to go on. It is asked
 * often, so it should only read a flag. It is called by the thread that called rh_remat or, if
 * num_threads is more than 1, by any thread that the call has started, but never by two at the same
 * time. After it has returned true, it is not called again. */
typedef bool (*rh_cancel_fn)(void *context);

/* The usual limit of rh_remat_options.small_node_bytes. */
#define RH_SMALL_NODE_BYTES (INT64_C(1) << 20)

/* rh_remat_options.effort for whoever waits for a compilation: the steps follow from the size of
 * the module alone. They are those of effort 1 for 1,500 to 10,000 instructions and fall to those
 * of effort 0 beyond that. Smaller modules have those of 1,500 instructions, a third of what they
 * have with effort 1. So a search takes a few per cent of the time that XLA takes to compile the
 * module. */
#define RH_EFFORT_BY_SIZE (-1)

typedef struct rh_remat_options {
  size_t struct_size;
  const char *algorithm;    /* a name of RH_ALGORITHMS */
  const char *memory_model; /* a name of RH_MEMORY_MODELS */
  rh_limit_counts limit_counts;
  int64_t limit_bytes; /* the budget; INT64_MAX = no budget, nothing is done; 0 = as low as
                          possible */
  rh_emit emit;
  rh_protect protect;
  int64_t small_node_bytes; /* results of at most this size are not recomputed; 0 = all may be
                               recomputed; -1 = RH_SMALL_NODE_BYTES, or 0 for an algorithm with
                               RH_TRAIT_ALL_SIZES */
  bool remat_collectives;   /* collectives may be recomputed, by all devices together */
  bool clone_callees;       /* a computation that has several callers is cloned for the callers that
                               have more or less memory available */

  /* Options of XLA's algorithms. */

  int64_t min_remat_bytes;   /* XLA's min_remat_size, in bytes */
  uint32_t block_size_limit; /* maximum number of consecutive instructions that are recomputed
                                together */
  double block_factor;       /* XLA's block_rematerialization_factor; 0 = block_size_limit / 8, at
                                least 1 */
  unsigned modes;    /* RH_REMAT_…, for `standard`, `peak-priority`, `search` and `auto` */
  bool callees_once; /* reduce each computation only once, as its first caller requires,
                        like XLA; under the memory model `xla-remat` this is always so */

  /* Options of `path`. */

  uint32_t path_depth; /* maximum number of instructions in a row that are recomputed in order to
                          recompute a value */

  /* Option of `checkpoint=collection`: POSIX extended regular expressions, one per line. A value is
   * kept if its name, its op_name or its `source_file:line` contains a match of one of them.
   * NULL = no value is kept because of its name. */
  const char *collection;
  /* Expressions in the same format, for all algorithms; NULL = none. An instruction that `pin`
   * matches is left alone: its value stays in memory, unchanged, until its last use. An instruction
   * that `never` matches is not computed a second time, neither for its own value nor for another
   * one, and neither is a fusion that contains it; its value may be compressed or offloaded. If the
   * instruction that matches is a bitcast or get-tuple-element, the instruction that its value
   * comes from is treated as a match, too. */
  const char *pin;
  const char *never;
  const rh_profile *profile; /* for RH_REMAT_OFFLOAD; NULL = nothing is offloaded */
  const char *parameters;    /* `name=value` lines, names of RH_PARAMETERS; NULL = the defaults */
  bool keep_plan;            /* record the steps, so that rh_emit_plan can write them */

  /* Limits of a call. An algorithm whose effort or time is used up, or that is cancelled, is not an
   * error: the result is the best one that was found by then, complete and proven as any other, or
   * the module as it was given. Measuring, printing and proving the result take their time even so.
   */

  int effort;                /* how long algorithms that search may search, 0 to 9; each takes about
                                3.5 times as long as the one before, counted in steps, so that
                                results do not depend on the machine; or RH_EFFORT_BY_SIZE */
  double time_limit_seconds; /* algorithms end after so many seconds; results then depend on the
                                machine; 0 = no limit */
  unsigned num_threads;    /* threads that algorithms may use, the caller's included; results do not
                              depend on it; 0 = 1 */
  rh_cancel_fn cancel;     /* NULL = the call is not cancelled */
  rh_progress_fn progress; /* NULL = nobody looks on */
  void *context;           /* passed to `cancel` and `progress` */
  bool keep_order;         /* algorithms that also choose the order leave it as it is */
} rh_remat_options;

#define RH_REMAT_OPTIONS_INIT                                                                  \
  {                                                                                            \
    sizeof(rh_remat_options), "auto", "heap", RH_COUNT_TOTAL, INT64_MAX, RH_EMIT_SCHEDULED,    \
        RH_PROTECT_AUTO, -1, false, false, 0, 1, 0, RH_REMAT_RECOMPUTE, false, 10, NULL, NULL, \
        NULL, NULL, NULL, false, 5, 0, 1, NULL, NULL, NULL, false                              \
  }

/* A loop that no longer stores what other loops read of it: they compute it again. Made by the
 * library. */
typedef struct rh_scan {
  int64_t round;          /* from 0; names are those of the module after the rounds before */
  rh_text loop;           /* the while */
  rh_text source_file;    /* origin of the loop */
  int64_t source_line;    /* 0 = unknown */
  const rh_text *readers; /* the loops that compute the values again */
  size_t num_readers;
  const rh_text *stored; /* values that are stored now, as in rh_stack.name */
  size_t num_stored;
  int64_t segment;      /* if it is not 0, the loop stores what every so many iterations begin with,
                           its state, and runs these iterations again for the readers */
  int64_t num_segments; /* how often it does */
  int64_t num_freed;    /* stacks that are gone, or that hold only a segment's slices */
  int64_t freed_bytes;  /* of them, less those of new ones */
  int64_t stored_bytes; /* of the loop's stacks that remain, new ones included */
  int64_t unrolled; /* if it is not 0, the loop is gone: its iterations, so many, are written out,
                       and their values may be recomputed like all others */
} rh_scan;

/* Why an instruction must keep its order against another one that it does not depend on: both use
 * memory that XLA's copy-insertion has let several values share. */
typedef enum rh_tie {
  RH_TIE_LOOP,     /* what loops carry */
  RH_TIE_BRANCH,   /* what conditionals return */
  RH_TIE_DONATED,  /* a parameter's, for a result */
  RH_TIE_IN_PLACE, /* what is updated in place */
  RH_NUM_TIES,
} rh_tie;

typedef struct rh_remat_result {
  size_t struct_size;
  bool is_met;                      /* counted_bytes is within the limit */
  int64_t counted_bytes;            /* memory of the result, measured again from its text */
  int64_t xla_reported_after_bytes; /* memory that XLA's pass would report; -1 for algorithms that
                                       are not XLA's */
  rh_protect protect;               /* the protection that was used; never RH_PROTECT_AUTO */
  double remat_seconds, verify_seconds; /* time taken by rematerialization and by verification */
  const rh_scan *const
      *scans; /* the loops whose stacks changed; they belong to the result module */
  size_t num_scans;
  bool is_interrupted; /* rh_remat_options.cancel has ended the call early */
  bool is_timed_out;   /* rh_remat_options.time_limit_seconds has ended it early */
  /* What recomputation adds to the modelled time at least, if the budget is to be met; INFINITY if
     recomputation alone cannot meet it. It only holds for the changes that `bound_kind` names. */
  double added_seconds_bound;
  const char *bound_kind; /* `this order, originals in place`: no recomputation adds less where each
                             instruction first runs in the order of the result. Other orders, and
                             what is not recomputation, such as offloading, may do with less. NULL =
                             no bound is known */
  const char *algorithm;  /* the algorithm that gave the result, a name of RH_ALGORITHMS: `auto`
                             chooses one, and `none` leaves the module as it was; NULL = a plan */
  uint64_t num_moved; /* instructions that run at another place among those that were there before;
                         the fewest that explain the order. Those that take no time, such as tuples,
                         do not count, and neither do recomputations */
  uint64_t num_moves_lost; /* those of them that XLA may move back: of a result that is not
                              scheduled only RH_PROTECT_CONTROL_DEPS keeps them all */
  /* counted_bytes if XLA schedules the result anew, as its operands and control dependencies allow:
     by `default`, its scheduler of GPUs, and by `bfs`, that of CPUs; -1 for a scheduled result, and
     if nothing was to be done. XLA may fuse a module before that */
  int64_t default_counted_bytes, bfs_counted_bytes;
  /* For algorithms that also choose the order, of modules past copy-insertion: the instructions of
     the module given that take time, and how many of them are tied, by rh_tie, each counted once */
  uint64_t num_ordered, num_tied[RH_NUM_TIES];
  /* What remains where XLA compiles the result from the start, which it does with a module that it
     has yet to optimize: StableHLO has no control dependencies, and XLA merges recomputations that
     read the same operands as their originals. How many it merges, 0 for a module that is
     optimized; and counted_bytes then, in the orders of `default` and `bfs`, before fusion; -1 for
     a scheduled result, for an optimized module, and if nothing was to be done */
  uint64_t num_merged;
  int64_t compiled_default_bytes, compiled_bfs_bytes;
  /* values that are kept in a layout with less padding, as integers with fewer bits, and in host
     memory, instead of being recomputed */
  uint64_t num_compressed, num_narrowed, num_offloaded;
  bool rounds_alike; /* it was shown that a code generator which contracts products and sums rounds
                        all values as before, if it compiles the fusions as they are written. Never
                        false, except with rh_schedule_options.unfuse */
  /* The result misses a limit above 0, frees less than a tenth of the bytes that the limit asks
     for, and adds a larger share to the modelled time than it takes from the memory. Programs that
     are compiled as they run are better left as they are then */
  bool hardly_helps;
  bool is_out_of_steps; /* a search ended because it had spent what `effort` allows */
} rh_remat_result;

#define RH_REMAT_RESULT_INIT                                                                     \
  {                                                                                              \
    sizeof(rh_remat_result), false, 0, 0, RH_PROTECT_AUTO, 0, 0, NULL, 0, false, false, 0, NULL, \
        NULL, 0, 0, -1, -1, 0, {0}, 0, -1, -1, 0, 0, 0, false, false, false                      \
  }

/* Rematerializes values of a scheduled module until it fits the budget. The result is parsed again
 * from the text that rh_print writes, and it is proven to compute the same as the module that was
 * originally parsed; the call returns RH_ERR_INTERNAL if this fails. If copy-insertion has run on
 * the module, recomputed instructions do not read memory that has been overwritten. `settings` and
 * `result_info` may be NULL. The caller frees `*result` with rh_module_free. Returns RH_OVER_LIMIT
 * if the budget is not met; `*result` is then the best module that was found. A call that is
 * cancelled, or whose time is over, returns one of the two as well, and `result_info` says that it
 * ended early. Threads: any. */
RH_API rh_status rh_remat(const rh_module *module, const rh_settings *settings,
                          const rh_remat_options *options, rh_module **result,
                          rh_remat_result *result_info, rh_diags *diags);

/* What may lead to less memory than a result has. Made by the library. */
typedef struct rh_way {
  /* The option that does it, by its name on the command line, without dashes: `remat-collectives`,
     `small-node-limit`, `algorithm`, `effort`, `time-limit`, `remat-mode`, `unfuse`,
     `inline-calls`. Three are no options: `stage`, to begin from an earlier dump, `calibrate`, the
     command, and `xla-flags`, with which the program is compiled anew. */
  const char *option;
  const char *value; /* what to give it; NULL = nothing, or a choice */
  int64_t bytes;     /* at the peak of the result that stay for this reason; 0 = not of values */
  const char *explanation; /* why it applies to this result, as a sentence */
} rh_way;

/* Receives one way. It is valid until the function returns. */
typedef void (*rh_way_fn)(void *context, const rh_way *way);

/* Visits what may lead to less memory, where a result of rh_remat, made with these arguments,
 * misses its limit or, with a limit of 0, where it could be lower. A way is visited only if facts
 * of the two modules and of the search speak for it; there may be none. Under a limit that is below
 * the lower bound these are only ways that go below that. `settings` may be NULL. Threads: any. */
RH_API rh_status rh_visit_ways(const rh_module *before, const rh_module *after,
                               const rh_settings *settings, const rh_remat_options *options,
                               const rh_remat_result *result_info, rh_way_fn visit, void *context,
                               rh_diags *diags);

/* The recomputations of values that come from one source line, or from one argument. Made by the
 * library. */
typedef struct rh_recomputed_line {
  rh_text source_file; /* empty = unknown, or an argument */
  int64_t source_line; /* 0 = unknown */
  rh_text argument;    /* the argument without indices; empty for a line */
  rh_text scope;       /* the scope that contains all of them, as in rh_scope.path; may be empty */
  int64_t bytes;
  uint64_t num_values;
} rh_recomputed_line;

/* What a result of rh_remat computes a second time. Bytes are those of results, once for each time
 * that the recomputation runs, so that loops count as often as they iterate. Made by the library.
 */
typedef struct rh_recomputed {
  int64_t bytes;
  uint64_t num_values;                    /* instructions that recompute, those in loops once */
  const rh_recomputed_line *const *lines; /* the most bytes first */
  size_t num_lines;
  const rh_scope *const *scopes; /* a tree in preorder, as in rh_report */
  size_t num_scopes;
} rh_recomputed;

/* Sums up what was recomputed in a module that rh_remat or rh_apply_plan made; in other modules it
 * is nothing. `settings`, which may be NULL, and `default_trip_count` are as for rh_measure_cost.
 * The caller must free `*recomputed` with rh_recomputed_free before it frees the module.
 * O(instructions). Threads: any. */
RH_API rh_status rh_recomputed_make(const rh_module *module, const rh_settings *settings,
                                    int64_t default_trip_count, rh_recomputed **recomputed,
                                    rh_diags *diags);

/* Frees such a summary. `recomputed` may be NULL. Threads: one for each summary. */
RH_API void rh_recomputed_free(rh_recomputed *recomputed);

/* A record of the steps of a rematerialization. Its text is JSON that a person can edit; the manual
 * page documents the keys. */
typedef struct rh_plan rh_plan;

/* Parses a plan. The text is not needed after the call. The caller frees `*plan` with rh_plan_free.
 * Returns RH_ERR_INPUT if the text is not a plan; the diagnostic gives the place of the error.
 * Threads: any. */
RH_API rh_status rh_plan_parse(const char *json, size_t length, rh_plan **plan, rh_diags *diags);

/* Frees a plan. `plan` may be NULL. Threads: one for each plan. */
RH_API void rh_plan_free(rh_plan *plan);

/* rh_plan_preparation gets the options with which a module must be scheduled before the plan is
 * applied to it. The caller must initialize `*options` with RH_SCHEDULE_OPTIONS_INIT.
 * rh_plan_target returns the target that the plan was made for, one of RH_TARGETS. rh_plan_copies
 * returns what the settings said about copies when it was made. All strings live as long as the
 * plan. Threads: any. */
RH_API rh_status rh_plan_preparation(const rh_plan *plan, rh_schedule_options *options,
                                     rh_diags *diags);
RH_API const char *rh_plan_target(const rh_plan *plan);
RH_API rh_copies rh_plan_copies(const rh_plan *plan);

/* Applies a plan to a scheduled module. If the plan was written from a result of rh_remat, and
 * the module, its preparation, `settings` and `emit` are the same, the result is exactly the same.
 * With RH_COPIES_AUTO, the plan determines whether copy-insertion has run on the module. Code that
 * is dead after the last step is removed. `algorithm`, `collection` and `small_node_bytes` are
 * ignored, and the plan is applied as a whole even if the call is cancelled or its time is over.
 * The result is verified as in rh_remat. `settings` and `result_info` may be NULL. The
 * caller frees `*result` with rh_module_free. Returns RH_OVER_LIMIT if the budget is not met, as
 * rh_remat does. Returns RH_ERR_INPUT if the plan cannot be applied: it names something that does
 * not exist, recomputes something that may not be recomputed, or places an instruction before one
 * of its operands. If the plan was made for another module or schedule, a warning is added to
 * `diags`. Threads: any. */
RH_API rh_status rh_apply_plan(const rh_module *module, const rh_settings *settings,
                               const rh_plan *plan, const rh_remat_options *options,
                               rh_module **result, rh_remat_result *result_info, rh_diags *diags);

/* Writes the plan of a module that rh_remat or rh_apply_plan made with the option `keep_plan`.
 * `profile`, which may be NULL, is used to compute the time that the steps take, in seconds.
 * `settings`, which may be NULL, and `default_trip_count` are as for rh_measure_cost. Returns
 * RH_ERR_USAGE if the module has no plan, and RH_ERR_WRITE if `write` failed. Threads: any. */
RH_API rh_status rh_emit_plan(const rh_module *result, const rh_settings *settings,
                              const rh_profile *profile, int64_t default_trip_count,
                              rh_write_fn write, void *context, rh_diags *diags);

typedef struct rh_verify_options {
  size_t struct_size;
  bool ignore_schedule; /* side effects may be in another order than in `before` */
  bool any_rounding; /* products and sums may be in other fusions than in `before`. A code generator
                        that contracts the two then rounds otherwise */
} rh_verify_options;

#define RH_VERIFY_OPTIONS_INIT \
  { sizeof(rh_verify_options), false, false }

/* Verifies that `after` computes the same results as `before`, bit for bit under the semantics of
 * HLO, and, without `any_rounding`, also where a code generator contracts the products and sums of
 * a fusion into instructions that round once. If both modules have a schedule and copy-insertion
 * has run on `before`, the function also verifies that no instruction of `after` reads a value
 * whose memory has been overwritten. Of `settings`, only `copies` is used, which applies to
 * `before`. `settings` and `options` may be NULL. Returns RH_NOT_EQUIVALENT if equivalence cannot
 * be shown; notes in `diags` then describe the differences. If it is only assumed that the pass has
 * still to run (copies_are_sure), and the function would return RH_NOT_EQUIVALENT otherwise, it
 * warns. Threads: any. */
RH_API rh_status rh_verify(const rh_module *before, const rh_module *after,
                           const rh_settings *settings, const rh_verify_options *options,
                           rh_diags *diags);

/* ---- advice ---- */

/* A change of the program that lowers its peak, and what it does. The figures are measured on the
 * module as the change would make it, simulated on the HLO and packed as the memory model `heap`
 * packs; they are no sums of sizes. Texts are valid UTF-8, and empty if unknown or if they do not
 * apply. Made by the library. */
typedef struct rh_remedy {
  const char *kind;       /* one of RH_REMEDIES */
  const char *confidence; /* `high`: the simulated module is close to the one that the compiler will
                             make; `medium`: as close as what was recomputed or cut is to what it
                             makes of it; `low`: the figure is right if the program can be changed
                             like this at all */
  rh_text title;          /* what to do, in one sentence without final full stop */
  rh_text code;           /* what to write there, in the words of the framework; may have lines */
  rh_text explanation;    /* why this helps, and what it depends on; whole sentences */
  rh_text source_file;    /* the place of the change */
  int64_t source_line;    /* 0 = unknown */
  rh_text function; /* the function that the change is about, such as one to wrap in a checkpoint */
  rh_text
      scope; /* the scopes of op_name, repeated layers as one pattern: `h_*` and what follows it */
  rh_text argument; /* the argument of the program that the change is about: `opt_state`; several,
                       which are donated together, are separated by commas */
  const int64_t *parameters; /* the numbers of the entry's parameters that are meant of it */
  size_t num_parameters;
  rh_text policy;        /* the policy of the checkpoint; empty = it saves nothing */
  int64_t num_instances; /* how many layers, iterations or arguments it is about; 0 = unknown */
  int64_t every;         /* the change is made at every so-manieth of them; 0 or 1 = at all */
  int64_t segment;       /* iterations of the inner one of two nested loops; 0 = does not apply */
  int64_t num_chunks; /* the number of pieces in which something is computed; 0 = does not apply */
  int64_t
      bytes_at_peak; /* of the values that the change is about, as far as they live at the peak */
  int64_t counted_bytes;    /* what the limit counts, after the change */
  int64_t saved_bytes;      /* by how much that is less than before it */
  int64_t temp_bytes;       /* after the change */
  rh_text peak_instruction; /* where the peak is then, with its origin */
  rh_text peak_op_name;
  rh_text peak_source_file;
  int64_t peak_source_line;
  double added_seconds;  /* modelled, for one execution; negative if the change saves time */
  double added_fraction; /* the same as a fraction of the time before */
  bool is_met;           /* the limit is met by this change alone */
  int64_t
      first_line; /* of a checkpoint, the lines of `function` that are the step of a loop, which */
  int64_t last_line; /* then goes under the checkpoint; 0 = all of the function does */
  bool is_step;      /* false where the module does not tell whether the function is called so often
                        or has such a loop */
  double usual_error; /* how far temp_bytes is from what the compiler makes of the changed program
                         at most, as a share of that, for four programs of five */
} rh_remedy;

typedef struct rh_advice_options {
  size_t struct_size;
  int64_t limit_bytes; /* the budget; INT64_MAX = none, as low as possible */
  rh_limit_counts limit_counts;
  const rh_profile *profile;  /* the device that time is modelled for; NULL = one of which only the
                                 proportions are usual */
  int64_t default_trip_count; /* as for rh_measure_cost; 0 = 1 */
  uint32_t max_steps;         /* of rh_advice.plan; 0 = 4 */
} rh_advice_options;

#define RH_ADVICE_OPTIONS_INIT \
  { sizeof(rh_advice_options), INT64_MAX, RH_COUNT_TOTAL, NULL, 1, 0 }

/* What may be changed about a program so that it takes less memory. Made by the library. */
typedef struct rh_advice {
  rh_text module;
  const char *framework;   /* that made the module, as its metadata tells: `jax`, `pytorch`,
                              `tensorflow` or `unknown` */
  const char *target;      /* one of RH_TARGETS */
  const rh_memory *memory; /* of the module as it is, by the memory model `heap` */
  int64_t limit_bytes;     /* INT64_MAX = none */
  rh_limit_counts limit_counts;
  int64_t counted_bytes; /* of the module as it is */
  rh_text peak_instruction;
  rh_text peak_op_name;
  rh_text peak_source_file;
  int64_t peak_source_line;
  const rh_remedy *const *remedies; /* each alone, on the module as it is; the best one first */
  size_t num_remedies;
  /* The smallest set of changes that was found to meet the limit, or the one that comes closest;
   * without a limit, the one that goes lowest. The figures of each are those after it and all
   * before it. Empty if the limit is met as it is, or if nothing helps. */
  const rh_remedy *const *plan;
  size_t num_plan;
  bool is_met;     /* by the plan; true without a limit */
  rh_text summary; /* the plan as a short text, a line for each thing to do; the first line stands
                      for itself. Says so if there is nothing to gain, or if nothing suffices */
} rh_advice;

/* Says what to change in the program that a scheduled module was made from, so that it takes less
 * memory. The best module to give is that which runs, as XLA dumps it after optimizations.
 * `settings` and `options` may be NULL. The caller must free `*advice` with rh_advice_free before
 * it frees the module. Returns RH_OVER_LIMIT if there is a limit and no advice meets it; `*advice`
 * is then set. Returns RH_ERR_USAGE if the module has no schedule, and RH_ERR_INPUT if it
 * contradicts itself. It measures the module some dozens of times: O(n log n) each.
 * Threads: any. */
RH_API rh_status rh_advice_make(const rh_module *module, const rh_settings *settings,
                                const rh_advice_options *options, rh_advice **advice,
                                rh_diags *diags);

/* Frees advice. `advice` may be NULL. Threads: one for each advice. */
RH_API void rh_advice_free(rh_advice *advice);

/* Writes advice as JSON, an object. The manual page documents the keys. Returns RH_ERR_WRITE if
 * `write` failed. Threads: any. */
RH_API rh_status rh_advice_print(const rh_advice *advice, rh_write_fn write, void *context,
                                 rh_diags *diags);

/* ---- offset packing ---- */

/* A buffer that occupies memory during the half-open interval [lower, upper) of some clock. */
typedef struct rh_live_range {
  int64_t lower, upper; /* in ticks of the clock, lower < upper */
  int64_t bytes;        /* a buffer of 0 bytes takes no memory; its offset is 0 */
  int64_t alignment;    /* alignment of the offset, in bytes; 0 = 1 */
} rh_live_range;

typedef struct rh_pack_options {
  size_t struct_size;
  const char *packing;      /* a name of RH_PACKINGS */
  int64_t capacity_bytes;   /* a height that is low enough; -1 = as low as possible */
  int64_t heap_limit_bytes; /* maximum size of a heap, which is one contiguous piece of memory; as
                               many heaps are used as are needed, and one exceeds the maximum only
                               if its largest buffer does; -1 = one heap */
  uint64_t max_steps; /* maximum number of steps; a step is the examination of one buffer at one
                         time and takes some nanoseconds */
  double max_seconds; /* 0 = no limit; with a limit, the result depends on the machine */
  size_t max_memory_bytes; /* 0 = no limit */
} rh_pack_options;

#define RH_PACK_OPTIONS_INIT \
  { sizeof(rh_pack_options), "best", -1, -1, UINT64_C(500000000), 0, 0 }

typedef struct rh_pack_result {
  size_t struct_size;
  int64_t height_bytes; /* the highest end of a buffer, which is the required size of the memory;
                           with a heap limit, the sum over all heaps */
  int64_t lower_bound_bytes; /* no packing is lower than this: the maximum number of bytes that are
                                live at the same time; with one heap, sizes are padded to the
                                greatest common divisor of all alignments */
  bool is_optimal;           /* it is proven that no packing is lower than this one */
  uint32_t num_heaps;        /* at least 1 */
  uint64_t num_steps;
  double seconds;
} rh_pack_result;

#define RH_PACK_RESULT_INIT \
  { sizeof(rh_pack_result), 0, 0, false, 0, 0, 0 }

/* Assigns offsets in shared memory to buffers, so that no two buffers that are live at the same
 * time overlap. `offsets` must have room for `count` elements. `heaps` may be NULL; otherwise it
 * must have room for `count` elements and receives the index of the heap of each buffer, from 0.
 * `options` and `result` may be NULL. The result is the same on every machine, unless `max_seconds`
 * is set. Returns RH_OVER_LIMIT if the height exceeds the capacity; the offsets are then the best
 * that were found. Returns RH_ERR_INPUT if a range is invalid, or if the sum of all sizes exceeds
 * INT64_MAX / 4. If the call fails with an error, the contents of both arrays are unspecified.
 * Threads: any. */
RH_API rh_status rh_pack(const rh_live_range *ranges, size_t count, const rh_pack_options *options,
                         int64_t *offsets, uint32_t *heaps, rh_pack_result *result,
                         rh_diags *diags);

/* A table of live ranges, parsed from a text. */
typedef struct rh_live_ranges rh_live_ranges;

/* Parses live ranges in minimalloc's CSV format. The first line names the columns, which may be in
 * any order: `id` (or `buffer`, `buffer_id`); `lower` (or `begin`, `start`); `upper`, or `end`,
 * which is the last tick that is still included; and `size`. Optional columns are `alignment`;
 * `offset`, `heap` and `hint`, which are ignored; and `gaps`, which must be empty. The text must
 * remain valid as long as `*ranges`, which the caller frees with rh_live_ranges_free. `options` may
 * be NULL. Returns RH_ERR_INPUT if the table has errors, which are added to `diags`. Linear in
 * `length`. Threads: any. */
RH_API rh_status rh_live_ranges_parse(const char *text, size_t length,
                                      const rh_parse_options *options, rh_live_ranges **ranges,
                                      rh_diags *diags);

/* Frees a table. `ranges` may be NULL. Threads: one for each table. */
RH_API void rh_live_ranges_free(rh_live_ranges *ranges);

/* Return the number of rows, and the rows as an array in the order of the text. The array lives as
 * long as the table. Threads: any. */
RH_API size_t rh_live_ranges_len(const rh_live_ranges *ranges);
RH_API const rh_live_range *rh_live_ranges_data(const rh_live_ranges *ranges);

/* Writes the text of the table again, line by line, followed by a column `offset` and, unless
 * `heaps` is NULL, a column `heap`. Columns of these names that the text already had are omitted.
 * `offsets` and `heaps` have one element for each row. Returns RH_ERR_WRITE if `write` failed.
 * Threads: any. */
RH_API rh_status rh_live_ranges_print(const rh_live_ranges *ranges, const int64_t *offsets,
                                      const uint32_t *heaps, rh_write_fn write, void *context,
                                      rh_diags *diags);

/* ---- pictures and logs ---- */

typedef struct rh_dot_options {
  size_t struct_size;
  const char *memory_model; /* a name of RH_MEMORY_MODELS */
  int64_t min_bytes;        /* values larger than this are shown; -1 = values that matter, as far as
                               max_nodes allows */
  uint32_t max_nodes;
  const char *filter; /* "peak", "all", "name:…", "regex:…", "scope:…", "computation:…" */
  uint32_t num_hops; /* how many levels of operands and users are shown around the instructions that
                        the filter selects */
} rh_dot_options;

#define RH_DOT_OPTIONS_INIT \
  { sizeof(rh_dot_options), "heap", -1, 40, "peak", 1 }

/* Checks whether `filter` is valid for rh_dot_options.filter. Returns RH_ERR_USAGE if it is not; a
 * diagnostic then describes the error. Threads: any. */
RH_API rh_status rh_dot_check_filter(const char *filter, rh_diags *diags);

/* Writes the graph of a scheduled module in the DOT language of Graphviz. `settings` and `options`
 * may be NULL. Returns RH_ERR_USAGE if the library was built without this feature, and RH_ERR_WRITE
 * if `write` failed. Threads: one; all other uses of cgraph in the program count as calls, too,
 * because cgraph has state that is shared by all graphs. */
RH_API rh_status rh_emit_dot(const rh_module *module, const rh_settings *settings,
                             const rh_dot_options *options, rh_write_fn write, void *context,
                             rh_diags *diags);

typedef enum rh_memlog_format {
  RH_MEMLOG_TEXT,
  RH_MEMLOG_CSV,
  RH_MEMLOG_JSONL,
} rh_memlog_format;

/* Writes the effect of each instruction of a scheduled module on memory under `memory_model`, a
 * name of RH_MEMORY_MODELS. The log has one line for each instruction, in the order of the
 * schedule. `settings` may be NULL. Returns RH_ERR_WRITE if `write` failed. Threads: any. */
RH_API rh_status rh_emit_memlog(const rh_module *module, const rh_settings *settings,
                                const char *memory_model, rh_memlog_format format,
                                rh_write_fn write, void *context, rh_diags *diags);

/* A drawing of values by place in memory and time: one memory map, or two side by side in the same
 * scale. */
typedef struct rh_picture {
  size_t struct_size;
  const rh_memory_map *before;
  const rh_memory_map *after; /* NULL = only one map */
  const char *before_title;   /* title above the map, such as the name of its file; NULL = none */
  const char *after_title;    /* the same for `after` */
  int64_t limit_bytes;        /* a line is drawn at this height; -1 = no line */
  rh_limit_counts limit_counts;
  const rh_advice *advice; /* shown beside the map on pages; NULL = none */
} rh_picture;

#define RH_PICTURE_INIT \
  { sizeof(rh_picture), NULL, NULL, NULL, NULL, -1, RH_COUNT_TOTAL, NULL }

typedef enum rh_picture_format {
  RH_PICTURE_HTML,     /* a self-contained interactive page, with zoom, search and details */
  RH_PICTURE_SVG,      /* a static picture */
  RH_PICTURE_PERFETTO, /* trace-event JSON, one microsecond per position */
  RH_NUM_PICTURE_FORMATS,
} rh_picture_format;

/* Writes a picture. Returns RH_ERR_USAGE if the library was built without the format, and
 * RH_ERR_WRITE if `write` failed. Threads: any. */
RH_API rh_status rh_emit_picture(const rh_picture *picture, rh_picture_format format,
                                 rh_write_fn write, void *context, rh_diags *diags);

/* Size of the buffer that rh_format_bytes and rh_format_count write to, including the final NUL. */
#define RH_FORMAT_CHARS 32

/* Formats a size as `1.50 KiB` or `81.25 MiB`: powers of 1024 with two decimals, independent of the
 * locale. The text is terminated by NUL. Threads: any. */
RH_API void rh_format_bytes(int64_t bytes, char text[RH_FORMAT_CHARS]);

/* Formats a number as `1,234,567`. The text is terminated by NUL. Threads: any. */
RH_API void rh_format_count(uint64_t count, char text[RH_FORMAT_CHARS]);

/* ---- registries ---- */

typedef enum rh_registry {
  RH_SCHEDULERS,
  RH_ALGORITHMS,
  RH_MEMORY_MODELS,
  RH_LINT_RULES,
  RH_PACKINGS,
  RH_TARGETS,
  RH_PARAMETERS, /* parameters of algorithms, for experiments: rh_remat_options.parameters */
  RH_DEVICES,    /* the device profiles that are built in: rh_profile_named */
  RH_REMEDIES,   /* the kinds of advice: rh_remedy.kind */
} rh_registry;

/* Properties of registry entries. */
enum {
  /* Algorithms. */
  RH_TRAIT_OF_XLA = 1,           /* makes the same decisions as XLA's own pass */
  RH_TRAIT_NEEDS_COLLECTION = 2, /* runs only with rh_remat_options.collection */
  RH_TRAIT_NEEDS_PADDING = 4,    /* has an effect only if the target pads arrays */
  RH_TRAIT_IDLE = 8,             /* changes nothing */
  RH_TRAIT_ON_REQUEST = 128,     /* intended for users who request it explicitly: an algorithm as it
                                    was published, or one that takes long */
  RH_TRAIT_NEEDS_SOLVER = 2048,  /* fails with RH_ERR_USAGE without the library of a solver of
                                    integer programs: see rh_has_solver() */
  RH_TRAIT_SCANS = 256,          /* if the budget is not met otherwise, loops recompute what other
                                    loops would have stored for them */
  /* Memory models. */
  RH_TRAIT_ALL_SIZES = 512,      /* also recomputes small results unless told otherwise, and may
                                    change the order */
  RH_TRAIT_CHOOSES = 1024,       /* runs others, and takes the best result */
  RH_TRAIT_FREE_PARAMETERS = 16, /* does not count parameters */
  RH_TRAIT_PACKS = 32,           /* buffers share memory and have offsets in it */
  /* Targets. */
  RH_TRAIT_PADS = 64, /* pads arrays to the tiles in their layouts */
};

/* An entry of a registry, which is a constant. Made by the library. */
typedef struct rh_entry {
  const char *name;
  const char *summary;
  unsigned traits; /* a combination of RH_TRAIT_… */
} rh_entry;

/* Returns the entry at `index` of a registry, counting from 0, or NULL if there is none.
 * Threads: any. */
RH_API const rh_entry *rh_list(rh_registry registry, size_t index);

/* Returns the entry with the name `name`, or NULL if there is none. Threads: any. */
RH_API const rh_entry *rh_find(rh_registry registry, const char *name);

/* Returns whether the algorithms with RH_TRAIT_NEEDS_SOLVER can run: 1 if the library of CBC can be
 * loaded, 0 if it is not there or this library was built without. A child process tries, so this
 * takes some milliseconds. Threads: any. */
RH_API int rh_has_solver(void);

#ifdef __cplusplus
}
#endif

#endif
