/* The subcommands. */
#ifndef REMAT_HLO_CLI_COMMAND_H
#define REMAT_HLO_CLI_COMMAND_H

#include "options.h"

/* Each reads the options, does its job and says why when it could not. */
rh_status cmd_remat(const Options *options);
rh_status cmd_compare(const Options *options);
rh_status cmd_report(const Options *options);
rh_status cmd_verify(const Options *options);
rh_status cmd_check(const Options *options);
rh_status cmd_print(const Options *options);
rh_status cmd_fmt(const Options *options);
rh_status cmd_pack(const Options *options);
rh_status cmd_cost(const Options *options);
rh_status cmd_list(const Options *options);

/* Runs the subcommand that the command line names; a first argument that is a file means `remat`.
 */
rh_status command_run(int argc, char **argv);

/* The FOR_… bit of a subcommand, 0 when there is none of that name. */
unsigned command_bit(const char *name);

/* The names of all, one a line. */
void command_print_names(FILE *out);

#endif
