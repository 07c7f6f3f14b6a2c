#include "command.h"
#include "exit_code.h"
#include "load.h"

/* Each module is checked first, so that a contradiction within a module is reported in its own
 * file. */
static rh_status compare(Loaded *before, Loaded *after, const Options *options) {
  rh_status status = load_report(before, rh_check(before->module, before->diags));
  if (status != RH_OK) return status;
  status = load_report(after, rh_check(after->module, after->diags));
  if (status != RH_OK) return status;
  rh_settings settings = RH_SETTINGS_INIT;
  rh_verify_options wanted = RH_VERIFY_OPTIONS_INIT;
  settings.copies = options->copies;
  wanted.ignore_schedule = options->schedule.ignore_schedule;
  return load_report(after,
                     rh_verify(before->module, after->module, &settings, &wanted, after->diags));
}

rh_status cmd_verify(const Options *options) {
  Loaded before = {0}, after = {0};
  rh_status status = load_module(options->files[0], options, &before);
  if (status == RH_OK) status = load_module(options->files[1], options, &after);
  if (status == RH_OK) {
    status = compare(&before, &after, options);
    if (is_answer(status) && !options->quiet) {
      printf("%s %s what %s computes\n", after.input.path,
             status == RH_OK ? "computes" : "is not shown to compute", before.input.path);
    }
  }
  load_free(&after);
  load_free(&before);
  return status;
}
