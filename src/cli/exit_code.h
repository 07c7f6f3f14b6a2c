/* The exit codes of the tool. */
#ifndef REMAT_HLO_CLI_EXIT_CODE_H
#define REMAT_HLO_CLI_EXIT_CODE_H

#include "remat_hlo.h"

/* The most severe of several statuses is the one with the largest value, and it also has the
 * largest exit code. */
typedef enum ExitCode {
  EXIT_CODE_OK = 0,
  EXIT_CODE_NO = 1, /* the answer is no: the budget is not met, or the modules are not equivalent */
  EXIT_CODE_USAGE = 2,  /* an option that is unknown or out of range */
  EXIT_CODE_INPUT = 3,  /* the module is not HLO, or contradicts itself */
  EXIT_CODE_SYSTEM = 4, /* reading, writing or memory failed, or an internal error occurred */
} ExitCode;

static inline ExitCode exit_code(rh_status status) {
  switch (status) {
    case RH_OK: return EXIT_CODE_OK;
    case RH_OVER_LIMIT:
    case RH_NOT_EQUIVALENT: return EXIT_CODE_NO;
    case RH_ERR_USAGE: return EXIT_CODE_USAGE;
    case RH_ERR_INPUT: return EXIT_CODE_INPUT;
    case RH_ERR_WRITE:
    case RH_ERR_MEMORY:
    case RH_ERR_INTERNAL: break;
  }
  return EXIT_CODE_SYSTEM;
}

/* Returns whether there is a result, no matter whether the answer is yes or no. */
static inline bool is_answer(rh_status status) {
  return exit_code(status) <= EXIT_CODE_NO;
}

#endif
