#include "times_file.h"

#include <string.h>

#include "messages.h"

/* Says which modules there are. */
static rh_status fail_module(const Loaded *loaded, const char *path) {
  enum { MOST_NAMES = 5 };
  size_t count;
  const rh_timed_module *const *modules = rh_times_modules(loaded->times, &count);
  rh_text name = rh_get_info(loaded->module)->name;
  messages_say(&loaded->input, RH_SEVERITY_ERROR, "the profile %s has no module '%.*s'", path,
               (int)name.length, name.data);
  for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
    messages_say(&loaded->input, RH_SEVERITY_NOTE, "it has '%.*s'", (int)modules[i]->name.length,
                 modules[i]->name.data);
  }
  return RH_ERR_INPUT;
}

static bool has_module(const rh_times *times, rh_text name) {
  size_t count;
  const rh_timed_module *const *modules = rh_times_modules(times, &count);
  for (size_t i = 0; i < count; i++) {
    rh_text other = modules[i]->name;
    if (other.length == name.length && memcmp(other.data, name.data, name.length) == 0) return true;
  }
  return false;
}

static rh_status read_times(const char *path, const Options *options, Loaded *loaded) {
  Input input;
  rh_diags *diags = rh_diags_new();
  rh_status status =
      input_read_beginning(path, (MessageForm)options->diagnostics, SIZE_MAX, &input);
  if (status == RH_OK) status = rh_times_parse(input.text, input.length, &loaded->times, diags);
  messages_print(&input, diags);
  rh_diags_free(diags);
  input_free(&input);
  return status;
}

/* A profile may have modules that did not run while it was made. */
rh_status times_file_load(const char *path, const Options *options, Loaded *loaded) {
  rh_status status = load_to_measure(path, options, loaded);
  const char *from = options->times ? options->times : input_is_profile(path) ? path : NULL;
  if (status != RH_OK || !from) return status;
  status = read_times(from, options, loaded);
  if (status != RH_OK) return status;
  bool is_timed = has_module(loaded->times, rh_get_info(loaded->module)->name);
  if (!is_timed && options->times) return fail_module(loaded, options->times);
  if (is_timed) loaded->settings.times = loaded->times;
  return RH_OK;
}

rh_status times_file_scale(const Options *options, const Loaded *loaded, const rh_profile *profile,
                           rh_profile **own) {
  if (!loaded->settings.times) return RH_OK;
  rh_profile *scaled = NULL;
  rh_status status = rh_profile_scaled(profile, loaded->module, &loaded->settings,
                                       options->trip_count, &scaled, loaded->diags);
  if (status != RH_OK) return status;
  rh_profile_free(*own);
  *own = scaled;
  return RH_OK;
}
