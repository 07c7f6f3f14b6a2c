/* The options of the command line. */
#ifndef REMAT_HLO_CLI_OPTIONS_H
#define REMAT_HLO_CLI_OPTIONS_H

#include <stdio.h>

#include "remat_hlo.h"

typedef enum BudgetKind {
  BUDGET_NONE,
  BUDGET_BYTES,     /* amount: bytes */
  BUDGET_PERCENT,   /* amount: share of the peak before, in millionths of a percent */
  BUDGET_REDUCIBLE, /* amount: share of the part above the lower bound, the same unit */
  BUDGET_MIN,
} BudgetKind;

typedef struct Budget {
  BudgetKind kind;
  int64_t amount;
} Budget;

/* Part `index`, from 1 to `count`, of the inputs. */
typedef struct Shard {
  uint32_t index, count; /* 0 if all inputs are wanted */
} Shard;

typedef enum ShardBy {
  SHARD_BY_HASH,
  SHARD_BY_SIZE,
} ShardBy;

typedef struct Options {
  const char **files;
  size_t num_files;
  /* The options of the library. `limit_bytes`, `limit_counts`, `collection` and `profile` follow
   * from other options, and --compat changes some of them (remat/run.c). The texts of KIND_LINES
   * are owned. */
  rh_remat_options remat;
  rh_schedule_options schedule;
  rh_dot_options dot; /* here `memory_model` follows from another option */
  rh_pack_options pack;
  Budget limit;
  rh_copies copies;   /* `copies`, `target`, `packing` and `cost_of` become rh_settings (load.c) */
  int limit_counts;   /* an rh_limit_counts; -1 if the memory model decides */
  const char *target; /* NULL for the default */
  const char *save_plan;
  const char *apply_plan;
  bool path_compat;
  bool compat;
  const char *device;
  int64_t to_host_bytes; /* per second; 0 for the rate of the device */
  int64_t to_device_bytes;
  int64_t trip_count;
  const char *times;        /* a profile with measured times; NULL = none */
  const char *profile_name; /* of the profile that calibrate makes */
  char *cost_of;            /* `REGEX:flops=…`, one on each line; owned, NULL if there is none */
  const char *output;
  const char *json;
  const char *csv;
  const char *pictures[RH_NUM_PICTURE_FORMATS];
  int frames;    /* an rh_frames */
  char *library; /* expressions, one on each line; owned, NULL if there is none */
  bool stack;
  int64_t top;
  const char *dump_dot;
  const char *dump_memlog;
  bool dry_run;
  bool require_runnable;
  bool quiet;
  bool is_short;
  bool no_metadata;
  bool strip_locations;
  bool strict;
  bool any_rounding;
  const char *packing;    /* NULL for the default of the command */
  int64_t max_peak_bytes; /* -1 if there is no bound */
  const char *baseline;
  bool force;
  Budget tolerance;
  const char *write_baseline;
  const char *algorithms; /* separated by commas; NULL for the default of compare */
  const char *schedulers;
  const char *budgets;
  int64_t num_jobs; /* 0 for one job per processor */
  bool resume;
  bool overwrite;
  bool best;
  bool progress;
  const char *pareto;
  const char *module;     /* a glob; NULL for all modules */
  int64_t min_peak_bytes; /* -1 for the default, 1 MiB for the modules of folders and 0 for files */
  Shard shard;
  int shard_by; /* a ShardBy */
  bool merge;
  const char *list_options;
  const char *list_names;
  const char *list_values;
  bool describe;
  int64_t max_memory_bytes;
  int64_t max_errors;
  int diagnostics; /* a MessageForm */
  bool xla_flags_env;
  bool help;
  bool version;
  char *flag_texts[2]; /* owned; one for each call of options_parse_flags() */
  int num_flag_texts;
} Options;

enum {
  FOR_REMAT = 1 << 0,
  FOR_VERIFY = 1 << 1,
  FOR_CHECK = 1 << 2,
  FOR_PRINT = 1 << 3,
  FOR_LIST = 1 << 4,
  FOR_FMT = 1 << 5,
  FOR_PACK = 1 << 6,
  FOR_REPORT = 1 << 7,
  FOR_COST = 1 << 8,
  FOR_COMPARE = 1 << 9,
  FOR_CALIBRATE = 1 << 10,
  FOR_ADVISE = 1 << 11,
  FOR_ALL = (1 << 12) - 1,
  FOR_RUNS = FOR_REMAT | FOR_COMPARE, /* the commands that rematerialize */
  FOR_FILES = FOR_ALL & ~FOR_LIST,    /* the commands that read files */
  /* Not a command: the option changes results, and compare notes it with its runs. */
  NOTED = 1 << 12,
};

/* The words of --limit-counts, --emit and --protect, indexed by their enumerations. */
extern const char *const limit_counts_words[], *const emit_words[], *const protect_words[];

void options_init(Options *options);
void options_free(Options *options);

/* Reads argv[1 …] for a subcommand. Arguments that are not options are files. On failure it returns
 * RH_ERR_USAGE and reports the reason on stderr. */
rh_status options_parse(Options *options, unsigned command, int argc, char **argv);

/* Reads flags in the form of XLA_FLAGS, separated by white space. Unknown flags are errors unless
 * `is_shared`, which means that other programs read the string, too. `source` is its name for
 * messages. */
rh_status options_parse_flags(Options *options, unsigned command, const char *flags,
                              const char *source, bool is_shared);

/* Writes ` name=value` for each option that is NOTED and differs from its default. An option with
 * several lines is written once for each line. */
void options_print_settings(const Options *options, FILE *out);

/* These write the options of a subcommand as --help shows them, or as bare `--name` lines, to which
 * `with_help` adds a tab and the help. */
void options_print_help(unsigned command, FILE *out);
void options_print_names(unsigned command, bool with_help, FILE *out);

/* Returns the name of an option of any subcommand, without hyphens, that is given as `--name`, `-n`
 * or `name`. Returns NULL if there is none. */
const char *options_find_name(const char *given);

/* Writes the words of an option that takes one or several of a list, one on each line. */
void options_print_words(const char *name, FILE *out);

/* Parses a size: 4096, 1.5GiB, 800MB. Returns false if the text is not a size. */
bool parse_size(const char *text, int64_t *bytes);

/* Parses a size, `80%`, `r80%` or `min`. */
bool parse_budget(const char *text, Budget *budget);

/* Parses a size or a percentage such as `1%`. */
bool parse_tolerance(const char *text, Budget *tolerance);

/* Parses `I/N`. */
bool parse_shard(const char *text, Shard *shard);

/* Returns `share` millionths of a percent of `bytes`, rounded down. */
int64_t share_of(int64_t bytes, int64_t share);

/* Returns what a budget allows a module that takes `counted_bytes`, and no less than `bound_bytes`
 * in any case. INT64_MAX = it has no limit. */
int64_t budget_bytes(Budget budget, int64_t counted_bytes, int64_t bound_bytes);

#endif
