/* What `check` knows about the memory of modules: of those that it has measured, and of those in a
 * baseline, which is a report in JSON or a list of reports. */
#ifndef REMAT_HLO_CLI_CHECK_BASELINE_H
#define REMAT_HLO_CLI_CHECK_BASELINE_H

#include <cjson/cJSON.h>

#include "input.h"
#include "options.h"

typedef struct MeasuredModule {
  const cJSON *json;  /* a report without its live set */
  const char *module; /* the name and the hash of the text; NULL if an old baseline lacks them */
  const char *hash;
  int64_t peak_bytes;
  rh_sum *sums;        /* by op_name */
  const rh_sum **list; /* addresses of the sums */
  size_t num_sums;
  bool is_taken; /* it is the same module as one that was measured now */
} MeasuredModule;

typedef struct Baseline {
  cJSON *json;
  MeasuredModule *modules;
  size_t len;
} Baseline;

/* Reads the file of --baseline, if there is one. Problems are reported on stderr. Call
 * baseline_free() in any case. */
rh_status baseline_read(const Options *options, Baseline *baseline);

/* Reads a report that has just been written, `text`, as a baseline of one module. Returns false if
 * memory runs out. */
bool baseline_parse(const char *text, size_t length, Baseline *baseline);
void baseline_free(Baseline *baseline);

/* Returns whether the names are equal without the numbers that make them unique. A name that is not
 * recorded is equal to every other. */
bool baseline_has_same_name(const MeasuredModule *was, const MeasuredModule *is);
bool baseline_has_same_hash(const MeasuredModule *was, const MeasuredModule *is);

/* Checks that what a peak depends on besides the module is the same, as far as the baseline records
 * it. `place` is the baseline, for the message. */
bool baseline_has_same_settings(const MeasuredModule *was, const MeasuredModule *is,
                                const Input *place);

#endif
