#include "remat/job/state.h"

#include <stdlib.h>

#include "support.h"

/* A job on which clones are made by hand. */
typedef struct Setup {
  Fixture fixture;
  Rewrite rewrite;
  Schedule schedule;
  RematJob job;
} Setup;

static void set_up(Setup *setup) {
  setup->fixture = fixture_parse_body(
      "",
      "p = f32[4] parameter(0)\n a = f32[4] negate(p)\n b = f32[4] exponential(a)\n"
      "ROOT r = f32[4] add(a, b)\n");
  setup->rewrite = rewrite_begin(setup->fixture.module);
  setup->schedule = schedule_in_text_order(setup->fixture.module, setup->fixture.out);
  setup->job = (RematJob){.rewrite = &setup->rewrite, .schedule = &setup->schedule};
}

/* Makes a clone of `name` that takes its place in the root, directly before it. */
static InstId clone_for_root(Setup *setup, const char *name) {
  Module *module = setup->fixture.module;
  InstId original = find_inst(module, name), root = comp_get(module, module->entry)->root;
  InstId clone = rewrite_clone(&setup->rewrite, original, setup->fixture.scratch);
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId operand = inst_operand(module, root, i);
    if (operand == original || rewrite_first_original(&setup->rewrite, operand) == original)
      rewrite_set_operand(&setup->rewrite, root, i, clone);
  }
  Sequence *sequence = &setup->schedule.of[module->entry];
  InstId *ids = arena_array(setup->fixture.out, InstId, (size_t)sequence->len + 1);
  memcpy(ids, sequence->ids, sequence->len * sizeof *ids);
  ids[sequence->len] = ids[sequence->len - 1];
  ids[sequence->len - 1] = clone;
  *sequence = (Sequence){ids, sequence->len + 1};
  return clone;
}

static void check_state(Setup *setup, const char *order, const char *what) {
  check_schedule(setup->fixture.module, &setup->schedule);
  check_text(scheduled_names(&setup->fixture, &setup->schedule, "e"), order, what);
  check_prints_and_parses(setup->fixture.module, &setup->schedule);
}

/* A later state is there again, with its names and what its clones were made from, although an
 * earlier one was loaded and continued in another way. */
START_TEST(states_can_be_loaded_in_any_order) {
  Setup setup;
  set_up(&setup);
  const Fixture *fixture = &setup.fixture;
  RematState input = remat_state_save(&setup.job, fixture->out);
  InstId of_a = clone_for_root(&setup, "a");
  RematState one = remat_state_save(&setup.job, fixture->out);
  clone_for_root(&setup, "a");
  clone_for_root(&setup, "b");
  RematState many = remat_state_save(&setup.job, fixture->out);
  remat_state_load(&setup.job, &input);
  check_state(&setup, "p a b ROOT r", "the input");
  InstId of_b = clone_for_root(&setup, "b");
  ck_assert_uint_eq(of_b, of_a); /* the id is used for something else now */
  check_state(&setup, "p a b b.remat ROOT r", "another way");
  RematState other = remat_state_save(&setup.job, fixture->out);
  remat_state_load(&setup.job, &many);
  check_state(&setup, "p a b a.remat a.remat.1 b.remat ROOT r", "the later state");
  ck_assert_uint_eq(rewrite_original(&setup.rewrite, of_a), find_inst(fixture->module, "a"));
  remat_state_load(&setup.job, &other);
  check_state(&setup, "p a b b.remat ROOT r", "the other state");
  ck_assert_uint_eq(rewrite_original(&setup.rewrite, of_b), find_inst(fixture->module, "b"));
  remat_state_load(&setup.job, &one);
  check_state(&setup, "p a b a.remat ROOT r", "the state between");
  remat_state_load(&setup.job, &many);
  check_state(&setup, "p a b a.remat a.remat.1 b.remat ROOT r", "the later state again");
  fixture_free(&setup.fixture);
}
END_TEST

/* Names go with the states: what one state does not have is free in it. */
START_TEST(names_are_those_of_the_state) {
  Setup setup;
  set_up(&setup);
  RematState input = remat_state_save(&setup.job, setup.fixture.out);
  clone_for_root(&setup, "a");
  RematState one = remat_state_save(&setup.job, setup.fixture.out);
  remat_state_load(&setup.job, &input);
  clone_for_root(&setup, "b");
  clone_for_root(&setup, "a");
  check_state(&setup, "p a b b.remat a.remat ROOT r", "from the input");
  remat_state_load(&setup.job, &one);
  clone_for_root(&setup, "a");
  clone_for_root(&setup, "b");
  check_state(&setup, "p a b a.remat a.remat.1 b.remat ROOT r", "from the clone");
  fixture_free(&setup.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("state");
  TCase *tc = tcase_create("state");
  tcase_add_test(tc, states_can_be_loaded_in_any_order);
  tcase_add_test(tc, names_are_those_of_the_state);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
