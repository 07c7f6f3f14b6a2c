#include "ir/diag.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/vec.h"

struct rh_diags {
  Arena *arena;
  VEC(rh_diag) list;
  rh_code code, warning_code; /* default kinds */
  bool is_out_of_memory;      /* out_of_memory is the last diagnostic, after the list */
  rh_diag out_of_memory;
  char out_of_memory_text[120];
};

rh_diags *diags_new(const ArenaOptions *options) {
  Arena *arena = arena_new(options);
  rh_diags *diags = arena_zalloc(arena, sizeof *diags);
  diags->arena = arena;
  return diags;
}

void rh_diags_free(rh_diags *diags) {
  if (diags) arena_free(diags->arena);
}

size_t rh_diags_len(const rh_diags *diags) {
  return diags ? (size_t)diags->list.len + diags->is_out_of_memory : 0;
}

const rh_diag *rh_diags_get(const rh_diags *diags, size_t index) {
  if (index >= rh_diags_len(diags)) return NULL;
  return index < diags->list.len ? &diags->list.data[index] : &diags->out_of_memory;
}

DiagsOwner diags_swap_owner(rh_diags *diags, DiagsOwner owner) {
  if (!diags) return (DiagsOwner){0};
  DiagsOwner before = {arena_swap_guard(diags->arena, owner.guard), diags->code,
                       diags->warning_code};
  diags->code = owner.code;
  diags->warning_code = owner.warning_code;
  return before;
}

void diags_note_out_of_memory(rh_diags *diags, size_t wanted_bytes, size_t limit_bytes) {
  if (!diags) return;
  char wanted[RH_FORMAT_CHARS], limit[RH_FORMAT_CHARS];
  rh_format_bytes(wanted_bytes < INT64_MAX ? (int64_t)wanted_bytes : INT64_MAX, wanted);
  rh_format_bytes(limit_bytes < INT64_MAX ? (int64_t)limit_bytes : INT64_MAX, limit);
  snprintf(diags->out_of_memory_text, sizeof diags->out_of_memory_text,
           "out of memory, %s more wanted%s%s", wanted, limit_bytes ? ", the limit is " : "",
           limit_bytes ? limit : "");
  diags->out_of_memory = (rh_diag){.severity = RH_SEVERITY_ERROR,
                                   .code = RH_CODE_OUT_OF_MEMORY,
                                   .message = diags->out_of_memory_text,
                                   .offset = RH_NO_OFFSET,
                                   .opener_offset = RH_NO_OFFSET,
                                   .wanted_bytes = wanted_bytes,
                                   .limit_bytes = limit_bytes};
  diags->is_out_of_memory = true;
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
      .code = place.code                        ? place.code
              : severity == RH_SEVERITY_WARNING ? diags->warning_code
                                                : diags->code,
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

rh_status diag_fail_unknown(rh_diags *diags, const char *noun, const char *name,
                            const char *const *names, size_t count) {
  const char *meant = rh_closest_word(name, names, count);
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_UNKNOWN_NAME, NO_OFFSET),
                   "there is no %s '%.100s'%s%s%s", noun, name, meant ? "; did you mean '" : "",
                   meant ? meant : "; remat-hlo list shows all", meant ? "'?" : "");
}

void diag_warn(rh_diags *diags, DiagPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(diags, RH_SEVERITY_WARNING, place, format, args);
  va_end(args);
}

void diag_note(rh_diags *diags, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(diags, RH_SEVERITY_NOTE, DIAG_NOWHERE, format, args);
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
