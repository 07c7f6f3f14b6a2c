#include "analysis/pack/xla.h"

#include <stdlib.h>

#include "analysis/pack/best_fit.h"
#include "analysis/pack/start.h"
#include "pack_fixture.h"

enum { SPATIAL = PACK_SPATIAL, TEMPORAL = PACK_TEMPORAL, BOTH, START };

static const struct {
  const char *name, *requests;
  int order, alignment, height;
  const char *offsets;
} rows[] = {
    {"nothing", "", BOTH, 1, 0, ""},
    /* GlobalDecreasingSizeBestFitHeapTest */
    {"larger ones first", "a10 b30 c20 d40 -a -b -c -d", SPATIAL, 1, 100, "a=90 b=40 c=70 d=0"},
    {"aligned", "a10 b20 c50 -a d40 -b -c -d", SPATIAL, 20, 120, "a=60 b=100 c=0 d=60"},
    {"the smallest gap", "a10 b20 c40 -a d30 e50 -b -c -d -e", SPATIAL, 1, 140,
     "a=90 b=120 c=50 d=90 e=0"},
    {"one place for two", "a40 -a b20 -b c40=a -c", SPATIAL, 1, 40, "a=0 b=0"},
    {"another beside the second", "a40 -a b20 c40=a -c -b", SPATIAL, 1, 60, "a=0 b=40"},
    {"a larger one beside the second", "a10 -a b30 c10=a -c -b", SPATIAL, 1, 40, "a=30 b=0"},
    {"the second is smaller", "a40 -a b20 c30=a -c -b", SPATIAL, 1, 60, "a=0 b=40"},
    {"the second is larger", "a40 -a b20 c50=a -c -b", SPATIAL, 1, 70, "a=0 b=50"},
    /* by hand */
    {"of equal sizes what lives longer", "a10 b10 -a -b c10 -c", SPATIAL, 1, 20, "a=0 b=10 c=0"},
    {"of equal durations the first", "b10 a10 -b -a", SPATIAL, 1, 20, "b=0 a=10"},
    {"long ones first", "a10 b30 -b c20 -c -a", TEMPORAL, 1, 40, "a=0 b=10 c=10"},
    {"the time of all that have one place counts", "a10 -a b20 -b c20 -c d10=a -d", TEMPORAL, 1, 20,
     "a=0 b=0 c=0"},
    {"places of places", "a8 -a b8=a -b c8=b -c d4 -d", SPATIAL, 1, 8, "a=0 d=0"},
    {"the better of both", "a30 b20 -a c20 -b -c", BOTH, 1, 50, "a=0 b=30 c=0"},
    {"largest first is higher", "a3 d2 -a b2 c2 -b -d -c", SPATIAL, 1, 7, "a=0 d=3 b=5 c=0"},
    {"so longest first is taken", "a3 d2 -a b2 c2 -b -d -c", BOTH, 1, 6, "a=2 d=0 b=4 c=2"},
    {"gaps begin at multiples of any number", "a7 b7 c7 -b d5 -a -c -d", SPATIAL, 6, 31,
     "a=0 b=24 c=12 d=24"},
    {"the lower of two equal gaps", "a12 b11 c10 d9 e8 -b -d f4 -a -c -e -f", SPATIAL, 4, 56,
     "a=0 b=12 c=24 d=36 e=48 f=12"},
    /* XLA:TPU, as its dumps of conditionals in loops show */
    {"what begins first", "a10 b30 -b c40 -c -a", START, 1, 50, "a=0 b=10 c=10"},
    {"between values in one place it is not free", "a40 -a b20 -b c40=a -c", START, 1, 60,
     "a=0 b=40"},
};

static Packing pack(const PackProblem *problem, int order, Arena *arena) {
  if (order == BOTH) return run_packer(problem, "xla", -1, 0, arena);
  if (order == START) return run_packer(problem, "start", -1, 0, arena);
  Packing packing = {.offsets = arena_array(arena, int64_t, problem->num_buffers)};
  PackSections sections = pack_sections_build(problem, arena, arena);
  PackBudget budget = {0};
  packing.height_bytes =
      pack_xla_in_order(&sections, (PackOrder)order, packing.offsets, &budget, arena);
  check_packing(problem, &packing, "in one order");
  return packing;
}

START_TEST(offsets_match_table) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  char letters[MAX_BUFFERS];
  read_requests(rows[_i].requests, rows[_i].alignment, &fixture, letters);
  Packing packing = pack(&fixture.problem, rows[_i].order, arena);
  const char *text = NULL;
  for (uint32_t i = 0; i < fixture.problem.num_buffers; i++)
    text_add(arena, &text, "%c=%lld", letters[i], (long long)packing.offsets[i]);
  check_text(text ? text : "", rows[_i].offsets, rows[_i].name);
  ck_assert_int_eq(packing.height_bytes, rows[_i].height);
  arena_free(arena);
}
END_TEST

/* NoFragmentationStatsHeapTest: what lives at one time. */
static const struct {
  const char *requests;
  int64_t bytes;
} live_rows[] = {
    {"", 0},
    {"a10 b20 c30 d30 -a -b -c -d", 90},
    {"a10 b20 -b c30 -c d5 -d -a", 40},
};

START_TEST(live_bytes_match_table) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  char letters[MAX_BUFFERS];
  read_requests(live_rows[_i].requests, 1, &fixture, letters);
  PackSections sections = pack_sections_build(&fixture.problem, arena, arena);
  ck_assert_int_eq(pack_lower_bound(&sections), live_rows[_i].bytes);
  arena_free(arena);
}
END_TEST

/* What the device has no room for is packed again, as by `xla`. */
START_TEST(start_packs_again) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  char letters[MAX_BUFFERS];
  read_requests("a10 b10 -a c20 -c -b", 1, &fixture, letters);
  ck_assert_int_eq(run_packer(&fixture.problem, "start", -1, 0, arena).height_bytes, 40);
  ck_assert_int_eq(run_packer(&fixture.problem, "start", 40, 0, arena).height_bytes, 40);
  ck_assert_int_eq(run_packer(&fixture.problem, "start", 39, 0, arena).height_bytes, 30);
  arena_free(arena);
}
END_TEST

/* What is packed beside another memory. */
static const struct {
  const char *requests;
  int64_t room_bytes, height;
} beside_rows[] = {
    {"", 10, 0},
    {"a10 b30 -b -a", 0, 40},
    {"a10 b30 -b -a", 10, 30}, /* b lives shorter, and is too large */
    {"a10 b30 -b -a", 30, 10}, /* there is no room left for a */
    {"a10 b30 -b -a", 40, 0},
    {"a40 -a b20 -b c40=a -c", 40, 40}, /* b lives shorter, so that there is no room for a */
    {"a20 b20 c5 -c -a d15 -d e20 -e -b", 15, 40}, /* c and d are there */
};

START_TEST(heights_beside_match_table) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  char letters[MAX_BUFFERS];
  read_requests(beside_rows[_i].requests, 1, &fixture, letters);
  ck_assert_int_eq(pack_start_beside(&fixture.problem, beside_rows[_i].room_bytes, arena),
                   beside_rows[_i].height);
  arena_free(arena);
}
END_TEST

/* ---- against the plain way ---- */

typedef struct Taken {
  int64_t from, to;
} Taken;

static int by_from(const void *pa, const void *pb) {
  const Taken *a = pa, *b = pb;
  return (a->from > b->from) - (a->from < b->from);
}

/* The smallest gap between all that is placed, before the buffer in the order, and beside it. */
static int64_t plain_offset(const PackProblem *problem, const uint32_t *order, uint32_t place,
                            const int64_t *offsets, Arena *arena) {
  const PackBuffer *buffer = &problem->buffers[order[place]];
  ArenaMark mark = arena_mark(arena);
  Taken *used = arena_array(arena, Taken, place + 1);
  uint32_t num_used = 0;
  for (uint32_t i = 0; i < place; i++) {
    int64_t bytes = problem->buffers[order[i]].bytes;
    if (bytes == 0 || !live_together(problem, order[place], order[i])) continue;
    used[num_used++] = (Taken){offsets[order[i]], offsets[order[i]] + bytes};
  }
  qsort(used, num_used, sizeof *used, by_from);
  int64_t top = 0, best = -1, best_length = INT64_MAX;
  for (uint32_t i = 0; i < num_used; i++) {
    int64_t from = align_up(top, buffer->alignment), length = used[i].from - from;
    if (length >= buffer->bytes && length < best_length) {
      best = from;
      best_length = length;
    }
    if (used[i].to > top) top = used[i].to;
  }
  arena_reset(arena, mark);
  return best < 0 ? align_up(top, buffer->alignment) : best;
}

/* Small ones; large ones, in which gaps are few; and one of which so many are left that lists of
 * them would be too long. */
static uint32_t make_problem(int seed, uint64_t *state, int64_t *most_bytes, int64_t *most_time) {
  *most_bytes = 50;
  *most_time = seed % 2 ? 20 : 900;
  if (seed < 40) return 1 + next_random(state) % 60;
  if (seed < 44) return 1200;
  *most_bytes = 100000;
  return 6000;
}

START_TEST(best_fit_agrees_with_the_definition) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 77 + (uint64_t)_i;
  int64_t most_bytes, most_time;
  uint32_t count = make_problem(_i, &state, &most_bytes, &most_time);
  static const int64_t alignments[] = {8, 1, 12, 1};
  PackBuffer *buffers = arena_array(arena, PackBuffer, count);
  PackRange *ranges = arena_array(arena, PackRange, 2 * (size_t)count);
  uint32_t *order = arena_array(arena, uint32_t, count);
  int64_t *offsets = arena_array(arena, int64_t, count);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < 2; k++) {
      int64_t begin = next_random(&state) % 1000;
      ranges[2 * i + k] = (PackRange){begin, begin + 1 + next_random(&state) % most_time};
    }
    int64_t bytes = next_random(&state) % most_bytes, alignment = alignments[_i % 4];
    if (alignment == 8 && i % 2) alignment = 16;
    buffers[i] = (PackBuffer){bytes, bytes, alignment, 2 * i, 1 + next_random(&state) % 2};
    order[i] = i;
  }
  PackProblem problem = {buffers, ranges, count, 2 * count};
  PackSections sections = pack_sections_build(&problem, arena, arena);
  PackBudget budget = {0};
  best_fit(&sections, order, count, offsets, &budget, arena);
  for (uint32_t i = 0; i < count; i++) {
    int64_t wanted = buffers[i].bytes ? plain_offset(&problem, order, i, offsets, arena) : 0;
    ck_assert_msg(offsets[i] == wanted, "seed %d, buffer %u", _i, i);
  }
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pack_xla");
  TCase *cases = tcase_create("best fit");
  tcase_add_loop_test(cases, offsets_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(cases, start_packs_again);
  tcase_add_loop_test(cases, heights_beside_match_table, 0,
                      sizeof beside_rows / sizeof *beside_rows);
  tcase_add_loop_test(cases, live_bytes_match_table, 0, sizeof live_rows / sizeof *live_rows);
  tcase_add_loop_test(cases, best_fit_agrees_with_the_definition, 0, 46);
  tcase_set_timeout(cases, 240);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
