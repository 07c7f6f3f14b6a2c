/* The public functions of this stage. */
#include "ir/handle.h"
#include "text/parse.h"
#include "text/print.h"

rh_status rh_parse(const char *text, size_t length, const rh_parse_options *options,
                   rh_module **module, rh_diags *diags) {
  ArenaOptions arena_options = {0};
  uint32_t max_errors = options && options->max_errors ? options->max_errors : 1;
  if (options) {
    arena_options = (ArenaOptions){.max_bytes = options->max_memory_bytes,
                                   .on_oom = options->on_out_of_memory,
                                   .context = options->context};
  }
  Module *parsed = NULL;
  rh_status status = text_parse_all(text, length, &arena_options, max_errors, &parsed, diags);
  if (status != RH_OK) return status;
  *module = handle_new(parsed);
  if (parsed->source->header.is_scheduled) {
    (*module)->schedule = schedule_in_text_order(parsed, (*module)->arena);
    (*module)->has_schedule = true;
  }
  return RH_OK;
}

rh_status rh_print(const rh_module *module, rh_write_fn write, void *context) {
  Writer writer;
  writer_init(&writer, write, context);
  Arena *scratch = arena_new(arena_options(module->arena));
  if (module->is_rendered) {
    text_print(module->module, &module->schedule, PRINT_SCHEDULED, &writer, scratch);
  } else {
    text_print(module->module, NULL, PRINT_AS_READ, &writer, scratch);
  }
  arena_free(scratch);
  return writer_finish(&writer);
}
