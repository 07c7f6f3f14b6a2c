#include "support.h"

/* The modules of XLA's own tests of kPeakPriority (hlo_rematerialization_test.cc), and what these
 * tests assert of the results. */

#define K 1024

/* The values that take memory come first, then a chain with the largest results. */
#define TANH_CHAIN                                                \
  "one = f32[] constant(1)\n"                                     \
  "big = f32[16384] broadcast(one), dimensions={}\n"              \
  "op_1 = f32[16384] tanh(big)\n op_2 = f32[16384] tanh(op_1)\n"  \
  "op_3 = f32[16384] tanh(op_2)\n op_4 = f32[16384] tanh(op_3)\n" \
  "tan_res = f32[1024] slice(op_4), slice={[0:1024]}\n"           \
  "res_1 = f32[1024] add(res_param_add, tan_res)\n"

/* Two values are live at one peak; another peak comes after it. */
#define SAME_PEAK                                                        \
  "convoluted {\n"                                                       \
  "eight = f32[] constant(8)\n"                                          \
  "first = f32[1024] broadcast(eight), dimensions={}\n"                  \
  "param_0 = f32[1024] parameter(0)\n"                                   \
  "second = f32[1024] broadcast(eight), dimensions={}\n"                 \
  "param_1 = f32[1024] parameter(1)\n"                                   \
  "res_param_add = f32[1024] add(param_0, param_1)\n" TANH_CHAIN         \
  "res_3 = f32[1024] add(first, res_1)\n"                                \
  "res_3_2 = f32[1024] add(second, res_3)\n"                             \
  "constant_x = f32[1024] broadcast(eight), dimensions={}\n"             \
  "x_sum = f32[1024] add(constant_x, res_param_add)\n"                   \
  "res_4 = f32[1024] add(res_3_2, x_sum)\n"                              \
  "ROOT result = f32[1024] add(res_3, res_4) }\n"                        \
  "middle { m0 = f32[1024] parameter(0)\n m1 = f32[1024] parameter(1)\n" \
  "called = f32[1024] call(m0, m1), to_apply=convoluted\n"               \
  "ROOT n = f32[1024] negate(called) }\n"                                \
  "add_mul { p0 = f32[] parameter(0)\n p1 = f32[] parameter(1)\n"        \
  "p0_bcast = f32[1024] broadcast(p0), dimensions={}\n"                  \
  "p1_bcast = f32[1024] broadcast(p1), dimensions={}\n"                  \
  "res_comp = f32[1024] call(p0_bcast, p1_bcast), to_apply=middle\n"     \
  "ROOT res_mul = f32[1024] multiply(res_comp, res_comp) }\n"

#define LARGEST                                                           \
  "param_0 = f32[1024] parameter(0)\n param_1 = f32[1024] parameter(1)\n" \
  "one = f32[] constant(1)\n two = f32[] constant(2)\n"                   \
  "constant_0 = f32[16384] broadcast(one), dimensions={}\n"               \
  "constant_1 = f32[16384] broadcast(two), dimensions={}\n"               \
  "eight = f32[] constant(8)\n"                                           \
  "mega = f32[262144] broadcast(eight), dimensions={}\n"                  \
  "mega_x = f32[1024] slice(mega), slice={[0:1024]}\n"                    \
  "one_x = f32[1024] slice(constant_1), slice={[0:1024]}\n"               \
  "constant_x = f32[1024] add(mega_x, one_x)\n"                           \
  "mega_0 = f32[1024] slice(mega), slice={[0:1024]}\n"                    \
  "mega_1 = f32[1024] slice(mega), slice={[1024:2048]}\n"                 \
  "res_param_add = f32[1024] add(param_0, param_1)\n"                     \
  "x_sum = f32[1024] add(constant_x, res_param_add)\n"                    \
  "mega_add = f32[1024] add(mega_0, mega_1)\n"                            \
  "op_1 = f32[16384] tanh(constant_0)\n op_2 = f32[16384] tanh(op_1)\n"   \
  "op_3 = f32[16384] tanh(op_2)\n op_4 = f32[16384] tanh(op_3)\n"         \
  "tan_res = f32[1024] slice(op_4), slice={[0:1024]}\n"                   \
  "res_1 = f32[1024] add(res_param_add, tan_res)\n"                       \
  "eight_user = f32[1024] broadcast(eight), dimensions={}\n"              \
  "res_2 = f32[1024] add(eight_user, res_1)\n"                            \
  "ROOT res = f32[1024] add(res_2, x_sum)\n"

/* Moves, bitcasts, and instructions without users. */
#define DEAD_READERS                                                        \
  "p0 = f32[] parameter(0)\n p1 = f32[] parameter(1)\n"                     \
  "eight = f32[] constant(8)\n"                                             \
  "param_0 = f32[1024] broadcast(p0), dimensions={}\n"                      \
  "one = f32[] constant(1)\n"                                               \
  "constant_0 = f32[16384] broadcast(one), dimensions={}\n"                 \
  "constant_1 = f32[16384] broadcast(one), dimensions={}\n"                 \
  "op_1 = f32[16384] tanh(constant_0)\n op_2 = f32[16384] tanh(op_1)\n"     \
  "op_3 = f32[16384] add(op_1, op_2)\n op_5 = f32[16384] add(op_3, op_3)\n" \
  "op_6 = f32[16384] add(op_3, op_5)\n"                                     \
  "f4651 = f32[16384] add(constant_0, constant_1)\n"                        \
  "f4653 = f32[16384] add(constant_0, constant_1)\n"                        \
  "flat_4651 = f16[32768] bitcast(f4651)\n"                                 \
  "flat_4653 = f16[32768] bitcast(f4653)\n"                                 \
  "flat_4653_2 = f16[32768] bitcast(f4653)\n"                               \
  "sum = f16[32768] add(flat_4651, flat_4651)\n"                            \
  "sum_flat = f32[16384] bitcast(sum)\n"                                    \
  "sum_2 = f16[32768] add(flat_4653_2, flat_4653_2)\n"                      \
  "sum_2_flat = f32[16384] bitcast(sum_2)\n"                                \
  "tan_res = f32[1024] slice(op_6), slice={[0:1024]}\n"                     \
  "add_1 = f32[1024] add(tan_res, tan_res)\n"                               \
  "res_1 = f32[1024] add(param_0, add_1)\n"                                 \
  "slice_sum_2 = f32[1024] slice(sum_2_flat), slice={[0:1024]}\n"           \
  "slice_sum = f32[1024] slice(sum_flat), slice={[0:1024]}\n"               \
  "tan_4653 = f32[1024] slice(f4653), slice={[0:1024]}\n"                   \
  "res_6 = f32[1024] add(tan_4653, res_1)\n"                                \
  "res_7 = f32[1024] add(slice_sum, res_6)\n"                               \
  "ROOT res = f32[1024] add(slice_sum_2, res_7)\n"

static const struct {
  const char *name, *comps, *body;
  RematSetup setup;
  int64_t before_bytes, after_bytes;
  const char *comp, *names;
} rows[] = {
    {"the largest at the peak",
     "",
     LARGEST,
     {.limit_bytes = 100 * K},
     1191940,
     1060872,
     "e",
     "param_0 param_1 one two constant_1 eight one_x mega.remat mega_x.remat constant_x "
     "res_param_add x_sum constant_0.remat op_1 op_2 op_3 op_4 tan_res res_1 eight_user res_2 ROOT "
     "res"},
    {"two at the same peak",
     SAME_PEAK,
     "a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
     "res = f32[1024] call(a, b), to_apply=add_mul\n ROOT res_2 = f32[1024] negate(res)\n",
     {.limit_bytes = 0},
     167940,
     155652,
     "convoluted",
     "eight param_0 param_1 one big op_1 op_2 op_3 op_4 tan_res res_param_add.remat res_1 "
     "first.remat res_3 second.remat res_3_2 constant_x x_sum res_4 ROOT result"},
    {"dead instructions are no places",
     "",
     DEAD_READERS,
     {.limit_bytes = 25 * K, .block_size_limit = 32},
     335872,
     331776,
     "e",
     "p0 p1 one constant_0 constant_1.remat f4651.remat bitcast.remat bitcast.remat.1 f4653.remat "
     "bitcast.remat.2 bitcast.remat.3 op_1.remat op_2.remat op_3.remat op_5.remat op_6.remat "
     "tan_res add_1 param_0.remat res_1 sum_2.remat bitcast.remat.5 slice_sum_2 sum.remat "
     "bitcast.remat.4 slice_sum tan_4653 res_6 res_7 ROOT res"},
    {"what is passed over pulls nothing ahead of its operands",
     "",
     "p = f32[] parameter(0)\n"
     "a = f32[1024] broadcast(p), dimensions={}\n dead = f32[1024] abs(a)\n"
     "b = f32[1024] exponential(a)\n x = f32[1024] add(a, b)\n"
     "y = f32[2048] concatenate(b, b), dimensions={0}\n"
     "z = f32[1024] slice(y), slice={[0:1024]}\n w = f32[1024] add(z, b)\n"
     "v = f32[1024] add(w, a)\n ROOT root = f32[1024] add(v, x)\n",
     {.limit_bytes = 0},
     28672,
     24576,
     "e",
     "p a a.remat b y z x.remat w v ROOT root"},
};

START_TEST(row_is_reached) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  RematSetup setup = rows[_i].setup;
  setup.algorithm = "peak-priority";
  RematResult result = fixture_remat(&fixture, &setup);
  check_text(scheduled_names(&fixture, &result.schedule, rows[_i].comp), rows[_i].names,
             rows[_i].name);
  ck_assert_msg(
      result.before_bytes == rows[_i].before_bytes && result.after_bytes == rows[_i].after_bytes,
      "%s: %lld -> %lld bytes, not %lld -> %lld", rows[_i].name, (long long)result.before_bytes,
      (long long)result.after_bytes, (long long)rows[_i].before_bytes,
      (long long)rows[_i].after_bytes);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("peak_priority");
  TCase *tc = tcase_create("peak_priority");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
