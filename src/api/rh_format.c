/* rh_format: for modules as they were read, and for those that were changed since. */
#include "ir/handle.h"
#include "ir/text_buffer.h"
#include "text/format.h"

/* What was changed is only in the graph: it is printed and read again first. */
static rh_status format_rendered(const rh_module *module, const rh_format_options *options,
                                 rh_write_fn write, void *context) {
  TextBuffer buffer = {.arena = arena_new(arena_options(module->arena))};
  rh_status status = rh_print(module, text_take, &buffer);
  const ArenaOptions *memory = arena_options(module->arena);
  rh_parse_options parse = RH_PARSE_OPTIONS_INIT;
  parse.max_memory_bytes = memory->max_bytes;
  parse.on_out_of_memory = memory->on_oom;
  parse.context = memory->context;
  rh_module *again = NULL;
  if (status == RH_OK) {
    status = rh_parse(buffer.chars.data, buffer.chars.len, &parse, &again, NULL);
  }
  if (status == RH_OK) status = rh_format(again, options, write, context);
  rh_module_free(again);
  arena_free(buffer.arena);
  return status == RH_OK ? RH_OK : RH_ERR_SYSTEM;
}

rh_status rh_format(const rh_module *module, const rh_format_options *options, rh_write_fn write,
                    void *context) {
  rh_format_options chosen = RH_FORMAT_OPTIONS_INIT;
  if (options) chosen = *options;
  if (chosen.is_short) chosen.omit_metadata = true;
  if (module->is_rendered) return format_rendered(module, &chosen, write, context);
  Writer writer;
  writer_init(&writer, write, context);
  Arena *scratch = arena_new(arena_options(module->arena));
  text_format(module->module, &chosen, &writer, scratch);
  arena_free(scratch);
  return writer_finish(&writer);
}
