#include "support.h"

#include <stdlib.h>

/* The modules and figures of XLA's own tests (hlo_rematerialization_test.cc): what the tests
 * assert, and the peaks that follow from XLA's rules. */

#define K 1024

/* Recomputing pays: `bcast` waits while the larger `concat1` is computed. */
#define CONCATS CONCATS_WITH("", "")
#define CONCATS_WITH(negate_deps, slice_deps)                         \
  "reshape = f32[] reshape(p)\n"                                      \
  "bcast = f32[1024] broadcast(reshape), dimensions={}\n"             \
  "negate = f32[1024] negate(bcast)" negate_deps                      \
  "\n"                                                                \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}" slice_deps          \
  "\n"                                                                \
  "concat2 = f32[1025] concatenate(bcast, slice1), dimensions={0}\n"  \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define P1 "p = f32[1] parameter(0)\n"
#define BODY "body { " P1 CONCATS "}\n"
#define COND(name) name " { p = f32[1] parameter(0)\n ROOT c = pred[] constant(true) }\n"

/* The same with a loop instead of `concat1`. */
#define AROUND_LOOP(s, cond, body)                                         \
  "reshape." s                                                             \
  " = f32[] reshape(p)\n"                                                  \
  "bcast." s " = f32[1024] broadcast(reshape." s                           \
  "), dimensions={}\n"                                                     \
  "slice." s " = f32[1] slice(bcast." s                                    \
  "), slice={[0:1]}\n"                                                     \
  "loop." s " = f32[1] while(slice." s "), condition=" cond ", body=" body \
  "\n"                                                                     \
  "concat." s " = f32[1025] concatenate(bcast." s ", loop." s              \
  "), dimensions={0}\n"                                                    \
  "ROOT root." s " = f32[1] slice(concat." s "), slice={[0:1]}\n"

#define DOUBLING                                          \
  "double { d = f32[1024] parameter(0)\n"                 \
  "twice = f32[2048] concatenate(d, d), dimensions={0}\n" \
  "ROOT half = f32[1024] slice(twice), slice={[0:1024]} }\n"

#define TWO_RESULTS                                                  \
  "two { q0 = f32[] parameter(0)\n q1 = f32[] parameter(1)\n"        \
  "x = f32[1024] broadcast(q0), dimensions={}\n"                     \
  "y = f32[1024] broadcast(q1), dimensions={}\n"                     \
  "sum = f32[1024] add(x, y)\n product = f32[1024] multiply(x, y)\n" \
  "ROOT both = (f32[1024], f32[1024]) tuple(sum, product) }\n"
#define TWO_PARAMS "a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
#define FUSION "fus = (f32[1024], f32[1024]) fusion(a, b), kind=kLoop, calls=two\n"
#define GTE(name, tuple, index) name " = f32[1024] get-tuple-element(" tuple "), index=" index "\n"

#define INDIRECT(index)                                     \
  "p = f32[] parameter(0)\n"                                \
  "bcast = f32[1024] broadcast(p), dimensions={}\n"         \
  "add1 = f32[1024] add(bcast, bcast)\n"                    \
  "call = f32[1024] call(add1), to_apply=double\n"          \
  "add2 = f32[1024] add(bcast, call)\n"                     \
  "pair = (f32[1024], f32[1024]) tuple(bcast, add2)\n" GTE( \
      "taken", "pair", index) "ROOT root = f32[1024] negate(taken)\n"

#define CALLS_THREE_DEEP                                                                         \
  "convoluted {\n"                                                                               \
  "constant_source_8 = f32[] constant(8)\n"                                                      \
  "constant_source_8_user = f32[1024] broadcast(constant_source_8), dimensions={}\n"             \
  "param_0 = f32[1024] parameter(0)\n param_1 = f32[1024] parameter(1)\n"                        \
  "res_param_add = f32[1024] add(param_0, param_1)\n"                                            \
  "one = f32[] constant(1)\n constant_0 = f32[16384] broadcast(one), dimensions={}\n"            \
  "op_1 = f32[16384] tanh(constant_0)\n op_2 = f32[16384] tanh(op_1)\n"                          \
  "op_3 = f32[16384] tanh(op_2)\n op_4 = f32[16384] tanh(op_3)\n"                                \
  "tan_res = f32[1024] slice(op_4), slice={[0:1024]}\n"                                          \
  "res_1 = f32[1024] add(res_param_add, tan_res)\n"                                              \
  "res_3 = f32[1024] add(constant_source_8_user, res_1)\n"                                       \
  "constant_x = f32[1024] broadcast(constant_source_8), dimensions={}\n"                         \
  "constant_x_sum = f32[1024] add(constant_x, res_param_add)\n"                                  \
  "ROOT result = f32[1024] add(res_3, constant_x_sum) }\n"                                       \
  "middle { m0 = f32[1024] parameter(0)\n m1 = f32[1024] parameter(1)\n"                         \
  "called = f32[1024] call(m0, m1), to_apply=convoluted\n ROOT n = f32[1024] negate(called) }\n" \
  "add_mul { p0 = f32[] parameter(0)\n p1 = f32[] parameter(1)\n"                                \
  "p0_bcast = f32[1024] broadcast(p0), dimensions={}\n"                                          \
  "p1_bcast = f32[1024] broadcast(p1), dimensions={}\n"                                          \
  "res_comp = f32[1024] call(p0_bcast, p1_bcast), to_apply=middle\n"                             \
  "ROOT res_mul = f32[1024] multiply(res_comp, res_comp) }\n"

#define CUSTOM_CALL_INSIDE                                                    \
  "custom { c0 = f32[1024] parameter(0)\n ROOT c1 = f32[1024] negate(c0) }\n" \
  "two { q0 = f32[] parameter(0)\n q1 = f32[] parameter(1)\n"                 \
  "x = f32[1024] broadcast(q0), dimensions={}\n"                              \
  "y = f32[1024] broadcast(q1), dimensions={}\n"                              \
  "sum = f32[1024] add(x, y)\n product = f32[1024] multiply(x, y)\n"          \
  "calling = f32[1024] custom-call(product), custom_call_target=\"f\", "      \
  "called_computations={custom}\n"                                            \
  "ROOT both = (f32[1024], f32[1024]) tuple(sum, calling) }\n"

typedef struct Row {
  const char *name, *comps, *body;
  RematSetup setup;
  int64_t before_bytes;
  /* XLA's figure after the pass: its running maximum, with dead code not yet removed */
  int64_t reported_bytes;
  int64_t after_bytes;
  uint64_t num_steps;
  const char *comp[4]; /* the sequences of these computations after the pass */
  const char *names[4];
} Row;

static const Row rows[] = {
    {"one computation",
     "",
     P1 CONCATS,
     {.limit_bytes = 14 * K, .scheduler = "default"},
     16388,
     12296,
     12296,
     1,
     {"e"},
     {"p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"}},
    {"all below the minimum size",
     "",
     P1 CONCATS,
     {.limit_bytes = 14 * K, .min_remat_bytes = 14 * K, .scheduler = "default"},
     16388,
     16388,
     16388,
     0,
     {"e"},
     {"p reshape bcast negate concat1 slice1 concat2 ROOT root"}},
    {"within the limit",
     "",
     P1 CONCATS,
     {.limit_bytes = 20 * K, .scheduler = "default"},
     16388,
     16388,
     16388,
     0,
     {"e"},
     {"p reshape bcast negate concat1 slice1 concat2 ROOT root"}},
    {"around a loop",
     BODY COND("cond"),
     P1 AROUND_LOOP("w", "cond", "body"),
     {.limit_bytes = 17 * K, .scheduler = "default"},
     20488,
     16396,
     16396,
     1,
     {"e", "body"},
     {"p reshape.w bcast.w slice.w loop.w bcast.w.remat concat.w ROOT root.w",
      "p reshape bcast negate concat1 slice1 concat2 ROOT root"}},
    {"around and inside a loop",
     BODY COND("cond"),
     P1 AROUND_LOOP("w", "cond", "body"),
     {.limit_bytes = 15 * K, .scheduler = "default"},
     20488,
     12300,
     12300,
     3,
     {"e", "body"},
     {"p reshape.w bcast.w slice.w loop.w reshape.w.remat bcast.w.remat concat.w ROOT root.w",
      "p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"}},
    {"loop in a loop",
     BODY COND("cond") COND("cond2") "middle { " P1 AROUND_LOOP("m", "cond", "body") "}\n",
     P1 AROUND_LOOP("w", "cond2", "middle"),
     {.limit_bytes = 13 * K, .scheduler = "default"},
     24588,
     12304,
     12304,
     5,
     {"e", "middle", "body"},
     {"p reshape.w bcast.w slice.w loop.w reshape.w.remat bcast.w.remat concat.w ROOT root.w",
      "p reshape.m bcast.m slice.m loop.m reshape.m.remat bcast.m.remat concat.m ROOT root.m",
      "p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"}},
    {"random numbers are drawn once",
     "",
     "p = f32[] parameter(0)\n rng = f32[1024] rng(p, p), distribution=rng_uniform\n"
     "tanh = f32[1024] tanh(rng)\n exp = f32[1024] exponential(rng)\n"
     "add0 = f32[1024] add(rng, tanh)\n with.exp = f32[1024] add(exp, add0)\n"
     "add1 = f32[1024] add(rng, with.exp)\n with.tanh = f32[1024] add(tanh, add1)\n"
     "ROOT add2 = f32[1024] add(rng, with.tanh)\n",
     {.limit_bytes = 16 * K, .scheduler = "default"},
     24576,
     20480,
     20480,
     6,
     {"e"},
     {"p rng tanh add0.remat2 exp.remat2 with.exp add1 tanh.remat2 with.tanh ROOT add2"}},
    {"several times",
     DOUBLING,
     "p = f32[] parameter(0)\n bcast = f32[1024] broadcast(p), dimensions={}\n"
     "add1 = f32[1024] add(bcast, bcast)\n call1 = f32[1024] call(add1), to_apply=double\n"
     "add2 = f32[1024] add(bcast, call1)\n call2 = f32[1024] call(add2), to_apply=double\n"
     "add3 = f32[1024] add(bcast, call2)\n call3 = f32[1024] call(add3), to_apply=double\n"
     "ROOT add4 = f32[1024] add(bcast, call3)\n",
     {.limit_bytes = 22 * K, .scheduler = "default"},
     24576,
     20480,
     20480,
     3,
     {"e", "double"},
     {"p bcast add1 call1 bcast.remat add2 call2 bcast.remat2 add3 call3 bcast.remat3 ROOT add4",
      "d twice ROOT half"}},
    {"a copy stays, a negate moves",
     "",
     "p = f32[1024] parameter(0)\n copy = f32[1024] copy(p)\n a1 = f32[1024] negate(copy)\n"
     "a2 = f32[1024] negate(a1)\n b1 = f32[1024] negate(copy)\n b2 = f32[1024] negate(b1)\n"
     "ROOT both = (f32[1024], f32[1024]) tuple(a2, b2)\n",
     {.limit_bytes = 1 * K, .scheduler = "default"},
     20496,
     16400,
     16400,
     1,
     {"e"},
     {"p copy a1 a2 b1.remat b2 ROOT both"}},
    {"through a bitcast",
     "",
     P1 "reshape = f32[] reshape(p)\n bcast = f32[1024,1] broadcast(reshape), dimensions={}\n"
        "flat = f32[1024] bitcast(bcast)\n negate = f32[1024,1] negate(bcast)\n"
        "concat1 = f32[2048,1] concatenate(negate, negate), dimensions={0}\n"
        "slice1 = f32[1,1] slice(concat1), slice={[0:1], [0:1]}\n"
        "flat.1 = f32[1] bitcast(slice1)\n"
        "concat2 = f32[1025] concatenate(flat, flat.1), dimensions={0}\n"
        "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n",
     {.limit_bytes = 14 * K},
     16388,
     12296,
     12296,
     1,
     {"e"},
     {"p reshape bcast negate concat1 slice1 flat.1 bcast.remat bitcast.remat concat2 ROOT root"}},
    {"moves come to an end",
     "",
     P1 "reshape = f32[] reshape(p)\n bcast = f32[1024,1] broadcast(reshape), dimensions={}\n"
        "flat = f32[1024] bitcast(bcast)\n bcast2 = f32[1024,1] broadcast(reshape), dimensions={}\n"
        "flat2 = f32[1024] bitcast(bcast2)\n ROOT add = f32[1024] add(flat, flat2)\n",
     {.limit_bytes = 1 * K},
     12292,
     12292,
     12292,
     4,
     {"e"},
     {"p reshape bcast.remat2 bitcast.remat.2 bcast2.remat2 bitcast.remat.3 ROOT add"}},
    {"tuple of a fusion",
     TWO_RESULTS,
     TWO_PARAMS FUSION GTE("first", "fus", "0") "add = f32[1024] add(first, first)\n"
                                                "bcast = f32[1024] broadcast(a), dimensions={}\n "
                                                "mul = f32[1024] multiply(add, bcast)\n" GTE(
                                                    "second", "fus",
                                                    "1") "ROOT root = f32[1024] add(mul, second)\n",
     {.limit_bytes = 11 * K},
     20496,
     16400,
     16384,
     1,
     {"e"},
     {"a b fus add bcast mul fus.remat ROOT root"}},
    {"tuple of a fusion, both elements again",
     TWO_RESULTS,
     TWO_PARAMS FUSION GTE("first", "fus",
                           "0") "add = f32[1024] add(first, first)\n"
                                "bcast = f32[1024] broadcast(a), dimensions={}\n mul = f32[1024] "
                                "multiply(add, bcast)\n" GTE("second", "fus", "1")
                                    GTE("third", "fus",
                                        "0") "sum2 = f32[1024] add(mul, second)\n"
                                             "ROOT root = f32[1024] multiply(sum2, third)\n",
     {.limit_bytes = 11 * K},
     24592,
     20480,
     20480,
     1,
     {"e"},
     {"a b fus add bcast mul fus.remat gte.remat gte.remat.1 sum2 ROOT root"}},
    {"tuple of a fusion, through bitcasts",
     TWO_RESULTS,
     TWO_PARAMS FUSION GTE("first", "fus",
                           "0") "add = f32[1024] add(first, first)\n"
                                "bcast = f32[1024] broadcast(a), dimensions={}\n mul = f32[1024] "
                                "multiply(add, bcast)\n" GTE(
                                    "second", "fus",
                                    "1") "flat1 = f32[1024,1]{0,1} bitcast(mul)\n"
                                         "flat2 = f32[1024,1]{0,1} bitcast(second)\n"
                                         "ROOT root = f32[1024,1]{0,1} add(flat1, flat2)\n",
     {.limit_bytes = 11 * K},
     20496,
     16400,
     16384,
     1,
     {"e"},
     {"a b fus add bcast mul fus.remat bitcast.remat flat1 ROOT root"}},
    {"through a tuple",
     TWO_RESULTS,
     TWO_PARAMS FUSION GTE("first", "fus", "0") GTE(
         "second", "fus",
         "1") "add = f32[1024] add(first, second)\n bcast = f32[1024] broadcast(a), dimensions={}\n"
              "mul = f32[1024] multiply(add, bcast)\n pair = (f32[1024], f32[1024]) tuple(first, "
              "add)\n"
              "dead = f32[1024,1] bitcast(mul)\n" GTE(
                  "third", "pair", "0") "ROOT root = f32[1024] add(third, add)\n",
     {.limit_bytes = 11 * K},
     20480,
     16384,
     16384,
     1,
     {"e"},
     {"a b fus first second add fus.remat ROOT root"}},
    {"a tuple as operand",
     TWO_RESULTS
     "plus { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT s = f32[] add(l, r) }\n"
     "take { t = (f32[1024], f32[1024]) parameter(0)\n" GTE("t0", "t", "0")
         GTE("t1", "t", "1") "ROOT ts = f32[1024] add(t0, t1) }\n",
     TWO_PARAMS FUSION GTE("first", "fus", "0") GTE(
         "second", "fus",
         "1") "add = f32[1024] add(first, second)\n bcast = f32[1024] broadcast(a), dimensions={}\n"
              "add1 = f32[1024] add(add, bcast)\n c = f32[] constant(0)\n"
              "reduce = f32[] reduce(add1, c), dimensions={0}, to_apply=plus\n"
              "fus1 = f32[1024] fusion(fus), kind=kLoop, calls=take\n"
              "ROOT root = (f32[], f32[1024]) tuple(reduce, fus1)\n",
     {.limit_bytes = 11 * K},
     24612,
     16420,
     16404,
     1,
     {"e"},
     {"a b fus first second add bcast add1 c reduce fus.remat fus1 ROOT root"}},
    {"a collective gets a new channel",
     "",
     P1 "reshape = f32[] reshape(p)\n bcast = f32[256,1] broadcast(reshape), dimensions={}\n"
        "ag = f32[1024,1] all-gather(bcast), dimensions={0}, channel_id=1,\n"
        "  replica_groups={{0,1,2,3}}, use_global_device_ids=true\n"
        "flat = f32[1024] bitcast(ag)\n negate = f32[1024,1] negate(ag)\n"
        "concat1 = f32[2048,1] concatenate(negate, negate), dimensions={0}\n"
        "slice1 = f32[1,1] slice(concat1), slice={[0:1], [0:1]}\n"
        "flat.1 = f32[1] bitcast(slice1)\n"
        "concat2 = f32[1025] concatenate(flat, flat.1), dimensions={0}\n"
        "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n",
     {.limit_bytes = 14 * K},
     16388,
     13316,
     13316,
     1,
     {"e"},
     {"p reshape bcast ag negate concat1 slice1 flat.1 ag.remat bitcast.remat concat2 ROOT root"}},
    {"used indirectly",
     DOUBLING,
     INDIRECT("0"),
     {.limit_bytes = 22 * K, .scheduler = "default"},
     24576,
     20480,
     8192,
     1,
     {"e"},
     {"p bcast.remat ROOT root"}},
    {"not used indirectly",
     DOUBLING,
     INDIRECT("1"),
     {.limit_bytes = 22 * K, .scheduler = "default"},
     24576,
     20480,
     20480,
     1,
     {"e"},
     {"p bcast add1 call bcast.remat add2 pair taken ROOT root"}},
    /* Once each: constant_x, constant_source_8_user, p0_bcast, p1_bcast; twice: res_param_add. */
    {"calls three deep",
     CALLS_THREE_DEEP,
     TWO_PARAMS
     "res = f32[1024] call(a, b), to_apply=add_mul\n ROOT res_2 = f32[1024] negate(res)\n",
     {.limit_bytes = 14 * K},
     163844,
     155652,
     155652,
     11,
     {"e", "add_mul", "middle", "convoluted"},
     {"a b res ROOT res_2", "p0 p1 p0_bcast.remat2 p1_bcast.remat2 res_comp ROOT res_mul",
      "m0 m1 called ROOT n",
      "constant_source_8 param_0 param_1 one constant_0 op_1 op_2 op_3 op_4 tan_res "
      "res_param_add.remat res_1 constant_source_8_user.remat res_3 constant_x.remat2 "
      "res_param_add.remat4 constant_x_sum ROOT result"}},
    {"two elements, a custom call in the fusion",
     CUSTOM_CALL_INSIDE,
     TWO_PARAMS FUSION GTE("first", "fus",
                           "0") "add = f32[1024] add(first, first)\n"
                                "bcast = f32[1024] broadcast(a), dimensions={}\n mul = f32[1024] "
                                "multiply(add, bcast)\n" GTE("second", "fus", "1")
                                    GTE("third", "fus",
                                        "0") "sum2 = f32[1024] add(mul, second)\n"
                                             "ROOT root = f32[1024] multiply(sum2, third)\n",
     {.limit_bytes = 11 * K},
     24592,
     20480,
     20480,
     1,
     {"e"},
     {"a b fus add bcast mul fus.remat gte.remat gte.remat.1 sum2 ROOT root"}},
    {"a control successor to come",
     "",
     P1 CONCATS_WITH("", ", control-predecessors={bcast}"),
     {.limit_bytes = 14 * K},
     16388,
     12296,
     12296,
     1,
     {"e"},
     {"p reshape bcast negate concat1 bcast.remat slice1 concat2 ROOT root"}},
    {"a control successor that has run",
     "",
     P1 CONCATS_WITH(", control-predecessors={bcast}", ""),
     {.limit_bytes = 14 * K},
     16388,
     16388,
     16388,
     0,
     {"e"},
     {"p reshape bcast negate concat1 slice1 concat2 ROOT root"}},
    {"what a call computes, called twice",
     BODY,
     P1 "first = f32[1] call(p), to_apply=body\n ROOT second = f32[1] call(first), to_apply=body\n",
     {.limit_bytes = 14 * K},
     16392,
     12300,
     12300,
     1,
     {"body"},
     {"p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"}},
};

START_TEST(row_is_reached) {
  const Row *row = &rows[_i];
  Fixture fixture = fixture_parse_body(row->comps, row->body);
  RematResult result = fixture_remat(&fixture, &row->setup);
  for (int i = 0; i < 4 && row->comp[i]; i++) {
    check_text(scheduled_names(&fixture, &result.schedule, row->comp[i]), row->names[i], row->name);
  }
  check_remat_bytes(&result, row->before_bytes, row->reported_bytes, row->after_bytes, row->name);
  ck_assert_msg(result.stats.num_steps == row->num_steps, "%s: %llu steps, not %llu", row->name,
                (unsigned long long)result.stats.num_steps, (unsigned long long)row->num_steps);
  fixture_free(&fixture);
}
END_TEST

/* Only a block of two consecutive instructions can free this memory. */
#define BEFORE_BLOCK         \
  "p = f32[] parameter(0)\n" \
  "bcast = f32[1024] broadcast(p), dimensions={}\n"
#define AFTER_BLOCK                                                   \
  "negate = f32[1024] negate(last)\n"                                 \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(last, slice1), dimensions={0}\n"   \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"

static const struct {
  const char *name, *body;
  uint32_t block_size_limit;
  double block_factor;
  const char *names;
} blocks[] = {
    {"a block of two is needed", BEFORE_BLOCK "last = f32[1024] tanh(bcast)\n" AFTER_BLOCK, 1, 1,
     "p bcast last negate concat1 slice1 concat2 ROOT root"},
    {"a block of two", BEFORE_BLOCK "last = f32[1024] tanh(bcast)\n" AFTER_BLOCK, 2, 1,
     "p bcast last negate concat1 slice1 bcast.remat last.remat concat2 ROOT root"},
    {"a block of three is needed",
     BEFORE_BLOCK "a = f32[1024] abs(bcast)\n last = f32[1024] tanh(a)\n" AFTER_BLOCK, 2, 1,
     "p bcast a last negate concat1 slice1 concat2 ROOT root"},
    {"a block of three",
     BEFORE_BLOCK "a = f32[1024] abs(bcast)\n last = f32[1024] tanh(a)\n" AFTER_BLOCK, 4, 1,
     "p bcast a last negate concat1 slice1 bcast.remat a.remat last.remat concat2 ROOT root"},
    {"too much effort for three",
     BEFORE_BLOCK "a = f32[1024] abs(bcast)\n last = f32[1024] tanh(a)\n" AFTER_BLOCK, 4, 0.5,
     "p bcast a last negate concat1 slice1 concat2 ROOT root"},
    {"a copy in between",
     BEFORE_BLOCK "a = f32[1024] copy(bcast)\n last = f32[1024] tanh(a)\n" AFTER_BLOCK, 8, 1,
     "p bcast a last negate concat1 slice1 concat2 ROOT root"},
};

START_TEST(blocks_are_recomputed_together) {
  Fixture fixture = fixture_parse_body("", blocks[_i].body);
  RematSetup setup = {.limit_bytes = 14 * K,
                      .block_size_limit = blocks[_i].block_size_limit,
                      .block_factor = blocks[_i].block_factor};
  RematResult result = fixture_remat(&fixture, &setup);
  check_text(scheduled_names(&fixture, &result.schedule, "e"), blocks[_i].names, blocks[_i].name);
  fixture_free(&fixture);
}
END_TEST

#define IN_OTHER                                                                                \
  "o1 = f32[] reshape(o)\n o2 = f32[1024] broadcast(o1), dimensions={}\n"                       \
  "o3 = f32[1024] negate(o2)\n o4 = f32[2048] concatenate(o3, o3), dimensions={0}\n"            \
  "o5 = f32[1] slice(o4), slice={[0:1]}\n o6 = f32[1025] concatenate(o2, o5), dimensions={0}\n" \
  "ROOT o7 = f32[1] slice(o6), slice={[0:1]}\n"

/* Computations on other threads are left alone (XLA: execution_threads = {main}). The limit is 14
 * KiB without the 16 times 16 KiB that XLA's test reserves for the other thread. */
START_TEST(other_threads_are_left_alone) {
  Fixture fixture = fixture_parse_body(
      "other { o = f32[1] parameter(0)\n" IN_OTHER
      "}\n"
      "mine { " P1 CONCATS "}\n",
      P1
      "start = ((f32[1]), f32[1], s32[]) call-start(p), to_apply=other,\n"
      "  async_execution_thread=\"offload\"\n"
      "done = f32[1] call-done(start)\n ROOT call = f32[1] call(done), to_apply=mine\n");
  RematResult result = fixture_remat(&fixture, &(RematSetup){.limit_bytes = 14 * K});
  check_text(scheduled_names(&fixture, &result.schedule, "mine"),
             "p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root", "main");
  check_text(scheduled_names(&fixture, &result.schedule, "other"), "o o1 o2 o3 o4 o5 o6 ROOT o7",
             "other");
  fixture_free(&fixture);
}
END_TEST

/* One clone leaves a fusion's result without users, which leaves its operand without users, and so
 * on: all of it is removed. */
START_TEST(dead_code_is_removed_to_the_end) {
  Fixture fixture = fixture_parse(
      "HloModule m, is_scheduled=true\n"
      "max { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT g = f32[] maximum(l, r) }\n"
      "f1 { x = f32[3,9] parameter(0)\n i = s32[] parameter(1)\n zero = s32[] constant(0)\n"
      "row = f32[1,9] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,9}\n"
      "flat = f32[9] bitcast(row)\n low = f32[] constant(-inf)\n"
      "ROOT most = f32[] reduce(flat, low), dimensions={0}, to_apply=max }\n"
      "f2 { y = f32[] parameter(0)\n one = f32[] constant(1)\n z = f32[] divide(one, y)\n"
      "z1 = f32[1] bitcast(z)\n ROOT t = (f32[1], f32[]) tuple(z1, one) }\n"
      "ENTRY e { a = s32[] parameter(1)\n b = f32[3,9] parameter(0)\n"
      "c = f32[] fusion(b, a), kind=kInput, calls=f1\n"
      "d = (f32[1], f32[]) fusion(c), kind=kLoop, calls=f2\n"
      "ROOT taken = f32[] get-tuple-element(d), index=1 }\n");
  RematResult result = fixture_remat(&fixture, &(RematSetup){.limit_bytes = 1});
  const Module *module = fixture.module;
  check_text(scheduled_names(&fixture, &result.schedule, "e"), "a b ROOT d", "entry");
  check_text(scheduled_names(&fixture, &result.schedule, "f2"), "ROOT one", "f2");
  ck_assert_uint_eq(module_num_instructions(module), 4);
  fixture_free(&fixture);
}
END_TEST

/* A module with `depth` nested calls from the entry to a computation in which recomputing pays. */
static char *nested_calls(int depth, Arena *out) {
  const char *text = arena_printf(out, "HloModule m\nlevel0 { %s%s}\n", P1, CONCATS);
  for (int i = 1; i < depth; i++) {
    text = arena_printf(out, "%slevel%d { " P1 "ROOT c = f32[1] call(p), to_apply=level%d }\n",
                        text, i, i - 1);
  }
  return arena_printf(out, "%sENTRY e { " P1 "ROOT c = f32[1] call(p), to_apply=level%d }\n", text,
                      depth - 1);
}

static const struct {
  int depth;
  uint64_t num_steps;
} depths[] = {{1, 1}, {200, 1}, {201, 0}, {400, 0}};

START_TEST(deep_calls_are_left_alone) {
  Arena *arena = arena_new(NULL);
  Fixture fixture = fixture_parse(nested_calls(depths[_i].depth, arena));
  RematResult result = fixture_remat(&fixture, &(RematSetup){.limit_bytes = 14 * K});
  ck_assert_msg(result.stats.num_steps == depths[_i].num_steps, "%d calls deep", depths[_i].depth);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

/* The limit bounds the peak as the chosen memory model counts it: one byte less makes a
 * recomputation necessary. */
START_TEST(limit_is_of_the_memory_model) {
  Fixture fixture = fixture_parse_body("", P1 CONCATS);
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  int64_t bytes = memory_model_find("liveness")
                      ->measure(fixture.module, &schedule, NULL, fixture.out, fixture.scratch)
                      .peak_bytes;
  RematSetup setup = {.memory_model = "liveness", .limit_bytes = bytes};
  ck_assert_uint_eq(fixture_remat(&fixture, &setup).stats.num_steps, 0);
  setup.limit_bytes--;
  ck_assert_uint_eq(fixture_remat(&fixture, &setup).stats.num_steps, 1);
  fixture_free(&fixture);
}
END_TEST

static const char *const samples[] = {
    "gpt_scan",  "gpt_unrolled", "lstm",         "mlp_checkpoint",
    "mobilenet", "resnet",       "unet_donated", "vgg",
};
enum { NUM_SAMPLES = sizeof samples / sizeof *samples };

/* The text of a result; frees the fixture. */
static char *remat_sample(const char *path, int percent, Arena *out) {
  Fixture fixture = fixture_parse_file(path);
  RematSetup setup = {.scheduler = strstr(path, "after") ? "input" : "default"};
  setup.limit_bytes = INT64_MAX / 2;
  int64_t before_bytes = fixture_remat(&fixture, &setup).before_bytes;
  setup.limit_bytes = before_bytes / 100 * percent;
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_msg(result.after_bytes <= before_bytes, "%s: more memory than before", path);
  char *text = print_or_fail(fixture.module, &result.schedule, PRINT_SCHEDULED, NULL);
  char *kept = arena_strndup(out, text, strlen(text));
  free(text);
  fixture_free(&fixture);
  return kept;
}

/* fixture_remat verifies the results; two runs must give the same text. */
START_TEST(samples_keep_their_meaning) {
  Arena *arena = arena_new(NULL);
  const char *stage = _i < NUM_SAMPLES ? "before" : "after";
  char *path =
      arena_printf(arena, "hlo_samples/%s.%s_optimizations.hlo", samples[_i % NUM_SAMPLES], stage);
  char *first = remat_sample(path, 80, arena);
  ck_assert_msg(strcmp(first, remat_sample(path, 80, arena)) == 0, "%s: two results", path);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("standard");
  TCase *tc = tcase_create("standard");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, blocks_are_recomputed_together, 0, sizeof blocks / sizeof *blocks);
  tcase_add_test(tc, other_threads_are_left_alone);
  tcase_add_test(tc, dead_code_is_removed_to_the_end);
  tcase_add_loop_test(tc, deep_calls_are_left_alone, 0, sizeof depths / sizeof *depths);
  tcase_add_test(tc, limit_is_of_the_memory_model);
  suite_add_tcase(suite, tc);
  tc = tcase_create("samples");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, samples_keep_their_meaning, 0, 2 * NUM_SAMPLES);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
