#include "emit/dot_filter.h"

#include <string.h>

#include "emit/human.h"

enum {
  MAX_EXPRESSION_CHARS = 1000,
  MAX_REPETITIONS = 1000, /* regcomp copies what is counted: the product of all counts */
  MAX_SUBJECT_CHARS = 4000,
};

/* ---- reading ---- */

static const struct {
  const char *prefix;
  DotFilterKind kind;
} prefixes[] = {{"name:", DOT_FILTER_NAME},
                {"regex:", DOT_FILTER_REGEX},
                {"scope:", DOT_FILTER_SCOPE},
                {"computation:", DOT_FILTER_COMPUTATION}};

/* Behind a bracket expression `[…]`; at the end of the text when it is not closed. */
static const char *skip_bracket(const char *p) {
  p++;
  if (*p == '^') p++;
  if (*p == ']') p++;
  while (*p && *p != ']') {
    char kind = p[1];
    if (*p == '[' && (kind == ':' || kind == '.' || kind == '=')) {
      p += 2;
      while (*p && !(*p == kind && p[1] == ']'))
        p++;
      if (*p) p++;
    }
    if (*p) p++;
  }
  return *p ? p + 1 : p;
}

/* The larger count of `{m,n}`, 1 when there is none. */
static int64_t repetitions(const char *p) {
  int64_t most = 1, count = 0;
  for (p++; (*p >= '0' && *p <= '9') || *p == ','; p++) {
    count = *p == ',' ? 0 : count * 10 + (*p - '0');
    if (count > MAX_REPETITIONS) return count;
    if (count > most) most = count;
  }
  return most;
}

/* What is wrong with an expression that regcomp might take; NULL when nothing is. */
static const char *fault_of_expression(const char *expression) {
  int64_t product = 1;
  if (strlen(expression) > MAX_EXPRESSION_CHARS) return "it is too long";
  for (const char *p = expression; *p;) {
    if (*p == '[') {
      p = skip_bracket(p);
      continue;
    }
    if (*p == '\\' && p[1]) {
      if (p[1] >= '1' && p[1] <= '9') return "back references are not supported";
      p += 2;
      continue;
    }
    if (*p == '{') product *= repetitions(p);
    if (product > MAX_REPETITIONS) return "it repeats too often";
    p++;
  }
  return NULL;
}

static rh_status parse_expression(DotFilter *filter, rh_diags *diags) {
  const char *expression = filter->text.data;
  const char *fault = fault_of_expression(expression);
  char text[200];
  if (!fault) {
    int error = regcomp(&filter->expression, expression, REG_EXTENDED | REG_NOSUB);
    if (error == 0) return RH_OK;
    regerror(error, &filter->expression, text, sizeof text);
    fault = text;
  }
  return diag_fail(diags, RH_ERR_USAGE, DIAG_NOWHERE, "the regular expression '%.*s': %s",
                   MAX_EXPRESSION_CHARS, expression, fault);
}

rh_status dot_filter_parse(const char *text, DotFilter *filter, rh_diags *diags) {
  *filter = (DotFilter){.kind = DOT_FILTER_PEAK, .text = STR("")};
  if (strcmp(text, "peak") == 0) return RH_OK;
  filter->kind = DOT_FILTER_ALL;
  if (strcmp(text, "all") == 0) return RH_OK;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t len = strlen(prefixes[i].prefix);
    if (strncmp(text, prefixes[i].prefix, len) != 0 || !text[len]) continue;
    filter->kind = prefixes[i].kind;
    if (filter->kind == DOT_FILTER_NAME || filter->kind == DOT_FILTER_COMPUTATION) {
      len += text[len] == '%' && text[len + 1];
    }
    filter->text = str_make(text + len, strlen(text + len));
    if (filter->kind == DOT_FILTER_REGEX) return parse_expression(filter, diags);
    if (filter->kind == DOT_FILTER_SCOPE) {
      filter->num_parts = scope_split(filter->text, filter->parts);
    }
    return RH_OK;
  }
  filter->kind = DOT_FILTER_PEAK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_NOWHERE,
                   "a graph shows peak, all, name:NAME, regex:EXPRESSION, scope:PATH or "
                   "computation:NAME, not '%.*s'",
                   MAX_EXPRESSION_CHARS, text);
}

void dot_filter_free(DotFilter *filter) {
  if (filter->kind == DOT_FILTER_REGEX) regfree(&filter->expression);
}

/* ---- matching ---- */

static bool has_match(const DotFilter *filter, Str subject, Arena *scratch) {
  Str clean = human_utf8(subject, scratch);
  uint32_t len = clean.len < MAX_SUBJECT_CHARS ? clean.len : MAX_SUBJECT_CHARS;
  return regexec(&filter->expression, arena_strndup(scratch, clean.data, len), 0, NULL, 0) == 0;
}

static bool is_in_scope(const DotFilter *filter, Str op_name) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = scope_split(op_name, parts);
  for (uint32_t i = 0; i + filter->num_parts <= num_parts; i++) {
    uint32_t k = 0;
    while (k < filter->num_parts && str_equal(parts[i + k], filter->parts[k]))
      k++;
    if (k == filter->num_parts) return filter->num_parts > 0;
  }
  return false;
}

bool dot_filter_matches(const DotFilter *filter, Places *places, InstId id, Arena *scratch) {
  const Module *module = places->module;
  ArenaMark mark = arena_mark(scratch);
  bool is_match = false;
  switch (filter->kind) {
    case DOT_FILTER_NAME: is_match = str_equal(inst_name(module, id), filter->text); break;
    case DOT_FILTER_COMPUTATION:
      is_match = str_equal(comp_name(module, inst_get(module, id)->parent), filter->text);
      break;
    case DOT_FILTER_REGEX:
    case DOT_FILTER_SCOPE: {
      Str op_name = human_source_place(module, report_place(places, id, NO_ID), scratch).op_name;
      is_match = filter->kind == DOT_FILTER_SCOPE
                     ? is_in_scope(filter, op_name)
                     : has_match(filter, inst_name(module, id), scratch) ||
                           has_match(filter, op_name, scratch);
      break;
    }
    default: break;
  }
  arena_reset(scratch, mark);
  return is_match;
}
