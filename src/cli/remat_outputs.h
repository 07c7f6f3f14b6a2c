/* What `remat` writes beside its summaries, an option each or two. */
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
  OUTPUT_PICTURES, /* one a format */
  NUM_REMAT_OUTPUTS = OUTPUT_PICTURES + RH_NUM_PICTURE_FORMATS,
} RematOutput;

/* Makes the folders that an output of an input of this name needs, and notes that it is written:
 * what would be a file of another output is refused. `*path` is where it goes, to be freed in any
 * case. RH_ERR_USAGE or RH_ERR_WRITE, the reason on stderr. */
rh_status remat_output_prepare(const Options *options, Places *places, size_t input,
                               RematOutput output, rh_text module_name, char **path);

/* Notes all outputs of all inputs, before any of them is read as a whole: files that are named
 * after their module as far as its name stands at the beginning of a text that can be read twice.
 * What is wrong is told as above. */
rh_status remat_outputs_note(const Options *options, Places *places);

#endif
