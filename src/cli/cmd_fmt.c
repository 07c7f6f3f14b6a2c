#include "command.h"
#include "write_module.h"

static rh_status format(const rh_module *module, const Options *options, Output *output) {
  rh_format_options layout = {.is_short = options->is_short,
                              .omit_metadata = options->no_metadata,
                              .omit_locations = options->strip_locations};
  return rh_format(module, &layout, output_write, output);
}

rh_status cmd_fmt(const Options *options) {
  return write_module(options, format);
}
