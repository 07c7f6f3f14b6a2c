#include "copies_warning.h"

#include <inttypes.h>

#include "messages.h"

static bool is_inserted(const Loaded *loaded) {
  rh_copies given = loaded->settings.copies;
  if (given == RH_COPIES_AUTO) given = rh_get_info(loaded->module)->copies;
  return given == RH_COPIES_INSERTED;
}

const char *copies_word(const Loaded *loaded) {
  return is_inserted(loaded) ? "inserted" : "pending";
}

const char *copies_reason(const Loaded *loaded) {
  bool is_given = loaded->settings.copies != RH_COPIES_AUTO;
  return is_given ? "--copies says so" : rh_get_info(loaded->module)->copies_reason;
}

bool copies_are_open(const Loaded *loaded, const Options *options) {
  bool is_given = loaded->settings.copies != RH_COPIES_AUTO || options->apply_plan;
  return !is_given && !rh_get_info(loaded->module)->copies_are_sure;
}

static rh_settings other_settings(const Loaded *loaded) {
  rh_settings settings = loaded->settings;
  settings.copies = is_inserted(loaded) ? RH_COPIES_PENDING : RH_COPIES_INSERTED;
  return settings;
}

/* The peak if the other answer is right; -1 if it cannot be measured. What there is to say about
 * the module has been said when it was measured for the first answer. */
static int64_t other_peak(const Loaded *loaded, const Options *options) {
  rh_settings settings = other_settings(loaded);
  rh_diags *ignored = rh_diags_new();
  rh_module *scheduled = NULL;
  rh_memory memory = RH_MEMORY_INIT;
  rh_status status =
      rh_schedule(loaded->module, &settings, &options->schedule, &scheduled, ignored);
  if (status == RH_OK) {
    status = rh_measure_memory(scheduled, &settings, options->remat.memory_model, &memory, ignored);
  }
  rh_module_free(scheduled);
  messages_drop(&loaded->input, ignored);
  return status == RH_OK ? memory.peak_bytes : -1;
}

void copies_warn_of_peak(const Loaded *loaded, const Options *options, int64_t peak_bytes) {
  if (options->quiet || !copies_are_open(loaded, options)) return;
  int64_t other_bytes = other_peak(loaded, options);
  if (other_bytes < 0 || other_bytes == peak_bytes) return;
  char peak[RH_FORMAT_CHARS], other[RH_FORMAT_CHARS];
  rh_format_bytes(peak_bytes, peak);
  rh_format_bytes(other_bytes, other);
  messages_say(&loaded->input, RH_SEVERITY_WARNING,
               "it is not certain whether XLA has inserted its copies: with --copies=%s, which is "
               "assumed because %s, the peak is %s (%" PRId64
               " bytes), and with --copies=%s %s (%" PRId64 ")",
               copies_word(loaded), copies_reason(loaded), peak, peak_bytes,
               is_inserted(loaded) ? "pending" : "inserted", other, other_bytes);
}

static bool is_proven(const Loaded *loaded, const rh_module *result, const rh_settings *settings) {
  rh_diags *ignored = rh_diags_new();
  rh_status status = rh_verify(loaded->module, result, settings, NULL, ignored);
  messages_drop(&loaded->input, ignored);
  return status == RH_OK;
}

void copies_warn_of_result(const Loaded *loaded, const Options *options, const rh_module *result) {
  if (options->quiet || is_inserted(loaded) || !copies_are_open(loaded, options)) return;
  rh_settings inserted = other_settings(loaded);
  if (is_proven(loaded, result, &inserted) || !is_proven(loaded, result, &loaded->settings)) return;
  messages_say(&loaded->input, RH_SEVERITY_WARNING,
               "the result is right only if XLA has still to insert its copies, which is assumed "
               "because %s; if the module comes from after that, give --copies=inserted",
               copies_reason(loaded));
}
