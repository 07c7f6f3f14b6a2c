#include "remat/search/price.h"

#include <math.h>
#include <stdlib.h>

#include "remat/search/price_internal.h"
#include "remat/search/trim.h"

enum {
  ROUND_STEPS = 16, /* what a round takes for a step of the line, in visits of other passes */
  /* Prices that make a round look at so much, for each step of the line, have nearly everything
   * computed again: no lower ones have led below the limit, and higher ones lead nowhere. */
  MOST_LOOKS = 1024,
};

/* ---- what decisions depend on ---- */

/* Whether the clones are those of the last round: all else follows from them. That is often so,
 * above all while prices are too low to recompute anything. */
static bool decides_as_before(const Pricing *pricing) {
  const AddedRunVec *now = &pricing->runs.added, *last = &pricing->last_added;
  return now->len == last->len &&
         (now->len == 0 || memcmp(now->data, last->data, now->len * sizeof *now->data) == 0);
}

static Need need_of(const Pricing *pricing, StepId step, uint32_t index) {
  const Line *line = pricing->line;
  const NodeOperand *operand = node_operand(line->graph, line->nodes[step], index);
  Need need = {.source = line->sources[line->first_source[step] + index],
               .until = NO_ID,
               .first_part = operand->first_part,
               .num_parts = operand->num_parts};
  for (uint32_t i = 0; i < operand->num_parts; i++) {
    uint32_t root = pricing->memory->root_of[line_read_part(line, step, index, i)];
    need.bytes += line_part_bytes(line, pricing->owner[root], root);
    if (pricing->overwriter[root] < need.until) need.until = pricing->overwriter[root];
  }
  return need;
}

static bool can_gain(const Pricing *pricing, StepId step) {
  const Line *line = pricing->line;
  for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
    if (line_part_bytes(line, step, part) != 0) return true;
    if (pricing->overwriter[pricing->memory->root_of[part]] != NO_ID) return true;
  }
  return false;
}

static bool forwards(const Pricing *pricing, StepId step) {
  const SearchNode *node = node_of(pricing, step);
  for (uint32_t i = 0; i < node->num_parts; i++) {
    if (pricing->line->graph->parts.data[node->first_part + i].operand != NO_ID) return true;
  }
  return false;
}

static bool has_form(const SearchGraph *graph, NodeId node) {
  return graph->form_of && node < graph->first_form && graph->form_of[node] != NO_ID;
}

static void note_costs(Pricing *pricing) {
  const Line *line = pricing->line;
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(pricing, step);
    pricing->costs[step] = (StepCost){.seconds = node->seconds,
                                      .can_clone = node->flags & NODE_CAN_CLONE,
                                      .has_form = has_form(line->graph, line->nodes[step]),
                                      .can_gain = can_gain(pricing, step),
                                      .forwards = forwards(pricing, step)};
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      pricing->costs[step].bytes += line_part_bytes(line, step, part);
    for (uint32_t i = 0; i < node->num_operands; i++) {
      Need need = need_of(pricing, step, i);
      const StepCost *of_source = &pricing->costs[need.source];
      bool is_form = node_of(pricing, need.source)->flags & NODE_IS_FORM;
      need.is_settled = need.bytes == 0 && need.until == NO_ID && !of_source->can_clone &&
                        !of_source->has_form && !of_source->forwards && !is_form;
      pricing->needs[line->first_source[step] + i] = need;
      pricing->costs[step].bytes += need.bytes;
    }
  }
}

static Pricing pricing_begin(const Line *line, const LineMemory *memory, Arena *arena) {
  uint32_t len = line->len, most_parts = 0;
  Pricing pricing = {.line = line,
                     .memory = memory,
                     .owner = line_owners(line, arena),
                     .overwriter = line_overwrites(line, memory->root_of, arena, arena).by,
                     .is_unread = arena_array(arena, bool, len),
                     .price = arena_zarray(arena, double, len),
                     .sum = arena_array(arena, double, (size_t)len + 1),
                     .first_demand = arena_array(arena, uint32_t, len),
                     .runs = runs_of_line(line, arena),
                     .costs = arena_array(arena, StepCost, len),
                     .needs = arena_array(arena, Need, line->first_source[len]),
                     .most_visited = (uint32_t)line->graph->parameters->price_closure,
                     .arena = arena};
  for (StepId step = 0; step < len; step++) {
    uint32_t count = line->first_part[step + 1] - line->first_part[step];
    if (count > most_parts) most_parts = count;
    pricing.is_unread[step] = true;
  }
  for (uint32_t i = 0; i < line->first_source[len]; i++)
    pricing.is_unread[line->sources[i]] = false;
  pricing.is_needed = arena_zarray(arena, uint8_t, most_parts);
  pricing.needed_until = arena_array(arena, StepId, most_parts);
  note_costs(&pricing);
  form_begin_link(&pricing);
  return pricing;
}

/* ---- prices ---- */

/* exp() of what is not far from 0, to a thousandth, on every machine the same. */
static double fast_exp(double x) {
  double above = (x + 3) * (x + 3) + 3, below = (x - 3) * (x - 3) + 3; /* Pade, of order 2, 2 */
  return above / below;
}

static double clamp(double value, double least, double most) {
  return value < least ? least : value > most ? most : value;
}

/* The bytes over the limit at the place of each step of the old line. */
static void fold(const Line *line, const LineMemory *memory, const StepId *place_of,
                 int64_t *bytes_at, uint32_t num_places) {
  for (StepId place = 0; place < num_places; place++)
    bytes_at[place] = 0;
  for (StepId step = 0; step < line->len; step++) {
    int64_t *bytes = &bytes_at[place_of[step]];
    if (memory->bytes_at[step] > *bytes) *bytes = memory->bytes_at[step];
  }
}

/* Each step's price has a rate of its own, at which its logarithm changes: it grows as long as the
 * price moves one way, and is halved when that has led across the limit (Riedmiller and Braun,
 * RPROP, 1993). So prices get where they belong in few rounds, from however far away, and come to
 * rest there. */
static void change_prices(Pricing *pricing, const int64_t *bytes_at, int64_t limit_bytes,
                          double range) {
  static const double least_push = 0.3; /* where the limit is exceeded */
  static const float faster = 1.25F, slower = 0.5F, least_rate = 0.02F, most_rate = 1;
  for (StepId step = 0; step < pricing->line->len; step++) {
    PriceMotion *motion = &pricing->motions[step];
    double excess = (double)(bytes_at[step] - limit_bytes);
    double push = clamp(pricing->rules->gain * excess / range, -1, 1);
    if (push == 0) continue;
    bool is_rising = push > 0;
    if (motion->has_moved) motion->rate *= is_rising == motion->is_rising ? faster : slower;
    if (motion->rate > most_rate) motion->rate = most_rate;
    if (motion->rate < least_rate) motion->rate = least_rate;
    motion->is_rising = is_rising;
    motion->has_moved = true;
    if (is_rising && push < least_push) push = least_push;
    double price = pricing->price[step] * fast_exp(motion->rate * push);
    pricing->price[step] = price < pricing->least_price ? pricing->least_price : price;
  }
}

/* ---- rounds ---- */

/* Whether a value that can be recomputed, or kept in another form, is held over a place that
 * exceeds the limit, or is computed there and read later. Where there is none, no prices lower what
 * is live at those places. */
static bool can_lower_excess(const Line *line, const LineMemory *memory, int64_t limit_bytes) {
  const SearchGraph *graph = line->graph;
  StepId exceeding = NO_ID; /* the first such place from the step on */
  for (StepId step = line->len; step-- > 0;) {
    if (memory->bytes_at[step] > limit_bytes) exceeding = step;
    NodeId node = line->nodes[step];
    if (!(graph->nodes[node].flags & NODE_CAN_CLONE) && !has_form(graph, node)) continue;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      if (exceeding < memory->last_of[part]) return true;
  }
  return false;
}

static bool is_better(const ScoredLine *a, const ScoredLine *b) {
  if (a->score.is_met != b->score.is_met) return a->score.is_met;
  return a->score.is_met ? a->score.seconds < b->score.seconds : a->excess < b->excess;
}

/* A byte that is held for the whole line is worth, at first, what the line takes for a byte of its
 * peak; far less where there is no lack. */
static void set_first_prices(Pricing *pricing, int64_t limit_bytes) {
  const LineMemory *memory = pricing->memory;
  uint32_t len = pricing->line->len;
  double usual = memory->seconds / ((double)memory->peak_bytes * len);
  pricing->least_price = usual * 1e-6;
  pricing->motions = arena_array(pricing->arena, PriceMotion, len);
  for (StepId step = 0; step < len; step++) {
    pricing->price[step] = usual * (memory->bytes_at[step] > limit_bytes ? 0.1 : 1e-4);
    pricing->motions[step] = (PriceMotion){.rate = (float)pricing->rules->rate};
  }
}

/* The line that the decisions lead to, trimmed if it fits, and what it needs at the place of each
 * step before that. */
static ScoredLine measure_round(Pricing *pricing, int64_t limit_bytes, int64_t *bytes_at,
                                Patience *patience, Arena *inner) {
  StepId *place_of;
  Line priced = runs_build(&pricing->runs, &place_of, inner);
  LineMemory memory = line_measure(&priced, inner);
  fold(&priced, &memory, place_of, bytes_at, pricing->line->len);
  if (memory.stall_seconds > 0) {
    priced = form_stretch_copies(pricing, &priced, &memory, limit_bytes, place_of, inner);
    memory = line_measure(&priced, inner);
  }
  form_change_link_price(pricing, &memory);
  ScoredLine found = scored_of(&priced, &memory, limit_bytes);
  if (!found.score.is_met) return found;
  return scored_trimmed(&priced, limit_bytes, patience, inner, inner);
}

/* Decides for the prices as they are. Returns false if that has cost too many steps. */
static bool decide(Pricing *pricing, Patience *patience) {
  uint64_t len = pricing->line->len;
  if (!patience_spend(patience, len * ROUND_STEPS)) return false;
  pricing_decide(pricing);
  return patience_spend(patience, pricing->num_looked / 4) &&
         pricing->num_looked <= len * MOST_LOOKS;
}

ScoredLine price_line(const Line *line, int64_t limit_bytes, const PriceRules *rules,
                      bool keeps_places, Patience *patience, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Arena *kept = arena_new(arena_options(scratch));
  const RematParameters *parameters = line->graph->parameters;
  LineMemory memory = line_measure(line, arena);
  ScoredLine best = scored_of(line, &memory, limit_bytes);
  double range = (double)(memory.peak_bytes - limit_bytes);
  bool is_of_use = !best.score.is_met && can_lower_excess(line, &memory, limit_bytes);
  uint32_t num_rounds = is_of_use ? rules->num_rounds : 0, last_better = 0;
  Pricing pricing = {0};
  int64_t *bytes_at = arena_array(arena, int64_t, line->len);
  if (num_rounds) {
    pricing = pricing_begin(line, &memory, arena);
    pricing.keeps_places = keeps_places;
    pricing.rules = rules;
    set_first_prices(&pricing, limit_bytes);
  }
  for (uint32_t round = 0; round < num_rounds && decide(&pricing, patience); round++) {
    if (round == 0 || !decides_as_before(&pricing)) {
      Arena *inner = arena_new(arena_options(scratch));
      ScoredLine found = measure_round(&pricing, limit_bytes, bytes_at, patience, inner);
      if (is_better(&found, &best)) {
        last_better = round;
        Arena *newer = arena_new(arena_options(scratch));
        best = found;
        best.line = line_copy(&found.line, newer);
        arena_free(kept);
        kept = newer;
      }
      arena_free(inner);
    }
    uint32_t patience_rounds = num_rounds / (uint32_t)parameters->price_stale;
    if (round > parameters->price_rounds && round > last_better + patience_rounds) break;
    change_prices(&pricing, bytes_at, limit_bytes, range);
  }
  best.line = line_copy(&best.line, out);
  arena_free(arena);
  arena_free(kept);
  return best;
}
