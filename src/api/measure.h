/* Functions that the public functions that measure share with those that rematerialize and emit. */
#ifndef REMAT_HLO_API_MEASURE_H
#define REMAT_HLO_API_MEASURE_H

#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "ir/handle.h"

/* Finds the memory model of this name, and checks that the module can be measured. */
rh_status find_model(const rh_module *module, const char *name, const MemoryModel **model,
                     rh_diags *diags);

/* Returns the device of a profile. */
const DeviceProfile *profile_of(const rh_profile *profile);

/* Returns a profile that lives as long as the arena. rh_profile_free frees both. */
rh_profile *profile_new(const DeviceProfile *device, Arena *arena);

/* Returns the costs of a module. If the module has an order and there is a profile, they include
 * the time that copies from and to the host delay it. */
CostTable cost_table_of(const rh_module *module, const DeviceProfile *profile,
                        int64_t default_trip_count, Arena *out, Arena *scratch);

/* Returns the result of rh_measure_cost() from an existing table. `profile` may be NULL. */
rh_cost cost_figures(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, Arena *scratch);

/* Returns the figures of a profile, with the lower bound and names (memory_of_profile). */
rh_memory memory_with_bound(const rh_module *module, const MemoryProfile *profile, Arena *scratch);

typedef struct SpaceList {
  const rh_space *const *list;
  size_t len;
} SpaceList;

/* Returns the memory spaces apart from the device's memory that a scheduled module uses, by
 * ascending number. */
SpaceList spaces_of(const rh_module *module, Arena *out, Arena *scratch);

/* Fills report->stacks. */
void report_stacks(const rh_module *module, rh_report *report, Arena *out, Arena *scratch);

#endif
