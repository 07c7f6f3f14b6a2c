#include <math.h>
#include <stdlib.h>

#include "remat/search/price_internal.h"

enum {
  LOOKS_OF_STEP = 8, /* demands that one looks at in the time for a step of a closure */
  MAX_DEPTH = 1000,
  AHEAD = 8,        /* steps before a step is visited, what is known of it is fetched */
  MANY_PARTS = 256, /* of a step with so many, demands are for the whole */
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
  if (cost >= limit || ++pricing->num_visited > pricing->most_visited) return INFINITY;
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
  const Need *need = &pricing->needs[pricing->line->first_source[step] + index];
  if (need->is_settled) return;
  uint32_t number = pricing->demands.len;
  *vec_push(pricing->arena, &pricing->demands) =
      (Demand){.place = place,
               .until = until,
               .reader = reader,
               .operand = index,
               .next = pricing->first_demand[need->source],
               .first_part = need->first_part,
               .num_parts = need->num_parts};
  pricing->first_demand[need->source] = number;
}

static RunId add_clone(Pricing *pricing, StepId step, StepId place) {
  const Line *line = pricing->line;
  RunId number = runs_add(&pricing->runs, line->nodes[step], place);
  uint32_t first = line->first_source[step], count = line->first_source[step + 1] - first;
  for (uint32_t i = 0; i < count; i++) {
    runs_sources(&pricing->runs, number)[i] = line->sources[first + i]; /* unless another run is */
    demand(pricing, step, i, place, place, number);                     /* chosen for it */
  }
  return number;
}

/* Gives the reader the run that it reads. */
static void serve(Pricing *pricing, const Demand *demand, RunId run) {
  runs_sources(&pricing->runs, demand->reader)[demand->operand] = run;
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
  sort_by_key(sorted, len, pricing->arena);
  StepId until = step;
  for (uint32_t i = len; i-- > 0;) {
    held_until[i] = until;
    if (sorted_demand(pricing, i)->until > until) until = sorted_demand(pricing, i)->until;
  }
}

static bool are_for_whole(const Pricing *pricing, uint32_t num_parts) {
  for (uint32_t i = 0; i < pricing->sorted.len; i++) {
    if (sorted_demand(pricing, i)->num_parts != num_parts) return false;
  }
  return true;
}

/* Notes, for each demand, until when those of earlier places hold the parts that it is for. A loop
 * holds its stacks for the loop that reads them slice by slice, whoever needs its result before. */
static void note_part_until(Pricing *pricing, StepId step) {
  uint32_t num_parts = node_of(pricing, step)->num_parts, len = pricing->sorted.len;
  pricing->first_until.len = pricing->part_until.len = 0;
  if (num_parts == 1 || num_parts > MANY_PARTS || are_for_whole(pricing, num_parts)) return;
  uint32_t *first_until = vec_extend(pricing->arena, &pricing->first_until, len);
  for (uint32_t part = 0; part < num_parts; part++)
    pricing->needed_until[part] = step;
  for (uint32_t i = len; i-- > 0;) {
    const Demand *demand = sorted_demand(pricing, i);
    StepId *held = &pricing->needed_until[demand->first_part];
    first_until[i] = pricing->part_until.len;
    for (uint32_t k = 0; k < demand->num_parts; k++) {
      *vec_push(pricing->arena, &pricing->part_until) = held[k];
      if (demand->until > held[k]) held[k] = demand->until;
    }
  }
}

/* Marks the parts that a reader reads. Returns the bytes that this adds, and lowers `until` to the
 * first step that overwrites some of it. */
static int64_t need_parts(Pricing *pricing, StepId step, uint32_t index, StepId *until) {
  const Line *line = pricing->line;
  const Demand *demand = sorted_demand(pricing, index);
  int64_t bytes = 0;
  if (pricing->first_until.len && demand->num_parts)
    memcpy(&pricing->needed_until[demand->first_part],
           &pricing->part_until.data[pricing->first_until.data[index]],
           demand->num_parts * sizeof(StepId));
  for (uint32_t part = demand->first_part; part < demand->first_part + demand->num_parts; part++) {
    uint32_t root = pricing->memory->root_of[line->first_part[step] + part];
    if (pricing->overwriter[root] < *until) *until = pricing->overwriter[root];
    if (pricing->is_needed[part]) continue;
    pricing->is_needed[part] = 1;
    bytes += node_part(line->graph, line->nodes[step], part)->bytes;
  }
  return bytes;
}

/* Whether a run is a step that is a loop. Added runs are read where they run, as far as is known
 * when what they read is decided. */
static bool is_loop(const Pricing *pricing, RunId run) {
  return run < pricing->line->len && node_of(pricing, run)->flags & NODE_IS_LOOP;
}

/* Holds those parts of the tuple that a loop begins with that it forwards to its own readers. */
static void hold_forwarded(Pricing *pricing, const Demand *by_loop) {
  const SearchNode *loop = node_of(pricing, by_loop->reader);
  const SearchGraph *graph = pricing->line->graph;
  uint32_t i = pricing->first_demand[by_loop->reader];
  for (; i != NO_ID; i = pricing->demands.data[i].next) {
    const Demand *demand = &pricing->demands.data[i];
    for (uint32_t k = demand->first_part; k < demand->first_part + demand->num_parts; k++) {
      const NodePart *part = &graph->parts.data[loop->first_part + k];
      if (part->operand != by_loop->operand) continue;
      StepId *until = &pricing->needed_until[by_loop->first_part + part->of_operand];
      if (demand->until > *until) *until = demand->until;
    }
  }
}

/* Sets by part of a tuple until when it must be held. */
static void find_tuple_until(Pricing *pricing, StepId step) {
  for (uint32_t part = 0; part < node_of(pricing, step)->num_parts; part++)
    pricing->needed_until[part] = step;
  for (uint32_t i = pricing->first_demand[step]; i != NO_ID; i = pricing->demands.data[i].next) {
    const Demand *demand = &pricing->demands.data[i];
    StepId at_once = is_loop(pricing, demand->reader) ? demand->place : demand->until;
    for (uint32_t k = 0; k < demand->num_parts; k++) {
      StepId *until = &pricing->needed_until[demand->first_part + k];
      if (at_once > *until) *until = at_once;
    }
    if (is_loop(pricing, demand->reader)) hold_forwarded(pricing, demand);
  }
}

/* What the operands of a tuple are held for depends on who reads the tuple. */
static void demand_of_tuple(Pricing *pricing, StepId step) {
  const SearchNode *node = node_of(pricing, step);
  const SearchGraph *graph = pricing->line->graph;
  find_tuple_until(pricing, step);
  uint32_t part = 1; /* after the tuple's own table, the parts of one operand after the other */
  for (uint32_t i = 0; i < node->num_operands; i++) {
    StepId until = step;
    for (uint32_t count = node_operand(graph, pricing->line->nodes[step], i)->num_parts; count;
         count--, part++) {
      if (pricing->needed_until[part] > until) until = pricing->needed_until[part];
    }
    demand(pricing, step, i, step, until, step);
  }
}

/* Parts that a step forwards are held as long as the step's readers read them. */
static void demand_operands(Pricing *pricing, StepId step, StepId until) {
  const uint32_t *first = pricing->line->first_source;
  if (node_of(pricing, step)->flags & NODE_IS_TUPLE) {
    demand_of_tuple(pricing, step);
    return;
  }
  if (!pricing->costs[step].forwards) until = step;
  for (uint32_t i = 0; i < first[step + 1] - first[step]; i++)
    demand(pricing, step, i, step, until, step);
}

/* From -0.5 to 0.5, another value for each node. */
static double spread_of(NodeId node) {
  return (double)(node * UINT32_C(2654435761)) / 4294967296.0 - 0.5;
}

/* What it costs to hold what is needed of a step, `bytes`, since demands before the one of index
 * `index` held it. */
static double keep_cost(const Pricing *pricing, StepId step, uint32_t index, int64_t bytes) {
  StepId place = sorted_demand(pricing, index)->place;
  StepId held_until = pricing->held_until.data[index];
  uint32_t num_parts = pricing->first_until.len ? node_of(pricing, step)->num_parts : 0;
  double keep = 0;
  if (num_parts == 0 && held_until < place)
    keep = (double)bytes * (sum_before(pricing, place) - sum_through(pricing, held_until));
  for (uint32_t part = 0; part < num_parts; part++) {
    StepId until = pricing->needed_until[part];
    if (!pricing->is_needed[part] || until >= place) continue;
    keep += (double)node_part(pricing->line->graph, pricing->line->nodes[step], part)->bytes *
            (sum_before(pricing, place) - sum_through(pricing, until));
  }
  return keep * (1 + pricing->rules->spread * spread_of(pricing->line->nodes[step]));
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
      pricing->rules->passing * (double)(pricing->closure_bytes - bytes) * pricing->price[place];
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
    form_add_there(pricing, run, pending);
    return run;
  }
  return gap.cost < keep ? form_add_back(pricing, &gap, pending) : NO_ID;
}

/* Whether only the step directly after it reads a step, as is most common: there is nothing to
 * decide then. */
static bool is_read_once_at_once(const Pricing *pricing, StepId step) {
  uint32_t first = pricing->first_demand[step];
  if (first == NO_ID) return false;
  const Demand *demand = &pricing->demands.data[first];
  return demand->next == NO_ID && demand->place == step + 1 && demand->reader == step + 1;
}

/* Decides for all gaps between the readers of a step, from the last one on. Where a clone reads
 * the step after its memory has been overwritten, a clone of the step is all that it can read; and
 * of a private step, each reader has a run. */
static void decide_gaps(Pricing *pricing, StepId step) {
  const SearchNode *node = node_of(pricing, step);
  bool is_private = node->flags & NODE_IS_PRIVATE;
  sort_demands(pricing, step);
  note_part_until(pricing, step);
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
    StepId place = sorted_demand(pricing, i)->place;
    bytes += need_parts(pricing, step, i, &gone_at);
    bool is_last = i + 1 == len;
    bool is_group_end = is_last || is_private || sorted_demand(pricing, i + 1)->place != place;
    if (!is_group_end || place <= step + 1) continue;
    bool has_lost = gone_at < place || (is_private && !is_last);
    RunId run = find_run(pricing, step, i, bytes, has_lost, &pending);
    if (run == NO_ID) continue;
    for (; begin <= i; begin++)
      serve(pricing, sorted_demand(pricing, begin), run);
    bytes = 0;
    gone_at = NO_ID;
    memset(pricing->is_needed, 0, node->num_parts);
  }
  bool is_read = begin < len || pending.form != NO_ID;
  form_add_there(pricing, step, &pending);
  for (; begin < len; begin++)
    serve(pricing, sorted_demand(pricing, begin), step);
  bool can_clone = pricing->costs[step].can_clone;
  pricing->runs.is_dropped[step] = can_clone && !is_read && !pricing->is_unread[step];
  if (!pricing->runs.is_dropped[step]) demand_operands(pricing, step, until);
}

/* Decides about a step whose readers have been decided about. Of most, nothing is to decide. */
static void visit(Pricing *pricing, StepId step) {
  const StepCost *cost = &pricing->costs[step];
  uint32_t first = pricing->first_demand[step];
  bool is_read = first != NO_ID, is_form = node_of(pricing, step)->flags & NODE_IS_FORM;
  if (is_form) pricing->runs.is_dropped[step] = !is_read;
  if (is_form && !is_read) return;
  if (!(cost->can_clone || cost->has_form) || (is_read && !cost->can_gain)) {
    keep(pricing, step);
  } else if (is_read_once_at_once(pricing, step)) {
    pricing->runs.is_dropped[step] = false;
    demand_operands(pricing, step, pricing->demands.data[first].until);
  } else {
    decide_gaps(pricing, step);
  }
}

/* ---- all steps ---- */

/* Of large modules neither nodes nor demands are in the processor's caches. */
static void fetch_ahead(const Pricing *pricing, StepId step) {
  uint32_t first = pricing->first_demand[step];
  __builtin_prefetch(node_of(pricing, step));
  if (first != NO_ID) __builtin_prefetch(&pricing->demands.data[first]);
}

void pricing_decide(Pricing *pricing) {
  uint32_t len = pricing->line->len;
  AddedRunVec added = pricing->runs.added;
  pricing->runs.added = pricing->last_added;
  pricing->last_added = added;
  runs_reset(&pricing->runs);
  pricing->demands.len = 0;
  pricing->num_closures = 0;
  pricing->num_looked = 0;
  memset(pricing->first_demand, 0xff, len * sizeof *pricing->first_demand);
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
