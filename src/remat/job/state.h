/* States of a rematerialization to come back to. */
#ifndef REMAT_HLO_REMAT_JOB_STATE_H
#define REMAT_HLO_REMAT_JOB_STATE_H

#include "analysis/memory/call_memory.h"
#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"

typedef struct RematState {
  ModuleSnapshot module;
  Schedule schedule;
  Sequence *working; /* room for the table of sequences that the job goes on with */
  uint32_t num_inst_names, num_comp_names;
  int64_t next_channel_id;
} RematState;

/* Copies what the job has reached into `out`. O(module). */
RematState remat_state_save(const RematJob *job, Arena *out);

/* Puts it back. The job's schedule then lies where the state does, until the job changes it. */
void remat_state_load(RematJob *job, const RematState *state);

/* What the state that the job is in needs by the options' memory model, and its peak alone. */
CallMemory remat_state_memory(const RematJob *job, Arena *out, Arena *scratch);
int64_t remat_state_peak(const RematJob *job, Arena *scratch);

/* The limit for an algorithm that knows only what XLA's pass counts, `memory`: it gets as much less
 * or more as that and the options' memory model differ. Can be negative. */
int64_t remat_state_xla_limit(const RematJob *job, const RematMemory *memory, Arena *scratch);

#endif
