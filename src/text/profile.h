/* Profiles of jax.profiler and XProf: events with names of instructions, from which times are made.
 */
#ifndef REMAT_HLO_TEXT_PROFILE_H
#define REMAT_HLO_TEXT_PROFILE_H

#include "ir/diag.h"
#include "ir/times.h"
#include "ir/vec.h"

/* An event that names an instruction. Of events on one line, one may contain others: a loop
 * contains what it runs. */
typedef struct ProfileEvent {
  Str module, inst;
  uint64_t line; /* of which device and thread */
  uint64_t run;  /* of the module; 0 = not told */
  double begin, seconds;
} ProfileEvent;

/* A run of a module, where a profile tells runs by events of their own. */
typedef struct ProfileRun {
  Str module;
  uint64_t plane; /* of which device */
  double begin, end;
} ProfileRun;

/* What an allocator has given out after an allocation or a deallocation. */
typedef struct ProfileAllocation {
  Str allocator;
  int64_t bytes;
} ProfileAllocation;

typedef struct ProfileEvents {
  VEC(ProfileEvent) events;
  VEC(ProfileRun) runs;
  VEC(ProfileAllocation) allocations;
} ProfileEvents;

/* Reads an XSpace (xplane.proto) or the JSON of a trace. Strings are those of `data` or lie in
 * `out`. Returns RH_ERR_INPUT if it is neither. */
rh_status profile_read(const char *data, size_t length, ProfileEvents *events, rh_diags *diags,
                       Arena *out, Arena *scratch);
bool xplane_read(const char *data, size_t length, ProfileEvents *events, Arena *scratch);
bool trace_json_read(const char *data, size_t length, ProfileEvents *events, Arena *out,
                     Arena *scratch);

/* The HloProto of the module of this name, or the largest one if `name` is NULL. Len 0 = none. */
Str xplane_find_hlo(const char *data, size_t length, const char *name, Arena *scratch);

/* "jit_step(12)" is called jit_step. */
Str profile_module_name(Str text);

/* The name of an instruction from its text: `%fusion.3 = f32[8] fusion(…)` is fusion.3. */
Str profile_inst_name(Str text);

/* Whether an event of this name is one of an allocator. */
bool profile_is_allocation(Str name);

/* Sums up the events of each instruction, without those that contain others of their line. Strings
 * are copied to `out`. */
Times profile_times(ProfileEvents *events, Arena *out, Arena *scratch);

#endif
