#include "ir/expression.h"

#include <string.h>

#include "ir/chars.h"

enum {
  /* The limit for the product of all counts, because regcomp copies what is repeated. */
  MAX_REPETITIONS = 1000,
  MAX_SUBJECT_CHARS = 4000,
};

/* Returns the end of a bracket expression `[…]`, or the end of the text if it is not closed. */
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

/* Returns the larger count of `{m,n}`, or 1 if there is none. */
static int64_t repetitions(const char *p) {
  int64_t most = 1, count = 0;
  for (p++; char_is_digit(*p) || *p == ','; p++) {
    count = *p == ',' ? 0 : count * 10 + (*p - '0');
    if (count > MAX_REPETITIONS) return count;
    if (count > most) most = count;
  }
  return most;
}

/* Returns what is wrong with an expression that regcomp may accept, or NULL. */
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

static void free_expression(void *expression) {
  regfree(expression);
}

rh_status expression_new(const char *text, const regex_t **expression, rh_diags *diags,
                         Arena *out) {
  const char *fault = fault_of_expression(text);
  char reason[200];
  if (!fault) {
    regex_t *made = arena_alloc(out, sizeof *made);
    void **owned = arena_own(out, free_expression);
    int error = regcomp(made, text, REG_EXTENDED | REG_NOSUB);
    if (error == REG_ESPACE) arena_fail(out, strlen(text));
    if (error == 0) {
      *expression = *owned = made;
      return RH_OK;
    }
    regerror(error, made, reason, sizeof reason);
    fault = reason;
  }
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_EXPRESSION, NO_OFFSET),
                   "the regular expression '%.*s': %s", MAX_EXPRESSION_CHARS, text, fault);
}

bool expression_matches(const regex_t *expression, Str subject, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t len = subject.len < MAX_SUBJECT_CHARS ? subject.len : MAX_SUBJECT_CHARS;
  const char *text = arena_strndup(scratch, subject.data, len);
  int error = regexec(expression, text, 0, NULL, 0);
  if (error == REG_ESPACE) arena_fail(scratch, len);
  arena_reset(scratch, mark);
  return error == 0;
}
