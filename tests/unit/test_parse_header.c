/* The HloModule line and the tables of source locations. */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

#define ENTRY                                                                                \
  "\n\nENTRY e {\n  a = f32[2] parameter(0)\n  b = (f32[2], (s32[], f32[3])) parameter(1)\n" \
  "  ROOT t = (f32[2], (f32[2], (s32[], f32[3]))) tuple(a, b)\n}\n"

static const char *const accepted[] = {
    "is_scheduled=true",
    "is_scheduled=false",
    "is_scheduled= true",
    "alias_passthrough_params=true",
    "replica_count=2",
    "replica_count=0",
    "num_partitions=-1", /* nobody looks at it */
    "num_partitions=8, replica_count=1",
    "input_output_alias={}",
    "input_output_alias={ {0}: (0, {}, may-alias) }",
    "input_output_alias={ {0}: (0, {}), {1,0}: (1, {0}, must-alias), }",
    "input_output_alias={{}: (0, {})}",
    "input_output_alias={ {0}: (7, {}), {1}: (1, {5}) }", /* no such parameter, no such part */
    "input_output_alias={ {0}: (0, {}), {0}: (1, {}) }",
    "buffer_donor={}",
    "buffer_donor={ (0, {}), (1, {1,1}), (99, {}) }",
    "entry_computation_layout={(f32[2]{0}, (f32[2]{0}, (s32[], "
    "f32[3]{0})))->(f32[2]{0}, (f32[2]{0}, (s32[], /*index=2*/f32[3]{0})))}",
    "entry_computation_layout={(f32[2], (f32[2], (s32[], f32[3])), )->(f32[2], (f32[2], (s32[], "
    "f32[3])))}",
    "entry_computation_layout={()->f32[]}", /* not compared with the entry */
    "entry_computation_layout={()->f32[]}, input_output_alias={ {1,1,0}: (1, {}) }", /* the root's
                                                                                      */
    "allow_spmd_sharding_propagation_to_parameters=true",
    "allow_spmd_sharding_propagation_to_parameters={true,false}",
    "allow_spmd_sharding_propagation_to_output={}",
    "allow_spmd_sharding_propagation_to_output=false",
    "frontend_attributes={}",
    "frontend_attributes={fingerprint=\"a\",b={\"c\":\"}\"}}",
    "backend_config={\"a\": {}}",
    "backend_config=\"a\"",
    "origin_recovery_table={}",
    "origin_recovery_table={ {\"a\"} : {\"b\"} }",
    "origin_recovery_table={ {\"a\" {0,1}} : {} {\"b\"} : {\"c\"} }",
    "origin_recovery_table={ {\"a\"} : {\"b\"}, \"HloModule r\\nENTRY e { p = f32[] "
    "parameter(0) }\" {\"c\"} : {\"d\"} }",
    "debug_attributes={}",
    "debug_attributes={ {\"a\"}:{log_mode=default} }",
    "debug_attributes={ {\"a\" {0}}:({log_mode=fusion_debugger,callback_id=1},{op_id=2,"
    "partitioned=true}), {}:() }",
    "is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {0}) }, "
    "alias_passthrough_params=true, replica_count=2, num_partitions=4, "
    "frontend_attributes={a=\"b\"}",
};

static char *module_of(const char *attrs) {
  size_t room = sizeof ENTRY + strlen(attrs) + 32;
  char *text = malloc(room);
  snprintf(text, room, "HloModule m, %s" ENTRY, attrs);
  return text;
}

START_TEST(accepted_attributes) {
  char *text = module_of(accepted[_i]);
  check_accepted(text, strlen(text), 0);
  free(text);
}
END_TEST

static const struct {
  const char *attrs, *why;
} refused[] = {
    {"", "an attribute after ','"},
    {"is_scheduled", "an attribute after ','"},
    {"is_scheduled=1", "true or false"},
    {"is_scheduled=\"true\"", "true or false"},
    {"is_scheduled=true,", "an attribute after ','"},
    {"is_scheduled=true, is_scheduled=true", "given twice"},
    {"is_scheduled=true replica_count=2", "replica_count"},
    {"scheduled=true", "a module has no attribute 'scheduled'"},
    {"replica_count=x", "an integer"},
    {"replica_count=1.5", "an integer"},
    {"input_output_alias={ 0: (0, {}) }", "'{' before a shape index"},
    {"input_output_alias={ {0} (0, {}) }", "':' after the output's index"},
    {"input_output_alias={ {0}: 0 }", "'(' before the parameter"},
    {"input_output_alias={ {0}: (0) }", "',' after the parameter's number"},
    {"input_output_alias={ {0}: (-1, {}) }", "parameter numbers begin at 0"},
    {"input_output_alias={ {0}: (0, {}, other) }", "may-alias or must-alias"},
    {"input_output_alias={ {0}: (0, {}, may-alias, x) }", "')' to close the parameter"},
    {"input_output_alias={ {2}: (0, {}) }", "an output that the entry does not have"},
    {"input_output_alias={ {0,0}: (0, {}) }", "an output that the entry does not have"},
    {"input_output_alias={ {0}: (0, {}) {1}: (1, {}) }", "'}' to close the aliases"},
    {"buffer_donor={ 0 }", "'(' before the parameter"},
    {"buffer_donor={ (-1, {}) }", "parameter numbers begin at 0"},
    {"buffer_donor={ (0, {}, may-alias) }", "')' to close the buffer donor"},
    {"entry_computation_layout=(f32[2])->f32[2]", "'{' before the entry's layout"},
    {"entry_computation_layout={f32[2]->f32[2]}", "'(' before the parameters"},
    {"entry_computation_layout={(f32[2])}", "'->' before the result"},
    {"entry_computation_layout={(a: f32[2])->f32[2]}", "a shape"},
    {"entry_computation_layout={(f32[2])->f32[2]", "'}' to close the entry's layout"},
    {"allow_spmd_sharding_propagation_to_output={true,}", "true or false"},
    {"allow_spmd_sharding_propagation_to_output=1", "true or false"},
    {"frontend_attributes={a=b}", "a string or a JSON dict"},
    {"backend_config=[]", "a string or a JSON dict"},
    {"origin_recovery_table={ {\"a\"} {\"b\"} }", "':' between the original arrays"},
    {"origin_recovery_table={ {\"a\"} : {\"b\"}, \"HloModule\" }",
     "recovery module does not parse"},
    {"origin_recovery_table={ {\"a\"} : {\"b\"}, }", "a string"},
    {"debug_attributes={ {\"a\"}:{} }", "log_mode=, callback_id="},
    {"debug_attributes={ {\"a\"}:{log_mode=other} }", "default or fusion_debugger"},
    {"debug_attributes={ {\"a\"}:{op_id=x} }", "an integer"},
    {"debug_attributes={ {\"a\"}:{partitioned=1} }", "true or false"},
    {"debug_attributes={ {\"a\"} }", "':' after the original array"},
};

START_TEST(refused_attributes_say_why) {
  char *text = module_of(refused[_i].attrs);
  check_refused(text, strlen(text), refused[_i].why);
  free(text);
}
END_TEST

/* XLA overlooks that a parameter's number is missing. */
static const char *const overlooked[] = {
    "input_output_alias={ {0}: (, {}) }",
    "buffer_donor={ (, {0}) }",
};

START_TEST(missing_numbers_are_warned_about) {
  char *text = module_of(overlooked[_i]);
  check_accepted(text, strlen(text), 1);
  free(text);
}
END_TEST

START_TEST(aliases_name_parts) {
  char *text = module_of(
      "input_output_alias={ {1,1,1}: (1, {1,1}, must-alias), {0}: (0, {}), {1}: (9, {}), {}: (1, "
      "{4}) "
      "}, buffer_donor={ (1, {1}), (1, {7}), (5, {}) }, alias_passthrough_params=true, "
      "replica_count=3, num_partitions=7");
  Module *module = parse_or_fail(text);
  const ModuleHeader *header = &module->source->header;
  /* Parts of the root: 0 the tuple, 1 a, 2 b, 3 b{0}, 4 b{1}, 5 b{1,0}, 6 b{1,1}. */
  static const OutputAlias aliases[] = {
      {6, 1, 4, true, 0}, {1, 0, 0, false, 0}, {2, 9, NO_ID, false, 0}, {0, 1, NO_ID, false, 0}};
  ck_assert_uint_eq(header->aliases.len, 4);
  for (uint32_t i = 0; i < 4; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    ck_assert_uint_eq(alias->output_part, aliases[i].output_part);
    ck_assert_int_eq(alias->param, aliases[i].param);
    ck_assert_uint_eq(alias->param_part, aliases[i].param_part);
    ck_assert_int_eq(alias->is_must_alias, aliases[i].is_must_alias);
    ck_assert_int_eq(text[alias->offset], '{');
  }
  static const BufferDonor donors[] = {{1, 2, 0}, {1, NO_ID, 0}, {5, NO_ID, 0}};
  ck_assert_uint_eq(header->donors.len, 3);
  for (uint32_t i = 0; i < 3; i++) {
    ck_assert_int_eq(header->donors.data[i].param, donors[i].param);
    ck_assert_uint_eq(header->donors.data[i].param_part, donors[i].param_part);
    ck_assert_int_eq(text[header->donors.data[i].offset], '(');
  }
  ck_assert(header->alias_passthrough_params);
  ck_assert_int_eq(header->replica_count, 3);
  ck_assert_int_eq(header->num_partitions, 7);
  ck_assert(!header->has_entry_layout);
  module_free(module);
  free(text);
}
END_TEST

START_TEST(entry_layout_is_kept) {
  char *text = module_of(
      "entry_computation_layout={(f32[2]{0:S(5)}, (f32[2], (s32[], f32[3])))->(f32[2], (f32[2], "
      "(s32[], f32[3]{0:S(1)})))}");
  Module *module = parse_or_fail(text);
  const ModuleHeader *header = &module->source->header;
  ck_assert(header->has_entry_layout);
  ck_assert_uint_eq(header->entry_params.len, 2);
  ck_assert_int_eq(shape_memory_space(shape_get(&module->shapes, header->entry_params.data[0])), 5);
  ck_assert_uint_eq(shape_get(&module->shapes, header->entry_result)->num_parts, 7);
  module_free(module);
  free(text);
}
END_TEST

/* Where an attribute is put or changed when the schedule is. */
START_TEST(places_of_the_header_are_known) {
  static const struct {
    const char *text;
    bool is_scheduled;
    const char *printed; /* with the other value */
  } cases[] = {
      {"HloModule m\nENTRY e { p = f32[] parameter(0) }", false,
       "HloModule m, is_scheduled=true\nENTRY e { p = f32[] parameter(0) }"},
      {"HloModule %m , replica_count=1 // c\nENTRY e { p = f32[] parameter(0) }", false,
       "HloModule %m, is_scheduled=true , replica_count=1 // c\nENTRY e { p = f32[] parameter(0) "
       "}"},
      {"HloModule m, is_scheduled= false\nENTRY e { p = f32[] parameter(0) }", false,
       "HloModule m, is_scheduled= true\nENTRY e { p = f32[] parameter(0) }"},
      {"HloModule m, is_scheduled=true, replica_count=1\nENTRY e { p = f32[] parameter(0) }", true,
       "HloModule m, is_scheduled=false, replica_count=1\nENTRY e { p = f32[] parameter(0) }"},
      {"ENTRY e { p = f32[] parameter(0) }", false,
       "HloModule module_e, is_scheduled=true\n\nENTRY e { p = f32[] parameter(0) }"},
      {"// c\r\ne { p = f32[] parameter(0) }", false,
       "HloModule module_e, is_scheduled=true\r\n\r\n// c\r\ne { p = f32[] parameter(0) }"},
  };
  Module *module = parse_or_fail(cases[_i].text);
  ck_assert_int_eq(module->source->header.is_scheduled, cases[_i].is_scheduled);
  Arena *arena = arena_new(NULL);
  Schedule schedule = schedule_in_text_order(module, arena);
  char *printed = print_or_fail(module, &schedule,
                                cases[_i].is_scheduled ? PRINT_UNSCHEDULED : PRINT_SCHEDULED, NULL);
  ck_assert_str_eq(printed, cases[_i].printed);
  free(printed);
  printed = print_or_fail(module, &schedule,
                          cases[_i].is_scheduled ? PRINT_SCHEDULED : PRINT_UNSCHEDULED, NULL);
  ck_assert_str_eq(printed, cases[_i].text);
  free(printed);
  arena_free(arena);
  module_free(module);
}
END_TEST

/* ---- tables of source locations ---- */

#define TABLES(files, functions, locations, frames)                                              \
  "HloModule m\n\nFileNames\n" files "\nFunctionNames\n" functions "\nFileLocations\n" locations \
  "\nStackFrames\n" frames "\nENTRY e { p = f32[] parameter(0), metadata={stack_frame_id=2} }\n"
#define LOCATION "{file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}"

static const struct {
  const char *text, *why; /* NULL: accepted */
} tables[] = {
    {TABLES("", "", "", ""), NULL},
    {TABLES("1 \"a.py\"\n2 \"b.py\"\n", "1 'f'\n", "1 " LOCATION "\n",
            "1 {file_location_id=1 parent_frame_id=1}\n"),
     NULL},
    {TABLES("7 \"a.py\" 7 \"b.py\"", "", "", ""), NULL}, /* the numbers do not count */
    {TABLES("", "",
            "1 {end_column=6, column=5, end_line=4, line=3, function_name_id=2, "
            "file_name_id=1}",
            "1 {parent_frame_id=5,file_location_id=9}"),
     NULL},
    {TABLES("1 a.py", "", "", ""), "a string"},
    {TABLES("\"a.py\"", "", "", ""), "FunctionNames"},
    {TABLES("", "", "1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5}", ""),
     "end_column is missing"},
    {TABLES("", "", "1 {file_name_id=1 file_name_id=1}", ""), "file_name_id is given twice"},
    {TABLES("", "", "1 {file=1}", ""), "no field 'file'"},
    {TABLES("", "", "1 {line=2147483648}", ""), "32 bits"},
    {TABLES("", "", "1 {line=x}", ""), "an integer"},
    {TABLES("", "", "1 {}", ""), "file_name_id is missing"},
    {TABLES("", "", "1 {line=1,,column=2}", ""), "a field or '}'"},
    {TABLES("", "", "", "1 {file_location_id=1}"), "parent_frame_id is missing"},
    {TABLES("", "", "", "{file_location_id=1 parent_frame_id=1}"), "a computation"},
    {"HloModule m\nFileNames\nFileLocations\nENTRY e { p = f32[] parameter(0) }", "FunctionNames"},
    {"HloModule m\nFileNames\nFunctionNames\nENTRY e { p = f32[] parameter(0) }", "FileLocations"},
    {"HloModule m\nFileNames\nFunctionNames\nFileLocations\nENTRY e { p = f32[] parameter(0) }",
     "StackFrames"},
    {"HloModule m\nFunctionNames\nENTRY e { p = f32[] parameter(0) }", "a name"},
    {"FileNames\nFunctionNames\nFileLocations\nStackFrames\nENTRY e { p = f32[] parameter(0) }",
     ""},
};

START_TEST(tables_match_table) {
  if (tables[_i].why) {
    check_refused(tables[_i].text, strlen(tables[_i].text), tables[_i].why);
  } else {
    check_accepted(tables[_i].text, strlen(tables[_i].text), 0);
  }
}
END_TEST

START_TEST(tables_are_kept) {
  Module *module = parse_or_fail(TABLES(
      "1 \"a.py\"\n2 \"b\\\"c.py\"\n", "1 \"f\"\n2 \"\"\n", "1 " LOCATION "\n",
      "1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=1 parent_frame_id=2}\n"));
  const ModuleSource *source = module->source;
  ck_assert_uint_eq(source->file_names.len, 2);
  ck_assert(str_is(module_span(module, source->file_names.data[0]), "a.py"));
  ck_assert(str_is(module_span(module, source->file_names.data[1]), "b\\\"c.py"));
  ck_assert_uint_eq(source->function_names.len, 2);
  ck_assert(str_is(module_span(module, source->function_names.data[1]), ""));
  ck_assert_uint_eq(source->file_locations.len, 1);
  ck_assert_int_eq(source->file_locations.data[0].file_name_id, 1);
  ck_assert_int_eq(source->file_locations.data[0].function_name_id, 2);
  ck_assert_int_eq(source->file_locations.data[0].line, 3);
  ck_assert_uint_eq(source->stack_frames.len, 2);
  ck_assert_int_eq(source->stack_frames.data[0].parent_frame_id, 0); /* 1 in the text: none */
  ck_assert_int_eq(source->stack_frames.data[1].parent_frame_id, 1);
  ck_assert_int_eq(inst_metadata(module, find_inst(module, "p"))->stack_frame_id, 2);
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_header");
  TCase *tc = tcase_create("parse_header");
  tcase_add_loop_test(tc, accepted_attributes, 0, sizeof accepted / sizeof *accepted);
  tcase_add_loop_test(tc, refused_attributes_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_loop_test(tc, missing_numbers_are_warned_about, 0,
                      sizeof overlooked / sizeof *overlooked);
  tcase_add_test(tc, aliases_name_parts);
  tcase_add_test(tc, entry_layout_is_kept);
  tcase_add_loop_test(tc, places_of_the_header_are_known, 0, 6);
  tcase_add_loop_test(tc, tables_match_table, 0, sizeof tables / sizeof *tables);
  tcase_add_test(tc, tables_are_kept);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
