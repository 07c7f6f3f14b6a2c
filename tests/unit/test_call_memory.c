#include "analysis/memory/call_memory.h"

#include <stdlib.h>

#include "support.h"

#define K 1024

/* 12 KiB at `twice`. */
#define WIDE                                                    \
  "wide { q = f32[] parameter(0)\n"                             \
  "once = f32[1024] broadcast(q), dimensions={}\n"              \
  "twice = f32[2048] concatenate(once, once), dimensions={0}\n" \
  "ROOT first = f32[1] slice(twice), slice={[0:1]} }\n"
#define CALL(name) name " = f32[1] call(p), to_apply=wide\n"
#define HOLD(name) name " = f32[1024] broadcast(p), dimensions={}\n"
#define USE(name, held) name " = f32[1] slice(" held "), slice={[0:1]}\n"
#define LOOP                                                                \
  WIDE "cond { c = f32[] parameter(0)\n ROOT t = pred[] constant(true) }\n" \
       "body { p = f32[] parameter(0)\n" HOLD("kept") CALL("inner")         \
           USE("u", "kept") "v = f32[1] add(inner, u)\n ROOT w = f32[] reshape(v) }\n"
#define P "p = f32[] parameter(0)\n"
#define WHILE(name) name " = f32[] while(p), condition=cond, body=body\n"

static const struct {
  const char *name, *model, *comps, *body;
  const char *at; /* KiB while instructions run */
  const char *peak, *callers;
  int64_t peak_kib;
} rows[] = {
    {"a call needs what it calls", "liveness-once", WIDE,
     P HOLD("held") CALL("x") "ROOT " USE("y", "held"),
     "q=4 once=8 twice=16 first=12 p=0 held=4 x=16 y=4", "twice", "wide:x", 16},
    {"the second caller holds more", "liveness-once", WIDE,
     P CALL("x") HOLD("held") CALL("y") "ROOT " USE("z", "held"),
     "q=4 once=8 twice=16 first=12 p=0 x=0 held=4 y=16 z=4", "twice", "wide:y", 16},
    {"the first caller holds more", "liveness-once", WIDE,
     P HOLD("held") CALL("x") USE("z", "held") "ROOT " CALL("y"),
     "q=4 once=8 twice=16 first=12 p=0 held=4 x=16 z=4 y=0", "twice", "wide:x", 16},
    {"in a loop", "liveness-once", LOOP, P HOLD("held") WHILE("l") "ROOT " USE("z", "held"),
     "q=8 once=12 twice=20 first=16 c=4 t=4 p=4 kept=8 inner=20 u=8 v=4 w=4 p=0 held=4 l=20 z=4",
     "twice", "wide:inner cond:l body:l", 20},
    {"in a loop, and by who holds more", "liveness-once", LOOP,
     P WHILE("l") HOLD("h0") HOLD("h1") CALL("y") USE("z", "h0") "ROOT " USE("z1", "h1"),
     "q=8 once=12 twice=20 first=16 c=0 t=0 p=0 kept=4 inner=4 u=4 v=0 w=0 p=0 l=4 h0=4 h1=8 y=20 "
     "z=8 z1=4",
     "twice", "wide:y cond:l body:l", 20},
    {"each computation for itself", "xla-remat", LOOP,
     P HOLD("held") WHILE("l") CALL("y") "ROOT " USE("z", "held"),
     "q=8 once=12 twice=20 first=16 c=20 t=20 p=4 kept=8 inner=20 u=8 v=4 w=4 p=0 held=4 l=20 y=16 "
     "z=4",
     "twice", "wide:inner cond:l body:l", 20},
};

START_TEST(callers_and_callees_count) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = fixture_schedule(&fixture, "input");
  CallMemory memory = call_memory_measure(memory_model_find(rows[_i].model), module, &schedule,
                                          fixture.out, fixture.scratch);
  const char *at = "", *callers = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    Str name = inst_name(module, id);
    if (memory.bytes_at[id] < 0) continue;
    text_add(fixture.out, &at, "%.*s=%lld", (int)name.len, name.data,
             (long long)memory.bytes_at[id] / K);
  }
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (memory.caller[comp] == NO_ID) continue;
    Str name = comp_name(module, comp), caller = inst_name(module, memory.caller[comp]);
    text_add(fixture.out, &callers, "%.*s:%.*s", (int)name.len, name.data, (int)caller.len,
             caller.data);
  }
  check_text(at, rows[_i].at, rows[_i].name);
  check_text(callers, rows[_i].callers, rows[_i].name);
  check_text(names_of(module, &memory.peak_inst, 1, fixture.out), rows[_i].peak, rows[_i].name);
  ck_assert_int_eq(memory.peak_bytes / K, rows[_i].peak_kib);
  fixture_free(&fixture);
}
END_TEST

START_TEST(a_profile_gives_the_same) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = fixture_schedule(&fixture, "input");
  const MemoryModel *model = memory_model_find(rows[_i].model);
  Arena *out = fixture.out, *scratch = fixture.scratch;
  MemoryProfile profile = model->measure(module, &schedule, NULL, out, scratch);
  MemoryProfile before = model->measure(module, &schedule, NULL, out, scratch);
  CallMemory of_profile = call_memory_of(&profile, module, &schedule, out, scratch);
  CallMemory measured = call_memory_measure(model, module, &schedule, out, scratch);
  uint32_t num_insts = module->insts.len, num_comps = module->comps.len;
  ck_assert_mem_eq(profile.bytes_at, before.bytes_at, num_insts * sizeof *profile.bytes_at);
  ck_assert_mem_eq(of_profile.bytes_at, measured.bytes_at, num_insts * sizeof *measured.bytes_at);
  ck_assert_mem_eq(of_profile.caller, measured.caller, num_comps * sizeof *measured.caller);
  ck_assert_int_eq(of_profile.peak_bytes, measured.peak_bytes);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("call_memory");
  TCase *tc = tcase_create("call_memory");
  tcase_add_loop_test(tc, callers_and_callees_count, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, a_profile_gives_the_same, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
