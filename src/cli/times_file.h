/* The profile of --times. */
#ifndef REMAT_HLO_CLI_TIMES_FILE_H
#define REMAT_HLO_CLI_TIMES_FILE_H

#include "load.h"

/* load_to_measure() for a module whose measured times, if there are any, are to be its times: those
 * of the profile of --times, which the module must be in, or else those of the profile that the
 * module itself was taken out of. If they cannot be read, the reason is reported on stderr. */
rh_status times_file_load(const char *path, const Options *options, Loaded *loaded);

/* Replaces the profile of a device by one whose times of what was not measured are scaled by what
 * was. `*own` is freed and becomes the new one; `profile` may be the same. Without measured times
 * it does nothing. */
rh_status times_file_scale(const Options *options, const Loaded *loaded, const rh_profile *profile,
                           rh_profile **own);

#endif
