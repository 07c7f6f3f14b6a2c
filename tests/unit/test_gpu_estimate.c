/* XLA:GPU's own estimates of time: which of them is taken, and for which devices. */
#include "cost_fixture.h"

#define MODEL(name, microseconds) \
  "{\"end_to_end_cycles\":0,\"exec_time_us\":" microseconds ",\"name\":\"" name "\"}"
#define COSTS(list, kind)                                                                         \
  "backend_config={\"fusion_backend_config\":{\"kind\":\"" kind "\"},\"reification_cost\":[" list \
  "]}"

static const char comps[] =
    "double { p = f32[1024,1024] parameter(0)\n ROOT r = f32[1024,1024] add(p, p) }\n"
    "product { p = f32[1024,1024] parameter(0)\n ROOT r = f32[1024,1024] dot(p, p), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
    "widened { p = bf16[1024,1024] parameter(0)\n ROOT r = f32[1024,1024] dot(p, p), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";

/* The instruction `x`, and the microseconds that its kernel is estimated to run; -1 = no
 * estimate. */
static const struct {
  const char *text;
  double microseconds;
} cases[] = {
    {"fusion(a), kind=kLoop, calls=double, " COSTS(MODEL("", "30") "," MODEL("sol", "20"),
                                                   "__loop"),
     20},
    {"fusion(a), kind=kLoop, calls=double, " COSTS(MODEL("", "30"), "__loop"), 30},
    {"fusion(a), kind=kLoop, calls=double, " COSTS("", "__loop"), -1},
    {"fusion(a), kind=kLoop, calls=double, " COSTS(MODEL("sol", "0"), "__loop"), -1},
    {"fusion(a), kind=kCustom, calls=double, " COSTS(
         MODEL("", "9e9") "," MODEL("indexing-cost-model", "7") "," MODEL("sol", "0.01"),
         "__triton"),
     7},
    {"fusion(a), kind=kCustom, calls=double, " COSTS(MODEL("sol", "0.01"), "__triton"), -1},
    {"fusion(a), kind=kCustom, calls=product, " COSTS(
         MODEL("", "300") "," MODEL("indexing-cost-model", "900") "," MODEL("sol", "40"),
         "__triton_nested_gemm_fusion"),
     40},
    {"fusion(a), kind=kCustom, calls=product, " COSTS(MODEL("", "300"),
                                                      "__triton_nested_gemm_fusion"),
     -1},
    {"fusion(b), kind=kCustom, calls=widened, " COSTS(MODEL("sol", "320"),
                                                      "__triton_nested_gemm_fusion"),
     -1},
    /* as it was before there were several models */
    {"fusion(a), kind=kLoop, calls=double, backend_config={\"fusion_backend_config\":{\"kind\":"
     "\"__loop\",\"reification_cost\":{\"exec_time_us\":12.5}}}",
     12.5},
};

static DeviceProfile gpu(void) {
  DeviceProfile profile = device_profile_default();
  profile.kernel_seconds = 2e-6;
  profile.product_seconds = 4e-6;
  return profile;
}

static Analysed analyse_x(const char *text) {
  Arena *scratch = arena_new(NULL);
  char *module = arena_printf(scratch,
                              "HloModule m\n%sENTRY e {\n a = f32[1024,1024] parameter(0)\n"
                              " b = bf16[1024,1024] parameter(1)\n ROOT x = f32[1024,1024] %s\n}\n",
                              comps, text);
  Analysed result = {.module = parse_or_fail(module), .scratch = scratch};
  result.table = cost_analyze(result.module, result.module->arena, scratch);
  return result;
}

START_TEST(the_model_that_knows_is_asked) {
  Analysed analysed = analyse_x(cases[_i].text);
  DeviceProfile device = gpu(), other = device_profile_default();
  InstId id = find_inst(analysed.module, "x");
  ModelledTime time = cost_time(analysed.module, &analysed.table, &device, id);
  if (cases[_i].microseconds < 0) {
    ck_assert_int_eq(time.source, TIME_MODELLED);
  } else {
    ck_assert_int_eq(time.source, TIME_ESTIMATED);
    ck_assert_double_eq_tol(time.seconds, (cases[_i].microseconds + 2) * 1e-6, 1e-12);
  }
  time = cost_time(analysed.module, &analysed.table, &other, id);
  ck_assert_int_eq(time.source, TIME_MODELLED);
  finish(analysed);
}
END_TEST

START_TEST(a_product_takes_its_time_to_begin) {
  Analysed analysed = analyse_x("dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  DeviceProfile device = gpu();
  InstId id = find_inst(analysed.module, "x");
  double with = cost_seconds(analysed.module, &analysed.table, &device, id);
  device.product_seconds = 0;
  double without = cost_seconds(analysed.module, &analysed.table, &device, id);
  ck_assert_double_eq_tol(with - without, 4e-6, 1e-15);
  finish(analysed);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("gpu_estimate");
  TCase *tc = tcase_create("gpu_estimate");
  tcase_add_loop_test(tc, the_model_that_knows_is_asked, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, a_product_takes_its_time_to_begin);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
