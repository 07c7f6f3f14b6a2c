#include "analysis/loop/stack.h"

#include <stdlib.h>

#include "loop_texts.h"
#include "support.h"

#define WRITE " sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, i, z)\n"
#define READ " ss = f32[1,4] dynamic-slice(s, j, z), dynamic_slice_sizes={1,4}\n"

/* Each stack of the module: its loop and element, the iterations that wrote each slice, the slices
 * by iteration, `whole` if something reads it so, and each read with the iterations that it sees.
 */
static const struct {
  const char *name;
  LoopEdit edits[MAX_LOOP_EDITS];
  const char *stacks;
} rows[] = {
    {"read from the end",
     {{0}},
     "f#2 written at 0 1 2 3 4 5, b reads 5 4 3 2 1 0; b#4 written at 5 4 3 2 1 0 whole"},
    {"written from the end",
     {{WRITE,
       " k = s32[] constant(5)\n rev = s32[] subtract(k, i)\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, rev, z)\n"}},
     "f#2 written at 5 4 3 2 1 0, b reads 0 1 2 3 4 5; b#4 written at 5 4 3 2 1 0 whole"},
    {"every other slice",
     {{"f32[6,4]{1,0}", "f32[12,4]{1,0}"},
      {" sn = f32[12,4]{1,0} dynamic-update-slice(s, yr, i, z)\n",
       " i2 = s32[] add(i, i)\n sn = f32[12,4]{1,0} dynamic-update-slice(s, yr, i2, z)\n"},
      {READ,
       " j2 = s32[] add(j, j)\n"
       " ss = f32[1,4] dynamic-slice(s, j2, z), dynamic_slice_sizes={1,4}\n"}},
     "f#2 written at 0 2 4 6 8 10, b reads 5 4 3 2 1 0; b#4 written at 5 4 3 2 1 0 whole"},
    {"reads a slice that nobody wrote",
     {{"f32[6,4]{1,0}", "f32[12,4]{1,0}"},
      {READ,
       " j2 = s32[] add(j, j)\n"
       " ss = f32[1,4] dynamic-slice(s, j2, z), dynamic_slice_sizes={1,4}\n"}},
     "f#2 written at 0 1 2 3 4 5 whole; b#4 written at 5 4 3 2 1 0 whole"},
    {"read at clamped indices",
     {{READ,
       " up = s32[] add(j, one)\n"
       " ss = f32[1,4] dynamic-slice(s, up, z), dynamic_slice_sizes={1,4}\n"}},
     "f#2 written at 0 1 2 3 4 5, b reads 5 5 4 3 2 1; b#4 written at 5 4 3 2 1 0 whole"},
    {"written at clamped indices, so twice",
     {{WRITE,
       " up = s32[] add(i, one)\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, up, z)\n"}},
     "b#4 written at 5 4 3 2 1 0 whole"},
    {"written twice",
     {{WRITE,
       " first = f32[6,4]{1,0} dynamic-update-slice(s, yr, i, z)\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(first, yr, i, z)\n"}},
     "b#4 written at 5 4 3 2 1 0 whole"},
    {"read before it is written",
     {{WRITE,
       " old = f32[1,4] dynamic-slice(s, i, z), dynamic_slice_sizes={1,4}\n"
       " both = f32[1,4] add(old, yr)\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(s, both, i, z)\n"}},
     "b#4 written at 5 4 3 2 1 0 whole"},
    {"a part of a slice",
     {{WRITE,
       " half = f32[1,2] slice(yr), slice={[0:1], [0:2]}\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(s, half, i, z)\n"}},
     "b#4 written at 5 4 3 2 1 0 whole"},
    {"at an index that is not known",
     {{WRITE,
       " k = f32[4] floor(x)\n k1 = f32[1] slice(k), slice={[0:1]}\n"
       " k0 = f32[] reshape(k1)\n at = s32[] convert(k0)\n"
       " sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, at, z)\n"}},
     "b#4 written at 5 4 3 2 1 0 whole"},
    {"read whole in the loop",
     {{" y = f32[4] reshape(ss)\n",
       " all = f32[6,4]{1,0} negate(s)\n a1 = f32[1,4] slice(all), slice={[0:1], [0:4]}\n"
       " a0 = f32[4] reshape(a1)\n y0 = f32[4] reshape(ss)\n y = f32[4] add(y0, a0)\n"}},
     "f#2 written at 0 1 2 3 4 5 whole, b reads 5 4 3 2 1 0; b#4 written at 5 4 3 2 1 0 whole"},
    {"returned",
     {{" ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc)",
       " ROOT r = (f32[4], f32[4], f32[6,4], f32[6,4]{1,0}) tuple(x, dx, acc, s)"}},
     "f#2 written at 0 1 2 3 4 5 whole, b reads 5 4 3 2 1 0; b#4 written at 5 4 3 2 1 0 whole"},
    {"through a copy",
     {{" s = f32[6,4]{1,0} get-tuple-element(f), index=2\n",
       " sc = f32[6,4]{1,0} get-tuple-element(f), index=2\n s = f32[6,4]{1,0} copy(sc)\n"}},
     "f#2 written at 0 1 2 3 4 5, b reads 5 4 3 2 1 0; b#4 written at 5 4 3 2 1 0 whole"},
    {"through copies that convert",
     {{" s = f32[6,4]{1,0} get-tuple-element(f), index=2\n",
       " sc = f32[6,4]{1,0} get-tuple-element(f), index=2\n sb = bf16[6,4]{1,0} copy(sc)\n"
       " s = f32[6,4]{1,0} copy(sb)\n"}},
     "f#2 written at 0 1 2 3 4 5 whole; b#4 written at 5 4 3 2 1 0 whole"},
};

static void add_list(Arena *out, const char **text, const int64_t *list, int64_t count) {
  for (int64_t t = 0; t < count; t++)
    text_add(out, text, "%lld", (long long)list[t]);
}

static const char *name_at(const Loops *loops, uint32_t loop, Arena *out) {
  Str name = inst_name(loops->module, loops->list[loop].id);
  return arena_printf(out, "%.*s", (int)name.len, name.data);
}

static const char *describe(const Stacks *stacks, Arena *out) {
  const char *all = "";
  for (uint32_t i = 0; i < stacks->list.len; i++) {
    const Stack *stack = &stacks->list.data[i];
    const char *text = NULL;
    text_add(out, &text, "%s#%u written at", name_at(stacks->loops, stack->loop, out),
             stack->element);
    add_list(out, &text, stack->writes.data[0].slices, stacks->loops->list[stack->loop].trips);
    if (stack->is_read_whole) text_add(out, &text, "whole");
    for (uint32_t k = 0; k < stack->reads.len; k++) {
      const StackRead *read = &stacks->reads.data[stack->reads.data[k]];
      text = arena_printf(out, "%s, %s reads", text, name_at(stacks->loops, read->loop, out));
      add_list(out, &text, read->iterations, stacks->loops->list[read->loop].trips);
    }
    all = arena_printf(out, "%s%s%s", all, *all ? "; " : "", text);
  }
  return all;
}

START_TEST(stacks_match_table) {
  char *text = loop_text_edited(rows[_i].name, loop_scan, rows[_i].edits);
  Fixture fixture = fixture_parse(text);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  Loops loops = loops_find(fixture.module, &graph, fixture.out, fixture.scratch);
  ck_assert_uint_eq(loops.len, 2);
  Stacks stacks = stacks_find(&loops, fixture.out, fixture.scratch);
  check_text(describe(&stacks, fixture.out), rows[_i].stacks, rows[_i].name);
  fixture_free(&fixture);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stack");
  TCase *tc = tcase_create("stack");
  tcase_add_loop_test(tc, stacks_match_table, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
