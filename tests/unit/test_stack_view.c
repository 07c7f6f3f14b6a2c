#include "analysis/loop/stack_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* A stack with slices along a dimension, another shape with the same bytes, and the dimension of
 * its slices; -1 if they are not the same pieces of memory. */
static const struct {
  const char *array;
  uint32_t dim;
  const char *view;
  int view_dim;
} rows[] = {
    {"f32[6,2,4]{1,2,0}", 0, "f32[6,4,2]{2,1,0}", 0},
    {"f32[6,2,4]{2,1,0}", 0, "f32[6,8]{1,0}", 0},
    {"f32[2,6,4]{2,0,1}", 1, "f32[6,8]{1,0}", 0},
    {"f32[6,8]{1,0}", 0, "f32[8,6]{0,1}", 1},
    {"f32[6,8]{1,0}", 0, "f32[1,6,1,8]{3,2,1,0}", 1},
    {"f32[1,6,8]{2,1,0}", 1, "f32[6,8]{1,0}", 0},
    /* not the outermost dimension */
    {"f32[6,2,4]{1,2,0}", 1, "f32[6,4,2]{2,1,0}", 2},
    {"f32[6,8]{0,1}", 0, "f32[8,6]{1,0}", 1},
    {"f32[6,4,8]{2,0,1}", 0, "f32[4,6,8]{2,1,0}", 1},
    {"f32[4,6,8]{2,1,0}", 1, "f32[2,2,6,8]{3,2,1,0}", 2},
    {"f32[4,6,8]{2,1,0}", 1, "f32[4,1,6,2,4]{4,3,2,1,0}", 2},
    {"f32[6,4,8]{2,0,1}", 0, "f32[6,4,8]{2,1,0}", -1},
    {"f32[4,6,8]{2,1,0}", 1, "f32[2,12,8]{2,1,0}", -1},
    {"f32[4,4,8]{2,1,0}", 1, "f32[8,2,8]{2,1,0}", -1},
    {"f32[2,6,4]{2,1,0}", 1, "f32[2,24]{1,0}", -1},
    /* other numbers of slices, or another type */
    {"f32[6,8]{1,0}", 0, "f32[12,4]{1,0}", -1},
    {"f32[6,8]{1,0}", 0, "f32[3,16]{1,0}", -1},
    {"f32[6,8]{1,0}", 0, "s32[6,8]{1,0}", -1},
    {"f32[1,8]{1,0}", 0, "f32[8]{0}", -1},
    /* tiles */
    {"f32[6,8,128]{2,1,0:T(8,128)}", 0, "f32[6,1,8,128]{3,2,1,0:T(8,128)}", 0},
    {"f32[6,8,128]{2,1,0:T(8,128)}", 0, "f32[48,128]{1,0:T(8,128)}", -1},
    {"f32[16,128]{1,0:T(8,128)}", 0, "f32[16,1,128]{2,1,0:T(8,128)}", -1},
    {"f32[8,6,128]{2,1,0:T(8,128)}", 1, "f32[8,6,128]{2,1,0:T(8,128)}", -1},
    {"f32[16,1,128]{2,1,0:T(1,128)}", 0, "f32[16,128]{1,0:T(8,128)}", -1},
};

START_TEST(views_have_the_slices_of_the_table) {
  char text[400];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n p = %s parameter(0)\n v = %s parameter(1)\n"
           " ROOT t = (%s, %s) tuple(p, v)\n}\n",
           rows[_i].array, rows[_i].view, rows[_i].array, rows[_i].view);
  Fixture fixture = fixture_parse(text);
  InstId root = comp_get(fixture.module, fixture.module->entry)->root;
  const Shape *array = inst_shape(fixture.module, inst_operand(fixture.module, root, 0));
  const Shape *view = inst_shape(fixture.module, inst_operand(fixture.module, root, 1));
  uint32_t dim = 99;
  bool has_slices = shape_dim_in_view(array, rows[_i].dim, view, &dim);
  ck_assert_msg(has_slices == (rows[_i].view_dim >= 0), "%s as %s", rows[_i].array, rows[_i].view);
  ck_assert_msg(!has_slices || dim == (uint32_t)rows[_i].view_dim, "%s as %s: %u", rows[_i].array,
                rows[_i].view, dim);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stack_view");
  TCase *tc = tcase_create("stack_view");
  tcase_add_loop_test(tc, views_have_the_slices_of_the_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
