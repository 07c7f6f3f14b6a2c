#include "ir/written_shape.h"

#include "support.h"

#define BODY(scalar) "x = " scalar " parameter(0)\n y = " scalar " negate(x)\n"

static const struct {
  const char *text; /* of the entry's instructions */
  ElementType type;
  const char *scalar, *context;
} rows[] = {
    {BODY("s32[]"), TYPE_S32, "s32[]", "u32[]"},
    {BODY("s32[]"), TYPE_PRED, "pred[]", "u32[]"},
    {BODY("s32[]{:T(128)}"), TYPE_S32, "s32[]{:T(128)}", "u32[]{:S(2)}"},
    {BODY("s32[]{:T(128)}"), TYPE_BF16, "bf16[]{:T(256)}", "u32[]{:S(2)}"},
    {BODY("bf16[]{:T(256)}"), TYPE_PRED, "pred[]{:T(512)}", "u32[]{:S(2)}"},
    {BODY("bf16[]{:T(256)}"), TYPE_C128, "c128[]{:T(32)}", "u32[]{:S(2)}"},
    /* what is elsewhere or is packed is another kind */
    {BODY("s32[]{:T(128)S(6)}"), TYPE_S32, "s32[]", "u32[]"},
    {BODY("s32[]{:T(128)S(6)}") "z = s32[]{:T(64)} copy(y)\n", TYPE_S32, "s32[]{:T(64)}",
     "u32[]{:S(2)}"},
    {BODY("s4[]{:T(128)E(4)}"), TYPE_S4, "s4[]", "u32[]"},
    /* before layouts are assigned, only some parameters have them */
    {BODY("f32[]") "z = s32[]{:T(128)} parameter(1)\n a = s32[] negate(z)\n b = s32[] negate(a)\n",
     TYPE_S32, "s32[]", "u32[]"},
    {BODY("f32[]") "z = s32[]{:T(128)} parameter(1)\n", TYPE_S32, "s32[]{:T(128)}", "u32[]"},
    {BODY("f32[8]{0:T(128)}"), TYPE_F32, "f32[]", "u32[]"},
};

static const char *text_of(const Fixture *fixture, ShapeId shape) {
  Str text = shape_text(&fixture->module->shapes, shape, true, fixture->out);
  return arena_strndup(fixture->out, text.data, text.len);
}

START_TEST(scalars_match_table) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module =
      parse_or_fail(arena_printf(fixture.out, "HloModule m\nENTRY e {\n%s}\n", rows[_i].text));
  ShapeTable *table = &fixture.module->shapes;
  WrittenShapes written = written_shapes_find(fixture.module, fixture.scratch);
  ShapeId scalar = written_scalar(&written, table, rows[_i].type);
  ShapeId context = written_context(&written, table);
  check_text(text_of(&fixture, scalar), rows[_i].scalar, rows[_i].text);
  check_text(text_of(&fixture, context), rows[_i].context, rows[_i].text);
  fixture_free(&fixture);
}
END_TEST

/* The tiles that an array gets which has those of its slice and one dimension more. */
static const struct {
  const char *known, *tiles;
} arrays[] = {
    {"f32[3,16]{1,0:T(8,128)}", "f32[12,16]{1,0:T(16)}"},
    {"f32[12,16]{1,0:T(8,128)}", "f32[12,16]{1,0:T(8,128)}"},
    {"f32[12,16]{1,0:T(8,128)S(1)}", "f32[12,16]{1,0:T(16)}"},
    {"f32[12,16]{0,1:T(8,128)}", "f32[12,16]{1,0:T(16)}"},
    {"bf16[12,16]{1,0:T(8,128)}", "f32[12,16]{1,0:T(16)}"},
    {"f32[12,16]{1,0}", "f32[12,16]{1,0:T(16)}"},
};

START_TEST(arrays_take_tiles_of_their_kind) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module = parse_or_fail(arena_printf(
      fixture.out, "HloModule m\nENTRY e { x = %s parameter(0) }\n", arrays[_i].known));
  ShapeTable *table = &fixture.module->shapes;
  const LayoutExtras extras = {
      .tail_padding = 1, .num_tile_words = 2, .tile_words = (const int64_t[]){1, 16}};
  ArraySpec spec = {
      .type = TYPE_F32, .rank = 2, .dims = (const int64_t[]){12, 16}, .extras = &extras};
  ShapeId shape = written_array(table, &spec);
  check_text(text_of(&fixture, shape), arrays[_i].tiles, arrays[_i].known);
  spec.extras = NULL;
  shape = written_array(table, &spec);
  check_text(text_of(&fixture, shape), "f32[12,16]{1,0}", "no tiles");
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("written_shape");
  TCase *tc = tcase_create("written_shape");
  tcase_add_loop_test(tc, scalars_match_table, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tc, arrays_take_tiles_of_their_kind, 0,
                      (int)(sizeof arrays / sizeof *arrays));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
