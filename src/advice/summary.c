#include "advice/summary.h"

#include <math.h>
#include <stdio.h>

#include "emit/human.h"
#include "ir/text_buffer.h"

static const char *bytes_text(int64_t bytes, Arena *out) {
  return arena_printf(out, "%s", human_bytes(bytes).text);
}

/* What it takes after a change: `about` where that may be off by more than a twentieth. */
static const char *after_text(const rh_remedy *remedy, Arena *out) {
  bool is_sure = remedy->usual_error <= 0.05;
  return arena_printf(out, "%s%s", is_sure ? "" : "about ", bytes_text(remedy->counted_bytes, out));
}

/* The change of the modelled time, as `+4 %`. */
static const char *time_text(double fraction, Arena *out) {
  double percent = 100 * fraction;
  if (fabs(percent) < 0.5) return "at the same modelled time";
  return arena_printf(out, "at %+.0f %% of modelled time", percent);
}

static const char *first_line(const rh_advice *advice, Arena *out) {
  const char *now = bytes_text(advice->counted_bytes, out);
  bool has_limit = advice->limit_bytes != INT64_MAX;
  const char *limit = has_limit ? bytes_text(advice->limit_bytes, out) : "";
  if (has_limit && advice->counted_bytes <= advice->limit_bytes)
    return arena_printf(out, "nothing to change: the module takes %s, within the limit of %s", now,
                        limit);
  if (advice->num_plan == 0 && !has_limit && advice->num_remedies)
    return arena_printf(out,
                        "no change that is sure is known here to lower the %s, but what may be "
                        "possible is below",
                        now);
  if (advice->num_plan == 0 && !has_limit)
    return arena_printf(out, "no change of the program that is known here lowers the %s", now);
  if (advice->num_plan == 0)
    return arena_printf(out,
                        "nothing suffices: no change of the program that is known here lowers the "
                        "%s, and the limit is %s",
                        now, limit);
  const rh_remedy *last = advice->plan[advice->num_plan - 1];
  const char *after = after_text(last, out);
  const char *changes = advice->num_plan == 1
                            ? "one change leads"
                            : arena_printf(out, "%zu changes lead", advice->num_plan);
  const char *time = time_text(last->added_fraction, out);
  if (!has_limit) return arena_printf(out, "%s from %s to %s, %s", changes, now, after, time);
  if (advice->is_met)
    return arena_printf(out, "%s from %s to %s, within the limit of %s, %s", changes, now, after,
                        limit, time);
  return arena_printf(out, "nothing suffices: %s from %s to %s, and the limit is %s", changes, now,
                      after, limit);
}

rh_text advice_summary(const rh_advice *advice, Arena *out) {
  const char *text = first_line(advice, out);
  for (size_t i = 0; i < advice->num_plan; i++) {
    const rh_remedy *step = advice->plan[i];
    text = arena_printf(out, "%s\n%zu. %.*s: then %s", text, i + 1, (int)step->title.length,
                        step->title.data, after_text(step, out));
  }
  return (rh_text){text, strlen(text)};
}
