#include "remat/rewrite/moves.h"

#include <stdlib.h>

#include "remat/rewrite/dce.h"
#include "support.h"

/* `p` is the parameter of the entry computation, in which a, b, c, d are independent. */
#define BODY                                                                       \
  "p = f32[4] parameter(0)\n a = f32[4] sine(p)\n b = f32[4] cosine(p)\n"          \
  "c = f32[4] tanh(p)\n d = f32[4] negate(p)\n t = (f32[4], f32[4]) tuple(a, b)\n" \
  "ROOT r = ((f32[4], f32[4]), f32[4], f32[4]) tuple(t, c, d)\n"

static const struct {
  const char *what;
  const char *order;    /* the new order; `x.remat` is a clone of x */
  const char *replaced; /* originals that are gone: their users read the clones */
  const char *moved;
} rows[] = {
    {"nothing moves", "p a b c d t r", "", ""},
    {"what takes no time may be anywhere", "p a b t c d r", "", ""},
    {"one goes to the end", "p a c d b t r", "", "b"},
    {"one goes to the front", "p d a b c t r", "", "d"},
    {"two change places: one of them moves", "p b a c d t r", "", "b"},
    {"the fewest move", "p c d a b t r", "", "c d"},
    {"backwards", "p d c b a t r", "", "b c d"},
    {"a clone is no move", "p a b a.remat c d t r", "", ""},
    {"a clone in the place of its original", "p a.remat b c d t r", "a", ""},
    {"a clone behind the place of its original", "p b c a.remat d t r", "a", "a.remat"},
};

typedef struct Job {
  Fixture fixture;
  Rewrite rewrite;
  Schedule before, after;
} Job;

static bool has_word(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at += length) {
    bool begins = at == words || at[-1] == ' ', ends = !at[length] || at[length] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

/* Clones what the order has clones of, and puts the entry computation into that order. */
static void reorder(Job *job, const char *order, const char *replaced) {
  Module *module = job->rewrite.module;
  Arena *out = job->fixture.out;
  char *words = arena_strndup(out, order, strlen(order)), *rest = words;
  Sequence sequence = {.ids = arena_array(out, InstId, strlen(order))};
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char name[] = {word[0], 0};
    InstId id = find_inst(module, name);
    if (word[1]) {
      InstId clone = rewrite_clone(&job->rewrite, id, job->fixture.scratch);
      if (has_word(replaced, name))
        rewrite_replace_all_uses(&job->rewrite, id, clone, job->fixture.scratch);
      id = clone;
    }
    sequence.ids[sequence.len++] = id;
  }
  job->after = schedule_copy(&job->before, module, out);
  job->after.of[module->entry] = sequence;
  if (*replaced) dce_run(&job->rewrite, job->fixture.scratch);
}

static const char *moved_names(const Job *job, const Moves *moves) {
  const Module *module = job->rewrite.module;
  const char *text = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!moves->is_moved[id]) continue;
    Str name = inst_name(module, id);
    text_add(job->fixture.out, &text, "%.*s", (int)name.len, name.data);
  }
  return text;
}

static uint32_t count_words(const char *text) {
  uint32_t count = *text != 0;
  for (; *text; text++)
    count += *text == ' ';
  return count;
}

START_TEST(the_fewest_moves_are_found) {
  Job job = {.fixture = fixture_parse_body("", BODY)};
  job.rewrite = rewrite_begin(job.fixture.module);
  job.before = schedule_in_text_order(job.fixture.module, job.fixture.out);
  reorder(&job, rows[_i].order, rows[_i].replaced);
  Moves moves =
      moves_find(&job.rewrite, &job.before, &job.after, job.fixture.out, job.fixture.scratch);
  check_text(moved_names(&job, &moves), rows[_i].moved, rows[_i].what);
  ck_assert_uint_eq(moves.num_moved, count_words(rows[_i].moved));
  fixture_free(&job.fixture);
}
END_TEST

/* The instructions of a callee's clone are compared with those of the callee. */
START_TEST(callees_clones_have_the_places_of_their_originals) {
  Job job = {.fixture = fixture_parse_body(
                 "f { q = f32[4] parameter(0)\n x = f32[4] sine(q)\n y = f32[4] cosine(q)\n"
                 "ROOT z = f32[4] add(x, y) }\n",
                 "p = f32[4] parameter(0)\n ROOT c = f32[4] call(p), to_apply=f\n")};
  Module *module = job.fixture.module;
  Arena *out = job.fixture.out;
  job.rewrite = rewrite_begin(module);
  job.before = schedule_in_text_order(module, out);
  CompId callee = find_comp(module, "f");
  CompId clone = rewrite_clone_computation(&job.rewrite, callee, &job.before, job.fixture.scratch);
  for (uint32_t i = 0; i < comp_num_insts(module, clone); i++)
    rewrite_set_callee_original(&job.rewrite, comp_inst(module, clone, i),
                                comp_inst(module, callee, i));
  job.after = schedule_in_text_order(module, out);
  InstId *ids = job.after.of[clone].ids, second = ids[1];
  Moves moves = moves_find(&job.rewrite, &job.before, &job.after, out, job.fixture.scratch);
  ck_assert_uint_eq(moves.num_moved, 0);
  ids[1] = ids[2];
  ids[2] = second;
  moves = moves_find(&job.rewrite, &job.before, &job.after, out, job.fixture.scratch);
  ck_assert_uint_eq(moves.num_moved, 1);
  ck_assert(moves.is_moved[ids[1]]);
  fixture_free(&job.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("moves");
  TCase *tcase = tcase_create("moves");
  tcase_add_loop_test(tcase, the_fewest_moves_are_found, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tcase, callees_clones_have_the_places_of_their_originals);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
