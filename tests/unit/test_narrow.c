#include "analysis/range/narrow.h"

#include "support.h"

/* The element type that `x` can be kept in; its own where there is none that is narrower. */
typedef struct Row {
  const char *name, *body, *type;
} Row;

#define S32 "p = s32[8] parameter(0)\n"
#define PRED "p = pred[8] parameter(0)\n"
#define BYTES "p = u8[8] parameter(0)\n s = s32[8] convert(p)\n"
#define F32 "p = f32[8] parameter(0)\n"
#define MASK PRED "m = f32[8] convert(p)\n"
#define CONSTANT(name, type, value)                                                  \
  name ".0 = " type "[] constant(" value ")\n" name " = " type "[8] broadcast(" name \
       ".0), dimensions={}\n"
#define INDEX "i = s32[8] iota(), iota_dimension=0\n"

static const Row rows[] = {
    /* types */
    {"a parameter may be anything", "x = s32[8] parameter(0)\n", "s32"},
    {"so may floating-point numbers", "x = f32[8] parameter(0)\n", "f32"},
    {"a mask", PRED "x = s32[8] convert(p)\n", "u8"},
    {"a mask of 16 bits", PRED "x = u16[8] convert(p)\n", "u8"},
    {"a mask of 8 bits", PRED "x = s8[8] convert(p)\n", "s8"},
    {"a mask as numbers", PRED "x = f32[8] convert(p)\n", "u8"},
    {"a mask as short numbers", PRED "x = bf16[8] convert(p)\n", "u8"},
    {"a mask as complex numbers", PRED "x = c64[8] convert(p)\n", "c64"},
    {"unsigned bytes", BYTES "x = s32[8] negate(s)\n", "s16"},
    {"signed bytes", "p = s8[8] parameter(0)\n x = s64[8] convert(p)\n", "s8"},
    {"halves", "p = u32[8] parameter(0)\n x = s64[8] convert(p)\n", "u32"},
    {"of 64 bits nothing is known", "p = u64[8] parameter(0)\n x = u64[8] copy(p)\n", "u64"},
    {"a conversion that cuts off", S32 "y = u8[8] convert(p)\n x = s32[8] convert(y)\n", "u8"},
    {"a negative number made unsigned", BYTES "n = s32[8] negate(s)\n x = u32[8] convert(n)\n",
     "u32"},
    {"no longer exact", "p = u16[8] parameter(0)\n x = bf16[8] convert(p)\n", "bf16"},
    {"still exact", "p = u16[8] parameter(0)\n x = f32[8] convert(p)\n", "u16"},
    {"back to integers",
     "p = u16[8] parameter(0)\n f = f32[8] convert(p)\n x = s32[8] convert(f)\n", "u16"},
    {"rounded to anything", F32 "x = s32[8] convert(p)\n", "s32"},
    {"payloads of NaN", "p = bf16[8] parameter(0)\n x = f32[8] convert(p)\n", "f32"},
    /* iota */
    {"256 indices", "x = s32[256,2] iota(), iota_dimension=0\n", "u8"},
    {"257 indices", "x = s32[257,2] iota(), iota_dimension=0\n", "u16"},
    {"65536 indices", "x = s32[65536] iota(), iota_dimension=0\n", "u16"},
    {"65537 indices", "x = s32[65537] iota(), iota_dimension=0\n", "s32"},
    {"of 64 bits", "x = s64[65537] iota(), iota_dimension=0\n", "u32"},
    {"along the other dimension", "x = s32[257,2] iota(), iota_dimension=1\n", "u8"},
    {"257 numbers", "x = bf16[257] iota(), iota_dimension=0\n", "bf16"},
    {"258 numbers, rounded", "x = bf16[258] iota(), iota_dimension=0\n", "bf16"},
    {"256 numbers", "x = bf16[256] iota(), iota_dimension=0\n", "u8"},
    /* constants */
    {"a literal", "x = s32[3] constant({1, 2, 255})\n", "u8"},
    {"a negative one", "x = s32[3] constant({1, -2, 127})\n", "s8"},
    {"both", "x = s32[3] constant({1, -2, 128})\n", "s16"},
    {"with comments", "x = s32[2,1] constant({ /*i0=0*/ {7}, /*i0=1*/ {9} })\n", "u8"},
    {"whole numbers", "x = f32[3] constant({1, 2.00, 255})\n", "u8"},
    {"a fraction", "x = f32[3] constant({1, 2.5, 255})\n", "f32"},
    {"an exponent", "x = f32[3] constant({1, 2e1, 255})\n", "f32"},
    {"negative zero", "x = f32[3] constant({1, -0, 255})\n", "f32"},
    {"negative zero with a point", "x = f32[3] constant({1, -0.0, 255})\n", "f32"},
    {"which is none", "x = s32[3] constant({1, -0, 255})\n", "u8"},
    {"infinity", "x = f32[2] constant({1, inf})\n", "f32"},
    {"no number", "x = f32[2] constant({1, nan})\n", "f32"},
    {"too large to be exact", "x = f32[2] constant({1, 16777217})\n", "f32"},
    {"one number for all", "x = s32[3] constant(4)\n", "s32"},
    {"elided", "x = s32[300] constant({...})\n", "s32"},
    {"of pred", "y = pred[2] constant({true, 0})\n x = s32[2] convert(y)\n", "u8"},
    /* arithmetic */
    {"a sum", BYTES "x = s32[8] add(s, s)\n", "u16"},
    {"a sum that wraps", "p = u32[8] parameter(0)\n x = u32[8] add(p, p)\n", "u32"},
    {"a difference", BYTES "x = s32[8] subtract(s, s)\n", "s16"},
    {"unsigned and below zero",
     "p = u8[8] parameter(0)\n s = u32[8] convert(p)\n"
     "x = u32[8] subtract(s, s)\n",
     "u32"},
    {"a product", BYTES "x = s32[8] multiply(s, s)\n", "u16"},
    {"a quotient",
     BYTES CONSTANT("c", "s32", "-300") "n = s32[8] add(s, c)\n" CONSTANT(
         "d", "s32", "3") "x = s32[8] divide(n, d)\n",
     "s8"},
    {"by zero, perhaps", BYTES "x = s32[8] divide(s, s)\n", "s32"},
    {"a remainder",
     "p = u32[8] parameter(0)\n" CONSTANT("c", "u32", "256") "x = u32[8] remainder(p, c)\n", "u8"},
    {"has the dividend's sign", S32 CONSTANT("c", "s32", "100") "x = s32[8] remainder(p, c)\n",
     "s8"},
    {"of something negative, perhaps", BYTES "n = s32[8] negate(s)\n x = s32[8] remainder(s, n)\n",
     "s32"},
    {"bits of a mask", S32 CONSTANT("c", "s32", "255") "x = s32[8] and(p, c)\n", "u8"},
    {"of a negative one", S32 CONSTANT("c", "s32", "-256") "x = s32[8] and(p, c)\n", "s32"},
    {"bits of two", BYTES "x = s32[8] xor(s, s)\n", "u8"},
    {"a shift",
     "p = u32[8] parameter(0)\n" CONSTANT("c", "u32",
                                          "24") "x = u32[8] shift-right-logical(p, c)\n",
     "u8"},
    {"of what may be negative",
     S32 CONSTANT("c", "s32", "24") "x = s32[8] shift-right-logical(p, c)\n", "s32"},
    {"of a sign that the type has not",
     "p = u32[8] parameter(0)\n" CONSTANT("c", "u32",
                                          "24") "x = u32[8] shift-right-arithmetic(p, c)\n",
     "u32"},
    {"of what is positive",
     BYTES CONSTANT("c", "s32", "4") "x = s32[8] shift-right-arithmetic(s, c)\n", "u8"},
    {"by more than the width",
     BYTES CONSTANT("c", "s32", "32") "x = s32[8] shift-right-logical(s, c)\n", "s32"},
    {"between bounds the wrong way round",
     S32 "l = s32[] constant(126)\n h = s32[] constant(-129)\n"
         "x = s32[8] clamp(l, p, h)\n",
     "s16"},
    {"between bounds",
     S32 "l = s32[] constant(-1)\n h = s32[] constant(126)\n"
         "x = s32[8] clamp(l, p, h)\n",
     "s8"},
    {"at most",
     S32 CONSTANT("c", "s32", "9")
         CONSTANT("d", "s32", "-9") "y = s32[8] minimum(p, c)\n x = s32[8] maximum(y, d)\n",
     "s8"},
    {"a magnitude", BYTES "n = s32[8] negate(s)\n x = s32[8] abs(n)\n", "u8"},
    {"that is none", S32 "x = s32[8] abs(p)\n", "s32"},
    {"a sign", S32 "x = s32[8] sign(p)\n", "s8"},
    {"a number of bits", S32 "x = s32[8] popcnt(p)\n", "u8"},
    {"the other bits", BYTES "x = s32[8] not(s)\n", "s32"},
    /* of floating-point numbers that are whole */
    {"counts", MASK "x = f32[8] add(m, m)\n", "u8"},
    {"a difference of counts", MASK "x = f32[8] subtract(m, m)\n", "s8"},
    {"0 negated is another 0", MASK "x = f32[8] negate(m)\n", "f32"},
    {"1 negated", MASK CONSTANT("c", "f32", "1") "y = f32[8] add(m, c)\n x = f32[8] negate(y)\n",
     "s8"},
    {"0 times a negative number", MASK CONSTANT("c", "f32", "-2") "x = f32[8] multiply(m, c)\n",
     "f32"},
    {"0 times a positive number", MASK CONSTANT("c", "f32", "2") "x = f32[8] multiply(m, c)\n",
     "u8"},
    {"what is left of a division", MASK CONSTANT("c", "f32", "2") "x = f32[8] remainder(m, c)\n",
     "f32"},
    {"no longer whole", MASK CONSTANT("c", "f32", "2") "x = f32[8] divide(m, c)\n", "f32"},
    {"whole already", MASK "x = f32[8] floor(m)\n", "u8"},
    {"made whole", F32 "x = f32[8] floor(p)\n", "f32"},
    {"the larger one", MASK CONSTANT("c", "f32", "7") "x = f32[8] maximum(m, c)\n", "u8"},
    {"of which one may be NaN", F32 CONSTANT("c", "f32", "7") "x = f32[8] maximum(p, c)\n", "f32"},
    {"a sign or NaN", F32 "x = f32[8] sign(p)\n", "f32"},
    {"too large for the type",
     "p = u8[8] parameter(0)\n y = bf16[8] convert(p)\n"
     "x = bf16[8] add(y, y)\n",
     "bf16"},
    /* moving */
    {"one of these",
     "q = pred[8] parameter(1)\n" BYTES CONSTANT("c", "s32", "-1") "x = s32[8] select(q, s, c)\n",
     "s16"},
    {"or of those",
     S32 "q = pred[8] parameter(1)\n" CONSTANT("c", "s32", "1") "x = s32[8] select(q, p, c)\n",
     "s32"},
    {"another shape", BYTES "x = s32[2,4] reshape(s)\n", "u8"},
    {"the same bytes", BYTES "x = s32[2,4] bitcast(s)\n", "u8"},
    {"seen as another type", BYTES "x = f32[8] bitcast(s)\n", "f32"},
    {"converted bit by bit", BYTES "x = u32[8] bitcast-convert(s)\n", "u32"},
    {"padded", BYTES "c = s32[] constant(-1)\n x = s32[9] pad(s, c), padding=1_0\n", "s16"},
    {"side by side", BYTES INDEX "x = s32[16] concatenate(s, i), dimensions={0}\n", "u8"},
    {"side by side with anything",
     "q = s32[8] parameter(0)\n" INDEX "x = s32[16] concatenate(i, q), dimensions={0}\n", "s32"},
    {"a part", BYTES "x = s32[2] slice(s), slice={[0:2]}\n", "u8"},
    {"a part somewhere",
     BYTES "q = s32[] parameter(1)\n"
           "x = s32[2] dynamic-slice(s, q), dynamic_slice_sizes={2}\n",
     "u8"},
    {"updated",
     BYTES "q = s32[] parameter(1)\n u = s32[2] constant({256, 1})\n"
           "x = s32[8] dynamic-update-slice(s, u, q)\n",
     "u16"},
    {"gathered",
     BYTES "q = s32[3,1] parameter(1)\n x = s32[3] gather(s, q), offset_dims={}, "
           "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n",
     "u8"},
    {"of a size that is not known", "p = pred[<=8] parameter(0)\n x = s32[<=8] convert(p)\n",
     "s32"},
    {"in tiles", PRED "x = s32[8]{0:T(128)} convert(p)\n", "s32"},
    {"through a tuple",
     BYTES "t = (s32[8], u8[8]) tuple(s, p)\n"
           "u = (s32[8], u8[8]) opt-barrier(t)\n x = s32[8] get-tuple-element(u), index=0\n",
     "u8"},
    {"sorted with others",
     "q = f32[8] parameter(0)\n" INDEX
     "t = (f32[8], s32[8]) sort(q, i), dimensions={0}, to_apply=less\n"
     "x = s32[8] get-tuple-element(t), index=1\n",
     "u8"},
    {"sorted to more than there was",
     INDEX "t = (s32[8], s32[8]) sort(i), dimensions={0}, to_apply=less\n"
           "x = s32[8] get-tuple-element(t), index=1\n",
     "s32"},
    /* reductions */
    {"reduced to more than there was",
     BYTES "c = s32[] constant(0)\n"
           "t = (s32[], s32[]) reduce(s, c), dimensions={0}, to_apply=max\n"
           "x = s32[] get-tuple-element(t), index=1\n",
     "s32"},
    {"by what gives less",
     BYTES "c = s32[] constant(0)\n"
           "t = (s32[], s32[]) reduce(s, s, c, c), dimensions={0}, to_apply=first\n"
           "x = s32[] get-tuple-element(t), index=1\n",
     "s32"},
    {"the largest",
     BYTES "c = s32[] constant(-1)\n x = s32[] reduce(s, c), dimensions={0}, "
           "to_apply=max\n",
     "s16"},
    {"the largest of anything",
     S32 "c = s32[] constant(-1)\n x = s32[] reduce(p, c), "
         "dimensions={0}, to_apply=max\n",
     "s32"},
    {"where the largest is",
     F32 INDEX "l = f32[] constant(-inf)\n c = s32[] constant(0)\n"
               "t = (f32[], s32[]) reduce(p, i, l, c), dimensions={0}, to_apply=argmax\n"
               "x = s32[] get-tuple-element(t), index=1\n",
     "u8"},
    {"and what it is",
     F32 INDEX "l = f32[] constant(-inf)\n c = s32[] constant(0)\n"
               "t = (f32[], s32[]) reduce(p, i, l, c), dimensions={0}, to_apply=argmax\n"
               "x = f32[] get-tuple-element(t), index=0\n",
     "f32"},
    {"where in a window",
     F32 INDEX
     "l = f32[] constant(-inf)\n c = s32[] constant(-1)\n"
     "t = (f32[4], s32[4]) reduce-window(p, i, l, c), window={size=2 stride=2}, to_apply=argmax\n"
     "x = s32[4] get-tuple-element(t), index=1\n",
     "s8"},
    {"a number of ones",
     MASK "z = f32[] constant(0)\n b = f32[256,8] broadcast(m), dimensions={1}\n"
          "x = f32[8] reduce(b, z), dimensions={0}, to_apply=sum\n",
     "u16"},
    {"that are too many",
     "p = pred[8] parameter(0)\n m = f16[8] convert(p)\n z = f16[] constant(0)\n"
     "b = f16[2049,8] broadcast(m), dimensions={1}\n"
     "x = f16[8] reduce(b, z), dimensions={0}, to_apply=sum16\n",
     "f16"},
    {"to which something is added",
     MASK "z = f32[] constant(1)\n"
          "x = f32[] reduce(m, z), dimensions={0}, to_apply=sum\n",
     "f32"},
    {"no number of ones",
     MASK "z = f32[] constant(0)\n"
          "x = f32[] reduce(m, z), dimensions={0}, to_apply=twice\n",
     "f32"},
    /* what is called */
    {"in a fusion", PRED "x = s32[8] fusion(p), kind=kLoop, calls=fused\n", "u8"},
    {"in a fusion of anything", S32 "x = s32[8] fusion(p), kind=kLoop, calls=same\n", "s32"},
    {"in a fusion of this",
     BYTES "y = s32[8] fusion(s), kind=kLoop, calls=same\n"
           "q = s32[8] parameter(1)\n z = s32[8] fusion(q), kind=kLoop, calls=same\n"
           "x = s32[8] copy(y)\n",
     "u8"},
    {"an element of a fusion",
     PRED "f = (s32[8], pred[8]) fusion(p), kind=kLoop, calls=both\n"
          "x = s32[8] get-tuple-element(f), index=0\n",
     "u8"},
    {"in a call", PRED "x = s32[8] call(p), to_apply=fused\n", "u8"},
    {"in a loop", INDEX "x = s32[8] while(i), condition=always, body=same\n", "s32"},
};

/* For the rows: what is called. */
#define COMPS                                                                                    \
  "max { l = s32[] parameter(0)\n r = s32[] parameter(1)\n ROOT m = s32[] maximum(l, r) }\n"     \
  "sum { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT m = f32[] add(l, r) }\n"         \
  "sum16 { l = f16[] parameter(0)\n r = f16[] parameter(1)\n ROOT m = f16[] add(l, r) }\n"       \
  "twice { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT m = f32[] add(l, l) }\n"       \
  "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n"            \
  "d = s32[] parameter(3)\n ROOT m = pred[] compare(a, b), direction=LT }\n"                     \
  "argmax { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"          \
  "k = s32[] parameter(3)\n g = pred[] compare(a, b), direction=GT\n"                            \
  "m = f32[] select(g, a, b)\n n = s32[] select(g, i, k)\n ROOT t = (f32[], s32[]) tuple(m, n) " \
  "}\n"                                                                                          \
  "first { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n"           \
  "d = s32[] parameter(3)\n ROOT t = (s32[]) tuple(a) }\n"                                       \
  "fused { q = pred[8] parameter(0)\n ROOT r = s32[8] convert(q) }\n"                            \
  "same { q = s32[8] parameter(0)\n ROOT r = s32[8] copy(q) }\n"                                 \
  "both { q = pred[8] parameter(0)\n r = s32[8] convert(q)\n"                                    \
  "ROOT t = (s32[8], pred[8]) tuple(r, q) }\n"                                                   \
  "always { q = s32[8] parameter(0)\n ROOT t = pred[] constant(true) }\n"

static const char *type_of_x(const char *comps, const char *body, const char *name) {
  Fixture fixture = fixture_parse_body(comps, body);
  ShapeId *shapes = narrow_shapes(fixture.module, fixture.out, fixture.scratch);
  InstId x = find_inst(fixture.module, "x");
  ck_assert_msg(x != NO_ID, "%s", name);
  const Shape *shape = shape_get(&fixture.module->shapes, shapes[x]);
  ck_assert_int_eq(shape->num_elements, inst_shape(fixture.module, x)->num_elements);
  const char *text = type_info((ElementType)shape->type)->text;
  fixture_free(&fixture);
  return text;
}

START_TEST(type_matches_table) {
  const char *type = type_of_x(COMPS, rows[_i].body, rows[_i].name);
  ck_assert_msg(strcmp(type, rows[_i].type) == 0, "%s: %s, not %s", rows[_i].name, type,
                rows[_i].type);
}
END_TEST

/* Fusions in fusions, beyond the depth that is looked into. */
START_TEST(depth_is_bounded) {
  Arena *arena = arena_new(NULL);
  const char *text = "f0 { q = pred[8] parameter(0)\n ROOT r = s32[8] convert(q) }\n";
  for (int depth = 1; depth < 8; depth++) {
    const char *body =
        arena_printf(arena, PRED "x = s32[8] fusion(p), kind=kLoop, calls=f%d\n", depth - 1);
    ck_assert_str_eq(type_of_x(text, body, "depth"), depth <= 4 ? "u8" : "s32");
    text = arena_printf(arena,
                        "%sf%d { q = pred[8] parameter(0)\n"
                        "ROOT r = s32[8] fusion(q), kind=kLoop, calls=f%d }\n",
                        text, depth, depth - 1);
  }
  arena_free(arena);
}
END_TEST

/* The last number makes the difference. */
START_TEST(long_literals_are_read) {
  static const struct {
    int count;
    const char *type;
  } sizes[] = {{100, "u16"}, {2000, "u16"}, {20000, "s32"}};
  Arena *arena = arena_new(NULL);
  char *text = arena_alloc(arena, 4 * (size_t)sizes[_i].count);
  for (int i = 0; i < sizes[_i].count - 1; i++)
    memcpy(text + 4 * i, "199,", 4);
  text[4 * (sizes[_i].count - 1)] = '\0';
  const char *body =
      arena_printf(arena, "x = s32[%d] constant({%s 60000})\n", sizes[_i].count, text);
  ck_assert_str_eq(type_of_x("", body, "literal"), sizes[_i].type);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("narrow");
  TCase *tc = tcase_create("narrow");
  tcase_add_loop_test(tc, type_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, depth_is_bounded);
  tcase_add_loop_test(tc, long_literals_are_read, 0, 3);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
