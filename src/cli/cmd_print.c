#include "command.h"
#include "load.h"
#include "output.h"

rh_status cmd_print(const Options *options) {
  Loaded loaded;
  Output output;
  rh_status status = load_module(options->files[0], options, &loaded);
  if (status == RH_OK) status = output_open(options->output ? options->output : "-", &output);
  if (status == RH_OK) {
    rh_status written = rh_print(loaded.module, output_write, &output);
    status = output_close(&output, written == RH_OK);
  }
  load_free(&loaded);
  return status;
}
