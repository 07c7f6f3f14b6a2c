/* The public functions that read and print modules. */
#include "text/parse.h"

#include "api/arguments.h"
#include "api/call.h"
#include "api/module.h"
#include "api/sized.h"
#include "text/print.h"

rh_status rh_parse(const char *text, size_t length, const rh_parse_options *given,
                   rh_module **module, rh_diags *diags) {
  *module = NULL;
  CALL_OPEN(call, diags, RH_CODE_SYNTAX);
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  rh_status status = sized_read(&options, sizeof options, given, "rh_parse_options", diags);
  if (status == RH_OK) {
    status = check_choice((int)options.copies, RH_COPIES_PENDING + 1, "copies", diags);
  }
  if (status != RH_OK) return call_close(call, status);
  ArenaOptions memory = call_memory(call, options.max_memory_bytes);
  uint32_t max_errors = options.max_errors ? options.max_errors : 1;
  Module *parsed = NULL;
  status = text_parse_all(text, length, &memory, max_errors, &parsed, diags);
  if (status != RH_OK) return call_close(call, status);
  parsed->source->copies = (CopyStage)options.copies;
  rh_module *handle = handle_new(parsed);
  if (parsed->source->header.is_scheduled) {
    handle->schedule = schedule_in_text_order(parsed, handle->arena);
    handle->has_schedule = true;
  }
  *module = module_finish(handle);
  return call_close(call, RH_OK);
}

/* XLA's parser refuses one word that XLA prints. */
static void warn_of_unreadable(const Module *module, rh_diags *diags) {
  uint32_t count = 0;
  InstId first = NO_ID;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->flags & INST_DEAD || !inst_has_unspecified_api(module, id)) continue;
    if (count++ == 0) first = id;
  }
  if (count == 0) return;
  Str name = inst_name(module, first);
  diag_warn(diags, DIAG_ABOUT(RH_CODE_UNREADABLE, NO_OFFSET),
            "XLA's parser will refuse the text, although XLA has printed it so: '%.*s' has "
            "api_version=API_VERSION_UNSPECIFIED%s; without the attribute it takes "
            "API_VERSION_ORIGINAL",
            (int)(name.len > 64 ? 64 : name.len), name.data, count == 1 ? "" : ", as have others");
}

rh_status rh_print(const rh_module *module, rh_write_fn write, void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_status status = call_take(call, module, NULL, &taken);
  if (status != RH_OK) return call_close(call, status);
  Arena *scratch = arena_new(arena_options(taken->arena));
  Writer writer;
  writer_init(&writer, write, context);
  if (taken->is_rendered) {
    text_print(taken->module, &taken->schedule, PRINT_SCHEDULED, &writer, scratch);
  } else {
    text_print(taken->module, NULL, PRINT_AS_READ, &writer, scratch);
  }
  arena_free(scratch);
  warn_of_unreadable(taken->module, diags);
  return call_close(call, writer_finish(&writer));
}
