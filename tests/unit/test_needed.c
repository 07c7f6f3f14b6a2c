#include "remat/legality/needed.h"

#include <stdlib.h>

#include "loop_texts.h"
#include "support.h"

/* What of loop_scan is not needed when the second loop computes the slices that it reads. */
static const struct {
  const char *name;
  LoopEdit edits[MAX_LOOP_EDITS];
  bool covers_loops;
  const char *unneeded, *replaceable;
} rows[] = {
    {"a stack that is only read slice by slice",
     {{0}},
     true,
     "fb.s fb.yr fb.sn bb.s bb.ss bb.y e.s0 e.a0 e.s",
     "bb.ss bb.y e.s0 e.a0"},
    {"a stack that is returned",
     {{" ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc)",
       " ROOT r = (f32[4], f32[4], f32[6,4], f32[6,4]{1,0}) tuple(x, dx, acc, s)"}},
     true,
     "bb.s bb.ss bb.y e.s0 e.a0",
     "bb.ss bb.y e.s0 e.a0"},
    {"a loop that only saves",
     {{"tuple(zero, x, s, w, a0)", "tuple(zero, x0, s, w, a0)"},
      {"tuple(x, dx, acc)", "tuple(x0, dx, acc)"}},
     true,
     "fc.t fc.i fc.fn fc.c fb.t fb.i fb.x fb.s fb.w fb.z fb.one fb.ws fb.wr fb.m fb.y fb.yr fb.sn "
     "fb.xn fb.fin fb.r bb.s bb.ss bb.y e.s0 e.a0 e.fi e.f e.x e.s",
     "bb.ss bb.y e.s0 e.a0"},
    {"a stack that no other loop reads",
     {{" y = f32[4] reshape(ss)\n", " y = f32[4] sine(wj)\n"},
      {" ss = f32[1,4] dynamic-slice(s, j, z), dynamic_slice_sizes={1,4}\n", ""}},
     false,
     NULL,
     NULL},
};

static const char *list(const Module *module, const bool *flags, bool wanted, Arena *out) {
  const char *text = NULL;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      bool is_leaf = inst_get(module, id)->opcode == OPCODE_CONSTANT ||
                     inst_get(module, id)->opcode == OPCODE_PARAMETER;
      if (flags[id] != wanted || (is_leaf && comp == module->entry)) continue;
      if (is_leaf && wanted) continue; /* every constant is from constants */
      Str caller = comp_name(module, comp), name = inst_name(module, id);
      text_add(out, &text, "%.*s.%.*s", (int)caller.len, caller.data, (int)name.len, name.data);
    }
  }
  return text ? text : "";
}

START_TEST(needed_matches_table) {
  char *text = loop_text_edited(rows[_i].name, loop_scan, rows[_i].edits);
  Fixture fixture = fixture_parse(text);
  const Module *module = fixture.module;
  CallGraph graph = call_graph_build(module, fixture.out, fixture.scratch);
  SideEffects effects = side_effects_build(module, fixture.out, fixture.scratch);
  Needed needed = needed_find(module, &graph, &effects, fixture.out, fixture.scratch);
  ck_assert_msg(needed.covers_loops == rows[_i].covers_loops, "%s", rows[_i].name);
  if (needed.covers_loops) {
    check_text(list(module, needed.of_inst, false, fixture.out), rows[_i].unneeded, rows[_i].name);
    check_text(list(module, needed.is_replaceable, true, fixture.out), rows[_i].replaceable,
               rows[_i].name);
  }
  fixture_free(&fixture);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("needed");
  TCase *tc = tcase_create("needed");
  tcase_add_loop_test(tc, needed_matches_table, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
