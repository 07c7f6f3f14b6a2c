/* The subcommands. */
#ifndef REMAT_HLO_CLI_COMMAND_H
#define REMAT_HLO_CLI_COMMAND_H

#include "options.h"

/* Each function reads the options, runs its subcommand, and reports the reason if it fails. */
rh_status cmd_remat(const Options *options);
rh_status cmd_compare(const Options *options);
rh_status cmd_report(const Options *options);
rh_status cmd_advise(const Options *options);
rh_status cmd_verify(const Options *options);
rh_status cmd_check(const Options *options);
rh_status cmd_print(const Options *options);
rh_status cmd_fmt(const Options *options);
rh_status cmd_pack(const Options *options);
rh_status cmd_cost(const Options *options);
rh_status cmd_calibrate(const Options *options);
rh_status cmd_list(const Options *options);

/* Runs the subcommand that the command line names. If the first argument is a file, the subcommand
 * is `remat`. */
rh_status command_run(int argc, char **argv);

/* Returns the FOR_… bit of a subcommand, or 0 if there is none of that name. */
unsigned command_bit(const char *name);

/* Returns the name of a subcommand, counting from 0, and what it does in one line. Returns NULL if
 * there is none. */
const char *command_name(size_t index, const char **summary);

#endif
