/* A device as the roofline sees it, read from JSON (share/remat-hlo/profiles/NAME.json); the format
 * is described in device_profile.c. */
#ifndef REMAT_HLO_ANALYSIS_COST_DEVICE_PROFILE_H
#define REMAT_HLO_ANALYSIS_COST_DEVICE_PROFILE_H

#include "ir/diag.h"
#include "ir/shape.h"

typedef struct DeviceProfile {
  const char *name;
  const char *description;
  const char *source;             /* where the figures come from */
  int64_t memory_bytes;           /* of the card; 0 = unknown */
  double memory_bandwidth;        /* bytes per second */
  double flops[NUM_TYPES];        /* dense matrix product, per second, by operand type */
  double vector_flops[NUM_TYPES]; /* everything else */
  double transcendentals;         /* per second */
  double host_to_device;          /* bytes per second */
  double device_to_host;
  double interconnect;   /* bytes per second between devices */
  double kernel_seconds; /* fixed cost of one instruction that runs */
} DeviceProfile;

/* Reads a profile; strings live in `out`. Unknown or missing keys, wrong types and non-positive
 * rates are errors with the key's name; a JSON that cannot be read is one with the offset into
 * `json`. */
rh_status device_profile_parse(const char *json, size_t length, DeviceProfile *profile, Arena *out,
                               rh_diags *diags);

#endif
