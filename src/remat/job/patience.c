#include "remat/job/patience.h"

#include "ir/clock.h"
#include "remat/job/score.h"

enum {
  USUAL_EFFORT = 5,
  SMALL = 4000,  /* instructions that an effort has steps for at least */
  TINY = 1500,   /* the same of RH_EFFORT_BY_SIZE */
  LARGE = 10000, /* instructions beyond which an effort's steps become fewer */
  LARGE_EFFORT = 1,
  LONG_ROUNDS = 2,   /* times the steps of a higher effort, after a budget was missed */
  SHORT_ROUNDS = 10, /* times the steps of effort 1, besides */
};

void patience_begin(Patience *patience, const rh_remat_options *options, double start_seconds) {
  *patience = (Patience){.effort = options->effort,
                         .cancel = options->cancel,
                         .progress = options->progress,
                         .context = options->context};
  if (options->time_limit_seconds > 0)
    patience->end_seconds = start_seconds + options->time_limit_seconds;
  atomic_init(&patience->is_cancelled, false);
  atomic_init(&patience->is_late, false);
  atomic_flag_clear(&patience->is_asking);
}

/* Saturates, so that no number of instructions and no parameter makes a search short. */
static uint64_t multiply(uint64_t a, uint64_t b) {
  return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t unlimited_steps_of(int effort, uint32_t num_insts,
                                   const RematParameters *parameters) {
  uint64_t bits = 0;
  for (uint32_t rest = num_insts; rest; rest >>= 1)
    bits++;
  uint64_t steps = multiply((uint64_t)num_insts * bits, (uint64_t)parameters->search_steps);
  for (int i = 0; i < effort; i++)
    steps = multiply(steps, 7) / 2;
  return steps;
}

/* Beyond LARGE the steps become fewer, but not fewer than those of the effort `least_effort`. */
static uint64_t steps_between(int effort, int least_effort, uint32_t num_insts,
                              const RematParameters *parameters) {
  if (num_insts <= LARGE || effort <= least_effort)
    return unlimited_steps_of(effort, num_insts, parameters);
  uint64_t least = unlimited_steps_of(least_effort, num_insts, parameters);
  uint64_t steps = multiply(
      unlimited_steps_of(effort, LARGE, parameters) / ((uint64_t)3 * LARGE + num_insts), 4 * LARGE);
  return steps > least ? steps : least;
}

uint64_t patience_steps_by_size(int effort, uint32_t num_insts, const RematParameters *parameters) {
  if (effort == RH_EFFORT_BY_SIZE) return steps_between(LARGE_EFFORT, 0, num_insts, parameters);
  return steps_between(effort, LARGE_EFFORT, num_insts, parameters);
}

uint64_t patience_steps_of(int effort, uint32_t num_insts, const RematParameters *parameters) {
  uint32_t least = effort == RH_EFFORT_BY_SIZE ? TINY : SMALL;
  return patience_steps_by_size(effort, num_insts > least ? num_insts : least, parameters);
}

/* The part that all threads share. */
static Patience *shared(Patience *patience) {
  return patience->whole ? patience->whole : patience;
}

static const Patience *shared_const(const Patience *patience) {
  return patience->whole ? patience->whole : patience;
}

static bool is_known_to_be_stopped(const Patience *patience) {
  const Patience *whole = shared_const(patience);
  return atomic_load(&whole->is_cancelled) || atomic_load(&whole->is_late);
}

/* While another thread asks, its answer comes soon enough. */
static void ask_caller(Patience *whole) {
  if (atomic_flag_test_and_set(&whole->is_asking)) return;
  bool is_known = atomic_load(&whole->is_cancelled);
  if (!is_known && whole->cancel(whole->context)) atomic_store(&whole->is_cancelled, true);
  atomic_flag_clear(&whole->is_asking);
}

bool patience_is_stopped(Patience *patience) {
  if (!patience) return false;
  Patience *whole = shared(patience);
  if (is_known_to_be_stopped(whole)) return true;
  if (whole->cancel) ask_caller(whole);
  if (whole->end_seconds > 0 && seconds_now() >= whole->end_seconds)
    atomic_store(&whole->is_late, true);
  return is_known_to_be_stopped(whole);
}

bool patience_spend(Patience *patience, uint64_t steps) {
  if (!patience) return true;
  if (patience->is_over) return false;
  if (steps > patience->num_steps - patience->num_spent) {
    patience->num_spent = patience->num_steps;
    patience->is_over = true;
    return false;
  }
  patience->num_spent += steps;
  if (patience->num_spent < patience->next_question) return true;
  patience->next_question = patience->num_spent + PATIENCE_STEPS_PER_QUESTION;
  patience->is_over = patience_is_stopped(patience);
  return !patience->is_over;
}

void patience_renew(Patience *patience, uint64_t num_steps) {
  if (!patience || is_known_to_be_stopped(patience)) return;
  bool is_enough = patience->num_steps - patience->num_spent >= num_steps;
  if (!is_enough) patience->num_steps = patience->num_spent + num_steps;
  if (num_steps > 0) patience->is_over = false;
}

uint64_t patience_more_steps_of(int effort, uint32_t num_insts, const RematParameters *parameters) {
  uint64_t rounds = (uint64_t)parameters->search_rounds;
  if (effort > LARGE_EFFORT && rounds > LONG_ROUNDS) rounds = LONG_ROUNDS;
  uint64_t num_steps = multiply(patience_steps_of(effort, num_insts, parameters), rounds);
  uint64_t num_short = patience_short_steps_of(effort, num_insts, parameters);
  return num_steps > UINT64_MAX - num_short ? UINT64_MAX : num_steps + num_short;
}

uint64_t patience_short_steps_of(int effort, uint32_t num_insts,
                                 const RematParameters *parameters) {
  if (effort <= LARGE_EFFORT || parameters->search_rounds == 0) return 0;
  uint64_t most = multiply(patience_steps_of(effort, num_insts, parameters), 1 + LONG_ROUNDS);
  uint64_t num_steps =
      multiply(patience_steps_of(LARGE_EFFORT, num_insts, parameters), SHORT_ROUNDS);
  return num_steps < most ? num_steps : most;
}

void patience_renew_shortly(Patience *patience, uint32_t num_insts,
                            const RematParameters *parameters) {
  int effort = patience_effort(patience);
  if (!patience || effort > LARGE_EFFORT || parameters->search_rounds == 0) return;
  uint64_t num_steps = patience_steps_of(effort, num_insts, parameters);
  uint64_t num_more = multiply(num_steps, LONG_ROUNDS);
  patience_renew(patience, num_steps);
  shared(patience)->num_more = num_more;
}

bool patience_go_on(Patience *patience, uint64_t num_steps) {
  if (!patience || is_known_to_be_stopped(patience)) return false;
  Patience *whole = shared(patience);
  if (num_steps == 0 || num_steps > whole->num_more) return false;
  whole->num_more -= num_steps;
  patience->num_steps += num_steps;
  patience->is_over = false;
  if (whole != patience) whole->num_steps += num_steps;
  return true;
}

uint64_t patience_set_more(Patience *patience, uint64_t num_steps) {
  uint64_t num_before = patience_more_left(patience);
  if (patience) shared(patience)->num_more = num_steps;
  return num_before;
}

uint64_t patience_more_left(const Patience *patience) {
  return patience ? shared_const(patience)->num_more : 0;
}

void patience_give_back(Patience *patience, uint64_t num_added, uint64_t num_spent) {
  uint64_t num_left = patience_steps_left(patience);
  uint64_t num_back = num_spent < num_added ? num_added - num_spent : 0;
  if (!patience || patience->effort <= LARGE_EFFORT || num_back > num_left) return;
  Patience *whole = shared(patience);
  patience->num_steps -= num_back;
  if (whole != patience) whole->num_steps -= num_back;
  whole->num_more += num_back;
}

bool patience_is_over(const Patience *patience) {
  return patience && (patience->is_over || is_known_to_be_stopped(patience));
}

bool patience_is_spent(const Patience *patience) {
  const uint64_t rest = 64; /* a part of the steps that is too small for another round */
  return patience && patience->num_steps > 0 &&
         patience->num_steps - patience->num_spent <= patience->num_steps / rest;
}

bool patience_was_interrupted(const Patience *patience) {
  return patience && atomic_load(&shared_const(patience)->is_cancelled);
}

bool patience_was_timed_out(const Patience *patience) {
  return patience && atomic_load(&shared_const(patience)->is_late);
}

static Score score_of(const rh_progress *progress) {
  return (Score){progress->is_met, progress->best_bytes, progress->added_seconds};
}

void patience_report(Patience *patience, int64_t best_bytes, bool is_met, double added_seconds) {
  if (!patience_is_watched(patience)) return;
  rh_progress now = {best_bytes, is_met, added_seconds};
  if (patience->has_reported && !score_is_better(score_of(&now), score_of(&patience->reported)))
    return;
  patience->has_reported = true;
  patience->reported = now;
  patience->progress(patience->context, &now);
}

bool patience_is_watched(const Patience *patience) {
  return patience && patience->progress;
}

int patience_effort(const Patience *patience) {
  return patience ? patience->effort : USUAL_EFFORT;
}

Patience patience_part(Patience *whole, uint64_t num_steps) {
  Patience part = {.num_steps = num_steps};
  if (!whole) {
    part.effort = USUAL_EFFORT;
  } else {
    part.effort = whole->effort;
    part.whole = shared(whole);
  }
  atomic_init(&part.is_cancelled, false);
  atomic_init(&part.is_late, false);
  atomic_flag_clear(&part.is_asking);
  return part;
}

uint64_t patience_steps_left(const Patience *patience) {
  if (!patience) return UINT64_MAX;
  return patience_is_over(patience) ? 0 : patience->num_steps - patience->num_spent;
}

void patience_join(Patience *whole, const Patience *part) {
  if (whole) (void)patience_spend(whole, part->num_spent);
}
