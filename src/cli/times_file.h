/* The profile of --times. */
#ifndef REMAT_HLO_CLI_TIMES_FILE_H
#define REMAT_HLO_CLI_TIMES_FILE_H

#include "load.h"

/* Reads the profile of --times into the settings of a loaded module, which must be in it. Without
 * --times it does nothing. If it cannot be read, the reason is reported on stderr. */
rh_status times_file_read(const Options *options, Loaded *loaded);

/* Replaces the profile of a device by one whose times of what was not measured are scaled by what
 * was. `*own` is freed and becomes the new one; `profile` may be the same. Without --times it does
 * nothing. */
rh_status times_file_scale(const Options *options, const Loaded *loaded, const rh_profile *profile,
                           rh_profile **own);

#endif
