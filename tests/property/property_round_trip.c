/* What is printed is what was read; reading it again gives the same graph. The text that a
 * scheduled module is rendered as is stable too: printed and read once more it stays as it is. */
#include <stdlib.h>
#include <string.h>

#include "property.h"

static void check_same_text(Text a, Text b, const Sample *sample) {
  ck_assert_msg(a.length == b.length && memcmp(a.data, b.data, a.length) == 0,
                "printed as\n%.1200s\n%s", b.data, sample_shown(sample));
}

static bool same_ids(const uint32_t *a, const uint32_t *b, uint32_t count) {
  return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* Ids are given in the order of the text, so equal graphs have equal ids. */
static bool same_inst(const Module *a, const Module *b, InstId id) {
  const Instruction *x = inst_get(a, id), *y = inst_get(b, id);
  IdList before_x = inst_control(a, id)->predecessors, before_y = inst_control(b, id)->predecessors;
  return x->opcode == y->opcode && x->flags == y->flags && x->shape == y->shape &&
         x->parent == y->parent && x->index == y->index && x->num_operands == y->num_operands &&
         x->num_callees == y->num_callees && inst_attrs(a, id).len == inst_attrs(b, id).len &&
         x->users.len == y->users.len && before_x.len == before_y.len &&
         str_equal(inst_name(a, id), inst_name(b, id)) &&
         same_ids(inst_operands(a, id), inst_operands(b, id), x->num_operands) &&
         same_ids(inst_callees(a, id), inst_callees(b, id), x->num_callees) &&
         same_ids(inst_users(a, id), inst_users(b, id), x->users.len) &&
         same_ids(id_list(a, before_x), id_list(b, before_y), before_x.len);
}

static void check_same_graph(const Module *a, const Module *b, const Sample *sample) {
  ck_assert_msg(
      a->insts.len == b->insts.len && a->comps.len == b->comps.len && a->entry == b->entry,
      "another number of instructions\n%s", sample_shown(sample));
  for (InstId id = 0; id < a->insts.len; id++) {
    ck_assert_msg(same_inst(a, b, id), "%.*s differs\n%s", (int)inst_name(a, id).len,
                  inst_name(a, id).data, sample_shown(sample));
  }
  for (CompId comp = 0; comp < a->comps.len; comp++) {
    ck_assert_msg(comp_get(a, comp)->root == comp_get(b, comp)->root, "another root\n%s",
                  sample_shown(sample));
  }
}

START_TEST(print_then_parse_is_the_same) {
  Sample sample = sample_make((uint64_t)_i, 2000, GENERATE_ALL | GENERATE_ASYNC);
  Text printed = print_text(sample.module);
  check_same_text(sample.text, printed, &sample);
  rh_module *again = parse_text(printed, sample_shown(&sample));
  check_same_graph(sample.module->module, again->module, &sample);

  rh_module *scheduled = schedule_sample(&sample, "postorder");
  Text rendered = print_text(scheduled);
  rh_module *reread = parse_printed(rendered, scheduled, sample_shown(&sample));
  ck_assert(rh_get_info(reread)->is_scheduled);
  /* Computations written inside instructions come once more for each copy of these. */
  bool may_repeat = sample.options.features & GENERATE_ODD_TEXT;
  ck_assert_msg(may_repeat || rh_get_info(reread)->num_instructions ==
                                  rh_get_info(scheduled)->num_instructions,
                "as scheduled it has another number of instructions\n%.1200s\n%s", rendered.data,
                sample_shown(&sample));
  rh_module *rescheduled = NULL;
  ck_assert_int_eq(rh_schedule(reread, NULL, NULL, &rescheduled, NULL), RH_OK);
  Text stable = print_text(rescheduled);
  check_same_text(rendered, stable, &sample);

  rh_module_free(rescheduled);
  rh_module_free(reread);
  rh_module_free(scheduled);
  rh_module_free(again);
  free(stable.data);
  free(rendered.data);
  free(printed.data);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("round_trip", print_then_parse_is_the_same, 1500);
}
