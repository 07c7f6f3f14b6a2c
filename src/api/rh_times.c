/* The public functions that read measured times. */
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/measure.h"
#include "api/times.h"
#include "text/profile.h"

struct rh_times {
  Times times;
  const rh_timed_module *const *modules;
  const rh_timed_allocator *const *allocators;
  Arena *arena;
};

const Times *times_of(const rh_times *times) {
  return &times->times;
}

static const rh_timed_module *const *public_modules(const Times *times, Arena *out) {
  const rh_timed_module **list = arena_array(out, const rh_timed_module *, times->num_modules);
  for (uint32_t i = 0; i < times->num_modules; i++) {
    const TimedModule *module = &times->modules[i];
    rh_timed_module *made = arena_alloc(out, sizeof *made);
    *made = (rh_timed_module){.name = {module->name.data, module->name.len},
                              .num_steps = module->num_steps,
                              .num_instructions = module->num_insts,
                              .step_seconds = module->step_seconds,
                              .busy_seconds = module->busy_seconds,
                              .overlap_seconds = module->overlap_seconds};
    list[i] = made;
  }
  return list;
}

static const rh_timed_allocator *const *public_allocators(const Times *times, Arena *out) {
  const rh_timed_allocator **list =
      arena_array(out, const rh_timed_allocator *, times->num_allocators);
  for (uint32_t i = 0; i < times->num_allocators; i++) {
    const TimedAllocator *allocator = &times->allocators[i];
    rh_timed_allocator *made = arena_alloc(out, sizeof *made);
    *made = (rh_timed_allocator){.name = {allocator->name.data, allocator->name.len},
                                 .num_events = allocator->num_events,
                                 .least_bytes = allocator->least_bytes,
                                 .most_bytes = allocator->most_bytes};
    list[i] = made;
  }
  return list;
}

rh_status rh_times_parse(const char *data, size_t length, rh_times **times, rh_diags *diags) {
  *times = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  ArenaOptions memory = call_memory(call, 0);
  Arena *out = arena_new(&memory), *scratch = arena_new(&memory);
  rh_times *made = arena_zalloc(out, sizeof *made);
  ProfileEvents events;
  made->arena = out;
  rh_status status = profile_read(data, length, &events, diags, out, scratch);
  if (status == RH_OK) {
    made->times = profile_times(&events, out, scratch);
    made->modules = public_modules(&made->times, out);
    made->allocators = public_allocators(&made->times, out);
    *times = made;
  }
  arena_free(scratch);
  if (status != RH_OK) arena_free(out);
  return call_close(call, status);
}

void rh_times_free(rh_times *times) {
  if (times) arena_free(times->arena);
}

const rh_timed_module *const *rh_times_modules(const rh_times *times, size_t *count) {
  *count = times->times.num_modules;
  return times->modules;
}

const rh_timed_allocator *const *rh_times_allocators(const rh_times *times, size_t *count) {
  *count = times->times.num_allocators;
  return times->allocators;
}

static rh_status find_hlo(const char *data, size_t length, const char *name, Call *call,
                          Str *found) {
  ArenaOptions memory = call_memory(call, 0);
  Arena *scratch = arena_new(&memory);
  *found = xplane_find_hlo(data, length, name, scratch);
  arena_free(scratch);
  return RH_OK;
}

rh_status rh_times_find_hlo(const char *data, size_t length, const char *name, const char **hlo,
                            size_t *hlo_length, rh_diags *diags) {
  *hlo = NULL;
  *hlo_length = 0;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  Str found = {0};
  rh_status status = find_hlo(data, length, name, call, &found);
  if (found.len) {
    *hlo = found.data;
    *hlo_length = found.len;
  }
  return call_close(call, status);
}

/* ---- the profile of a device, scaled by what was measured ---- */

static rh_status scale(const rh_module *module, const DeviceProfile *device,
                       int64_t default_trip_count, double *factor, rh_diags *diags) {
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  CostTable table = cost_table_of(module, device, default_trip_count, arena, scratch);
  *factor = cost_unmeasured_scale(module->module, &table, device, default_trip_count, scratch);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

rh_status rh_profile_scaled(const rh_profile *profile, const rh_module *module,
                            const rh_settings *settings, int64_t default_trip_count,
                            rh_profile **scaled, rh_diags *diags) {
  *scaled = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken = NULL;
  DeviceProfile device = *profile_of(profile);
  double factor = 1;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = scale(taken, &device, default_trip_count, &factor, diags);
  if (status == RH_OK) {
    ArenaOptions memory = call_memory(call, 0);
    Arena *out = arena_new(&memory);
    device.scale = factor;
    device.name = arena_strndup(out, device.name, strlen(device.name));
    device.description = arena_strndup(out, device.description, strlen(device.description));
    device.source = arena_strndup(out, device.source, strlen(device.source));
    *scaled = profile_new(&device, out);
  }
  return call_close(call, status);
}

/* ---- names of sources ---- */

/* What is neither estimated nor measured; `is_rest` if other seconds are. */
static const char *model_words(const DeviceProfile *device, bool is_rest) {
  if (!device->has_units) return "roofline";
  return is_rest ? "fitted to such" : "fitted to XLA:TPU's estimates";
}

static const char *estimator_words(const DeviceProfile *device) {
  return device->clock > 0 ? "XLA:TPU's estimates" : "XLA:GPU's estimates";
}

void rh_time_source(const rh_cost *cost, const rh_profile *profile,
                    char text[RH_TIME_SOURCE_CHARS]) {
  static const double NEXT_TO_NOTHING = 0.0005;
  const DeviceProfile *device = profile_of(profile);
  char first[RH_TIME_SOURCE_CHARS / 2];
  double known = cost->measured_seconds > 0 ? cost->measured_seconds : cost->estimated_seconds;
  double rest = cost->seconds > 0 ? (cost->seconds - known) / cost->seconds : 0;
  if (cost->measured_seconds > 0) {
    snprintf(first, sizeof first, "measured, %llu step%s", (unsigned long long)cost->measured_steps,
             cost->measured_steps == 1 ? "" : "s");
  } else if (cost->estimated_seconds > 0) {
    snprintf(first, sizeof first, "%s", estimator_words(device));
  } else {
    snprintf(text, RH_TIME_SOURCE_CHARS, "%s", model_words(device, false));
    return;
  }
  if (rest < NEXT_TO_NOTHING) {
    snprintf(text, RH_TIME_SOURCE_CHARS, "%s", first);
  } else {
    int tenths = (int)(rest * 1000 + 0.5);
    bool is_measured = cost->measured_seconds > 0;
    snprintf(text, RH_TIME_SOURCE_CHARS, "%s; %d.%d %% %s", first, tenths / 10, tenths % 10,
             is_measured && cost->estimated_seconds > 0 ? estimator_words(device)
                                                        : model_words(device, !is_measured));
  }
}
