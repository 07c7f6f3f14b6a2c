/* Handles of modules, as the public functions create them. */
#ifndef REMAT_HLO_API_MODULE_H
#define REMAT_HLO_API_MODULE_H

#include "ir/handle.h"

/* Stores the information for rh_get_info(), once a module is complete. Returns the handle. */
rh_module *module_finish(rh_module *handle);

#endif
