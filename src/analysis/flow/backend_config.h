/* The attribute backend_config, in which a backend keeps its notes on an instruction. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H
#define REMAT_HLO_ANALYSIS_FLOW_BACKEND_CONFIG_H

#include "ir/json_read.h"
#include "ir/module.h"

typedef struct BackendConfig {
  const cJSON *json; /* NULL = there is none */
  Arena *arena;      /* holds it */
} BackendConfig;

/* The attribute backend_config as JSON, whether it is written as such or in quotes; to be freed
 * with backend_config_free() in any case. There is none if it is not JSON, or if its text does not
 * contain `word`, which is checked first and is fast. */
BackendConfig backend_config_read(const Module *module, InstId id, const char *word);
void backend_config_free(BackendConfig *config);

/* The known_trip_count of a loop's backend_config; -1 if it has none. XLA runs as many iterations,
 * whatever the condition says (thunk_emitter.cc of xla/service/cpu and xla/service/gpu). */
int64_t backend_config_trips(const Module *module, InstId id);

#endif
