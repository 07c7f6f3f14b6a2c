#include "analysis/memory/buffer_assignment.h"

#include "live_fixture.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define LARGE(name, operand) name " = f32[32] broadcast(" operand "), dimensions={}\n"

#define SIDE_BY_SIDE \
  P REVERSE("a", "p") REVERSE("b", "a") REVERSE("c", "b") "d = f32[4] add(b, c)\n" \
  "ROOT r = f32[1] slice(d), slice={[0:1]}\n"
#define TABLE \
  P REVERSE("a", "p") REVERSE("b", "a") "t = (f32[4], f32[4]) tuple(a, b)\n"             \
  "u = (f32[4], f32[4]) opt-barrier(t)\n v = f32[4] get-tuple-element(u), index=0\n"    \
  "w = f32[4] get-tuple-element(u), index=1\n s = f32[4] subtract(v, w)\n"              \
  "ROOT r = f32[1] slice(s), slice={[0:1]}\n"

/* Allocations in their order: kind, size, `:` and what is in them, `@` before an offset that is not
 * 0. Kinds: param, donated, const, out, tuple, temp, local; a tuple of the result is out. */
static const struct {
  const char *name, *header, *comps, *body;
  const char *allocations;
} rows[] = {
    /* allocations of their own */
    {"a parameter and the result", "", "", P "ROOT r = f32[4] tanh(p)\n", "out16:r param16:p"},
    {"larger ones first", "", "",
     P "q = f32[32] parameter(1)\n ROOT r = f32[4] slice(q), slice={[0:4]}\n",
     "param128:q out16:r param16:p"},
    {"of equal sizes results, then operands before users", "", "",
     P "q = f32[4] parameter(1)\n r = f32[4] subtract(q, p)\n s = f32[4] add(q, p)\n"
       "ROOT t = (f32[4], f32[4]) tuple(s, r)\n",
     "out16:s out16:r out16:t param16:q param16:p"},
    {"a constant", "", "", P "c = f32[4] constant({1,2,3,4})\n ROOT r = f32[4] add(p, c)\n",
     "out16:r param16:p const16:c"},
    {"a constant that is a result", "", "",
     P "c = f32[4] constant({1,2,3,4})\n ROOT t = (f32[4]) tuple(c)\n",
     "const16:c param16:p out8:t"},
    {"a reducer's values are its own, one by one", "", SUM,
     P "z = f32[] constant(0)\n ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n",
     "param16:p out4:r const4:z local4 local4 local4"},
    {"what a fusion computes is nobody's", "",
     "f { fp = f32[4] parameter(0)\n fa = f32[4] abs(fp)\n ROOT fb = f32[4] sine(fa) }\n",
     P "ROOT r = f32[4] fusion(p), kind=kLoop, calls=f\n", "out16:r param16:p"},
    /* temporaries */
    {"temporaries side by side, aligned", "", "", SIDE_BY_SIDE,
     "param16:p out4:r temp80:a@64,b,c@64,d"},
    {"where the result will be", "", "",
     P REVERSE("a", "p") REVERSE("b", "a") "ROOT r = f32[4] reverse(b), dimensions={0}\n",
     "out16:a,r param16:p temp16:b"},
    {"a smaller one where the result will be", "", "",
     P REVERSE("a", "p") "b = f32[8] concatenate(a, p), dimensions={0}\n"
                         "c = f32[8] reverse(b), dimensions={0}\n ROOT r = f32[8] reverse(c), "
                         "dimensions={0}\n",
     "out32:b,r param16:p temp32:a,c"},
    {"the result must fit exactly", ", input_output_alias={ {0}: (0, {}) }", "",
     "p = f32[8] parameter(0)\n a = f32[4] slice(p), slice={[0:4]}\n" REVERSE(
         "b", "a") "c = f32[8] concatenate(b, b), dimensions={0}\n ROOT t = (f32[8], f32[4]) "
                   "tuple(c, b)\n",
     "donated32:p,c out16:b out16:t temp16:a"},
    {"a copy never where its operand was", "", "", P REVERSE("a", "p") "ROOT b = f32[4] copy(a)\n",
     "out16:b param16:p temp16:a"},
    /* in place */
    {"the result where the operand was", "", "", P REVERSE("a", "p") "ROOT r = f32[4] sine(a)\n",
     "out16:a,r param16:p"},
    {"a donated parameter, before its values are read", ", input_output_alias={ {}: (0, {}) }", "",
     P REVERSE("a", "p") REVERSE("b", "a") REVERSE("c", "b") "ROOT r = f32[4] abs(c)\n",
     "donated16:p,b,r temp16:a,c"},
    {"a loop's state is one", "", COND G,
     P REVERSE("a", "p") "x = f32[4] while(a), condition=cond, body=g\n"
                         "ROOT r = f32[1] slice(x), slice={[0:1]}\n",
     "param16:p out4:r const1:ct temp16:ga,a,gq,cp,x"},
    {"an update too", "", "",
     P DUS_OPERANDS REVERSE("a", "p") "x = f32[4] dynamic-update-slice(a, w, i)\n"
                                      "ROOT r = f32[1] slice(x), slice={[0:1]}\n",
     "param16:p out4:r const4:w const4:i temp16:a,x"},
    /* tables */
    {"a table of pointers is a temporary in front of the heap", "", "", TABLE,
     "param16:p out4:r temp144:a@128,b@64,t,s@128"},
    {"behind it when a reducer's values change places with it", "", SUM,
     P REVERSE("a", "p") REVERSE(
         "b",
         "a") "t = (f32[4], f32[4]) tuple(a, b)\n"
              "u = (f32[4], f32[4]) opt-barrier(t)\n v = f32[4] get-tuple-element(u), index=0\n"
              "w = f32[4] get-tuple-element(u), index=1\n s = f32[4] subtract(v, w)\n"
              "z = f32[] constant(0)\n ROOT r = f32[] reduce(s, z), dimensions={0}, to_apply=sum\n",
     "param16:p local4 out4:r const4:z local4 local4 temp144:a@64,b,t@128,s@64"},
    {"colors have heaps of their own", "", "",
     P "a = f32[4]{0:S(1)} reverse(p), dimensions={0}\n" REVERSE(
         "b", "a") "ROOT r = f32[1] slice(b), slice={[0:1]}\n",
     "param16:p out4:r temp16:b temp16:a"},
    {"the host's memory is not the device's", "", "",
     P "a = f32[4]{0:S(5)} reverse(p), dimensions={0}\n" REVERSE(
         "b", "a") "ROOT r = f32[1] slice(b), slice={[0:1]}\n",
     "param16:p out4:r temp16:b temp0:a"},
    {"what needs no bytes", "", "",
     "p = f32[0] parameter(0)\n a = f32[0] abs(p)\n ROOT r = f32[0] copy(a)\n",
     "out0:r param0:p temp0:a"},
};

static const char *kind_text(const Allocation *allocation) {
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER: return allocation->is_donated ? "donated" : "param";
    case ALLOCATION_CONSTANT: return "const";
    case ALLOCATION_THREAD_LOCAL: return "local";
    case ALLOCATION_TUPLE: return allocation->is_live_out ? "out" : "tuple";
    default: return allocation->is_live_out ? "out" : "temp";
  }
}

static const char *allocations_text(const LiveFixture *fixture,
                                    const BufferAssignment *assignment) {
  const ValueAnalysis *values = &fixture->values;
  Arena *out = fixture->base.out;
  const char *text = NULL;
  for (uint32_t i = 0; i < assignment->allocations.len; i++) {
    const Allocation *allocation = &assignment->allocations.data[i];
    text_add(out, &text, "%s%lld", kind_text(allocation), (long long)allocation->bytes);
    const char *separator = ":";
    for (ValueId id = 0; id < values->flow.values.len; id++) {
      if (assignment->of[values->buffers.of[id]] != i) continue;
      HloValue value = values->flow.values.data[id];
      Str name = inst_name(fixture->module, value.inst);
      text = arena_printf(out, "%s%s%.*s", text, separator, (int)name.len, name.data);
      if (value.part) text = arena_printf(out, "%s:%u", text, value.part);
      if (assignment->offsets[id]) {
        text = arena_printf(out, "%s@%lld", text, (long long)assignment->offsets[id]);
      }
      separator = ",";
    }
  }
  return text;
}

START_TEST(allocations_match_table) {
  LiveFixture fixture = live_fixture_of(rows[_i].header, rows[_i].comps, rows[_i].body);
  BufferAssignment assignment =
      buffer_assignment_run(fixture.module, &fixture.values, &fixture.ranges, 64, HEAP_OFFSETS,
                            fixture.base.out, fixture.base.scratch);
  check_text(allocations_text(&fixture, &assignment), rows[_i].allocations, rows[_i].name);
  fixture_free(&fixture.base);
}
END_TEST

/* As the rows above, where heaps have a limit. */
static const struct {
  const char *name, *comps, *body;
  int limit;
  const char *allocations;
} limit_rows[] = {
    {"as much as it takes", "", SIDE_BY_SIDE, 80, "param16:p out4:r temp80:a@64,b,c@64,d"},
    {"less: what is left is not combined when that reaches the limit", "", SIDE_BY_SIDE, 32,
     "param16:p out4:r temp16:b,d temp16:a,c"},
    {"it is combined when it stays below", "", SIDE_BY_SIDE, 33,
     "param16:p out4:r temp80:a@64,b,c@64,d"},
    {"nothing fits", "", SIDE_BY_SIDE, 0, "param16:p out4:r temp16:b,d temp16:c temp16:a"},
    {"a table in front of the first heap, pairs below the limit", "", TABLE, 64,
     "param16:p out4:r temp80:b@64,t temp16:a,s"},
    {"a table by itself", "", TABLE, 16, "param16:p out4:r tuple16:t temp16:b temp16:a,s"},
    {"colors", "",
     P "a = f32[4]{0:S(1)} reverse(p), dimensions={0}\n" REVERSE(
         "b", "a") "ROOT r = f32[1] slice(b), slice={[0:1]}\n",
     0, "param16:p out4:r temp16:b temp16:a"},
    {"a loop's state is one", COND G,
     P REVERSE("a", "p") "x = f32[4] while(a), condition=cond, body=g\n"
                         "ROOT r = f32[1] slice(x), slice={[0:1]}\n",
     0, "param16:p out4:r const1:ct temp16:ga,a,gq,cp,x"},
    {"what needs no bytes", "",
     "p = f32[0] parameter(0)\n a = f32[0] abs(p)\n ROOT r = f32[0] copy(a)\n", 0,
     "out0:r param0:p temp0:a"},
};

START_TEST(heaps_match_table) {
  LiveFixture fixture = live_fixture_of("", limit_rows[_i].comps, limit_rows[_i].body);
  fixture.base.module->backend.heap_limit_bytes = limit_rows[_i].limit;
  for (int detail = HEAP_OFFSETS; detail <= HEAP_SIZES; detail++) {
    BufferAssignment assignment =
        buffer_assignment_run(fixture.module, &fixture.values, &fixture.ranges, 64,
                              (HeapDetail)detail, fixture.base.out, fixture.base.scratch);
    check_text(allocations_text(&fixture, &assignment), limit_rows[_i].allocations,
               limit_rows[_i].name);
    int64_t temp_bytes = 0;
    for (uint32_t i = 0; i < assignment.num_temps; i++)
      temp_bytes += assignment.allocations.data[assignment.allocations.len - 1 - i].bytes;
    ck_assert_int_eq(temp_bytes, assignment.temp_bytes);
  }
  fixture_free(&fixture.base);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("buffer_assignment");
  TCase *tc = tcase_create("buffer_assignment");
  tcase_add_loop_test(tc, allocations_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, heaps_match_table, 0, sizeof limit_rows / sizeof *limit_rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
