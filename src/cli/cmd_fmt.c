#include "command.h"
#include "write_module.h"

static rh_status format(const rh_module *module, const Options *options, Output *output,
                        rh_diags *diags) {
  rh_format_options layout = RH_FORMAT_OPTIONS_INIT;
  layout.is_short = options->is_short;
  layout.omit_metadata = options->no_metadata;
  layout.omit_locations = options->strip_locations;
  return rh_format(module, &layout, output_write, output, diags);
}

rh_status cmd_fmt(const Options *options) {
  return write_module(options, format);
}
