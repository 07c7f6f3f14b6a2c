#include "write_module.h"

#include "load.h"

rh_status write_module(const Options *options, ModuleWriter write) {
  Loaded loaded;
  Output output;
  rh_status status = load_module(options->files[0], options, &loaded);
  if (status == RH_OK)
    status = output_open(options->output ? options->output : "-", options, &output);
  if (status == RH_OK) {
    rh_status written = write(loaded.module, options, &output, loaded.diags);
    load_report(&loaded, written);
    status = output_close(&output, written == RH_OK);
  }
  load_free(&loaded);
  return status;
}
