/* Packings into heaps with a limit. */
#include <stdlib.h>

#include "pack_fixture.h"

/* Heap:offset of each buffer in the order of its id, and the sum of the heaps. */
static const struct {
  const char *name, *packing, *requests;
  int alignment, limit, height;
  const char *places;
} rows[] = {
    {"nothing has one heap", "xla", "", 1, 50, 0, ""},
    {"nothing has one heap", "fast-merge", "", 1, 0, 0, ""},
    {"nothing has one heap", "fast-split", "", 1, 50, 0, ""},
    {"nothing has one heap", "best", "", 1, 0, 0, ""},
    /* ConstrainedGlobalDecreasingSizeBestFitHeapTest */
    {"larger ones first", "xla", "a10 b30 c20 d40 -a -b -c -d", 1, 50, 100,
     "a=0:40 b=1:0 c=1:30 d=0:0"},
    {"aligned", "xla", "a10 b20 c50 -a d40 -b -c -d", 20, 70, 130, "a=0:60 b=1:40 c=0:0 d=1:0"},
    {"one place for two", "xla", "a30 -a b20 c40=a -c -b", 20, 50, 60, "a=0:0 b=1:0"},
    {"as they begin", "fast-merge", "a10 b30 c20 d40 -a -b -c -d", 1, 50, 100,
     "a=0:0 b=0:10 c=1:0 d=2:0"},
    {"all among the largest", "fast-split", "a10 b30 c20 d40 -a -b -c -d", 1, 50, 100,
     "a=0:40 b=1:0 c=1:30 d=0:0"},
    {"the small one beside the largest", "xla", "a40 b35 c10 -b -c -a", 1, 50, 85,
     "a=0:0 b=1:0 c=0:40"},
    /* by hand */
    {"all in one", "xla", "a10 b30 c20 d40 -a -b -c -d", 1, 100, 100, "a=0:90 b=0:40 c=0:70 d=0:0"},
    {"a byte less", "xla", "a10 b30 c20 d40 -a -b -c -d", 1, 99, 100, "a=1:0 b=0:40 c=0:70 d=0:0"},
    {"each has a heap", "xla", "a10 b30 c20 -c -b -a", 1, 0, 60, "a=2:0 b=0:0 c=1:0"},
    {"also at other times", "xla", "a10 -a b10 -b", 1, 0, 20, "a=0:0 b=1:0"},
    {"each has a heap", "fast-merge", "a10 b30 c20 -c -b -a", 1, 0, 60, "a=0:0 b=1:0 c=2:0"},
    {"larger than the limit", "xla", "a80 b30 c20 -a -b -c", 1, 50, 130, "a=0:0 b=1:0 c=1:30"},
    {"smaller ones at another time", "xla", "a80 -a b30 c20 d60 -b -c -d", 1, 50, 140,
     "a=0:0 b=0:0 c=0:30 d=1:0"},
    {"larger ones do not share", "xla", "a80 -a b70 -b", 1, 50, 150, "a=0:0 b=1:0"},
    {"but where the sum is searched for", "best", "a80 -a b70 -b", 1, 50, 80, "a=0:0 b=0:0"},
    {"and what fits beside the smaller one", "best", "a80 -a b70 c10 d20 -b -c -d", 1, 50, 100,
     "a=0:0 b=0:0 c=0:70 d=1:0"},
    {"larger than the limit", "fast-merge", "a80 b30 c20 -a -b -c", 1, 50, 130,
     "a=0:0 b=1:0 c=1:30"},
    {"what is larger comes late", "fast-merge", "b30 -b a80 -a", 1, 50, 110, "b=0:0 a=1:0"},
    {"what is allocated counts, not what comes into it", "xla", "d35 a10 -a c40=a -c -d", 1, 50, 75,
     "d=0:0 a=0:35"},
    {"all that comes into it counts", "fast-merge", "d35 a10 -a c40=a -c -d", 1, 50, 75,
     "d=0:0 a=1:0"},
    {"without bytes", "xla", "a0 b30 c0 d30 -a -b -c -d", 1, 50, 60, "a=0:0 b=0:0 c=0:0 d=1:0"},
    {"without bytes", "fast-merge", "a0 b30 c0 d30 -a -b -c -d", 1, 50, 60,
     "a=0:0 b=0:0 c=0:0 d=1:0"},
    {"nothing with bytes", "xla", "a0 -a", 1, 50, 0, "a=0:0"},
    {"nothing with bytes", "fast-split", "a0 -a", 1, 50, 0, "a=0:0"},
    {"long ones first when that is lower", "xla", "a3 d2 -a b2 c2 -b -d -c", 1, 6, 6,
     "a=0:2 d=0:0 b=0:4 c=0:2"},
    {"the smallest gap", "fast-merge", "a10 b20 c5 d8 e5 -b -d f6 -a -c -e -f", 1, 99, 48,
     "a=0:0 b=0:10 c=0:30 d=0:35 e=0:43 f=0:35"},
    {"gaps join", "fast-merge", "a10 b10 c10 d10 -b -c e20 -a -d -e", 1, 99, 40,
     "a=0:0 b=0:10 c=0:20 d=0:30 e=0:10"},
    {"what alignment leaves is not used", "fast-merge", "a10 b10 -a c4 d16 -b -c -d", 16, 99, 48,
     "a=0:0 b=0:16 c=0:0 d=0:32"},
    {"a byte too high", "xla", "a3 b3 c3 -c -a d4 -b y0 -y z0 -z -d", 1, 9, 10,
     "a=0:0 b=0:4 c=1:0 d=0:0 y=0:0 z=0:0"},
    {"one heap where the search finds it", "best", "a3 b3 c3 -c -a d4 -b y0 -y z0 -z -d", 1, 9, 9,
     "a=0:0 b=0:6 c=0:3 d=0:0 y=0:0 z=0:0"},
    {"two heaps", "xla", "e10 a3 b3 c3 -c -a d4 -b y0 -y z0 -z -d -e", 1, 10, 20,
     "e=0:0 a=1:0 b=1:4 c=1:7 d=1:0 y=0:0 z=0:0"},
    {"the search improves them", "best", "e10 a3 b3 c3 -c -a d4 -b y0 -y z0 -z -d -e", 1, 10, 19,
     "e=0:0 a=1:0 b=1:6 c=1:3 d=1:0 y=0:0 z=0:0"},
};

START_TEST(places_match_table) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  char letters[MAX_BUFFERS];
  read_requests(rows[_i].requests, rows[_i].alignment, &fixture, letters);
  Packing packing =
      run_packer_into(&fixture.problem, rows[_i].packing, rows[_i].limit, -1, 100000, arena);
  const char *text = NULL;
  for (uint32_t i = 0; i < fixture.problem.num_buffers; i++)
    text_add(arena, &text, "%c=%u:%lld", letters[i], packing.heaps[i],
             (long long)packing.offsets[i]);
  if (rows[_i].places) check_text(text ? text : "", rows[_i].places, rows[_i].name);
  ck_assert_msg(packing.height_bytes == rows[_i].height, "%s: %d", rows[_i].name,
                (int)packing.height_bytes);
  arena_free(arena);
}
END_TEST

/* ---- against the plain way ---- */

typedef struct Piece {
  int64_t from, to;
} Piece;

static int by_from(const void *pa, const void *pb) {
  const Piece *a = pa, *b = pb;
  return (a->from > b->from) - (a->from < b->from);
}

/* The smallest gap between pieces, of equal ones the lowest; above all of them when none fits.
 * `*piece` has what is rounded up, too. */
static int64_t find_gap(Piece *pieces, uint32_t count, const PackBuffer *buffer,
                        bool counts_padding, Piece *piece) {
  int64_t top = 0, best = -1, best_length = INT64_MAX;
  if (count) qsort(pieces, count, sizeof *pieces, by_from);
  for (uint32_t i = 0; i <= count; i++) {
    int64_t end = i < count ? pieces[i].from : INT64_MAX / 2,
            from = align_up(top, buffer->alignment);
    int64_t length = end - from;
    if (length >= buffer->bytes && length < best_length) {
      best = from;
      best_length = length;
      *piece = (Piece){counts_padding ? top : from, from + buffer->bytes};
    }
    if (i < count && pieces[i].to > top) top = pieces[i].to;
  }
  return best;
}

typedef struct Plain {
  const PackProblem *problem;
  int64_t limit_bytes;
  int64_t height_bytes; /* of the heap at hand */
  uint32_t heap;
  int64_t offsets[MAX_BUFFERS], sum_bytes;
  uint32_t heaps[MAX_BUFFERS];
  Piece pieces[MAX_BUFFERS];
} Plain;

static bool put(Plain *plain, uint32_t buffer, Piece piece, int64_t offset, int64_t end) {
  if (end > plain->limit_bytes && plain->height_bytes) return false;
  int64_t top = offset + plain->problem->buffers[buffer].bytes;
  if (top > plain->height_bytes) plain->height_bytes = top;
  plain->offsets[buffer] = offset;
  plain->heaps[buffer] = plain->heap;
  plain->pieces[buffer] = piece;
  return true;
}

/* Beside all that is in the heap and lives at the same time. */
static bool put_best(Plain *plain, uint32_t buffer) {
  Piece pieces[MAX_BUFFERS], piece = {0};
  uint32_t count = 0;
  for (uint32_t i = 0; i < plain->problem->num_buffers; i++) {
    if (plain->heaps[i] != plain->heap || plain->problem->buffers[i].bytes == 0) continue;
    if (live_together(plain->problem, i, buffer)) pieces[count++] = plain->pieces[i];
  }
  const PackBuffer *what = &plain->problem->buffers[buffer];
  int64_t offset = find_gap(pieces, count, what, false, &piece);
  return put(plain, buffer, piece, offset, offset + what->first_bytes);
}

/* Beside what has not ended. */
static bool put_fast(Plain *plain, uint32_t buffer) {
  const PackProblem *problem = plain->problem;
  const PackBuffer *what = &problem->buffers[buffer];
  Piece pieces[MAX_BUFFERS], piece = {0};
  uint32_t count = 0;
  int64_t now = pack_whole_range(problem, what).begin;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    if (plain->heaps[i] != plain->heap || problem->buffers[i].bytes == 0) continue;
    if (pack_whole_range(problem, &problem->buffers[i]).end > now)
      pieces[count++] = plain->pieces[i];
  }
  int64_t offset = find_gap(pieces, count, what, true, &piece);
  return put(plain, buffer, piece, offset, offset + what->bytes);
}

enum { SPATIAL, TEMPORAL, MERGE, SPLIT };

static void sort_plainly(const PackProblem *problem, int order, uint32_t *ids) {
  int64_t keys[MAX_BUFFERS];
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    PackRange first = problem->ranges[buffer->first_range],
              whole = pack_whole_range(problem, buffer);
    int64_t size = buffer->first_bytes, key = size * 1000 + first.end - first.begin;
    if (order == TEMPORAL) key = (whole.end - whole.begin) * 1000 + size;
    if (order == MERGE) key = size - whole.begin * 1000;
    uint32_t place = i;
    for (; place && keys[place - 1] < key; place--) {
      keys[place] = keys[place - 1];
      ids[place] = ids[place - 1];
    }
    keys[place] = key;
    ids[place] = i;
  }
}

static void pack_plainly(const PackProblem *problem, int order, int64_t limit_bytes, Plain *plain) {
  uint32_t ids[MAX_BUFFERS], num_placed = 0;
  *plain = (Plain){.problem = problem, .limit_bytes = limit_bytes};
  sort_plainly(problem, order, ids);
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    bool is_empty = problem->buffers[i].bytes == 0;
    plain->heaps[i] = is_empty ? 0 : UINT32_MAX;
    num_placed += is_empty;
  }
  for (; num_placed < problem->num_buffers; plain->heap++) {
    plain->height_bytes = 0;
    for (uint32_t i = 0; i < problem->num_buffers; i++) {
      if (plain->heaps[ids[i]] != UINT32_MAX) continue;
      num_placed += order == MERGE ? put_fast(plain, ids[i]) : put_best(plain, ids[i]);
    }
    plain->sum_bytes += plain->height_bytes;
  }
}

static void add_random_buffers(PackFixture *fixture, uint64_t *state, bool is_aligned) {
  uint32_t count = 1 + next_random(state) % (MAX_BUFFERS - 1);
  int64_t alignment = is_aligned ? 1 + next_random(state) % 6 : 1;
  for (uint32_t i = 0; i < count; i++) {
    int64_t begin = next_random(state) % (2 * count), bytes = next_random(state) % 20;
    add_buffer(fixture, bytes, begin, begin + 1 + next_random(state) % count, alignment);
    if (bytes == 0 || next_random(state) % 4) continue;
    begin = next_random(state) % (2 * count);
    add_colocated(fixture, 1 + next_random(state) % 20, begin,
                  begin + 1 + next_random(state) % count);
  }
}

static void check_same(const Packing *packing, const Plain *plain, const char *name, int seed) {
  ck_assert_msg(packing->height_bytes == plain->sum_bytes, "%s, seed %d: %d, not %d", name, seed,
                (int)packing->height_bytes, (int)plain->sum_bytes);
  for (uint32_t i = 0; i < plain->problem->num_buffers; i++) {
    ck_assert_msg(packing->offsets[i] == plain->offsets[i] && packing->heaps[i] == plain->heaps[i],
                  "%s, seed %d: buffer %u", name, seed, i);
  }
}

START_TEST(packings_agree_with_their_definitions) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 300 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, _i & 1);
  const PackProblem *problem = &fixture.problem;
  int64_t limit = next_random(&state) % 80;
  Plain spatial, temporal, merge;
  pack_plainly(problem, SPATIAL, limit, &spatial);
  pack_plainly(problem, TEMPORAL, limit, &temporal);
  pack_plainly(problem, MERGE, limit, &merge);
  Packing xla = run_packer_into(problem, "xla", limit, -1, 0, arena);
  Packing fast = run_packer_into(problem, "fast-merge", limit, -1, 0, arena);
  Packing split = run_packer_into(problem, "fast-split", limit, -1, 0, arena);
  check_same(&xla, temporal.sum_bytes < spatial.sum_bytes ? &temporal : &spatial, "xla", _i);
  check_same(&fast, &merge, "fast-merge", _i);
  check_same(&split, &spatial, "fast-split", _i); /* less than 500 buffers */
  arena_free(arena);
}
END_TEST

/* A limit that is never met changes nothing. */
START_TEST(one_heap_is_as_without_a_limit) {
  static const char *const names[] = {"xla", "fast-merge", "fast-split"};
  Arena *arena = arena_new(NULL);
  uint64_t state = 700 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, _i & 1);
  for (uint32_t k = 0; k < sizeof names / sizeof *names; k++) {
    Packing one = run_packer(&fixture.problem, names[k], -1, 0, arena);
    Packing other = run_packer_into(&fixture.problem, names[k], one.height_bytes, -1, 0, arena);
    ck_assert_msg(other.num_heaps == 1 || k == 0, "%s, seed %d", names[k], _i);
    ck_assert_int_le(other.height_bytes, one.height_bytes);
    for (uint32_t i = 0; other.num_heaps == 1 && i < fixture.problem.num_buffers; i++)
      ck_assert_int_eq(one.offsets[i], other.offsets[i]);
  }
  arena_free(arena);
}
END_TEST

START_TEST(best_is_never_higher) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 900 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, _i & 1);
  int64_t limit = next_random(&state) % 80;
  int64_t xla = run_packer_into(&fixture.problem, "xla", limit, -1, 0, arena).height_bytes;
  Packing best = run_packer_into(&fixture.problem, "best", limit, -1, 300000, arena);
  Packing again = run_packer_into(&fixture.problem, "best", limit, -1, 300000, arena);
  int64_t merge = run_packer_into(&fixture.problem, "fast-merge", limit, -1, 0, arena).height_bytes;
  ck_assert_msg(best.height_bytes <= xla && best.height_bytes <= merge, "seed %d", _i);
  for (uint32_t i = 0; i < fixture.problem.num_buffers; i++)
    ck_assert(best.offsets[i] == again.offsets[i] && best.heaps[i] == again.heaps[i]);
  Packing enough = run_packer_into(&fixture.problem, "best", limit, xla, 300000, arena);
  ck_assert_int_eq(enough.height_bytes, xla);
  arena_free(arena);
}
END_TEST

/* ---- more than best fit takes ---- */

/* 500 of 2 bytes, one beside the other, and on top of them two of 1 byte, one after the other;
 * another one where its ranges are two. */
START_TEST(split_leaves_the_smallest_to_fast_merge) {
  enum { LARGE = 500, ALL = LARGE + 3 };
  Arena *arena = arena_new(NULL);
  PackBuffer *buffers = arena_array(arena, PackBuffer, ALL);
  PackRange *ranges = arena_array(arena, PackRange, ALL + 1);
  for (uint32_t i = 0; i < LARGE; i++) {
    buffers[i] = (PackBuffer){2, 2, 1, i, 1};
    ranges[i] = (PackRange){0, 4};
  }
  buffers[LARGE] = (PackBuffer){1, 1, 1, LARGE, 1};
  ranges[LARGE] = (PackRange){4, 6};
  buffers[LARGE + 1] = (PackBuffer){1, 1, 1, LARGE + 1, 1};
  ranges[LARGE + 1] = (PackRange){6, 8};
  buffers[LARGE + 2] = (PackBuffer){1, 1, 1, LARGE + 2, 2};
  ranges[LARGE + 2] = (PackRange){5, 6};
  ranges[LARGE + 3] = (PackRange){7, 8};
  PackProblem problem = {buffers, ranges, ALL, ALL + 1};
  Packing packing = {.offsets = arena_array(arena, int64_t, ALL),
                     .heaps = arena_array(arena, uint32_t, ALL),
                     .heap_limit_bytes = _i ? 1001 : 1000};
  PackBudget budget = {0};
  pack_fast_split(&problem, -1, &budget, &packing, arena);
  ck_assert(packing_check(&problem, &packing, arena));
  ck_assert_int_eq(packing.height_bytes, 1001);
  ck_assert_uint_eq(packing.num_heaps, _i ? 1 : 2);
  ck_assert_int_eq(packing.offsets[LARGE], _i ? 1000 : 0);
  ck_assert_int_eq(packing.offsets[LARGE + 1], _i ? 1000 : 0);
  ck_assert_int_eq(packing.offsets[LARGE + 2], 0);
  ck_assert_uint_eq(packing.heaps[LARGE + 2], 0);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pack_heaps");
  TCase *cases = tcase_create("heaps");
  tcase_add_loop_test(cases, places_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(cases, packings_agree_with_their_definitions, 0, 300);
  tcase_add_loop_test(cases, one_heap_is_as_without_a_limit, 0, 100);
  tcase_add_loop_test(cases, best_is_never_higher, 0, 100);
  tcase_add_loop_test(cases, split_leaves_the_smallest_to_fast_merge, 0, 2);
  tcase_set_timeout(cases, 240);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
