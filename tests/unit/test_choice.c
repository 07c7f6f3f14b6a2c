#include "remat/scan/choice.h"

#include <math.h>

#include "support.h"

enum { NUM_VALUES = 5 };

/* x, an element of the state; a from x; b from a; c from a and b; d from c. What each stores and
 * computes, and which of them a reading loop reads. */
typedef struct Row {
  const char *name;
  double price;
  const char *read;        /* names of the values that are read */
  const char *kept, *not ; /* stored whatever the price; must not be computed again */
  const char *whole;       /* read as a whole, so stored anyway */
  const char *stored, *recomputed;
} Row;

static const struct {
  int64_t bytes;
  double seconds;
  const char *operands;
} values_of[NUM_VALUES] = {
    {100, 0, ""}, {200, 8, "x"}, {400, 1, "a"}, {50, 2, "ab"}, {400, 1, "c"}};
static const char letters[] = "xabcd";

static const Row rows[] = {
    {"as little as possible", INFINITY, "ab", "", "", "", "x", "ab"},
    {"a small value instead of the state", INFINITY, "d", "", "", "", "c", "d"},
    {"only what costs no time", 0, "abcd", "", "", "", "abcd", ""},
    {"cheap ones go first", 0.02, "ab", "", "", "", "a", "b"},
    {"a high price", 0.2, "ab", "", "", "", "x", "ab"},
    {"kept", INFINITY, "ab", "b", "", "", "xb", "a"},
    {"not computed again", INFINITY, "ab", "", "a", "", "a", "b"},
    {"from what is stored anyway", INFINITY, "ab", "", "", "a", "a", "b"},
    {"nothing is read", INFINITY, "", "", "", "", "", ""},
};

static ScanValues values_for(const Row *row, bool is_kept[NUM_VALUES], Arena *out) {
  ScanValues values = {0};
  for (int i = 0; i < NUM_VALUES; i++) {
    ScanValue value = {.kind = i == 0 ? SCAN_STATE : SCAN_COMPUTED,
                       .stack = NO_ID,
                       .whole = NO_ID,
                       .neighbour = NO_ID,
                       .is_read = strchr(row->read, letters[i]),
                       .must_store = strchr(row->whole, letters[i]),
                       .may_store = true,
                       .verdict = i == 0 ? KEEP_STATE : KEEP_NONE,
                       .bytes = values_of[i].bytes,
                       .seconds = values_of[i].seconds};
    if (strchr(row->not, letters[i])) value.verdict = KEEP_SIDE_EFFECT;
    for (const char *operand = values_of[i].operands; *operand; operand++)
      *vec_push(out, &value.operands) = (uint32_t)(strchr(letters, *operand) - letters);
    *vec_push(out, &values.list) = value;
    is_kept[i] = strchr(row->kept, letters[i]);
  }
  return values;
}

START_TEST(choices_match_table) {
  const Row *row = &rows[_i];
  Arena *out = arena_new(NULL), *scratch = arena_new(NULL);
  bool is_kept[NUM_VALUES];
  ScanValues values = values_for(row, is_kept, out);
  ScanChoice choice = scan_choose(&values, row->price, is_kept, out, scratch);
  int64_t bytes = 0;
  double seconds = 0;
  for (int i = 0; i < NUM_VALUES; i++) {
    ScanFate wanted = strchr(row->stored, letters[i])       ? SCAN_STORED
                      : strchr(row->recomputed, letters[i]) ? SCAN_RECOMPUTED
                                                            : SCAN_UNUSED;
    ck_assert_msg(choice.fate[i] == wanted, "%s: %c has fate %d, not %d", row->name, letters[i],
                  choice.fate[i], wanted);
    if (wanted == SCAN_STORED) bytes += values_of[i].bytes;
    if (wanted == SCAN_RECOMPUTED) seconds += values_of[i].seconds;
  }
  ck_assert_int_eq(choice.bytes, bytes);
  ck_assert(fabs(choice.seconds - seconds) < 1e-9);
  arena_free(scratch);
  arena_free(out);
}
END_TEST

/* No choice in which everything can be computed costs less: all are tried, at many prices. */
START_TEST(choices_cost_least) {
  Arena *out = arena_new(NULL), *scratch = arena_new(NULL);
  Row row = {.read = "bd", .kept = "", .not = "", .whole = ""};
  bool is_kept[NUM_VALUES];
  ScanValues values = values_for(&row, is_kept, out);
  for (int p = 0; p < 40; p++) {
    double price = 0.002 * p, least = INFINITY;
    ScanChoice choice = scan_choose(&values, price, NULL, out, scratch);
    for (uint32_t stored = 0; stored < 1u << NUM_VALUES; stored++) {
      double cost = 0;
      bool needed[NUM_VALUES] = {false}, is_possible = true;
      for (int i = NUM_VALUES - 1; i >= 0; i--) { /* operands have lower numbers */
        const ScanValue *value = &values.list.data[i];
        if (!value->is_read && !needed[i]) continue;
        bool is_stored = stored >> i & 1;
        cost += is_stored ? price * (double)value->bytes : value->seconds;
        is_possible &= is_stored || value->verdict == KEEP_NONE;
        for (uint32_t k = 0; !is_stored && k < value->operands.len; k++)
          needed[value->operands.data[k]] = true;
      }
      if (is_possible && cost < least) least = cost;
    }
    double found = price * (double)choice.bytes + choice.seconds;
    ck_assert_msg(fabs(found - least) < 1e-9, "price %g: %g, not %g", price, found, least);
  }
  arena_free(scratch);
  arena_free(out);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("choice");
  TCase *tc = tcase_create("choice");
  tcase_add_loop_test(tc, choices_match_table, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tc, choices_cost_least);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
