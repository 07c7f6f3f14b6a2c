/* Schedulers, which order the instructions of each computation: their interface, and the table of
 * all of them. */
#ifndef REMAT_HLO_SCHEDULE_SCHEDULER_H
#define REMAT_HLO_SCHEDULE_SCHEDULER_H

#include "analysis/memory/liveness.h"
#include "analysis/flow/points_to.h"
#include "ir/schedule.h"

/* The analyses that a scheduler uses; built once for a module. */
typedef struct ScheduleContext {
  const Module *module;
  PointsTo points_to;
  ValueAnalysis values;
} ScheduleContext;

ScheduleContext schedule_context_build(const Module *module, Arena *out, Arena *scratch);

/* Fills the sequences of all live computations except those of fusions, which keep the order of the
 * text. Deterministic; the result passes schedule_is_valid(). `schedule` and its sequences are
 * allocated in `out`. */
typedef void (*SchedulerFn)(const ScheduleContext *context, Schedule *schedule, Arena *out,
                            Arena *scratch);

typedef struct Scheduler {
  const char *name;
  const char *summary;
  SchedulerFn run;
} Scheduler;

extern const Scheduler schedulers[];
extern const size_t num_schedulers;

/* NULL when there is none of this name. */
const Scheduler *scheduler_find(const char *name);

/* The computations that a scheduler orders, callees before callers. */
typedef struct CompList {
  CompId *ids;
  uint32_t len;
} CompList;
CompList computations_to_schedule(const Module *module, Arena *out, Arena *scratch);

/* Sets all sequences to the order of the text. */
void schedule_init(const ScheduleContext *context, Schedule *schedule, Arena *out);

#define SCHEDULER(id, name, summary)                                                 \
  void schedule_##id(const ScheduleContext *context, Schedule *schedule, Arena *out, \
                     Arena *scratch);
#include "schedule/algos.def"

#endif
