/* A device profile that is fitted to measured times, and its output formats. */
#ifndef REMAT_HLO_CLI_CALIBRATE_JOB_H
#define REMAT_HLO_CLI_CALIBRATE_JOB_H

#include "load.h"
#include "output.h"

/* Measured times of modules, or modules with estimates of XLA:TPU. The lists have an element for
 * each measurement or module. */
typedef struct Measured {
  Input input;        /* the file that says which; of a folder only its path */
  bool is_folder;     /* of texts with estimates */
  struct cJSON *json; /* it as a tree */
  size_t len;
  char **paths;        /* of the modules */
  const char **groups; /* the programs that the modules are of, or the modules themselves */
  double *seconds;     /* NULL for a folder */
  Loaded *loaded;
  size_t num_loaded;
  const rh_module **modules;
} Measured;

typedef struct CalibrateJob {
  const Options *options;
  Measured measured;
  rh_calibration *calibration;
} CalibrateJob;

/* Reads the measurements and their modules. If that fails, the reason is reported on stderr. Call
 * measured_free() in any case. */
rh_status measured_read(const Options *options, Measured *measured);

/* Likewise for a folder: reads those of its HLO texts that have estimates. */
rh_status measured_read_folder(const Options *options, Measured *measured);
void measured_free(Measured *measured);

/* Prints how far the profiles are off, and what was fitted. `before` is the profile of --device. */
void calibrate_print(const CalibrateJob *job, const rh_profile *before, FILE *out);

/* Returns a JSON object, which the caller frees, or NULL if out of memory. The manual page
 * documents its keys. */
char *calibrate_json(const CalibrateJob *job, const rh_profile *before);

/* Writes the measurements as CSV. */
rh_status calibrate_write_csv(const CalibrateJob *job);

#endif
