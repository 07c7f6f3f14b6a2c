#include "remat/search/limits.h"

#include "remat/job/drive.h"

/* ---- one search ---- */

void search_entry_again(EntrySearch *entry) {
  remat_state_load(entry->search->job, &entry->before);
  search_job_begin(entry->search, entry->search->holds_lent);
  entry->is_fresh = true;
}

void search_once(EntrySearch *entry, LineLimit limit) {
  SearchJob *search = entry->search;
  if (!entry->is_fresh) search_entry_again(entry);
  entry->is_fresh = false;
  entry->limit = limit;
  search_tree(search, search->job->rewrite->module->entry, limit);
  Result *round = &search->round;
  if (round->arena && score_is_better(round->figures.taken, search->entry.taken)) {
    search_job_restore(search, &round->state, round->num_steps);
    search->entry = round->figures;
  }
  result_free(round);
  entry->last = search->entry;
  entry->has_gained = search_job_keep(search, &entry->best);
}

/* The same, from the lines that were found under the limit before, which is near. */
static bool search_near(EntrySearch *entry, int64_t limit_bytes) {
  SearchJob *search = entry->search;
  KnownLines known = search->found;
  search->found.arena = NULL;
  search->known = &known;
  search_once(entry, (LineLimit){limit_bytes});
  search->known = NULL;
  if (known.arena) arena_free(known.arena);
  return true;
}

/* ---- limits for lines ---- */

/* Lowers the limit until the best line meets the budget, and as long as that gains. Packing and
 * sharing make the model's peak differ from that of lines, and not by the same everywhere: after
 * the first correction, by the excess, the limit falls faster and faster, since a line that keeps
 * the same large values has the same peak. Between a limit that was too high and one that was low
 * enough it goes half the way. */
static bool try_corrected(void *of, uint32_t number) {
  EntrySearch *entry = of;
  const Figures *last = &entry->last;
  const RematParameters *parameters = entry->search->job->parameters;
  int64_t budget = entry->search->job->peak_limit.bytes;
  bool is_met = entry->best.figures.taken.is_met;
  if (number == 0) {
    if (last->line_peak_bytes <= budget) return false;
    entry->too_high = INT64_MAX;
    entry->low_enough = 0;
    entry->num_failed = 0;
  }
  bool has_gained = number == 0 || !is_met || entry->has_gained;
  if (number + 1 >= (is_met ? parameters->search_few_limits : parameters->search_limits) ||
      !has_gained)
    return false;
  if (last->line_bytes > entry->limit.bytes) return false; /* it was not reached */
  if (last->line_peak_bytes <= budget) {
    if (last->line_bytes > entry->low_enough) entry->low_enough = last->line_bytes;
  } else {
    if (last->line_bytes < entry->too_high) entry->too_high = last->line_bytes;
    entry->num_failed++;
  }
  if (entry->low_enough > 0) {
    int64_t gap = entry->too_high - entry->low_enough;
    return gap > budget / parameters->search_gap && search_near(entry, entry->low_enough + gap / 2);
  }
  int64_t fall = last->line_peak_bytes - budget;
  for (int i = 1; i < entry->num_failed && fall < budget; i++)
    fall *= 4;
  return entry->too_high > fall && search_near(entry, entry->too_high - fall);
}

static bool packs_and_costs(void *of) {
  EntrySearch *entry = of;
  const RematJob *job = entry->search->job;
  entry->least_steps = patience_steps_left(job->patience) / 2;
  entry->room = job->peak_limit.bytes - entry->last.line_peak_bytes;
  return search_job_packs(entry->search) && !entry->best.figures.is_free;
}

/* Where packing wastes less for the line that was found than in the order given, or values use the
 * free memory of parameters, one that needs more may meet the budget, too, and cost less. */
static bool try_higher(void *of, uint32_t number) {
  static const double factors[] = {1.01, 1.03};
  EntrySearch *entry = of;
  bool is_quick = patience_steps_left(entry->search->job->patience) > entry->least_steps;
  if (number == sizeof factors / sizeof *factors || !is_quick) return false;
  int64_t more = (int64_t)((double)entry->asked.bytes * (factors[number] - 1));
  int64_t room = entry->room / (INT64_C(1) << number);
  return search_near(entry, entry->asked.bytes + (more > room ? more : room));
}

static bool wastes_more(void *of) {
  EntrySearch *entry = of;
  const Figures *last = &entry->last;
  entry->lowest = last->line_bytes;
  entry->line_before = 0;
  return last->line_peak_bytes - entry->lowest > entry->search->difference_bytes;
}

/* Packing may need less for a line that needs more, if it wastes more than in the order given. */
static bool try_raised(void *of, uint32_t number) {
  static const double factors[] = {1.02, 1.05, 1.1, 1.2};
  EntrySearch *entry = of;
  const Figures *last = &entry->last;
  if (number == sizeof factors / sizeof *factors) return false;
  if (entry->line_before == last->line_bytes) return false; /* the limit does not matter now */
  entry->line_before = last->line_bytes;
  return search_near(entry, (int64_t)((double)entry->lowest * factors[number]));
}

/* What is left of the steps goes to the lowest peak. */
static bool try_lowest(void *of, uint32_t number) {
  (void)number;
  search_once(of, (LineLimit){0});
  return true;
}

static bool may_search(const void *of) {
  return search_job_may_go_on(((const EntrySearch *)of)->search);
}

/* The limits that are tried for lines after the first one. */
static const Move limits[] = {
    {.needs = MOVE_FOR_BUDGET, .try_next = try_corrected},
    {.needs = MOVE_FOR_BUDGET | MOVE_FOR_MET, .is_of_use = packs_and_costs, .try_next = try_higher},
    {.needs = MOVE_FOR_MISSED, .is_of_use = wastes_more, .try_next = try_raised},
    {.needs = MOVE_FOR_BUDGET | MOVE_FOR_MISSED, .most = 1, .try_next = try_lowest},
};

static bool wastes_much(const SearchJob *search) {
  int64_t budget = search->job->peak_limit.bytes;
  return budget > 0 && !search->rules.keeps_order &&
         search->difference_bytes > budget / search->job->parameters->search_wasteful;
}

static void search_limits_below(EntrySearch *entry, LineLimit limit) {
  entry->asked = limit;
  search_once(entry, limit);
  Drive limits_of = {.of = entry,
                     .best = &entry->best.figures.taken,
                     .has_budget = entry->search->job->peak_limit.bytes > 0,
                     .can_go_on = may_search};
  drive(&limits_of, limits, sizeof limits / sizeof *limits);
}

/* Where packing wastes much in the order given, nobody knows what it will waste in others. Lines in
 * that order may cost less, although they need more. The few steps that they take are additional
 * ones: what else is found does not depend on them. */
void search_limits(EntrySearch *entry, LineLimit limit) {
  SearchJob *search = entry->search;
  if (wastes_much(search)) {
    Patience part;
    uint64_t num_steps = patience_steps_left(search->job->patience) / 4;
    Patience *whole = search_job_take_part(search, num_steps, &part);
    search->rules.keeps_order = true;
    search_limits_below(entry, limit);
    search->rules.keeps_order = false;
    search->unmet_comp = NO_ID;
    search->job->patience = whole;
  }
  search_limits_below(entry, limit);
}
