/* Where the memory of a module goes: what lives at the peak, and sums over it. */
#ifndef REMAT_HLO_EMIT_REPORT_REPORT_H
#define REMAT_HLO_EMIT_REPORT_REPORT_H

#include "analysis/flow/call_graph.h"
#include "analysis/memory/liveness.h"
#include "analysis/memory/memory_model.h"
#include "remat_hlo.h"

typedef struct ReportInput {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *profile;
  const LiveSet *live;
  const ValueAnalysis *values;
  const LiveRanges *ranges; /* for the positions */
} ReportInput;

/* ---- where values come from ---- */

typedef struct Places {
  const Module *module;
  const ValueAnalysis *values;
  InstId *of_inst; /* by InstId: whose metadata stands for its own, NO_ID until it is looked for */
  InstId
      *of_buffer; /* by BufferId: the same for what is in it, once it is_searched; NO_ID = none */
  bool *is_searched; /* by BufferId */
  bool *is_carried;  /* by BufferId: through a loop */
} Places;

Places places_new(const Module *module, const ValueAnalysis *values, Arena *out);

/* The instruction whose metadata tells where a part of a result comes from: its own, if it has any;
 * the instruction itself when nothing does. `part` may be NO_ID for all of it. */
InstId report_place(Places *places, InstId id, uint32_t part);

/* ---- pieces of a report ---- */

/* Fills report->live, the live set and the outputs where the model leaves them out, and where the
 * instruction at the peak comes from. */
void report_live(const ReportInput *input, rh_report *report, Arena *out, Arena *scratch);

/* Fills report->sums from report->live. */
void report_sums(rh_report *report, Arena *out, Arena *scratch);

/* As rh_compare_sums. */
void sums_compare(rh_sums before, rh_sums after, rh_change_fn visit, void *context, Arena *scratch);

/* The values of the live set whose name is that of one instruction, of those without a name all of
 * an opcode: names can be long, and an instruction can have many parts. */
typedef struct Operation {
  const rh_live_value *value; /* one of them */
  int64_t bytes;
  uint64_t num_values;
} Operation;

typedef VEC(Operation) Operations;
Operations report_operations(const rh_report *report, Arena *out);

/* Fills report->scopes from report->live. */
void report_scopes(rh_report *report, Arena *out, Arena *scratch);

/* The parts of an operation's name, without what transformations put around them:
 * `jit(step)/transpose(jvp(block))/dot` is step, block, dot. The name of an argument, which has no
 * `/` outside of brackets, is taken apart at its indices: `params['w'][0]` is params, ['w'], [0].
 * Behind MAX_SCOPE_DEPTH parts nothing is looked at. */
enum { MAX_SCOPE_DEPTH = 32 };
uint32_t scope_split(Str op_name, Str parts[MAX_SCOPE_DEPTH]);

/* The same for a value; of one without a name its opcode stands in a scope for all such. */
uint32_t scope_of_value(const rh_live_value *value, Str parts[MAX_SCOPE_DEPTH]);

/* The parts joined by `/`, indices by nothing. */
Str scope_join(const Str *parts, uint32_t num_parts, Arena *out);

#endif
