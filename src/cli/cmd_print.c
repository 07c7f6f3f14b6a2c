#include "command.h"
#include "write_module.h"

static rh_status print(const rh_module *module, const Options *options, Output *output,
                       rh_diags *diags) {
  (void)options;
  return rh_print(module, output_write, output, diags);
}

rh_status cmd_print(const Options *options) {
  return write_module(options, print);
}
