/* Loops whose state is a tuple that is taken apart by get-tuple-elements, which is the form that
 * XLA gives to every scan: what each element of the state is, and where its first value comes from.
 *
 * Example (a scan over 8 layers):
 *   init = (s32[], f32[4], f32[8,4]) tuple(zero, x, weights)
 *   loop = (s32[], f32[4], f32[8,4]) while(init), body=…, condition=…
 *   element 0 counts: 0, 1, … 7; element 1 changes; element 2 is invariant. */
#ifndef REMAT_HLO_ANALYSIS_LOOP_LOOP_H
#define REMAT_HLO_ANALYSIS_LOOP_LOOP_H

#include "analysis/flow/call_graph.h"

typedef struct Loop {
  InstId id; /* the while */
  CompId parent, body, condition;
  InstId init, body_param, body_root, condition_param; /* init and body_root are tuples */
  int64_t trips;
  uint32_t num_elements;
  bool *is_invariant; /* by element: the body hands it on unchanged */
  /* by element: its value at the beginning of each iteration, trips + 1 numbers with the one after
   * the last iteration; NULL for an element that does not count */
  const int64_t **counts;
} Loop;

typedef struct Loops {
  const Module *module;
  Loop *list; /* loops of inner computations come before those of their callers */
  uint32_t len;
  uint32_t *of; /* by InstId: index of the loop; NO_ID = no loop of this form */
  const CallGraph *graph;
} Loops;

/* Loops of more iterations are left out: the analysis lists every one of them. */
enum { MAX_LISTED_TRIPS = 1 << 16 };

/* Finds the loops of known trip count in which the state is only read element by element, and whose
 * initial state and body's result are tuples. `graph` must live as long as the result.
 * O(instructions + elements + iterations * instructions that compute counters). */
Loops loops_find(const Module *module, const CallGraph *graph, Arena *out, Arena *scratch);

static inline InstId loop_init(const Loops *loops, const Loop *loop, uint32_t element) {
  return inst_operand(loops->module, loop->init, element);
}
static inline InstId loop_next(const Loops *loops, const Loop *loop, uint32_t element) {
  return inst_operand(loops->module, loop->body_root, element);
}

/* The place from which a value comes through copies, tuples, barriers, and loops that hand it on.
 */
typedef struct Origin {
  InstId inst;      /* the instruction, or the while whose result it is a part of */
  uint32_t loop;    /* index of that loop, NO_ID for any other instruction */
  uint32_t element; /* the element of the loop's result */
} Origin;

/* Bounded by a number of steps; the origin is then an instruction on the way. */
Origin loop_origin(const Loops *loops, InstId id);

static inline bool loop_same_origin(Origin a, Origin b) {
  return a.inst == b.inst && a.loop == b.loop && (a.loop == NO_ID || a.element == b.element);
}

/* The invariant element of a loop that comes from there; NO_ID if there is none. */
uint32_t loop_find_invariant(const Loops *loops, const Loop *loop, Origin origin);

/* Whether something that is given a tuple, such as a loop, computes in place on the memory of one
 * of its elements. */
bool loops_change_element(const Loops *loops, InstId tuple, uint32_t element);

/* The operand from which an instruction copies the whole value; NO_ID if it is no copy. */
InstId copied_operand(const Module *module, InstId id);

#endif
