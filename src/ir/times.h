/* Measured times of instructions, from a profile, by the names of their modules and their own. */
#ifndef REMAT_HLO_IR_TIMES_H
#define REMAT_HLO_IR_TIMES_H

#include "ir/ids.h"

typedef struct TimedInst {
  Str name;
  double seconds; /* of one run, the mean of all that were measured */
  uint64_t count; /* of runs */
} TimedInst;

typedef struct TimedModule {
  Str name;
  const TimedInst *insts; /* sorted by name */
  uint32_t num_insts;
  uint64_t num_steps;
  double step_seconds; /* see rh_timed_module */
  double busy_seconds;
  double overlap_seconds;
} TimedModule;

/* What an allocator of device memory had given out while the profile was made. */
typedef struct TimedAllocator {
  Str name;
  uint64_t num_events; /* allocations and deallocations */
  int64_t least_bytes, most_bytes;
} TimedAllocator;

typedef struct Times {
  const TimedModule *modules; /* the one that took longest first */
  uint32_t num_modules;
  const TimedAllocator *allocators; /* sorted by name */
  uint32_t num_allocators;
} Times;

/* Returns NULL if the profile has no module of this name. */
const TimedModule *times_find_module(const Times *times, Str name);

/* Returns the seconds of one run of an instruction. If its name is not there, it is that of a
 * clone, and the time is that of the instruction that it recomputes: `tanh.3.remat2` is as
 * `tanh.3`. Negative = it was not measured. */
double times_find(const TimedModule *module, Str name);

#endif
