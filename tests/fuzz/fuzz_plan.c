/* libFuzzer target: plans, applied to a module that has something for every kind of step.
 *
 * A plan is refused with a message, or what comes out is verified, as rh_apply_plan does it; the
 * plan of that, applied again, gives the same text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bytes.h"
#include "remat_hlo.h"

enum { MAX_PLAN_BYTES = 16 << 10 };

#define WIDE "f32[32,8]{1,0:T(8,128)}"
static const char text[] =
    "HloModule steps, is_scheduled=true\n\n"
    "sum {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n"
    "}\n\n"
    "two {\n"
    "  p = f32[256]{0} parameter(0)\n"
    "  one = (f32[256]{0}) tuple(p)\n"
    "  barrier = (f32[256]{0}) opt-barrier(one)\n"
    "  zero = f32[] constant(0)\n"
    "  total = f32[] reduce(p, zero), dimensions={0}, to_apply=sum\n"
    "  ROOT both = (f32[256]{0}, f32[]) tuple(barrier#0, total)\n"
    "}\n\n"
    "work {\n"
    "  q = f32[] parameter(0)\n"
    "  wide = f32[1280]{0} broadcast(q), dimensions={}\n"
    "  negate = f32[1280]{0} negate(wide)\n"
    "  joined = f32[2560]{0} concatenate(negate, negate), dimensions={0}\n"
    "  first = f32[1]{0} slice(joined), slice={[0:1]}\n"
    "  more = f32[1281]{0} concatenate(wide, first), dimensions={0}\n"
    "  ROOT last = f32[1]{0} slice(more), slice={[0:1]}\n"
    "}\n\n"
    "below {\n"
    "  k = f32[] parameter(0)\n"
    "  ten = f32[] constant(10)\n"
    "  ROOT less = pred[] compare(k, ten), direction=LT\n"
    "}\n\n"
    "turn {\n"
    "  s = f32[] parameter(0)\n"
    "  done = f32[1]{0} call(s), to_apply=work\n"
    "  ROOT next = f32[] reshape(done)\n"
    "}\n\n"
    "ENTRY main {\n"
    "  x = f32[256]{0} parameter(0)\n"
    "  s.1 = f32[] parameter(1)\n"
    "  none = f32[] constant(0)\n"
    "  fusion = (f32[256]{0}, f32[]) fusion(x), kind=kInput, calls=two\n"
    "  mask = pred[256]{0} compare(x, fusion#0), direction=GE\n"
    "  ones = f32[256]{0} convert(mask)\n"
    "  tiled = " WIDE
    " broadcast(s.1), dimensions={}\n"
    "  tanh = " WIDE
    " tanh(tiled)\n"
    "  held = f32[1024]{0} custom-call(x), custom_call_target=\"load\"\n"
    "  call = f32[1]{0} call(s.1), to_apply=work\n"
    "  loop = f32[] while(s.1), condition=below, body=turn\n"
    "  call.1 = f32[1]{0} call(loop), to_apply=work, control-predecessors={held}\n"
    "  kept = f32[256]{0} multiply(ones, fusion#0)\n"
    "  cast = f32[256]{0} bitcast(kept)\n"
    "  rest = f32[] reduce(cast, fusion#1), dimensions={0}, to_apply=sum\n"
    "  part = f32[1]{0} slice(held), slice={[0:1]}\n"
    "  all = f32[] reduce(tanh, none), dimensions={0,1}, to_apply=sum\n"
    "  again = f32[] reduce(tiled, all), dimensions={0,1}, to_apply=sum\n"
    "  ROOT result = (f32[1]{0}, f32[1]{0}, f32[], f32[], f32[1]{0}) tuple(call, call.1, rest, "
    "again, "
    "part)\n"
    "}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what, const rh_diags *diags) {
  if (ok) return;
  fprintf(stderr, "fuzz_plan: %s\n", what);
  for (size_t i = 0; i < rh_diags_len(diags); i++)
    fprintf(stderr, "  %s\n", rh_diags_get(diags, i)->message);
  abort();
}

static rh_settings tpu(void) {
  rh_settings settings = RH_SETTINGS_INIT;
  settings.target = "tpu";
  return settings;
}

/* NULL when it is refused. */
static rh_module *apply(const rh_module *module, const char *json, size_t length, rh_diags *diags) {
  rh_plan *plan = NULL;
  rh_module *result = NULL;
  size_t num_diags = rh_diags_len(diags);
  rh_status status = rh_plan_parse(json, length, &plan, diags);
  if (status == RH_OK) {
    rh_settings settings = tpu();
    rh_remat_options options = RH_REMAT_OPTIONS_INIT;
    options.memory_model = "liveness";
    options.keep_plan = true;
    status = rh_apply_plan(module, &settings, plan, &options, &result, NULL, diags);
  }
  rh_plan_free(plan);
  bool is_refused = status == RH_ERR_INPUT && rh_diags_len(diags) > num_diags;
  require(status == RH_OK || is_refused, "neither applied nor refused", diags);
  return result;
}

static Bytes print(const rh_module *module) {
  Bytes bytes = {0};
  require(rh_print(module, bytes_append, &bytes, NULL) == RH_OK, "cannot be printed", NULL);
  return bytes;
}

static void check_plan_of(const rh_module *module, const rh_module *result, rh_diags *diags) {
  Bytes plan = {0};
  require(rh_emit_plan(result, NULL, NULL, 1, bytes_append, &plan, diags) == RH_OK, "no plan",
          diags);
  rh_module *again = apply(module, plan.data, plan.len, diags);
  require(again != NULL, "the plan of what was applied is refused", diags);
  Bytes first = print(result), second = print(again);
  require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0,
          "applied again it gives another module", diags);
  free(first.data);
  free(second.data);
  free(plan.data);
  rh_module_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > MAX_PLAN_BYTES) return 0;
  rh_diags *diags = rh_diags_new();
  rh_module *module = NULL, *scheduled = NULL;
  require(rh_parse(text, sizeof text - 1, NULL, &module, diags) == RH_OK, "not parsed", diags);
  rh_schedule_options schedule = RH_SCHEDULE_OPTIONS_INIT;
  rh_settings settings = tpu();
  require(rh_schedule(module, &settings, &schedule, &scheduled, diags) == RH_OK, "not scheduled",
          diags);
  rh_module *result = apply(scheduled, (const char *)data, size, diags);
  if (result) check_plan_of(scheduled, result, diags);
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_module_free(module);
  rh_diags_free(diags);
  return 0;
}
