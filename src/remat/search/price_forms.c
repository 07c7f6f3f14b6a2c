/* Other forms as decisions of pricing. A compact form costs the time of both copies, and its bytes
 * while it is held. Copies over the link to the host run beside the steps: they cost that for which
 * steps would wait for them, the value's memory until the copy there has ended and from where the
 * copy back begins, and the link's price, which rises as long as steps wait for copies. */
#include <assert.h>
#include <math.h>

#include "remat/search/price_internal.h"

static const double first_link_price = 0.05, least_link_price = 0.02, most_link_price = 4;
static const double load_share = 0.3; /* of the last round, in the average load */

/* The bytes of a form. */
static double bytes_of_form(const SearchGraph *graph, uint32_t form) {
  return (double)node_part(graph, form_there(graph, form), 0)->bytes;
}

/* The first step, at least `least`, before which `seconds` have passed since the line began. */
static StepId first_after(const Pricing *pricing, StepId least, double seconds) {
  StepId low = least, high = pricing->line->len;
  while (low < high) {
    StepId middle = low + (high - low) / 2;
    if (pricing->begin_seconds[middle] >= seconds) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* What it costs to hold `bytes` from one place to another. */
static double hold_cost(const Pricing *pricing, double bytes, StepId from, StepId to) {
  return bytes * (sum_before(pricing, to) - sum_before(pricing, from));
}

static FormGap host_gap(const Pricing *pricing, StepId step, StepId held_until, StepId place,
                        uint32_t number) {
  const NodeForm *form = &pricing->line->graph->forms.data[number];
  const double *begin = pricing->begin_seconds;
  double bytes = (double)node_part(pricing->line->graph, form->value, 0)->bytes;
  double link = pricing->link_price * (form->there_seconds + form->back_seconds);
  double left = begin[step + 1] + pricing->load.there[step] + form->there_seconds;
  double enter = begin[place] - pricing->load.back[place] - form->back_seconds;
  FormGap gap = {number, held_until + 1, place, INFINITY};
  if (gap.there >= gap.back) return gap;
  gap.cost = link + (left > begin[gap.there] ? left - begin[gap.there] : 0) + begin[place] - enter;
  /* Nobody waits if the gap is long enough. */
  StepId there = first_after(pricing, gap.there, left), back = gap.there;
  if (enter >= begin[back]) back = first_after(pricing, back, nextafter(enter, INFINITY)) - 1;
  if (there >= back) return gap;
  double cost =
      link + hold_cost(pricing, bytes, gap.there, there) + hold_cost(pricing, bytes, back, place);
  return cost < gap.cost ? (FormGap){number, there, back, cost} : gap;
}

static FormGap compact_gap(const Pricing *pricing, StepId held_until, StepId place, uint32_t number,
                           bool is_joined) {
  const SearchGraph *graph = pricing->line->graph;
  const NodeForm *form = &graph->forms.data[number];
  FormGap gap = {number, held_until + 1, place, INFINITY};
  if (gap.there < gap.back) gap.cost = form->back_seconds + (is_joined ? 0 : form->there_seconds);
  return gap;
}

FormGap form_gap(const Pricing *pricing, StepId step, StepId held_until, StepId place,
                 const PendingForm *pending) {
  const SearchGraph *graph = pricing->line->graph;
  FormGap best = {.form = NO_ID, .cost = INFINITY};
  if (!pricing->costs[step].has_form) return best;
  uint32_t number = graph->form_of[pricing->line->nodes[step]];
  for (; number != NO_ID; number = graph->forms.data[number].next) {
    bool is_joined = pending && pending->form == number;
    FormGap gap = graph->forms.data[number].is_on_host
                      ? host_gap(pricing, step, held_until, place, number)
                      : compact_gap(pricing, held_until, place, number, is_joined);
    StepId until = is_joined ? pending->there : gap.back;
    gap.cost += hold_cost(pricing, bytes_of_form(graph, number), gap.there, until);
    if (gap.cost < best.cost) best = gap;
  }
  return best;
}

/* ---- runs ---- */

void form_add_there(Pricing *pricing, RunId run, PendingForm *pending) {
  if (pending->form == NO_ID) return;
  NodeId node = form_there(pricing->line->graph, pending->form);
  RunId there = runs_add(&pricing->runs, node, pending->there);
  *runs_sources(&pricing->runs, there) = run;
  for (uint32_t i = 0; i < pending->num_backs; i++)
    *runs_sources(&pricing->runs, pending->first_back + i) = there;
  pending->form = NO_ID;
}

RunId form_add_back(Pricing *pricing, const FormGap *gap, PendingForm *pending) {
  RunId back = pricing->line->len + pricing->runs.added.len;
  if (pending->form == gap->form) {
    pending->num_backs++;
  } else {
    /* The copies back that share one there must have consecutive numbers. */
    back += pending->form != NO_ID;
    form_add_there(pricing, back, pending);
    *pending = (PendingForm){.form = gap->form, .first_back = back, .num_backs = 1};
  }
  pending->there = gap->there;
  RunId added = runs_add(&pricing->runs, form_back(pricing->line->graph, gap->form), gap->back);
  assert(added == back && "runs are numbered in the order of adding");
  return added;
}

/* ---- the link ---- */

void form_begin_link(Pricing *pricing) {
  const Line *line = pricing->line;
  if (!line->graph->has_host_form) return;
  pricing->link_price = first_link_price;
  pricing->begin_seconds = line_begin_seconds(line, pricing->arena);
  pricing->load = (LinkLoad){arena_zarray(pricing->arena, double, line->len),
                             arena_zarray(pricing->arena, double, line->len)};
}

static void note_load(double *load, const double *now, const Line *priced, const StepId *place_of,
                      uint32_t num_places, Arena *arena) {
  double *most = arena_zarray(arena, double, num_places);
  for (StepId step = 0; step < priced->len; step++) {
    if (now[step] > most[place_of[step]]) most[place_of[step]] = now[step];
  }
  for (StepId place = 0; place < num_places; place++)
    load[place] += load_share * (most[place] - load[place]);
}

Line form_stretch_copies(Pricing *pricing, const Line *priced, LineMemory *memory,
                         int64_t limit_bytes, const StepId *place_of, Arena *arena) {
  LinkLoad now = {arena_array(arena, double, priced->len), arena_array(arena, double, priced->len)};
  Line result = line_with_longer_copies(priced, memory, limit_bytes, &now, arena, arena);
  note_load(pricing->load.there, now.there, priced, place_of, pricing->line->len, arena);
  note_load(pricing->load.back, now.back, priced, place_of, pricing->line->len, arena);
  return result;
}

void form_change_link_price(Pricing *pricing, const LineMemory *memory) {
  if (!pricing->line->graph->has_host_form) return;
  bool is_waiting = memory->stall_seconds > 0.001 * memory->seconds;
  double price = pricing->link_price * (is_waiting ? 1.5 : 0.9);
  if (price < least_link_price) price = least_link_price;
  if (price > most_link_price) price = most_link_price;
  pricing->link_price = price;
}
