#include "cost_of.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static bool parse_count(const char *text, int64_t *count) {
  char *end;
  double number = strtod(text, &end);
  bool is_count = end != text && !*end && number >= 0 && number < 9e18;
  if (is_count) *count = (int64_t)number;
  return is_count;
}

/* Parses a figure such as `flops=1e9`. */
static bool parse_figure(char *text, rh_known_cost *cost) {
  char *value = strchr(text, '=');
  if (!value) return false;
  *value++ = 0;
  if (strcmp(text, "flops") == 0) return parse_count(value, &cost->flops);
  if (strcmp(text, "transcendentals") == 0) return parse_count(value, &cost->transcendentals);
  if (strcmp(text, "bytes") != 0) return false;
  return parse_count(value, &cost->bytes_accessed) || parse_size(value, &cost->bytes_accessed);
}

/* Splits the line in place. The figures follow the last colon. */
static bool parse_cost(char *line, rh_known_cost *cost) {
  *cost = (rh_known_cost){line, -1, -1, -1};
  char *colon = strrchr(line, ':');
  if (!colon || colon == line) return false;
  *colon = 0;
  for (char *figure = colon + 1, *next; figure; figure = next) {
    next = strchr(figure, ',');
    if (next) *next++ = 0;
    if (!parse_figure(figure, cost)) return false;
  }
  return true;
}

static rh_status fail(const char *options, size_t number) {
  for (; number; number--)
    options = strchr(options, '\n') + 1;
  fprintf(
      stderr,
      "remat-hlo: error: --cost-of takes REGEX:flops=N,bytes=SIZE,transcendentals=N, or some of "
      "these figures, not '%.*s'\n",
      (int)strcspn(options, "\n"), options);
  return RH_ERR_USAGE;
}

rh_status cost_of_read(const Options *options, CostOf *costs) {
  *costs = (CostOf){0};
  if (!options->cost_of) return RH_OK;
  size_t room = 1;
  for (const char *p = options->cost_of; *p; p++)
    room += *p == '\n';
  costs->text = memory_need(strdup(options->cost_of));
  costs->list = memory_need(calloc(room, sizeof *costs->list));
  rh_status status = RH_OK;
  for (char *line = costs->text, *next; status == RH_OK && line; line = next, costs->len++) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (!parse_cost(line, &costs->list[costs->len])) status = fail(options->cost_of, costs->len);
  }
  return status;
}

void cost_of_free(CostOf *costs) {
  free(costs->list);
  free(costs->text);
}
