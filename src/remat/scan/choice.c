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
    if (choice->fate[i] == SCAN_RECOMPUTED && is_first_of_whole(values, choice, i))
      choice->seconds += value->seconds;
  }
}

ScanChoice scan_choose(const ScanValues *values, double price, const bool *is_kept, Arena *out,
                       Arena *scratch) {
  uint32_t num_values = values->list.len;
  price = finite_price(values, price);
  ScanChoice choice = {.fate = arena_zarray(out, uint8_t, num_values)};
  Arena *arena = arena_new(arena_options(scratch));
  Network network = network_new(arena);
  for (uint32_t i = 0; i < 2 * num_values; i++)
    (void)network_add_node(&network);
  for (uint32_t i = 0; i < num_values; i++) {
    const ScanValue *value = &values->list.data[i];
    if (value->is_read) network_add_edge(&network, NETWORK_SOURCE, available(i), NETWORK_INFINITY);
    network_add_edge(&network, available(i), computed(i),
                     store_cost(value, price, is_kept && is_kept[i]));
    bool is_with_other = value->whole != NO_ID && value->whole != i;
    network_add_edge(&network, computed(i), NETWORK_SINK, compute_cost(value, is_with_other));
    if (is_with_other)
      network_add_edge(&network, computed(i), computed(value->whole), NETWORK_INFINITY);
    for (uint32_t k = 0; k < value->operands.len; k++) {
      if (value->operands.data[k] == NO_ID) continue;
      network_add_edge(&network, computed(i), available(value->operands.data[k]), NETWORK_INFINITY);
    }
  }
  bool *is_chosen = arena_array(arena, bool, network.first.len);
  network_cut(&network, is_chosen, arena);
  for (uint32_t i = 0; i < num_values; i++) {
    if (!is_chosen[available(i)]) continue;
    choice.fate[i] = is_chosen[computed(i)] ? SCAN_RECOMPUTED : SCAN_STORED;
  }
  arena_free(arena);
  add_up(values, &choice);
  return choice;
}

ScanChoice scan_choose_nothing(const ScanValues *values, Arena *out) {
  ScanChoice choice = {.fate = arena_zarray(out, uint8_t, values->list.len)};
  for (uint32_t i = 0; i < values->list.len; i++)
    choice.fate[i] = values->list.data[i].is_read ? SCAN_STORED : SCAN_UNUSED;
  add_up(values, &choice);
  return choice;
}
