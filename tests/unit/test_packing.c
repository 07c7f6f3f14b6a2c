#include "analysis/pack/packing.h"

#include "analysis/pack/parameters.h"
#include "analysis/pack/sections.h"
#include "pack_fixture.h"

/* ---- the judge ---- */

START_TEST(judge_finds_what_is_wrong) {
  static const struct {
    int64_t offsets[3];
    bool is_right;
  } rows[] = {
      {{0, 12, 0}, true}, {{8, 0, 8}, true},    {{0, 4, 0}, false},   {{0, 8, 0}, true},
      {{0, 7, 0}, false}, {{0, 12, 8}, true},   {{0, 12, -4}, false}, {{4, 0, 0}, false},
      {{12, 0, 8}, true}, {{0, 12, 12}, false},
  };
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 8, 0, 5, 4);
  add_buffer(&fixture, 8, 3, 9, 1);
  add_buffer(&fixture, 4, 5, 8, 4); /* begins where the first ends */
  int64_t offsets[3];
  memcpy(offsets, rows[_i].offsets, sizeof offsets);
  Packing packing = {.offsets = offsets, .height_bytes = pack_height(&fixture.problem, offsets)};
  bool is_right = packing_check(&fixture.problem, &packing, arena);
  ck_assert_msg(is_right == rows[_i].is_right, "row %d", _i);
  arena_free(arena);
}
END_TEST

/* Three buffers of 8 bytes, the last of which holds 12 later on, all at once but the second, which
 * comes when the first has ended. */
START_TEST(judge_finds_what_is_wrong_with_heaps) {
  static const struct {
    int64_t offsets[3];
    uint32_t heaps[3];
    uint32_t num_heaps;
    int64_t limit, height;
    bool is_right;
  } rows[] = {
      {{0, 0, 8}, {0, 0, 0}, 1, 16, 20, true},  {{0, 0, 0}, {0, 0, 1}, 2, 8, 20, true},
      {{0, 0, 0}, {0, 1, 2}, 3, 0, 28, true},   {{0, 0, 0}, {0, 1, 1}, 2, 16, 20, false},
      {{0, 0, 0}, {1, 1, 0}, 2, 8, 20, true},   {{0, 0, 0}, {0, 0, 1}, 2, 8, 12, false},
      {{0, 0, 0}, {0, 0, 2}, 3, 8, 20, false},  {{0, 0, 0}, {0, 0, 2}, 2, 8, 20, false},
      {{0, 0, 0}, {0, 0, 0}, 1, 16, 12, false}, {{0, 0, 8}, {0, 0, 0}, 1, 7, 20, false},
      {{0, 4, 0}, {0, 0, 1}, 2, 8, 24, false},  {{4, 0, 0}, {0, 0, 1}, 2, 8, 24, false},
  };
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 8, 0, 5, 1);
  add_buffer(&fixture, 8, 5, 9, 1);
  add_buffer(&fixture, 8, 0, 7, 1);
  add_colocated(&fixture, 12, 7, 9);
  int64_t offsets[3];
  uint32_t heaps[3];
  memcpy(offsets, rows[_i].offsets, sizeof offsets);
  memcpy(heaps, rows[_i].heaps, sizeof heaps);
  Packing packing = {.offsets = offsets,
                     .heaps = heaps,
                     .num_heaps = rows[_i].num_heaps,
                     .heap_limit_bytes = rows[_i].limit,
                     .height_bytes = rows[_i].height};
  bool is_right = packing_check(&fixture.problem, &packing, arena);
  ck_assert_msg(is_right == rows[_i].is_right, "row %d", _i);
  arena_free(arena);
}
END_TEST

START_TEST(judge_agrees_with_pairs) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 1 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  int64_t offsets[MAX_BUFFERS];
  uint32_t count = 1 + next_random(&state) % 12;
  for (uint32_t i = 0; i < count; i++) {
    int64_t begin = next_random(&state) % 20;
    add_buffer(&fixture, next_random(&state) % 6, begin, begin + 1 + next_random(&state) % 6, 1);
    offsets[i] = next_random(&state) % 40;
  }
  bool is_right = true;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < i; k++) {
      int64_t a = fixture.buffers[i].bytes, b = fixture.buffers[k].bytes;
      if (a && b && live_together(&fixture.problem, i, k) && offsets[i] < offsets[k] + b &&
          offsets[k] < offsets[i] + a) {
        is_right = false;
      }
    }
  }
  Packing packing = {.offsets = offsets, .height_bytes = pack_height(&fixture.problem, offsets)};
  ck_assert(packing_check(&fixture.problem, &packing, arena) == is_right);
  arena_free(arena);
}
END_TEST

/* ---- the bound ---- */

/* Three at once of these sizes: each but the last takes a multiple of what alignments share. */
START_TEST(bound_counts_padding) {
  static const struct {
    int64_t bytes[3], alignment[3], bound;
  } rows[] = {
      {{4, 4, 4}, {64, 64, 64}, 132}, {{64, 128, 1}, {64, 64, 64}, 193},
      {{4, 4, 4}, {1, 64, 64}, 12},   {{60, 64, 64}, {64, 64, 64}, 188},
      {{5, 5, 0}, {6, 4, 8}, 11},     {{0, 0, 0}, {64, 64, 64}, 0},
  };
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  for (int i = 0; i < 3; i++)
    add_buffer(&fixture, rows[_i].bytes[i], 0, 5, rows[_i].alignment[i]);
  add_buffer(&fixture, 4, 5, 6, 64);
  PackSections sections = pack_sections_build(&fixture.problem, arena, arena);
  int64_t bound = pack_lower_bound(&sections), wanted = rows[_i].bound > 4 ? rows[_i].bound : 4;
  ck_assert_msg(bound == wanted, "row %d: %d", _i, (int)bound);
  arena_free(arena);
}
END_TEST

/* ---- properties of all packings ---- */

static void add_random_buffers(PackFixture *fixture, uint64_t *state, uint32_t count,
                               bool with_alignment, bool with_colocation) {
  static const int64_t alignments[] = {1, 2, 4, 6};
  for (uint32_t i = 0; i < count; i++) {
    int64_t begin = next_random(state) % (2 * count), bytes = next_random(state) % 12;
    int64_t alignment = with_alignment ? alignments[next_random(state) % 4] : 1;
    add_buffer(fixture, bytes, begin, begin + 1 + next_random(state) % (2 * count), alignment);
    if (!with_colocation || next_random(state) % 3) continue;
    begin = next_random(state) % (3 * count);
    add_colocated(fixture, next_random(state) % 12, begin, begin + 1 + next_random(state) % count);
  }
}

START_TEST(packings_are_right) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 1000 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, 1 + next_random(&state) % 60, _i & 1, _i & 2);
  int64_t xla = run_packer(&fixture.problem, "xla", -1, 0, arena).height_bytes;
  int64_t best = run_packer(&fixture.problem, "best", -1, 2000000, arena).height_bytes;
  int64_t again = run_packer(&fixture.problem, "best", -1, 2000000, arena).height_bytes;
  int64_t few = run_packer(&fixture.problem, "best", -1, 10, arena).height_bytes; /* no tree */
  int64_t enough = run_packer(&fixture.problem, "best", xla, 2000000, arena).height_bytes;
  ck_assert_msg(best <= xla && few <= xla && enough <= xla && again == best, "seed %d", _i);
  arena_free(arena);
}
END_TEST

START_TEST(best_is_the_lowest) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 5000 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, 1 + next_random(&state) % 6, false, _i & 1);
  int64_t alignment = 1 + next_random(&state) % 4;
  for (uint32_t i = 0; i < fixture.problem.num_buffers; i++)
    fixture.buffers[i].alignment = alignment;
  Packing packing = run_packer(&fixture.problem, "best", -1, 100000000, arena);
  int64_t lowest = lowest_height(&fixture.problem);
  ck_assert_msg(packing.height_bytes == lowest, "seed %d: %d, not %d", _i,
                (int)packing.height_bytes, (int)lowest);
  ck_assert_msg(packing.is_optimal || alignment > 1 || _i & 1, "seed %d: not proven", _i);
  arena_free(arena);
}
END_TEST

/* Nothing may be called proven that is not. */
START_TEST(proofs_hold_with_mixed_alignment) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 9000 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, 1 + next_random(&state) % 6, true, _i & 1);
  Packing packing = run_packer(&fixture.problem, "best", -1, 1000000, arena);
  int64_t lowest = lowest_height(&fixture.problem);
  ck_assert_msg(packing.height_bytes >= lowest, "seed %d", _i);
  if (packing.is_optimal) ck_assert_msg(packing.height_bytes == lowest, "seed %d", _i);
  arena_free(arena);
}
END_TEST

START_TEST(nothing_needs_nothing) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  for (size_t i = 0; i < num_packers; i++)
    ck_assert_int_eq(run_packer(&fixture.problem, packers[i].name, -1, 1000, arena).height_bytes,
                     0);
  add_buffer(&fixture, 0, 0, 1, 1);
  add_buffer(&fixture, 0, 0, 9, 16);
  for (size_t i = 0; i < num_packers; i++) {
    Packing packing = run_packer(&fixture.problem, packers[i].name, -1, 1000, arena);
    ck_assert_int_eq(packing.height_bytes, 0);
    ck_assert(packing.is_optimal);
  }
  arena_free(arena);
}
END_TEST

static const size_t parameter_places[] = {
#define PARAMETER(id, value, what) offsetof(PackParameters, id),
#include "analysis/pack/parameters.def"
};

/* Without a parameter, or with much more of it, packings are right and no higher than xla's; the
 * defaults are what NULL stands for. */
START_TEST(parameters_may_be_any) {
  size_t num_parameters = sizeof parameter_places / sizeof *parameter_places;
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  uint64_t state = 9000 + (uint64_t)_i;
  add_random_buffers(&fixture, &state, 40, _i & 1, _i & 2);
  const PackProblem *problem = &fixture.problem;
  int64_t enough = run_packer(problem, "xla", -1, 0, arena).height_bytes;
  int64_t best = run_packer(problem, "best", -1, 20000, arena).height_bytes;
  for (size_t i = 0; i <= 2 * num_parameters; i++) {
    PackParameters parameters = pack_defaults;
    PackBudget budget = {.max_steps = 20000, .parameters = &parameters};
    Packing packing = {.offsets = arena_array(arena, int64_t, problem->num_buffers)};
    char *place = (char *)&parameters;
    if (i) *(uint32_t *)(void *)(place + parameter_places[(i - 1) / 2]) = i % 2 ? 1 : 60;
    pack_best(problem, -1, &budget, &packing, arena);
    check_packing(problem, &packing, "best");
    ck_assert_int_le(packing.height_bytes, enough);
    if (i == 0) ck_assert_int_eq(packing.height_bytes, best);
  }
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("packing");
  TCase *cases = tcase_create("packing");
  tcase_add_loop_test(cases, judge_finds_what_is_wrong, 0, 10);
  tcase_add_loop_test(cases, judge_finds_what_is_wrong_with_heaps, 0, 12);
  tcase_add_loop_test(cases, judge_agrees_with_pairs, 0, 200);
  tcase_add_loop_test(cases, bound_counts_padding, 0, 6);
  tcase_add_loop_test(cases, packings_are_right, 0, 80);
  tcase_add_loop_test(cases, best_is_the_lowest, 0, 300);
  tcase_add_loop_test(cases, proofs_hold_with_mixed_alignment, 0, 100);
  tcase_add_loop_test(cases, parameters_may_be_any, 0, 20);
  tcase_add_test(cases, nothing_needs_nothing);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
