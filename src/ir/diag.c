#include "ir/diag.h"

#include <stdio.h>
#include <string.h>

#include "ir/vec.h"

struct rh_diags {
  Arena *arena;
  VEC(rh_diag) list;
};

rh_diags *rh_diags_new(void) {
  Arena *arena = arena_new(NULL);
  rh_diags *diags = arena_zalloc(arena, sizeof *diags);
  diags->arena = arena;
  return diags;
}

void rh_diags_free(rh_diags *diags) {
  if (diags) arena_free(diags->arena);
}

size_t rh_diags_len(const rh_diags *diags) {
  return diags->list.len;
}

rh_diag rh_diags_get(const rh_diags *diags, size_t index) {
  return diags->list.data[index];
}

void diag_add(rh_diags *diags, rh_severity severity, DiagPlace place, const char *format,
              va_list args) {
  if (!diags) return;
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  char *message = arena_alloc(diags->arena, (size_t)length + 1);
  vsnprintf(message, (size_t)length + 1, format, again);
  va_end(again);
  *vec_push(diags->arena, &diags->list) = (rh_diag){
      .severity = severity,
      .message = message,
      .offset = place.offset == NO_OFFSET ? RH_NO_OFFSET : place.offset,
      .opener_offset = place.opener == NO_OFFSET ? RH_NO_OFFSET : place.opener,
  };
}

rh_status diag_fail(rh_diags *diags, rh_status status, DiagPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(diags, RH_SEVERITY_ERROR, place, format, args);
  va_end(args);
  return status;
}

void diag_warn(rh_diags *diags, DiagPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(diags, RH_SEVERITY_WARNING, place, format, args);
  va_end(args);
}

void diag_set_rule(rh_diags *diags, const char *rule) {
  if (diags) diags->list.data[diags->list.len - 1].rule = rule;
}

void rh_locate(const char *text, size_t length, size_t offset, size_t *line, size_t *column) {
  if (offset > length) offset = length;
  size_t lines = 1, line_begin = 0;
  const char *end = text + offset;
  for (const char *p = text; p < end;) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    if (!newline) break;
    lines++;
    p = newline + 1;
    line_begin = (size_t)(p - text);
  }
  *line = lines;
  *column = offset - line_begin + 1;
}
