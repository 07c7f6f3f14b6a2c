#include "remat/search/price.h"

#include <math.h>
#include <stdlib.h>

#include "remat/search/price_internal.h"

enum {
  ROUND_STEPS = 16, /* what a round takes for a step of the line, in visits of other passes */
  /* Prices that make a round look at so much, for each step of the line, have nearly everything
   * computed again: no lower ones have led below the limit, and higher ones lead nowhere. */
  MOST_LOOKS = 1024,
};

/* ---- the line that comes out ---- */

/* Builds the line. `place_of` is by step of the new line: the step of the old one at whose place it
 * is. */
static Line build_line(Pricing *pricing, StepId **place_of, Arena *out) {
  const Line *line = pricing->line;
  uint32_t num_runs = line->len + pricing->clones.len, len = 0;
  StepId *step_of = arena_array(out, StepId, num_runs);
  RunId *run_of = arena_array(out, RunId, num_runs);
  *place_of = arena_array(out, StepId, num_runs);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = pricing->first_clone[step]; i != NO_ID; i = pricing->clones.data[i].next) {
      (*place_of)[len] = step;
      run_of[len] = line->len + i;
      step_of[line->len + i] = len++;
    }
    if (pricing->is_dropped[step]) continue;
    (*place_of)[len] = step;
    run_of[len] = step;
    step_of[step] = len++;
  }
  Line result = line_new(line->graph, len, out);
  for (StepId step = 0; step < len; step++) {
    RunId run = run_of[step];
    result.nodes[step] =
        run < line->len ? line->nodes[run] : pricing->clones.data[run - line->len].node;
  }
  line_lay_out(&result, out);
  for (StepId step = 0; step < len; step++) {
    RunId run = run_of[step];
    const RunId *sources = run < line->len ? pricing->sources + line->first_source[run]
                                           : pricing->clone_sources.data +
                                                 pricing->clones.data[run - line->len].source;
    uint32_t count = result.first_source[step + 1] - result.first_source[step];
    for (uint32_t i = 0; i < count; i++)
      result.sources[result.first_source[step] + i] = step_of[sources[i]];
  }
  return result;
}

/* ---- what decisions depend on ---- */

/* Whether the clones are those of the last round: all else follows from them. That is often so,
 * above all while prices are too low to recompute anything. */
static bool decides_as_before(const Pricing *pricing) {
  const CloneVec *clones = &pricing->clones, *last = &pricing->last_clones;
  return clones->len == last->len &&
         (clones->len == 0 ||
          memcmp(clones->data, last->data, clones->len * sizeof *clones->data) == 0);
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
                                      .can_gain = can_gain(pricing, step)};
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      pricing->costs[step].bytes += line_part_bytes(line, step, part);
    for (uint32_t i = 0; i < node->num_operands; i++) {
      Need need = need_of(pricing, step, i);
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
                     .first_clone = arena_array(arena, uint32_t, len),
                     .sources = arena_array(arena, RunId, line->first_source[len]),
                     .is_dropped = arena_zarray(arena, bool, len),
                     .costs = arena_array(arena, StepCost, len),
                     .needs = arena_array(arena, Need, line->first_source[len]),
                     .arena = arena};
  for (StepId step = 0; step < len; step++) {
    uint32_t count = line->first_part[step + 1] - line->first_part[step];
    if (count > most_parts) most_parts = count;
    pricing.is_unread[step] = true;
  }
  for (uint32_t i = 0; i < line->first_source[len]; i++)
    pricing.is_unread[line->sources[i]] = false;
  pricing.is_needed = arena_zarray(arena, uint8_t, most_parts);
  note_costs(&pricing);
  form_begin_link(&pricing);
  return pricing;
}

/* ---- prices ---- */

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

static void change_prices(Pricing *pricing, uint32_t round, const int64_t *bytes_at,
                          int64_t limit_bytes, double range) {
  const PriceRules *rules = pricing->rules;
  double rate = rules->rate / (1 + 0.1 * round);
  bool is_late = rules->is_asymmetric && round >= 0.4 * rules->num_rounds;
  double rise = is_late && rate < 0.3 ? 0.3 : rate, fall = is_late ? 0.3 * rate : rate;
  double least_push = is_late ? 0.3 : 0, steepest_fall = exp(-fall);
  for (StepId step = 0; step < pricing->line->len; step++) {
    double excess = (double)(bytes_at[step] - limit_bytes);
    double push = rules->gain * excess / range;
    if (push <= -1) { /* mostly */
      pricing->price[step] *= steepest_fall;
    } else if (excess > 0) {
      pricing->price[step] *= exp(rise * clamp(push, least_push, 1));
    } else {
      pricing->price[step] *= exp(fall * push);
    }
  }
}

static bool is_better(const PricedLine *a, const PricedLine *b) {
  if (a->fits != b->fits) return a->fits;
  return a->fits ? a->seconds < b->seconds : a->excess < b->excess;
}

PricedLine price_line(const Line *line, int64_t limit_bytes, const PriceRules *rules,
                      bool keeps_places, Patience *patience, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Arena *kept = arena_new(arena_options(scratch));
  LineMemory memory = line_measure(line, arena);
  PricedLine best = {.line = *line,
                     .fits = memory.peak_bytes <= limit_bytes,
                     .peak_bytes = memory.peak_bytes,
                     .seconds = memory.seconds,
                     .excess = line_excess(line, &memory, limit_bytes)};
  double range = (double)(memory.peak_bytes - limit_bytes);
  if (best.fits || line->len == 0) {
    best.line = line_copy(line, out);
    arena_free(arena);
    arena_free(kept);
    return best;
  }
  Pricing pricing = pricing_begin(line, &memory, arena);
  pricing.keeps_places = keeps_places;
  pricing.rules = rules;
  /* A byte that is held for the whole line is worth, at first, what the line takes for a byte of
   * its peak; far less where there is no lack. */
  double usual = memory.seconds / ((double)memory.peak_bytes * line->len);
  for (StepId step = 0; step < line->len; step++)
    pricing.price[step] = usual * (memory.bytes_at[step] > limit_bytes ? 0.1 : 1e-4);
  int64_t *bytes_at = arena_array(arena, int64_t, line->len);
  for (uint32_t round = 0; round < rules->num_rounds; round++) {
    if (!patience_spend(patience, (uint64_t)line->len * ROUND_STEPS)) break;
    pricing_decide(&pricing);
    if (!patience_spend(patience, pricing.num_looked / 4)) break;
    if (pricing.num_looked > (uint64_t)line->len * MOST_LOOKS) break;
    if (round == 0 || !decides_as_before(&pricing)) {
      Arena *inner = arena_new(arena_options(scratch));
      StepId *place_of;
      Line priced = build_line(&pricing, &place_of, inner);
      LineMemory then = line_measure(&priced, inner);
      fold(&priced, &then, place_of, bytes_at, line->len);
      if (then.stall_seconds > 0) {
        priced = form_stretch_copies(&pricing, &priced, &then, limit_bytes, place_of, inner);
        then = line_measure(&priced, inner);
      }
      form_change_link_price(&pricing, &then);
      PricedLine found = {.line = priced,
                          .fits = then.peak_bytes <= limit_bytes,
                          .peak_bytes = then.peak_bytes,
                          .seconds = then.seconds,
                          .excess = line_excess(&priced, &then, limit_bytes)};
      if (is_better(&found, &best)) {
        Arena *newer = arena_new(arena_options(scratch));
        found.line = line_copy(&priced, newer);
        arena_free(kept);
        kept = newer;
        best = found;
      }
      arena_free(inner);
    }
    change_prices(&pricing, round, bytes_at, limit_bytes, range);
  }
  best.line = line_copy(&best.line, out);
  arena_free(arena);
  arena_free(kept);
  return best;
}
