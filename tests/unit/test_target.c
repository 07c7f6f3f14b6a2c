#include "ir/target.h"

#include "analysis/flow/in_place_internal.h"
#include "analysis/memory/liveness.h"
#include "support.h"

/* ---- VMEM ---- */

START_TEST(vmem_is_that_of_the_device) {
  const Target *tpu = target_find("tpu");
  ck_assert_int_eq(target_tpu_memory(tpu, "tpu-v5e").vmem_bytes, 128 << 20);
  ck_assert_int_eq(target_tpu_memory(tpu, "tpu7x").vmem_bytes, 64 << 20);
  ck_assert_int_eq(target_tpu_memory(tpu, "another").vmem_bytes,
                   128 << 20); /* the most that one has */
  ck_assert_int_eq(target_tpu_memory(tpu, NULL).vmem_bytes, 128 << 20);
  ck_assert_int_eq(target_tpu_memory(tpu, "tpu-v6e").hbm_bytes >> 20, 31989);
  ck_assert_int_eq(target_tpu_memory(target_find("gpu"), "tpu-v5e").vmem_bytes, 0);
}
END_TEST

/* ---- sizes ---- */

static const struct {
  const char *shape;
  int64_t cpu, tpu;
} sizes[] = {
    {"f32[4,4]{1,0}", 64, 512}, /* no tiles: only the granule is known */
    {"f32[4,4]{1,0:T(8,128)}", 64, 4096},
    {"f32[4,4]{0,1:T(8,128)}", 64, 4096},
    {"f32[9,200]{1,0:T(8,128)}", 7200, 16 * 256 * 4},
    {"f32[200,9]{0,1:T(8,128)}", 7200, 16 * 256 * 4}, /* by the order in memory */
    {"f32[3,9,200]{2,1,0:T(8,128)}", 21600, 3 * 16 * 256 * 4},
    {"bf16[3,9,200]{2,1,0:T(8,128)(2,1)}", 10800, 3 * 16 * 256 * 2},
    {"f32[200]{0:T(256)}", 800, 1024},
    {"f32[200]{0:T(8,128)}", 800, 8192}, /* a tile of more dimensions */
    {"f32[]{:T(128)}", 4, 512},
    {"s4[3,5]{1,0:T(2,4)E(4)}", 8, 512},
    {"f32[0,5]{1,0:T(8,128)}", 0, 0},
    {"f32[4,4]{1,0:T(8,*)}", 64, 512},
    {"f32[<=4,4]{1,0}", 64 + 8, 512},
    {"f32[3037000499,400]{1,0:T(4294967296,4294967296)}", 3037000499 * 1600, -1},
    {"(f32[2]{0:T(128)}, s32[])", 16, 512}, /* the table of pointers */
    {"s32[]{:S(2)}", 4, 4},                 /* another memory has no granule */
};

START_TEST(bytes_match_table) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module = parse_or_fail(
      arena_printf(fixture.out, "HloModule m\nENTRY e { p = %s parameter(0) }\n", sizes[_i].shape));
  const Shape *shape = inst_shape(fixture.module, find_inst(fixture.module, "p"));
  ck_assert_int_eq(target_bytes(target_find("cpu"), shape), sizes[_i].cpu);
  ck_assert_int_eq(target_bytes(target_find("tpu"), shape), sizes[_i].tpu);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *shape;
  int64_t cpu, gpu, tpu, plain_on_tpu;
} device_sizes[] = {
    {"f32[9,200]{1,0:T(8,128)}", 7200, 7200, 16 * 256 * 4, 7200},
    {"f32[9,200]{1,0:T(8,128)S(1)}", 7200, 7200, 0, 0}, /* VMEM; a GPU's S(1) is its own memory */
    {"s32[]{:T(128)S(6)}", 4, 4, 0, 0},
    {"f32[16]{0:S(5)}", 0, 0, 0, 0}, /* the host's everywhere */
    {"(f32[2]{0:T(128)S(1)})", 8, 8, 512, 8},
};

START_TEST(device_bytes_match_table) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module = parse_or_fail(arena_printf(
      fixture.out, "HloModule m\nENTRY e { p = %s parameter(0) }\n", device_sizes[_i].shape));
  const Shape *shape = inst_shape(fixture.module, find_inst(fixture.module, "p"));
  ck_assert_int_eq(target_device_bytes(target_find("cpu"), shape), device_sizes[_i].cpu);
  ck_assert_int_eq(target_device_bytes(target_find("gpu"), shape), device_sizes[_i].gpu);
  ck_assert_int_eq(target_device_bytes(target_find("tpu"), shape), device_sizes[_i].tpu);
  ck_assert_int_eq(target_plain_device_bytes(target_find("tpu"), shape),
                   device_sizes[_i].plain_on_tpu);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *shape, *cpu, *tpu;
} compact[] = {
    {"f32[64,2]{1,0:T(8,128)}", "f32[64,2]{1,0:T(8,128)}", "f32[64,2]{0,1:T(8,128)}"},
    {"f32[2,64]{1,0:T(8,128)}", "f32[2,64]{1,0:T(8,128)}", "f32[2,64]{1,0:T(8,128)}"},
    {"f32[64,2]", "f32[64,2]{1,0}", "f32[64,2]{1,0}"},
    {"f32[128]{0:T(8,128)}", "f32[128]{0:T(8,128)}", "f32[128]{0:T(8,128)}"},
    {"f32[256,8,3]{2,1,0:T(8,128)}", "f32[256,8,3]{2,1,0:T(8,128)}",
     "f32[256,8,3]{0,1,2:T(8,128)}"},
    {"f32[128,3,256]{1,2,0:T(8,128)}", "f32[128,3,256]{1,2,0:T(8,128)}",
     "f32[128,3,256]{2,0,1:T(8,128)}"},
    {"bf16[5,16,9]{2,0,1:T(8,128)(2,1)}", "bf16[5,16,9]{2,0,1:T(8,128)(2,1)}",
     "bf16[5,16,9]{1,0,2:T(8,128)(2,1)}"},
    {"(f32[64,2])", "(f32[64,2]{1,0})", "(f32[64,2]{1,0})"},
};

START_TEST(compact_shape_matches_table) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module = parse_or_fail(arena_printf(
      fixture.out, "HloModule m\nENTRY e { p = %s parameter(0) }\n", compact[_i].shape));
  ShapeTable *shapes = &fixture.module->shapes;
  ShapeId shape = inst_get(fixture.module, find_inst(fixture.module, "p"))->shape;
  ShapeId on_cpu = target_compact_shape(target_find("cpu"), shapes, shape);
  ShapeId on_tpu = target_compact_shape(target_find("tpu"), shapes, shape);
  Str cpu = shape_text(shapes, on_cpu, true, fixture.out);
  Str tpu = shape_text(shapes, on_tpu, true, fixture.out);
  check_text(arena_strndup(fixture.out, cpu.data, cpu.len), compact[_i].cpu, "cpu");
  check_text(arena_strndup(fixture.out, tpu.data, tpu.len), compact[_i].tpu, "tpu");
  ck_assert_int_le(target_bytes(target_find("tpu"), shape_get(shapes, on_tpu)),
                   target_bytes(target_find("tpu"), shape_get(shapes, shape)));
  fixture_free(&fixture);
}
END_TEST

/* ---- what may share memory on a GPU ---- */

/* Parameters a, b: f32[4,4], c: s32[4,4], w: f32[1,4], i: s32[]. */
#define ENTRY(inst)                                                                   \
  "ENTRY e {\n a = f32[4,4] parameter(0)\n b = f32[4,4] parameter(1)\n c = s32[4,4] " \
  "parameter(2)\n w = f32[1,4] parameter(3)\n i = s32[] parameter(4)\n j = s32[] "    \
  "parameter(5)\n" inst "}\n"
#define FUSED(shape, insts)                                             \
  "f {\n p = f32[4,4] parameter(0)\n q = f32[4,4] parameter(1)\n" insts \
  "}\n" ENTRY("ROOT x = " shape " fusion(a, b), kind=kLoop, calls=f\n")
#define TWO "(f32[4,4], f32[4,4])"
#define ADDER "add { y = f32[] parameter(0)\n z = f32[] parameter(1)\n ROOT s = f32[] add(y, z) }\n"
/* Two reductions and a sum, of which some are results of a fusion of kind kInput. */
#define REDUCED(shape, results)                                                               \
  ADDER                                                                                       \
      "f {\n p = f32[4,4] parameter(0)\n q = f32[4,4] parameter(1)\n k = f32[] constant(0)\n" \
      " m = f32[4] reduce(p, k), dimensions={0}, to_apply=add\n"                              \
      " n = f32[4] reduce(q, k), dimensions={0}, to_apply=add\n"                              \
      " g = f32[4,4] add(p, q)\n ROOT r = " shape " tuple(" results                           \
      ")\n}\n" ENTRY("ROOT x = " shape " fusion(a, b), kind=kInput, calls=f\n")
#define SLICED(start, size)                                                                       \
  "f {\n p = f32[4,4] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"           \
  " d = f32[" size "] dynamic-slice(p, " start ", i), dynamic_slice_sizes={" size                 \
  "}\n"                                                                                           \
  " n = f32[" size "] negate(d)\n ROOT u = f32[4,4] dynamic-update-slice(p, n, i, i)\n}\n" ENTRY( \
      "ROOT x = f32[4,4] fusion(a, i, j), kind=kLoop, calls=f\n")
#define SORTED(operands)                                                               \
  "less { y = f32[] parameter(0)\n z = f32[] parameter(1)\n v = f32[] parameter(2)\n " \
  "t = f32[] parameter(3)\n ROOT l = pred[] compare(y, z), direction=LT }\n" FUSED(    \
      TWO, "ROOT s = " TWO " sort(" operands "), dimensions={0}, to_apply=less\n")
#define MATMUL(operands, beta)                              \
  ENTRY("ROOT x = (f32[4,4], s8[64]) custom-call(" operands \
        ")"                                                 \
        ", custom_call_target=\"__cublas$lt$matmul\", "     \
        "backend_config={\"gemm_backend_config\":{\"beta\":" beta "}}\n")

static const struct {
  const char *name;
  ShareHint hint;
  uint32_t operand, user_part;
  const char *text;
} rows[] = {
    {"elementwise", SHARE_YES, 0, 0, FUSED("f32[4,4]", "ROOT r = f32[4,4] add(p, q)\n")},
    {"as wide", SHARE_YES, 0, 0,
     FUSED("s32[4,4]", "n = f32[4,4] negate(p)\n ROOT r = s32[4,4] convert(n)\n")},
    {"in another shape", SHARE_YES, 0, 0, FUSED("f32[16]", "ROOT r = f32[16] bitcast(p)\n")},
    {"wider", SHARE_NO, 0, 0, FUSED("f64[4,4]", "ROOT r = f64[4,4] convert(p)\n")},
    {"fewer", SHARE_NO, 0, 0,
     FUSED("f32[2,4]", "ROOT r = f32[2,4] slice(p), slice={[0:2], [0:4]}\n")},
    {"not read at all", SHARE_NO, 0, 0, FUSED("f32[4,4]", "ROOT r = f32[4,4] negate(q)\n")},
    {"copied", SHARE_NO, 0, 0, FUSED("f32[4,4]", "ROOT r = f32[4,4] copy(p)\n")},
    {"transposed", SHARE_NO, 0, 0,
     FUSED("f32[4,4]", "ROOT r = f32[4,4] transpose(p), dimensions={1,0}\n")},
    {"transposed for another use", SHARE_NO, 0, 0,
     FUSED("f32[4,4]",
           "t = f32[4,4] transpose(p), dimensions={1,0}\n ROOT r = f32[4,4] add(p, t)\n")},
    {"reduced and spread", SHARE_NO, 0, 0,
     ADDER FUSED("f32[4,4]",
                 "k = f32[] constant(0)\n s = f32[4] reduce(p, k), dimensions={1}, to_apply=add\n"
                 "t = f32[4,4] broadcast(s), dimensions={0}\n ROOT r = f32[4,4] add(p, t)\n")},
    {"one of two results", SHARE_YES, 0, 1,
     FUSED(TWO,
           "m = f32[4,4] negate(p)\n n = f32[4,4] negate(q)\n ROOT r = " TWO " tuple(m, n)\n")},
    {"the other one", SHARE_NO, 0, 2,
     FUSED(TWO,
           "m = f32[4,4] negate(p)\n n = f32[4,4] negate(q)\n ROOT r = " TWO " tuple(m, n)\n")},
    {"both results, in the same order", SHARE_YES, 0, 1,
     FUSED(TWO,
           "m = f32[4,4] negate(p)\n n = f32[4,4] negate(p)\n ROOT r = " TWO " tuple(m, n)\n")},
    {"both, one transposed before", SHARE_NO, 0, 1,
     FUSED(TWO,
           "t = f32[4,4] transpose(q), dimensions={1,0}\n m = f32[4,4] add(p, p)\n"
           "n = f32[4,4] copy(m)\n ROOT r = " TWO " tuple(m, n)\n")},
    {"of a reduction, which is computed first", SHARE_YES, 0, 2,
     REDUCED("(f32[4], f32[4,4])", "m, g")},
    {"of the first of two reductions", SHARE_YES, 0, 1,
     REDUCED("(f32[4,4], f32[4], f32[4])", "g, m, n")},
    {"of the second of two", SHARE_NO, 1, 1, REDUCED("(f32[4,4], f32[4], f32[4])", "g, m, n")},
    {"the same slice", SHARE_YES, 0, 0, SLICED("i", "1,4")},
    {"another slice", SHARE_NO, 0, 0, SLICED("j", "1,4")},
    {"another element", SHARE_YES, 0, 0, SLICED("j", "1,1")},
    {"sorted in its place", SHARE_YES, 0, 1, SORTED("p, q")},
    {"sorted into another place", SHARE_NO, 1, 1, SORTED("p, q")},
    {"sorted twice", SHARE_NO, 0, 1, SORTED("p, p")},
    {"all-reduce", SHARE_YES, 0, 0, ADDER ENTRY("ROOT x = f32[4,4] all-reduce(a), to_apply=add\n")},
    {"all-reduce of two", SHARE_YES, 1, 2,
     ADDER ENTRY("ROOT x = " TWO " all-reduce(a, b), to_apply=add\n")},
    {"all-reduce of the other", SHARE_NO, 1, 1,
     ADDER ENTRY("ROOT x = " TWO " all-reduce(a, b), to_apply=add\n")},
    {"any custom call", SHARE_NO, 0, 0,
     ENTRY("ROOT x = f32[4,4] custom-call(a), custom_call_target=\"f\"\n")},
    {"bias", SHARE_YES, 2, 1, MATMUL("a, a, b", "1")},
    {"bias that does not count", SHARE_NO, 2, 1, MATMUL("a, a, b", "0")},
    {"bias as workspace", SHARE_NO, 2, 2, MATMUL("a, a, b", "1")},
    {"a factor", SHARE_NO, 0, 1, MATMUL("a, a, b", "1")},
    {"bias that is a factor, too", SHARE_NO, 2, 1, MATMUL("a, b, a", "1")},
    {"the general rules", SHARE_UNDECIDED, 0, 0, ENTRY("ROOT x = f32[4,4] add(a, b)\n")},
};

START_TEST(sharing_matches_table) {
  Fixture fixture = fixture_parse_format("HloModule m\n%s", rows[_i].text);
  ShareHint hint = gpu_share_hint(fixture.module, find_inst(fixture.module, "x"),
                                  rows[_i].user_part, rows[_i].operand, fixture.scratch);
  ck_assert_msg(hint == rows[_i].hint, "%s", rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

/* Only there, and after what must share memory. */
START_TEST(backend_has_its_say) {
  static const char transposed[] =
      "f {\n p = f32[4,4] parameter(0)\n q = f32[4,4] parameter(1)\n"
      "ROOT r = f32[16] bitcast(p)\n}\n" ENTRY(
          "ROOT x = f32[16] fusion(a, b), kind=kLoop, calls=f\n");
  static const char updated[] = SLICED("j", "1,4");
  for (int i = 0; i < 4; i++) {
    Fixture fixture = fixture_parse_format("HloModule m\n%s", i % 2 ? updated : transposed);
    Module *module = fixture.module;
    module->backend.target = target_find(i < 2 ? "cpu" : "gpu");
    ValueAnalysis values = value_analysis_build(module, fixture.out, fixture.scratch);
    bool can_share = can_share_operand_buffer(module, &values.flow, find_inst(module, "a"), 0,
                                              find_inst(module, "x"), 0, fixture.scratch);
    ck_assert_msg(can_share == (i != 0), "%d", i);
    fixture_free(&fixture);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("target");
  TCase *tc = tcase_create("target");
  tcase_add_test(tc, vmem_is_that_of_the_device);
  tcase_add_loop_test(tc, bytes_match_table, 0, sizeof sizes / sizeof *sizes);
  tcase_add_loop_test(tc, device_bytes_match_table, 0, sizeof device_sizes / sizeof *device_sizes);
  tcase_add_loop_test(tc, compact_shape_matches_table, 0, sizeof compact / sizeof *compact);
  tcase_add_loop_test(tc, sharing_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, backend_has_its_say);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
