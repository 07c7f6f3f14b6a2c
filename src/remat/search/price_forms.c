/* Other forms as decisions of pricing. A compact form costs the time of both copies, and its bytes
 * while it is held. Copies over the link to the host run beside the steps: they cost that for which
 * steps would wait for them, the value's memory until the copy there has ended and from where the
 * copy back begins, and the link's price, which rises as long as steps wait for copies. */
#include <math.h>

#include "remat/search/price_internal.h"

static const double least_link_price = 0.02, most_link_price = 4;

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
  double computed = begin[step + 1];
  double bytes = (double)node_part(pricing->line->graph, form->value, 0)->bytes;
  double link = pricing->link_price * (form->there_seconds + form->back_seconds);
  FormGap gap = {number, held_until + 1, place, INFINITY};
  if (gap.there >= gap.back) return gap;
  double under_way = begin[gap.there] - computed;
  double stall = form->back_seconds;
  if (form->there_seconds > under_way) stall += form->there_seconds - under_way;
  gap.cost = link + stall;
  /* Nobody waits if the gap is long enough. */
  StepId there = first_after(pricing, held_until + 1, computed + form->there_seconds);
  double latest = begin[place] - form->back_seconds;
  StepId back = latest > begin[held_until + 1]
                    ? first_after(pricing, held_until + 1, nextafter(latest, INFINITY))
                    : held_until + 1;
  back -= back > held_until + 1;
  if (there >= back) return gap;
  double cost = link + hold_cost(pricing, bytes, held_until + 1, there) +
                hold_cost(pricing, bytes, back, place);
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

static void set_source(Pricing *pricing, RunId run, RunId source) {
  const Clone *clone = &pricing->clones.data[run - pricing->line->len];
  pricing->clone_sources.data[clone->source] = source;
}

void form_add_there(Pricing *pricing, StepId step, RunId run, PendingForm *pending) {
  if (pending->form == NO_ID) return;
  NodeId node = form_there(pricing->line->graph, pending->form);
  RunId there = pricing_add_run(pricing, step, node, pending->there);
  set_source(pricing, there, run);
  for (uint32_t i = 0; i < pending->num_backs; i++)
    set_source(pricing, pending->first_back + i, there);
  pending->form = NO_ID;
}

RunId form_add_back(Pricing *pricing, StepId step, const FormGap *gap, PendingForm *pending) {
  RunId back =
      pricing_add_run(pricing, step, form_back(pricing->line->graph, gap->form), gap->back);
  if (pending->form == gap->form) {
    pending->num_backs++;
  } else {
    form_add_there(pricing, step, back, pending);
    *pending = (PendingForm){.form = gap->form, .first_back = back, .num_backs = 1};
  }
  pending->there = gap->there;
  return back;
}

void form_change_link_price(Pricing *pricing, const LineMemory *memory) {
  if (!pricing->line->graph->has_host_form) return;
  bool is_waiting = memory->stall_seconds > 0.001 * memory->seconds;
  double price = pricing->link_price * (is_waiting ? 1.5 : 0.9);
  if (price < least_link_price) price = least_link_price;
  if (price > most_link_price) price = most_link_price;
  pricing->link_price = price;
}
