#include "emit/dot/filter.h"

#include <string.h>

#include "emit/human.h"

/* ---- reading ---- */

static const struct {
  const char *prefix;
  DotFilterKind kind;
} prefixes[] = {{"name:", DOT_FILTER_NAME},
                {"regex:", DOT_FILTER_REGEX},
                {"scope:", DOT_FILTER_SCOPE},
                {"computation:", DOT_FILTER_COMPUTATION}};

rh_status dot_filter_parse(const char *text, DotFilter *filter, rh_diags *diags, Arena *out) {
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
    if (filter->kind == DOT_FILTER_REGEX) {
      return expression_new(filter->text.data, &filter->expression, diags, out);
    }
    if (filter->kind == DOT_FILTER_SCOPE) {
      filter->num_parts = scope_split(filter->text, filter->parts);
    }
    return RH_OK;
  }
  filter->kind = DOT_FILTER_PEAK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                   "a graph shows peak, all, name:NAME, regex:EXPRESSION, scope:PATH or "
                   "computation:NAME, not '%.*s'",
                   MAX_EXPRESSION_CHARS, text);
}

/* ---- matching ---- */

static bool has_match(const DotFilter *filter, Str subject, Arena *scratch) {
  return expression_matches(filter->expression, human_utf8(subject, scratch), scratch);
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
