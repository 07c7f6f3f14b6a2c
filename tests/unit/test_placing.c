#include "ir/placing.h"

#include "support.h"

enum { NUM_IDS = 200 };

/* What ids need: two that are random and less than they are. Some ids need nothing. */
typedef struct Needs {
  uint32_t of[NUM_IDS][2];
} Needs;

static Needs random_needs(uint64_t seed) {
  Needs needs;
  for (uint32_t id = 0; id < NUM_IDS; id++) {
    for (int i = 0; i < 2; i++) {
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
      needs.of[id][i] = id ? (uint32_t)(seed >> 33) % id : NO_ID;
    }
  }
  return needs;
}

static void need_both(void *context, uint32_t id, Placing *placing) {
  const Needs *needs = context;
  for (int i = 0; id % 5 && i < 2; i++)
    placing_need(placing, needs->of[id][i]);
}

/* The same by recursion: what was needed last goes first. */
static void place_slowly(const Needs *needs, uint32_t id, bool *is_placed, IdVec *order,
                         Arena *arena) {
  if (is_placed[id]) return;
  for (int i = 2; id % 5 && i-- > 0;)
    place_slowly(needs, needs->of[id][i], is_placed, order, arena);
  is_placed[id] = true;
  *vec_push(arena, order) = id;
}

START_TEST(places_as_recursion_does) {
  Arena *arena = arena_new(NULL);
  Needs needs = random_needs((uint64_t)_i + 1);
  Placing placing = placing_new(NUM_IDS, need_both, &needs, arena);
  bool *is_placed = arena_zarray(arena, bool, NUM_IDS);
  IdVec order = {0};
  for (uint32_t i = 0; i < NUM_IDS; i++) {
    uint32_t id = i * 77 % NUM_IDS;
    placing_put(&placing, id);
    place_slowly(&needs, id, is_placed, &order, arena);
    ck_assert(placing.is_placed[id]);
  }
  ck_assert_uint_eq(placing.len, NUM_IDS);
  ck_assert_mem_eq(placing.order, order.data, NUM_IDS * sizeof *order.data);
  arena_free(arena);
}
END_TEST

static void need_the_one_before(void *context, uint32_t id, Placing *placing) {
  (void)context;
  if (id) placing_need(placing, id - 1);
}

/* The stack of the process would not do for this. */
START_TEST(deep_needs_do_not_recurse) {
  enum { DEPTH = 1000000 };
  Arena *arena = arena_new(NULL);
  Placing placing = placing_new(DEPTH, need_the_one_before, NULL, arena);
  placing_put(&placing, DEPTH - 1);
  placing_put(&placing, 0);
  ck_assert_uint_eq(placing.len, DEPTH);
  for (uint32_t i = 0; i < DEPTH; i++)
    ck_assert_uint_eq(placing.order[i], i);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("placing");
  TCase *tc = tcase_create("placing");
  tcase_add_loop_test(tc, places_as_recursion_does, 0, 20);
  tcase_add_test(tc, deep_needs_do_not_recurse);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
