#include "command.h"
#include "exit_code.h"
#include "load.h"
#include "rows.h"

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
  wanted.any_rounding = options->any_rounding;
  return rh_verify(before->module, after->module, &settings, &wanted, after->diags);
}

/* `reason` is why the modules are not shown to be equivalent. */
static rh_status write_rows(const Loaded *before, const Loaded *after, rh_status verdict,
                            const Options *options) {
  static const char *const columns[] = {"before", "after", "equivalent", "reason", NULL};
  Rows rows;
  rh_status status = rows_open(columns, options->csv, options->json, options, &rows);
  if (status == RH_OK) {
    bool has_reason = verdict != RH_OK && rh_diags_len(after->diags) > 0;
    rows.is_one = true;
    rows_word(&rows, before->input.path);
    rows_word(&rows, after->input.path);
    rows_bool(&rows, verdict == RH_OK);
    rows_word(&rows, has_reason ? rh_diags_get(after->diags, 0)->message : NULL);
  }
  rh_status closed = rows_close(&rows, status == RH_OK);
  return closed > status ? closed : status;
}

static void print_verdict(const Loaded *before, const Loaded *after, rh_status verdict,
                          const Options *options) {
  bool is_taken = output_is_stdout(options->json) || output_is_stdout(options->csv);
  fprintf(is_taken ? stderr : stdout, "%s %s what %s computes\n", after->input.path,
          verdict == RH_OK ? "computes" : "is not shown to compute", before->input.path);
}

/* Returns the verdict, or what went wrong. */
static rh_status verify(Loaded *before, Loaded *after, const Options *options) {
  rh_status verdict = compare(before, after, options), written = RH_OK;
  if (is_answer(verdict)) written = write_rows(before, after, verdict, options);
  load_report(after, verdict);
  if (is_answer(verdict) && !options->quiet) print_verdict(before, after, verdict, options);
  return written == RH_OK ? verdict : written;
}

rh_status cmd_verify(const Options *options) {
  const char *paths[] = {options->json, options->csv};
  Loaded before = {0}, after = {0};
  rh_status status = output_check(paths, sizeof paths / sizeof *paths);
  if (status == RH_OK) status = load_module(options->files[0], options, &before);
  if (status == RH_OK) status = load_module(options->files[1], options, &after);
  if (status == RH_OK) status = verify(&before, &after, options);
  load_free(&after);
  load_free(&before);
  return status;
}
