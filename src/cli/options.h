/* What the command line says. */
#ifndef REMAT_HLO_CLI_OPTIONS_H
#define REMAT_HLO_CLI_OPTIONS_H

#include <stdio.h>

#include "remat_hlo.h"

typedef enum BudgetKind {
  BUDGET_NONE,
  BUDGET_BYTES,     /* amount: bytes */
  BUDGET_PERCENT,   /* amount: of the peak before, millionths of a percent */
  BUDGET_REDUCIBLE, /* amount: of what lies above the lower bound, likewise */
  BUDGET_MIN,
} BudgetKind;

typedef struct Budget {
  BudgetKind kind;
  int64_t amount;
} Budget;

typedef struct Options {
  const char **files;
  size_t num_files;
  /* What the library is given; `limit_bytes`, `limit_counts`, `collection` and `profile` follow
   * from other options, and --compat changes some (remat_run.c). The texts of KIND_LINES are owned.
   */
  rh_remat_options remat;
  rh_schedule_options schedule;
  rh_dot_options dot; /* likewise `memory_model` */
  rh_pack_options pack;
  Budget limit;
  rh_copies copies;   /* this, `target`, `packing` and `cost_of` become rh_settings (load.c) */
  int limit_counts;   /* rh_limit_counts, -1 = by the memory model */
  const char *target; /* NULL = the default */
  const char *save_plan;
  const char *apply_plan;
  bool path_compat;
  bool compat;
  const char *device;
  int64_t to_host_bytes; /* per second, 0 = the device's */
  int64_t to_device_bytes;
  int64_t trip_count;
  char *cost_of; /* `REGEX:flops=…`, one a line; owned, NULL = none */
  const char *output;
  const char *json;
  const char *csv;
  const char *pictures[RH_NUM_PICTURE_FORMATS];
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
  const char *packing;    /* NULL = what the command takes without */
  int64_t max_peak_bytes; /* -1 = any */
  const char *baseline;
  Budget tolerance;
  const char *write_baseline;
  const char *algorithms; /* with commas; NULL = what compare takes without */
  const char *schedulers;
  const char *budgets;
  int64_t num_jobs; /* 0 = one a processor */
  bool resume;
  bool overwrite;
  bool best;
  bool progress;
  const char *pareto;
  const char *list_options;
  const char *list_names;
  int64_t max_memory_bytes;
  int64_t max_errors;
  int diagnostics; /* MessageForm */
  bool xla_flags_env;
  bool help;
  bool version;
  char *flag_texts[2]; /* of options_parse_flags, one a call */
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
  FOR_ALL = (1 << 10) - 1,
  FOR_RUNS = FOR_REMAT | FOR_COMPARE, /* that rematerialize */
  FOR_FILES = FOR_ALL & ~FOR_LIST,    /* that read files */
  NOTED = 1 << 10, /* no command: it changes results, and compare notes it with its runs */
};

/* The words of --limit-counts, --emit, --protect, by the values of their enumerations. */
extern const char *const limit_counts_words[], *const emit_words[], *const protect_words[];

void options_init(Options *options);
void options_free(Options *options);

/* Reads argv[1 …] for a subcommand; files are what is no option. RH_ERR_USAGE, the reason on
 * stderr. */
rh_status options_parse(Options *options, unsigned command, int argc, char **argv);

/* Reads flags as XLA_FLAGS has them, apart by blanks. Unknown ones are errors unless `is_shared`:
 * then other programs read the string too. `source` is its name for messages. */
rh_status options_parse_flags(Options *options, unsigned command, const char *flags,
                              const char *source, bool is_shared);

/* Writes ` name=value` for each option that is NOTED and not as always, an option of several lines
 * for each of them. */
void options_print_settings(const Options *options, FILE *out);

/* The rows for a subcommand, as --help shows them, or as bare `--name` lines. */
void options_print_help(unsigned command, FILE *out);
void options_print_names(unsigned command, FILE *out);

/* Sizes: 4096, 1.5GiB, 800MB. False when it is none. */
bool parse_size(const char *text, int64_t *bytes);

/* A size, `80%`, `r80%`, `min`. */
bool parse_budget(const char *text, Budget *budget);

/* A size or `1%`. */
bool parse_tolerance(const char *text, Budget *tolerance);

/* `share` millionths of a percent of `bytes`, rounded down. */
int64_t share_of(int64_t bytes, int64_t share);

#endif
