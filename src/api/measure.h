/* What the public functions that measure share with those that rematerialize and emit. */
#ifndef REMAT_HLO_API_MEASURE_H
#define REMAT_HLO_API_MEASURE_H

#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "ir/handle.h"

/* The model, if there is one of this name and the module can be measured. */
rh_status find_model(const rh_module *module, const char *name, const MemoryModel **model,
                     rh_diags *diags);

/* The device of a profile. */
const DeviceProfile *profile_of(const rh_profile *profile);

/* The costs of a module; where it has an order and there is a profile, with what copies from and to
 * the host hold up. */
CostTable cost_table_of(const rh_module *module, const DeviceProfile *profile,
                        int64_t default_trip_count, Arena *out, Arena *scratch);

/* What rh_measure_cost() tells, from a table that is there. `profile` may be NULL. */
rh_cost cost_figures(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, Arena *scratch);

/* A profile's figures with the lower bound and names (memory_of_profile). */
rh_memory memory_with_bound(const rh_module *module, const MemoryProfile *profile, Arena *scratch);

#endif
