/* The pictures that the options ask for. */
#ifndef REMAT_HLO_CLI_PICTURES_H
#define REMAT_HLO_CLI_PICTURES_H

#include "options.h"

enum { MAX_OTHER_OUTPUTS = 5 };

bool pictures_are_wanted(const Options *options);

/* Returns whether one of them is written to stdout. */
bool pictures_take_stdout(const Options *options);

/* Returns whether each of them is written to a folder, as is needed for several files. */
bool pictures_have_folders(const Options *options);

/* Returns RH_ERR_USAGE and reports the reason on stderr if this build does not support a format, or
 * if two outputs are the same. The outputs are the pictures and `others`, of which there are at
 * most MAX_OTHER_OUTPUTS; any of these may be NULL. */
rh_status pictures_check(const Options *options, const char *const *others, size_t num_others);

/* A scheduled module, the settings for measuring it, and its title. */
typedef struct PictureSide {
  const rh_module *module;
  const rh_settings *settings;
  const char *title; /* shown if there are two modules */
} PictureSide;

/* Makes the memory map of one module, or of two; `after` may be NULL. Call pictures_free() in any
 * case. */
rh_status pictures_map(rh_picture *picture, const PictureSide *before, const PictureSide *after,
                       rh_diags *diags);
void pictures_free(rh_picture *picture);

#endif
