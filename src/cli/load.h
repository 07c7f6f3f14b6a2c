/* Modules out of files. */
#ifndef REMAT_HLO_CLI_LOAD_H
#define REMAT_HLO_CLI_LOAD_H

#include "cost_of.h"
#include "input.h"
#include "options.h"

typedef struct Loaded {
  Input input;
  rh_module *module;
  rh_settings settings; /* for what measures the module, and what is made of it */
  CostOf costs;         /* of the settings */
  rh_diags *diags;      /* for what is done with the module; messages_print shows it */
} Loaded;

/* Reads and parses a file. Errors and warnings are on stderr. load_free() in any case. */
rh_status load_module(const char *path, const Options *options, Loaded *loaded);

/* The same with the settings that the options ask for: for whom its memory is measured, how it is
 * packed, and what was said of costs. */
rh_status load_to_measure(const char *path, const Options *options, Loaded *loaded);

/* Reads a file that is no module. load_free() in any case. */
rh_status load_text(const char *path, const Options *options, Loaded *loaded);

/* How it is parsed: with the limits of the options. */
rh_parse_options load_parse_options(const Options *options);

/* Shows what has gathered in `diags`, and empties it. Returns `status`. */
rh_status load_report(Loaded *loaded, rh_status status);

/* Warns, unless --quiet, of what the figures of a module cannot be taken for. */
void load_warn_of_figures(const Loaded *loaded, const Options *options);

void load_free(Loaded *loaded);

#endif
