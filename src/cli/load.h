/* Loading of modules from files. */
#ifndef REMAT_HLO_CLI_LOAD_H
#define REMAT_HLO_CLI_LOAD_H

#include "cost_of.h"
#include "input.h"
#include "options.h"

typedef struct Loaded {
  Input input;
  rh_module *module;
  rh_settings settings; /* for measuring the module and the modules that are made from it */
  CostOf costs;         /* referenced by the settings */
  rh_times *times;      /* referenced by the settings; NULL = none */
  rh_diags *diags; /* diagnostics of later operations on the module; messages_print shows them */
} Loaded;

/* Reads and parses a file. Errors and warnings are reported on stderr. Call load_free() in any
 * case. */
rh_status load_module(const char *path, const Options *options, Loaded *loaded);

/* Like load_module(), but also makes the settings that the options ask for: the target for which
 * memory is measured, the packing, the costs of --cost-of, and the times of --times. */
rh_status load_to_measure(const char *path, const Options *options, Loaded *loaded);

/* Reads a file that is not a module. Call load_free() in any case. */
rh_status load_text(const char *path, const Options *options, Loaded *loaded);

/* Returns the options for parsing, with the limits that the command line sets. */
rh_parse_options load_parse_options(const Options *options);

/* Prints the diagnostics that have been collected in `diags`, and empties it. Returns `status`. */
rh_status load_report(Loaded *loaded, rh_status status);

/* Warns about properties that limit what the figures of a module mean, unless --quiet is given. */
void load_warn_of_figures(const Loaded *loaded, const Options *options);

void load_free(Loaded *loaded);

#endif
