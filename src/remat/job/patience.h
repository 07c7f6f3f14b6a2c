/* What an any-time algorithm may spend before it must end with the best that it has found.
 *
 * Three things end a search. Counted steps do so at the same place on every machine, and are what
 * `effort` limits. A deadline depends on the machine, so results under one do, too. And the caller
 * may cancel. Algorithms that end by themselves do not count steps: they and the engine ask only
 * about the deadline and the caller (patience_is_stopped).
 *
 * All functions but patience_begin() accept NULL, which is endless patience, for tests. */
#ifndef REMAT_HLO_REMAT_JOB_PATIENCE_H
#define REMAT_HLO_REMAT_JOB_PATIENCE_H

#include <stdatomic.h>

#include "remat/job/parameters.h"
#include "remat_hlo.h"

/* Steps between two looks at the clock and two questions to the caller. A step takes some
 * nanoseconds, so that both are asked about a thousand times a second. */
#define PATIENCE_STEPS_PER_QUESTION (UINT64_C(1) << 16)

typedef struct Patience {
  uint64_t num_steps;      /* that may be spent */
  uint64_t num_spent;      /* at most num_steps */
  uint64_t num_more;       /* that patience_go_on() can still add; of the whole */
  uint64_t next_question;  /* number of steps spent at which the clock and the caller are asked */
  bool is_over;            /* patience_spend() has returned false */
  double end_seconds;      /* the deadline, as seconds_now(); 0 = none */
  struct Patience *whole;  /* what this is a part of; NULL = it is no part */
  rh_cancel_fn cancel;     /* NULL = the caller never cancels */
  rh_progress_fn progress; /* NULL = the caller does not look on */
  void *context;           /* of both */
  rh_progress reported;    /* the last report, if there was one */
  bool has_reported;
  int effort;               /* 0 to 9, or RH_EFFORT_BY_SIZE */
  atomic_bool is_cancelled; /* of the whole; set once, by whichever thread asked */
  atomic_bool is_late;
  atomic_flag is_asking; /* some thread asks the caller at present */
} Patience;

/* Starts with the limits that the options give; the deadline counts from `start_seconds`, which is
 * a time of seconds_now(). There are no steps yet. */
void patience_begin(Patience *patience, const rh_remat_options *options, double start_seconds);

/* The steps of an effort for a module of `num_insts` instructions, by its size alone:
 *
 *     search.steps * instructions * bits of that number * 3.5 ^ effort
 *
 * where the bits are log2(instructions), rounded up to whole ones, so that no machine rounds
 * differently. With effort 5 and 10,000 instructions that is about 5 seconds. Beyond 10,000
 * instructions it is what it is for 10,000, times 40,000 / (30,000 + instructions), because steps
 * then wait for memory: so an effort keeps its meaning for whoever waits. But it is at least what
 * it is with effort 1. RH_EFFORT_BY_SIZE is effort 1, and beyond 10,000 instructions at least
 * effort 0. */
uint64_t patience_steps_by_size(int effort, uint32_t num_insts, const RematParameters *parameters);

/* The steps of an effort for a module: those by its size, and at least those of 4,000 instructions,
 * about two seconds with effort 5. What small ones have besides is for more than one search;
 * RH_EFFORT_BY_SIZE has at least those of 1,500, about 10 milliseconds. */
uint64_t patience_steps_of(int effort, uint32_t num_insts, const RematParameters *parameters);

/* Spends steps; a step is about one visit of an instruction. Returns false if the steps are used
 * up, the deadline is over, or the caller has cancelled; then it returns false until there are more
 * steps (patience_renew), or forever. The clock and the caller are asked at the first call, and
 * then every PATIENCE_STEPS_PER_QUESTION steps. */
bool patience_spend(Patience *patience, uint64_t steps);

/* Sees to it that so many steps are left, unless something else than steps has ended the search. */
void patience_renew(Patience *patience, uint64_t num_steps);

/* The additional steps for a budget that is missed: search.rounds times those of the effort; of 2
 * and more, twice those at most, and the short ones. */
uint64_t patience_more_steps_of(int effort, uint32_t num_insts, const RematParameters *parameters);

/* Those of them that are for ten runs with the steps of effort 1, or as many as the effort has
 * without them if that is less; 0 with effort 0 and 1. */
uint64_t patience_short_steps_of(int effort, uint32_t num_insts, const RematParameters *parameters);

/* Sees to it that there are the steps of a whole run again, for another way to the same budget, if
 * they take little time: those by size, and those of effort 0 and 1. The additional steps for it
 * are two such runs. */
void patience_renew_shortly(Patience *patience, uint32_t num_insts,
                            const RematParameters *parameters);

/* Adds so many of the additional steps, for a budget that is missed. Returns false if fewer
 * are left, or if something else than steps has ended the search. */
bool patience_go_on(Patience *patience, uint64_t num_steps);

/* Sets how many additional steps are left, and returns how many there were. */
uint64_t patience_set_more(Patience *patience, uint64_t num_steps);

/* The additional steps that are left. */
uint64_t patience_more_left(const Patience *patience);

/* Takes back those of the steps that patience_go_on() has added and that have not been spent, so
 * that they are additional ones again. With effort 0 and 1 they are not: there is little time, and
 * a search takes some besides its steps. */
void patience_give_back(Patience *patience, uint64_t num_added, uint64_t num_spent);

/* Whether patience_spend() has returned false, or would do so without asking anybody. */
bool patience_is_over(const Patience *patience);

/* Whether all steps that there were have been spent, but for a rest that no search can use. */
bool patience_is_spent(const Patience *patience);

/* Asks the clock and the caller at once. Returns whether the deadline is over or the caller has
 * cancelled; steps do not matter. */
bool patience_is_stopped(Patience *patience);

/* Whether an earlier question found that the caller has cancelled, or that the deadline is over. */
bool patience_was_interrupted(const Patience *patience);
bool patience_was_timed_out(const Patience *patience);

/* Tells the caller about the best result so far: the bytes that the budget bounds, whether they
 * meet it, and by how much the modelled time exceeds that of the input. A result that is no better
 * than an earlier one is not reported. Only for the thread that runs the engine. */
void patience_report(Patience *patience, int64_t best_bytes, bool is_met, double added_seconds);

/* Whether the caller wants reports. */
bool patience_is_watched(const Patience *patience);

/* How much to search, 0 to 9 or RH_EFFORT_BY_SIZE; 5 for NULL. */
int patience_effort(const Patience *patience);

/* ---- threads ---- */

/* Returns a part of the steps, for work that is done beside other parts, each by one thread. So
 * each part ends at the same place, however fast the others are. The parts share the deadline and
 * the caller, who is never asked by two threads at the same time. `whole` must live longer. */
Patience patience_part(Patience *whole, uint64_t num_steps);

/* The steps that are left. */
uint64_t patience_steps_left(const Patience *patience);

/* Charges `whole` for what a part has spent, after its thread has ended. */
void patience_join(Patience *whole, const Patience *part);

#endif
