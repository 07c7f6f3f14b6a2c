/* What a backend noted at an instruction. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H
#define REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H

#include <cjson/cJSON.h>

#include "ir/module.h"

/* The attribute backend_config as JSON, written as such or in quotes; to be deleted by the caller.
 * NULL when it is not JSON, or when its text does not have `word`, which is found out fast. */
cJSON *backend_config(const Module *module, InstId id, const char *word);

#endif
