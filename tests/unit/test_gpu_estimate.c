/* XLA:GPU's own estimates of time: which of them is taken, and for which devices. */
#include "cost_fixture.h"

#define MODEL(name, microseconds) \
  "{\"end_to_end_cycles\":0,\"exec_time_us\":" microseconds ",\"name\":\"" name "\"}"
#define COSTS(list, kind)                                                                         \
  "backend_config={\"fusion_backend_config\":{\"kind\":\"" kind "\"},\"reification_cost\":[" list \
  "]}"

static const char comps[] =
    "sum { s = f32[] parameter(0)\n t = f32[] parameter(1)\n ROOT u = f32[] add(s, t) }\n"
    "double { p = f32[1024,1024] parameter(0)\n ROOT r = f32[1024,1024] add(p, p) }\n"
    "product { p = f32[1024,1024] parameter(0)\n ROOT r = f32[1024,1024] dot(p, p), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
    "few { p = f32[1024,1024] parameter(0)\n f = f32[16,1024] slice(p), slice={[0:16], [0:1024]}\n"
    " ROOT r = f32[16,1024] dot(f, p), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
    "many { p = f32[1024,1024] parameter(0)\n m = f32[16,256,256] bitcast(p)\n"
    " ROOT r = f32[16,256,256] dot(m, m), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1} }\n"
    "summed { p = f32[1024,1024] parameter(0)\n z = f32[] constant(0)\n"
    " ROOT r = f32[1024] reduce(p, z), dimensions={0}, to_apply=sum }\n"
    "rows { p = f32[1024,1024] parameter(0)\n b = f32[1024,1,1024] bitcast(p)\n"
    " ROOT r = f32[16,1,1024] slice(b), slice={[8:24], [0:1], [0:1024]} }\n"
    "stack { p = f32[1024,1024] parameter(0)\n i = s32[] constant(3)\n j = s32[] constant(0)\n"
    " b = f32[1024,1,1024] bitcast(p)\n u = f32[1,1,1024] slice(b), "
    "slice={[8:9], [0:1], [0:1024]}\n"
    " d = f32[1024,1,1024] dynamic-update-slice(b, u, i, j, j)\n"
    " ROOT r = f32[1024,1024] bitcast(d) }\n"
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

static Analysed analyse_shaped(const char *shape, const char *text) {
  Arena *scratch = arena_new(NULL);
  char *module = arena_printf(
      scratch,
      "HloModule m\n%sENTRY e {\n a = f32[1024,1024] parameter(0)\n"
      " b = bf16[1024,1024] parameter(1)\n z = f32[] constant(0)\n ROOT x = %s %s\n}\n",
      comps, shape, text);
  Analysed result = {.module = parse_or_fail(module), .scratch = scratch};
  result.table = cost_analyze(result.module, result.module->arena, scratch);
  return result;
}

static Analysed analyse_x(const char *text) {
  return analyse_shaped("f32[1024,1024]", text);
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

/* Products that XLA's table has none like: of few rows, and of many in a batch. */
START_TEST(what_was_not_measured_is_modelled) {
  static const struct {
    const char *shape, *text;
  } products[] = {
      {"f32[16,1024]", "fusion(a), kind=kCustom, calls=few, " COSTS(MODEL("sol", "0.02"),
                                                                    "__triton_nested_gemm_fusion")},
      {"f32[16,256,256]", "fusion(a), kind=kCustom, calls=many, " COSTS(
                              MODEL("sol", "40"), "__triton_nested_gemm_fusion")},
  };
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    Analysed analysed = analyse_shaped(products[i].shape, products[i].text);
    DeviceProfile device = gpu();
    ModelledTime time =
        cost_time(analysed.module, &analysed.table, &device, find_inst(analysed.module, "x"));
    ck_assert_int_eq(time.source, TIME_MODELLED);
    finish(analysed);
  }
}
END_TEST

/* 1024 sums along the first dimension have 16 blocks of 64, each of which moves so much. */
START_TEST(few_blocks_do_not_reach_the_memorys_bandwidth) {
  Analysed analysed = analyse_shaped("f32[1024]", "fusion(a), kind=kInput, calls=summed");
  DeviceProfile device = gpu();
  InstId id = find_inst(analysed.module, "x");
  double with, without = cost_seconds(analysed.module, &analysed.table, &device, id);
  device.block_bandwidth = 1e9;
  with = cost_seconds(analysed.module, &analysed.table, &device, id);
  double bytes = 1024 * 1024 * 4 + 1024 * 4;
  ck_assert_double_eq_tol(with - device.kernel_seconds, bytes / 16e9, 1e-12);
  ck_assert_double_eq_tol(without - device.kernel_seconds, bytes / 1.5e12, 1e-12);
  finish(analysed);
}
END_TEST

/* Behind bitcasts, too, only what is sliced is read, and only what is updated is written. */
START_TEST(what_is_needed_is_moved) {
  static const struct {
    const char *shape, *text;
    double bytes;
  } fusions[] = {
      {"f32[16,1,1024]", "fusion(a), kind=kLoop, calls=rows", 2 * 16 * 4096},
      {"f32[1024,1024]", "fusion(a), kind=kLoop, calls=stack", 2 * 4096},
  };
  for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
    Analysed analysed = analyse_shaped(fusions[i].shape, fusions[i].text);
    DeviceProfile device = gpu();
    InstId id = find_inst(analysed.module, "x");
    double seconds = cost_seconds(analysed.module, &analysed.table, &device, id);
    ck_assert_double_eq_tol(seconds - device.kernel_seconds, fusions[i].bytes / 1.5e12, 1e-12);
    finish(analysed);
  }
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
  tcase_add_test(tc, what_was_not_measured_is_modelled);
  tcase_add_test(tc, few_blocks_do_not_reach_the_memorys_bandwidth);
  tcase_add_test(tc, what_is_needed_is_moved);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
