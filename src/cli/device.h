/* Device profiles by name or file. */
#ifndef REMAT_HLO_CLI_DEVICE_H
#define REMAT_HLO_CLI_DEVICE_H

#include "input.h"
#include "options.h"

/* Reads the profile of --device: that of the file when the name has a `/` or ends in `.json`, else
 * one that is installed; with the link to the host that other options ask for. The reason is on
 * stderr when there is none. */
rh_status device_load(const Options *options, rh_profile **profile);

typedef void (*device_fn)(void *context, const rh_profile *profile);

/* Visits the installed profiles, sorted by name. */
rh_status device_visit(device_fn visit, void *context);

#endif
