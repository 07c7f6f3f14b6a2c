#include "remat/search/price.h"

#include <math.h>
#include <stdlib.h>

#include "remat/search/price_internal.h"

enum {
  ROUND_STEPS = 16,  /* what a round takes for a step of the line, in visits of other passes */
  LOOKS_OF_STEP = 8, /* demands that one looks at in the time for a step of a closure */
  /* Prices that make a round look at so much, for each step of the line, have nearly everything
   * computed again: no lower ones have led below the limit, and higher ones lead nowhere. */
  MOST_LOOKS = 1024,
  MAX_CLOSURE = 5000, /* steps that the cost of one recomputation looks at */
  MAX_DEPTH = 1000,
  MOST_MOVED = 8, /* places that a demand moves on average, where demands are inserted */
  AHEAD = 8,      /* steps before a step is visited, what is known of it is fetched */
};

/* ---- what it costs to have a value ---- */

static double recompute_cost(Pricing *pricing, StepId step, StepId place, double limit,
                             uint32_t depth);

/* Whether a demand is for all parts that somebody needs. Demands for other parts of the same step,
 * such as other elements of a loop's state, say nothing about these. */
static bool demand_covers(const Demand *demand, const Need *need) {
  return demand->first_part <= need->first_part &&
         need->first_part + need->num_parts <= demand->first_part + demand->num_parts;
}

/* What it costs to have what a step needs at a place where it may not be read otherwise. */
static double need_cost(Pricing *pricing, const Need *need, StepId place, double limit,
                        uint32_t depth) {
  StepId source = need->source;
  const StepCost *cost = &pricing->costs[source];
  if (cost->stamp == pricing->num_closures) return 0;
  bool is_gone = need->until < place;
  if (need->bytes == 0 && !is_gone) return 0;
  StepId held_until = source, next = NO_ID;
  for (uint32_t i = pricing->first_demand[source]; i != NO_ID; i = pricing->demands.data[i].next) {
    const Demand *demand = &pricing->demands.data[i];
    pricing->num_looked++;
    if (!demand_covers(demand, need)) continue;
    if (demand->place == place) return 0;
    if (demand->place > place) {
      if (demand->place < next) next = demand->place;
    } else if (demand->until > held_until) {
      held_until = demand->until;
    }
  }
  double keep = INFINITY, bytes = (double)need->bytes;
  if (!is_gone) {
    if (held_until >= place) return 0;
    keep = bytes * (sum_before(pricing, place) - sum_through(pricing, held_until));
    if (pricing->line->graph->form_of) {
      double in_form = form_gap(pricing, source, held_until, place, NULL).cost;
      if (in_form < keep) keep = in_form;
    }
    if (next != NO_ID && next <= need->until) {
      double kept = bytes * (sum_before(pricing, next) - sum_through(pricing, held_until));
      bool is_kept = kept <= cost->seconds || !cost->can_clone;
      if (is_kept) return 0;
    }
  }
  if (!cost->can_clone || depth == MAX_DEPTH) return keep;
  /* It is needed later, too: to have it there already costs only to hold it until then. */
  if (next != NO_ID) {
    double hold = bytes * (sum_before(pricing, next) - sum_before(pricing, place));
    if (hold < keep) keep = hold;
  }
  double most = keep < limit ? keep : limit;
  double again = recompute_cost(pricing, source, place, most, depth + 1);
  return again < keep ? again : keep;
}

/* The cost of a clone of a step at a place; infinite if it is at least `limit`. */
static double recompute_cost(Pricing *pricing, StepId step, StepId place, double limit,
                             uint32_t depth) {
  double cost = pricing->costs[step].seconds;
  pricing->num_looked += LOOKS_OF_STEP;
  if (cost >= limit || ++pricing->num_visited > MAX_CLOSURE) return INFINITY;
  pricing->costs[step].stamp = pricing->num_closures;
  if (pricing->costs[step].bytes > pricing->closure_bytes)
    pricing->closure_bytes = pricing->costs[step].bytes;
  const uint32_t *first = pricing->line->first_source;
  for (uint32_t i = first[step]; i < first[step + 1]; i++) {
    cost += need_cost(pricing, &pricing->needs[i], place, limit - cost, depth);
    if (!(cost < limit)) {
      pricing->costs[step].stamp = 0;
      return INFINITY;
    }
  }
  return cost;
}

/* ---- demands ---- */

/* A run of a step needs what that reads by operand `index`. */
static void demand(Pricing *pricing, StepId step, uint32_t index, StepId place, StepId until,
                   RunId reader) {
  const Line *line = pricing->line;
  StepId source = line->sources[line->first_source[step] + index];
  const NodeOperand *operand = node_operand(line->graph, line->nodes[step], index);
  uint32_t number = pricing->demands.len;
  *vec_push(pricing->arena, &pricing->demands) = (Demand){.place = place,
                                                          .until = until,
                                                          .reader = reader,
                                                          .operand = index,
                                                          .next = pricing->first_demand[source],
                                                          .first_part = operand->first_part,
                                                          .num_parts = operand->num_parts};
  pricing->first_demand[source] = number;
}

RunId pricing_add_run(Pricing *pricing, StepId step, NodeId node, StepId place) {
  RunId number = pricing->line->len + pricing->clones.len;
  *vec_push(pricing->arena, &pricing->clones) =
      (Clone){step, node, place, pricing->clone_sources.len, pricing->first_clone[place]};
  pricing->first_clone[place] = pricing->clones.len - 1;
  (void)vec_extend(pricing->arena, &pricing->clone_sources,
                   pricing->line->graph->nodes[node].num_operands);
  return number;
}

static RunId add_clone(Pricing *pricing, StepId step, StepId place) {
  RunId number = pricing_add_run(pricing, step, pricing->line->nodes[step], place);
  for (uint32_t i = 0; i < node_of(pricing, step)->num_operands; i++)
    demand(pricing, step, i, place, place, number);
  return number;
}

/* Gives the reader the run that it reads. */
static void serve(Pricing *pricing, const Demand *demand, RunId run) {
  const Line *line = pricing->line;
  if (demand->reader < line->len) {
    pricing->sources[line->first_source[demand->reader] + demand->operand] = run;
  } else {
    const Clone *clone = &pricing->clones.data[demand->reader - line->len];
    pricing->clone_sources.data[clone->source + demand->operand] = run;
  }
}

/* Inserts, which is fast while the items are mostly sorted. Returns whether they all are. */
static bool insert_sorted(SortItem *items, uint32_t len) {
  uint32_t num_moved = 0;
  for (uint32_t i = 1; i < len; i++) {
    SortItem item = items[i];
    uint32_t k = i;
    for (; k > 0 && items[k - 1].key > item.key; k--)
      items[k] = items[k - 1];
    items[k] = item;
    num_moved += i - k;
    if (num_moved > len * MOST_MOVED) return false;
  }
  return true;
}

static const Demand *sorted_demand(const Pricing *pricing, uint32_t index) {
  return &pricing->demands.data[pricing->sorted.data[index].id];
}

/* Sorts the demands of a step, the last place first. Readers make them from the last reader to the
 * first, so that only those of clones are out of order. */
static void sort_demands(Pricing *pricing, StepId step) {
  const Demand *demands = pricing->demands.data;
  uint32_t len = 0;
  for (uint32_t i = pricing->first_demand[step]; i != NO_ID; i = demands[i].next)
    len++;
  pricing->sorted.len = pricing->held_until.len = 0;
  SortItem *sorted = vec_extend(pricing->arena, &pricing->sorted, len);
  StepId *held_until = vec_extend(pricing->arena, &pricing->held_until, len);
  for (uint32_t i = pricing->first_demand[step], k = len; i != NO_ID; i = demands[i].next)
    sorted[--k] = (SortItem){.key = NO_ID - demands[i].place, .id = i};
  if (!insert_sorted(sorted, len)) sort_by_key(sorted, len, pricing->arena);
  StepId until = step;
  for (uint32_t i = len; i-- > 0;) {
    held_until[i] = until;
    if (sorted_demand(pricing, i)->until > until) until = sorted_demand(pricing, i)->until;
  }
}

/* Marks the parts that a reader reads. Returns the bytes that this adds, and lowers `until` to the
 * first step that overwrites some of it. */
static int64_t need_parts(Pricing *pricing, StepId step, const Demand *demand, StepId *until) {
  const Line *line = pricing->line;
  int64_t bytes = 0;
  for (uint32_t part = demand->first_part; part < demand->first_part + demand->num_parts; part++) {
    uint32_t root = pricing->memory->root_of[line->first_part[step] + part];
    if (pricing->overwriter[root] < *until) *until = pricing->overwriter[root];
    if (pricing->is_needed[part]) continue;
    pricing->is_needed[part] = 1;
    bytes += node_part(line->graph, line->nodes[step], part)->bytes;
  }
  return bytes;
}

/* Parts that a step forwards are held as long as the step's readers read them. */
static void demand_operands(Pricing *pricing, StepId step, StepId until) {
  const Line *line = pricing->line;
  const SearchNode *node = node_of(pricing, step);
  bool forwards = false;
  for (uint32_t i = 0; i < node->num_parts && !forwards; i++)
    forwards = line->graph->parts.data[node->first_part + i].operand != NO_ID;
  for (uint32_t i = 0; i < node->num_operands; i++)
    demand(pricing, step, i, step, forwards ? until : step, step);
}

/* From -0.5 to 0.5, another value for each node. */
static double spread_of(NodeId node) {
  return (double)(node * UINT32_C(2654435761)) / 4294967296.0 - 0.5;
}

/* What it costs to hold `bytes` of a step since the demand before the one of index `index`. */
static double keep_cost(const Pricing *pricing, StepId step, uint32_t index, int64_t bytes) {
  StepId place = sorted_demand(pricing, index)->place;
  StepId held_until = pricing->held_until.data[index];
  if (held_until >= place) return 0;
  double keep = (double)bytes * (sum_before(pricing, place) - sum_through(pricing, held_until));
  return keep * (1 + pricing->spread * spread_of(pricing->line->nodes[step]));
}

/* Whether to compute a step again for the demand `index` of those sorted, and for what comes after
 * it, costs less than `least`. The demand is for `bytes` of it. */
static bool is_cheaper_again(Pricing *pricing, StepId step, uint32_t index, int64_t bytes,
                             double least) {
  bool is_first_read = index + 1 == pricing->sorted.len;
  if (least <= 0 || !pricing->costs[step].can_clone) return false;
  if (pricing->keeps_places && is_first_read) return false;
  StepId place = sorted_demand(pricing, index)->place;
  /* The first reader's clone takes the place of the step itself. */
  double saved = is_first_read ? node_of(pricing, step)->seconds : 0;
  pricing->num_closures++;
  pricing->num_visited = 0;
  pricing->closure_bytes = bytes;
  double again = recompute_cost(pricing, step, place, least + saved, 0) - saved;
  /* While it is computed, more is live there than what is asked for. */
  double meanwhile =
      pricing->passing * (double)(pricing->closure_bytes - bytes) * pricing->price[place];
  return again + meanwhile < least;
}

/* Lets all readers of a step read the step itself. */
static void keep(Pricing *pricing, StepId step) {
  StepId until = step;
  for (uint32_t i = pricing->first_demand[step]; i != NO_ID; i = pricing->demands.data[i].next) {
    const Demand *demand = &pricing->demands.data[i];
    serve(pricing, demand, step);
    if (demand->until > until) until = demand->until;
  }
  demand_operands(pricing, step, until);
}

/* A run for the demand `index` of those sorted, and for what comes after it, that costs less than
 * to hold `bytes` since the demand before; NO_ID = there is none. A step that `has_lost` the value
 * to one that overwrites it can only be computed again. */
static RunId find_run(Pricing *pricing, StepId step, uint32_t index, int64_t bytes, bool has_lost,
                      PendingForm *pending) {
  StepId place = sorted_demand(pricing, index)->place, held_until = pricing->held_until.data[index];
  double keep = has_lost ? 0 : keep_cost(pricing, step, index, bytes);
  FormGap gap = {.form = NO_ID, .cost = INFINITY};
  if (!has_lost && keep > 0 && pricing->line->graph->form_of)
    gap = form_gap(pricing, step, held_until, place, pending);
  double least = gap.cost < keep ? gap.cost : keep;
  if (has_lost || is_cheaper_again(pricing, step, index, bytes, least)) {
    RunId run = add_clone(pricing, step, place);
    form_add_there(pricing, step, run, pending);
    return run;
  }
  return gap.cost < keep ? form_add_back(pricing, step, &gap, pending) : NO_ID;
}

/* Decides for all gaps between the readers of a step, from the last one on. Where a clone reads
 * the step after its memory has been overwritten, a clone of the step is all that it can read. */
static void visit(Pricing *pricing, StepId step) {
  const StepCost *cost = &pricing->costs[step];
  const SearchNode *node = node_of(pricing, step);
  bool is_read_here = pricing->first_demand[step] != NO_ID;
  if (node->flags & NODE_IS_FORM) pricing->is_dropped[step] = !is_read_here;
  if (pricing->is_dropped[step] && node->flags & NODE_IS_FORM) return;
  if (!(cost->can_clone || cost->has_form) || (is_read_here && !cost->can_gain)) {
    keep(pricing, step);
    return;
  }
  sort_demands(pricing, step);
  uint32_t len = pricing->sorted.len, begin = 0; /* first demand that has no run yet */
  StepId until = step, gone_at = NO_ID;
  PendingForm pending = {.form = NO_ID};
  int64_t bytes = 0;
  if (node->num_parts) memset(pricing->is_needed, 0, node->num_parts);
  if (len) {
    until = pricing->held_until.data[0];
    if (sorted_demand(pricing, 0)->until > until) until = sorted_demand(pricing, 0)->until;
  }
  for (uint32_t i = 0; i < len; i++) {
    const Demand *last = sorted_demand(pricing, i);
    StepId place = last->place;
    bytes += need_parts(pricing, step, last, &gone_at);
    bool is_group_end = i + 1 == len || sorted_demand(pricing, i + 1)->place != place;
    if (!is_group_end || place <= step + 1) continue;
    RunId run = find_run(pricing, step, i, bytes, gone_at < place, &pending);
    if (run == NO_ID) continue;
    for (; begin <= i; begin++)
      serve(pricing, sorted_demand(pricing, begin), run);
    bytes = 0;
    gone_at = NO_ID;
    memset(pricing->is_needed, 0, node->num_parts);
  }
  bool is_read = begin < len || pending.form != NO_ID;
  form_add_there(pricing, step, step, &pending);
  for (; begin < len; begin++)
    serve(pricing, sorted_demand(pricing, begin), step);
  pricing->is_dropped[step] = cost->can_clone && !is_read && !pricing->is_unread[step];
  if (!pricing->is_dropped[step]) demand_operands(pricing, step, until);
}

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

/* Of large modules neither nodes nor demands are in the processor's caches. */
static void fetch_ahead(const Pricing *pricing, StepId step) {
  uint32_t first = pricing->first_demand[step];
  __builtin_prefetch(node_of(pricing, step));
  if (first != NO_ID) __builtin_prefetch(&pricing->demands.data[first]);
}

static void decide(Pricing *pricing) {
  uint32_t len = pricing->line->len;
  CloneVec clones = pricing->clones;
  pricing->clones = pricing->last_clones;
  pricing->last_clones = clones;
  pricing->demands.len = pricing->clones.len = pricing->clone_sources.len = 0;
  pricing->num_closures = 0;
  pricing->num_looked = 0;
  memset(pricing->first_demand, 0xff, len * sizeof *pricing->first_demand);
  memset(pricing->first_clone, 0xff, len * sizeof *pricing->first_clone);
  for (StepId step = 0; step < len; step++)
    pricing->costs[step].stamp = 0;
  pricing->sum[0] = 0;
  for (StepId step = 0; step < len; step++)
    pricing->sum[step + 1] = pricing->sum[step] + pricing->price[step];
  for (StepId step = len; step-- > 0;) {
    if (step >= AHEAD) fetch_ahead(pricing, step - AHEAD);
    visit(pricing, step);
  }
}

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

static void change_prices(Pricing *pricing, const PriceRules *rules, uint32_t round,
                          const int64_t *bytes_at, int64_t limit_bytes, double range) {
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
  pricing.spread = rules->spread;
  pricing.passing = rules->passing;
  /* A byte that is held for the whole line is worth, at first, what the line takes for a byte of
   * its peak; far less where there is no lack. */
  double usual = memory.seconds / ((double)memory.peak_bytes * line->len);
  for (StepId step = 0; step < line->len; step++)
    pricing.price[step] = usual * (memory.bytes_at[step] > limit_bytes ? 0.1 : 1e-4);
  int64_t *bytes_at = arena_array(arena, int64_t, line->len);
  for (uint32_t round = 0; round < rules->num_rounds; round++) {
    if (!patience_spend(patience, (uint64_t)line->len * ROUND_STEPS)) break;
    decide(&pricing);
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
    change_prices(&pricing, rules, round, bytes_at, limit_bytes, range);
  }
  best.line = line_copy(&best.line, out);
  arena_free(arena);
  arena_free(kept);
  return best;
}
