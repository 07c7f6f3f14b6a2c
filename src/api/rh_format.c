/* rh_format(), for modules as they were read and for modules that were changed afterwards. */
#include "text/format.h"
#include "text/reparse.h"

#include "api/call.h"
#include "api/sized.h"

rh_status rh_format(const rh_module *module, const rh_format_options *given, rh_write_fn write,
                    void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_format_options options = RH_FORMAT_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_format_options", diags);
  if (status == RH_OK) status = call_take(call, module, NULL, &taken);
  if (status != RH_OK) return call_close(call, status);
  if (options.is_short) options.omit_metadata = true;
  Arena *scratch = arena_new(arena_options(taken->arena));
  /* A changed module exists only as a graph: it is printed and parsed first. */
  Module *again = NULL;
  if (taken->is_rendered) {
    status =
        module_reparse(taken->module, &taken->schedule, PRINT_SCHEDULED, &again, diags, scratch);
  }
  if (status == RH_OK) {
    Writer writer;
    writer_init(&writer, write, context);
    text_format(again ? again : taken->module, &options, &writer, scratch);
    status = writer_finish(&writer);
  }
  module_free(again);
  arena_free(scratch);
  return call_close(call, status);
}
