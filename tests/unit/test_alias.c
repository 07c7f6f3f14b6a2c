#include "analysis/flow/alias.h"

#include "support.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define F "f { q = f32[4] parameter(0)\n ROOT fa = f32[4] abs(q) }\n"
#define ID "id { ROOT iq = f32[4] parameter(0) }\n"
#define PAIR "(f32[4], f32[4])"
#define COND(type) "cond { cp = " type " parameter(0)\n ROOT ct = pred[] constant(true) }\n"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"
#define GROUPS "replica_groups={{0,1}}"
#define SCATTER                                                                           \
  ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, " \
  "index_vector_dim=0, to_apply="

#define BEFORE_X                                                                              \
  "p = f32[4] parameter(0)\n p1 = f32[4] parameter(1)\n d = f32[2] parameter(2)\n"            \
  "z = f32[] constant(0)\n i = s32[] constant(0)\n a = f32[4] abs(p)\n b = f32[4] sine(p1)\n" \
  "u = " PAIR " tuple(a, b)\n o = s32[1] constant({0})\n w = f32[1] constant({1})\n"

typedef struct Subject {
  Fixture fixture;
  Module *module;
  CallGraph graph;
  Dataflow flow;
} Subject;

static Subject subject_make(const char *header, const char *comps, const char *insts) {
  Subject subject = {.fixture = fixture_parse_format("HloModule m%s\n%s\nENTRY e {\n%s%s}\n",
                                                     header, comps, BEFORE_X, insts)};
  subject.module = subject.fixture.module;
  Arena *out = subject.fixture.out, *scratch = subject.fixture.scratch;
  subject.graph = call_graph_build(subject.module, out, scratch);
  subject.flow = dataflow_build(subject.module, &subject.graph, out, scratch);
  return subject;
}

/* ---- values that must share ---- */

#define ROOT_A "ROOT r = f32[4] add(a, b)\n"

static const struct {
  const char *name, *header, *comps, *insts;
  const char *shared; /* the buffers of several values */
} rows[] = {
    {"nothing", "", "", ROOT_A, ""},
    {"a copy", "", "", "x = f32[4] copy(a)\n" ROOT_A, ""},
    /* inputs and outputs */
    {"a donated parameter", ", input_output_alias={ {}: (0, {}, must-alias) }", "", ROOT_A,
     "{p:0 r:0}"},
    {"may is as must", ", input_output_alias={ {}: (1, {}, may-alias) }", "", ROOT_A, "{p1:0 r:0}"},
    {"elements of the output", ", input_output_alias={ {0}: (1, {}), {1}: (0, {}) }", "",
     "ROOT r = " PAIR " tuple(a, b)\n", "{p:0 b:0} {a:0 p1:0}"},
    {"the parameter itself", ", input_output_alias={ {0}: (0, {}) }", "",
     "ROOT r = " PAIR " tuple(p, b)\n", ""},
    {"contexts of an async-update", "", F,
     "st = ((), (), (f32[8], f32[8])) async-start(), calls=f\n"
     "x = ((f32[4]), f32[4], (f32[8], f32[8])) async-update(st, a), "
     "output_to_operand_aliasing={{2,1}: (0, {2,1})}\n ROOT y = f32[4] async-done(x)\n",
     "{st:5 x:6}"},
    /* loops and conditionals */
    {"a loop", "", F COND("f32[4]"), "ROOT x = f32[4] while(a), condition=cond, body=f\n",
     "{fa:0 a:0 q:0* cp:0* x:0*}"},
    {"a loop that leaves its state alone", "", ID COND("f32[4]"),
     "ROOT x = f32[4] while(a), condition=cond, body=id\n", ""},
    {"a loop over a tuple, part by part", "",
     "body { bp = " PAIR " parameter(0)\n" GTE("b0", "bp", "0") GTE(
         "b1", "bp", "1") "bs = f32[4] sine(b1)\n ROOT bt = " PAIR " tuple(b0, bs) }\n" COND(PAIR),
     "ROOT x = " PAIR " while(u), condition=cond, body=body\n",
     "{bs:0 b:0 bp:2* cp:2* x:2*} {bt:0 u:0 bp:0* cp:0* x:0*}"},
    {"a loop that exchanges", "",
     "body { bp = " PAIR " parameter(0)\n" GTE("b0", "bp", "0")
         GTE("b1", "bp", "1") "ROOT bt = " PAIR " tuple(b1, b0) }\n" COND(PAIR),
     "ROOT x = " PAIR " while(u), condition=cond, body=body\n",
     "{bt:0 u:0 bp:0* cp:0* x:0*} {a:0 b:0 bp:1* bp:2* cp:1* cp:2* x:1* x:2*}"},
    {"a conditional", "", F "g { gq = f32[4] parameter(0)\n ROOT gs = f32[4] sine(gq) }\n",
     "ROOT x = f32[4] conditional(i, a, b), branch_computations={f, g}\n", "{fa:0 gs:0 x:0*}"},
    {"a call shares nothing more", "", F, "ROOT x = f32[4] call(a), to_apply=f\n", ""},
    /* in place */
    {"dynamic-update-slice", "", "", "ROOT x = f32[4] dynamic-update-slice(a, w, i)\n",
     "{a:0 x:0}"},
    {"two in a row", "", "",
     "y = f32[4] dynamic-update-slice(a, w, i)\n ROOT x = f32[4] dynamic-update-slice(y, w, i)\n",
     "{a:0 y:0 x:0}"},
    {"a fusion around it", "",
     "df { d0 = f32[4] parameter(0)\n d1 = f32[1] parameter(1)\n d2 = s32[] parameter(2)\n"
     "ROOT dr = f32[4] dynamic-update-slice(d0, d1, d2) }\n",
     "ROOT x = f32[4] fusion(a, w, i), kind=kLoop, calls=df\n", "{a:0 x:0}"},
    {"a custom call's annotation", "", "",
     "ROOT x = f32[4] custom-call(b, a), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{}: (1, {})}\n",
     "{a:0 x:0}"},
    {"all in one: donated, updated in a loop", ", input_output_alias={ {}: (0, {}) }",
     "lf { lp = f32[4] parameter(0)\n lw = f32[1] constant({1})\n li = s32[] constant(0)\n"
     "ROOT lr = f32[4] dynamic-update-slice(lp, lw, li) }\n" COND("f32[4]"),
     "ROOT x = f32[4] while(p), condition=cond, body=lf\n", "{lr:0 p:0 lp:0* cp:0* x:0*}"},
};

START_TEST(shared_buffers_match_table) {
  Subject subject = subject_make(rows[_i].header, rows[_i].comps, rows[_i].insts);
  Arena *out = subject.fixture.out;
  HloBuffers buffers =
      hlo_buffers_build(subject.module, &subject.flow, out, subject.fixture.scratch);
  const char *text = "";
  for (BufferId id = 0; id < buffers.num_buffers; id++) {
    uint32_t begin = buffers.first_value[id], end = buffers.first_value[id + 1];
    const char *group = "";
    for (uint32_t i = begin; i < end; i++) {
      ck_assert_uint_eq(buffers.of[buffers.values[i]], id);
      HloValue value = subject.flow.values.data[buffers.values[i]];
      Str name = inst_name(subject.module, value.inst);
      text_add(out, &group, "%.*s:%u%s", (int)name.len, name.data, value.part,
               value.is_phi ? "*" : "");
    }
    if (end - begin > 1) text_add(out, &text, "{%s}", group);
  }
  check_text(text, rows[_i].shared, rows[_i].name);
  ck_assert_uint_eq(buffers.first_value[buffers.num_buffers], subject.flow.values.len);
  fixture_free(&subject.fixture);
}
END_TEST

/* ---- operations in place ---- */

#define D0_D1 "d0 = f32[4] parameter(0)\n d1 = f32[1] parameter(1)\n d2 = s32[] parameter(2)\n"
#define DUS(name, operand) name " = f32[4] dynamic-update-slice(" operand ", d1, d2)\n"
#define IN_FUSION(insts) "df { " D0_D1 insts "}\n"
#define X_FUSION "x = f32[4] fusion(a, w, i), kind=kLoop, calls=df\n"

static const struct {
  const char *comps, *insts, *pairs; /* operand:part->part */
} pair_rows[] = {
    {"", "x = f32[4] add(a, b)\n", ""},
    {"", "x = f32[4] dynamic-update-slice(a, w, i)\n", "0:0->0"},
    {"", "x = f32[<=4] set-dimension-size(a, i), dimensions={0}\n", "0:0->0"},
    {SUM, "x = f32[4] scatter(a, o, w)" SCATTER "sum\n", "0:0->0"},
    {"sum2 { l = f32[] parameter(0)\n m = f32[] parameter(1)\n l2 = f32[] parameter(2)\n"
     "m2 = f32[] parameter(3)\n ROOT t = (f32[], f32[]) tuple(l2, m2) }\n",
     "x = " PAIR " scatter(a, b, o, w, w)" SCATTER "sum2\n", "0:0->1 1:0->2"},
    {SUM, "x = f32[4] all-reduce(a), " GROUPS ", to_apply=sum\n", ""},
    {SUM, "x = f32[4] all-reduce-start(a), " GROUPS ", to_apply=sum\n", "0:0->0"},
    {SUM, "x = " PAIR " all-reduce-start(a, b), " GROUPS ", to_apply=sum\n", "0:0->1 1:0->2"},
    {"", "x = f32[4] collective-permute(a), source_target_pairs={{0,1}}\n", ""},
    {"", "x = (f32[4], f32[4]) collective-permute-start(a), source_target_pairs={{0,1}}\n", ""},
    {"",
     "ti = (s32[]) tuple(i)\n x = f32[4] collective-permute(a, b, ti, ti), "
     "source_target_pairs={{0,1}}, slice_sizes={{4}}\n",
     "1:0->0"},
    {"",
     "ti = (s32[]) tuple(i)\n x = f32[4] collective-permute(a, b, ti, ti), "
     "source_target_pairs={{0,1}}\n",
     ""},
    {"", "x = f32[4] custom-call(a), custom_call_target=\"f\"\n", ""},
    {"",
     "x = " PAIR " custom-call(a, u), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{1}: (1, {0}), {0}: (0, {})}\n",
     "1:1->2 0:0->1"},
    {"", "x = f32[4] copy(a)\n", ""},
    /* fusions: back from the result to a parameter */
    {IN_FUSION("ROOT " DUS("dr", "d0")), X_FUSION, "0:0->0"},
    {IN_FUSION("db = f32[4] abs(d0)\n ROOT " DUS("dr", "db")), X_FUSION, ""},
    {IN_FUSION("db = f32[4] bitcast(d0)\n" DUS("dd", "db") "ROOT dr = f32[4] bitcast(dd)\n"),
     X_FUSION, "0:0->0"},
    {IN_FUSION(DUS("dd", "d0") "ROOT dr = f32[4] abs(dd)\n"), X_FUSION, ""},
    {IN_FUSION(DUS("dd", "d0") "ds = f32[4] abs(d0)\n ROOT dt = " PAIR " tuple(ds, dd)\n"),
     "x = " PAIR " fusion(a, w, i), kind=kLoop, calls=df\n", "0:0->2"},
    {IN_FUSION(DUS("dd", "d0") "dt = " PAIR " tuple(d0, dd)\n ROOT " GTE("dg", "dt", "1")),
     X_FUSION, ""},
    {"df { d0 = " PAIR " parameter(0)\n d1 = f32[1] parameter(1)\n d2 = s32[] parameter(2)\n" GTE(
         "dg", "d0", "1") "ROOT " DUS("dr", "dg") "}\n",
     "x = f32[4] fusion(u, w, i), kind=kLoop, calls=df\n", "0:2->0"},
    {F, "x = f32[4] fusion(a), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=f\n",
     "0:0->0"},
    {IN_FUSION("ROOT " DUS("dr", "d0")) "ng { n0 = f32[4] parameter(0)\n n1 = f32[1] parameter(1)\n"
                                        "n2 = s32[] parameter(2)\n ROOT nr = f32[4] fusion(n0, n1, "
                                        "n2), kind=kLoop, calls=df }\n",
     "x = f32[4] fusion(a, w, i), kind=kLoop, calls=ng\n", "0:0->0"},
};

START_TEST(in_place_pairs_match_table) {
  Subject subject = subject_make("", pair_rows[_i].comps, pair_rows[_i].insts);
  Arena *arena = subject.fixture.out;
  InPlacePairs pairs = {0};
  in_place_pairs(subject.module, find_inst(subject.module, "x"), &pairs, arena);
  const char *text = "";
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    InPlacePair pair = pairs.list.data[i];
    text_add(arena, &text, "%u:%u->%u", pair.operand, pair.operand_part, pair.output_part);
  }
  check_text(text, pair_rows[_i].pairs, pair_rows[_i].insts);
  fixture_free(&subject.fixture);
}
END_TEST

/* ---- operands whose memory a result may have ---- */

#define FUSED(kind, insts)                                                  \
  "ff { f0 = f32[4] parameter(0)\n f1 = f32[4] parameter(1)\n" insts "}\n", \
      "x = f32[4] fusion(a, b), kind=" kind ", calls=ff\n"

static const struct {
  bool can_share;
  const char *operand;
  uint32_t operand_part, user_part;
  const char *comps, *insts;
} share_rows[] = {
    /* elementwise operations of the same shape */
    {true, "a", 0, 0, "", "x = f32[4] sine(a)\n"},
    {true, "b", 0, 0, "", "x = f32[4] add(a, b)\n"},
    {true, "a", 0, 0, "", "x = f32[4] copy(a)\n"},
    {true, "a", 0, 0, "", "x = f32[4] clamp(a, b, a)\n"},
    {false, "a", 0, 0, "", "x = f64[4] convert(a)\n"},
    {false, "a", 0, 0, "", "x = f32[4]{0:T(8)} abs(a)\n"},
    {true, "a", 0, 0, "", "y = s32[4] bitcast-convert(a)\n x = f32[4] sine(a)\n"},
    {false, "a", 0, 0, "", "x = f32[4] transpose(a), dimensions={0}\n"},
    {false, "a", 0, 0, "", "x = f32[4] reshape(a)\n"},
    {false, "a", 0, 0, "", "x = f32[4] broadcast(a), dimensions={0}\n"},
    {false, "a", 0, 0, "", "x = f32[4] reverse(a), dimensions={0}\n"},
    {false, "a", 0, 0, "", "x = f32[4] concatenate(a), dimensions={0}\n"},
    {false, "a", 0, 0, "", "x = f32[4] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}\n"},
    {true, "a", 0, 0,
     "g { gl = f32[] parameter(0)\n gm = f32[] parameter(1)\n ROOT gs = f32[] add(gl, gm) }\n",
     "x = f32[4] map(a, b), dimensions={0}, to_apply=g\n"},
    /* constants are never written */
    {false, "c", 0, 0, "", "c = f32[4] constant({1,2,3,4})\n x = f32[4] add(c, a)\n"},
    /* in place, and what else may be */
    {true, "a", 0, 0, "", "x = f32[4] dynamic-update-slice(a, w, i)\n"},
    {false, "b", 0, 0, "", "x = f32[4] dynamic-update-slice(a, b, i)\n"},
    {true, "a", 0, 0, SUM, "x = f32[4] scatter(a, o, w)" SCATTER "sum\n"},
    {true, "a", 0, 0, F COND("f32[4]"), "x = f32[4] while(a), condition=cond, body=f\n"},
    {true, "a", 0, 0, F, "x = f32[4] conditional(i, a), branch_computations={f}\n"},
    {true, "a", 0, 0, F, "x = f32[4] call(a), to_apply=f\n"},
    {false, "a", 0, 0, F, "x = f32[4] call(a), to_apply=f\n y = f32[4] sine(a)\n"},
    {false, "a", 0, 0,
     "f { q = f32[4] parameter(0)\n ROOT fa = f32[4] reverse(q), dimensions={0} }\n",
     "x = f32[4] call(a), to_apply=f\n"},
    /* sort */
    {true, "y", 0, 0,
     "less { l = f32[] parameter(0)\n m = f32[] parameter(1)\n"
     "ROOT c = pred[] compare(l, m), direction=LT }\n",
     "y = f32[4] abs(a)\n x = f32[4] sort(y), dimensions={0}, to_apply=less\n"},
    {false, "y", 0, 0,
     "less { l = f32[] parameter(0)\n m = f32[] parameter(1)\n"
     "ROOT c = pred[] compare(l, m), direction=LT }\n",
     "y = f32[4] abs(a)\n x = f32[4] sort(y), dimensions={0}, to_apply=less\n v = f32[4] "
     "sine(y)\n"},
    {true, "y", 0, 1,
     "less { l = f32[] parameter(0)\n m = f32[] parameter(1)\n"
     "l2 = f32[] parameter(2)\n m2 = f32[] parameter(3)\n"
     "ROOT c = pred[] compare(l, m), direction=LT }\n",
     "y = f32[4] abs(a)\n x = " PAIR " sort(y, b), dimensions={0}, to_apply=less\n"},
    {false, "y", 0, 2,
     "less { l = f32[] parameter(0)\n m = f32[] parameter(1)\n"
     "l2 = f32[] parameter(2)\n m2 = f32[] parameter(3)\n"
     "ROOT c = pred[] compare(l, m), direction=LT }\n",
     "y = f32[4] abs(a)\n x = " PAIR " sort(y, b), dimensions={0}, to_apply=less\n"},
    /* triangular-solve: the right-hand side only */
    {false, "y", 0, 0, "",
     "y = f32[2,2] bitcast(a)\n v = f32[2,2] bitcast(b)\n"
     "x = f32[2,2] triangular-solve(y, v), left_side=true, lower=true, "
     "transpose_a=NO_TRANSPOSE\n"},
    {true, "v", 0, 0, "",
     "y = f32[2,2] bitcast(a)\n v = f32[2,2] bitcast(b)\n"
     "x = f32[2,2] triangular-solve(y, v), left_side=true, lower=true, "
     "transpose_a=NO_TRANSPOSE\n"},
    /* fusions: loop and input fusions need elementwise uses all the way */
    {true, "a", 0, 0, FUSED("kLoop", "fs = f32[4] sine(f0)\n ROOT fr = f32[4] add(fs, f1)\n")},
    {true, "a", 0, 0, FUSED("kInput", "fs = f32[4] sine(f0)\n ROOT fr = f32[4] add(fs, f1)\n")},
    {false, "a", 0, 0,
     FUSED("kLoop",
           "fs = f32[4] reverse(f0), dimensions={0}\n"
           "ROOT fr = f32[4] add(fs, f1)\n")},
    {true, "b", 0, 0,
     FUSED("kLoop",
           "fs = f32[4] reverse(f0), dimensions={0}\n"
           "ROOT fr = f32[4] add(fs, f1)\n")},
    {false, "a", 0, 0,
     FUSED("kLoop",
           "fs = f32[4] sine(f0)\n fv = f32[4] reverse(fs), dimensions={0}\n"
           "ROOT fr = f32[4] add(fv, f1)\n")},
    {false, "a", 0, 0,
     FUSED("kLoop",
           "fv = f32[4] reverse(f0), dimensions={0}\n"
           "ft = f32[4] tanh(f0)\n ROOT fr = f32[4] add(ft, fv)\n")},
    {true, "a", 0, 0, FUSED("kLoop", "ROOT fr = f32[4] abs(f1)\n")},
    /* output fusions: what is added to a product */
    {true, "b", 0, 0,
     FUSED("kOutput",
           "fd = f32[4] dot(f0, f0), lhs_batch_dims={0}, rhs_batch_dims={0}\n"
           "ROOT fr = f32[4] add(fd, f1)\n")},
    {true, "b", 0, 0,
     FUSED("kOutput",
           "fd = f32[4] dot(f0, f0), lhs_batch_dims={0}, rhs_batch_dims={0}\n"
           "ROOT fr = f32[4] add(f1, fd)\n")},
    {false, "a", 0, 0,
     FUSED("kOutput",
           "fd = f32[4] dot(f0, f0), lhs_batch_dims={0}, rhs_batch_dims={0}\n"
           "ROOT fr = f32[4] add(fd, f1)\n")},
    {false, "b", 0, 0,
     FUSED("kOutput",
           "fd = f32[4] dot(f0, f1), lhs_batch_dims={0}, rhs_batch_dims={0}\n"
           "ROOT fr = f32[4] add(fd, f1)\n")},
    {false, "b", 0, 0, FUSED("kOutput", "fd = f32[4] abs(f0)\n ROOT fr = f32[4] add(fd, f1)\n")},
    {true, "b", 0, 0,
     "g { g0 = f32[4] parameter(0)\n g1 = f32[4] parameter(1)\n ROOT gr = f32[4] add(g0, g1) "
     "}\n" FUSED("kLoop", "ROOT fr = f32[4] fusion(f0, f1), kind=kLoop, calls=g\n")},
    {false, "b", 0, 0,
     "g { g0 = f32[4] parameter(0)\n g1 = f32[4] parameter(1)\n"
     "gs = f32[4] reverse(g1), dimensions={0}\n ROOT gr = f32[4] add(g0, gs) }\n" FUSED(
         "kLoop", "ROOT fr = f32[4] fusion(f0, f1), kind=kLoop, calls=g\n")},
    /* other fusions: elementwise all the way from the operand, whatever the others are */
    {true, "a", 0, 0, FUSED("kCustom", "fs = f32[4] sine(f0)\n ROOT fr = f32[4] add(fs, f1)\n")},
    {true, "b", 0, 0,
     FUSED("kCustom",
           "fs = f32[4] reverse(f0), dimensions={0}\n ROOT fr = f32[4] multiply(fs, f1)\n")},
    {false, "a", 0, 0,
     FUSED("kCustom",
           "fs = f32[4] reverse(f0), dimensions={0}\n ROOT fr = f32[4] multiply(fs, f1)\n")},
    {true, "b", 0, 0,
     FUSED("kOutput",
           "fs = f32[4] reverse(f0), dimensions={0}\n ROOT fr = f32[4] multiply(fs, f1)\n")},
};

START_TEST(can_share_matches_table) {
  Subject subject = subject_make("", share_rows[_i].comps, share_rows[_i].insts);
  bool can_share = can_share_operand_buffer(
      subject.module, &subject.flow, find_inst(subject.module, share_rows[_i].operand),
      share_rows[_i].operand_part, find_inst(subject.module, "x"), share_rows[_i].user_part,
      subject.fixture.scratch);
  ck_assert_msg(can_share == share_rows[_i].can_share, "%s of%s%s", share_rows[_i].operand,
                share_rows[_i].comps, share_rows[_i].insts);
  fixture_free(&subject.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("alias");
  TCase *tc = tcase_create("alias");
  tcase_add_loop_test(tc, shared_buffers_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, in_place_pairs_match_table, 0, sizeof pair_rows / sizeof *pair_rows);
  tcase_add_loop_test(tc, can_share_matches_table, 0, sizeof share_rows / sizeof *share_rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
