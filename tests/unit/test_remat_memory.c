#include "analysis/memory/remat_memory.h"

#include "support.h"

/* The computation of XLA's tests: 16 KiB and the output at concat1. */
#define CONCATS                                                       \
  "p = f32[1] parameter(0)\n reshape = f32[] reshape(p)\n"            \
  "bcast = f32[1024] broadcast(reshape), dimensions={}\n"             \
  "negate = f32[1024] negate(bcast)\n"                                \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(bcast, slice1), dimensions={0}\n"  \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define PAIR "(f32[4], f32[4])"
#define P "p = f32[4] parameter(0)\n"
#define F "f { q = f32[4] parameter(0)\n fa = f32[4] abs(q)\n ROOT fr = f32[4] sine(fa) }\n"
#define G                                                                                  \
  "g { gq = f32[4] parameter(0)\n ga = f32[4] abs(gq)\n gb = f32[8] concatenate(ga, ga), " \
  "dimensions={0}\n ROOT gr = f32[4] slice(gb), slice={[0:4]} }\n"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"

static const struct {
  const char *name, *comps, *body;
  const char *at; /* bytes while each instruction of the entry computation runs, callees included */
  const char *peak;
  int64_t output_bytes;
} rows[] = {
    {"temporaries die behind their last user", "", CONCATS,
     "p=0 reshape=4 bcast=4100 negate=8192 concat1=16384 slice1=12292 concat2=8200 root=4100",
     "concat1", 4},
    {"parameters and outputs are free", "", P "a = f32[4] abs(p)\n ROOT t = " PAIR " tuple(a, p)\n",
     "p=0 a=0 t=0", "p", 48},
    {"a parameter is the output", "", "ROOT p = (f32[4], (s8[3], ())) parameter(0)\n", "p=0", "p",
     16 + 16 + 16 + 3 + 0},
    {"dead results die at once", "",
     P "d = f32[4] abs(p)\n e = f32[8] concatenate(p, p), "
       "dimensions={0}\n ROOT r = f32[4] sine(p)\n",
     "p=0 d=16 e=32 r=0", "e", 16},
    {"constants live from their place to their last user", "",
     P "c = f32[4] constant({1, 2, 3, 4})\n a = f32[4] abs(p)\n b = f32[4] add(a, c)\n"
       "ROOT r = f32[4] sine(b)\n",
     "p=0 c=16 a=32 b=48 r=16", "b", 16},
    {"tables of pointers count", "",
     P "a = f32[4] abs(p)\n t = " PAIR " tuple(a, p)\n u = (" PAIR ", f32[4]) tuple(t, p)\n"
       "b = f32[4] sine(p)\n"
       "o = (" PAIR ", f32[4]) opt-barrier(u)\n"
       "v = " PAIR " get-tuple-element(o), index=0\n" GTE("w", "v", "0") "ROOT r = f32[4] abs(w)\n",
     "p=0 a=16 t=32 u=48 b=64 o=48 v=48 w=32 r=16", "b", 16},
    {"elements that nobody reads die at once",
     "h { h0 = f32[4] parameter(0)\n"
     "h1 = f32[4] abs(h0)\n ROOT ht = " PAIR " tuple(h1, h1) }\n",
     P "f = " PAIR " fusion(p), kind=kLoop, calls=h\n a = f32[4] abs(p)\n" GTE("g0", "f", "0")
         GTE("g1", "f", "1") "ROOT r = f32[4] add(a, g0)\n",
     "p=0 f=48 a=48 g0=48 g1=48 r=32", "f", 16},
    {"what is bitcast is the same memory", "",
     P "a = f32[4] abs(p)\n b = f32[2,2] bitcast(a)\n c = f32[4,1] bitcast(b)\n"
       "d = f32[4] sine(p)\n ROOT r = f32[4,1] abs(c)\n",
     "p=0 a=16 b=16 c=16 d=32 r=16", "d", 16},
    {"what is reshaped is not", "",
     P "a = f32[4] abs(p)\n b = f32[2,2] reshape(a)\n ROOT r = f32[2,2] abs(b)\n",
     "p=0 a=16 b=32 r=16", "b", 16},
    {"in-place operations get memory of their own", "",
     P "i = s32[] constant(0)\n u = f32[1] constant({0})\n a = f32[4] abs(p)\n"
       "b = f32[4] dynamic-update-slice(a, u, i)\n ROOT r = f32[4] abs(b)\n",
     "p=0 i=4 u=8 a=24 b=40 r=16", "b", 16},
    {"and so do asynchronous starts", "",
     P "a = f32[4] abs(p)\n st = (f32[4], f32[8]) all-gather-start(a), dimensions={0}, "
       "replica_groups={{0,1}}\n d = f32[8] all-gather-done(st)\n ROOT r = f32[8] abs(d)\n",
     "p=0 a=16 st=80 d=96 r=32", "d", 32},
    {"a live-out element costs nothing from the start", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n c = f32[4] add(a, b)\n"
       "t = " PAIR " tuple(b, c)\n"
       "ROOT o = " PAIR " opt-barrier(t)\n",
     "p=0 a=16 b=16 c=16 t=0 o=0", "a", 48},
    {"a loop fusion that does not read an operand does not keep it",
     "h { h0 = f32[4] parameter(0)\n h1 = f32[4] parameter(1)\n ROOT hr = f32[4] abs(h0) }\n",
     P
     "a = f32[4] abs(p)\n b = f32[4] sine(p)\n ROOT r = f32[4] fusion(a, b), kind=kLoop, calls=h\n",
     "p=0 a=16 b=32 r=16", "b", 16},
    /* calls */
    {"a call costs its callee's peak", F,
     P "a = f32[4] abs(p)\n c = f32[4] call(p), to_apply=f\n ROOT r = f32[4] add(a, c)\n",
     "p=0 a=16 c=48 r=32", "c", 16},
    {"a fusion does not", F,
     P
     "a = f32[4] abs(p)\n c = f32[4] fusion(p), kind=kLoop, calls=f\n ROOT r = f32[4] add(a, c)\n",
     "p=0 a=16 c=32 r=32", "c", 16},
    {"nor does a custom call", F,
     P "ROOT c = f32[4] custom-call(p), custom_call_target=\"x\", called_computations={f}\n",
     "p=0 c=0", "p", 16},
    {"nor a reducer",
     "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n n = f32[] abs(l)\n"
     "ROOT s = f32[] add(n, m) }\n",
     P "z = f32[] constant(0)\n ROOT c = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n",
     "p=0 z=4 c=4", "z", 4},
    {"a conditional costs the sum of its branches", F G,
     P "i = s32[] constant(0)\n ROOT r = f32[4] conditional(i, p, p), branch_computations={f, g}\n",
     "p=0 i=4 r=68", "r", 16},
    {"twice the same branch costs twice", F,
     P "i = s32[] constant(0)\n ROOT r = f32[4] conditional(i, p, p), branch_computations={f, f}\n",
     "p=0 i=4 r=36", "r", 16},
    {"calls in calls",
     F "h { hp = f32[4] parameter(0)\n ha = f32[4] abs(hp)\n"
       "hc = f32[4] call(ha), to_apply=f\n ROOT hr = f32[4] add(hc, ha) }\n",
     P "ROOT r = f32[4] call(p), to_apply=h\n", "p=0 r=48", "r", 16},
    {"an asynchronous call costs at its start", F,
     P "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"
       "ROOT r = f32[4] call-done(st)\n",
     "p=0 st=52 r=36", "st", 16},
    /* The loop state reuses the memory of its initial value: a is live until r, b until the loop.
     */
    {"a loop costs condition and body, and no state of its own",
     "cond { cp = " PAIR " parameter(0)\n" GTE(
         "c0", "cp", "0") "c1 = f32[4] exponential(c0)\n"
                          "c2 = f32[1] slice(c1), slice={[0:1]}\n c3 = f32[] reshape(c2)\n"
                          "ROOT c4 = pred[] compare(c3, c3), direction=LT }\n"
                          "body { bp = " PAIR " parameter(0)\n" GTE(
                              "b0", "bp", "0") "b1 = f32[4] abs(b0)\n"
                                               "b2 = f32[4] sine(b1)\n ROOT bt = " PAIR
                                               " tuple(b2, b0) }\n",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n t = " PAIR " tuple(a, b)\n"
       "w = " PAIR
       " while(t), condition=cond, body=body\n" GTE("g", "w", "0") "ROOT r = f32[4] abs(g)\n",
     "p=0 a=16 b=32 t=48 w=84 g=32 r=16", "w", 16},
    {"a loop's result is the output",
     F "cond { cp = f32[4] parameter(0)\n ROOT c = pred[] constant(true) }\n",
     P "a = f32[4] abs(p)\n ROOT w = f32[4] while(a), condition=cond, body=f\n", "p=0 a=0 w=16",
     "w", 16},
};

START_TEST(bytes_match_table) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  RematMemory memory = remat_memory(module, &schedule, fixture.out, fixture.scratch);
  const CompMemory *entry = &memory.of[module->entry];
  Sequence sequence = schedule.of[module->entry];
  const char *text = NULL;
  int64_t peak_bytes = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    Str name = inst_name(module, sequence.ids[pos]);
    text_add(fixture.out, &text, "%.*s=%lld", (int)name.len, name.data,
             (long long)entry->bytes_at[pos]);
    if (entry->bytes_at[pos] > peak_bytes) peak_bytes = entry->bytes_at[pos];
  }
  check_text(text, rows[_i].at, rows[_i].name);
  ck_assert_int_eq(entry->peak_bytes, peak_bytes);
  Str peak = inst_name(module, sequence.ids[entry->peak_pos]);
  ck_assert_msg(str_is(peak, rows[_i].peak), "%s: peak at %.*s", rows[_i].name, (int)peak.len,
                peak.data);
  ck_assert_msg(memory.output_bytes == rows[_i].output_bytes, "%s: %lld bytes of outputs",
                rows[_i].name, (long long)memory.output_bytes);
  ck_assert_int_eq(memory.peak_bytes, peak_bytes + memory.output_bytes);
  fixture_free(&fixture);
}
END_TEST

/* ---- live ranges ---- */

static const struct {
  const char *name, *comps, *body;
  const char *intervals; /* buffer=bytes[begin,last], O for live-outs, I for indirect uses */
} interval_rows[] = {
    {"a chain", "", P "a = f32[4] abs(p)\n b = f32[4] add(a, p)\n ROOT r = f32[4] abs(b)\n",
     "p:0=0[0,2] a:0=16[1,2] b:0=16[2,3] r:0=0[3,3]O"},
    {"a tuple whose elements are taken is no indirect use", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n" GTE("g", "t", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0[0,1] a:0=16[1,4] t:0=8[2,3] r:0=0[4,4]O"},
    {"a tuple that is read is one", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n o = (f32[4]) opt-barrier(t)\n" GTE(
         "g", "o", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0[0,1] a:0=16[1,5] t:0=8[2,4] r:0=0[5,5]O"},
    {"through a bitcast is direct, through a barrier is not", "",
     P "a = f32[4] abs(p)\n b = f32[2,2] bitcast(a)\n c = f32[4] sine(p)\n o = f32[4] "
       "opt-barrier(c)\n"
       "d = f32[2,2] bitcast(o)\n ROOT r = f32[2,2] add(b, d)\n",
     "p:0=0[0,3] a:0=16[1,6] c:0=16[3,6] r:0=0[6,6]O"},
    {"copying a tuple reads it", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n c = (f32[4]) copy(t)\n" GTE(
         "g", "c", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0[0,1] a:0=16[1,5] t:0=8[2,3] c:0=8[3,4] r:0=0[5,5]O"},
    {"a loop's state", F "cond { cp = f32[4] parameter(0)\n ROOT c = pred[] constant(true) }\n",
     P "a = f32[4] abs(p)\n w = f32[4] while(a), condition=cond, body=f\n b = f32[4] sine(p)\n"
       "ROOT r = f32[4] add(w, b)\n",
     "p:0=0[0,3] a:0=16[1,4] b:0=16[3,4] r:0=0[4,4]O"},
};

START_TEST(intervals_match_table) {
  Fixture fixture = fixture_parse_body(interval_rows[_i].comps, interval_rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  PointsTo points_to = points_to_build(module, fixture.out, fixture.scratch);
  SchedPos *positions = arena_array(fixture.out, SchedPos, module->insts.len);
  RematIntervals intervals =
      remat_intervals(module, &points_to, schedule.of[module->entry], module->entry, positions,
                      fixture.out, fixture.scratch);
  const char *text = NULL;
  for (uint32_t i = 0; i < intervals.len; i++) {
    const RematInterval *interval = &intervals.list[i];
    const LogicalBuffer *buffer = &points_to.buffers.data[interval->buffer];
    Str name = inst_name(module, buffer->inst);
    text_add(fixture.out, &text, "%.*s:%u=%lld[%u,%u]%s", (int)name.len, name.data, buffer->part,
             (long long)interval->bytes, interval->begin, interval->last,
             interval->is_live_out ? "O" : "");
  }
  check_text(text, interval_rows[_i].intervals, interval_rows[_i].name);
  for (SchedPos pos = 0; pos < schedule.of[module->entry].len; pos++) {
    ck_assert_uint_eq(positions[schedule.of[module->entry].ids[pos]], pos);
  }
  fixture_free(&fixture);
}
END_TEST

/* ---- sizes ---- */

static const struct {
  const char *shape;
  int64_t bytes;
  const char *target;
} sizes[] = {
    {"(f32[8,128]{1,0:T(8,128)S(1)}, f32[1,128]{1,0:T(8,128)}, u32[]{:S(2)})", 512 + 4096, "tpu"},
    {"(f32[4]{0:S(5)}, f32[4]{0:S(1)})", 16 + 16, "gpu"},
    {"f32[4]", 16, NULL},
    {"()", 0, NULL},
    {"token[]", 0, NULL},
    {"(f32[4], token[])", 32, NULL},
    {"(f32[4], (s8[3], f64[2], ()))", 16 + 16 + 24 + 3 + 16 + 0, NULL},
    {"((((pred[]))))", 8 + 8 + 8 + 8 + 1, NULL},
};

START_TEST(device_bytes_match_table) {
  Arena *arena = arena_new(NULL);
  Fixture fixture =
      fixture_parse_body("", arena_printf(arena, "ROOT p = %s parameter(0)\n", sizes[_i].shape));
  if (sizes[_i].target) fixture.module->backend.target = target_find(sizes[_i].target);
  InstId p = find_inst(fixture.module, "p");
  ck_assert_msg(result_device_bytes(fixture.module, p) == sizes[_i].bytes, "%s", sizes[_i].shape);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

/* With another order, the live ranges change: the figures follow the schedule, not the text. */
START_TEST(the_schedule_counts) {
  Fixture fixture =
      fixture_parse_body("", P
                         "a = f32[4] abs(p)\n b = f32[4] sine(p)\n c = f32[4] tanh(a)\n"
                         "ROOT r = f32[4] add(b, c)\n");
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  RematMemory memory = remat_memory(fixture.module, &schedule, fixture.out, fixture.scratch);
  ck_assert_int_eq(memory.peak_bytes, 48 + 16);
  InstId *ids = schedule.of[fixture.module->entry].ids;
  ids[2] = find_inst(fixture.module, "c");
  ids[3] = find_inst(fixture.module, "b");
  memory = remat_memory(fixture.module, &schedule, fixture.out, fixture.scratch);
  ck_assert_int_eq(memory.peak_bytes, 32 + 16);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("remat_memory");
  TCase *tc = tcase_create("remat_memory");
  tcase_add_loop_test(tc, bytes_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, intervals_match_table, 0, sizeof interval_rows / sizeof *interval_rows);
  tcase_add_loop_test(tc, device_bytes_match_table, 0, sizeof sizes / sizeof *sizes);
  tcase_add_test(tc, the_schedule_counts);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
