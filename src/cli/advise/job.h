/* Advice on one module, and its output formats. */
#ifndef REMAT_HLO_CLI_ADVISE_JOB_H
#define REMAT_HLO_CLI_ADVISE_JOB_H

#include "load.h"
#include "terminal.h"

typedef struct AdviseJob {
  const Options *options;
  Loaded loaded;
  rh_module *scheduled;
  rh_profile *profile;
  bool is_device_assumed;
  rh_advice *advice;
} AdviseJob;

/* Prints the plan, and as many other changes as --top specifies. */
void advise_print(const AdviseJob *job, const Terminal *terminal);

#endif
