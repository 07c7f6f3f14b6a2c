/* What the tests of the emitters share: a measured module, and its output as a string. */
#ifndef REMAT_HLO_TESTS_EMIT_FIXTURE_H
#define REMAT_HLO_TESTS_EMIT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "analysis/memory/memory_model.h"
#include "ir/marks.h"
#include "ir/text_buffer.h"
#include "ir/writer.h"
#include "support.h"

typedef struct Measured {
  Module *module;
  Schedule schedule;
  const MemoryModel *model;
  MemoryProfile memory;
  RematMark *marks; /* all of them none */
  Arena *out, *scratch;
  char *text; /* that was written last */
} Measured;

static inline Measured measure_fixture(Fixture fixture, const char *model) {
  Module *module = fixture.module;
  Measured measured = {.module = module,
                       .model = memory_model_find(model),
                       .out = fixture.out,
                       .scratch = fixture.scratch};
  measured.schedule = schedule_in_text_order(module, measured.out);
  measured.memory =
      measured.model->measure(module, &measured.schedule, NULL, measured.out, measured.scratch);
  measured.marks = arena_zarray(measured.out, RematMark, module->insts.len);
  return measured;
}

static inline Measured measure_text(const char *text, const char *model) {
  return measure_fixture(fixture_parse(text), model);
}

static inline Measured measure_file(const char *path, const char *model) {
  return measure_fixture(fixture_parse_file(path), model);
}

static inline void measured_free(Measured *measured) {
  module_free(measured->module);
  arena_free(measured->out);
  arena_free(measured->scratch);
}

static inline Writer *capture_begin(TextBuffer *captured, Measured *measured) {
  *captured = (TextBuffer){.arena = measured->out};
  Writer *writer = arena_alloc(measured->out, sizeof *writer);
  writer_init(writer, text_take, captured);
  return writer;
}

/* The text ends in NUL and lives as long as the module. */
static inline const char *capture_end(TextBuffer *captured, Writer *writer, Measured *measured) {
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  return measured->text = text_c_string(captured);
}

static inline void check_has(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in\n%s", part, text);
}

static inline void check_lacks(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) == NULL, "'%s' is in\n%s", part, text);
}

/* A loop in an entry, metadata of both kinds, a control dependency. */
static const char emit_sample[] =
    "HloModule small, is_scheduled=true\n\n"
    "FileNames\n1 \"model.py\"\n\n"
    "FunctionNames\n1 \"f\"\n\n"
    "FileLocations\n"
    "1 {file_name_id=1 function_name_id=1 line=42 end_line=42 column=1 end_column=2}\n\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
    "body {\n"
    "  p = (s32[], f32[256]) parameter(0)\n"
    "  i = s32[] get-tuple-element(p), index=0\n"
    "  x = f32[256] get-tuple-element(p), index=1\n"
    "  y = f32[256] exponential(x), metadata={op_name=\"jit(f)/exp, \\\"fast\\\"\" "
    "source_file=\"a,b.py\" source_line=1007}\n"
    "  ROOT t = (s32[], f32[256]) tuple(i, y)\n"
    "}\n\n"
    "cond {\n"
    "  q = (s32[], f32[256]) parameter(0)\n"
    "  j = s32[] get-tuple-element(q), index=0\n"
    "  n = s32[] constant(3)\n"
    "  ROOT less = pred[] compare(j, n), direction=LT\n"
    "}\n\n"
    "ENTRY main {\n"
    "  a = f32[256] parameter(0), metadata={op_name=\"a\" stack_frame_id=1}\n"
    "  zero = s32[] constant(0)\n"
    "  big = f32[1024] broadcast(a), dimensions={}\n"
    "  init = (s32[], f32[256]) tuple(zero, a)\n"
    "  loop = (s32[], f32[256]) while(init), condition=cond, body=body\n"
    "  z = f32[256] get-tuple-element(loop), index=1\n"
    "  r = f32[1024] negate(big), control-predecessors={loop}\n"
    "  ROOT out = (f32[256], f32[1024]) tuple(z, r)\n"
    "}\n";

#endif
