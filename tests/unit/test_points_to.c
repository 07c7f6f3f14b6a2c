#include "analysis/flow/points_to.h"

#include "support.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define F "f { q = f32[4] parameter(0)\n ROOT a = f32[4] abs(q) }\n"
#define PAIR_TYPE "(f32[4], f32[4])"
#define PAIR_F "pf { pq = " PAIR_TYPE " parameter(0)\n ROOT pa = " PAIR_TYPE " copy(pq) }\n"
#define COND(type) "cond { cq = " type " parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define NEST "((f32[4], f32[4]), f32[4])"
#define GROUPS "replica_groups={{0,1}}"

/* The parts of `x` in preorder, as the instruction and part that define each. Beside p and q,
 * f32[4], there are u = (p, q) and the nested v = (u, p). */
#define BEFORE_X                                                                 \
  "p = f32[4] parameter(0)\n q0 = f32[4] parameter(1)\n s = f32[] constant(0)\n" \
  "i = s32[] constant(0)\n u = " PAIR_TYPE " tuple(p, q0)\n v = " NEST           \
  " tuple(u, p)\n"                                                               \
  "tok = token[] after-all()\n"

static const struct {
  const char *comps, *insts, *parts;
} rows[] = {
    /* everything is new by default */
    {"", "x = f32[4] abs(p)\n", "x:0"},
    {"", "x = f32[2,2] reshape(p)\n", "x:0"},
    {"", "x = f32[4] transpose(p), dimensions={0}\n", "x:0"},
    {"", "x = f32[4] copy(p)\n", "x:0"},
    {"", "x = f32[4] convert(p)\n", "x:0"},
    {"", "x = " NEST " parameter(2)\n", "x:0 x:1 x:2 x:3 x:4"},
    {"", "x = f32[4] dynamic-update-slice(p, q0, i)\n", "x:0"},
    {SUM,
     "o = s32[1] constant({0})\n w = f32[] constant(1)\n"
     "x = f32[4] scatter(p, o, w), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=sum\n",
     "x:0"},
    {"less { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ln = f32[] parameter(2)\n"
     "lm = f32[] parameter(3)\n ROOT c = pred[] compare(l, m), direction=LT }\n",
     "x = " PAIR_TYPE " sort(p, q0), dimensions={0}, to_apply=less\n", "x:0 x:1 x:2"},
    {F, "x = f32[4] call(p), to_apply=f\n", "x:0"},
    {PAIR_F, "x = " PAIR_TYPE " call(u), to_apply=pf\n", "x:0 x:1 x:2"},
    {COND(PAIR_TYPE) PAIR_F, "x = " PAIR_TYPE " while(u), condition=cond, body=pf\n",
     "x:0 x:1 x:2"},
    {F, "x = f32[4] conditional(i, p), branch_computations={f}\n", "x:0"},
    {F, "x = f32[4] fusion(p), kind=kLoop, calls=f\n", "x:0"},
    {"",
     "x = " PAIR_TYPE " custom-call(p), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{0}: (0, {})}\n",
     "x:0 x:1 x:2"},
    {"", "x = f32[8] all-gather(p), dimensions={0}, " GROUPS "\n", "x:0"},
    {"", "x = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n", "x:0 x:1 x:2"},
    {"",
     "st = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n"
     "x = f32[8] all-gather-done(st)\n",
     "x:0"},
    {SUM, "x = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n", "x:0"},
    {SUM,
     "st = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n"
     "x = f32[4] all-reduce-done(st)\n",
     "x:0"},
    {"", "x = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}}\n",
     "x:0 x:1 x:2"},
    {"",
     "st = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
     "x = f32[4] collective-permute-done(st)\n",
     "x:0"},
    {"", "x = (f32[4], token[]) infeed(tok)\n", "x:0 x:1 x:2"},
    {"", "x = (f32[4], u32[], token[]) recv(tok), channel_id=1\n", "x:0 x:1 x:2 x:3"},
    /* tuples and their elements */
    {"", "x = (f32[4]) tuple(p)\n", "x:0 p:0"},
    {"", "x = () tuple()\n", "x:0"},
    {"", "x = (f32[4], " PAIR_TYPE ") tuple(p, u)\n", "x:0 p:0 u:0 p:0 q0:0"},
    {"", "x = f32[4] get-tuple-element(u), index=1\n", "q0:0"},
    {"", "x = " PAIR_TYPE " get-tuple-element(v), index=0\n", "u:0 p:0 q0:0"},
    {"",
     "y = " PAIR_TYPE " get-tuple-element(v), index=0\n x = f32[4] get-tuple-element(y), index=1\n",
     "q0:0"},
    {"", "w = " NEST " parameter(2)\n x = " PAIR_TYPE " get-tuple-element(w), index=0\n",
     "w:1 w:2 w:3"},
    {"", "w = " NEST " parameter(2)\n x = f32[4] get-tuple-element(w), index=1\n", "w:4"},
    /* what hands on its operand */
    {"", "x = f32[2,2] bitcast(p)\n", "p:0"},
    {"", "y = f32[4,1] bitcast(p)\n x = f32[2,2] bitcast(y)\n", "p:0"},
    {"", "x = f32[4] opt-barrier(p)\n", "p:0"},
    {"", "x = " NEST " opt-barrier(v)\n", "v:0 u:0 p:0 q0:0 p:0"},
    {"", "x = f32[4] add-dependency(p, tok)\n", "p:0"},
    {"",
     "x = f32[4] domain(p), domain={kind=\"sharding\", entry={maximal device=0}, "
     "exit={maximal device=1}}\n",
     "p:0"},
    {"", "x = " NEST " copy(v)\n", "x:0 u:0 p:0 q0:0 p:0"},
    /* fusions with an annotation */
    {F, "x = f32[4] fusion(p), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=f\n",
     "p:0"},
    {"g { gq = " PAIR_TYPE " parameter(0)\n gr = f32[4] parameter(1)\n"
     "g0 = f32[4] get-tuple-element(gq), index=0\n ROOT gt = " PAIR_TYPE " tuple(g0, gr) }\n",
     "x = " PAIR_TYPE " fusion(u, p), kind=kLoop, "
     "output_to_operand_aliasing={{0}: (0, {1}), {1}: (1, {})}, calls=g\n",
     "x:0 q0:0 p:0"},
    /* asynchronous pairs */
    {"", "x = (f32[4], f32[4], u32[]) copy-start(p)\n", "x:0 x:1 p:0 x:3"},
    {"", "st = (f32[4], f32[4], u32[]) copy-start(p)\n x = f32[4] copy-done(st)\n", "st:1"},
    {"", "x = (f32[4], u32[], token[]) send(p, tok), channel_id=1\n", "x:0 p:0 x:2 x:3"},
    {"", "x = (" PAIR_TYPE ", u32[], token[]) send(u, tok), channel_id=1\n",
     "x:0 u:0 p:0 q0:0 x:4 x:5"},
    {"",
     "st = (f32[4], u32[], token[]) recv(tok), channel_id=1\n"
     "x = (f32[4], token[]) recv-done(st), channel_id=1\n",
     "x:0 st:1 x:2"},
    {F,
     "st = ((), (), u32[]) async-start(), calls=f\n"
     "x = ((f32[4]), f32[4], u32[]) async-update(st, p)\n y = f32[4] async-done(x)\n",
     "x:0 x:1 p:0 x:3 x:4"},
    {F, "x = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n", "x:0 x:1 p:0 x:3 x:4"},
    {PAIR_F, "x = ((" PAIR_TYPE "), " PAIR_TYPE ", u32[]) call-start(u), to_apply=pf\n",
     "x:0 x:1 u:0 p:0 q0:0 x:5 x:6 x:7 x:8"},
    {F,
     "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"
     "x = ((f32[4]), f32[4], u32[]) call-update(st)\n",
     "x:0 st:1 p:0 st:3 x:4"},
    {F, "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n x = f32[4] call-done(st)\n",
     "st:3"},
    {PAIR_F,
     "st = ((" PAIR_TYPE "), " PAIR_TYPE ", u32[]) call-start(u), to_apply=pf\n"
     "up = ((" PAIR_TYPE "), " PAIR_TYPE ", u32[]) call-update(st)\n"
     "x = " PAIR_TYPE " call-done(up)\n",
     "st:5 st:6 st:7"},
};

typedef struct Subject {
  Fixture fixture;
  Module *module;
  PointsTo points_to;
} Subject;

static Subject subject_make(const char *comps, const char *insts) {
  Subject subject = {
      .fixture = fixture_parse_format(
          "HloModule m\n%s\nENTRY e {\n%s%sROOT r = f32[] negate(s) }\n", comps, BEFORE_X, insts)};
  subject.module = subject.fixture.module;
  subject.points_to = points_to_build(subject.module, subject.fixture.out, subject.fixture.scratch);
  return subject;
}

START_TEST(parts_match_table) {
  Subject subject = subject_make(rows[_i].comps, rows[_i].insts);
  const PointsTo *points_to = &subject.points_to;
  InstId id = find_inst(subject.module, "x");
  const char *text = NULL;
  uint32_t num_defined = 0;
  for (uint32_t part = 0; part < inst_shape(subject.module, id)->num_parts; part++) {
    LogicalBuffer buffer = points_to->buffers.data[points_to_part(points_to, id, part)];
    Str name = inst_name(subject.module, buffer.inst);
    text_add(subject.fixture.out, &text, "%.*s:%u", (int)name.len, name.data, buffer.part);
    if (buffer.inst != id) continue;
    ck_assert_uint_eq(buffer.part, part);
    ck_assert_uint_eq(points_to->first_buffer[id] + num_defined++,
                      points_to_part(points_to, id, part));
  }
  check_text(text, rows[_i].parts, rows[_i].insts);
  ck_assert_uint_eq(points_to->num_defined[id], num_defined);
  fixture_free(&subject.fixture);
}
END_TEST

START_TEST(buffers_have_place_and_size) {
  Subject subject = subject_make("", "x = (f32[4], (s8[3], (pred[]))) parameter(2)\n");
  InstId id = find_inst(subject.module, "x");
  static const struct {
    uint32_t depth;
    int64_t bytes;
  } wanted[] = {{0, 16}, {1, 16}, {1, 16}, {2, 3}, {2, 8}, {3, 1}};
  ck_assert_uint_eq(subject.points_to.num_defined[id], 6);
  for (uint32_t part = 0; part < 6; part++) {
    LogicalBuffer buffer =
        subject.points_to.buffers.data[subject.points_to.first_buffer[id] + part];
    ck_assert_uint_eq(buffer.part, part);
    ck_assert_uint_eq(buffer.depth, wanted[part].depth);
    ck_assert_int_eq(buffer.bytes, wanted[part].bytes);
    ck_assert_uint_eq(buffer.shape, shape_part(&subject.module->shapes,
                                               inst_get(subject.module, id)->shape, part));
  }
  fixture_free(&subject.fixture);
}
END_TEST

/* Everything that is the buffer, by instruction in the order of the text. */
START_TEST(aliases_are_collected) {
  Subject subject = subject_make("", "w = f32[4] get-tuple-element(u), index=0\n c = " NEST
                                     " copy(v)\n"
                                     "b = f32[2,2] bitcast(w)\n x = " NEST " opt-barrier(c)\n");
  const PointsTo *points_to = &subject.points_to;
  LogicalId buffer = points_to_part(points_to, find_inst(subject.module, "p"), 0);
  const char *text = NULL;
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    Str name = inst_name(subject.module, alias.inst);
    text_add(subject.fixture.out, &text, "%.*s:%u", (int)name.len, name.data, alias.part);
  }
  check_text(text, "p:0 u:1 v:2 v:4 w:0 c:2 c:4 b:0 x:2 x:4", "aliases of p");
  fixture_free(&subject.fixture);
}
END_TEST

#define TWO(name, insts) \
  name " { " name "0 = f32[4] parameter(0)\n " name "1 = " PAIR_TYPE " parameter(1)\n" insts "}\n"

/* Whether `x` leaves alone the part of its operand. */
static const struct {
  const char *name, *comps, *insts, *operand;
  uint32_t part;
  bool is_unused;
} unused_rows[] = {
    {"an operation", "", "x = f32[4] abs(p)\n", "p", 0, false},
    {"an element: the table", "", "x = f32[4] get-tuple-element(u), index=0\n", "u", 0, false},
    {"an element: what it takes", "", "x = f32[4] get-tuple-element(u), index=0\n", "u", 1, true},
    {"an element: what it leaves", "", "x = f32[4] get-tuple-element(u), index=0\n", "u", 2, true},
    {"a tuple", "", "x = (" PAIR_TYPE ") tuple(u)\n", "u", 1, false},
    {"a barrier", "", "x = " PAIR_TYPE " opt-barrier(u)\n", "u", 1, false},
    {"a loop fusion that reads it", TWO("g", "ROOT ga = f32[4] abs(g0)\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "p", 0, false},
    {"a loop fusion that does not", TWO("g", "ROOT ga = f32[4] abs(g0)\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "u", 0, true},
    {"a loop fusion that takes an element: the table",
     TWO("g", "ROOT ga = f32[4] get-tuple-element(g1), index=0\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "u", 0, false},
    {"a loop fusion that takes an element and returns it",
     TWO("g", "ROOT ga = f32[4] get-tuple-element(g1), index=0\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "u", 1, true},
    {"a loop fusion that reads one element",
     TWO("g", "ge = f32[4] get-tuple-element(g1), index=0\n ROOT ga = f32[4] abs(ge)\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "u", 1, false},
    {"and leaves the other",
     TWO("g", "ge = f32[4] get-tuple-element(g1), index=0\n ROOT ga = f32[4] abs(ge)\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "u", 2, true},
    {"through a bitcast", TWO("g", "gb = f32[2,2] bitcast(g0)\n ROOT ga = f32[2,2] abs(gb)\n"),
     "x = f32[2,2] fusion(p, u), kind=kLoop, calls=g\n", "p", 0, false},
    {"other fusions are not looked into", TWO("g", "ROOT ga = f32[4] abs(g0)\n"),
     "x = f32[4] fusion(p, u), kind=kInput, calls=g\n", "u", 0, false},
    {"an operand twice: the first parameter counts",
     "h { h0 = f32[4] parameter(0)\n h1 = f32[4] parameter(1)\n ROOT ha = f32[4] abs(h1) }\n",
     "x = f32[4] fusion(p, p), kind=kLoop, calls=h\n", "p", 0, true},
    {"a fusion in a fusion reads", F TWO("g", "ROOT ga = f32[4] fusion(g0), kind=kLoop, calls=f\n"),
     "x = f32[4] fusion(p, u), kind=kLoop, calls=g\n", "p", 0, false},
};

START_TEST(unused_matches_table) {
  Subject subject = subject_make(unused_rows[_i].comps, unused_rows[_i].insts);
  bool is_unused = points_to_is_unused_by(subject.module, &subject.points_to,
                                          find_inst(subject.module, unused_rows[_i].operand),
                                          unused_rows[_i].part, find_inst(subject.module, "x"));
  ck_assert_msg(is_unused == unused_rows[_i].is_unused, "%s", unused_rows[_i].name);
  fixture_free(&subject.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("points_to");
  TCase *tc = tcase_create("points_to");
  tcase_add_loop_test(tc, parts_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, buffers_have_place_and_size);
  tcase_add_test(tc, aliases_are_collected);
  tcase_add_loop_test(tc, unused_matches_table, 0, sizeof unused_rows / sizeof *unused_rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
