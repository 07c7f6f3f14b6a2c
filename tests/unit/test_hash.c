#include "ir/hash.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

START_TEST(every_byte_counts) {
  size_t len = (size_t)_i;
  char *data = malloc(len ? len : 1); /* never read beyond `len`: ASan looks */
  ck_assert_ptr_nonnull(data);
  memset(data, 'x', len);
  uint64_t hash = hash_bytes(HASH_SEED, data, len);
  ck_assert_uint_eq(hash_bytes(HASH_SEED, data, len), hash);
  ck_assert_uint_ne(hash_bytes(HASH_SEED + 1, data, len), hash);
  for (size_t i = 0; i < len; i++) {
    for (int bit = 0; bit < 8; bit++) {
      data[i] = (char)(data[i] ^ 1 << bit);
      ck_assert_msg(hash_bytes(HASH_SEED, data, len) != hash, "bit %d of byte %zu of %zu", bit, i,
                    len);
      data[i] = (char)(data[i] ^ 1 << bit);
    }
  }
  if (len > 0) ck_assert_uint_ne(hash_bytes(HASH_SEED, data, len - 1), hash);
  free(data);
}
END_TEST

/* The upper half chooses the slot and is all that a table compares: it has to spread. */
START_TEST(upper_halves_of_similar_names_differ) {
  enum { COUNT = 20000 };
  IdTable table = {0};
  Arena *arena = arena_new(NULL);
  uint32_t num_equal = 0;
  for (uint32_t i = 0; i < COUNT; i++) {
    char name[32];
    int len = snprintf(name, sizeof name, "fusion.%u", i);
    uint64_t hash = hash_str(str_make(name, (size_t)len));
    uint32_t other;
    IdProbe probe = id_table_probe(&table, hash);
    while (id_probe_next(&probe, &other))
      num_equal++;
    id_table_add(&table, arena, hash, i);
  }
  ck_assert_uint_le(num_equal, 2); /* 0.05 expected of 32 bits */
  arena_free(arena);
}
END_TEST

START_TEST(empty_table_has_nothing) {
  IdTable table = {0};
  uint32_t id;
  IdProbe probe = id_table_probe(&table, 12345);
  ck_assert(!id_probe_next(&probe, &id));
  Arena *arena = arena_new(NULL);
  IdTable copy = id_table_copy(&table, arena);
  probe = id_table_probe(&copy, 12345);
  ck_assert(!id_probe_next(&probe, &id));
  arena_free(arena);
}
END_TEST

/* Every id comes back once under its hash, also when thousands share one. */
START_TEST(all_ids_of_a_hash_come_back) {
  enum { COUNT = 3000 };
  uint64_t num_hashes = (uint64_t)_i;
  Arena *arena = arena_new(NULL);
  IdTable table = {0};
  for (uint32_t i = 0; i < COUNT; i++) {
    id_table_add(&table, arena, hash_mix(HASH_SEED, i % num_hashes), i);
  }
  ck_assert_uint_eq(table.len, COUNT);
  bool seen[COUNT] = {false};
  for (uint32_t key = 0; key < num_hashes; key++) {
    uint32_t id;
    IdProbe probe = id_table_probe(&table, hash_mix(HASH_SEED, key));
    while (id_probe_next(&probe, &id)) {
      ck_assert_uint_lt(id, COUNT);
      ck_assert_uint_eq(id % num_hashes, key);
      ck_assert(!seen[id]);
      seen[id] = true;
    }
  }
  for (uint32_t i = 0; i < COUNT; i++)
    ck_assert(seen[i]);
  arena_free(arena);
}
END_TEST

START_TEST(copy_is_independent) {
  Arena *first = arena_new(NULL), *second = arena_new(NULL);
  IdTable table = {0};
  for (uint32_t i = 0; i < 100; i++)
    id_table_add(&table, first, hash_mix(1, i), i);
  IdTable copy = id_table_copy(&table, second);
  id_table_add(&copy, second, hash_mix(1, 1000), 1000);
  uint32_t id;
  IdProbe probe = id_table_probe(&table, hash_mix(1, 1000));
  ck_assert(!id_probe_next(&probe, &id));
  arena_free(first);
  for (uint32_t i = 0; i < 100; i++) {
    probe = id_table_probe(&copy, hash_mix(1, i));
    ck_assert(id_probe_next(&probe, &id));
    ck_assert_uint_eq(id, i);
  }
  probe = id_table_probe(&copy, hash_mix(1, 1000));
  ck_assert(id_probe_next(&probe, &id) && id == 1000);
  arena_free(second);
}
END_TEST

START_TEST(texts_compare_as_bytes) {
  ck_assert(str_equal(STR("abc"), (Str){"abcd", 3}));
  ck_assert(!str_equal(STR("abc"), STR("abd")));
  ck_assert(!str_equal(STR("abc"), STR("ab")));
  ck_assert(str_equal((Str){NULL, 0}, STR("")));
  ck_assert(str_is(STR("abc"), "abc") && !str_is(STR("abc"), "abcd"));
  ck_assert_int_lt(str_compare(STR("a.10"), STR("a.2")), 0);
  ck_assert_int_lt(str_compare(STR("a"), STR("a.1")), 0);
  ck_assert_int_gt(str_compare(STR("b"), STR("a.1")), 0);
  ck_assert_int_eq(str_compare(STR("a"), STR("a")), 0);
  ck_assert_int_gt(str_compare(STR("\xc3"), STR("z")), 0); /* unsigned, as std::string */
}
END_TEST

/* Each place of a difference in each length, and nothing beyond the end is read. */
START_TEST(bytes_equal_sees_each_byte) {
  for (uint32_t len = 0; len < 40; len++) {
    char *a = malloc(len + 1), *b = malloc(len + 1);
    memset(a, 'x', len);
    memset(b, 'x', len);
    ck_assert_msg(bytes_equal(a, b, len), "%u bytes", len);
    for (uint32_t i = 0; i < len; i++) {
      b[i] = 'y';
      ck_assert_msg(!bytes_equal(a, b, len), "byte %u of %u", i, len);
      b[i] = 'x';
    }
    free(a);
    free(b);
  }
}
END_TEST

/* As often as it is filled, also where ids collide. */
START_TEST(slots_can_be_cleared_one_by_one) {
  Arena *arena = arena_new(NULL);
  IdTable table = {0};
  id_table_reserve(&table, arena, 100);
  uint32_t slots[100], mask = table.mask;
  for (int round = 0; round < 3; round++) {
    for (uint32_t id = 0; id < 100; id++) {
      slots[id] = id_table_add(&table, arena, (uint64_t)(id / 4) << 32, id);
      ck_assert_uint_eq(table.slots[slots[id]].id, id);
    }
    ck_assert_uint_eq(table.mask, mask);
    id_table_clear_slots(&table, slots);
    ck_assert_uint_eq(table.len, 0);
    for (uint32_t slot = 0; slot <= mask; slot++)
      ck_assert_uint_eq(table.slots[slot].id, NO_ID);
  }
  arena_free(arena);
}
END_TEST

START_TEST(set_knows_what_is_in_it) {
  Arena *arena = arena_new(NULL);
  IdTable set = {0};
  ck_assert(!id_set_has(&set, 0));
  for (uint32_t id = 0; id < 1000; id += 2) {
    ck_assert(id_set_add(&set, arena, id));
    ck_assert(!id_set_add(&set, arena, id));
  }
  for (uint32_t id = 0; id < 1000; id++)
    ck_assert_msg(id_set_has(&set, id) == (id % 2 == 0), "id %u", id);
  ck_assert_uint_eq(set.len, 500);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hash");
  TCase *tc = tcase_create("hash");
  tcase_add_loop_test(tc, every_byte_counts, 0, 41);
  tcase_add_test(tc, upper_halves_of_similar_names_differ);
  tcase_add_test(tc, empty_table_has_nothing);
  tcase_add_loop_test(tc, all_ids_of_a_hash_come_back, 1, 9);
  tcase_add_test(tc, copy_is_independent);
  tcase_add_test(tc, texts_compare_as_bytes);
  tcase_add_test(tc, bytes_equal_sees_each_byte);
  tcase_add_test(tc, slots_can_be_cleared_one_by_one);
  tcase_add_test(tc, set_knows_what_is_in_it);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
