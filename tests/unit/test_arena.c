#include "ir/arena.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "support.h"

static const size_t sizes[] = {0, 1, 15, 16, 17, 4095, 4096, 65535, 65536, 1 << 20, 3 << 20};

START_TEST(blocks_are_aligned_and_apart) {
  Arena *arena = arena_new(NULL);
  size_t bytes = sizes[_i];
  char *first = arena_alloc(arena, bytes);
  char *second = arena_alloc(arena, bytes);
  ck_assert_ptr_nonnull(first);
  ck_assert_msg(first != second || bytes == 0, "%zu bytes twice at one place", bytes);
  ck_assert_uint_eq((uintptr_t)first % 16, 0);
  ck_assert_uint_eq((uintptr_t)second % 16, 0);
  memset(first, 1, bytes);
  memset(second, 2, bytes);
  ck_assert_uint_eq(count_other_bytes(first, bytes, 1), 0);
  arena_free(arena);
}
END_TEST

START_TEST(zalloc_is_zero_also_where_memory_was_used) {
  Arena *arena = arena_new(NULL);
  ArenaMark mark = arena_mark(arena);
  memset(arena_alloc(arena, sizes[_i]), 0xff, sizes[_i]);
  arena_reset(arena, mark);
  const char *data = arena_zalloc(arena, sizes[_i]);
  ck_assert_uint_eq(count_other_bytes(data, sizes[_i], 0), 0);
  arena_free(arena);
}
END_TEST

START_TEST(grow_keeps_contents) {
  Arena *arena = arena_new(NULL);
  size_t bytes = 8;
  unsigned char *data = arena_grow(arena, NULL, 0, bytes);
  for (size_t i = 0; i < bytes; i++)
    data[i] = (unsigned char)(i * 7);
  while (bytes < 1 << 21) { /* through the limit beyond which blocks are their own */
    data = arena_grow(arena, data, bytes, bytes * 2);
    size_t num_wrong = 0;
    for (size_t i = 0; i < bytes; i++)
      num_wrong += data[i] != (unsigned char)(i * 7);
    ck_assert_uint_eq(num_wrong, 0);
    for (size_t i = bytes; i < bytes * 2; i++)
      data[i] = (unsigned char)(i * 7);
    bytes *= 2;
    (void)arena_alloc(arena, 24); /* something in between */
  }
  ck_assert_ptr_eq(arena_grow(arena, data, bytes, bytes), data);
  ck_assert_ptr_eq(arena_grow(arena, data, bytes, bytes / 2), data);
  arena_free(arena);
}
END_TEST

/* Three large blocks; each in turn grows, which may move it in the chain. */
START_TEST(any_of_several_large_blocks_may_grow) {
  enum { BYTES = 1 << 17 };
  Arena *arena = arena_new(NULL);
  char *blocks[3];
  for (int i = 0; i < 3; i++) {
    blocks[i] = arena_alloc(arena, BYTES);
    memset(blocks[i], 'a' + i, BYTES);
  }
  blocks[_i] = arena_grow(arena, blocks[_i], BYTES, 40 * BYTES);
  for (int i = 0; i < 3; i++) {
    ck_assert_uint_eq(count_other_bytes(blocks[i], BYTES, (unsigned char)('a' + i)), 0);
  }
  blocks[2 - _i] = arena_grow(arena, blocks[2 - _i], _i == 1 ? 40 * BYTES : BYTES, 80 * BYTES);
  ck_assert_int_eq(blocks[2 - _i][BYTES - 1], 'a' + 2 - _i);
  arena_free(arena); /* valgrind and ASan see blocks that were lost or freed twice */
}
END_TEST

START_TEST(reset_gives_back_what_came_after_the_mark) {
  Arena *arena = arena_new(NULL);
  char *kept = arena_strndup(arena, "kept", 4);
  char *large = arena_alloc(arena, 1 << 17);
  large[0] = 'l';
  size_t bytes = arena_bytes(arena);
  ArenaMark mark = arena_mark(arena);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      (void)arena_alloc(arena, sizes[i]);
    ck_assert_uint_gt(arena_bytes(arena), bytes);
    arena_reset(arena, mark);
    ck_assert_uint_eq(arena_bytes(arena), bytes);
  }
  ck_assert_str_eq(kept, "kept");
  ck_assert_int_eq(large[0], 'l');
  arena_free(arena);
}
END_TEST

/* A block that was there before the mark stays, although it grew, and perhaps moved, after it. */
START_TEST(reset_keeps_older_blocks_that_grew) {
  Arena *arena = arena_new(NULL);
  char *old = arena_alloc(arena, 1 << 17);
  memset(old, 'o', 1 << 17);
  ArenaMark mark = arena_mark(arena);
  char *newer = arena_alloc(arena, 1 << 17);
  memset(newer, 'n', 1 << 17);
  old = arena_grow(arena, old, 1 << 17, 1 << 22);
  arena_reset(arena, mark);
  ck_assert_uint_eq(count_other_bytes(old, 1 << 17, 'o'), 0);
  old = arena_grow(arena, old, 1 << 22, 1 << 23);
  ck_assert_int_eq(old[0], 'o');
  arena_free(arena);
}
END_TEST

/* With a malloc for each block there is nothing to reserve; all else holds. */
START_TEST(reserved_memory_serves_large_requests) {
  enum { RESERVED = 5 << 20, BYTES = 1 << 20 };
  Arena *arena = arena_new(NULL);
  ArenaMark mark = arena_mark(arena);
  size_t empty = arena_bytes(arena);
  arena_reserve(arena, RESERVED);
  size_t bytes = arena_bytes(arena);
  bool is_reserved = bytes > empty;
  char *blocks[5];
  for (int i = 0; i < 5; i++) {
    blocks[i] = arena_alloc(arena, BYTES);
    ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
    memset(blocks[i], 'a' + i, BYTES);
  }
  if (is_reserved) ck_assert_uint_eq(arena_bytes(arena), bytes);
  blocks[_i] = arena_grow(arena, blocks[_i], BYTES, 4 * BYTES); /* there is no room for it */
  if (is_reserved) ck_assert_uint_gt(arena_bytes(arena), bytes);
  memset(blocks[_i] + BYTES, 'z', 3 * BYTES);
  blocks[_i] = arena_grow(arena, blocks[_i], 4 * BYTES, 5 * BYTES);
  for (int i = 0; i < 5; i++) {
    ck_assert_uint_eq(count_other_bytes(blocks[i], BYTES, (unsigned char)('a' + i)), 0);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    memset(arena_alloc(arena, sizes[i]), 0, sizes[i]);
  arena_reset(arena, mark);
  ck_assert_uint_eq(arena_bytes(arena), empty);
  memset(arena_alloc(arena, BYTES), 'n', BYTES);
  arena_free(arena);
}
END_TEST

/* What is left of it may be less than the last request's size rounded up. */
START_TEST(reserved_memory_is_not_passed) {
  enum { RESERVED = (2 << 20) + 24, BYTES = 1 << 10 };
  Arena *arena = arena_new(NULL);
  arena_reserve(arena, RESERVED);
  size_t given = RESERVED;
  memset(arena_alloc(arena, RESERVED), 'r', RESERVED);
  for (; given < 2 * RESERVED; given += BYTES)
    memset(arena_alloc(arena, BYTES), 'b', BYTES);
  ck_assert_uint_ge(arena_bytes(arena), given);
  arena_free(arena);
}
END_TEST

/* It is only a hint: it takes no more than it may, and nothing for little. */
START_TEST(reserving_never_fails) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.max_bytes = 8 << 20, .guard = &guard};
  static const size_t hints[] = {0, 1, 1 << 19, 9 << 20, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
  Arena *arena = arena_new(&options);
  size_t bytes = arena_bytes(arena);
  if (setjmp(guard.jump) == 0) {
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
      arena_reserve(arena, hints[i]);
  }
  ck_assert_uint_eq(guard.wanted_bytes, 0);
  ck_assert_uint_eq(arena_bytes(arena), bytes);
  arena_free(arena);
}
END_TEST

START_TEST(reset_to_the_beginning_empties) {
  Arena *arena = arena_new(NULL);
  size_t bytes = arena_bytes(arena);
  ArenaMark mark = arena_mark(arena);
  for (int i = 0; i < 100; i++)
    (void)arena_alloc(arena, 100000);
  arena_reset(arena, mark);
  ck_assert_uint_eq(arena_bytes(arena), bytes);
  ck_assert_ptr_nonnull(arena_alloc(arena, 1));
  arena_free(arena);
}
END_TEST

START_TEST(marks_nest) {
  Arena *arena = arena_new(NULL);
  ArenaMark outer = arena_mark(arena);
  char *first = arena_strndup(arena, "first", 5);
  size_t with_first = arena_bytes(arena);
  ArenaMark inner = arena_mark(arena);
  (void)arena_alloc(arena, 1 << 18);
  arena_reset(arena, inner);
  ck_assert_uint_eq(arena_bytes(arena), with_first);
  ck_assert_str_eq(first, "first");
  arena_reset(arena, outer);
  ck_assert_uint_le(arena_bytes(arena), with_first);
  arena_free(arena);
}
END_TEST

START_TEST(texts_end_in_nul) {
  Arena *arena = arena_new(NULL);
  char *copy = arena_strndup(arena, "a\0bc", 3);
  ck_assert_mem_eq(copy, "a\0b", 4);
  ck_assert_str_eq(arena_strndup(arena, NULL, 0), "");
  ck_assert_str_eq(arena_printf(arena, "%d-%s", 42, "x"), "42-x");
  char *wide = arena_printf(arena, "%100000d", 1);
  ck_assert_uint_eq(strlen(wide), 100000);
  arena_free(arena);
}
END_TEST

START_TEST(limit_is_told_and_not_passed) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.max_bytes = 1 << 20, .guard = &guard};
  Arena *arena = arena_new(&options);
  ck_assert_ptr_eq(arena_options(arena)->guard, &guard);
  ck_assert_uint_eq(arena_options(arena)->max_bytes, 1 << 20);
  size_t bytes = arena_bytes(arena);
  if (setjmp(guard.jump) == 0) {
    (void)arena_alloc(arena, 2 << 20);
    ck_abort_msg("the limit was passed");
  }
  ck_assert_uint_ge(guard.wanted_bytes, 2 << 20);
  ck_assert_uint_eq(guard.limit_bytes, 1 << 20);
  ck_assert_uint_eq(arena_bytes(arena), bytes);
  ck_assert_ptr_nonnull(arena_alloc(arena, 1 << 10)); /* less still fits */
  if (setjmp(guard.jump) == 0) {
    for (;;)
      (void)arena_alloc(arena, 1000);
  }
  ck_assert_uint_le(arena_bytes(arena), 1 << 20);
  arena_free(arena);
}
END_TEST

START_TEST(growth_counts_towards_the_limit) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.max_bytes = 1 << 20, .guard = &guard};
  Arena *arena = arena_new(&options);
  char *data = arena_alloc(arena, 1 << 17);
  data[5] = 'x';
  if (setjmp(guard.jump) == 0) {
    (void)arena_grow(arena, data, 1 << 17, 1 << 21);
    ck_abort_msg("the limit was passed");
  }
  ck_assert_int_eq(data[5], 'x'); /* the old block is as it was */
  arena_free(arena);
}
END_TEST

START_TEST(overflowing_products_are_out_of_memory) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.guard = &guard};
  Arena *arena = arena_new(&options);
  ck_assert_uint_eq(arena_array_bytes(arena, 3, 5), 15);
  ck_assert_uint_eq(arena_array_bytes(arena, SIZE_MAX, 0), 0);
  ck_assert_uint_eq(arena_array_bytes(arena, 0, SIZE_MAX), 0);
  if (setjmp(guard.jump) == 0) {
    (void)arena_array(arena, uint64_t, SIZE_MAX / 4);
    ck_abort_msg("the product overflowed in silence");
  }
  if (setjmp(guard.jump) == 0) {
    (void)arena_alloc(arena, SIZE_MAX - 8);
    ck_abort_msg("the size overflowed in silence");
  }
  arena_free(arena);
}
END_TEST

/* Those of a guard go together, in whatever order others were freed; what is kept stays. */
START_TEST(guards_know_their_arenas) {
  ArenaGuard guard = {0};
  ArenaOptions options = {.guard = &guard};
  Arena *arenas[4];
  for (int i = 0; i < 4; i++)
    arenas[i] = arena_new(&options);
  arena_free(arenas[_i]);
  Arena *before = arena_new(NULL);
  ck_assert_ptr_null(arena_swap_guard(before, &guard));
  if (setjmp(guard.jump) == 0) arena_fail(before, 77);
  ck_assert_uint_eq(guard.wanted_bytes, 77);
  arena_guard_free_all(&guard);
  ck_assert_ptr_eq(arena_swap_guard(before, NULL), &guard);
  Arena *kept = arena_new(&options);
  arena_guard_release_all(&guard);
  ck_assert_ptr_null(guard.arenas);
  ck_assert_ptr_null(arena_options(kept)->guard);
  arena_free(kept);
  arena_free(before);
}
END_TEST

static void count_release(void *thing) {
  ++*(int *)thing;
}

START_TEST(what_an_arena_owns_goes_with_it) {
  Arena *arena = arena_new(NULL);
  int first = 0, second = 0;
  *arena_own(arena, count_release) = &first;
  ArenaMark mark = arena_mark(arena);
  *arena_own(arena, count_release) = &second;
  (void)arena_own(arena, count_release); /* nothing came */
  arena_reset(arena, mark);
  ck_assert_int_eq(first, 0);
  ck_assert_int_eq(second, 1);
  arena_free(arena);
  ck_assert_int_eq(first, 1);
  ck_assert_int_eq(second, 1);
}
END_TEST

START_TEST(without_a_guard_it_aborts) {
  ArenaOptions options = {.max_bytes = 4096};
  Arena *arena = arena_new(&options);
  (void)arena_alloc(arena, 8192);
}
END_TEST

START_TEST(null_can_be_freed) {
  arena_free(NULL);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("arena");
  TCase *tc = tcase_create("arena");
  tcase_set_timeout(tc, 60);
  int num_sizes = sizeof sizes / sizeof *sizes;
  tcase_add_loop_test(tc, blocks_are_aligned_and_apart, 0, num_sizes);
  tcase_add_loop_test(tc, zalloc_is_zero_also_where_memory_was_used, 0, num_sizes);
  tcase_add_test(tc, grow_keeps_contents);
  tcase_add_loop_test(tc, any_of_several_large_blocks_may_grow, 0, 3);
  tcase_add_test(tc, reset_gives_back_what_came_after_the_mark);
  tcase_add_test(tc, reset_keeps_older_blocks_that_grew);
  tcase_add_loop_test(tc, reserved_memory_serves_large_requests, 0, 5);
  tcase_add_test(tc, reserved_memory_is_not_passed);
  tcase_add_test(tc, reserving_never_fails);
  tcase_add_test(tc, reset_to_the_beginning_empties);
  tcase_add_test(tc, marks_nest);
  tcase_add_test(tc, texts_end_in_nul);
  tcase_add_test(tc, limit_is_told_and_not_passed);
  tcase_add_test(tc, growth_counts_towards_the_limit);
  tcase_add_test(tc, overflowing_products_are_out_of_memory);
  tcase_add_loop_test(tc, guards_know_their_arenas, 0, 4);
  tcase_add_test(tc, what_an_arena_owns_goes_with_it);
  tcase_add_test_raise_signal(tc, without_a_guard_it_aborts, SIGABRT);
  tcase_add_test(tc, null_can_be_freed);
  suite_add_tcase(suite, tc);
  return run_suite_forked(suite); /* one of them dies */
}
