#include "spaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_text.h"
#include "memory.h"

static void collect(void *context, const rh_space *space) {
  Spaces *spaces = context;
  spaces->list = memory_need(realloc(spaces->list, (spaces->len + 1) * sizeof *spaces->list));
  spaces->list[spaces->len++] = *space;
}

rh_status spaces_collect(const rh_module *module, const rh_settings *settings, Spaces *spaces,
                         rh_diags *diags) {
  spaces_free(spaces);
  return rh_visit_spaces(module, settings, collect, spaces, diags);
}

void spaces_free(Spaces *spaces) {
  free(spaces->list);
  *spaces = (Spaces){0};
}

const rh_space *spaces_find(const Spaces *spaces, int64_t number) {
  for (size_t i = 0; i < spaces->len; i++) {
    if (spaces->list[i].number == number) return &spaces->list[i];
  }
  return NULL;
}

bool spaces_are_assigned(const Spaces *spaces) {
  enum { VMEM = 1 };
  return spaces_find(spaces, VMEM) != NULL;
}

void space_label(const rh_space *space, char label[SPACE_LABEL_CHARS]) {
  snprintf(label, SPACE_LABEL_CHARS, "%.*s%sS(%" PRId64 ")", (int)space->name.length,
           space->name.data ? space->name.data : "", space->name.length ? ", " : "", space->number);
}

void json_add_space_figures(cJSON *object, const rh_space *space) {
  static const rh_space none;
  if (!space) space = &none;
  json_add_int(object, "bytes", space->bytes);
  json_add_int(object, "peak_bytes", space->peak_bytes);
  json_add_known_text(object, "peak_instruction", space->peak_instruction);
  json_add_int(object, "values", (int64_t)space->num_values);
}

void json_add_space(cJSON *object, const rh_space *space) {
  json_add_int(object, "space", space->number);
  json_add_known_text(object, "name", space->name);
}
