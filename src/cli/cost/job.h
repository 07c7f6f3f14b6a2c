/* The modelled time of a module, and its output formats. */
#ifndef REMAT_HLO_CLI_COST_JOB_H
#define REMAT_HLO_CLI_COST_JOB_H

#include "load.h"
#include "output.h"
#include "terminal.h"

typedef struct CostJob {
  const Options *options;
  Loaded loaded;
  rh_profile *profile;
  rh_cost_report *report;
  rh_memory memory; /* beside the allocators of a profile; unknown without any, or a schedule */
  bool has_memory;
  bool is_device_assumed; /* the input does not tell for which device it was compiled */
} CostJob;

/* Prints tables, each with as many rows as --top specifies. */
void cost_print(const CostJob *job, const Terminal *terminal);

/* Returns a JSON object, which the caller frees, or NULL if out of memory. The manual page
 * documents its keys. */
char *cost_json(const CostJob *job);

/* Writes the instructions as CSV, one on each line after a line of column names. */
void cost_write_csv(const rh_cost_report *report, Output *output);

#endif
