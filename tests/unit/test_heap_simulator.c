#include "analysis/memory/heap_simulator.h"

#include "live_fixture.h"

/* What is asked for step by step: +VALUE allocates, VALUE=OTHER shares, -VALUE frees, with the
 * bytes of what is allocated. */
static const struct {
  const char *name, *header, *comps, *body;
  const char *trace;
} rows[] = {
    /* HeapSimulatorTest.MultiplyAdd */
    {"the sum in the product's place", "", "",
     "a = f32[] parameter(0)\n x = f32[4] parameter(1)\n y = f32[4] parameter(2)\n"
     "mul = f32[4] multiply(a, x)\n ROOT add = f32[4] add(mul, y)\n",
     "+a(4) +x(16) +y(16) +mul(16) -mul add=mul -a -x -y -add"},
    /* HeapSimulatorTest.MultiplyDot: nothing of a product's is written over */
    {"a dot shares with nobody", "", "",
     "a = f32[] parameter(0)\n x = f32[4,4] parameter(1)\n mul = f32[4,4] multiply(a, x)\n"
     "ROOT dot = f32[4,4] dot(mul, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     "+a(4) +x(64) +mul(64) +dot(64) -mul -a -x -dot"},
    {"constants are not asked for", "", "",
     P "c = f32[4] constant({1,2,3,4})\n ROOT a = f32[4] add(p, c)\n", "+p(16) +a(16) -p -a"},
    {"a dead value is given back in its step", "", "",
     P "d = f32[4] sine(p)\n ROOT r = f32[4] tanh(p)\n", "+p(16) +d(16) -d +r(16) -p -r"},
    {"of two operands that die the first", "", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n c = f32[4] add(a, b)\n ROOT r = f32[4] abs(c)\n",
     "+p(16) +a(16) +b(16) -a c=a -b -c r=c -p -r"},
    {"an operand is given once", "",
     "f { fp = f32[4] parameter(0)\n fa = f32[4] abs(fp)\n fb = f32[4] sine(fp)\n"
     "ROOT ft = (f32[4], f32[4]) tuple(fa, fb) }\n",
     P "a = f32[4] abs(p)\n m = (f32[4], f32[4]) fusion(a), kind=kLoop, calls=f\n"
       "x = f32[4] get-tuple-element(m), index=0\n y = f32[4] get-tuple-element(m), index=1\n"
       "ROOT r = f32[4] add(x, y)\n",
     "+p(16) +a(16) +m(16) -a m:1=a +m:2(16) -m +r(16) -m:1 -m:2 -p -r"},
    {"a copy takes nothing over", "", "",
     P "a = f32[4] abs(p)\n b = f32[4] copy(a)\n ROOT r = f32[4] reverse(b), dimensions={0}\n",
     "+p(16) +a(16) +b(16) -a +r(16) -b -p -r"},
    {"nor does what reads through a bitcast", "", "",
     P "a = f32[4] abs(p)\n v = f32[2,2] bitcast(a)\n ROOT b = f32[2,2] sine(v)\n",
     "+p(16) +a(16) +b(16) -a -p -b"},
    /* HloBuffers */
    {"an update is where its operand was", "", "",
     P DUS_OPERANDS "a = f32[4] abs(p)\n x = f32[4] dynamic-update-slice(a, w, i)\n"
                    "ROOT r = f32[4] sine(x)\n",
     "+p(16) +a(16) x=a -a +r(16) -x -p -r"},
    {"all of a loop's state", "", COND G,
     P "a = f32[4] abs(p)\n x = f32[4] while(a), condition=cond, body=g\n"
       "ROOT r = f32[4] reverse(x), dimensions={0}\n",
     "+p(16) +a(16) cp=a -a gq=a -cp ga=a -gq x=a -ga +r(16) -x -p -r"},
    {"a donated parameter and the result", ", input_output_alias={ {}: (0, {}) }", "",
     P "a = f32[4] abs(p)\n ROOT r = f32[4] tanh(a)\n", "+p(16) +a(16) -p r=p -a -r"},
};

static HeapTrace simulate(const LiveFixture *fixture) {
  HeapQuery query = {.module = fixture->module,
                     .flow = &fixture->values.flow,
                     .buffers = &fixture->values.buffers,
                     .ranges = &fixture->ranges};
  return heap_simulate(&query, fixture->base.out, fixture->base.scratch);
}

static const char *value_text(const LiveFixture *fixture, ValueId id) {
  const HloValue *value = &fixture->values.flow.values.data[id];
  Str name = inst_name(fixture->module, value->inst);
  const char *part = value->part ? arena_printf(fixture->base.out, ":%u", value->part) : "";
  return arena_printf(fixture->base.out, "%.*s%s", (int)name.len, name.data, part);
}

static const char *trace_text(const LiveFixture *fixture, const HeapTrace *trace) {
  Arena *out = fixture->base.out;
  const char *text = NULL;
  for (uint32_t i = 0; i < trace->events.len; i++) {
    HeapEvent event = trace->events.data[i];
    const char *value = value_text(fixture, event.value);
    switch (event.kind) {
      case HEAP_ALLOC: text_add(out, &text, "+%s(%lld)", value, (long long)event.bytes); break;
      case HEAP_SHARE: text_add(out, &text, "%s=%s", value, value_text(fixture, event.with)); break;
      default: text_add(out, &text, "-%s", value); break;
    }
  }
  return text;
}

START_TEST(trace_matches_table) {
  LiveFixture fixture = live_fixture_of(rows[_i].header, rows[_i].comps, rows[_i].body);
  HeapTrace trace = simulate(&fixture);
  check_text(trace_text(&fixture, &trace), rows[_i].trace, rows[_i].name);
  fixture_free(&fixture.base);
}
END_TEST

/* Ticks count what has bytes; buffers are in the order of the ids of values that are allocated,
 * which is that of the graph and not of time. */
START_TEST(requests_are_buffers) {
  LiveFixture fixture = live_fixture_of("", "",
                                        P
                                        "b = f32[4] sine(p)\n a = f32[4] abs(p)\n"
                                        "e = f32[0] slice(p), slice={[0:0]}\n"
                                        "c = f32[4] negate(a)\n ROOT r = f32[4] add(c, b)\n");
  Arena *out = fixture.base.out;
  HeapTrace trace = simulate(&fixture);
  check_text(trace_text(&fixture, &trace), "+p(16) +b(16) +a(16) +e(0) -e -a c=a -c r=c -b -p -r",
             "trace");
  HeapRequests requests =
      heap_requests(&trace, fixture.values.flow.values.len, 64, out, fixture.base.scratch);
  const PackProblem *problem = &requests.problem;
  const char *text = NULL;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    for (uint32_t k = buffer->first_range; k < buffer->first_range + buffer->num_ranges; k++) {
      text_add(out, &text, "%u:%s=%lld-%lld", i, value_text(&fixture, requests.values[k]),
               (long long)problem->ranges[k].begin, (long long)problem->ranges[k].end);
    }
    ck_assert_int_eq(buffer->bytes, 16);
    ck_assert_int_eq(buffer->first_bytes, 16);
    ck_assert_int_eq(buffer->alignment, 64);
  }
  check_text(text, "0:p=0-9 1:a=2-4 1:c=4-6 1:r=6-10 2:b=1-8", "requests");
  fixture_free(&fixture.base);
}
END_TEST

/* HeapSimulatorTest.UnionFindSizeUpdate: values that grow from one to the next in one memory, and
 * what it is as large as with each. */
START_TEST(a_buffer_grows_with_its_values) {
  static const int64_t bytes[] = {10, 10, 20, 30};
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  for (ValueId count = 1; count <= 4; count++) {
    HeapTrace trace = {0};
    for (ValueId id = 0; id < count; id++) {
      if (id) *vec_push(arena, &trace.events) = (HeapEvent){HEAP_FREE, id, id - 1, NO_ID, 0};
      uint8_t kind = id ? HEAP_SHARE : HEAP_ALLOC;
      *vec_push(arena, &trace.events) = (HeapEvent){kind, id, id, id ? id - 1 : NO_ID, bytes[id]};
    }
    *vec_push(arena, &trace.events) = (HeapEvent){HEAP_FREE, count, count - 1, NO_ID, 0};
    HeapRequests requests = heap_requests(&trace, count, 1, arena, scratch);
    ck_assert_uint_eq(requests.problem.num_buffers, 1);
    ck_assert_uint_eq(requests.problem.buffers[0].num_ranges, count);
    ck_assert_int_eq(requests.problem.buffers[0].first_bytes, 10);
    ck_assert_int_eq(requests.problem.buffers[0].bytes, bytes[count - 1]);
  }
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("heap_simulator");
  TCase *tc = tcase_create("heap_simulator");
  tcase_add_loop_test(tc, trace_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, requests_are_buffers);
  tcase_add_test(tc, a_buffer_grows_with_its_values);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
