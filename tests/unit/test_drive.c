#include "remat/job/drive.h"
#include "support.h"

/* What a loop of moves has done: the name of each try is in `log`, with its number. */
typedef struct Tried {
  char log[64];
  Score best;
  int num_left;       /* tries that can be paid for; below 0 = any number */
  uint32_t num_asked; /* questions whether the move is of use */
} Tried;

static void note(Tried *tried, char name, uint32_t number) {
  size_t len = strlen(tried->log);
  ck_assert(len + 3 < sizeof tried->log);
  tried->log[len] = name;
  tried->log[len + 1] = (char)('0' + number);
}

static bool try_twice(void *of, uint32_t number) {
  if (number == 2) return false;
  note(of, 'a', number);
  return true;
}

static bool try_until_met(void *of, uint32_t number) {
  Tried *tried = of;
  note(tried, 'b', number);
  tried->best.is_met = number == 1;
  return true;
}

static bool try_always(void *of, uint32_t number) {
  note(of, 'c', number);
  return true;
}

static bool is_never_of_use(void *of) {
  ((Tried *)of)->num_asked++;
  return false;
}

static bool can_pay(const void *of) {
  const Tried *tried = of;
  return tried->num_left < 0 || (int)strlen(tried->log) / 2 < tried->num_left;
}

static const Move moves[] = {
    {.try_next = try_twice},
    {.is_of_use = is_never_of_use, .try_next = try_always},
    {.needs = MOVE_FOR_MISSED, .most = 5, .try_next = try_until_met},
    {.needs = MOVE_FOR_MISSED, .most = 1, .try_next = try_always},
    {.needs = MOVE_FOR_BUDGET, .most = 2, .try_next = try_always},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = try_always},
};

static const struct {
  bool is_met, has_budget;
  int num_left;
  const char *log;
} rows[] = {
    {false, true, -1, "a0a1b0b1c0c1c0"},
    {true, true, -1, "a0a1c0c1c0"},   /* what is for a missed budget is left out */
    {false, false, -1, "a0a1b0b1c0"}, /* what is for a budget, too */
    {false, true, 3, "a0a1b0"},
    {false, true, 0, ""},
};

START_TEST(moves_are_tried_as_their_rows_say) {
  Tried tried = {.best.is_met = rows[_i].is_met, .num_left = rows[_i].num_left};
  Drive tries = {
      .of = &tried, .best = &tried.best, .has_budget = rows[_i].has_budget, .can_go_on = can_pay};
  drive(&tries, moves, sizeof moves / sizeof *moves);
  ck_assert_str_eq(tried.log, rows[_i].log);
  ck_assert_uint_eq(tried.num_asked, 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("drive");
  TCase *tc = tcase_create("drive");
  tcase_add_loop_test(tc, moves_are_tried_as_their_rows_say, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
