/* The files that `remat` writes in addition to its summaries. Each option writes one or two. */
#ifndef REMAT_HLO_CLI_REMAT_OUTPUTS_H
#define REMAT_HLO_CLI_REMAT_OUTPUTS_H

#include "options.h"
#include "places.h"

typedef enum RematOutput {
  OUTPUT_MODULE,
  OUTPUT_GRAPH_BEFORE,
  OUTPUT_GRAPH_AFTER,
  OUTPUT_MEMLOG,
  OUTPUT_PLAN,
  OUTPUT_PICTURES, /* one for each format */
  NUM_REMAT_OUTPUTS = OUTPUT_PICTURES + RH_NUM_PICTURE_FORMATS,
} RematOutput;

/* Creates the folders that an output of an input with this module name needs, and notes that the
 * output is written. An output to the same file as another output is refused. `*path` receives the
 * path of the output; the caller frees it in any case. On failure it returns RH_ERR_USAGE or
 * RH_ERR_WRITE and reports the reason on stderr. */
rh_status remat_output_prepare(const Options *options, Places *places, size_t input,
                               RematOutput output, rh_text module_name, char **path);

/* Notes all outputs of all inputs before any input is read completely. Files that are named after
 * their module are noted only if the input can be read twice and its beginning contains the name of
 * the module. Errors are reported as by remat_output_prepare(). */
rh_status remat_outputs_note(const Options *options, Places *places);

#endif
