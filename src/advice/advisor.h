/* What all kinds of advice share: the module with its measures, the list of remedies, and how a
 * simulated module becomes one of them.
 *
 * A kind (kinds.def) is a function that looks for what it can propose, makes for each proposal a
 * module as the changed program would give it, and adds both with advisor_add(). That measures the
 * simulated module, and drops a proposal that gains too little. A kind decides nothing else: what
 * comes first is decided in advice.c. */
#ifndef REMAT_HLO_ADVICE_ADVISOR_H
#define REMAT_HLO_ADVICE_ADVISOR_H

#include "advice/framework.h"
#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "emit/report/report.h"
#include "ir/handle.h"
#include "ir/source_place.h"
#include "schedule/scheduler.h"

/* What the caller wants. */
typedef struct AdviceRequest {
  const rh_module *module; /* scheduled and checked */
  int64_t limit_bytes;     /* INT64_MAX = none */
  rh_limit_counts limit_counts;
  const DeviceProfile *device;
  int64_t default_trip_count;
  uint32_t max_steps;
  const Scheduler *scheduler; /* that the module's order comes from; NULL = unknown */
  bool is_behind_barriers;    /* it does with the barriers of checkpoints that are there, only */
} AdviceRequest;

/* A module, and what is measured of it. */
typedef struct Measured {
  rh_memory memory; /* its texts are in the arena of the measure */
  int64_t counted_bytes;
  double seconds;
  rh_text peak_instruction, peak_op_name, peak_source_file;
  int64_t peak_source_line;
} Measured;

/* A remedy, and the module that it leads to. */
typedef struct Remedy {
  rh_remedy shown;
  rh_module *after; /* owned by the advisor until it is taken */
  bool is_sketch;   /* arrays in it have shapes that contradict their operands */
} Remedy;

typedef struct Advisor {
  const AdviceRequest *request;
  const rh_module *input; /* what is advised on: the module of the request, or a simulated one */
  bool is_sketch; /* the input is a sketch: it can be measured, and not be printed and parsed */
  bool is_later;  /* the input is what a step of the plan led to */
  const Module *module;
  const Schedule *schedule;
  Measured before;
  LiveSet live; /* at the peak */
  ValueAnalysis values;
  Places places;
  Framework framework;
  VEC(Remedy) remedies;
  rh_diags *diags;
  rh_status status; /* of the first simulation that failed with an error of our own */
  Arena *out;       /* of the texts of remedies */
  Arena *arena;     /* of the analyses */
  Arena *scratch;
} Advisor;

/* Measures the module and finds what lives at its peak. `*advisor` must stay where it is, because
 * its parts refer to each other. Free with advisor_free(). */
void advisor_open(Advisor *advisor, const AdviceRequest *request, const rh_module *input,
                  bool is_sketch, Arena *out, rh_diags *diags);

/* Frees the analyses, and all simulated modules that nobody took. */
void advisor_free(Advisor *advisor);

/* Adds a remedy whose text is filled in, with the figures of `after`, which the advisor then owns.
 * Drops it if it gains less than a fiftieth, or if it is the same as an earlier one. Returns
 * whether it stays. */
bool advisor_add(Advisor *advisor, const rh_remedy *remedy, rh_module *after);

/* The same for a module that has something in it which the changed program does not compute, and
 * that takes no memory at the peak. */
bool advisor_add_sparing(Advisor *advisor, const rh_remedy *remedy, rh_module *after,
                         double spared_seconds);

/* The same for a module whose modelled time says nothing, because arrays in it have other shapes.
 */
bool advisor_add_timed(Advisor *advisor, const rh_remedy *remedy, rh_module *after,
                       double added_seconds);

/* The remedy that was added last. */
static inline Remedy *advisor_last(Advisor *advisor) {
  return &advisor->remedies.data[advisor->remedies.len - 1];
}

/* Drops a remedy, by index. */
void advisor_drop(Advisor *advisor, uint32_t index);

/* Drops the first remedy of this kind before `index` that is about the same loop, without a policy,
 * as the remedy there, which is more exact. */
void advisor_drop_earlier(Advisor *advisor, uint32_t index);

/* The same; with `is_doubtful`, of the two the one that takes less stays. */
void advisor_keep_lower(Advisor *advisor, uint32_t index, bool is_doubtful);

/* The sum of what lives at the peak and that `is_meant` finds. */
typedef bool (*LiveTest)(const void *context, const LiveBuffer *buffer);
int64_t advisor_live_bytes(const Advisor *advisor, LiveTest is_meant, const void *context);

/* Whether the program has a backward part, which JAX names. O(instructions). */
bool advisor_has_gradients(const Advisor *advisor);

/* A copy of a scheduled module that can be changed: its module and its schedule. */
rh_module *advice_copy(const rh_module *input);

/* The same of the input. */
rh_module *advisor_copy(const Advisor *advisor);

/* The place of an instruction in the program, with texts in `advisor->out`. */
SourcePlace advisor_place(Advisor *advisor, InstId id);

/* Fills in the place of a remedy. */
void advisor_set_place(rh_remedy *remedy, SourcePlace place);

/* `train.py:52`, or `the program` if it is not known. */
const char *advisor_where(const Advisor *advisor, SourcePlace place);

rh_text advice_text(Arena *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The kinds of advice. Each adds what it finds. */
#define KIND(id, name, needs, summary) void advise_##id(Advisor *advisor);
#include "advice/kinds.def"

#endif
