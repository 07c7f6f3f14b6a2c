/* The public function that writes the text of a protocol buffer. */
#include "api/call.h"
#include "ir/writer.h"

#ifdef REMAT_HLO_PROTO
#include "emit/proto/print.h"

static rh_status print(const void *proto, size_t length, Writer *out, Call *call, rh_diags *diags) {
  ArenaOptions memory = call_memory(call, 0);
  Arena *scratch = arena_new(&memory);
  Bytes data = {.len = proto ? length : 0, .data = (uint8_t *)(uintptr_t)proto};
  rh_status status = proto_print(data, out, diags, scratch);
  arena_free(scratch);
  return status;
}
#else
static rh_status print(const void *proto, size_t length, Writer *out, Call *call, rh_diags *diags) {
  (void)proto, (void)length, (void)out, (void)call;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NOT_BUILT, NO_OFFSET),
                   "this build of the library does not read protocol buffers");
}
#endif

rh_status rh_print_proto(const void *proto, size_t length, rh_write_fn write, void *context,
                         rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  Writer writer;
  writer_init(&writer, write, context);
  rh_status status = print(proto, length, &writer, call, diags);
  if (status == RH_OK) status = writer_finish(&writer);
  return call_close(call, status);
}
