/* The plan that --apply-plan names. */
#ifndef REMAT_HLO_CLI_PLAN_FILE_H
#define REMAT_HLO_CLI_PLAN_FILE_H

#include "input.h"
#include "options.h"

typedef struct PlanFile {
  Input input;
  rh_plan *plan; /* NULL if no plan is asked for */
} PlanFile;

/* Reads the plan that the options name, if any, and stores in the options how the plan prepares the
 * module. Problems with the plan are reported on stderr. Call plan_file_free() in any case. */
rh_status plan_file_read(Options *options, PlanFile *file);
void plan_file_free(PlanFile *file);

/* Calls rh_apply_plan() and reports problems on stderr. */
rh_status plan_file_apply(const PlanFile *file, const rh_module *module,
                          const rh_settings *settings, const rh_remat_options *remat,
                          rh_module **result, rh_remat_result *outcome);

#endif
