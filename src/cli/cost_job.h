/* A module's modelled time, and the forms that it is shown in. */
#ifndef REMAT_HLO_CLI_COST_JOB_H
#define REMAT_HLO_CLI_COST_JOB_H

#include "load.h"
#include "output.h"
#include "terminal.h"

typedef struct CostJob {
  const Options *options;
  Loaded loaded;
  rh_cost_report *report;
} CostJob;

/* Tables, as many rows each as --top says. */
void cost_print(const CostJob *job, const Terminal *terminal);

/* An object, to be freed; NULL without memory. Its keys are in the manual page. */
char *cost_json(const CostJob *job);

/* The instructions, a line each under a line of names. */
void cost_write_csv(const rh_cost_report *report, Output *output);

#endif
