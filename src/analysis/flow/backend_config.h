/* The attribute backend_config, in which a backend keeps its notes on an instruction. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H
#define REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H

#include <cjson/cJSON.h>

#include "ir/module.h"

/* The attribute backend_config as JSON, whether it is written as such or in quotes. The caller
 * deletes it. NULL when it is not JSON, or when its text does not contain `word`, which is checked
 * first and is fast. */
cJSON *backend_config(const Module *module, InstId id, const char *word);

#endif
