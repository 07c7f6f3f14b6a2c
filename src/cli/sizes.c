/* Parses sizes, budgets and shards exactly, without floating point. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* Parses a decimal number in millionths, rounded down. `*end` is the text after it. Returns false
 * if there is no number or if it exceeds 2^63. */
static bool parse_millionths(const char *text, __int128_t *value, const char **end) {
  __int128_t whole = 0, fraction = 0, scale = 1000000;
  const char *p = text;
  for (; isdigit((unsigned char)*p); p++) {
    whole = whole * 10 + (*p - '0');
    if (whole > INT64_MAX) return false;
  }
  bool has_digits = p > text;
  if (*p == '.') {
    for (p++; isdigit((unsigned char)*p); p++) {
      has_digits = true;
      scale /= 10;
      fraction += (*p - '0') * scale;
    }
  }
  *value = whole * 1000000 + fraction;
  *end = p;
  return has_digits;
}

static bool parse_unit(const char *text, int64_t *unit) {
  static const struct {
    const char *name;
    int64_t bytes;
  } units[] = {
      {"", 1},
      {"B", 1},
      {"KB", 1000},
      {"MB", 1000000},
      {"GB", 1000000000},
      {"TB", INT64_C(1000000000000)},
      {"KiB", INT64_C(1) << 10},
      {"MiB", INT64_C(1) << 20},
      {"GiB", INT64_C(1) << 30},
      {"TiB", INT64_C(1) << 40},
  };
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(text, units[i].name) != 0) continue;
    *unit = units[i].bytes;
    return true;
  }
  return false;
}

bool parse_size(const char *text, int64_t *bytes) {
  __int128_t millionths;
  int64_t unit;
  const char *end;
  if (!parse_millionths(text, &millionths, &end)) return false;
  if (*end == ' ') end++;
  if (!parse_unit(end, &unit)) return false;
  __int128_t value = millionths * unit / 1000000;
  if (value > INT64_MAX) return false;
  *bytes = (int64_t)value;
  return true;
}

bool parse_budget(const char *text, Budget *budget) {
  if (strcmp(text, "min") == 0) {
    *budget = (Budget){BUDGET_MIN, 0};
    return true;
  }
  bool is_reducible = text[0] == 'r';
  __int128_t millionths;
  const char *end;
  if (parse_millionths(text + is_reducible, &millionths, &end) && strcmp(end, "%") == 0) {
    if (millionths > INT64_MAX) return false;
    budget->kind = is_reducible ? BUDGET_REDUCIBLE : BUDGET_PERCENT;
    budget->amount = (int64_t)millionths;
    return true;
  }
  if (is_reducible || !parse_size(text, &budget->amount)) return false;
  budget->kind = budget->amount == 0 ? BUDGET_MIN : BUDGET_BYTES;
  return true;
}

bool parse_tolerance(const char *text, Budget *tolerance) {
  if (!parse_budget(text, tolerance) || strcmp(text, "min") == 0) return false;
  return tolerance->kind != BUDGET_REDUCIBLE;
}

/* Parses a whole number of shards. */
static bool parse_count(const char *text, uint32_t *count, const char **end) {
  enum { MAX_SHARDS = 100000 };
  char *stop;
  errno = 0;
  long long number = strtoll(text, &stop, 10);
  *count = (uint32_t)number;
  *end = stop;
  return isdigit((unsigned char)*text) && !errno && number >= 1 && number <= MAX_SHARDS;
}

bool parse_shard(const char *text, Shard *shard) {
  const char *end;
  if (!parse_count(text, &shard->index, &end) || *end != '/') return false;
  if (!parse_count(end + 1, &shard->count, &end) || *end) return false;
  return shard->index <= shard->count;
}

int64_t share_of(int64_t bytes, int64_t share) {
  __int128_t product = (__int128_t)bytes * share / 100000000;
  return product < INT64_MAX ? (int64_t)product : INT64_MAX - 1;
}

int64_t budget_bytes(Budget budget, int64_t counted_bytes, int64_t bound_bytes) {
  switch (budget.kind) {
    case BUDGET_NONE: return INT64_MAX;
    case BUDGET_BYTES: return budget.amount;
    case BUDGET_PERCENT: return share_of(counted_bytes, budget.amount);
    case BUDGET_REDUCIBLE:
      return bound_bytes + share_of(counted_bytes - bound_bytes, budget.amount);
    case BUDGET_MIN: return 0;
  }
  return INT64_MAX;
}
