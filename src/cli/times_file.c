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

rh_status times_file_read(const Options *options, Loaded *loaded) {
  if (!options->times) return RH_OK;
  Input input;
  rh_diags *diags = rh_diags_new();
  rh_status status =
      input_read_beginning(options->times, (MessageForm)options->diagnostics, SIZE_MAX, &input);
  if (status == RH_OK) status = rh_times_parse(input.text, input.length, &loaded->times, diags);
  messages_print(&input, diags);
  rh_diags_free(diags);
  input_free(&input);
  loaded->settings.times = loaded->times;
  if (status != RH_OK || has_module(loaded->times, rh_get_info(loaded->module)->name))
    return status;
  return fail_module(loaded, options->times);
}

rh_status times_file_scale(const Options *options, const Loaded *loaded, const rh_profile *profile,
                           rh_profile **own) {
  if (!options->times) return RH_OK;
  rh_profile *scaled = NULL;
  rh_status status = rh_profile_scaled(profile, loaded->module, &loaded->settings,
                                       options->trip_count, &scaled, loaded->diags);
  if (status != RH_OK) return status;
  rh_profile_free(*own);
  *own = scaled;
  return RH_OK;
}
