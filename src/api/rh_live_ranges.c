/* The public functions of text/live_range_csv.h. */
#include "text/live_range_csv.h"

#include "api/call.h"
#include "api/sized.h"

rh_status rh_live_ranges_parse(const char *text, size_t length, const rh_parse_options *given,
                               rh_live_ranges **ranges, rh_diags *diags) {
  *ranges = NULL;
  CALL_OPEN(call, diags, RH_CODE_TABLE);
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  rh_live_ranges *parsed = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_parse_options", diags);
  if (status == RH_OK) {
    ArenaOptions memory = call_memory(call, options.max_memory_bytes);
    status = live_ranges_read(text, length, options.max_errors ? options.max_errors : 1, &memory,
                              &parsed, diags);
  }
  *ranges = parsed;
  return call_close(call, status);
}

rh_status rh_live_ranges_print(const rh_live_ranges *ranges, const int64_t *offsets,
                               const uint32_t *heaps, rh_write_fn write, void *context,
                               rh_diags *diags) {
  (void)diags; /* only `write` can fail */
  Writer writer;
  writer_init(&writer, write, context);
  live_ranges_write(ranges, offsets, heaps, &writer);
  return writer_finish(&writer);
}
