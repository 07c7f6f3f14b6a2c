#include "remat/algorithms/forward_end.h"

#include "chain.h"

typedef struct Found {
  SchedPos ends[NUM_FORWARD_END_RULES];
  SchedPos *positions;
  Sequence sequence;
} Found;

static Found find_forward_ends(const Fixture *fixture, const char *scheduler) {
  const Module *module = fixture->module;
  Found found = {.sequence = fixture_schedule(fixture, scheduler).of[module->entry],
                 .positions = arena_array(fixture->out, SchedPos, module->insts.len)};
  for (SchedPos pos = 0; pos < found.sequence.len; pos++)
    found.positions[found.sequence.ids[pos]] = pos;
  bool *is_heavy = find_heavy(module, fixture->out, fixture->scratch);
  for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++) {
    found.ends[rule] = find_forward_end(module, found.sequence, found.positions, is_heavy,
                                        (ForwardEndRule)rule, fixture->scratch);
  }
  return found;
}

/* The end is at the last forward layer or at the first backward one, because the two read the same
 * value. */
START_TEST(forward_end_of_a_chain) {
  for (int has_weights = 0; has_weights <= 1; has_weights++) {
    Fixture fixture = chain_parse(20, true, has_weights);
    Found found = find_forward_ends(&fixture, "input");
    for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++) {
      SchedPos forward_end = found.ends[rule];
      ck_assert_uint_lt(forward_end, found.sequence.len);
      Str name = inst_name(fixture.module, found.sequence.ids[forward_end]);
      SchedPos wanted = 4 + 3 * 20; /* x, w, b0, the layers, d21 */
      ck_assert_msg(forward_end + 3 >= wanted && forward_end <= wanted + 3,
                    "rule %d, weights %d: %.*s", rule, has_weights, (int)name.len, name.data);
      ck_assert(is_nested_at(fixture.module, found.sequence, found.positions, forward_end, 15,
                             fixture.scratch));
      ck_assert(!is_nested_at(fixture.module, found.sequence, found.positions, forward_end, 50,
                              fixture.scratch));
    }
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(nothing_is_nested_in_a_forward_pass) {
  Fixture fixture = chain_parse(20, false, false);
  Found found = find_forward_ends(&fixture, "input");
  for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++) {
    ck_assert(!is_nested_at(fixture.module, found.sequence, found.positions, found.ends[rule], 3,
                            fixture.scratch));
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(nobody_waits) {
  Fixture fixture = fixture_parse_body("", "p = f32[4] parameter(0)\n ROOT a = f32[4] abs(p)\n");
  Found found = find_forward_ends(&fixture, "input");
  for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++)
    ck_assert_uint_eq(found.ends[rule], NO_ID);
  fixture_free(&fixture);
}
END_TEST

START_TEST(heavy_is_what_has_a_dot) {
  Fixture fixture = fixture_parse_body(
      "dots { p = f32[4,4] parameter(0)\n ROOT d = f32[4,4] dot(p, p), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0} }\n"
      "adds { p = f32[4,4] parameter(0)\n ROOT a = f32[4,4] add(p, p) }\n",
      "x = f32[4,4] parameter(0)\n y = f32[4,4] fusion(x), kind=kOutput, calls=dots\n"
      "z = f32[4,4] fusion(y), kind=kLoop, calls=adds\n"
      "ROOT c = f32[4,4] custom-call(z), custom_call_target=\"t\"\n");
  bool *is_heavy = find_heavy(fixture.module, fixture.out, fixture.scratch);
  const char *names = NULL;
  for (InstId id = 0; id < fixture.module->insts.len; id++) {
    Str name = inst_name(fixture.module, id);
    if (is_heavy[id]) text_add(fixture.out, &names, "%.*s", (int)name.len, name.data);
  }
  check_text(names, "d y c", "heavy");
  fixture_free(&fixture);
}
END_TEST

/* Compares with op_name, where that is known. For the best of the rules, the percentages of forward
 * instructions after the end and of backward instructions before it. */
static const struct {
  const char *sample;
  uint32_t most_percent;
} samples[] = {
    {"gpt_unrolled", 3}, {"resnet", 11},         {"mobilenet", 11},
    {"vgg", 28},         {"mlp_checkpoint", 17}, {"unet_donated", 5},
};

static bool has_text(Str subject, const char *text, Arena *scratch) {
  return strstr(arena_strndup(scratch, subject.data, subject.len), text) != NULL;
}

/* Whether op_name puts the instruction in the backward part; -1 if it does not say. */
static int is_backward(const Fixture *fixture, InstId id) {
  const Module *module = fixture->module;
  const Metadata *metadata = inst_metadata(module, id);
  if (!metadata || inst_get(module, id)->opcode == OPCODE_PARAMETER) return -1;
  Str op_name = module_span(module, metadata->op_name);
  if (has_text(op_name, "transpose(jvp(", fixture->out)) return 1;
  return has_text(op_name, "jvp(", fixture->out) ? 0 : -1;
}

START_TEST(turn_is_where_names_say) {
  Arena *arena = arena_new(NULL);
  Fixture fixture = fixture_parse_file(
      arena_printf(arena, "hlo_samples/%s.after_optimizations.hlo", samples[_i].sample));
  Found found = find_forward_ends(&fixture, "input");
  uint32_t fewest = UINT32_MAX, num_named = 0;
  for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++) {
    uint32_t num_wrong = 0;
    num_named = 0;
    for (SchedPos pos = 0; pos < found.sequence.len; pos++) {
      int backward = is_backward(&fixture, found.sequence.ids[pos]);
      num_named += backward >= 0;
      num_wrong += backward >= 0 && (pos > found.ends[rule]) != backward;
    }
    if (num_wrong < fewest) fewest = num_wrong;
  }
  ck_assert_uint_gt(num_named, 0);
  ck_assert_msg(100 * fewest <= samples[_i].most_percent * num_named, "%s: %u of %u",
                samples[_i].sample, fewest, num_named);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("forward_end");
  TCase *tc = tcase_create("forward_end");
  tcase_add_test(tc, forward_end_of_a_chain);
  tcase_add_test(tc, nothing_is_nested_in_a_forward_pass);
  tcase_add_test(tc, nobody_waits);
  tcase_add_test(tc, heavy_is_what_has_a_dot);
  tcase_add_loop_test(tc, turn_is_where_names_say, 0, sizeof samples / sizeof *samples);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
