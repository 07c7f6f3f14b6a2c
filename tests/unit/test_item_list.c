#include "analysis/memory/item_list.h"

#include "support.h"

enum { NUM_INSTS = 6 };

/* The list 0 1 2 3 4 5; `express` of them are promoted. */
typedef struct Lists {
  Arena *arena;
  ItemTable table;
  ItemList list;
} Lists;

static void lists_make(Lists *lists, const char *express) {
  lists->arena = arena_new(NULL);
  lists->table = (ItemTable){.arena = lists->arena};
  InstId *ids = arena_array(lists->arena, InstId, NUM_INSTS);
  for (InstId id = 0; id < NUM_INSTS; id++)
    ids[id] = id;
  lists->list = item_list_build(&lists->table, (Sequence){ids, NUM_INSTS}, NUM_INSTS);
  for (const char *c = express; *c; c++)
    item_list_promote(&lists->list, (InstId)(*c - '0'));
}

static void insert(Lists *lists, InstId id, const char *before) {
  IdVec places = {0};
  for (const char *c = before; *c; c++)
    *vec_push(lists->arena, &places) = (InstId)(*c - '0');
  item_list_create(&lists->list, id);
  item_list_insert_before(&lists->list, id, &places);
}

/* From the first to the last, each with one digit; the way back must be the same. */
static const char *list_text(const Lists *lists) {
  const char *text = "";
  InstId last = NO_ID;
  for (InstId id = lists->list.first; id != NO_ID; id = item_get(&lists->list, id)->next) {
    ck_assert_uint_eq(item_get(&lists->list, id)->prev, last);
    text = arena_printf(lists->arena, "%s%u", text, id);
    last = id;
  }
  return text;
}

static const char *lane_text(const Lists *lists) {
  const char *text = "";
  for (InstId id = lists->list.first_express; id != NO_ID;
       id = item_get(&lists->list, id)->next_express) {
    ck_assert(item_get(&lists->list, id)->is_express);
    text = arena_printf(lists->arena, "%s%u", text, id);
  }
  return text;
}

static void check_id(InstId got, char wanted, const char *what) {
  ck_assert_msg(got == (wanted == '-' ? NO_ID : (InstId)(wanted - '0')), "%s: %u, not %c", what,
                got, wanted);
}

START_TEST(a_sequence_becomes_a_list) {
  Lists lists;
  lists_make(&lists, "");
  ck_assert_str_eq(list_text(&lists), "012345");
  ck_assert_str_eq(lane_text(&lists), "");
  ck_assert_uint_eq(lists.list.last_express, NO_ID);
  for (InstId id = 0; id < NUM_INSTS; id++) {
    const RematItem *item = item_get(&lists.list, id);
    ck_assert_uint_eq(item->position, id);
    ck_assert(!item->is_placed && !item->is_move && !item->is_express);
    ck_assert_uint_eq(item->defined.len + item->used.len, 0);
    ck_assert_uint_eq(item->output, NO_ID);
  }
  arena_free(lists.arena);
}
END_TEST

START_TEST(an_empty_sequence_is_an_empty_list) {
  Arena *arena = arena_new(NULL);
  ItemTable table = {.arena = arena};
  ItemList list = item_list_build(&table, (Sequence){0}, 0);
  ck_assert_uint_eq(list.first, NO_ID);
  ck_assert_uint_eq(list.first_express, NO_ID);
  arena_free(arena);
}
END_TEST

/* One table, two computations: building the second list leaves the first alone. */
START_TEST(a_table_serves_several_lists) {
  Arena *arena = arena_new(NULL);
  ItemTable table = {.arena = arena};
  ItemList even = item_list_build(&table, (Sequence){(InstId[]){4, 0, 2}, 3}, NUM_INSTS);
  item_list_promote(&even, 0);
  ItemList odd = item_list_build(&table, (Sequence){(InstId[]){1, 5}, 2}, NUM_INSTS);
  item_list_create(&odd, 900); /* beyond what the table held */
  item_list_insert_before(&odd, 900, &(IdVec){.data = (uint32_t[]){5}, .len = 1});
  ck_assert_uint_eq(even.first, 4);
  ck_assert_uint_eq(item_get(&even, 4)->next, 0);
  ck_assert_uint_eq(item_get(&even, 0)->next, 2);
  ck_assert_uint_eq(item_get(&even, 2)->next, NO_ID);
  ck_assert(item_get(&even, 0)->is_express);
  ck_assert_uint_eq(item_get(&odd, 1)->next, 900);
  ck_assert_uint_eq(item_get(&odd, 900)->next, 5);
  arena_free(arena);
}
END_TEST

/* 6 goes into the list. The end of the lane is what XLA takes for it: where no express item
 * follows, the old last one is not linked to the new one. */
static const struct {
  const char *name, *express, *before;
  const char *list, *lane;
  char first_express, last_express, prev_express; /* of 6; '-' for none */
} inserts[] = {
    {"in front", "", "0", "6012345", "6", '6', '6', '-'},
    {"in the middle", "", "3", "0126345", "6", '6', '6', '-'},
    {"at the end", "", "5", "0123465", "6", '6', '6', '-'},
    {"the earliest of several", "", "524", "0162345", "6", '6', '6', '-'},
    {"one given twice", "", "4343", "0126345", "6", '6', '6', '-'},
    {"before the first of the lane", "24", "1", "0612345", "624", '6', '4', '-'},
    {"directly before one of the lane", "24", "2", "0162345", "624", '6', '4', '-'},
    {"between two of the lane", "24", "3", "0126345", "264", '2', '4', '2'},
    {"directly behind one of the lane", "124", "3", "0126345", "1264", '1', '4', '2'},
    {"behind the lane", "24", "5", "0123465", "24", '2', '6', '4'},
    {"everything in the lane", "012345", "3", "0126345", "0126345", '0', '5', '2'},
};

START_TEST(insert_matches_table) {
  Lists lists;
  lists_make(&lists, inserts[_i].express);
  insert(&lists, 6, inserts[_i].before);
  check_text(list_text(&lists), inserts[_i].list, inserts[_i].name);
  check_text(lane_text(&lists), inserts[_i].lane, inserts[_i].name);
  check_id(lists.list.first_express, inserts[_i].first_express, inserts[_i].name);
  check_id(lists.list.last_express, inserts[_i].last_express, inserts[_i].name);
  const RematItem *item = item_get(&lists.list, 6);
  check_id(item->prev_express, inserts[_i].prev_express, inserts[_i].name);
  ck_assert(item->is_express);
  ck_assert_uint_eq(item->position, item_get(&lists.list, item->next)->position);
  arena_free(lists.arena);
}
END_TEST

/* Inserted items share a position; among equals the first of the list is the earliest. */
START_TEST(equal_positions_are_told_apart) {
  Lists lists;
  lists_make(&lists, "");
  insert(&lists, 6, "3");
  insert(&lists, 7, "3");
  ck_assert_str_eq(list_text(&lists), "01267345");
  insert(&lists, 8, "37");
  ck_assert_str_eq(list_text(&lists), "012687345");
  insert(&lists, 9, "73");
  ck_assert_str_eq(list_text(&lists), "0126897345");
  ck_assert_uint_eq(item_get(&lists.list, 9)->position, 3);
  arena_free(lists.arena);
}
END_TEST

START_TEST(a_lane_with_a_lost_end_goes_on) {
  Lists lists;
  lists_make(&lists, "1");
  insert(&lists, 6, "4"); /* lost behind 1 */
  ck_assert_str_eq(lane_text(&lists), "1");
  insert(&lists, 7, "2"); /* 6 follows, and is linked from here on */
  ck_assert_str_eq(list_text(&lists), "01723645");
  ck_assert_str_eq(lane_text(&lists), "176");
  arena_free(lists.arena);
}
END_TEST

START_TEST(removed_instructions_are_left_out) {
  Fixture fixture = fixture_parse_body(
      "",
      "p = f32[] parameter(0)\n a = f32[] abs(p)\n b = f32[] sine(p)\n ROOT r = f32[] tanh(p)\n");
  Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  ItemTable table = {.arena = fixture.out};
  ItemList list = item_list_build(&table, schedule.of[module->entry], module->insts.len);
  module_remove_inst(module, find_inst(module, "a"));
  Sequence sequence = item_list_sequence(&list, module, fixture.out);
  check_text(names_of(module, sequence.ids, sequence.len, fixture.out), "p b ROOT r", "sequence");
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("item_list");
  TCase *tc = tcase_create("item_list");
  tcase_add_test(tc, a_sequence_becomes_a_list);
  tcase_add_test(tc, an_empty_sequence_is_an_empty_list);
  tcase_add_test(tc, a_table_serves_several_lists);
  tcase_add_loop_test(tc, insert_matches_table, 0, sizeof inserts / sizeof *inserts);
  tcase_add_test(tc, equal_positions_are_told_apart);
  tcase_add_test(tc, a_lane_with_a_lost_end_goes_on);
  tcase_add_test(tc, removed_instructions_are_left_out);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
