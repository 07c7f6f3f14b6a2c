#include "command.h"
#include "load.h"
#include "output.h"

rh_status cmd_fmt(const Options *options) {
  Loaded loaded;
  Output output;
  rh_status status = load_module(options->files[0], options, &loaded);
  if (status == RH_OK) status = output_open(options->output ? options->output : "-", &output);
  if (status == RH_OK) {
    rh_format_options format = {.is_short = options->is_short,
                                .omit_metadata = options->no_metadata,
                                .omit_locations = options->strip_locations};
    rh_status written = rh_format(loaded.module, &format, output_write, &output);
    status = output_close(&output, written == RH_OK);
  }
  load_free(&loaded);
  return status;
}
