/* The public function that writes a result as a protocol buffer. */
#include "api/call.h"
#include "api/sized.h"
#include "text/reparse.h"

#ifdef REMAT_HLO_PROTO
#include "emit/proto/patch.h"

/* What a module was copied from is as it was read. */
static const Module *module_that_was_parsed(const Module *module) {
  while (module->parent)
    module = module->parent;
  return module;
}

static rh_status patch(const rh_module *before, const rh_module *after, const void *proto,
                       size_t length, const rh_patch_options *options, Writer *out,
                       rh_diags *diags) {
  Arena *scratch = arena_new(arena_options(after->arena));
  Module *again = NULL;
  rh_status status = RH_OK;
  if (after->is_rendered) {
    status =
        module_reparse(after->module, &after->schedule, PRINT_SCHEDULED, &again, diags, scratch);
  }
  ProtoInput input = {module_that_was_parsed(before->module), proto, length};
  ProtoMark mark = {options->attribute, options->value};
  if (status == RH_OK)
    status = proto_patch(&input, again ? again : after->module, &mark, out, diags, scratch);
  module_free(again);
  arena_free(scratch);
  return status;
}
#else
static rh_status patch(const rh_module *before, const rh_module *after, const void *proto,
                       size_t length, const rh_patch_options *options, Writer *out,
                       rh_diags *diags) {
  (void)before, (void)after, (void)proto, (void)length, (void)options, (void)out;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NOT_BUILT, NO_OFFSET),
                   "this build of the library does not write protocol buffers");
}
#endif

rh_status rh_patch_proto(const rh_module *before, const rh_module *after, const void *proto,
                         size_t length, const rh_patch_options *given, rh_write_fn write,
                         void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_patch_options options = RH_PATCH_OPTIONS_INIT;
  const rh_module *taken_before = NULL, *taken_after = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_patch_options", diags);
  if (status == RH_OK) status = call_take(call, before, NULL, &taken_before);
  if (status == RH_OK) status = call_take(call, after, NULL, &taken_after);
  if (status == RH_OK && (options.attribute != NULL) != (options.value != NULL)) {
    status = diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                       "attribute and value are given together, or neither of them");
  }
  if (status == RH_OK) {
    Writer writer;
    writer_init(&writer, write, context);
    status = patch(taken_before, taken_after, proto, length, &options, &writer, diags);
    if (status == RH_OK) status = writer_finish(&writer);
  }
  return call_close(call, status);
}
