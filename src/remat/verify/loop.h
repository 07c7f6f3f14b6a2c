/* A loop as a recurrence. The caller evaluates the loop's condition and its body for arguments that
 * a LoopRun gives, and gives back what they are:
 *
 *   run = loop_begin(...);
 *   while (run->stage is LOOP_CONDITION or LOOP_BODY)
 *     loop_take(run, value of that computation for loop_argument(run));
 *
 * In the argument, an element of the state that stays the same is its value before the loop, an
 * element that counts is a linear form of the number of the iteration, and the others are
 * variables. What an element is, is a guess at first. The body's value proves it by induction; if
 * it does not, the element becomes a variable, and condition and body are evaluated again. */
#ifndef REMAT_HLO_REMAT_VERIFY_LOOP_H
#define REMAT_HLO_REMAT_VERIFY_LOOP_H

#include "remat/verify/recurrence.h"

/* A loop of few iterations is executed instead if that is asked for (Terms.unrolls): after its
 * condition has shown their number, the body is evaluated for the state that each iteration begins
 * with. Then there is nothing to prove but that the counters count, so that what the iterations do
 * may differ. */
typedef enum LoopStage {
  LOOP_CONDITION,
  LOOP_BODY,
  LOOP_DONE,   /* `result` is the value of the loop */
  LOOP_OPAQUE, /* the loop is no recurrence, as far as can be seen */
} LoopStage;

typedef enum LoopRole { ROLE_VARIABLE, ROLE_INVARIANT, ROLE_COUNTER } LoopRole;

typedef struct LoopElement {
  LoopRole role;
  int64_t step; /* of a counter */
  Linear start; /* of a counter */
} LoopElement;

typedef struct LoopRun {
  Terms *terms;
  Arena *arena;
  LoopStage stage;
  ShapeId shape; /* of the state */
  uint32_t depth, num_elements, num_rounds;
  ValueNumber *first; /* by element: the value before the loop */
  LoopElement *elements;
  int64_t trips;
  const ValueNumber *next; /* by element: the value after an iteration; of a loop that is done */
  bool is_unrolled;
  int64_t time; /* of a loop that is unrolled: the iteration that `next` leads to */
  ValueNumber result;
} LoopRun;

/* `function` is the number of the body as a function of its parameter, from which the roles are
 * guessed; `depth` is that of the loop's variables. */
LoopRun *loop_begin(Terms *terms, ShapeId shape, ValueNumber first, ValueNumber function,
                    uint32_t depth, Arena *out);

ValueNumber loop_argument(LoopRun *run);
void loop_take(LoopRun *run, ValueNumber value);

/* A substitution of values in the body of a loop that is done by values in the number of the
 * iteration alone, which do not depend on how the loop's state is laid out. */
Substitution loop_values_at_time(LoopRun *run);

#endif
