#include "copies_warning.h"

#include <inttypes.h>

#include "memory.h"
#include "messages.h"

static bool is_inserted(const rh_module *scheduled) {
  return rh_get_info(scheduled)->copies == RH_COPIES_INSERTED;
}

const char *copies_word(const rh_module *scheduled) {
  return is_inserted(scheduled) ? "inserted" : "pending";
}

const char *copies_reason(const rh_module *scheduled, const Options *options) {
  if (options->copies == RH_COPIES_AUTO) return rh_get_info(scheduled)->copies_reason;
  return options->apply_plan ? "--copies or the plan says so" : "--copies says so";
}

bool copies_are_open(const rh_module *scheduled) {
  return !rh_get_info(scheduled)->copies_are_sure;
}

/* The peak if the other answer is right; -1 if it cannot be measured. What there is to say about
 * the module has been said when it was measured for the first answer. */
static int64_t other_peak(const Loaded *loaded, const rh_module *scheduled,
                          const Options *options) {
  rh_settings settings = loaded->settings;
  settings.copies = is_inserted(scheduled) ? RH_COPIES_PENDING : RH_COPIES_INSERTED;
  rh_diags *ignored = memory_need(rh_diags_new());
  rh_module *other = NULL;
  rh_memory memory = RH_MEMORY_INIT;
  rh_status status = rh_schedule(loaded->module, &settings, &options->schedule, &other, ignored);
  if (status == RH_OK) {
    status = rh_measure_memory(other, &settings, options->remat.memory_model, &memory, ignored);
  }
  rh_module_free(other);
  messages_drop(&loaded->input, ignored);
  return status == RH_OK ? memory.peak_bytes : -1;
}

void copies_warn_of_peak(const Loaded *loaded, const rh_module *scheduled, const Options *options,
                         int64_t peak_bytes) {
  if (options->quiet || !copies_are_open(scheduled)) return;
  int64_t other_bytes = other_peak(loaded, scheduled, options);
  if (other_bytes < 0 || other_bytes == peak_bytes) return;
  char peak[RH_FORMAT_CHARS], other[RH_FORMAT_CHARS];
  rh_format_bytes(peak_bytes, peak);
  rh_format_bytes(other_bytes, other);
  messages_say(&loaded->input, RH_SEVERITY_WARNING,
               "it is not certain whether XLA has inserted its copies: with --copies=%s, which is "
               "assumed because %s, the peak is %s (%" PRId64
               " bytes), and with --copies=%s %s (%" PRId64 ")",
               copies_word(scheduled), rh_get_info(scheduled)->copies_reason, peak, peak_bytes,
               is_inserted(scheduled) ? "pending" : "inserted", other, other_bytes);
}

void copies_warn_of_result(const Loaded *loaded, const rh_module *scheduled, const Options *options,
                           const rh_module *result) {
  if (options->quiet || is_inserted(scheduled) || !copies_are_open(scheduled)) return;
  rh_diags *diags = memory_need(rh_diags_new());
  rh_status status = rh_verify(loaded->module, result, &loaded->settings, NULL, diags);
  if (status == RH_OK) {
    messages_print(&loaded->input, diags);
    rh_diags_free(diags);
  } else {
    messages_drop(&loaded->input, diags);
  }
}
