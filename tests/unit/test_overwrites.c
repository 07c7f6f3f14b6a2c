/* Reads of overwritten memory, and who overwrites what, in small modules. */
#include "analysis/memory/overwrites.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

/* Two branches: one works in place on element 0 of its operand, the other one reads it. */
#define BRANCHES                                       \
  "one { p = (f32[8], f32[1], s32[]) parameter(0)\n"   \
  " x = f32[8] get-tuple-element(p), index=0\n"        \
  " u = f32[1] get-tuple-element(p), index=1\n"        \
  " i = s32[] get-tuple-element(p), index=2\n"         \
  " ROOT d = f32[8] dynamic-update-slice(x, u, i) }\n" \
  "two { p = (f32[8], f32[1], s32[]) parameter(0)\n"   \
  " ROOT y = f32[8] get-tuple-element(p), index=0 }\n" \
  "three { p = (f32[8], f32[1], s32[]) parameter(0)\n" \
  " y = f32[8] get-tuple-element(p), index=0\n ROOT z = f32[8] sine(y) }\n"

#define ENTRY_OF_BRANCHES                                                        \
  "p = f32[8] parameter(0)\n u = f32[1] parameter(1)\n i = s32[] parameter(2)\n" \
  " x = f32[8] sine(p)\n t = (f32[8], f32[1], s32[]) tuple(x, u, i)\n"

/* A loop that carries an array and a counter; `step` makes `next` of `v`. */
#define LOOP(step)                                                                       \
  "cond { p = (f32[8], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=1\n"  \
  " n = s32[] constant(3)\n ROOT less = pred[] compare(i, n), direction=LT }\n"          \
  "body { p = (f32[8], s32[]) parameter(0)\n v = f32[8] get-tuple-element(p), index=0\n" \
  " i = s32[] get-tuple-element(p), index=1\n one = s32[] constant(1)\n" step            \
  " j = s32[] add(i, one)\n ROOT r = (f32[8], s32[]) tuple(next, j) }\n"

#define ENTRY_OF_LOOP                                                                             \
  "w = f32[8] parameter(0)\n s = s32[] parameter(1)\n x = f32[8] negate(w)\n c = s32[] copy(s)\n" \
  " t = (f32[8], s32[]) tuple(x, c)\n"                                                            \
  " loop = (f32[8], s32[]) while(t), condition=cond, body=body\n"                                 \
  " o = f32[8] get-tuple-element(loop), index=0\n"

static const char donated[] = ", input_output_alias={ {}: (0, {}, may-alias) }";

/* `reads`: reader<value>holder, the module's end as `end`; `overwriters`: value:overwriter of the
 * entry's instructions that have one. */
static const struct {
  const char *name, *head, *comps, *entry, *reads, *overwriters;
} cases[] = {
    {"one value after the other", donated, "",
     "p = f32[8] parameter(0)\n a = f32[8] sine(p)\n ROOT b = f32[8] add(p, a)\n", "", "p:b"},
    {"an update in place of a value that is read later", "", "",
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n u = f32[1] parameter(2)\n"
     " x = f32[8] sine(p)\n d = f32[8] dynamic-update-slice(x, u, i)\n"
     " ROOT s = f32[8] add(x, d)\n",
     "s<x>d", "x:d"},
    {"an update in place of a parameter that stays the caller's", "", "",
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n u = f32[1] parameter(2)\n"
     " ROOT d = f32[8] dynamic-update-slice(p, u, i)\n",
     "end<p>d", "p:d"},
    {"the update is part of what is updated", "", "",
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n x = f32[8] sine(p)\n"
     " ROOT d = f32[8] dynamic-update-slice(x, x, i)\n",
     "d<x>d", "x:d"},
    {"a copy to where its operand is", donated, "",
     "p = f32[8] parameter(0)\n c = f32[8] copy(p)\n i = s32[] parameter(1)\n"
     " u = f32[1] parameter(2)\n s = f32[8] sine(p)\n v = f32[1] slice(s), slice={[0:1]}\n"
     " ROOT d = f32[8] dynamic-update-slice(c, v, i)\n",
     "", "p:d c:d"},
    {"branches exclude each other", "", BRANCHES,
     ENTRY_OF_BRANCHES " r = f32[8] conditional(i, t, t), branch_computations={one, three}\n"
                       " ROOT o = f32[8] negate(r)\n",
     "", "x:r t:r"},
    {"the other way round", "", BRANCHES,
     ENTRY_OF_BRANCHES " r = f32[8] conditional(i, t, t), branch_computations={three, one}\n"
                       " ROOT o = f32[8] negate(r)\n",
     "", "x:r t:r"},
    {"what one branch hands through", "", BRANCHES,
     ENTRY_OF_BRANCHES " r = f32[8] conditional(i, t, t), branch_computations={one, two}\n"
                       " ROOT o = f32[8] negate(r)\n",
     "", "x:r t:r"},
    {"what one branch has overwritten is read after it", "", BRANCHES,
     ENTRY_OF_BRANCHES " r = f32[8] conditional(i, t, t), branch_computations={one, two}\n"
                       " ROOT o = f32[8] add(r, x)\n",
     "o<x>d", "x:r t:r"},
    {"no branch writes", "", BRANCHES,
     ENTRY_OF_BRANCHES " r = f32[8] conditional(i, t, t), branch_computations={two, two}\n"
                       " ROOT o = f32[8] add(r, x)\n",
     "", ""},
    {"a carry that goes on", "", LOOP(" next = f32[8] sine(v)\n"),
     ENTRY_OF_LOOP " ROOT z = f32[8] sine(o)\n", "", "x:loop c:loop t:loop"},
    {"the initial value is read after the loop", "", LOOP(" next = f32[8] sine(v)\n"),
     ENTRY_OF_LOOP " ROOT z = f32[8] add(o, x)\n", "z<x>next", "x:loop c:loop t:loop"},
    {"the carry is read after it was written", "",
     LOOP(" k = f32[8] sine(v)\n next = f32[8] cosine(k)\n m = f32[8] add(v, k)\n"),
     ENTRY_OF_LOOP " ROOT z = f32[8] sine(o)\n", "m<p>next", "x:loop c:loop t:loop"},
    {"what the loop only reads may be read after it", "", LOOP(" next = f32[8] bitcast(v)\n"),
     ENTRY_OF_LOOP " ROOT z = f32[8] add(o, x)\n", "", "c:loop t:loop"},
    {"a carry that is the caller's parameter", "", LOOP(" next = f32[8] sine(v)\n"),
     "x = f32[8] parameter(0)\n s = s32[] parameter(1)\n c = s32[] copy(s)\n"
     " t = (f32[8], s32[]) tuple(x, c)\n"
     " loop = (f32[8], s32[]) while(t), condition=cond, body=body\n"
     " ROOT o = f32[8] get-tuple-element(loop), index=0\n",
     "end<x>next", "x:loop c:loop t:loop"},
    {"an asynchronous operation reads until it is done", donated, "",
     "p = f32[8] parameter(0)\n s = (f32[8], f32[8], u32[]) copy-start(p)\n"
     " n = f32[8] sine(p)\n d = f32[8] copy-done(s)\n a = f32[8] add(n, d)\n"
     " ROOT r = f32[8] bitcast(n)\n",
     "d<p>n", "p:n s:n"},
    {"what is computed asynchronously with operands that come late", "",
     "other { q = f32[8] parameter(0)\n ROOT c = f32[8] custom-call(q), "
     "custom_call_target=\"t\", output_to_operand_aliasing={{}: (0, {})} }\n",
     "p = f32[8] parameter(0)\n s = ((), (), u32[]) async-start(), calls=other\n x = f32[8] "
     "sine(p)\n"
     " u = ((f32[8]), f32[8], u32[]) async-update(s, x)\n d = f32[8] async-done(u)\n"
     " ROOT n = f32[8] negate(d)\n",
     "", "x:u"},
    {"two results that lie where one operand lies", "", "",
     "p = f32[8] parameter(0)\n x = f32[8] sine(p)\n"
     " c = (f32[8], f32[8], f32[8]) custom-call(x), custom_call_target=\"t\", "
     "output_to_operand_aliasing={{0}: (0, {}), {1}: (0, {})}\n"
     " a = f32[8] get-tuple-element(c), index=0\n b = f32[8] get-tuple-element(c), index=1\n"
     " ROOT n = f32[8] add(a, b)\n",
     "", "x:c"},
};

static const char *name_of(const Fixture *fixture, InstId id) {
  Str name = inst_name(fixture->module, id);
  return arena_strndup(fixture->out, name.data, name.len);
}

static const char *name_of_value(const Fixture *fixture, const ValueAnalysis *values, ValueId id) {
  return name_of(fixture, values->flow.values.data[id].inst);
}

START_TEST(reads_and_overwriters_match_table) {
  char text[4096];
  snprintf(text, sizeof text, "HloModule m, is_scheduled=true%s\n%sENTRY e {\n %s}\n",
           cases[_i].head, cases[_i].comps, cases[_i].entry);
  Fixture fixture = fixture_parse(text);
  Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  ValueAnalysis values = value_analysis_build(module, fixture.out, fixture.scratch);
  OverwrittenReads reads =
      overwritten_reads_find(module, &values, &schedule, fixture.out, fixture.scratch);
  const char *found = "";
  for (uint32_t i = 0; i < reads.list.len; i++) {
    OverwrittenRead read = reads.list.data[i];
    const char *reader = read.reader == NO_ID ? "end" : name_of(&fixture, read.reader);
    found = arena_printf(fixture.out, "%s%s%s<%s>%s", found, i ? " " : "", reader,
                         name_of_value(&fixture, &values, read.value),
                         name_of_value(&fixture, &values, read.holder));
  }
  check_text(found, cases[_i].reads, cases[_i].name);
  Overwriters overwriters =
      overwriters_find(module, &values, &schedule, fixture.out, fixture.scratch);
  found = "";
  for (SchedPos pos = 0; pos < schedule.of[module->entry].len; pos++) {
    InstId id = schedule.of[module->entry].ids[pos], by = overwriter_of(&overwriters, id);
    if (by == NO_ID) continue;
    found = arena_printf(fixture.out, "%s%s%s:%s", found, *found ? " " : "", name_of(&fixture, id),
                         name_of(&fixture, by));
  }
  check_text(found, cases[_i].overwriters, cases[_i].name);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("overwrites");
  TCase *tc = tcase_create("overwrites");
  tcase_add_loop_test(tc, reads_and_overwriters_match_table, 0, sizeof cases / sizeof *cases);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
