#include "load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "dump_pass.h"
#include "memory.h"
#include "messages.h"
#include "path.h"

rh_status load_text(const char *path, const Options *options, Loaded *loaded) {
  *loaded = (Loaded){.diags = memory_need(rh_diags_new()), .settings = RH_SETTINGS_INIT};
  return input_read(path, (MessageForm)options->diagnostics, &loaded->input);
}

rh_parse_options load_parse_options(const Options *options) {
  rh_parse_options parse = RH_PARSE_OPTIONS_INIT;
  parse.max_memory_bytes = (size_t)options->max_memory_bytes;
  parse.max_errors = (uint32_t)options->max_errors;
  return parse;
}

/* ---- what lies beside a module ---- */

static bool say_if_there(const Input *input, const char *stem, size_t length, const char *ending) {
  char *path = malloc(length + strlen(ending) + 1);
  if (!path) return false;
  memcpy(path, stem, length);
  strcpy(path + length, ending);
  bool is_there = access(path, R_OK) == 0;
  if (is_there) messages_say(input, RH_SEVERITY_NOTE, "the module is in %s", path);
  free(path);
  return is_there;
}

/* For a report that XLA has written beside a module, names the module's file. Of XLA:TPU's, the one
 * from before memory-space assignment is what can be rematerialized. */
static void say_what_is_beside(const Input *input, const char *path) {
  static const char *const reports[] = {"-buffer-assignment.txt", "-live-range.txt",
                                        "-memory-usage-report.txt"};
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
    if (!path_ends_in(path, reports[i])) continue;
    size_t length = strlen(path) - strlen(reports[i]);
    if (!say_if_there(input, path, length, "_before_buffer_assignment.txt"))
      say_if_there(input, path, length, ".txt");
  }
}

rh_status load_module(const char *path, const Options *options, Loaded *loaded) {
  rh_status status = load_text(path, options, loaded);
  if (status != RH_OK) return status;
  rh_parse_options parse = load_parse_options(options);
  parse.copies = dump_pass_copies(path);
  status =
      rh_parse(loaded->input.text, loaded->input.length, &parse, &loaded->module, loaded->diags);
  load_report(loaded, status);
  if (status == RH_ERR_INPUT) say_what_is_beside(&loaded->input, path);
  return status;
}

rh_status load_to_measure(const char *path, const Options *options, Loaded *loaded) {
  rh_status status = load_module(path, options, loaded);
  if (status != RH_OK) return status;
  rh_settings *settings = &loaded->settings;
  bool is_open = strcmp(options->target, "auto") == 0;
  settings->target = is_open ? rh_guess_target(loaded->module) : options->target;
  settings->copies = options->copies;
  settings->device = device_is_auto(options) ? dump_device(&loaded->input, settings->target).name
                                             : options->device;
  settings->heap_limit_bytes = options->pack.heap_limit_bytes;
  settings->packing = options->packing;
  settings->frames = (rh_frames)options->frames;
  settings->library = options->library;
  if (options->packing) settings->max_pack_steps = options->pack.max_steps;
  status = cost_of_read(options, &loaded->costs);
  settings->costs = loaded->costs.list;
  settings->num_costs = loaded->costs.len;
  if (status == RH_OK) status = rh_check_settings(settings, loaded->diags);
  return load_report(loaded, status);
}

rh_status load_report(Loaded *loaded, rh_status status) {
  messages_print(&loaded->input, loaded->diags);
  rh_diags_free(loaded->diags);
  loaded->diags = memory_need(rh_diags_new());
  return status;
}

void load_warn_of_figures(const Loaded *loaded, const Options *options) {
  rh_module_info info = *rh_get_info(loaded->module);
  if (options->quiet) return;
  if (!info.is_optimized) {
    messages_say(&loaded->input, RH_SEVERITY_WARNING,
                 "not optimized yet, nothing is fused: the peak is an upper estimate; the dump "
                 "named after_optimizations is what runs");
  }
  if (info.has_sharding_calls && info.num_partitions > 1) {
    messages_say(&loaded->input, RH_SEVERITY_WARNING,
                 "not partitioned yet: shapes and bytes are those of all devices together");
  }
}

void load_free(Loaded *loaded) {
  rh_module_free(loaded->module);
  cost_of_free(&loaded->costs);
  rh_times_free(loaded->times);
  rh_diags_free(loaded->diags);
  input_free(&loaded->input);
}
