/* What a backend noted at an instruction. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H
#define REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H

#include "ir/json_read.h"
#include "ir/module.h"

typedef struct BackendConfig {
  const cJSON *json; /* NULL = there is none */
  Arena *arena;      /* that it lies in */
} BackendConfig;

/* The attribute backend_config as JSON, written as such or in quotes; backend_config_free() in any
 * case. There is none when it is not JSON, or when its text does not have `word`, which is found
 * out fast. */
BackendConfig backend_config_read(const Module *module, InstId id, const char *word);
void backend_config_free(BackendConfig *config);

#endif
