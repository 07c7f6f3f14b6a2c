/* Who calls whom, and how: what a call needs memory for depends on it.
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
  uint8_t *context; /* by CompId: CallContext bits, the entry as if called as a sequence; 0 for an
                       unreachable one */
  InstId *callers;  /* the calling instructions of all reachable computations, by callee */
  uint32_t *first_caller; /* by CompId, one more than computations: range in `callers` */
} CallGraph;

CallGraph call_graph_build(const Module *module, Arena *out, Arena *scratch);

/* All computations in `out`, callees before callers: those that nobody reaches, too. */
CompId *comps_post_order(const Module *module, Arena *out, Arena *scratch);

/* The calling instructions of a computation, each once for each time that it names it; none for the
 * entry and for what is not reached. */
static inline IdSpan callers_of(const CallGraph *graph, CompId comp) {
  uint32_t first = graph->first_caller[comp];
  return (IdSpan){graph->callers + first, graph->first_caller[comp + 1] - first};
}

/* The caller of a computation that one instruction calls, once; NO_ID for all others. */
static inline InstId only_caller_of(const CallGraph *graph, CompId comp) {
  IdSpan callers = callers_of(graph, comp);
  return callers.len == 1 ? callers.ids[0] : NO_ID;
}

static inline bool comp_is_sequential(const CallGraph *graph, CompId id) {
  return (graph->context[id] & CALLED_AS_SEQUENCE) != 0;
}

#endif
