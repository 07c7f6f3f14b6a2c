/* The call graph: which instructions call a computation, and how. The memory that a call needs
 * depends on it.
 *
 * A call is *control flow* (while, conditional, call, async: the callee runs as a sequence of its
 * own with buffers of its own) or *embedded* (fusion, reduce, map, …: the callee is an expression).
 * Source: xla/service/call_graph.cc. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_CALL_GRAPH_H
#define REMAT_HLO_ANALYSIS_FLOW_CALL_GRAPH_H

#include "ir/module.h"

enum CallContext {
  CALLED_AS_SEQUENCE = 1 << 0,
  CALLED_AS_EXPRESSION = 1 << 1,
};

typedef struct CallGraph {
  CompId *post_order; /* computations reachable from the entry, callees before callers */
  uint32_t num_reachable;
  uint8_t *context; /* by CompId: CallContext bits; the entry counts as called as a sequence; 0 for
                       an unreachable computation */
  InstId *callers;  /* the calling instructions of all reachable computations, grouped by callee */
  uint32_t *first_caller; /* by CompId, one entry more: range in `callers` */
} CallGraph;

CallGraph call_graph_build(const Module *module, Arena *out, Arena *scratch);

/* All computations, also unreachable ones, callees before callers. Allocated in `out`. */
CompId *comps_post_order(const Module *module, Arena *out, Arena *scratch);

/* Marks each computation that calls a marked one, directly or not. `is_marked` is by CompId. */
void comps_mark_callers(const Module *module, bool *is_marked, Arena *scratch);

/* The calling instructions of a computation. An instruction that names it several times is listed
 * as often. Empty for the entry and for an unreachable computation. */
static inline IdSpan callers_of(const CallGraph *graph, CompId comp) {
  uint32_t first = graph->first_caller[comp];
  return (IdSpan){graph->callers + first, graph->first_caller[comp + 1] - first};
}

/* The caller of a computation that is called by one instruction, once; NO_ID for other
 * computations. */
static inline InstId only_caller_of(const CallGraph *graph, CompId comp) {
  IdSpan callers = callers_of(graph, comp);
  return callers.len == 1 ? callers.ids[0] : NO_ID;
}

static inline bool comp_is_sequential(const CallGraph *graph, CompId id) {
  return (graph->context[id] & CALLED_AS_SEQUENCE) != 0;
}

/* Whether an asynchronous operation runs the computation, which may contain a single instruction
 * only: also the one that `call-start(…)` implies. */
bool comp_is_started(const Module *module, const CallGraph *graph, CompId id);

/* Whether an instruction of the computation itself is a loop. */
bool comp_has_loop(const Module *module, CompId id);

/* XLA:CPU makes a call of a small loop after copy-insertion, and compiles it as one function.
 * Outside of this function the same instructions round differently
 * (xla/service/cpu/small_while_loop_hoisting_pass.cc). */
bool call_is_compiled_alone(const Module *module, InstId id);

/* Whether a call runs the body of a shard_map. Shardy looks for it when it reads the module,
 * between custom calls that change global shapes into local ones and back, which nothing else may
 * read (xla/service/spmd/shardy/constants.h, sdy_round_trip/shard_map_import.cc). */
bool call_is_of_one_shard(const Module *module, InstId id);

#endif
