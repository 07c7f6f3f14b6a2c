#include "ir/sort.h"

#include <stdlib.h>

#include "support.h"

typedef struct Numbered {
  SortItem item;
  uint32_t number;
} Numbered;

static int by_key_then_number(const void *pa, const void *pb) {
  const Numbered *a = pa, *b = pb;
  if (a->item.key != b->item.key) return a->item.key < b->item.key ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

/* Masks that leave few keys, many, only high bytes, none. */
static const uint64_t masks[] = {0x3, 0xff, 0xffff, 0x7f00, 0xff000000000000ff, UINT64_MAX, 0};

START_TEST(sorts_as_a_stable_sort_does) {
  enum { COUNT = 1000 };
  static const uint32_t lengths[] = {0, 1, 2, 3, 255, COUNT};
  Arena *arena = arena_new(NULL);
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    SortItem items[COUNT];
    Numbered expected[COUNT];
    uint64_t random = 1;
    for (uint32_t i = 0; i < lengths[k]; i++) {
      random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
      items[i] = (SortItem){(random ^ random >> 32) & masks[_i], i * 7};
      expected[i] = (Numbered){items[i], i};
    }
    sort_by_key(items, lengths[k], arena);
    qsort(expected, lengths[k], sizeof *expected, by_key_then_number);
    for (uint32_t i = 0; i < lengths[k]; i++) {
      ck_assert_msg(items[i].key == expected[i].item.key && items[i].id == expected[i].item.id,
                    "number %u of %u", i, lengths[k]);
    }
  }
  arena_free(arena);
}
END_TEST

START_TEST(largest_go_first) {
  static const int64_t values[] = {INT64_MAX, INT64_MAX - 1, 1 << 20, 255, 1, 0};
  for (size_t i = 1; i < sizeof values / sizeof *values; i++)
    ck_assert_uint_lt(key_largest_first(values[i - 1]), key_largest_first(values[i]));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sort");
  TCase *tc = tcase_create("sort");
  tcase_add_loop_test(tc, sorts_as_a_stable_sort_does, 0, (int)(sizeof masks / sizeof *masks));
  tcase_add_test(tc, largest_go_first);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
