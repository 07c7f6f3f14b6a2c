/* The pictures that the options ask for. */
#ifndef REMAT_HLO_CLI_PICTURES_H
#define REMAT_HLO_CLI_PICTURES_H

#include "options.h"

bool pictures_are_wanted(const Options *options);

/* RH_ERR_USAGE, the reason on stderr, for a format that this build does not have. */
rh_status pictures_check(const Options *options);

/* The end of a file's name. */
const char *picture_suffix(rh_picture_format format);

/* Maps one scheduled module, or two, each under its title; `after` may be NULL. pictures_free() in
 * any case. */
rh_status pictures_map(rh_picture *picture, const rh_module *before, const rh_module *after,
                       const char *before_title, const char *after_title, rh_diags *diags);
void pictures_free(rh_picture *picture);

#endif
