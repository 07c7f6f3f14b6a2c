/* Reports where the memory of a module goes: the values that are live at the peak, and sums over
 * them. */
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
  const LiveRanges *ranges; /* gives the positions */
} ReportInput;

/* ---- source positions of values ---- */

typedef struct Places {
  const Module *module;
  const ValueAnalysis *values;
  InstId *of_inst; /* by InstId: the instruction whose metadata is used for it; NO_ID = not computed
                      yet */
  InstId *of_buffer;   /* by BufferId: the same for its contents, once is_searched is true; NO_ID =
                          none */
  bool *is_searched;   /* by BufferId */
  bool *is_carried;    /* by BufferId: a loop carries it */
  InstId *of_position; /* by InstId: see report_position(); NO_ID = not computed yet */
  bool has_positions;  /* any instruction has a source position */
} Places;

Places places_new(const Module *module, const ValueAnalysis *values, Arena *out);

/* Returns the instruction whose metadata says where a part of a result comes from. It is the
 * instruction itself if it has metadata, or if no other instruction is found. `part` may be NO_ID,
 * which means the whole result. */
InstId report_place(Places *places, InstId id, uint32_t part);

/* Returns the instruction whose metadata has the source position of an instruction that
 * report_place() returned: itself, or the nearest one that it is computed from or that reads it. If
 * none has a position, or if it is an argument, whose path says more, it is returned itself. */
InstId report_position(Places *places, InstId placed);

/* Whether an instruction is a parameter of the entry computation. */
bool report_is_argument(const Module *module, InstId id);

/* ---- pieces of a report ---- */

/* Fills report->live with the live set, with the outputs if the model excludes them, and sets the
 * source position of the instruction at the peak. */
void report_live(const ReportInput *input, rh_report *report, Arena *out, Arena *scratch);

/* Fills report->sums from report->live. */
void report_sums(rh_report *report, Arena *out, Arena *scratch);

/* Visits the changes between two lists of sums, as rh_compare_sums does. */
void sums_compare(rh_sums before, rh_sums after, rh_change_fn visit, void *context, Arena *scratch);

/* The values of the live set whose op_name comes from the same instruction, or, without op_name,
 * those with the same opcode. They are grouped because names can be long, and an instruction can
 * have many parts. */
typedef struct Operation {
  const rh_live_value *value; /* one of them */
  int64_t bytes;
  uint64_t num_values;
} Operation;

typedef VEC(Operation) Operations;
Operations report_operations(const rh_report *report, Arena *out);

/* Fills report->scopes from report->live. */
void report_scopes(rh_report *report, Arena *out, Arena *scratch);

/* Splits the name of an operation into its scopes, without the words that transformations put
 * around them: `jit(step)/transpose(jvp(block))/dot` gives step, block, dot. The name of an
 * argument has no `/` outside of brackets and is split at its indices: `params['w'][0]` gives
 * params, ['w'], [0]. After MAX_SCOPE_DEPTH parts the rest is ignored. */
enum { MAX_SCOPE_DEPTH = 32 };
uint32_t scope_split(Str op_name, Str parts[MAX_SCOPE_DEPTH]);

/* Splits the name of a value in the same way. A value without a name gives two parts: a scope for
 * all such values, and its opcode. */
uint32_t scope_of_value(const rh_live_value *value, Str parts[MAX_SCOPE_DEPTH]);

/* Joins parts by `/`. Nothing is put before indices. */
Str scope_join(const Str *parts, uint32_t num_parts, Arena *out);

#endif
