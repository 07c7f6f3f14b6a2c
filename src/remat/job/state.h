/* Saved states of a rematerialization. An algorithm saves the state before a step and loads it
 * again if the step did not pay. The states of a job can be loaded in any order, and more than
 * once.
 */
#ifndef REMAT_HLO_REMAT_JOB_STATE_H
#define REMAT_HLO_REMAT_JOB_STATE_H

#include "analysis/memory/call_memory.h"
#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"
#include "remat/job/score.h"

typedef struct RematState {
  ModuleSnapshot module;
  Schedule schedule;
  Sequence *working; /* space for the table of sequences that the job works on */
  NameList inst_names, comp_names;
  int64_t next_channel_id;
  InstMap cloned_from, copied_from, inner_of; /* of the job's rewrite */
} RematState;

/* Copies the job's current module and schedule into `out`. O(module). */
RematState remat_state_save(const RematJob *job, Arena *out);

/* Restores the saved state. The sequences of the job's schedule are then those of the state, until
 * the job replaces them. O(module). */
void remat_state_load(RematJob *job, const RematState *state);

/* Measures the current state of the job by its memory model: the memory of every computation, or
 * only the peak. */
CallMemory remat_state_memory(const RematJob *job, Arena *out, Arena *scratch);
int64_t remat_state_peak(const RematJob *job, Arena *scratch);

/* The modelled seconds of the current state on the job's device, waits for the link included. */
double remat_state_seconds(const RematJob *job, Arena *scratch);

/* Both of the current state, under the job's limit. */
Score remat_state_score(const RematJob *job, Arena *scratch);

/* The limit for an algorithm that only knows `memory`, which is what XLA's pass counts. The job's
 * limit is lowered or raised by the difference between the peak of the job's memory model and the
 * peak that XLA's pass counts. The result can be negative. */
int64_t remat_state_xla_limit(const RematJob *job, const RematMemory *memory, Arena *scratch);

#endif
