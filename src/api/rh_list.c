/* The public view of all registries. */
#include <string.h>

#include "ir/diag.h"
#include "api/arguments.h"
#include "remat/exact/solver.h"

static const rh_entry schedulers_list[] = {
#define SCHEDULER(id, name, summary) {name, summary, 0},
#include "schedule/algos.def"
};

static const rh_entry algorithms_list[] = {
#define ALGORITHM(id, name, modes, traits, summary) {name, summary, traits},
#include "remat/job/algos.def"
};

static const rh_entry models_list[] = {
#define MODEL(id, name, traits, summary) {name, summary, traits},
#include "analysis/memory/models.def"
};

static const rh_entry rules_list[] = {
#define RULE(id, name, summary) {name, summary, 0},
#include "analysis/lint/rules.def"
};

static const rh_entry packings_list[] = {
#define PACKER(id, name, summary) {name, summary, 0},
#include "analysis/pack/packings.def"
};

static const rh_entry targets_list[] = {
#define TARGET(id, summary, alignment, granule, pads_tiles, has_dynamic_sizes, gpu_sharing, \
               removes_barriers, has_spaces, has_trip_counts, has_windows, excess)          \
  {#id, summary, (pads_tiles) ? RH_TRAIT_PADS : 0},
#include "ir/targets.def"
};

static const rh_entry parameters_list[] = {
#define PARAMETER(id, name, value, least, most, what) {name, what " [" #value "]", 0},
#include "remat/job/parameters.def"
};

static const rh_entry devices_list[] = {
#define DEVICE(name, description) {name, description, 0},
#include "analysis/cost/devices.def"
};

static const rh_entry remedies_list[] = {
#define KIND(id, name, needs, summary) {name, summary "; needs " needs, 0},
#include "advice/kinds.def"
};

static const struct {
  const char *noun;
  const rh_entry *list;
  size_t len;
} registries[] = {
    [RH_SCHEDULERS] = {"scheduler", schedulers_list,
                       sizeof schedulers_list / sizeof *schedulers_list},
    [RH_ALGORITHMS] = {"algorithm", algorithms_list,
                       sizeof algorithms_list / sizeof *algorithms_list},
    [RH_MEMORY_MODELS] = {"memory model", models_list, sizeof models_list / sizeof *models_list},
    [RH_LINT_RULES] = {"rule", rules_list, sizeof rules_list / sizeof *rules_list},
    [RH_PACKINGS] = {"packing", packings_list, sizeof packings_list / sizeof *packings_list},
    [RH_TARGETS] = {"target", targets_list, sizeof targets_list / sizeof *targets_list},
    [RH_PARAMETERS] = {"parameter", parameters_list,
                       sizeof parameters_list / sizeof *parameters_list},
    [RH_REMEDIES] = {"kind of advice", remedies_list, sizeof remedies_list / sizeof *remedies_list},
    [RH_DEVICES] = {"device", devices_list, sizeof devices_list / sizeof *devices_list},
};

int rh_has_solver(void) {
  return solver_is_there();
}

const rh_entry *rh_list(rh_registry registry, size_t index) {
  bool is_known = (unsigned)registry < sizeof registries / sizeof *registries;
  if (!is_known || index >= registries[registry].len) return NULL;
  return &registries[registry].list[index];
}

const rh_entry *rh_find(rh_registry registry, const char *name) {
  const rh_entry *entry;
  for (size_t i = 0; (entry = rh_list(registry, i)); i++) {
    if (strcmp(entry->name, name) == 0) return entry;
  }
  return NULL;
}

rh_status fail_unknown_name(rh_registry registry, const char *name, rh_diags *diags) {
  const char *names[32];
  size_t count = 0;
  const rh_entry *entry;
  while (count < sizeof names / sizeof *names && (entry = rh_list(registry, count)))
    names[count++] = entry->name;
  return diag_fail_unknown(diags, registries[registry].noun, name, names, count);
}

rh_status check_choice(int value, int count, const char *what, rh_diags *diags) {
  if (value >= 0 && value < count) return RH_OK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                   "%s has no value %d in this version of the library, %s", what, value,
                   rh_version());
}
