/* What the two ways to fit a profile share. */
#ifndef REMAT_HLO_API_CALIBRATION_H
#define REMAT_HLO_API_CALIBRATION_H

#include "analysis/cost/model_error.h"
#include "remat_hlo.h"

typedef struct CalibrationHandle {
  rh_calibration calibration; /* the first member: the handle is found by it */
  Arena *arena;
} CalibrationHandle;

/* A calibration that is still empty, in an arena of its own. */
CalibrationHandle *calibration_new(ArenaOptions memory);

/* Gives the caller the calibration, or frees it if the status is not RH_OK. Returns the status. */
rh_status calibration_give(CalibrationHandle *handle, rh_status status,
                           rh_calibration **calibration);

rh_model_error calibration_public_error(const ModelError *error);

/* "rank correlation 0.59, median error 20 %" */
const char *calibration_error_text(const rh_model_error *error, Arena *out);

#endif
