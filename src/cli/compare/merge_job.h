/* What the parts of merge.c share. */
#ifndef REMAT_HLO_CLI_COMPARE_MERGE_JOB_H
#define REMAT_HLO_CLI_COMPARE_MERGE_JOB_H

#include "compare/merge.h"

typedef struct MergedInput {
  const LogLine *begin, *end;         /* all lines of one input */
  const LogLine *plan, *first, *last; /* its latest plan; its first line; its latest beginning */
  const LogLine *earliest;            /* the first run in the order of the logs */
  const char *hash;                   /* of the text that counts: the latest one */
  size_t number;                      /* place among all inputs; 0 if no plan says it */
} MergedInput;

typedef struct Merge {
  const Options *options; /* of the command line */
  Comparison *comparison;
  MergedLogs *merged;
  MergedInput *inputs;
  size_t num_inputs;
  size_t num_said; /* messages; --max-errors limits them */
  rh_status worst;
} Merge;

/* Returns a text of a line, empty if there is none, and a number, 0 if there is none. */
const char *merge_text(const LogLine *line, const char *key);
size_t merge_number(const LogLine *line, const char *key);

/* Returns the log of a line, for messages. */
Input merge_log(const Merge *merge, const LogLine *line);

/* Reports something on stderr, unless there have been too many messages. */
void merge_say(Merge *merge, const Input *place, rh_severity severity, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reports that something is missing, which makes the result RH_OVER_LIMIT. */
void merge_say_hole(Merge *merge, const Input *place, const char *text);

/* Returns the budgets, schedulers or algorithms of all runs, with commas, in the order that they
 * had on the command line as far as the logs show it. The keys are those of plans and of runs. The
 * caller frees the text; it is NULL if memory runs out. */
char *merge_names(const Merge *merge, const char *plan_key, const char *run_key);

/* Reports which shards, inputs and runs are missing, as far as the logs tell what there should be.
 */
rh_status merge_find_holes(Merge *merge);

#endif
