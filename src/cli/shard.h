/* Parts of a list of modules for several workers that know nothing of each other. */
#ifndef REMAT_HLO_CLI_SHARD_H
#define REMAT_HLO_CLI_SHARD_H

#include "module_list.h"

/* Keeps only the modules of the part that --shard asks for. By hash the text of a module alone
 * decides, wherever the file is and whatever else there is, and each text is read. By size all
 * workers need the same list. Files that cannot be read are in a part like others. */
rh_status shard_take(const Options *options, ModuleList *list);

#endif
