/* Shardings and replica groups. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

static char *sharded(const char *sharding) {
  static const char format[] =
      "HloModule m\nENTRY e {\n  ROOT p = f32[4,4] parameter(0), sharding=%s\n}\n";
  size_t room = sizeof format + strlen(sharding);
  char *text = malloc(room);
  snprintf(text, room, format, sharding);
  return text;
}

static const char *const accepted[] = {
    "{}",
    "{replicated}",
    "{manual}",
    "{unknown}",
    "{unreduced}",
    "{maximal device=3}",
    "{device=3 maximal}",
    "{devices=[2,2]0,1,2,3}",
    "{devices=[2,2]3,2,1,0}",
    "{devices=[4,1]<=[4]}",
    "{devices=[2,2]<=[2,2]T(1,0)}",
    "{devices=[1,8]<=[2,2,2]T(2,1,0)}",
    "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}",
    "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
    "{devices=[2,1,1,2]<=[4] last_tile_dims={manual, replicated}}",
    "{last_tile_dim_replicate devices=[2,1,2]<=[4]}",
    "{replicated metadata={op_name=\"a\"}}",
    "{replicated metadata={{op_name=\"a\"}, {op_name=\"b\"}}}",
    "{replicated shard_as 1}",
    "{manual shard_like 2}",
    "{devices=[2,2]<=[4] shard_as 3 metadata={}}",
    "{{replicated}, {maximal device=0}}",
    "{{replicated}, {devices=[2]0,1}, {manual metadata={op_name=\"a\"}}}",

    /* with a mesh */
    "{mesh['a'=2,'b'=2], replicated}",
    "{mesh[\"a\"=2,\"b\"=2], manual}",
    "{mesh['a'=2], unreduced}",
    "{mesh['a'=2], unreduced=sum}",
    "{mesh['x'=8] [{'x':(2)2, 'x':(1)2}, {'x':(4)2}]}",
    "{mesh['x'=12,'y'=2] [{'y', 'x':(6)2}, {'x':(1)2}], replicated={'x':(2)3}}",
    "{mesh['a'=2,'b'=2], [{'a'}, {'b'}]}",
    "{mesh['a'=2,'b'=2], [{'a', 'b'}, {}]}",
    "{mesh['a'=2,'b'=2], [{'a', ?}, {?}]}",
    "{mesh['a'=4,'b'=2], [{'a':(1)2}, {'b', 'a':(2)2}]}",
    "{mesh['a'=2,'b'=2], [{'a'}, {}], replicated={'b'}}",
    "{mesh['a'=2,'b'=2], [{'a'}, {}], unreduced={'b'}}",
    "{mesh['a'=2,'b'=2], [{'a'}, {}], unreduced=max{'b'}}",
    "{mesh['a'=2,'b'=2], [{'a'}, {}], manual={'b'}, metadata={op_name=\"x\"}}",
    "{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a'}, {'b'}]}",
    "{mesh['a'=2,'b'=2], device_ids=(3,2,1,0), [{'a'}, {'b'}]}",
    "{maximal_mesh[device_id=3]}",
    "{single_device[device_id=3]}",
};

START_TEST(accepted_shardings) {
  char *text = sharded(accepted[_i]);
  check_accepted(text, strlen(text), 0);
  free(text);
}
END_TEST

static const struct {
  const char *sharding, *why;
} refused[] = {
    {"replicated", "'{' before the sharding"},
    {"{other}", "a word of the sharding or '}'"},
    {"{replicated, metadata={}", "a word of the sharding or '}'"},
    {"{replicated,}", "a word of the sharding or '}'"},
    {"{\"replicated\"}", "a word of the sharding or '}'"},
    {"{maximal}", "a maximal sharding names one device"},
    {"{maximal device=x}", "an integer"},
    {"{maximal devices=[2]0,1}", "a maximal sharding names one device"},
    {"{replicated device=0}", "a replicated sharding names no devices"},
    {"{manual device=0}", "names no devices"},
    {"{unknown device=0}", "names no devices"},
    {"{unreduced device=0}", "names no devices"},
    {"{device=0}", "neither replicated, maximal"},
    {"{shard_as 1}", "neither replicated, maximal"},
    {"{shard_as}", "an integer"},
    {"{last_tile_dim_replicate}", "neither replicated, maximal"},
    {"{devices=2,2}", "'[' before the dimensions"},
    {"{devices=[2,2]}", "an integer"},
    {"{devices=[]0,1}", "an integer"},
    {"{devices=[2,2]0,1,2}", "4 places for 3 devices"},
    {"{devices=[2,2]0,1,2,3,4}", "4 places for 5 devices"},
    {"{devices=[1]0}", "more than one device"},
    {"{devices=[2,2]<=[3]}", "4 places for the 3 devices"},
    {"{devices=[3]<=[4294967296,4294967296]T(1,0)}", "3 places for the 2^63 or more devices"},
    {"{devices=[3]<=[4294967296,4294967296,0]T(1,0,2)}", "3 places for the 0 devices"},
    {"{devices=[4294967296,2147483648]0,1}", "2^63 or more places for 2 devices"},
    {"{devices=[4294967296,0,4294967296]0,1}", "has 0 places for 2 devices"},
    {"{mesh['x'=4294967296,'y'=4294967296], device_ids=([3]), replicated}",
     "the iota has 3 devices, the mesh 2^63 or more"},
    {"{devices=[2,2]<=[2,2]}", "T(…), the order"},
    {"{mesh['x'=2,'x'=2], replicated}", "two axes 'x'"},
    {"{mesh['x'=8] [{'x':(1)8}, {}]}", "(1)8 is no part of an axis of 8"},
    {"{mesh['x'=8] [{'x':(0)2}, {}]}", "is no part"},
    {"{mesh['x'=8] [{'x':(3)2}, {}]}", "is no part"},
    {"{mesh['x'=8] [{'x':(1)9223372036854775808}, {}]}", "is no part"},
    {"{mesh['x'=8] [{'x'}, {'x':(1)2}]}", "used twice"},
    {"{mesh['x'=8] [{'x':(1)4}, {'x':(2)2}]}", "used twice"},
    {"{mesh['x'=12] [{'x':(1)2}, {'x':(3)2}]}", "used twice"},
    {"{mesh['x'=8] [{'x':(1)2}, {}], replicated={'x':(1)2}}", "used twice"},
    {"{mesh['x'=8] [{'x':(1)2, 'x':(2)2}, {}]}", "to be one with that before it"},
    {"{mesh['x'=2,'y'=2] [{}, {}], replicated={'y','x'}}", "in the order of the mesh"},
    {"{devices=[2]<=[2] devices=[2]0,1}", "given twice"},
    {"{devices=[2]0,1 devices=[2]<=[2]}", "given twice"},
    {"{devices=[2,2]<=[2,2]T(0)}", "T(…) orders 1 of the iota's 2 dimensions"},
    {"{devices=[2,2]<=[2,2]T(0,2)}", "names dimension 2 of 2"},
    {"{devices=[2,2]<=4}", "'[' before the dimensions of the iota"},
    {"{other=1}", "device=, devices=, metadata="},
    {"{devices=[2,1,2]<=[4] last_tile_dims={other}}", "maximal, replicated, manual or unreduced"},
    {"{replicated metadata={other=1}}", "metadata has no field 'other'"},
    {"{{replicated}, replicated}", "'{' before the sharding of a tuple element"},
    {"{{replicated},}", "'{' before the sharding of a tuple element"},
    {"{{replicated} {manual}}", "'}' to close the tuple sharding"},

    {"{mesh}", "'[' after mesh"},
    {"{mesh[a=2], replicated}", "a string"},
    {"{mesh['a'], replicated}", "'=' after the axis"},
    {"{mesh['a'=x], replicated}", "an integer"},
    {"{mesh['a'=2], [{'b'}]}", "'b' is no axis of the mesh"},
    {"{mesh['a'=2], [{'1'}]}", "'1' is no axis of the mesh"},
    {"{mesh['a'=2], [{?, 'a'}]}", "'}' after '?'"},
    {"{mesh['a'=2], [{a}]}", "a string"},
    {"{mesh['a'=2], ['a']}", "'{' before the axes"},
    {"{mesh['a'=2], [{'a':1}]}", "'(' before the size"},
    {"{mesh['a'=2], [{'a'}], replicated={?}}", "a string"},
    {"{mesh['a'=2], [{'a'}], other={'a'}}", "replicated=, unreduced=, manual= or metadata="},
    {"{mesh['a'=2], [{'a'}] replicated={'a'}}", "',' before the next attribute"},
    {"{mesh['a'=2], unreduced=avg}", "sum, max or min"},
    {"{mesh['a'=2], replicated, other}", "metadata="},
    {"{mesh['a'=2,'b'=2], device_ids=(0,1,2,3), [{'a'}, {}]}", "the identity"},
    {"{mesh['a'=2,'b'=2], device_ids=(0,0,1,2), [{'a'}, {}]}", "not a permutation"},
    {"{mesh['a'=2,'b'=2], device_ids=(3,2,1), [{'a'}, {}]}", "4 devices, device_ids names 3"},
    {"{mesh['a'=2,'b'=2], device_ids=([2,3]T(1,0)), [{'a'}, {}]}", "6 devices, the mesh 4"},
    {"{mesh['a'=4611686018427387904,'b'=4], device_ids=(1,0), [{'a'}, {}]}", "overflows"},
    {"{maximal_mesh[3]}", "device_id="},
    {"{maximal_mesh[device_id=3], replicated}", "metadata="},
};

START_TEST(refused_shardings_say_why) {
  char *text = sharded(refused[_i].sharding);
  check_refused(text, strlen(text), refused[_i].why);
  free(text);
}
END_TEST

static char *grouped(const char *groups) {
  static const char format[] =
      "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) "
      "}\n"
      "ENTRY e {\n  p = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] all-reduce(p), replica_groups=%s, to_apply=add\n}\n";
  size_t room = sizeof format + strlen(groups);
  char *text = malloc(room);
  snprintf(text, room, format, groups);
  return text;
}

static const struct {
  const char *groups, *ints; /* number and size of the groups */
} groups_read[] = {
    {"{}", "0 0"},
    {"{{0,1,2,3}}", "1 4"},
    {"{{0,1},{2,3}}", "2 2"},
    {"{{0},{1},{2}}", "3 1"},
    {"{{0,1},{2}}", "2 -1"}, /* not all of one size */
    {"{{0},{1,2},{3}}", "3 -1"},
    {"{{}}", "1 0"},
    {"[2,4]<=[8]", "2 4"},
    {"[4,2]<=[2,4]T(1,0)", "4 2"},
    {"[2,4]<=[2,2,2]T(0,2,1)", "2 4"},
    {"mesh['a'=2,'b'=4] {'a'}", ""},
    {"mesh['a'=2,'b'=4] {'a','b':(1)2}", ""},
    {"mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'a'}", ""},
};

START_TEST(replica_groups_are_counted) {
  char *text = grouped(groups_read[_i].groups);
  check_accepted(text, strlen(text), 0);
  Module *module = parse_or_fail(text);
  IntSlice ints = inst_attr_ints(module, find_inst(module, "r"), ATTR_REPLICA_GROUPS);
  char shown[64] = "";
  if (ints.len == 2) {
    snprintf(shown, sizeof shown, "%" PRId64 " %" PRId64, ints.data[0], ints.data[1]);
  }
  ck_assert_msg(strcmp(shown, groups_read[_i].ints) == 0, "%s: %s", groups_read[_i].groups, shown);
  module_free(module);
  free(text);
}
END_TEST

static const struct {
  const char *groups, *why;
} groups_refused[] = {
    {"{0,1}", "'{' before a list of integers"},
    {"{{0,1},}", "'{' before a list of integers"},
    {"{{0,1} {2,3}}", "'}' to close the replica groups"},
    {"{{a}}", "an integer"},
    {"0", "groups such as"},
    {"[2,2]", "'<=' and an iota"},
    {"[2,2]0,1,2,3", "'<=' and an iota"},
    {"[8]<=[8]", "two dimensions"},
    {"[2,2,2]<=[8]", "two dimensions"},
    {"[2,4]<=[9]", "the groups hold 8 devices, the iota 9"},
    {"[4294967296,4294967296]<=[9]", "the groups hold 2^63 or more devices, the iota 9"},
    {"[2,4]<=[2,4]", "T(…), the order"},
    {"mesh['a'=2]", "'{' before the axes"},
    {"mesh['a'=2] {'b'}", "no axis of the mesh"},
};

START_TEST(refused_groups_say_why) {
  char *text = grouped(groups_refused[_i].groups);
  check_refused(text, strlen(text), groups_refused[_i].why);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_sharding");
  TCase *tc = tcase_create("parse_sharding");
  tcase_add_loop_test(tc, accepted_shardings, 0, sizeof accepted / sizeof *accepted);
  tcase_add_loop_test(tc, refused_shardings_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_loop_test(tc, replica_groups_are_counted, 0, sizeof groups_read / sizeof *groups_read);
  tcase_add_loop_test(tc, refused_groups_say_why, 0,
                      sizeof groups_refused / sizeof *groups_refused);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
