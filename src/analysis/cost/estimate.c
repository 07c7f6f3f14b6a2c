/* XLA:TPU's own estimates of time. Texts from after code generation, and compiled.as_text(), have
 * them in the backend_config of most instructions:
 *
 *   "window_config":{…,"estimated_cycles":"78557",…}
 *
 * The largest integer stands for "not estimated". The configurations are long, so the text is
 * searched for the key, which has this meaning only, instead of being parsed as JSON. */
#define _GNU_SOURCE /* for memmem() */
#include <string.h>

#include "analysis/cost/cost_internal.h"
#include "ir/chars.h"

static const char KEY[] = "\"estimated_cycles";

/* The text after the key and what separates it from its value; the quotes of a configuration that
 * is itself in quotes are escaped. */
static const char *value_after(const char *place, const char *end) {
  while (place < end && (*place == '"' || *place == '\\' || *place == ':' || char_is_blank(*place)))
    place++;
  return place;
}

/* The cycles of an instruction, -1 = none. */
static int64_t estimated_cycles(const Module *module, InstId id) {
  Str text = inst_attr_text(module, id, ATTR_BACKEND_CONFIG);
  if (text.len == 0) return -1;
  const char *end = text.data + text.len;
  const char *place = memmem(text.data, text.len, KEY, strlen(KEY));
  if (!place) return -1;
  place = value_after(place + strlen(KEY), end);
  if (place == end || !char_is_digit(*place)) return -1;
  int64_t cycles = 0;
  for (; place < end && char_is_digit(*place); place++)
    cycles = saturating_add(saturating_mul(cycles, 10), *place - '0');
  return cycles == INT64_MAX ? -1 : cycles;
}

const int64_t *cost_find_estimates(const Module *module, Arena *out) {
  int64_t *cycles = NULL;
  for (InstId id = 0; id < module->insts.len; id++) {
    int64_t found = estimated_cycles(module, id);
    if (found < 0) continue;
    if (!cycles) {
      cycles = arena_array(out, int64_t, module->insts.len);
      for (InstId other = 0; other < module->insts.len; other++)
        cycles[other] = -1;
    }
    cycles[id] = found;
  }
  return cycles;
}
