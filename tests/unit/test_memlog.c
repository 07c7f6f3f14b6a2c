#include "emit/memlog/memlog.h"

#include <cjson/cJSON.h>

#include "emit_fixture.h"

static const char *memlog(Measured *measured, MemlogFormat format) {
  TextBuffer captured;
  Writer *writer = capture_begin(&captured, measured);
  MemlogOptions options = {.format = format, .model = measured->model};
  emit_memlog(measured->module, &measured->schedule, &measured->memory, measured->marks, &options,
              writer, measured->scratch);
  return capture_end(&captured, writer, measured);
}

/* The line that contains `part`, without its newline. */
static const char *line_with(const char *text, const char *part, Arena *out) {
  const char *found = strstr(text, part);
  ck_assert_msg(found != NULL, "'%s' is not in\n%s", part, text);
  const char *begin = found;
  while (begin > text && begin[-1] != '\n')
    begin--;
  return arena_strndup(out, begin, strcspn(begin, "\n"));
}

/* ---- CSV ---- */

START_TEST(csv_is_as_documented) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  measured.marks[find_inst(measured.module, "r")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("r.0")};
  measured.marks[find_inst(measured.module, "big")].kind = REMAT_KIND_MOVED;
  measured.marks[find_inst(measured.module, "z")].kind = REMAT_KIND_HELPER;
  ck_assert_str_eq(memlog(&measured, MEMLOG_CSV),
                   "computation,position,instruction,opcode,bytes,memory_bytes,peak_so_far_bytes,"
                   "remat,original,op_name,source_file,source_line\n"
                   "body,0,p,parameter,1044,0,0,none,,,,\n"
                   "body,1,i,get-tuple-element,4,0,0,none,,,,\n"
                   "body,2,x,get-tuple-element,1024,0,0,none,,,,\n"
                   "body,3,y,exponential,1024,0,0,none,,\"jit(f)/exp, \"\"fast\"\"\",\"a,b.py\","
                   "1007\n"
                   "body,4,t,tuple,1044,0,0,none,,,,\n"
                   "cond,0,q,parameter,1044,0,0,none,,,,\n"
                   "cond,1,j,get-tuple-element,4,0,0,none,,,,\n"
                   "cond,2,n,constant,4,4,4,none,,,,\n"
                   "cond,3,less,compare,1,4,4,none,,,,\n"
                   "main,0,a,parameter,1024,0,0,none,,a,model.py,42\n"
                   "main,1,zero,constant,4,4,4,none,,,,\n"
                   "main,2,big,broadcast,4096,4100,4100,moved,,,,\n"
                   "main,3,init,tuple,1044,4116,4116,none,,,,\n"
                   "main,4,loop,while,1044,4120,4120,none,,,,\n"
                   "main,5,z,get-tuple-element,1024,4112,4120,helper,,,,\n"
                   "main,6,r,negate,4096,4096,4120,clone,r.0,,,\n"
                   "main,7,out,tuple,5136,0,4120,none,,,,\n");
  measured_free(&measured);
}
END_TEST

/* Gives the entry's first parameter a name that no text could. */
static void rename_param(Measured *measured, const char *name, size_t len) {
  InstId param = id_list(measured->module, comp_get(measured->module, 0)->params)[0];
  inst_get(measured->module, param)->name = name;
  inst_get(measured->module, param)->name_len = (uint32_t)len;
}

static const struct {
  const char *name;
  size_t len;
  const char *csv, *json;
} name_cases[] = {
    {"plain", 5, ",plain,", "\"plain\""},
    {"a,b", 3, ",\"a,b\",", "\"a,b\""},
    {"\"q\"", 3, ",\"\"\"q\"\"\",", "\"\\\"q\\\"\""},
    {"two\nlines\r", 10, ",\"two\nlines\r\",", "\"two\\nlines\\r\""},
    {"back\\slash", 10, ",back\\slash,", "\"back\\\\slash\""},
    {"\x01\x1f", 2, ",\x01\x1f,", "\"\\u0001\\u001f\""},
    {"\xC3\xA9", 2, ",\xC3\xA9,", "\"\xC3\xA9\""},
    {"bad\xFF", 4, ",bad\xEF\xBF\xBD,", "\"bad\xEF\xBF\xBD\""},
    {"a\0b", 3,
     ",a\xEF\xBF\xBD"
     "b,",
     "\"a\xEF\xBF\xBD"
     "b\""},
    {"", 0, ",,", "null"},
};

START_TEST(names_of_any_bytes_are_written) {
  Measured measured =
      measure_text("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }", "liveness");
  rename_param(&measured, name_cases[_i].name, name_cases[_i].len);
  char *csv = arena_printf(measured.out, "\ne,0%sparameter,4,4,4,none,,,,\n", name_cases[_i].csv);
  check_has(memlog(&measured, MEMLOG_CSV), csv);
  char *json = arena_printf(measured.out, ",\"instruction\":%s,", name_cases[_i].json);
  check_has(memlog(&measured, MEMLOG_JSONL), json);
  cJSON *object = cJSON_Parse(measured.text);
  ck_assert_ptr_nonnull(object);
  cJSON_Delete(object);
  memlog(&measured, MEMLOG_TEXT);
  measured_free(&measured);
}
END_TEST

START_TEST(long_names_are_whole) {
  Measured measured =
      measure_text("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }", "liveness");
  enum { LEN = 200000 }; /* beyond the writer's buffer, and 6 bytes each in JSON */
  char *name = arena_alloc(measured.out, LEN);
  memset(name, '\x02', LEN);
  rename_param(&measured, name, LEN);
  ck_assert_uint_gt(strlen(memlog(&measured, MEMLOG_CSV)), LEN);
  ck_assert_uint_gt(strlen(memlog(&measured, MEMLOG_JSONL)), 6 * LEN);
  ck_assert_uint_gt(strlen(memlog(&measured, MEMLOG_TEXT)), LEN);
  measured_free(&measured);
}
END_TEST

/* ---- JSON lines ---- */

START_TEST(json_is_as_documented) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  measured.marks[find_inst(measured.module, "r")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("r.0")};
  const char *json = memlog(&measured, MEMLOG_JSONL);
  check_has(json,
            "{\"computation\":\"body\",\"position\":3,\"instruction\":\"y\",\"opcode\":"
            "\"exponential\",\"bytes\":1024,\"memory_bytes\":0,\"peak_so_far_bytes\":0,"
            "\"remat\":\"none\",\"original\":null,\"op_name\":\"jit(f)/exp, \\\"fast\\\"\","
            "\"source_file\":\"a,b.py\",\"source_line\":1007}\n");
  check_has(
      json,
      "}\n{\"computation\":\"main\",\"position\":6,\"instruction\":\"r\",\"opcode\":\"negate\","
      "\"bytes\":4096,\"memory_bytes\":4096,\"peak_so_far_bytes\":4120,\"remat\":\"clone\","
      "\"original\":\"r.0\",\"op_name\":null,\"source_file\":null,\"source_line\":null}\n");
  int num_lines = 0;
  for (const char *line = json; *line; line += strcspn(line, "\n") + 1, num_lines++) {
    cJSON *object = cJSON_ParseWithLength(line, strcspn(line, "\n"));
    ck_assert_msg(object != NULL, "no JSON: %s", line);
    ck_assert_int_eq(cJSON_GetArraySize(object), 12);
    cJSON_Delete(object);
  }
  ck_assert_int_eq(num_lines, 17);
  measured_free(&measured);
}
END_TEST

START_TEST(integers_are_exact) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  measured.memory.bytes_at[find_inst(measured.module, "a")] = INT64_MAX - 1;
  check_has(memlog(&measured, MEMLOG_JSONL),
            "\"bytes\":1024,\"memory_bytes\":9223372036854775806,"
            "\"peak_so_far_bytes\":9223372036854775806,");
  check_has(memlog(&measured, MEMLOG_CSV),
            "a,parameter,1024,9223372036854775806,9223372036854775806,none,");
  measured_free(&measured);
}
END_TEST

START_TEST(unknown_memory_is_empty) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  measured.memory.bytes_at[find_inst(measured.module, "big")] = -1;
  check_has(memlog(&measured, MEMLOG_CSV), "main,2,big,broadcast,4096,,4,none,,,,\n");
  check_has(memlog(&measured, MEMLOG_JSONL), ",\"memory_bytes\":null,\"peak_so_far_bytes\":4,");
  const char *text = memlog(&measured, MEMLOG_TEXT);
  ck_assert_str_eq(line_with(text, " big\n", measured.out),
                   "       2            -          4 B     4.00 KiB  broadcast             big");
  measured_free(&measured);
}
END_TEST

/* ---- text ---- */

START_TEST(text_is_for_reading) {
  Measured measured = measure_text(emit_sample, "liveness-once");
  measured.marks[find_inst(measured.module, "r")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("r.0")};
  measured.marks[find_inst(measured.module, "big")].kind = REMAT_KIND_MOVED;
  measured.marks[find_inst(measured.module, "z")].kind = REMAT_KIND_HELPER;
  check_text(
      memlog(&measured, MEMLOG_TEXT),
      "Memory log of module small, memory model liveness-once\n"
      "  peak             5.02 KiB (5137 bytes) at less in cond\n"
      "  total            6.02 KiB (6168 bytes), "
      "parameters + outputs - aliased + constants + temporaries\n"
      "  parameters       1.00 KiB, part of the peak\n"
      "  outputs          5.02 KiB, part of the peak\n"
      "  constants             8 B\n"
      "\n"
      "computation body: 5 instructions, peak 5.02 KiB at 0 (p)\n"
      "position       memory  peak so far       result  opcode                name\n"
      "       0     5.02 KiB     5.02 KiB     1.02 KiB  parameter             p\n"
      "       1     5.02 KiB     5.02 KiB          4 B  get-tuple-element     i\n"
      "       2     5.02 KiB     5.02 KiB     1.00 KiB  get-tuple-element     x\n"
      "       3     5.00 KiB     5.02 KiB     1.00 KiB  exponential           y\n"
      "       4     5.02 KiB     5.02 KiB     1.02 KiB  tuple                 t\n"
      "\n"
      "computation cond: 4 instructions, peak 5.02 KiB at 3 (less)\n"
      "position       memory  peak so far       result  opcode                name\n"
      "       0     5.02 KiB     5.02 KiB     1.02 KiB  parameter             q\n"
      "       1     5.02 KiB     5.02 KiB          4 B  get-tuple-element     j\n"
      "       2     5.02 KiB     5.02 KiB          4 B  constant              n\n"
      "       3     5.02 KiB     5.02 KiB          1 B  compare               less  <== peak\n"
      "         Live at the peak: 4 buffers, 5.02 KiB\n"
      "                 size   defined  last use  name\n"
      "             4.00 KiB         2         6  big in main  [moved]\n"
      "             1.00 KiB         0         0  q{1}\n"
      "                 16 B         0         1  q\n"
      "                  1 B         3       end  less\n"
      "\n"
      "entry computation main: 8 instructions, peak 5.02 KiB at 3 (init)\n"
      "position       memory  peak so far       result  opcode                name\n"
      "       0     1.00 KiB     1.00 KiB     1.00 KiB  parameter             a\n"
      "       1     1.00 KiB     1.00 KiB          4 B  constant              zero\n"
      "       2     5.00 KiB     5.00 KiB     4.00 KiB  broadcast             big  [moved]\n"
      "       3     5.02 KiB     5.02 KiB     1.02 KiB  tuple                 init\n"
      "       4     5.02 KiB     5.02 KiB     1.02 KiB  while                 loop\n"
      "       5     5.02 KiB     5.02 KiB     1.00 KiB  get-tuple-element     z  [helper]\n"
      "       6     5.00 KiB     5.02 KiB     4.00 KiB  negate                r  [recomputes r.0]\n"
      "       7     5.02 KiB     5.02 KiB     5.02 KiB  tuple                 out\n",
      "text");
  measured_free(&measured);
}
END_TEST

START_TEST(only_the_largest_buffers_are_listed) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  TextBuffer captured;
  Writer *writer = capture_begin(&captured, &measured);
  MemlogOptions options = {.format = MEMLOG_TEXT, .model = measured.model, .max_live = 2};
  emit_memlog(measured.module, &measured.schedule, &measured.memory, NULL, &options, writer,
              measured.scratch);
  const char *text = capture_end(&captured, writer, &measured);
  check_has(text,
            "         Live at the peak: 4 buffers, 4.02 KiB; the 2 largest\n"
            "                 size   defined  last use  name\n"
            "             4.00 KiB         2         6  big in main\n"
            "                 16 B         3         5  init in main\n"
            "       3 ");
  measured_free(&measured);
}
END_TEST

/* The state of a loop is its initial value, which lives on to the last use of the loop's result. */
START_TEST(initial_values_live_as_long_as_their_loops) {
  Measured measured = measure_text(
      "HloModule m\n"
      "b { p = (f32[64]) parameter(0)\n g = f32[64] get-tuple-element(p), index=0\n"
      " ROOT t = (f32[64]) tuple(g) }\n"
      "c { q = (f32[64]) parameter(0)\n ROOT k = pred[] constant(false) }\n"
      "ENTRY e { x = f32[] parameter(0)\n y = f32[64] broadcast(x), dimensions={}\n"
      " i = (f32[64]) tuple(y)\n w = (f32[64]) while(i), condition=c, body=b\n"
      " g2 = f32[64] get-tuple-element(w), index=0\n n = f32[64] negate(g2)\n"
      " m = f32[64] abs(n)\n ROOT s = f32[64] subtract(m, m) }\n",
      "xla-remat");
  check_has(memlog(&measured, MEMLOG_TEXT),
            "  <== peak\n"
            "         Live at the peak: 2 buffers, 512 B\n"
            "                 size   defined  last use  name\n"
            "                256 B         1         5  y\n"
            "                256 B         5         6  n\n");
  measured_free(&measured);
}
END_TEST

/* A tuple's parts are told apart by their indices. */
START_TEST(parts_are_named) {
  Measured measured = measure_text(
      "HloModule m\nENTRY e { ROOT p = (f32[64], (s32[], f32[128])) parameter(0) }", "liveness");
  const char *text = memlog(&measured, MEMLOG_TEXT);
  check_has(text, "                512 B         0       end  p{1,1}\n");
  check_has(text, "                256 B         0       end  p{0}\n");
  check_has(text, "                 16 B         0       end  p\n");
  measured_free(&measured);
}
END_TEST

/* ---- all formats ---- */

static const MemlogFormat formats[] = {MEMLOG_TEXT, MEMLOG_CSV, MEMLOG_JSONL};
static const char *const empty_logs[] = {
    "Memory log of module m, memory model xla-remat\n"
    "  peak                  0 B (0 bytes)\n"
    "  parameters            0 B, not part of the peak\n"
    "  outputs               0 B, part of the peak\n"
    "  constants             0 B\n\n"
    "entry computation e: 1 instruction\n"
    "position       memory  peak so far       result  opcode                name\n"
    "       0          0 B          0 B          0 B  tuple                 t\n",
    "computation,position,instruction,opcode,bytes,memory_bytes,peak_so_far_bytes,remat,original,"
    "op_name,source_file,source_line\n"
    "e,0,t,tuple,0,0,0,none,,,,\n",
    "{\"computation\":\"e\",\"position\":0,\"instruction\":\"t\",\"opcode\":\"tuple\",\"bytes\":0,"
    "\"memory_bytes\":0,\"peak_so_far_bytes\":0,\"remat\":\"none\",\"original\":null,"
    "\"op_name\":null,\"source_file\":null,\"source_line\":null}\n",
};

START_TEST(empty_module) {
  Measured measured = measure_text("HloModule m\nENTRY e { ROOT t = () tuple() }", "xla-remat");
  ck_assert_str_eq(memlog(&measured, formats[_i]), empty_logs[_i]);
  measured_free(&measured);
}
END_TEST

START_TEST(same_bytes_each_time) {
  Measured measured = measure_file("hlo_samples/lstm.after_optimizations.hlo", "liveness");
  const char *first = memlog(&measured, formats[_i]);
  ck_assert_str_eq(memlog(&measured, formats[_i]), first);
  ck_assert_uint_gt(strlen(first), 10000);
  measured_free(&measured);
}
END_TEST

static int refuse(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 1;
}

START_TEST(write_errors_are_kept) {
  Measured measured = measure_text(emit_sample, "liveness");
  Writer *writer = arena_alloc(measured.out, sizeof *writer);
  writer_init(writer, refuse, NULL);
  MemlogOptions options = {.format = formats[_i], .model = measured.model};
  emit_memlog(measured.module, &measured.schedule, &measured.memory, NULL, &options, writer,
              measured.scratch);
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  measured_free(&measured);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memlog");
  TCase *tc = tcase_create("memlog");
  tcase_add_test(tc, csv_is_as_documented);
  tcase_add_loop_test(tc, names_of_any_bytes_are_written, 0,
                      sizeof name_cases / sizeof *name_cases);
  tcase_add_test(tc, long_names_are_whole);
  tcase_add_test(tc, json_is_as_documented);
  tcase_add_test(tc, integers_are_exact);
  tcase_add_test(tc, unknown_memory_is_empty);
  tcase_add_test(tc, text_is_for_reading);
  tcase_add_test(tc, only_the_largest_buffers_are_listed);
  tcase_add_test(tc, initial_values_live_as_long_as_their_loops);
  tcase_add_test(tc, parts_are_named);
  tcase_add_loop_test(tc, empty_module, 0, 3);
  tcase_add_loop_test(tc, same_bytes_each_time, 0, 3);
  tcase_add_loop_test(tc, write_errors_are_kept, 0, 3);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
