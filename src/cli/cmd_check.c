#include "bounds.h"
#include "command.h"
#include "load.h"
#include "messages.h"

static rh_status lint(Loaded *loaded, const Options *options) {
  rh_lint_options chosen = RH_LINT_OPTIONS_INIT;
  chosen.is_strict = options->strict;
  chosen.max_findings = (uint64_t)options->max_errors;
  uint64_t num_findings;
  rh_status status = rh_lint(loaded->module, &chosen, &num_findings, loaded->diags);
  uint64_t num_shown = rh_diags_len(loaded->diags);
  load_report(loaded, status);
  if (num_findings <= num_shown) return status;
  char count[RH_FORMAT_CHARS];
  rh_format_count(num_findings - num_shown, count);
  messages_say(&loaded->input, RH_SEVERITY_NOTE, "%s more findings; --max-errors shows more",
               count);
  return status;
}

static rh_status check_file(const char *path, const Options *options) {
  Loaded loaded;
  rh_status status = load_to_measure(path, options, &loaded);
  if (status == RH_OK) status = lint(&loaded, options);
  if (status == RH_OK && !options->quiet) {
    rh_module_info info = *rh_get_info(loaded.module);
    char computations[RH_FORMAT_CHARS], instructions[RH_FORMAT_CHARS];
    rh_format_count(info.num_computations, computations);
    rh_format_count(info.num_instructions, instructions);
    fprintf(bounds_summary(options), "%s: %.*s, computations: %s, instructions: %s%s\n",
            loaded.input.path, (int)info.name.length, info.name.data, computations, instructions,
            info.is_scheduled ? ", scheduled" : "");
  }
  if (status == RH_OK && bounds_are_given(options)) status = bounds_check(&loaded, options);
  load_free(&loaded);
  return status;
}

rh_status cmd_check(const Options *options) {
  rh_status worst = bounds_check_options(options);
  if (worst != RH_OK) return worst;
  for (size_t i = 0; i < options->num_files; i++) {
    rh_status status = check_file(options->files[i], options);
    if (status > worst) worst = status;
  }
  return worst;
}
