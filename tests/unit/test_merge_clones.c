#include "remat/rewrite/merge_clones.h"

#include "support.h"

/* Instructions whose names end in `2` are clones of those whose names end in `1`; names that begin
 * with `h` are helpers. */
static RematMarks marks_of(const Module *module, Arena *out) {
  RematMark *marks = arena_zarray(out, RematMark, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    Str name = inst_name(module, id);
    if (name.data[0] == 'h') marks[id].kind = REMAT_KIND_HELPER;
    if (name.data[name.len - 1] != '2') continue;
    char *original = arena_strndup(out, name.data, name.len);
    original[name.len - 1] = '1';
    marks[id] = (RematMark){.kind = REMAT_KIND_CLONE, .original = {original, name.len}};
  }
  return marks;
}

#define P "p = f32[4] parameter(0)\n "

static const struct {
  const char *name, *body, *left;
  uint32_t num_merged;
} rows[] = {
    {"a clone", P "a1 = f32[4] abs(p)\n a2 = f32[4] abs(p)\n ROOT r = f32[4] add(a1, a2)\n",
     "e{p#0 a1(p) ROOT r(a1,a1)}", 1},
    {"a chain of clones",
     P "a1 = f32[4] abs(p)\n b1 = f32[4] tanh(a1)\n a2 = f32[4] abs(p)\n b2 = f32[4] tanh(a2)\n "
       "ROOT r = f32[4] add(b1, b2)\n",
     "e{p#0 a1(p) b1(a1) ROOT r(b1,b1)}", 2},
    {"control dependencies do not go through StableHLO",
     P "a1 = f32[4] abs(p)\n b = f32[4] tanh(a1)\n "
       "a2 = f32[4] abs(p), control-predecessors={b}\n ROOT r = f32[4] add(b, a2)\n",
     "e{p#0 a1(p) b(a1) ROOT r(b,a1)}", 1},
    {"a clone behind a barrier stays",
     P "a1 = f32[4] abs(p)\n b = f32[4] tanh(a1)\n hb = (f32[4], f32[4]) tuple(p, b)\n "
       "ho = (f32[4], f32[4]) opt-barrier(hb)\n hg = f32[4] get-tuple-element(ho), index=0\n "
       "a2 = f32[4] abs(hg)\n ROOT r = f32[4] add(b, a2)\n",
     "e{p#0 a1(p) b(a1) hb(p,b) ho(hb) hg(ho)#0 a2(hg) ROOT r(b,a2)}", 0},
    {"behind the same barrier clones are merged with each other",
     P "hb = (f32[4]) tuple(p)\n ho = (f32[4]) opt-barrier(hb)\n "
       "hg = f32[4] get-tuple-element(ho), index=0\n hk = f32[4] get-tuple-element(ho), index=0\n "
       "a1 = f32[4] abs(hg)\n a2 = f32[4] abs(hk)\n ROOT r = f32[4] add(a1, a2)\n",
     "e{p#0 hb(p) ho(hb) hg(ho)#0 a1(hg) ROOT r(a1,a1)}", 1},
    {"the program's own are left alone",
     P "a = f32[4] abs(p)\n b = f32[4] abs(p)\n ROOT r = f32[4] add(a, b)\n",
     "e{p#0 a(p) b(p) ROOT r(a,b)}", 0},
    {"another expression of the same operands",
     P "a1 = f32[2] slice(p), slice={[0:2]}\n b2 = f32[2] slice(p), slice={[2:4]}\n "
       "ROOT r = f32[2] add(a1, b2)\n",
     "e{p#0 a1(p) b2(p) ROOT r(a1,b2)}", 0},
    {"a clone at the root",
     P "a1 = f32[4] abs(p)\n b = f32[4] tanh(a1)\n ROOT a2 = f32[4] abs(p)\n", "e{p#0 ROOT a1(p)}",
     1},
};

START_TEST(only_this_is_left) {
  Fixture fixture = fixture_parse_body("", rows[_i].body);
  Rewrite rewrite = rewrite_begin(fixture.module);
  RematMarks marks = marks_of(fixture.module, fixture.out);
  ck_assert_uint_eq(merge_clones(&rewrite, marks, fixture.scratch), rows[_i].num_merged);
  check_text(listing_of(fixture.module, fixture.out), rows[_i].left, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

/* Without clones only dead code and control dependencies go. */
START_TEST(without_marks_nothing_is_merged) {
  Fixture fixture =
      fixture_parse_body("", P
                         "a = f32[4] abs(p)\n b = f32[4] abs(p), control-predecessors={a}\n "
                         "ROOT r = f32[4] add(b, b)\n");
  Rewrite rewrite = rewrite_begin(fixture.module);
  ck_assert_uint_eq(merge_clones(&rewrite, NULL, fixture.scratch), 0);
  check_text(listing_of(fixture.module, fixture.out), "e{p#0 b(p) ROOT r(b,b)}", "no marks");
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("merge_clones");
  TCase *tc = tcase_create("merge_clones");
  tcase_add_loop_test(tc, only_this_is_left, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, without_marks_nothing_is_merged);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
