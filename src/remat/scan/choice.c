#include "remat/scan/choice.h"

#include <math.h>

#include "remat/scan/network.h"

/* A second of work in terms of bytes that is negligible, so that of two equal choices the one that
 * computes less wins. */
#define LEAST_SECONDS 1e-12

static uint32_t available(uint32_t value) {
  return NETWORK_FIRST_NODE + 2 * value;
}
static uint32_t computed(uint32_t value) {
  return NETWORK_FIRST_NODE + 2 * value + 1;
}

/* Instead of an infinite price, one at which a byte is worth all the time that there is: seconds
 * then decide only between choices with the same number of bytes. */
static double finite_price(const ScanValues *values, double price) {
  if (!isinf(price)) return price;
  double seconds = 1e-9;
  for (uint32_t i = 0; i < values->list.len; i++)
    seconds += values->list.data[i].seconds + values->list.data[i].store_seconds;
  return seconds;
}

static double store_cost(const ScanValue *value, double price, bool is_kept) {
  if (value->must_store || is_kept) return 0;
  if (!value->may_store) return NETWORK_INFINITY;
  return price * (double)value->bytes + value->store_seconds;
}

static double compute_cost(const ScanValue *value, bool is_with_other) {
  if (value->verdict != KEEP_NONE) return NETWORK_INFINITY;
  if (is_with_other) return LEAST_SECONDS;
  return value->kind == SCAN_COMPUTED ? value->seconds + LEAST_SECONDS : 0;
}

/* ---- neighbours ---- */

static double shift_cost(const ScanValue *value, double price) {
  return price * (double)value->edge_bytes + value->shift_seconds + LEAST_SECONDS;
}

/* Whether to read one of two values from the stack of the other costs less than to compute what is
 * handed on again from what the iteration begins with. That one is stored then, unless a stack is
 * there that others read anyway. */
static bool pays_to_shift(const ScanValues *values, const ScanValue *value, double price) {
  const ScanValue *neighbour = &values->list.data[value->neighbour];
  const ScanValue *handed_on = value->shift > 0 ? value : neighbour;
  return (value->shift < 0 && !neighbour->is_read) ||
         compute_cost(handed_on, false) > shift_cost(value, price);
}

/* The values that are read from the stacks of their neighbours if they are not stored. */
static const bool *find_shifted(const ScanValues *values, double price, const bool *known,
                                Arena *out) {
  if (known) return known;
  bool *is_shifted = arena_zarray(out, bool, values->list.len);
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    if (value->neighbour == NO_ID) continue;
    is_shifted[i] = pays_to_shift(values, value, price);
  }
  return is_shifted;
}

/* The first value of a fusion that stays whole that a clone of it computes. */
static uint32_t whole_of(const ScanValues *values, const bool *is_shifted, uint32_t index) {
  uint32_t whole = values->list.data[index].whole, i = whole;
  while (i != NO_ID && (is_shifted[i] || values->list.data[i].whole != whole))
    i++;
  return i;
}

/* Whether a value is the first one of its fusion that is computed again. */
static bool is_first_of_whole(const ScanValues *values, const ScanChoice *choice, uint32_t index) {
  uint32_t whole = values->list.data[index].whole;
  for (uint32_t i = whole; whole != NO_ID && i < index; i++) {
    if (values->list.data[i].whole == whole && choice->fate[i] == SCAN_RECOMPUTED) return false;
  }
  return true;
}

static void add_up(const ScanValues *values, ScanChoice *choice) {
  choice->bytes = 0;
  choice->seconds = 0;
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    if (choice->fate[i] == SCAN_STORED) choice->bytes += value->bytes;
    if (choice->fate[i] == SCAN_STORED) choice->seconds += value->store_seconds;
    if (choice->fate[i] == SCAN_SHIFTED) choice->bytes += value->edge_bytes;
    if (choice->fate[i] == SCAN_SHIFTED) choice->seconds += value->shift_seconds;
    if (choice->fate[i] == SCAN_RECOMPUTED && is_first_of_whole(values, choice, i))
      choice->seconds += value->seconds;
  }
}

/* Adds what a value needs to be computed, or read from the stack of its neighbour. A value of which
 * others read the stack, `is_source`, is not computed. */
static void add_needs(Network *network, const ScanValues *values, uint32_t index,
                      const bool *is_shifted, bool is_source, double price) {
  const ScanValue *value = &values->list.data[index];
  if (is_shifted[index]) {
    network_add_edge(network, computed(index), NETWORK_SINK, shift_cost(value, price));
    network_add_edge(network, computed(index), available(value->neighbour), NETWORK_INFINITY);
    return;
  }
  uint32_t whole = whole_of(values, is_shifted, index);
  bool is_with_other = whole != NO_ID && whole != index;
  network_add_edge(network, computed(index), NETWORK_SINK,
                   is_source ? NETWORK_INFINITY : compute_cost(value, is_with_other));
  if (is_with_other) network_add_edge(network, computed(index), computed(whole), NETWORK_INFINITY);
  for (uint32_t k = 0; k < value->operands.len; k++) {
    if (value->operands.data[k] == NO_ID) continue;
    network_add_edge(network, computed(index), available(value->operands.data[k]),
                     NETWORK_INFINITY);
  }
}

ScanChoice scan_choose_known(const ScanValues *values, double price, const bool *is_kept,
                             const bool *is_shifted, Arena *out, Arena *scratch) {
  uint32_t num_values = values->list.len;
  price = finite_price(values, price);
  ScanChoice choice = {.fate = arena_zarray(out, uint8_t, num_values)};
  Arena *arena = arena_new(arena_options(scratch));
  is_shifted = find_shifted(values, price, is_shifted, arena);
  bool *is_source = arena_zarray(arena, bool, num_values);
  for (uint32_t i = 0; i < num_values; i++) {
    if (is_shifted[i]) is_source[values->list.data[i].neighbour] = true;
  }
  Network network = network_new(arena);
  for (uint32_t i = 0; i < 2 * num_values; i++)
    (void)network_add_node(&network);
  for (uint32_t i = 0; i < num_values; i++) {
    const ScanValue *value = &values->list.data[i];
    if (value->is_read) network_add_edge(&network, NETWORK_SOURCE, available(i), NETWORK_INFINITY);
    network_add_edge(&network, available(i), computed(i),
                     store_cost(value, price, is_kept && is_kept[i]));
    add_needs(&network, values, i, is_shifted, is_source[i], price);
  }
  bool *is_chosen = arena_array(arena, bool, network.first.len);
  network_cut(&network, is_chosen, arena);
  for (uint32_t i = 0; i < num_values; i++) {
    if (!is_chosen[available(i)]) continue;
    choice.fate[i] = !is_chosen[computed(i)] ? SCAN_STORED
                     : is_shifted[i]         ? SCAN_SHIFTED
                                             : SCAN_RECOMPUTED;
  }
  arena_free(arena);
  add_up(values, &choice);
  return choice;
}

ScanChoice scan_choose(const ScanValues *values, double price, const bool *is_kept, Arena *out,
                       Arena *scratch) {
  return scan_choose_known(values, price, is_kept, NULL, out, scratch);
}

ScanChoice scan_choose_nothing(const ScanValues *values, Arena *out) {
  ScanChoice choice = {.fate = arena_zarray(out, uint8_t, values->list.len)};
  for (uint32_t i = 0; i < values->list.len; i++)
    choice.fate[i] = values->list.data[i].is_read ? SCAN_STORED : SCAN_UNUSED;
  add_up(values, &choice);
  return choice;
}
