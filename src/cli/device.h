/* Device profiles, found by name or file. */
#ifndef REMAT_HLO_CLI_DEVICE_H
#define REMAT_HLO_CLI_DEVICE_H

#include "dump_device.h"
#include "input.h"
#include "options.h"

/* Whether --device is `auto`. */
bool device_is_auto(const Options *options);

/* Reads the profile of --device, with the link to the host that other options specify. The profile
 * is read from a file if the name contains a `/` or ends in `.json`; otherwise it is one of those
 * that are installed beside the program or, failing that, built in. If there is none, the reason is
 * reported on stderr. */
rh_status device_load(const Options *options, rh_profile **profile);

/* Like device_load(), but if --device is `auto`, it is the device that the input was compiled for
 * (dump_device()). `is_assumed` becomes whether nothing tells which one that is. `auto` is
 * DEVICE_ASSUMED for device_load(), which knows of no input. */
rh_status device_load_for(const Options *options, const Input *input, const char *target,
                          rh_profile **profile, bool *is_assumed);

typedef void (*device_fn)(void *context, const rh_profile *profile);

/* Visits the profiles that have names in the order of their names. */
rh_status device_visit(device_fn visit, void *context);

#endif
