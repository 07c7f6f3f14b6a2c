/* Handles of modules, as the public functions make them. */
#ifndef REMAT_HLO_API_MODULE_H
#define REMAT_HLO_API_MODULE_H

#include "ir/handle.h"

/* Notes what rh_get_info() tells, once a module is whole. Returns it. */
rh_module *module_finish(rh_module *handle);

#endif
