#include "advice/frames.h"

#include "ir/attribute.h"

int32_t frame_of(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  return metadata ? metadata->stack_frame_id : 0;
}

int32_t frame_outside_libraries(const Module *module, int32_t number, SourceFrame *frame) {
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame->parent) {
    if (!source_frame_get(module, number, frame) || !frame->is_library) break;
  }
  return number;
}

/* The innermost frame outside of libraries. */
static bool user_frame(const Module *module, InstId id, SourceFrame *frame) {
  int32_t number = frame_of(module, id);
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame->parent) {
    if (!source_frame_get(module, number, frame)) return false;
    if (!frame->is_library && frame->file.len) return true;
  }
  return false;
}

Str function_called_by(const Module *module, InstId id, InstId caller) {
  SourceFrame frame, from;
  Str function = {0};
  if (!user_frame(module, caller, &from)) return function;
  int32_t number = frame_of(module, id);
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    bool is_same = str_equal(frame.file, from.file) && str_equal(frame.function, from.function);
    if (is_same && frame.line == from.line) return function;
    /* what JAX has traced for another scan of the same function is no callee of this one */
    if (!frame.is_library && !is_same) function = frame.function;
  }
  return (Str){0};
}

typedef struct Stack {
  VEC(int32_t) numbers; /* from the innermost frame on */
} Stack;

static Stack stack_of(const Module *module, InstId id, Arena *arena) {
  Stack stack = {0};
  SourceFrame frame;
  int32_t number = frame_of(module, id);
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    *vec_push(arena, &stack.numbers) = number;
  }
  return stack;
}

int32_t frame_in_common(const Module *module, InstId id, InstId other, uint32_t *depth,
                        Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Stack own = stack_of(module, id, scratch), others = stack_of(module, other, scratch);
  int32_t common = 0;
  bool is_same_call = true;
  *depth = 0;
  for (uint32_t a = own.numbers.len, b = others.numbers.len; a > 0 && b > 0 && is_same_call;) {
    SourceFrame mine, its;
    int32_t number = own.numbers.data[--a];
    (void)source_frame_get(module, number, &mine);
    (void)source_frame_get(module, others.numbers.data[--b], &its);
    if (!str_equal(mine.function, its.function) || !str_equal(mine.file, its.file)) break;
    common = number;
    (*depth)++;
    is_same_call = mine.line == its.line;
  }
  arena_reset(scratch, mark);
  return common;
}
