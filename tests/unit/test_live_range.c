#include "analysis/memory/live_range.h"

#include "analysis/memory/liveness.h"
#include "support.h"

#define P "p = f32[4] parameter(0)\n"
#define PAIR "(f32[4], f32[4])"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"
#define F "f { q = f32[4] parameter(0)\n fa = f32[4] abs(q)\n ROOT fb = f32[4] sine(fa) }\n"
#define G "g { gq = f32[4] parameter(0)\n ROOT ga = f32[4] abs(gq) }\n"
#define ID "id { ROOT iq = f32[4] parameter(0) }\n"
#define COND "cond { cp = f32[4] parameter(0)\n ROOT ct = pred[] constant(true) }\n"
#define DUS_OPERANDS "w = f32[1] constant({1})\n i = s32[] constant(0)\n"

/* The program as one line, and when each value lives, ends included.
 * A computation's result and the program's parameters live to one past the last time. */
static const struct {
  const char *name, *header, *comps, *body;
  const char *flat, *ranges;
} rows[] = {
    {"from definition to last use", "", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n c = f32[4] add(a, b)\n ROOT r = f32[4] tanh(c)\n",
     "p a b c r", "p=0-5 a=1-3 b=2-3 c=3-4 r=4-5"},
    {"a dead value lives where it is made", "", "",
     P "d = f32[4] sine(p)\n ROOT r = f32[4] tanh(p)\n", "p d r", "p=0-3 d=1-1 r=2-3"},
    {"a donated parameter lives to its last use", ", input_output_alias={ {}: (0, {}) }", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n ROOT r = f32[4] tanh(b)\n", "p a b r",
     "p=0-1 a=1-2 b=2-3 r=3-4"},
    {"and so does an unread one", ", input_output_alias={ {}: (1, {}) }", "",
     P "q = f32[4] parameter(1)\n ROOT r = f32[4] tanh(p)\n", "p q r", "p=0-3 q=0-1 r=2-3"},
    {"parameters live from the beginning", "", "",
     P "a = f32[4] abs(p)\n q = f32[4] parameter(1)\n ROOT r = f32[4] add(a, q)\n", "p a q r",
     "p=0-4 a=1-3 q=0-4 r=3-4"},
    {"a constant is like any other value", "", "",
     P "c = f32[4] constant({1,2,3,4})\n a = f32[4] add(p, c)\n ROOT r = f32[4] abs(a)\n",
     "p c a r", "p=0-4 c=1-2 a=2-3 r=3-4"},
    {"a tuple's elements live as long as they are held", "", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n b = f32[4] sine(p)\n" GTE(
         "g", "t", "0") "c = f32[4] tanh(p)\n ROOT r = f32[4] add(b, c)\n",
     "p a t b g c r", "p=0-7 a=1-4 t=2-4 b=3-6 c=5-6 r=6-7"},
    {"what the root holds lives to the end", "", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n ROOT t = (f32[4]) tuple(a)\n", "p a b t",
     "p=0-4 a=1-4 b=2-2 t=3-4"},
    /* calls */
    {"a call is laid out before itself", "", F,
     P "a = f32[4] abs(p)\n x = f32[4] call(a), to_apply=f\n b = f32[4] sine(x)\n"
       "ROOT r = f32[4] tanh(b)\n",
     "p a q fa fb x b r", "p=0-8 a=1-3 fa=3-4 fb=4-6 b=6-7 r=7-8"},
    {"a called computation once only, where it is called first", "", G,
     P "x = f32[4] call(p), to_apply=g\n ROOT y = f32[4] call(p), to_apply=g\n", "p gq ga x y",
     "p=0-5 ga=2-5"},
    {"calls in calls", "",
     G "h { hq = f32[4] parameter(0)\n hx = f32[4] call(hq), to_apply=g\n"
       "ROOT hr = f32[4] sine(hx) }\n",
     P "ROOT x = f32[4] call(p), to_apply=h\n", "p hq gq ga hx hr x", "p=0-7 ga=3-5 hr=5-7"},
    {"fusions and reducers do not run by themselves", "",
     G "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n",
     P "x = f32[4] fusion(p), kind=kLoop, calls=g\n z = f32[] constant(0)\n"
       "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n",
     "p x z r", "p=0-4 x=1-3 z=2-3 r=3-4"},
    {"a conditional: its branches in their order", "", G F,
     P "i = s32[] constant(0)\n a = f32[4] abs(p)\n"
       "x = f32[4] conditional(i, a, a), branch_computations={f, g}\n ROOT r = f32[4] sine(x)\n",
     "p i a q fa fb gq ga x r", "p=0-10 i=1-8 a=2-8 fa=4-5 fb=5-6 ga=7-8 x=8-9 r=9-10"},
    /* A loop's condition comes before its body; the initial value is taken over where the body
     * begins, but one buffer holds all of the state, so each value ends where the next starts. */
    {"a loop", "", COND G,
     P
     "a = f32[4] abs(p)\n x = f32[4] while(a), condition=cond, body=g\n ROOT r = f32[4] sine(x)\n",
     "p a cp ct gq ga x r", "p=0-8 a=1-2 cp=2-4 ct=3-4 gq=4-5 ga=5-6 x=6-7 r=7-8"},
    {"a loop that leaves its state alone", "", COND ID,
     P
     "a = f32[4] abs(p)\n x = f32[4] while(a), condition=cond, body=id\n ROOT r = f32[4] sine(x)\n",
     "p a cp ct iq x r", "p=0-7 a=1-6 ct=3-4 r=6-7"},
    {"an asynchronous call lives until it is done", "", F,
     P "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n a = f32[4] abs(p)\n"
       "b = f32[4] sine(a)\n dn = f32[4] call-done(st)\n ROOT r = f32[4] add(b, dn)\n",
     "p async_param q fa fb async_op st a b dn r",
     "p=0-11 fa=3-9 fb=4-10 st=6-9 st:1=6-9 st:4=6-9 a=7-8 b=8-10 r=10-11"},
    {"an asynchronous call that gets its operands later runs where it gets them", "", F,
     P "st = ((), (), (f32[8])) async-start(), calls=f\n a = f32[4] abs(p)\n"
       "up = ((f32[4]), f32[4], (f32[8])) async-update(st, a), "
       "output_to_operand_aliasing={{2,0}: (0, {2,0})}\n b = f32[4] sine(a)\n"
       "dn = f32[4] async-done(up)\n ROOT r = f32[4] add(b, dn)\n",
     "p st a q fa fb up b dn r",
     "p=0-10 st=1-6 st:1=1-6 st:2=1-6 st:3=1-6 st:4=1-6 a=2-8 fa=4-8 fb=5-9 up=6-8 up:1=6-8 "
     "up:4=6-8 "
     "up:5=6-8 b=7-9 r=9-10"},
    /* in place */
    {"an operand ends where it is overwritten", "", "",
     P DUS_OPERANDS "a = f32[4] abs(p)\n x = f32[4] dynamic-update-slice(a, w, i)\n"
                    "b = f32[4] sine(a)\n ROOT r = f32[4] add(x, b)\n",
     "p w i a x b r", "p=0-7 w=1-4 i=2-4 a=3-4 x=4-6 b=5-6 r=6-7"},
    {"the one that lives longest hands its end on", "", "",
     P DUS_OPERANDS "a = f32[4] abs(p)\n x = f32[4] dynamic-update-slice(a, w, i)\n"
                    "b = f32[4] sine(x)\n ROOT r = f32[4] add(a, b)\n",
     "p w i a x b r", "p=0-7 w=1-4 i=2-4 a=3-4 x=4-6 b=5-6 r=6-7"},
};

START_TEST(ranges_match_table) {
  Fixture fixture = fixture_parse_format("HloModule m%s\n%s\nENTRY e {\n%s}\n", rows[_i].header,
                                         rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Arena *out = fixture.out;
  Schedule schedule = schedule_in_text_order(module, out);
  ValueAnalysis values = value_analysis_build(module, out, fixture.scratch);
  LiveRanges ranges = live_ranges_build(module, &values.graph, &values.flow, &values.buffers,
                                        &schedule, out, fixture.scratch);
  const char *flat = NULL, *text = NULL;
  for (LogicalTime time = 0; time < ranges.num_times; time++) {
    Str name = inst_name(module, ranges.flat[time]);
    text_add(out, &flat, "%.*s", (int)name.len, name.data);
    ck_assert_uint_eq(ranges.time_of[ranges.flat[time]], time);
  }
  check_text(flat, rows[_i].flat, rows[_i].name);
  for (LogicalTime time = 0; time < ranges.num_times; time++) {
    for (ValueId id = 0; id < values.flow.values.len; id++) {
      HloValue value = values.flow.values.data[id];
      if (value.inst != ranges.flat[time]) continue;
      Str name = inst_name(module, value.inst);
      text_add(out, &text, "%.*s%s=%u-%u", (int)name.len, name.data,
               value.part ? arena_printf(out, ":%u", value.part) : "", ranges.of[id].start,
               ranges.of[id].end);
    }
  }
  check_text(text, rows[_i].ranges, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("live_range");
  TCase *tc = tcase_create("live_range");
  tcase_add_loop_test(tc, ranges_match_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
