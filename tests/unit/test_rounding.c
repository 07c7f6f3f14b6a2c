#include "analysis/flow/rounding.h"

#include <stdio.h>

#include "remat/verify/rounding_tags.h"
#include "remat/verify/verify.h"
#include "support.h"

/* ---- instructions ---- */

/* How the root of a fused computation rounds. a and b are arrays, c is a scalar, d and e are
 * arrays, z is complex, all of them parameters. */
static const struct {
  const char *name, *body;
  RoundingKind kind;
  uint8_t operand;
  bool is_settled;
} rows[] = {
    {"no product", "ROOT r = f32[8] add(a, b)", ROUND_ALONE, 0, true},
    {"a product on the left", "m = f32[8] multiply(a, b)\n ROOT r = f32[8] add(m, d)",
     ROUND_WITH_PRODUCT, 0, true},
    {"a product on the right", "m = f32[8] multiply(a, b)\n ROOT r = f32[8] subtract(d, m)",
     ROUND_WITH_PRODUCT, 1, true},
    {"a product with another sign",
     "m = f32[8] multiply(a, b)\n n = f32[8] negate(m)\n ROOT r = f32[8] add(n, d)",
     ROUND_WITH_PRODUCT, 0, true},
    {"two products",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(d, e)\n ROOT r = f32[8] add(m, n)",
     ROUND_BY_FUNCTION, 0, false},
    {"a difference of two products",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(d, e)\n ROOT r = f32[8] subtract(m, n)",
     ROUND_WITH_PRODUCT, 0, true},
    {"a mean of squares and the square of a mean",
     "k = f32[] constant(64)\n x = f32[8] broadcast(k), dimensions={}\n m = f32[8] divide(a, x)\n"
     " n = f32[8] multiply(b, b)\n ROOT r = f32[8] subtract(m, n)",
     ROUND_WITH_PRODUCT, 1, true},
    {"a difference that becomes a sum",
     "m = f32[8] multiply(a, b)\n o = f32[8] negate(d)\n n = f32[8] multiply(o, e)\n"
     " ROOT r = f32[8] subtract(m, n)",
     ROUND_BY_FUNCTION, 0, false},
    {"a product that a product reads, too",
     "m = f32[8] multiply(a, b)\n s = f32[8] add(m, d)\n n = f32[8] multiply(m, e)\n"
     " ROOT r = f32[8] subtract(s, n)",
     ROUND_WITH_PRODUCT, 1, true},
    {"a sum beside another reader of its product",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(m, e)\n o = f32[8] tanh(n)\n"
     " p = f32[8] divide(o, d)\n q = f32[8] tanh(p)\n s = f32[8] multiply(q, m)\n"
     " t = f32[8] tanh(s)\n u = f32[8] divide(t, d)\n ROOT r = f32[8] add(m, u)",
     ROUND_WITH_SHARED, 0, true},
    {"the product that nothing else reads comes first",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(d, e)\n s = f32[8] add(n, m)\n"
     " o = f32[8] multiply(m, d)\n ROOT r = f32[8] add(s, o)",
     ROUND_WITH_PRODUCT, 1, true},
    {"two products that something else reads",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(d, e)\n o = f32[8] divide(m, n)\n"
     " s = f32[8] add(m, n)\n ROOT r = f32[8] multiply(o, s)",
     ROUND_ALONE, 0, false},
    {"a reader that a condition may leave out",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(m, e)\n p = pred[8] compare(a, b), "
     "direction=LT\n"
     " o = f32[8] select(p, n, a)\n t = f32[8] tanh(o)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, t)",
     ROUND_ALONE, 0, false},
    {"a reader at other indices",
     "m = f32[8] multiply(a, b)\n n = f32[8] reverse(m), dimensions={0}\n"
     " o = f32[8] multiply(n, e)\n t = f32[8] divide(o, e)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, t)",
     ROUND_ALONE, 0, false},
    {"a reader that multiplies by a power of two",
     "m = f32[8] multiply(a, b)\n k = f32[] constant(0.5)\n x = f32[8] broadcast(k), "
     "dimensions={}\n"
     " n = f32[8] multiply(m, x)\n t = f32[8] tanh(n)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, t)",
     ROUND_ALONE, 0, false},
    {"a reader that meets what is not a number",
     "m = f32[8] multiply(a, b)\n k = f32[] constant(nan)\n x = f32[8] broadcast(k), "
     "dimensions={}\n"
     " n = f32[8] multiply(m, e)\n o = f32[8] add(n, x)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, o)",
     ROUND_ALONE, 0, false},
    {"a product that is rounded to fewer digits",
     "m = f32[8] multiply(a, b)\n n = bf16[8] convert(m)\n o = f32[8] convert(n)\n"
     " ROOT r = f32[8] add(o, d)",
     ROUND_ALONE, 0, true},
    {"a product that is converted to more digits",
     "m = f32[8] multiply(a, b)\n n = f64[8] convert(m)\n o = f64[8] convert(d)\n"
     " ROOT r = f64[8] add(n, o)",
     ROUND_WITH_PRODUCT, 0, true},
    {"the same product under another shape",
     "m = f32[8] multiply(a, b)\n v = f32[2,4] bitcast(a)\n w = f32[2,4] bitcast(b)\n"
     " n = f32[2,4] multiply(v, w)\n o = f32[8] bitcast(n)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, o)",
     ROUND_ALONE, 0, false},
    {"the same product twice",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(b, a)\n s = f32[8] add(m, d)\n"
     " ROOT r = f32[8] divide(s, n)",
     ROUND_ALONE, 0, false},
    {"a product that is moved out of the loop",
     "x = f32[8] broadcast(c), dimensions={}\n y = f32[8] broadcast(c), dimensions={}\n"
     " m = f32[8] multiply(x, y)\n ROOT r = f32[8] add(m, d)",
     ROUND_BY_FUNCTION, 0, false},
    {"a product with a number",
     "k = f32[] constant(0.3)\n x = f32[8] broadcast(k), dimensions={}\n"
     " m = f32[8] multiply(a, x)\n ROOT r = f32[8] add(m, d)",
     ROUND_WITH_PRODUCT, 0, true},
    {"a product with a power of two is exact",
     "k = f32[] constant(0.015625)\n x = f32[8] broadcast(k), dimensions={}\n"
     " m = f32[8] multiply(a, x)\n ROOT r = f32[8] add(m, d)",
     ROUND_ALONE, 0, true},
    {"a product with what is nearly a power of two",
     "k = f32[] constant(0.0156250009)\n x = f32[8] broadcast(k), dimensions={}\n"
     " m = f32[8] multiply(a, x)\n ROOT r = f32[8] add(m, d)",
     ROUND_WITH_PRODUCT, 0, true},
    {"a selected product",
     "m = f32[8] multiply(a, b)\n p = pred[8] compare(a, b), direction=LT\n"
     " n = f32[8] select(p, m, a)\n ROOT r = f32[8] add(n, d)",
     ROUND_BY_FUNCTION, 0, false},
    {"tanh ends with a division", "t = f32[8] tanh(a)\n ROOT r = f32[8] add(t, d)", ROUND_ALONE, 0,
     true},
    {"exp may end with a product", "t = f32[8] exponential(a)\n ROOT r = f32[8] add(t, d)",
     ROUND_WITH_PRODUCT, 0, true},
    {"exp may begin with a sum", "m = f32[8] multiply(a, b)\n ROOT r = f32[8] exponential(m)",
     ROUND_WITH_PRODUCT, 0, true},
    {"erf is expanded in two ways", "ROOT r = f32[8] erf(a)", ROUND_BY_FUNCTION, 0, false},
    {"a larger one hides a product",
     "m = f32[8] multiply(a, b)\n n = f32[8] maximum(m, d)\n ROOT r = f32[8] add(n, e)",
     ROUND_ALONE, 0, true},
    {"a complex product is a sum of products", "ROOT r = c64[8] multiply(z, z)", ROUND_BY_FUNCTION,
     0, false},
    {"a reduction adds in an order of its own",
     "k = f32[] constant(0)\n ROOT r = f32[] reduce(a, k), dimensions={0}, to_apply=sum",
     ROUND_BY_FUNCTION, 0, false},
    {"a reduction that compares",
     "k = f32[] constant(0)\n ROOT r = f32[] reduce(a, k), dimensions={0}, to_apply=largest",
     ROUND_ALONE, 0, true},
    {"integers", "m = s32[8] convert(a)\n n = s32[8] multiply(m, m)\n ROOT r = s32[8] add(n, m)",
     ROUND_ALONE, 0, true},
};

#define CALLEES                                                                              \
  "sum {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y)\n}\n"  \
  "largest {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] maximum(x, " \
  "y)\n}\n"

START_TEST(instructions_round_as_the_table_says) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\n" CALLEES
      "ENTRY f {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n c = f32[] parameter(2)\n"
      " d = f32[8] parameter(3)\n e = f32[8] parameter(4)\n z = c64[8] parameter(5)\n %s\n}\n",
      rows[_i].body);
  const Module *module = fixture.module;
  uint32_t *place = arena_array(fixture.scratch, uint32_t, module->insts.len);
  FunctionRounding rounding = rounding_of(module, module->entry, NO_ID, false, EXCESS_PRODUCTS,
                                          place, fixture.out, fixture.scratch);
  Rounding root = rounding.of[place[comp_get(module, module->entry)->root]];
  ck_assert_msg(root.kind == rows[_i].kind, "%s: %d", rows[_i].name, root.kind);
  ck_assert_uint_eq(root.operand, rows[_i].operand);
  ck_assert_msg(rounding.is_settled == rows[_i].is_settled, "%s", rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *name, *body;
  bool is_settled;
} without_contraction[] = {
    {"two products",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(b, c)\n ROOT r = f32[8] add(m, n)", true},
    {"an erf", "ROOT r = f32[8] erf(a)", true},
    {"products that something else reads, too",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(b, c)\n o = f32[8] divide(m, n)\n"
     " s = f32[8] add(m, n)\n ROOT r = f32[8] multiply(o, s)",
     true},
    {"a product of complex numbers",
     "y = c64[8] complex(a, b)\n z = c64[8] multiply(y, y)\n ROOT r = f32[8] real(z)", true},
    {"an exponential of complex numbers",
     "y = c64[8] complex(a, b)\n z = c64[8] exponential(y)\n ROOT r = f32[8] real(z)", true},
    {"a product of matrices of complex numbers",
     "y = c64[8] complex(a, b)\n z = c64[] dot(y, y), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}\n ROOT r = f32[] real(z)",
     false},
};

START_TEST(nothing_is_contracted_on_gpu) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\nENTRY f {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n"
      " c = f32[8] parameter(2)\n %s\n}\n",
      without_contraction[_i].body);
  const Module *module = fixture.module;
  for (int is_gpu = 0; is_gpu < 2; is_gpu++) {
    uint32_t *place = arena_array(fixture.scratch, uint32_t, module->insts.len);
    FunctionRounding rounding = rounding_of(module, module->entry, NO_ID, false,
                                            target_find(is_gpu ? "gpu" : "cpu")->excess, place,
                                            fixture.out, fixture.scratch);
    ck_assert_msg(rounding.is_settled == (is_gpu && without_contraction[_i].is_settled), "%s",
                  without_contraction[_i].name);
    ck_assert(!is_gpu || !rounding.has_products);
  }
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *name, *body;
  bool is_settled;
} without_packing[] = {
    {"sums of products",
     "m = f32[8] multiply(a, b)\n n = f32[8] multiply(b, c)\n ROOT r = f32[8] "
     "add(m, n)",
     true},
    {"a result that is narrowed", "m = f32[8] multiply(a, b)\n ROOT r = bf16[8] convert(m)", true},
    {"a parameter that is widened", "m = f32[8] convert(d)\n ROOT r = f32[8] multiply(m, b)", true},
    {"a value that is narrowed, and widened again",
     "m = f32[8] multiply(a, b)\n n = bf16[8] convert(m)\n ROOT r = f32[8] convert(n)", false},
    {"the same, with something between them that moves it",
     "m = f32[8] multiply(a, b)\n n = bf16[8] convert(m)\n o = bf16[8] reverse(n), dimensions={0}\n"
     " ROOT r = f32[8] convert(o)",
     false},
    {"a value that is narrowed, and compared",
     "m = bf16[8] convert(a)\n n = bf16[8] convert(b)\n ROOT r = pred[8] compare(m, n), "
     "direction=LT",
     false},
    {"narrow arithmetic on a value of narrow arithmetic",
     "m = bf16[8] multiply(d, d)\n ROOT r = bf16[8] add(m, d)", false},
    {"narrow arithmetic on parameters", "ROOT r = bf16[8] multiply(d, d)", true},
    {"integers", "m = s8[8] convert(a)\n ROOT r = f32[8] convert(m)", true},
};

START_TEST(values_may_be_read_before_they_are_narrowed_on_tpu) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\nENTRY f {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n"
      " c = f32[8] parameter(2)\n d = bf16[8] parameter(3)\n %s\n}\n",
      without_packing[_i].body);
  const Module *module = fixture.module;
  uint32_t *place = arena_array(fixture.scratch, uint32_t, module->insts.len);
  FunctionRounding rounding =
      rounding_of(module, module->entry, NO_ID, false, target_find("tpu")->excess, place,
                  fixture.out, fixture.scratch);
  ck_assert_msg(rounding.is_settled == without_packing[_i].is_settled, "%s",
                without_packing[_i].name);
  fixture_free(&fixture);
}
END_TEST

/* Whether a target adds up in the same order in every function. */
static const struct {
  const char *name, *body;
  bool on_gpu, on_tpu;
} ordered[] = {
    {"short columns", "ROOT r = f32[40] reduce(a, k), dimensions={0}, to_apply=sum", true, false},
    {"short rows", "ROOT r = f32[40] reduce(b, k), dimensions={1}, to_apply=sum", false, false},
    {"long columns", "ROOT r = f32[4] reduce(b, k), dimensions={0}, to_apply=sum", false, false},
    {"short columns by their layout", "ROOT r = f32[40] reduce(c, k), dimensions={1}, to_apply=sum",
     true, false},
    {"short columns of columns of one element",
     "ROOT r = f32[4] reduce(d, k), dimensions={1}, to_apply=sum", false, false},
    {"many short columns", "ROOT r = f32[3] reduce(e, k), dimensions={0,1}, to_apply=sum", false,
     false},
    {"one element", "ROOT r = f32[4,40] reduce(d, k), dimensions={2}, to_apply=sum", true, true},
    {"short columns of narrow numbers",
     "l = bf16[] constant(0)\n m = bf16[4,40] convert(a)\n"
     " ROOT r = bf16[40] reduce(m, l), dimensions={0}, to_apply=narrow_sum",
     false, false},
};

START_TEST(sums_are_ordered_where_one_thread_adds_them_up) {
  Fixture fixture =
      fixture_parse_format("HloModule m\n" CALLEES
                           "narrow_sum {\n x = bf16[] parameter(0)\n y = bf16[] parameter(1)\n"
                           " ROOT s = bf16[] add(x, y)\n}\n"
                           "ENTRY f {\n a = f32[4,40] parameter(0)\n b = f32[40,4] parameter(1)\n"
                           " c = f32[40,4]{0,1} parameter(2)\n d = f32[4,40,1] parameter(3)\n"
                           " e = f32[8,4,3] parameter(4)\n k = f32[] constant(0)\n %s\n}\n",
                           ordered[_i].body);
  const Module *module = fixture.module;
  const char *targets[] = {"cpu", "gpu", "tpu"};
  const bool expected[] = {false, ordered[_i].on_gpu, ordered[_i].on_tpu};
  for (int i = 0; i < 3; i++) {
    uint32_t *place = arena_array(fixture.scratch, uint32_t, module->insts.len);
    FunctionRounding rounding =
        rounding_of(module, module->entry, NO_ID, false, target_find(targets[i])->excess, place,
                    fixture.out, fixture.scratch);
    ck_assert_msg(rounding.is_settled == expected[i], "%s on %s", ordered[_i].name, targets[i]);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(parameters_of_nested_computations_may_be_products) {
  Fixture fixture = fixture_parse(
      "HloModule m\nENTRY f {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n"
      " ROOT r = f32[8] add(a, b)\n}\n");
  uint32_t *place = arena_array(fixture.scratch, uint32_t, fixture.module->insts.len);
  FunctionRounding rounding = rounding_of(fixture.module, fixture.module->entry, NO_ID, true,
                                          EXCESS_PRODUCTS, place, fixture.out, fixture.scratch);
  ck_assert(!rounding.is_settled);
  fixture_free(&fixture);
}
END_TEST

/* ---- modules ---- */

#define FUSION(name, body)                                                                        \
  name " {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n c = f32[8] parameter(2)\n " body \
       "\n}\n"
#define ENTRY(body)                                                             \
  "ENTRY e {\n x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n z = f32[8] " \
  "parameter(2)\n " body "\n}\n"
#define CALL(result, name, operands) \
  result " = f32[8] fusion(" operands "), kind=kLoop, calls=" name "\n "

#define CUSTOM(result, name, operands) \
  result " = f32[8] fusion(" operands "), kind=kCustom, calls=" name "\n "

/* What XLA:CPU compiles as one function. */
#define SMALL(body)                                               \
  "s {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n" body  \
  "\n}\n"                                                         \
  "ENTRY e {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n" \
  " ROOT c = f32[] call(x, y), to_apply=s, frontend_attributes={xla_cpu_small_call=\"true\"}\n}\n"

/* Modules that compute the same values, and whether their sums round alike. */
typedef struct Pair {
  const char *name, *before, *after;
  bool rounds_alike;
} Pair;

static const Pair pairs[] = {
    {"a product and a sum are merged",
     FUSION("f", "ROOT m = f32[8] multiply(a, b)") FUSION("g", "ROOT s = f32[8] add(a, c)")
         ENTRY(CALL("p", "f", "x, y, z") CALL("ROOT q", "g", "p, y, z")),
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     false},
    {"a fusion is cloned",
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         ENTRY(CALL("p", "f", "x, y, z") "ROOT q = f32[8] multiply(p, p)"),
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         FUSION("g", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)") ENTRY(
             CALL("p", "f", "x, y, z") CALL("o", "g", "x, y, z") "ROOT q = f32[8] multiply(p, o)"),
     true},
    {"what is certain is merged with a product",
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         FUSION("g", "ROOT s = f32[8] multiply(a, c)")
             ENTRY(CALL("p", "f", "x, y, z") CALL("ROOT q", "g", "p, y, z")),
     FUSION("f",
            "m = f32[8] multiply(a, b)\n s = f32[8] add(m, c)\n ROOT r = f32[8] multiply(s, c)")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     true},
    {"two products compete, and something is merged",
     FUSION("f", "ROOT t = f32[8] tanh(a)") FUSION(
         "g", "m = f32[8] multiply(a, b)\n n = f32[8] multiply(a, c)\n ROOT s = f32[8] add(m, n)")
         ENTRY(CALL("p", "f", "x, y, z") CALL("ROOT q", "g", "p, y, z")),
     FUSION("g",
            "t = f32[8] tanh(a)\n m = f32[8] multiply(t, b)\n n = f32[8] multiply(t, c)\n"
            " ROOT s = f32[8] add(m, n)") ENTRY(CALL("ROOT q", "g", "x, y, z")),
     false},
    {"two products compete in the same fusion with other parameters",
     FUSION("g",
            "m = f32[8] multiply(a, b)\n n = f32[8] multiply(a, c)\n ROOT s = f32[8] add(m, n)")
         ENTRY(CALL("ROOT q", "g", "x, y, z")),
     FUSION("g",
            "m = f32[8] multiply(b, c)\n n = f32[8] multiply(b, a)\n ROOT s = f32[8] add(m, n)")
         ENTRY(CALL("ROOT q", "g", "z, x, y")),
     true},
    {"two products compete, and two parameters become one array",
     FUSION("g",
            "m = f32[8] multiply(a, c)\n n = f32[8] multiply(b, c)\n ROOT s = f32[8] add(m, n)")
         ENTRY("o = f32[8] tanh(x)\n p = f32[8] tanh(x)\n " CALL("ROOT q", "g", "o, p, z")),
     FUSION("g",
            "m = f32[8] multiply(a, c)\n n = f32[8] multiply(b, c)\n ROOT s = f32[8] add(m, n)")
         ENTRY("o = f32[8] tanh(x)\n " CALL("ROOT q", "g", "o, o, z")),
     false},
    {"a fusion is written out",
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     ENTRY("m = f32[8] multiply(x, y)\n ROOT s = f32[8] add(m, z)"), false},
    {"what two fusions compute is cut at a sum",
     FUSION("f", "m = f32[8] multiply(a, b)\n s = f32[8] add(m, c)\n ROOT t = f32[8] tanh(s)")
         FUSION("g", "m = f32[8] multiply(a, b)\n s = f32[8] add(m, c)\n ROOT n = f32[8] negate(s)")
             ENTRY(CALL("p", "f", "x, y, z") CALL("o", "g", "x, y, z") "ROOT q = f32[8] add(p, o)"),
     FUSION("s", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         FUSION("f", "ROOT t = f32[8] tanh(a)") FUSION("g", "ROOT n = f32[8] negate(a)")
             ENTRY(CALL("v", "s", "x, y, z") CALL("p", "f", "v, y, z")
                       CALL("o", "g", "v, y, z") "ROOT q = f32[8] add(p, o)"),
     true},
    {"what two fusions compute is cut at a product",
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         FUSION("g", "m = f32[8] multiply(a, b)\n ROOT n = f32[8] negate(m)")
             ENTRY(CALL("p", "f", "x, y, z") CALL("o", "g", "x, y, z") "ROOT q = f32[8] add(p, o)"),
     FUSION("s", "ROOT m = f32[8] multiply(a, b)") FUSION("f", "ROOT s = f32[8] add(a, c)")
         FUSION("g", "ROOT n = f32[8] negate(a)") ENTRY(CALL("v", "s", "x, y, z") CALL(
             "p", "f", "v, y, z") CALL("o", "g", "v, y, z") "ROOT q = f32[8] add(p, o)"),
     false},
    {"a fusion without products is written out",
     FUSION("f", "m = f32[8] add(a, b)\n ROOT s = f32[8] add(m, c)")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     ENTRY("m = f32[8] add(x, y)\n ROOT s = f32[8] add(m, z)"), true},
    {"a product gets a second reader",
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         FUSION("g", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] multiply(m, c)") ENTRY(
             CALL("p", "f", "x, y, z") CALL("o", "g", "x, y, p") "ROOT q = f32[8] multiply(p, o)"),
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)") FUSION(
         "g", "m = f32[8] multiply(a, b)\n s = f32[8] add(m, c)\n ROOT r = f32[8] multiply(m, s)")
         ENTRY(CALL("p", "f", "x, y, z")
                   CALL("o", "g", "x, y, z") "ROOT q = f32[8] multiply(p, o)"),
     false},
    {"a kernel of another code generator is cloned",
     FUSION("f", "ROOT t = f32[8] tanh(a)")
         ENTRY(CUSTOM("p", "f", "x, y, z") "ROOT q = f32[8] multiply(p, p)"),
     FUSION("f", "ROOT t = f32[8] tanh(a)") FUSION("g", "ROOT t = f32[8] tanh(a)") ENTRY(
         CUSTOM("p", "f", "x, y, z") CUSTOM("o", "g", "x, y, z") "ROOT q = f32[8] multiply(p, o)"),
     true},
    {"a kernel of another code generator is written out",
     FUSION("f", "ROOT t = f32[8] tanh(a)") ENTRY(CUSTOM("ROOT q", "f", "x, y, z")),
     ENTRY("ROOT t = f32[8] tanh(x)"), false},
    {"a kernel of another code generator becomes a loop",
     FUSION("f", "ROOT t = f32[8] tanh(a)") ENTRY(CUSTOM("ROOT q", "f", "x, y, z")),
     FUSION("f", "ROOT t = f32[8] tanh(a)") ENTRY(CALL("ROOT q", "f", "x, y, z")), false},
    {"an erf is merged with what XLA:CPU's code generator of tiles cannot do",
     FUSION("f", "ROOT t = f32[8] erf(a)") FUSION("g", "ROOT s = f32[8] reverse(a), dimensions={0}")
         ENTRY(CALL("p", "f", "x, y, z") CALL("ROOT q", "g", "p, y, z")),
     FUSION("f", "t = f32[8] erf(a)\n ROOT s = f32[8] reverse(t), dimensions={0}")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     false},
    {"an erf is cloned",
     FUSION("f", "ROOT t = f32[8] erf(a)")
         ENTRY(CALL("p", "f", "x, y, z") "ROOT q = f32[8] multiply(p, p)"),
     FUSION("f", "ROOT t = f32[8] erf(a)") FUSION("g", "ROOT t = f32[8] erf(a)") ENTRY(
         CALL("p", "f", "x, y, z") CALL("o", "g", "x, y, z") "ROOT q = f32[8] multiply(p, o)"),
     true},
    {"a small call is cloned", SMALL("m = f32[] multiply(x, y)\n ROOT s = f32[] add(m, y)"),
     SMALL("m = f32[] multiply(x, y)\n ROOT s = f32[] add(m, y)"), true},
    {"a product in a small call is computed twice",
     SMALL("m = f32[] multiply(x, y)\n n = f32[] add(m, y)\n ROOT s = f32[] multiply(n, m)"),
     SMALL("m = f32[] multiply(x, y)\n n = f32[] add(m, y)\n b = f32[] opt-barrier(m)\n"
           " ROOT s = f32[] multiply(n, b)"),
     false},
    {"a small call is written out", SMALL("m = f32[] multiply(x, y)\n ROOT s = f32[] add(m, y)"),
     "ENTRY e {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n m = f32[] multiply(x, y)\n"
     " ROOT s = f32[] add(m, y)\n}\n",
     false},
};

/* The same on XLA:TPU. */
#define NARROW "ENTRY e {\n x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n "
static const Pair pairs_on_tpu[] = {
    {"a product and a sum are merged",
     FUSION("f", "ROOT m = f32[8] multiply(a, b)") FUSION("g", "ROOT s = f32[8] add(a, c)")
         ENTRY(CALL("p", "f", "x, y, z") CALL("ROOT q", "g", "p, y, z")),
     FUSION("f", "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, c)")
         ENTRY(CALL("ROOT q", "f", "x, y, z")),
     true},
    {"what is narrowed and what is widened are merged",
     "f {\n a = f32[8] parameter(0)\n ROOT n = bf16[8] convert(a)\n}\n"
     "g {\n a = bf16[8] parameter(0)\n ROOT w = f32[8] convert(a)\n}\n" NARROW
     "p = bf16[8] fusion(x), kind=kLoop, calls=f\n "
     "ROOT q = f32[8] fusion(p), kind=kLoop, calls=g\n}\n",
     "f {\n a = f32[8] parameter(0)\n n = bf16[8] convert(a)\n ROOT w = f32[8] "
     "convert(n)\n}\n" NARROW "ROOT q = f32[8] fusion(x), kind=kLoop, calls=f\n}\n",
     false},
    {"what is narrowed is merged with what it is computed from",
     "f {\n a = f32[8] parameter(0)\n ROOT n = f32[8] negate(a)\n}\n"
     "g {\n a = f32[8] parameter(0)\n ROOT w = bf16[8] convert(a)\n}\n" NARROW
     "p = f32[8] fusion(x), kind=kLoop, calls=f\n "
     "ROOT q = bf16[8] fusion(p), kind=kLoop, calls=g\n}\n",
     "f {\n a = f32[8] parameter(0)\n n = f32[8] negate(a)\n ROOT w = bf16[8] "
     "convert(n)\n}\n" NARROW "ROOT q = bf16[8] fusion(x), kind=kLoop, calls=f\n}\n",
     true},
    {"a function that narrows and widens is cloned",
     "f {\n a = f32[8] parameter(0)\n n = bf16[8] convert(a)\n ROOT w = f32[8] "
     "convert(n)\n}\n" NARROW
     "p = f32[8] fusion(x), kind=kLoop, calls=f\n ROOT q = f32[8] multiply(p, p)\n}\n",
     "f {\n a = f32[8] parameter(0)\n n = bf16[8] convert(a)\n ROOT w = f32[8] convert(n)\n}\n"
     "g {\n a = f32[8] parameter(0)\n n = bf16[8] convert(a)\n ROOT w = f32[8] "
     "convert(n)\n}\n" NARROW
     "p = f32[8] fusion(x), kind=kLoop, calls=f\n o = f32[8] fusion(x), kind=kLoop, calls=g\n"
     " ROOT q = f32[8] multiply(p, o)\n}\n",
     true},
};

/* Two slices are multiplied and added up; what they are slices of has `a` and `b` of them. */
#define SLICED(a, b)                                                                              \
  "HloModule m\nsum {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, " \
  "y)\n"                                                                                          \
  "}\nf {\n p = f32[" a ",8] parameter(0)\n q = f32[" b                                           \
  ",8] parameter(1)\n"                                                                            \
  " i = s32[] parameter(2)\n o = s32[] constant(0)\n k = f32[] constant(0)\n"                     \
  " c = f32[1,8] dynamic-slice(p, i, o), dynamic_slice_sizes={1,8}\n"                             \
  " d = f32[1,8] dynamic-slice(q, i, o), dynamic_slice_sizes={1,8}\n"                             \
  " m = f32[1,8] multiply(c, d)\n"                                                                \
  " ROOT r = f32[1] reduce(m, k), dimensions={1}, to_apply=sum\n}\n"                              \
  "ENTRY e {\n x = f32[" a ",8] parameter(0)\n y = f32[" b                                        \
  ",8] parameter(1)\n"                                                                            \
  " i = s32[] parameter(2)\n ROOT r = f32[1] fusion(x, y, i), kind=kLoop, calls=f\n}\n"

/* Whether a function that adds numbers up is the same one with arrays of other sizes. */
static const struct {
  const char *before, *after;
  bool is_same;
} sliced[] = {
    {SLICED("6", "6"), SLICED("6", "6"), true},  {SLICED("6", "6"), SLICED("3", "3"), true},
    {SLICED("6", "6"), SLICED("3", "6"), false}, {SLICED("6", "6"), SLICED("6", "3"), false},
    {SLICED("6", "5"), SLICED("6", "3"), true},  {SLICED("6", "5"), SLICED("3", "3"), false},
    {SLICED("6", "6"), SLICED("1", "1"), false},
};

static Fixture parse_module(const char *text) {
  return fixture_parse_format("HloModule m, is_scheduled=true\n%s", text);
}

/* Tiles tell that XLA:TPU has made the text. */
static Fixture parse_tiled(const char *text) {
  return fixture_parse_format(
      "HloModule m, is_scheduled=true\ntiled {\n ROOT a = f32[8]{0:T(256)} parameter(0)\n}\n%s",
      text);
}

static void check_pair(const Pair *pair, Fixture (*parse)(const char *text)) {
  Fixture before = parse(pair->before), after = parse(pair->after);
  rh_status any = verify_modules(before.module, after.module, true, false, NULL, after.scratch);
  rh_status same = verify_modules(before.module, after.module, true, true, NULL, after.scratch);
  ck_assert_msg(any == RH_OK, "%s: %d", pair->name, (int)any);
  ck_assert_msg(same == (pair->rounds_alike ? RH_OK : RH_NOT_EQUIVALENT), "%s: %d", pair->name,
                (int)same);
  fixture_free(&after);
  fixture_free(&before);
}

START_TEST(rounding_is_compared) {
  check_pair(&pairs[_i], parse_module);
}
END_TEST

START_TEST(rounding_is_compared_on_tpu) {
  check_pair(&pairs_on_tpu[_i], parse_tiled);
}
END_TEST

/* The number of what the fusion of a module computes. */
static ValueNumber function_of(const Fixture *fixture, Numbering *numbering) {
  RoundingTags tags = rounding_tags_make(fixture->module, &known_targets[0], numbering,
                                         fixture->out, fixture->scratch);
  InstId fusion = comp_get(fixture->module, fixture->module->entry)->root;
  return tags.number_of[inst_callees(fixture->module, fusion)[0]];
}

START_TEST(sizes_of_sliced_arrays_are_compared) {
  Fixture before = fixture_parse(sliced[_i].before), after = fixture_parse(sliced[_i].after);
  Numbering numbering = numbering_make(before.out);
  ValueNumber a = function_of(&before, &numbering), b = function_of(&after, &numbering);
  ck_assert_uint_ne(a, NO_ID);
  ck_assert((a == b) == sliced[_i].is_same);
  fixture_free(&after);
  fixture_free(&before);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rounding");
  TCase *tc = tcase_create("rounding");
  tcase_add_loop_test(tc, instructions_round_as_the_table_says, 0,
                      (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tc, values_may_be_read_before_they_are_narrowed_on_tpu, 0,
                      (int)(sizeof without_packing / sizeof *without_packing));
  tcase_add_loop_test(tc, nothing_is_contracted_on_gpu, 0,
                      (int)(sizeof without_contraction / sizeof *without_contraction));
  tcase_add_loop_test(tc, sums_are_ordered_where_one_thread_adds_them_up, 0,
                      (int)(sizeof ordered / sizeof *ordered));
  tcase_add_test(tc, parameters_of_nested_computations_may_be_products);
  tcase_add_loop_test(tc, rounding_is_compared, 0, (int)(sizeof pairs / sizeof *pairs));
  tcase_add_loop_test(tc, rounding_is_compared_on_tpu, 0,
                      (int)(sizeof pairs_on_tpu / sizeof *pairs_on_tpu));
  tcase_add_loop_test(tc, sizes_of_sliced_arrays_are_compared, 0,
                      (int)(sizeof sliced / sizeof *sliced));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
