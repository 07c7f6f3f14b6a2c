#include "text/reparse.h"

#include "ir/text_buffer.h"
#include "text/parse.h"

rh_status fail_internally(rh_diags *diags, const char *what) {
  return diag_fail(diags, RH_ERR_INTERNAL, DIAG_ABOUT(RH_CODE_INTERNAL, NO_OFFSET),
                   "internal error: %s; nothing is written. Please report this with the input",
                   what);
}

rh_status module_reparse(const Module *module, const Schedule *schedule, PrintOrder order,
                         Module **parsed, rh_diags *diags, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  TextBuffer buffer = {.arena = arena};
  Writer writer;
  writer_init(&writer, text_take, &buffer);
  text_print(module, schedule, order, &writer, scratch);
  rh_status status = writer_finish(&writer);
  if (status == RH_OK) {
    status = text_parse(buffer.chars.data, buffer.chars.len, arena_options(arena), parsed, diags);
    if (status == RH_OK) module_set_backend(*parsed, &module->backend);
  }
  if (status != RH_OK) {
    arena_free(arena);
    return fail_internally(diags, "the rewritten module cannot be read");
  }
  (*parsed)->text_arena = arena;
  return RH_OK;
}
