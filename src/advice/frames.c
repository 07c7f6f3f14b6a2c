#include "advice/frames.h"

#include "ir/attribute.h"

static bool is_at(const SourceFrame *frame, SourcePlace place) {
  return frame->line == place.line && str_equal(frame->file, place.file);
}

Str function_called_at(const Module *module, InstId id, SourcePlace place) {
  const Metadata *metadata = inst_metadata(module, id);
  Str function = {0};
  SourceFrame frame;
  int32_t number = metadata ? metadata->stack_frame_id : 0;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    if (is_at(&frame, place)) return function;
    if (!frame.is_library) function = frame.function;
  }
  return (Str){0};
}
