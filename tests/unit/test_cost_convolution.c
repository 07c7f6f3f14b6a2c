#include "cost_fixture.h"

#define CONVOLUTION(input, kernel, output, attributes, flops, bytes)                     \
  {                                                                                      \
    "",                                                                                  \
        "p = f32[" input "] parameter(0)\n k = f32[" kernel                              \
        "] parameter(1)\n ROOT x = f32[" output "] convolution(p, k), " attributes "\n", \
    {                                                                                    \
      flops, 0, bytes                                                                    \
    }                                                                                    \
  }

static const CostCase cases[] = {
    /* no padding */
    CONVOLUTION("2,8,8,3", "3,3,3,16", "2,6,6,16", "window={size=3x3}, dim_labels=b01f_01io->b01f",
                62208, 7872),
    /* as much padding as keeps the size */
    CONVOLUTION("2,8,8,3", "3,3,3,16", "2,8,8,16",
                "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f", 92928, 11456),
    /* strides */
    CONVOLUTION("2,8,8,3", "3,3,3,16", "2,4,4,16",
                "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f", 23232,
                5312),
    /* dilation of the input */
    CONVOLUTION("1,4,4,2", "3,3,2,2", "1,9,9,2",
                "window={size=3x3 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f", 1152,
                920),
    /* dilation of the kernel */
    CONVOLUTION("1,9,9,2", "3,3,2,2", "1,5,5,2",
                "window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f", 1800, 992),
    /* all of them */
    CONVOLUTION("1,9,9,2", "3,3,2,2", "1,7,7,2",
                "window={size=3x3 stride=3x3 pad=4_5x4_5 lhs_dilate=2x2 rhs_dilate=4x4}, "
                "dim_labels=b01f_01io->b01f",
                648, 1184),
    /* each channel by itself */
    CONVOLUTION("1,8,4", "3,1,4", "1,6,4",
                "window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=4", 144, 272),
    /* batch groups */
    CONVOLUTION("4,8,3", "3,3,4", "2,6,4",
                "window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=2", 864, 720),
    /* no spatial dimensions */
    CONVOLUTION("4,6", "6,5", "4,5", "dim_labels=bf_io->bf", 240, 296),
    CONVOLUTION("6,4", "5,6", "5,4", "dim_labels=fb_oi->fb", 240, 296),
    /* an input of one element: a full correlation */
    CONVOLUTION("1,1,4", "7,4,2", "1,7,2", "window={size=7 pad=6_6}, dim_labels=b0f_0io->b0f", 112,
                296),
    /* the diagonal of an input and a kernel of equal size */
    CONVOLUTION("1,5,4", "5,4,2", "1,5,2",
                "window={size=5 stride=4 lhs_dilate=5}, dim_labels=b0f_0io->b0f", 80, 280),
    /* negative padding */
    CONVOLUTION("1,8,4", "3,4,2", "1,2,2", "window={size=3 pad=-2_-2}, dim_labels=b0f_0io->b0f", 96,
                240),
    /* three dimensions */
    CONVOLUTION("2,4,5,6,3", "2,2,2,3,4", "2,3,4,5,4",
                "window={size=2x2x2}, dim_labels=b012f_012io->b012f", 23040, 5184),
};

START_TEST(cost_matches_xla) {
  check_case(&cases[_i]);
}
END_TEST

/* XLA would walk 10^10 pairs here. Output o and kernel element k meet input (o + 2 k - 50000) / 2
 * when o is even. */
START_TEST(large_convolution_is_quick) {
  Analysed analysed = analyse_body(
      "",
      "p = f32[1,100000,1] parameter(0)\n k = f32[100000,1,1] parameter(1)\n "
      "ROOT x = f32[1,100000,1] convolution(p, k), window={size=100000 pad=50000_49999 "
      "lhs_dilate=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f\n");
  int64_t pairs = 0;
  for (int64_t o = 0; o < 100000; o += 2) {
    int64_t first = 25000 - o / 2, last = first + 99999; /* k of input elements 0 and 99999 */
    if (first < 0) first = 0;
    if (last > 99999) last = 99999;
    pairs += last - first + 1;
  }
  ck_assert_int_eq(cost_in(&analysed, "x").flops, 2 * pairs);
  finish(analysed);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cost_convolution");
  TCase *tc = tcase_create("cost_convolution");
  tcase_add_loop_test(tc, cost_matches_xla, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, large_convolution_is_quick);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
