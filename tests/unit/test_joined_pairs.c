/* Collectives that XLA:GPU joins again before it assigns buffers. */
#include "analysis/memory/heap_model.h"
#include "analysis/memory/joined_pairs.h"
#include "support.h"

#define WRAPPED                                                                          \
  "sum { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n" \
  "c { i = f32[1024] parameter(0)\n ROOT o = f32[1024] all-reduce(i), to_apply=sum }\n"
#define START(config)                                                        \
  "s = ((f32[1024]), f32[1024]) async-start(a), output_to_operand_aliasing=" \
  "{{1}: (0, {})}, calls=c" config "\n"
#define DONE "d = f32[1024] async-done(s)\n"

/* Each begins with a = negate(p) and ends with ROOT r = negate(d). A collective in place uses the
 * memory of the result. A pair has tables of 16 bytes, each at a multiple of the alignment, and
 * work at the same time another array. */
static const struct {
  const char *what, *body, *target;
  int64_t temp_bytes;
  bool is_joined;
} rows[] = {
    {"nothing in between", START("") DONE, "gpu", 0, true},
    {"no work in between", START("") "b = f32[32,32] bitcast(p)\n k = f32[] constant(0)\n" DONE,
     "gpu", 0, true},
    {"work in between", START("") "w = f32[1024] sine(p)\n" DONE, "gpu", 4096 + 256 + 16, false},
    {"work in between of a marked one",
     START(", backend_config={\"collective_backend_config\":{\"is_sync\":true}}") "w = f32[1024] "
                                                                                  "sine(p)\n" DONE,
     "gpu", 4096, true},
    {"on another platform", START("") DONE, "cpu", 64 + 16, false},
};

START_TEST(pairs_match_table) {
  Fixture fixture =
      fixture_parse_format("HloModule m, is_scheduled=true\n" WRAPPED
                           "ENTRY e { p = f32[1024] parameter(0)\n a = f32[1024] negate(p)\n%s"
                           "ROOT r = f32[1024] negate(d) }\n",
                           rows[_i].body);
  Module *module = fixture.module;
  module->backend.target = target_find(rows[_i].target);
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  const Module *joined = joined_pairs_module(module, &schedule, fixture.out, fixture.scratch);
  ck_assert_msg((joined != NULL) == rows[_i].is_joined, "%s", rows[_i].what);
  LiveSet live;
  MemoryProfile profile = measure_heap(module, &schedule, &live, fixture.out, fixture.scratch);
  int64_t temp_bytes = memory_profile_temp_bytes(&profile);
  ck_assert_msg(temp_bytes == rows[_i].temp_bytes, "%s: %lld", rows[_i].what,
                (long long)temp_bytes);
  ck_assert_int_ge(profile.bytes_at[find_inst(module, "o")], temp_bytes);
  int64_t live_bytes = profile.fragmentation_bytes;
  for (uint32_t i = 0; i < live.len; i++)
    live_bytes += live.list[i].bytes;
  ck_assert_int_le(live_bytes, profile.peak_bytes);
  if (joined) {
    InstId d = find_inst(module, "d"), s = find_inst(module, "s");
    ck_assert_int_eq(inst_get(joined, d)->opcode, OPCODE_ALL_REDUCE);
    ck_assert_uint_eq(inst_operand(joined, d, 0), find_inst(module, "a"));
    ck_assert(inst_is_joined_start(module, joined, s));
    ck_assert_int_eq(inst_get(module, d)->opcode, OPCODE_ASYNC_DONE); /* it stays as it was */
  }
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("joined_pairs");
  TCase *tcase = tcase_create("joined_pairs");
  tcase_add_loop_test(tcase, pairs_match_table, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
