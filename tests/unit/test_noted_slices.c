/* What compilers have noted of slices: a part of what is computed, dropped where it is stale. */
#include <stdlib.h>

#include "remat/verify/verify.h"
#include "support.h"

/* Four iterations, t = 0 … 3, within two others, add up slices of an array of 4 rows of 32 bytes.
 * The slice begins at row 3 - t, in bytes at 96 - 32 t. */
#define INNER_AND(START)                                                                          \
  "HloModule m\n"                                                                                 \
  "slice { w = f32[4,8] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n"          \
  " three = s32[] constant(3)\n at = s32[] " START                                                \
  "\n"                                                                                            \
  " ROOT row = f32[1,8] dynamic-slice(w, at, z), dynamic_slice_sizes={1,8}%s }\n"                 \
  "c { t = (s32[], f32[4,8], f32[1,8]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"  \
  " n = s32[] constant(4)\n ROOT lt = pred[] compare(i, n), direction=LT }\n"                     \
  "b { t = (s32[], f32[4,8], f32[1,8]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"  \
  " w = f32[4,8] get-tuple-element(t), index=1\n s = f32[1,8] get-tuple-element(t), index=2\n"    \
  " row = f32[1,8] fusion(w, i), kind=kLoop, calls=slice\n sn = f32[1,8] add(s, row)\n"           \
  " one = s32[] constant(1)\n in = s32[] add(i, one)\n"                                           \
  " ROOT o = (s32[], f32[4,8], f32[1,8]) tuple(in, w, sn) }\n"                                    \
  "c2 { t = (s32[], f32[4,8], f32[1,8]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" \
  " n = s32[] constant(2)\n ROOT lt = pred[] compare(i, n), direction=LT }\n"                     \
  "b2 { t = (s32[], f32[4,8], f32[1,8]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" \
  " w = f32[4,8] get-tuple-element(t), index=1\n s = f32[1,8] get-tuple-element(t), index=2\n"    \
  " z = s32[] constant(0)\n a = (s32[], f32[4,8], f32[1,8]) tuple(z, w, s)\n"                     \
  " l = (s32[], f32[4,8], f32[1,8]) while(a), condition=c, body=b\n"                              \
  " sn = f32[1,8] get-tuple-element(l), index=2\n one = s32[] constant(1)\n"                      \
  " in = s32[] add(i, one)\n ROOT o = (s32[], f32[4,8], f32[1,8]) tuple(in, w, sn) }\n"           \
  "ENTRY e { w = f32[4,8] parameter(0)\n s = f32[1,8] parameter(1)\n z = s32[] constant(0)\n"     \
  " a = (s32[], f32[4,8], f32[1,8]) tuple(z, w, s)\n"                                             \
  " l = (s32[], f32[4,8], f32[1,8]) while(a), condition=c2, body=b2\n"                            \
  " ROOT r = f32[1,8] get-tuple-element(l), index=2 }\n"
#define LOOPS INNER_AND("subtract(three, i)")

#define NOTE(TEXT) \
  ", backend_config={\"operation_queue_id\":\"0\",\"dynamic_slice_config\":" TEXT "}"
#define TRUE_NOTE NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}")

#define BITS(ZEROES, ONES)                                                            \
  ", backend_config={\"indices_config\":{\"index_known_bits\":[{\"zeroes\":\"" ZEROES \
  "\",\"ones\":\"" ONES                                                               \
  "\",\"bitwidth\":\"32\"},{\"zeroes\":\"4294967295\",\"ones\":\"0\","                \
  "\"bitwidth\":\"32\"}]}}"

typedef struct Row {
  const char *name, *note;
  bool holds;
} Row;

static const Row rows[] = {
    {"no note", "", true},
    {"the note that the loop has", TRUE_NOTE, true},
    {"numbers without quotes", NOTE("{\"loop_index\":0,\"byte_offset\":96,\"byte_stride\":-32}"),
     true},
    {"in a member of its own",
     NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"0\",\"byte_stride\":\"0\","
          "\"linear\":{\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}}"),
     true},
    {"from the other end",
     NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"0\",\"byte_stride\":\"32\"}"), false},
    {"another offset",
     NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"64\",\"byte_stride\":\"-32\"}"), false},
    {"by the outer loop",
     NOTE("{\"loop_index\":\"1\",\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}"), false},
    {"by a loop that is not there",
     NOTE("{\"loop_index\":\"2\",\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}"), false},
    {"by no loop", NOTE("{\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}"), false},
    {"the same in all iterations", NOTE("{\"byte_offset\":\"96\"}"), false},
    {"in a form that is not known",
     NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"96\",\"byte_stride\":\"-32\",\"more\":\"1\"}"),
     false},
    {"known bits: the start is 0 to 3", BITS("4294967292", "0"), true},
    {"known bits: the start is 0 or 1", BITS("4294967294", "0"), false},
    {"known bits: the start is even", BITS("4294967293", "0"), false},
    {"known bits: the start is odd", BITS("0", "1"), false},
    {"nothing is known", BITS("0", "0"), true},
    {"bits of more dimensions",
     ", backend_config={\"indices_config\":{\"index_known_bits\":[{\"zeroes\":\"0\",\"bitwidth\":"
     "\"32\"},{\"bitwidth\":\"32\"},{\"bitwidth\":\"32\"}]}}",
     false},
    {"two offsets",
     NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"96\",\"byte_stride\":\"-32\","
          "\"linear\":{\"byte_offset\":\"96\",\"byte_stride\":\"-32\"}}"),
     false},
};

static rh_status verify(const Fixture *before, const Fixture *after) {
  rh_diags *diags = rh_diags_new();
  Arena *scratch = arena_new(NULL);
  rh_status status = verify_modules(before->module, after->module, true, true, diags, scratch);
  ck_assert_uint_eq(rh_diags_len(diags) > 0, status != RH_OK);
  arena_free(scratch);
  rh_diags_free(diags);
  return status;
}

START_TEST(a_note_is_a_part_of_what_is_computed) {
  const Row *row = &rows[_i];
  Fixture before = fixture_parse_format(LOOPS, TRUE_NOTE),
          after = fixture_parse_format(LOOPS, row->note);
  ck_assert_msg((verify(&before, &after) == RH_OK) == row->holds, "%s", row->name);
  fixture_free(&after);
  fixture_free(&before);
}
END_TEST

/* In an array of another size, the same rows lie elsewhere. Row 3 - t of the original is clamped
 * here to what the array has, and a note is clamped as a whole. */
START_TEST(starts_that_are_clamped_need_operands) {
#define BEYOND INNER_AND("add(three, i)")
  static const char noted[] =
      NOTE("{\"loop_index\":\"0\",\"byte_offset\":\"96\",\"byte_stride\":\"32\"}");
  Fixture before = fixture_parse_format(BEYOND, ""), after = fixture_parse_format(BEYOND, noted);
  ck_assert_int_eq(verify(&before, &after), RH_NOT_EQUIVALENT);
  ck_assert_int_eq(verify(&before, &before), RH_OK);
  fixture_free(&after);
  fixture_free(&before);
}
END_TEST

/* A loop runs as often as is noted, whatever its condition says. */
START_TEST(the_number_of_iterations_is_what_is_noted) {
  static const char loop[] =
      "HloModule m\nc { t = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(t), "
      "index=0\n"
      " n = s32[] constant(4)\n ROOT lt = pred[] compare(i, n), direction=LT }\n"
      "b { t = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
      " x = f32[8] get-tuple-element(t), index=1\n y = f32[8] sine(x)\n one = s32[] constant(1)\n"
      " in = s32[] add(i, one)\n ROOT o = (s32[], f32[8]) tuple(in, y) }\n"
      "ENTRY e { x = f32[8] parameter(0)\n z = s32[] constant(0)\n"
      " a = (s32[], f32[8]) tuple(z, x)\n l = (s32[], f32[8]) while(a), condition=c, body=b%s\n"
      " ROOT r = f32[8] get-tuple-element(l), index=1 }\n";
  Fixture before = fixture_parse_format(loop, "");
  Fixture same =
      fixture_parse_format(loop, ", backend_config={\"known_trip_count\":{\"n\":\"4\"}}");
  Fixture fewer = fixture_parse_format(loop, ", backend_config={\"known_trip_count\":{\"n\":3}}");
  ck_assert_int_eq(verify(&before, &same), RH_OK);
  ck_assert_int_eq(verify(&before, &fewer), RH_NOT_EQUIVALENT);
  ck_assert_int_eq(verify(&same, &fewer), RH_NOT_EQUIVALENT);
  ck_assert_int_eq(verify(&same, &before), RH_OK);
  fixture_free(&fewer);
  fixture_free(&same);
  fixture_free(&before);
}
END_TEST

START_TEST(a_stale_note_is_not_written) {
  const Row *row = &rows[_i];
  Fixture made = fixture_parse_format(LOOPS, row->note);
  Arena *scratch = arena_new(NULL);
  ck_assert_msg(verify_drop_stale_notes(made.module, scratch) != row->holds, "%s", row->name);
  uint32_t num_stale = 0;
  for (InstId id = 0; id < made.module->insts.len; id++) {
    const Instruction *inst = inst_get(made.module, id);
    bool is_stale = inst->flags & INST_STALE_CONFIG;
    ck_assert(!is_stale || inst->opcode == OPCODE_DYNAMIC_SLICE);
    num_stale += is_stale;
  }
  ck_assert_msg(num_stale == !row->holds, "%s: %u", row->name, num_stale);
  char *text = print_or_fail(made.module, NULL, PRINT_UNSCHEDULED, NULL);
  bool has_note = strstr(text, "backend_config");
  ck_assert_msg(has_note == (row->holds && row->note[0]), "%s: %s", row->name, text);
  ck_assert_ptr_nonnull(strstr(text, "dynamic_slice_sizes={1,8}"));
  free(text);
  arena_free(scratch);
  fixture_free(&made);
}
END_TEST

/* Eight rows are added up, in one loop or in two segments, the counter of which goes through the
 * inner loop. That the slice has a note hides neither. */
#define SLICE                                                                            \
  "slice { w = f32[8,8] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n" \
  " ROOT row = f32[1,8] dynamic-slice(w, i, z), dynamic_slice_sizes={1,8}%s }\n"
#define STATE "(s32[], s32[], f32[8,8], f32[1,8])"
#define LIMIT(name, n)                                             \
  name " { t = " STATE                                             \
       " parameter(0)\n k = s32[] get-tuple-element(t), index=0\n" \
       " n = s32[] constant(" n ")\n ROOT lt = pred[] compare(k, n), direction=LT }\n"
#define TAKEN                                                                               \
  " t = " STATE                                                                             \
  " parameter(0)\n k = s32[] get-tuple-element(t), index=0\n"                               \
  " i = s32[] get-tuple-element(t), index=1\n w = f32[8,8] get-tuple-element(t), index=2\n" \
  " s = f32[1,8] get-tuple-element(t), index=3\n one = s32[] constant(1)\n"                 \
  " kn = s32[] add(k, one)\n"
#define ADDED(at) \
  " row = f32[1,8] fusion(w, " at "), kind=kLoop, calls=slice\n sn = f32[1,8] add(s, row)\n"
#define ROWS(limit, body)                                                                      \
  "ENTRY e { w = f32[8,8] parameter(0)\n s = f32[1,8] parameter(1)\n z = s32[] constant(0)\n"  \
  " a = " STATE " tuple(z, z, w, s)\n l = " STATE " while(a), condition=" limit ", body=" body \
  "\n ROOT r = f32[1,8] get-tuple-element(l), index=3 }\n"

START_TEST(a_note_in_an_inner_loop_hides_no_counter) {
  static const char once[] = "HloModule m\n" SLICE LIMIT(
      "c", "8") "b {" TAKEN ADDED("k") " ROOT o = " STATE " tuple(kn, i, w, sn) }\n" ROWS("c", "b");
  static const char segments[] =
      "HloModule m\n" SLICE LIMIT("c", "4") "b {" TAKEN " at = s32[] add(i, k)\n" ADDED(
          "at") " ROOT o = " STATE
                " tuple(kn, i, w, sn) }\n" LIMIT(
                    "c2", "2") "b2 {" TAKEN " z = s32[] constant(0)\n a = " STATE
                               " tuple(z, i, w, s)\n"
                               " l = " STATE
                               " while(a), condition=c, body=b\n i4 = s32[] get-tuple-element(l), "
                               "index=1\n"
                               " four = s32[] constant(4)\n in = s32[] add(i4, four)\n"
                               " sn = f32[1,8] get-tuple-element(l), index=3\n"
                               " ROOT o = " STATE " tuple(kn, in, w, sn) }\n" ROWS("c2", "b2");
  static const char bits[] = BITS("4294967288", "0"), wrong[] = BITS("4294967292", "0");
  Fixture before = fixture_parse_format(once, bits), after = fixture_parse_format(segments, bits),
          other = fixture_parse_format(segments, wrong);
  ck_assert_int_eq(verify(&before, &after), RH_OK);
  ck_assert_int_eq(verify(&before, &other), RH_NOT_EQUIVALENT);
  fixture_free(&other);
  fixture_free(&after);
  fixture_free(&before);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("noted_slices");
  TCase *tc = tcase_create("noted_slices");
  tcase_add_loop_test(tc, a_note_is_a_part_of_what_is_computed, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, starts_that_are_clamped_need_operands);
  tcase_add_test(tc, the_number_of_iterations_is_what_is_noted);
  tcase_add_test(tc, a_note_in_an_inner_loop_hides_no_counter);
  tcase_add_loop_test(tc, a_stale_note_is_not_written, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
