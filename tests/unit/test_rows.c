#include "ir/rows.h"

#include "support.h"

/* The ids of a row, as a slow search through all items finds them. */
static void check_row(const RowItems *items, const Rows *rows, uint32_t row) {
  uint32_t at = rows->first[row];
  for (uint32_t i = 0; i < items->len; i++) {
    if (items->data[i].row != row) continue;
    ck_assert_msg(at < rows->first[row + 1] && rows->ids[at] == items->data[i].id,
                  "item %u, which belongs into row %u", i, row);
    at++;
  }
  ck_assert_uint_eq(at, rows->first[row + 1]);
}

static const struct {
  uint32_t num_rows, num_items;
} cases[] = {{0, 0}, {5, 0}, {1, 7}, {2, 100}, {100, 30}, {64, 1000}};

START_TEST(rows_keep_the_order_of_items) {
  Arena *arena = arena_new(NULL);
  RowItems items = {0};
  uint64_t random = 3;
  for (uint32_t i = 0; i < cases[_i].num_items; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint32_t row = (uint32_t)(random >> 40) % cases[_i].num_rows;
    *vec_push(arena, &items) = (RowItem){row, (uint32_t)(random >> 33)};
  }
  Rows rows = rows_build(&items, cases[_i].num_rows, arena);
  ck_assert_uint_eq(rows.first[0], 0);
  ck_assert_uint_eq(rows.first[cases[_i].num_rows], items.len);
  for (uint32_t row = 0; row < cases[_i].num_rows; row++)
    check_row(&items, &rows, row);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rows");
  TCase *tc = tcase_create("rows");
  tcase_add_loop_test(tc, rows_keep_the_order_of_items, 0, (int)(sizeof cases / sizeof *cases));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
