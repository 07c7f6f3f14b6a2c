/* Texts as fmt lays them out. */
#include <stdio.h>
#include <stdlib.h>

#include "remat_hlo.h"
#include "support.h"

typedef struct Buffer {
  char *text;
  size_t length;
} Buffer;

static int append(void *context, const char *data, size_t length) {
  Buffer *buffer = context;
  buffer->text = realloc(buffer->text, buffer->length + length + 1);
  memcpy(buffer->text + buffer->length, data, length);
  buffer->length += length;
  buffer->text[buffer->length] = '\0';
  return 0;
}

/* The text as fmt writes it; free() it. Writing that once more must make no difference. */
static char *format_or_fail(const char *text, const rh_format_options *options) {
  Buffer buffers[2] = {{NULL, 0}, {NULL, 0}};
  for (int i = 0; i < 2; i++) {
    const char *source = i ? buffers[0].text : text;
    rh_module *module = NULL;
    rh_diags *diags = rh_diags_new();
    rh_status status = rh_parse(source, strlen(source), NULL, &module, diags);
    ck_assert_msg(status == RH_OK, "%s\n%s",
                  rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "", source);
    ck_assert_int_eq(rh_format(module, options, append, &buffers[i], NULL), RH_OK);
    rh_module_free(module);
    rh_diags_free(diags);
  }
  ck_assert_str_eq(buffers[0].text, buffers[1].text);
  free(buffers[1].text);
  return buffers[0].text;
}

/* ---- instructions ---- */

#define HEADER "HloModule m\n"
#define ADD \
  "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n"
#define ENTRY                        \
  HEADER ADD                         \
      "ENTRY e {\n"                  \
      " p = f32[8,8] parameter(0)\n" \
      " s = f32[] parameter(1)\n"    \
      " t = (f32[8,8], (s32[2], token[])) parameter(2)\n "

/* A line of the entry computation `e`, and as it is written; the last line that is. */
static const struct {
  const char *line, *wanted;
} line_cases[] = {
    /* shapes and operands */
    {"n = negate(p)", "ROOT %n = f32[8,8]{1,0} negate(%p)"},
    {"ROOT  n =f32 [8,8] {0,1}negate( f32[8,8] p )", "ROOT %n = f32[8,8]{0,1} negate(%p)"},
    {"n = (f32[],f32[],f32[],f32[],f32[],f32[]) tuple(s,s,s,s,s,s)",
     "ROOT %n = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[]) tuple(%s, %s, %s, %s, %s, "
     "/*index=5*/%s)"},
    {"n = f32[8,8]{1,0:T(8,128)(2,1)S(1)} copy(p)",
     "ROOT %n = f32[8,8]{1,0:T(8,128)(2,1)S(1)} copy(%p)"},
    {"n = add(s, multiply(s, s))", "ROOT %n = f32[] add(%s, %multiply.anon)"},
    {"n = tuple(t#0, t#1#0)", "ROOT %n = (f32[8,8]{1,0}, s32[2]{0}) tuple(%t_0, %t_1_0)"},
    /* literals */
    {"n = f32[] constant( -1.50 )", "ROOT %n = f32[] constant(-1.50)"},
    {"n = f32[3] constant({1 2,,3})", "ROOT %n = f32[3]{0} constant({1, 2, 3})"},
    {"n = f32[2,2] constant({{1,2},{3,4}})",
     "ROOT %n = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })"},
    {"n = f32[2,1] constant({{1},{2}})", "ROOT %n = f32[2,1]{1,0} constant({ {1}, {2} })"},
    {"n = f32[2,0] constant({{},{}})", "ROOT %n = f32[2,0]{1,0} constant({ {}, {} })"},
    {"n = f32[0,2] constant({})", "ROOT %n = f32[0,2]{1,0} constant({  })"},
    {"n = s8[2,1,1,2] constant({{{{1,2}}},{{{3,4}}}})",
     "ROOT %n = s8[2,1,1,2]{3,2,1,0} constant({ { /*i0=0*/ { /*i1=0*/ { 1, 2 } } }, "
     "{ /*i0=1*/ { /*i1=0*/ { 3, 4 } } } })"},
    {"n = c64[2] constant({(1,2),(nan,-inf)})",
     "ROOT %n = c64[2]{0} constant({(1, 2), (nan, -inf)})"},
    {"n = f32[4,4] constant({ ... })", "ROOT %n = f32[4,4]{1,0} constant({...})"},
    {"n = (s32[2],(f32[],f32[1]),()) constant(({1,2},(3,{4}),()))",
     "ROOT %n = (s32[2]{0}, (f32[], f32[1]{0}), ()) constant(( {1, 2}, ( 3, {4} ), () ))"},
    {"n = f32[] constant( , )", "ROOT %n = f32[] constant(,)"},
    {"n = (s8[],s8[],s8[]) constant((1,,,3))",
     "ROOT %n = (s8[], s8[], s8[]) constant(( 1, ,, 3 ))"},
    {"n = f32[2] constant(1)", "ROOT %n = f32[2]{0} constant(1)"},
    /* attributes: order, blanks, what goes without saying */
    {"n = f32[8,8] copy(p), metadata={source_line=3,op_name=\"b\"op_type='a' source_column=0}, "
     "backend_config={ \"a\": 1 },control-predecessors={s , %p}, sharding={ devices=[2,1]<= [2]}",
     "ROOT %n = f32[8,8]{1,0} copy(%p), sharding={devices=[2,1]<=[2]}, control-predecessors={%s, "
     "%p}, metadata={op_type='a' op_name=\"b\" source_line=3}, backend_config={ \"a\": 1 }"},
    {"n = f32[8,8] copy(p), backend_config=\"{\\\"a\\\": 1}\", "
     "frontend_attributes={z=\"1\", a={1}, b=\"{1\", z=\"2\"}",
     "ROOT %n = f32[8,8]{1,0} copy(%p), frontend_attributes={a={1},b=\"{1\",z=\"2\"}, "
     "backend_config={\"a\": 1}"},
    {"n = f32[8,8] copy(p), backend_config=\"a\nb\"",
     "ROOT %n = f32[8,8]{1,0} copy(%p), backend_config=\"a\\nb\""},
    {"n = f32[4] slice(p), slice={ [0:4:1],[2 : 3] }",
     "ROOT %n = f32[4]{0} slice(%p), slice={[0:4], [2:3]}"},
    {"n = f32[4] slice(p), slice={[0:4:2],[2:3]}",
     "ROOT %n = f32[4]{0} slice(%p), slice={[0:4:2], [2:3:1]}"},
    {"n = f32[8] reduce-window(p, s), window={stride=1x1 pad=0_1x0_0 size=2x2}, to_apply=%add",
     "ROOT %n = f32[8]{0} reduce-window(%p, %s), window={size=2x2 pad=0_1x0_0}, to_apply=%add"},
    {"n = f32[8] all-reduce(s), to_apply=add, channel_id=1, use_global_device_ids=false",
     "ROOT %n = f32[8]{0} all-reduce(%s), channel_id=1, replica_groups={}, to_apply=%add"},
    {"n = f32[8] all-reduce(s), to_apply=add, replica_groups={{0, 1}, {2 ,3}}",
     "ROOT %n = f32[8]{0} all-reduce(%s), replica_groups={{0,1},{2,3}}, to_apply=%add"},
    {"n = f32[8] all-reduce(s), to_apply=add, replica_groups=[2,4] <= [4,2] T(1,0)",
     "ROOT %n = f32[8]{0} all-reduce(%s), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=%add"},
    {"n = f32[8,8] dot(p, p), rhs_contracting_dims={0}, lhs_contracting_dims={1}, "
     "operand_precision={HIGH, default}",
     "ROOT %n = f32[8,8]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={high,default}"},
    {"n = pred[] compare(s, s), type=FLOAT, direction=LT",
     "ROOT %n = pred[] compare(%s, %s), direction=LT"},
    {"n = pred[] compare(s, s), type=TOTALORDER, direction=LT",
     "ROOT %n = pred[] compare(%s, %s), direction=LT, type=TOTALORDER"},
    {"n = f32[8] custom-call(p,s), to_apply=add, custom_call_target=\"x\", literal=(s32[]1,f32[2]"
     "{0}{1,2}), operand_layout_constraints={f32[8,8]{0,1},f32[]}, "
     "output_to_operand_aliasing={{}:(0,{1,0}),{1} :(1,{})}",
     "ROOT %n = f32[8]{0} custom-call(%p, %s), custom_call_target=\"x\", "
     "operand_layout_constraints={f32[8,8]{0,1}, f32[]}, literal=( s32[] 1, f32[2]{0} {1, 2} ), "
     "output_to_operand_aliasing={{}: (0, {1,0}), {1}: (1, {})}, called_computations={%add}"},
    {"n = f32[] exponential(s), origin={({\"a\"},{\"b\" {0,1}})}, "
     "statistics={visualizing_index=0, x=1.5}, result_accuracy={mode=highest}",
     "ROOT %n = f32[] exponential(%s), statistics={visualizing_index=0,x=1.5}, "
     "result_accuracy={mode=highest}, origin={({\"a\"}, {\"b\" {0,1}})}"},
    {"n = ((f32[]), f32[], s32[]) exponential-start(s), async_execution_thread=\"x\"",
     "ROOT %n = ((f32[]), f32[], s32[]) exponential-start(%s), async_execution_thread=\"x\""},
    /* shardings */
    {"n = f32[8,8] copy(p), sharding={devices=[2,1,2]0,1, 2,3 last_tile_dims={manual} "
     "metadata={op_name=\"x\"}}",
     "ROOT %n = f32[8,8]{1,0} copy(%p), sharding={devices=[2,1,2]0,1,2,3 last_tile_dims={manual} "
     "metadata={op_name=\"x\"}}"},
    {"n = f32[8,8] copy(p), sharding={mesh['a'=2,'b'=4][{'a','b':(1)2},{?}],metadata={op_name="
     "\"x\"}}",
     "ROOT %n = f32[8,8]{1,0} copy(%p), sharding={mesh['a'=2,'b'=4], [{'a', 'b':(1)2}, {?}], "
     "metadata={op_name=\"x\"}}"},
    {"n = (f32[],f32[],f32[],f32[],f32[],f32[]) tuple(s,s,s,s,s,s), "
     "sharding={{replicated},{replicated},{replicated},{replicated},{replicated},{maximal "
     "device=1}}",
     "ROOT %n = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[]) tuple(%s, %s, %s, %s, %s, "
     "/*index=5*/%s), sharding={{replicated}, {replicated}, {replicated}, {replicated}, "
     "{replicated}, /*index=5*/{maximal device=1}}"},
    {"n = f32[8,8] domain(p), domain={kind=\"sharding\" entry={maximal device=0},exit={manual}}",
     "ROOT %n = f32[8,8]{1,0} domain(%p), domain={kind=\"sharding\" entry={maximal device=0}, "
     "exit={manual}}"},
};

/* The last line before the entry's `}`, without its indentation. */
static char *last_line(char *text) {
  char *end = strstr(text, "\n}\n\n");
  for (char *next; (next = strstr(end + 1, "\n}\n\n"));)
    end = next;
  *end = '\0';
  char *begin = strrchr(text, '\n');
  return begin + 3;
}

START_TEST(lines_are_laid_out) {
  char text[4096];
  snprintf(text, sizeof text, "%s%s\n}\n", ENTRY, line_cases[_i].line);
  char *got = format_or_fail(text, NULL);
  check_text(last_line(got), line_cases[_i].wanted, line_cases[_i].line);
  free(got);
}
END_TEST

/* ---- modules ---- */

static const struct {
  const char *what, *text;
  rh_format_options options;
  const char *wanted;
} module_cases[] = {
    {"a module without header, signature, ROOT and ENTRY",
     "f {\r\n p = f32[2] parameter(0)\r\n /* x */ n = f32[2] negate(p) // y\r\n}\r\n",
     {sizeof(rh_format_options), false, false, false},
     "HloModule module_f, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n\n"
     "ENTRY %f (p: f32[2]) -> f32[2] {\n"
     "  %p = f32[2]{0} parameter(0)\n"
     "  ROOT %n = f32[2]{0} negate(%p)\n"
     "}\n\n"},
    {"a single instruction",
     "f32[2] add(f32[2], f32[2] x)",
     {sizeof(rh_format_options), false, false, false},
     "HloModule _, is_scheduled=true, "
     "entry_computation_layout={(f32[2]{0}, f32[2]{0})->f32[2]{0}}\n\n"
     "ENTRY %_ (_0: f32[2], x: f32[2]) -> f32[2] {\n"
     "  %_0 = f32[2]{0} parameter(0)\n"
     "  %x = f32[2]{0} parameter(1)\n"
     "  ROOT %_ = f32[2]{0} add(%_0, %x)\n"
     "}\n\n"},
    {"comments before the module",
     "\n// a  \r\n\r\n\r\n/* b\r\n c */ HloModule m // d\nENTRY e {\n ROOT p = f32[] "
     "parameter(0)\n}\n"
     "// e\n",
     {sizeof(rh_format_options), false, false, false},
     "// a\n\n/* b\n c */\nHloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
     "ENTRY %e (p: f32[]) -> f32[] {\n"
     "  ROOT %p = f32[] parameter(0)\n"
     "}\n\n"},
    {"a header in another order",
     "HloModule m, num_partitions=1, frontend_attributes={b=\"1\",a={}}, replica_count=2, "
     "buffer_donor={(0,{})}, input_output_alias={{0}:(0,{}),{1,2}: (1,{3,4},must-alias)}, "
     "is_scheduled=true, allow_spmd_sharding_propagation_to_output={true, false}, "
     "entry_computation_layout={(f32[2])->(f32[2],(f32[],f32[],f32[]))}\n"
     "ENTRY e {\n p = f32[2] parameter(0)\n q = (f32[],f32[],f32[]) custom-call(), "
     "custom_call_target=\"x\"\n ROOT t = (f32[2],(f32[],f32[],f32[])) tuple(p, q)\n}\n",
     {sizeof(rh_format_options), true, false, false},
     "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1,2}: (1, "
     "{3,4}, must-alias) }, buffer_donor={ (0, {}) }, "
     "entry_computation_layout={(f32[2]{0})->(f32[2]{0}, (f32[], f32[], f32[]))}, "
     "allow_spmd_sharding_propagation_to_output={true,false}, replica_count=2, "
     "frontend_attributes={a={},b=\"1\"}\n\n"
     "ENTRY e {\n"
     "  p = f32[2]{0} parameter(0)\n"
     "  q = (f32[], f32[], f32[]) custom-call(), custom_call_target=\"x\"\n"
     "  ROOT t = (f32[2]{0}, (f32[], f32[], f32[])) tuple(p, q)\n"
     "}\n\n"},
    {"names that are none without %",
     "HloModule m\nENTRY e {\n %true = f32[] parameter(0)\n ROOT %ROOT = f32[] negate(%true), "
     "control-predecessors={%true}\n}\n",
     {sizeof(rh_format_options), true, false, false},
     "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
     "ENTRY e {\n"
     "  %true = f32[] parameter(0)\n"
     "  ROOT %ROOT = f32[] negate(%true), control-predecessors={%true}\n"
     "}\n\n"},
    {"computations inside of attributes, in their order",
     "HloModule m\nENTRY e {\n p = s32[] parameter(0)\n ROOT w = s32[] while(p), body={x = s32[] "
     "parameter(0)}, condition={ x = s32[] parameter(0) ROOT y = pred[] constant(true)}, "
     "metadata={op_name=\"w\"}\n}, execution_thread=\"x\"\n",
     {sizeof(rh_format_options), false, false, false},
     "HloModule m, entry_computation_layout={(s32[])->s32[]}\n\n"
     "ENTRY %e (p: s32[]) -> s32[] {\n"
     "  %p = s32[] parameter(0)\n"
     "  ROOT %w = s32[] while(%p), body={\n"
     "    ROOT %x = s32[] parameter(0)\n"
     "  }, condition={\n"
     "    %x = s32[] parameter(0)\n"
     "    ROOT %y = pred[] constant(true)\n"
     "  }, metadata={op_name=\"w\"}\n"
     "}, execution_thread=\"x\"\n\n"},
    {"operands without a line whose names are taken",
     "HloModule m\nENTRY e {\n p = (f32[], f32[]) parameter(0)\n n = f32[] negate(p#1)\n"
     " p_1 = f32[] add(p#0, negate(n))\n ROOT r = f32[] copy(p_1)\n}\n",
     {sizeof(rh_format_options), false, false, false},
     "HloModule m, entry_computation_layout={((f32[], f32[]))->f32[]}\n\n"
     "ENTRY %e (p: (f32[], f32[])) -> f32[] {\n"
     "  %p = (f32[], f32[]) parameter(0)\n"
     "  %n = f32[] negate(%p#1)\n"
     "  %p_1 = f32[] add(%p#0, f32[] negate(%n))\n"
     "  ROOT %r = f32[] copy(%p_1)\n"
     "}\n\n"},
#define LOCATED                                                                                    \
  "HloModule m\nFileNames\n7 \"a\"\nFunctionNames\n7 \"f\"\nFileLocations\n1 {function_name_id=1," \
  " file_name_id=1 line=2 end_line=3 column=4 end_column=5}\nStackFrames\n1 {parent_frame_id=1 "   \
  "file_location_id=1}\nENTRY e {\n ROOT p = f32[] parameter(0), sharding={replicated "            \
  "metadata={{source_line=3},{op_name=\"y\"}}}, metadata={op_name=\"x\" source_file=\"b\" "        \
  "stack_frame_id=1}\n}\n"
    {"tables of source locations",
     LOCATED,
     {sizeof(rh_format_options), false, false, false},
     "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
     "FileNames\n1 \"a\"\n\n"
     "FunctionNames\n1 \"f\"\n\n"
     "FileLocations\n1 {file_name_id=1 function_name_id=1 line=2 end_line=3 column=4 "
     "end_column=5}\n\n"
     "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
     "ENTRY %e (p: f32[]) -> f32[] {\n"
     "  ROOT %p = f32[] parameter(0), sharding={replicated metadata={{source_line=3}, "
     "{op_name=\"y\"}}}, metadata={op_name=\"x\" source_file=\"b\" stack_frame_id=1}\n"
     "}\n\n"},
    {"without locations",
     LOCATED,
     {sizeof(rh_format_options), false, false, true},
     "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
     "ENTRY %e (p: f32[]) -> f32[] {\n"
     "  ROOT %p = f32[] parameter(0), sharding={replicated metadata={{op_name=\"y\"}}}, "
     "metadata={op_name=\"x\"}\n"
     "}\n\n"},
    {"without metadata",
     LOCATED,
     {sizeof(rh_format_options), false, true, false},
     "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
     "ENTRY %e (p: f32[]) -> f32[] {\n"
     "  ROOT %p = f32[] parameter(0), sharding={replicated}\n"
     "}\n\n"},
    {"layouts that are none",
     "HloModule m\nENTRY e {\n p = f32[2]{7} parameter(0)\n t = tuple(p)\n}\n",
     {sizeof(rh_format_options), false, false, false},
     "HloModule m\n\n"
     "ENTRY %e {\n"
     "  %p = f32[2]{7} parameter(0)\n"
     "  ROOT %t = tuple(%p)\n"
     "}\n\n"},
    {"tables of the header, a row a line",
     "HloModule m, debug_attributes={{\"a\" {0}}:{callback_id=1, partitioned=true},{\"b\"}:()}, "
     "origin_recovery_table={{\"a\"}:{\"b\"},\"ENTRY e {\r\n ROOT p = f32[] parameter(0) }\" "
     "{\"c\"} : {\"d\"}}\nENTRY e {\n ROOT p = f32[] parameter(0)\n}\n",
     {sizeof(rh_format_options), false, false, false},
     "HloModule m, entry_computation_layout={(f32[])->f32[]}, origin_recovery_table={\n"
     "  {\"a\"} : {\"b\"},\n"
     "  \"ENTRY e {\n ROOT p = f32[] parameter(0) }\"\n"
     "  {\"c\"} : {\"d\"}\n"
     "}\n,\n"
     "debug_attributes={\n"
     "  {\"a\" {0}}:{callback_id=1,partitioned=true},\n"
     "  {\"b\"}:()\n"
     "}\n\n"
     "ENTRY %e (p: f32[]) -> f32[] {\n"
     "  ROOT %p = f32[] parameter(0)\n"
     "}\n\n"},
};

START_TEST(modules_are_laid_out) {
  char *got = format_or_fail(module_cases[_i].text, &module_cases[_i].options);
  check_text(got, module_cases[_i].wanted, module_cases[_i].what);
  free(got);
}
END_TEST

/* Shapes that the text leaves to be inferred must not make it exponentially longer. */
START_TEST(inferred_shapes_stay_small) {
  char text[8192];
  int length = snprintf(text, sizeof text, "HloModule m\nENTRY e {\n t0 = f32[] parameter(0)\n");
  for (int i = 1; i <= 20; i++) {
    length += snprintf(text + length, sizeof text - (size_t)length, " t%d = tuple(t%d, t%d)\n", i,
                       i - 1, i - 1);
  }
  snprintf(text + length, sizeof text - (size_t)length, "}\n");
  char *got = format_or_fail(text, NULL);
  ck_assert_uint_lt(strlen(got), 200000);
  ck_assert_ptr_nonnull(strstr(got, "%t20 = tuple(%t19, %t19)"));
  free(got);
}
END_TEST

/* A module that was changed since it was read is formatted as it is now. */
START_TEST(scheduled_modules_are_formatted) {
  const char *text = "HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = negate(p) }";
  rh_module *module = NULL, *scheduled = NULL;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, NULL), RH_OK);
  Buffer buffer = {NULL, 0};
  ck_assert_int_eq(rh_format(scheduled, NULL, append, &buffer, NULL), RH_OK);
  check_text(buffer.text,
             "HloModule m, is_scheduled=true, "
             "entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n\n"
             "ENTRY %e (p: f32[2]) -> f32[2] {\n"
             "  %p = f32[2]{0} parameter(0)\n"
             "  ROOT %n = f32[2]{0} negate(%p)\n"
             "}\n\n",
             "a scheduled module");
  free(buffer.text);
  rh_module_free(scheduled);
  rh_module_free(module);
}
END_TEST

static int refuse(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 1;
}

START_TEST(failing_writes_are_reported) {
  const char *text = "ENTRY e { ROOT p = f32[2] parameter(0) }";
  rh_module *module = NULL;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_format(module, NULL, refuse, NULL, NULL), RH_ERR_WRITE);
  rh_module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("format");
  TCase *tc = tcase_create("format");
  tcase_add_loop_test(tc, lines_are_laid_out, 0, sizeof line_cases / sizeof *line_cases);
  tcase_add_loop_test(tc, modules_are_laid_out, 0, sizeof module_cases / sizeof *module_cases);
  tcase_add_test(tc, inferred_shapes_stay_small);
  tcase_add_test(tc, scheduled_modules_are_formatted);
  tcase_add_test(tc, failing_writes_are_reported);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
