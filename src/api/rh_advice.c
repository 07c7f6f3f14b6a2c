/* The public functions that say what to change in a program. */
#include "advice/advice.h"
#include "advice/print.h"
#include "api/arguments.h"
#include "api/call.h"
#include "api/measure.h"
#include "api/sized.h"

/* Advice and the arena in which it is allocated. */
typedef struct Handle {
  rh_advice advice;
  Arena *arena;
} Handle;

static rh_status make_advice(const rh_module *module, const rh_advice_options *options,
                             rh_advice **advice, rh_diags *diags) {
  rh_status status = handle_check_scheduled(module, diags);
  if (status != RH_OK) return status;
  DeviceProfile usual = device_profile_default();
  AdviceRequest request = {
      .module = module,
      .limit_bytes = options->limit_bytes,
      .limit_counts = options->limit_counts,
      .device = options->profile ? profile_of(options->profile) : &usual,
      .default_trip_count = options->default_trip_count > 0 ? options->default_trip_count : 1,
      .max_steps = options->max_steps};
  Arena *arena = arena_new(arena_options(module->arena));
  Handle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  status = advice_make(&request, &handle->advice, arena, diags);
  if (status == RH_OK) {
    *advice = &handle->advice;
    return handle->advice.is_met ? RH_OK : RH_OVER_LIMIT;
  }
  arena_free(arena);
  return status;
}

rh_status rh_advice_make(const rh_module *module, const rh_settings *settings,
                         const rh_advice_options *given, rh_advice **advice, rh_diags *diags) {
  *advice = NULL;
  CALL_OPEN(call, diags, RH_CODE_INTERNAL);
  rh_advice_options options = RH_ADVICE_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_advice *made = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_advice_options", diags);
  if (status == RH_OK)
    status = check_choice((int)options.limit_counts, RH_COUNT_TOTAL + 1, "limit_counts", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_advice(taken, &options, &made, diags);
  *advice = made;
  return call_close(call, status);
}

rh_status rh_advice_print(const rh_advice *advice, rh_write_fn write, void *context,
                          rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  Writer writer;
  writer_init(&writer, write, context);
  advice_print(advice, &writer);
  return call_close(call, writer_finish(&writer));
}

void rh_advice_free(rh_advice *advice) {
  if (advice) arena_free(((Handle *)advice)->arena);
}
