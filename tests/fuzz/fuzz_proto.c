/* libFuzzer target: messages of a module in which bytes differ from what they should be. Each three
 * bytes of the input say where, and what is there instead; a last one of the rest cuts the message
 * off.
 *
 * A message is refused, or it is patched, and then what is written is the message of the result: it
 * is patched again without a change. One with all that is printed is refused, or printed; as is the
 * input itself. */
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef REMAT_HLO_PROTO
#include "emit/proto/patch.h"
#include "ir/text_buffer.h"
#include "module_proto.h"
#include "text/parse.h"
#include "text_proto.h"

#define HEAD                                                                        \
  "HloModule m, is_scheduled=true\n\n"                                              \
  "%double (x: f32[64]) -> f32[64] {\n  %x = f32[64]{0} parameter(0)\n"             \
  "  ROOT %y = f32[64]{0} add(%x, %x)\n}\n\n"                                       \
  "ENTRY %e (p: f32[64]) -> (f32[64], f32[64]) {\n  %p = f32[64]{0} parameter(0)\n" \
  "  %cos = f32[64]{0} cosine(%p), metadata={op_name=\"cos\"}\n"                    \
  "  %fused = f32[64]{0} fusion(%cos), kind=kLoop, calls=%double\n"
static const char before_text[] =
    HEAD "  ROOT %both = (f32[64]{0}, f32[64]{0}) tuple(%cos, %fused)\n}\n";
static const char after_text[] = HEAD
    "  %cos.remat = f32[64]{0} cosine(%p), metadata={op_name=\"cos\"}, "
    "control-predecessors={%fused}\n"
    "  ROOT %both = (f32[64]{0}, f32[64]{0}) tuple(%cos.remat, %fused)\n}\n";

static Module *parse(const char *text, size_t length) {
  Module *module = NULL;
  if (text_parse(text, length, NULL, &module, NULL) != RH_OK) abort();
  return module;
}

static rh_status patch(const Module *before, Bytes data, const Module *after, TextBuffer *made,
                       Arena *arena) {
  ProtoInput input = {before, data.data, data.len};
  ProtoMark mark = {NULL, NULL};
  Writer *writer = arena_alloc(arena, sizeof *writer);
  writer_init(writer, text_take, made);
  rh_status status = proto_patch(&input, after, &mark, writer, NULL, arena);
  if (writer_finish(writer) != RH_OK) abort();
  return status;
}

static Bytes change(Bytes message, const uint8_t *data, size_t size) {
  for (; size >= 3; data += 3, size -= 3)
    message.data[((size_t)data[0] | (size_t)data[1] << 8) % message.len] = data[2];
  if (size) message.len = message.len * data[0] / 255;
  return message;
}

static void print(Bytes message, bool is_whole, Arena *arena) {
  TextBuffer text = {.arena = arena};
  rh_status status = rh_print_proto(message.data, message.len, text_take, &text, NULL);
  if (status != RH_OK && status != RH_ERR_INPUT) abort();
  if (status != RH_OK && text.chars.len) abort();
  if (is_whole && !str_is(text_str(&text), text_proto_text)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Module *before = parse(before_text, sizeof before_text - 1);
  Module *after = parse(after_text, sizeof after_text - 1);
  Arena *arena = arena_new(arena_options(before->arena));
  TextBuffer made = {.arena = arena}, again = {.arena = arena};
  Bytes message = change(module_proto(before, arena), data, size < 96 ? size : 96);
  rh_status status = patch(before, message, after, &made, arena);
  if (status != RH_OK && status != RH_ERR_INPUT) abort();
  if (status != RH_OK && size == 0) abort();
  if (status == RH_OK) {
    if (patch(after, bytes_of(text_str(&made)), after, &again, arena) != RH_OK) abort();
    if (!str_equal(text_str(&made), text_str(&again))) abort();
  }
  print(change(text_proto(arena), data, size < 96 ? size : 96), size == 0, arena);
  print((Bytes){size, (uint8_t *)(uintptr_t)data}, false, arena);
  arena_free(arena);
  module_free(after);
  module_free(before);
  return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)data, (void)size;
  return 0;
}
#endif
