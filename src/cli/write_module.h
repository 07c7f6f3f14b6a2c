/* Code shared by the subcommands that read one module and write its text. */
#ifndef REMAT_HLO_CLI_WRITE_MODULE_H
#define REMAT_HLO_CLI_WRITE_MODULE_H

#include "options.h"
#include "output.h"

/* It fails only if the output fails. */
typedef rh_status (*ModuleWriter)(const rh_module *module, const Options *options, Output *output,
                                  rh_diags *diags);

/* Reads the file and writes its text to --output, which is stdout by default. */
rh_status write_module(const Options *options, ModuleWriter write);

#endif
