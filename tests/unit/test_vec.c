#include "ir/vec.h"

#include <string.h>

#include "support.h"

START_TEST(pushed_elements_stay_in_order) {
  Arena *arena = arena_new(NULL);
  VEC(uint64_t) list = {0};
  uint32_t num_wrong = 0;
  for (uint32_t i = 0; i < 100000; i++) {
    num_wrong += list.len != i;
    *vec_push(arena, &list) = (uint64_t)i * i;
    num_wrong += list.len > list.cap;
  }
  for (uint32_t i = 0; i < list.len; i++)
    num_wrong += list.data[i] != (uint64_t)i * i;
  ck_assert_uint_eq(list.len, 100000);
  ck_assert_uint_eq(num_wrong, 0);
  arena_free(arena);
}
END_TEST

/* Two lists that grow in turns do not get into each other's room. */
START_TEST(lists_grow_side_by_side) {
  Arena *arena = arena_new(NULL);
  VEC(uint32_t) a = {0}, b = {0};
  for (uint32_t i = 0; i < 50000; i++) {
    *vec_push(arena, &a) = i;
    *vec_push(arena, &b) = ~i;
  }
  uint32_t num_wrong = 0;
  for (uint32_t i = 0; i < a.len; i++)
    num_wrong += a.data[i] != i || b.data[i] != ~i;
  ck_assert_uint_eq(num_wrong, 0);
  arena_free(arena);
}
END_TEST

START_TEST(extend_gives_room_at_the_end) {
  Arena *arena = arena_new(NULL);
  VEC(uint32_t) list = {0};
  for (uint32_t count = 1; count < 200; count++) {
    uint32_t before = list.len;
    uint32_t *room = vec_extend(arena, &list, count);
    ck_assert_uint_eq(list.len, before + count);
    ck_assert_ptr_eq(room, list.data + before);
    for (uint32_t i = 0; i < count; i++)
      room[i] = before + i;
  }
  uint32_t num_wrong = 0;
  for (uint32_t i = 0; i < list.len; i++)
    num_wrong += list.data[i] != i;
  ck_assert_uint_eq(num_wrong, 0);
  arena_free(arena);
}
END_TEST

START_TEST(capacity_doubles) {
  Arena *arena = arena_new(NULL);
  VEC(uint8_t) list = {0};
  uint32_t num_growths = 0, num_wrong = 0;
  for (uint32_t i = 0; i < 1 << 20; i++) {
    uint32_t before = list.cap;
    *vec_push(arena, &list) = 0;
    num_growths += list.cap != before;
    num_wrong += list.cap != before && list.cap < 2 * before;
  }
  ck_assert_uint_eq(num_wrong, 0);
  ck_assert_uint_le(num_growths, 20);
  arena_free(arena);
}
END_TEST

/* Ids are 32 bits wide: a list never has more elements. */
START_TEST(counts_beyond_32_bits_are_out_of_memory) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.max_bytes = 1 << 20, .guard = &guard};
  Arena *arena = arena_new(&options);
  uint32_t cap = 0;
  if (setjmp(guard.jump) == 0) {
    (void)vec_grow(arena, NULL, &cap, UINT32_MAX, 1, 1);
    ck_abort_msg("2^32 elements");
  }
  ck_assert_uint_eq(cap, 0);
  /* From 2^31 on doubling would pass the limit: just as much as is wanted is asked for. */
  cap = UINT32_C(1) << 31;
  if (setjmp(guard.jump) == 0) {
    (void)vec_grow(arena, NULL, &cap, cap, 5, 1);
    ck_abort_msg("the arena's limit was passed");
  }
  ck_assert_uint_ge(guard.wanted_bytes, (UINT32_C(1) << 31) + 5);
  ck_assert_uint_lt(guard.wanted_bytes, (UINT32_C(1) << 31) + 500);
  arena_free(arena);
}
END_TEST

START_TEST(reserved_room_is_not_moved) {
  Arena *arena = arena_new(NULL);
  VEC(uint32_t) list = {0};
  vec_reserve(arena, &list, 1000);
  ck_assert_uint_eq(list.len, 0);
  ck_assert_uint_ge(list.cap, 1000);
  const uint32_t *data = list.data;
  for (uint32_t i = 0; i < 1000; i++)
    *vec_push(arena, &list) = i;
  ck_assert_ptr_eq(list.data, data);
  vec_reserve(arena, &list, 10);
  ck_assert_ptr_eq(list.data, data);
  ck_assert_uint_eq(list.data[999], 999);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vec");
  TCase *tc = tcase_create("vec");
  tcase_add_test(tc, pushed_elements_stay_in_order);
  tcase_add_test(tc, lists_grow_side_by_side);
  tcase_add_test(tc, extend_gives_room_at_the_end);
  tcase_add_test(tc, capacity_doubles);
  tcase_add_test(tc, counts_beyond_32_bits_are_out_of_memory);
  tcase_add_test(tc, reserved_room_is_not_moved);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
