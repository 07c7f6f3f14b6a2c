/* Device profiles: the rates of a device for the roofline, read from JSON
 * (share/remat-hlo/profiles/NAME.json). The format is described in device_profile.c. */
#ifndef REMAT_HLO_ANALYSIS_COST_DEVICE_PROFILE_H
#define REMAT_HLO_ANALYSIS_COST_DEVICE_PROFILE_H

#include "analysis/cost/units.h"
#include "ir/diag.h"
#include "ir/shape.h"

typedef struct DeviceProfile {
  const char *name;
  const char *description;
  const char *source;             /* data sheets that the figures come from */
  int64_t memory_bytes;           /* of the card; 0 = unknown */
  double memory_bandwidth;        /* bytes per second */
  double flops[NUM_TYPES];        /* dense matrix product, per second, by operand type */
  double vector_flops[NUM_TYPES]; /* per second, by type: all other operations */
  double transcendentals;         /* per second */
  double host_to_device;          /* bytes per second */
  double device_to_host;
  double interconnect;               /* bytes per second between devices */
  double kernel_seconds;             /* fixed cost of one instruction */
  double matrix_share, memory_share; /* of data sheets' figures, which `flops` and
                                        `memory_bandwidth` have been multiplied by; 0 = 1 */
  double block_bandwidth;            /* bytes per second of one block of threads on a GPU; 0 = the
                                        memory's */
  double product_serial;             /* share of the shorter of a product's transfers and work that
                                        does not run beside the longer one */
  double product_seconds;            /* fixed cost of a product on top; above 0 for GPUs only, whose
                                        times XLA:GPU estimates in seconds */
  double scale;                      /* of modelled times, by what was measured; 0 = 1 */
  double clock;      /* Hz, of the cycles that XLA:TPU estimates; 0 = it makes no estimates */
  bool has_units;    /* whether `cycles` is known; then `clock` is, too */
  UnitPrices cycles; /* prices of units; see analysis/cost/units.h */
} DeviceProfile;

/* Reads a profile; its strings are allocated in `out`. Unknown or missing keys, wrong types and
 * non-positive rates are errors that name the key. For text that is not valid JSON the error has
 * the offset into `json`. */
rh_status device_profile_parse(const char *json, size_t length, DeviceProfile *profile, Arena *out,
                               rh_diags *diags);

/* A device of which only the proportions matter, for callers that do not name one: the one of the
 * experiments that the figures of the algorithms come from (150 Tflop/s, 1.5 TB/s). */
DeviceProfile device_profile_default(void);

#endif
