/* The pictures that the options ask for. */
#ifndef REMAT_HLO_CLI_PICTURES_H
#define REMAT_HLO_CLI_PICTURES_H

#include "options.h"

enum { MAX_OTHER_OUTPUTS = 4 };

bool pictures_are_wanted(const Options *options);

/* Whether one of them is written to stdout. */
bool pictures_take_stdout(const Options *options);

/* Whether each of them has a folder to be written to, as those of several files need it. */
bool pictures_have_folders(const Options *options);

/* RH_ERR_USAGE, the reason on stderr, for a format that this build does not have, and when two
 * outputs are one: pictures, or the others, at most MAX_OTHER_OUTPUTS, any of which may be NULL. */
rh_status pictures_check(const Options *options, const char *const *others, size_t num_others);

/* A scheduled module, how it is measured, and what stands over it. */
typedef struct PictureSide {
  const rh_module *module;
  const rh_settings *settings;
  const char *title; /* where there are two */
} PictureSide;

/* Maps one module, or two; `after` may be NULL. pictures_free() in any case. */
rh_status pictures_map(rh_picture *picture, const PictureSide *before, const PictureSide *after,
                       rh_diags *diags);
void pictures_free(rh_picture *picture);

#endif
