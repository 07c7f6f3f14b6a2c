#include "ir/target.h"
#include "support.h"

/* The modules of XLA's own tests of compression (hlo_rematerialization_test.cc), with tiles, so
 * that minor dimensions are padded to 64 as in those tests. */

#define K 1024
#define ADDER "add { y = f32[] parameter(0)\n z = f32[] parameter(1)\n ROOT s = f32[] add(y, z) }\n"
#define TILED "f32[64,2]{1,0:T(1,64)}"
#define SUM(name, of) name " = f32[] reduce(" of ", zero), dimensions={1,0}, to_apply=add\n"
#define BEGIN                                           \
  "p = f32[] parameter(0)\n zero = f32[] constant(0)\n" \
  "big = " TILED " broadcast(p), dimensions={}\n"
#define NEGATE "negate = " TILED " negate(big)\n"

#define BESIDE_WIDER                                                  \
  BEGIN                                                               \
  "other = f32[128,64]{1,0:T(1,64)} broadcast(p), dimensions={}\n"    \
  "wide = f32[128,64]{1,0:T(1,64)} negate(other)\n" SUM("r0", "wide") \
      SUM("r1", "big") "ROOT sum = f32[] add(r0, r1)\n"

typedef struct Row {
  const char *name, *body;
  RematSetup setup;
  int64_t before_bytes;
  /* as XLA reports it, which assumes that the first copy is computed when it is needed */
  int64_t reported_bytes;
  int64_t after_bytes;
  const char *names;
} Row;

/* A mask that waits while larger values are live; nothing is padded. */
#define NEGATED(type) "first = " type "[8192]{0} negate(mask)\n"
#define BEGIN_MASK(type, first)                             \
  "p = f32[8192] parameter(0)\n zero = f32[] constant(0)\n" \
  "gt = pred[8192] compare(p, p), direction=GT\n"           \
  "mask = " type "[8192]{0} convert(gt)\n" first            \
  "n = f32[8192]{0} convert(first)\n"                       \
  "wide = f32[16384] concatenate(n, p), dimensions={0}\n"   \
  "tanh = f32[16384] tanh(wide)\n"                          \
  "r0 = f32[] reduce(tanh, zero), dimensions={0}, to_apply=add\n"
#define END_MASK                                                                             \
  "m = f32[8192] convert(mask)\n r1 = f32[] reduce(m, zero), dimensions={0}, to_apply=add\n" \
  "ROOT sum = f32[] add(r0, r1)\n"

static const Row rows[] = {
    {"a copy for the way and one back",
     BEGIN NEGATE SUM("r0", "negate") SUM("r1", "big") "ROOT sum = f32[] add(r0, r1)\n",
     {.algorithm = "compress", .limit_bytes = 30 * K},
     34304,
     33792,
     34304,
     "p zero big big.remat_compressed negate r0 big.remat_uncompressed r1 ROOT sum"},
    {"users share the copy back",
     BEGIN NEGATE SUM("r0", "negate") SUM("r1", "negate")
         SUM("r2", "big") "sum = f32[] add(r0, r1)\n" SUM(
             "r3", "big") "sum2 = f32[] add(r2, r3)\n"
                          "ROOT both = (f32[], f32[]) tuple(sum, sum2)\n",
     {.algorithm = "compress", .limit_bytes = 30 * K},
     35840,
     34816,
     35328,
     "p zero big big.remat_compressed negate r0 r1 big.remat_uncompressed r2 sum r3 sum2 ROOT "
     "both"},
    {"only what is large",
     BEGIN "small = f32[10,2]{1,0:T(1,64)} broadcast(p), dimensions={}\n" NEGATE SUM("r0", "negate")
         SUM("r1", "big")
             SUM("r2", "small") "sum = f32[] add(r0, r1)\n ROOT sum2 = f32[] add(sum, r2)\n",
     {.algorithm = "compress", .limit_bytes = 30 * K, .min_remat_bytes = 10 * K},
     36864,
     36352,
     36864,
     "p zero big big.remat_compressed small negate r0 big.remat_uncompressed r1 r2 sum ROOT sum2"},
    {"not where both arrays take more than the peak",
     "p = f32[] parameter(0)\n zero = f32[] constant(0)\n"
     "a = f32[63,60]{1,0:T(1,64)} broadcast(p), dimensions={}\n"
     "b = f32[16,64]{1,0:T(1,64)} broadcast(p), dimensions={}\n" SUM("r0", "b")
         SUM("r1", "a") "ROOT sum = f32[] add(r0, r1)\n",
     {.algorithm = "compress", .limit_bytes = 16 * K},
     22016,
     22016,
     22016,
     "p zero a b r0 r1 ROOT sum"},
    {"early enough to help",
     BESIDE_WIDER,
     {.algorithm = "compress", .limit_bytes = 70 * K},
     82944,
     67072,
     67072,
     "p zero big big.remat_compressed other wide r0 big.remat_uncompressed r1 ROOT sum"},
    {"recomputing frees more",
     BESIDE_WIDER,
     {.algorithm = "standardcompress", .limit_bytes = 70 * K},
     82944,
     66560,
     66560,
     "p zero other wide r0 big.remat r1 ROOT sum"},
    {"compressing frees more",
     BEGIN "q = f32[64,60]{1,0:T(1,64)} broadcast(p), dimensions={}\n"
           "x = f32[64,2]{1,0:T(1,64)} slice(q), slice={[0:64],[0:2]}\n"
           "other = f32[128,64]{1,0:T(1,64)} broadcast(p), dimensions={}\n"
           "wide = f32[128,64]{1,0:T(1,64)} negate(other)\n" SUM("r0", "wide") SUM("r1", "x")
               SUM("r2", "big") "sum = f32[] add(r0, r1)\n ROOT sum2 = f32[] add(sum, r2)\n",
     {.algorithm = "standardcompress", .limit_bytes = 70 * K},
     99328,
     67072,
     67072,
     "p zero q x x.remat_compressed other wide r0 x.remat_uncompressed r1 big.remat r2 sum ROOT "
     "sum2"},
    {"at the peak",
     BESIDE_WIDER,
     {.algorithm = "peak-priority", .modes = RH_REMAT_COMPRESS, .limit_bytes = 70 * K},
     82944,
     67072,
     67072,
     "p zero big big.remat_compressed other wide r0 big.remat_uncompressed r1 ROOT sum"},
    {"a mask in fewer bits",
     BEGIN_MASK("s32", NEGATED("s32")) END_MASK,
     {.algorithm = "standard", .modes = RH_REMAT_NARROW, .limit_bytes = 140 * K},
     164864,
     140288,
     140288,
     "p zero gt mask mask.remat_compressed first n wide tanh r0 mask.remat_uncompressed m r1 ROOT "
     "sum"},
    {"not where to compute it again frees as much",
     BEGIN_MASK("s32", NEGATED("s32")) END_MASK,
     {.algorithm = "standard",
      .modes = RH_REMAT_RECOMPUTE | RH_REMAT_NARROW,
      .limit_bytes = 140 * K},
     164864,
     140288,
     140288,
     "p zero gt mask first n wide tanh r0 mask.remat m r1 ROOT sum"},
    {"a mask in fewer bits, at the peak",
     BEGIN_MASK("s32", NEGATED("s32")) END_MASK,
     {.algorithm = "peak-priority",
      .modes = RH_REMAT_NARROW | RH_REMAT_COMPRESS,
      .limit_bytes = 140 * K},
     164864,
     140288,
     140288,
     "p zero gt mask mask.remat_compressed first n wide tanh r0 mask.remat_uncompressed m r1 ROOT "
     "sum"},
    {"not as XLA compresses",
     BEGIN_MASK("s32", NEGATED("s32")) END_MASK,
     {.algorithm = "standard", .modes = RH_REMAT_COMPRESS, .limit_bytes = 140 * K},
     164864,
     164864,
     164864,
     "p zero gt mask first n wide tanh r0 m r1 ROOT sum"},
    {"numbers",
     BEGIN_MASK("f32", NEGATED("f32")) END_MASK,
     {.algorithm = "standard", .modes = RH_REMAT_NARROW, .limit_bytes = 140 * K},
     164864,
     140288,
     140288,
     "p zero gt mask mask.remat_compressed first n wide tanh r0 mask.remat_uncompressed m r1 ROOT "
     "sum"},
};

START_TEST(row_is_reached) {
  const Row *row = &rows[_i];
  Fixture fixture = fixture_parse_body(ADDER, row->body);
  fixture.module->backend.target = target_find("tpu");
  RematResult result = fixture_remat(&fixture, &row->setup);
  check_text(scheduled_names(&fixture, &result.schedule, "e"), row->names, row->name);
  check_remat_bytes(&result, row->before_bytes, row->reported_bytes, row->after_bytes, row->name);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *target, *body;
  uint64_t num_steps;
} targets[] = {
    {"gpu", BEGIN_MASK("s32", NEGATED("s32")) END_MASK, 1},
    {"gpu", BEGIN_MASK("s32", "first = s32[8192]{0} fusion(mask), kind=kLoop, calls=f\n") END_MASK,
     0},
    {"cpu", BEGIN_MASK("s32", "first = s32[8192]{0} fusion(mask), kind=kLoop, calls=f\n") END_MASK,
     1},
};

/* A fused module for GPUs gets no conversions outside of fusions. */
START_TEST(gpus_want_fusions) {
  Fixture fixture = fixture_parse_body(
      ADDER "f { m = s32[8192]{0} parameter(0)\n ROOT n = s32[8192]{0} negate(m) }\n",
      targets[_i].body);
  fixture.module->backend.target = target_find(targets[_i].target);
  RematSetup setup = {.algorithm = "standard", .modes = RH_REMAT_NARROW, .limit_bytes = 140 * K};
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_uint_eq(result.stats.num_steps, targets[_i].num_steps);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("compress");
  TCase *tc = tcase_create("compress");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, gpus_want_fusions, 0, sizeof targets / sizeof *targets);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
