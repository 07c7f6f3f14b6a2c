#include "ir/source_place.h"

static bool is_id_in(int32_t id, uint32_t len) {
  return id > 0 && (uint32_t)id <= len;
}

static Str text_of(const ModuleSource *source, Span span) {
  return (Str){source->text + span.begin, span.end - span.begin};
}

bool source_frame_get(const Module *module, int32_t number, SourceFrame *frame) {
  const ModuleSource *source = module->source;
  *frame = (SourceFrame){0};
  if (!is_id_in(number, source->stack_frames.len)) return false;
  const StackFrame *found = &source->stack_frames.data[number - 1];
  frame->parent = found->parent_frame_id > 0 ? found->parent_frame_id : 0;
  if (!is_id_in(found->file_location_id, source->file_locations.len)) return true;
  const FileLocation *location = &source->file_locations.data[found->file_location_id - 1];
  frame->line = location->line;
  frame->end_line = location->end_line > location->line ? location->end_line : location->line;
  if (is_id_in(location->function_name_id, source->function_names.len)) {
    frame->function = text_of(source, source->function_names.data[location->function_name_id - 1]);
  }
  if (is_id_in(location->file_name_id, source->file_names.len)) {
    uint32_t file = (uint32_t)location->file_name_id - 1;
    frame->file = text_of(source, source->file_names.data[file]);
    frame->is_library = module->backend.is_library && module->backend.is_library[file];
  }
  return true;
}

/* Sets the position from the frame that `choice` asks for. Returns false if there is none: no frame
 * has a file, or FRAMES_USER is asked for and all frames are those of libraries. */
static bool take_frame(const Module *module, int32_t number, FrameChoice choice,
                       SourcePlace *place) {
  SourceFrame frame;
  bool is_found = false;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    if (frame.file.len == 0 || (choice == FRAMES_USER && frame.is_library)) continue;
    place->file = frame.file;
    place->line = frame.line;
    is_found = true;
    if (choice != FRAMES_OUTERMOST) break;
  }
  return is_found;
}

static SourcePlace find_place(const Module *module, InstId id, FrameChoice choice) {
  const Metadata *metadata = inst_metadata(module, id);
  SourcePlace place = {0};
  if (!metadata) return place;
  place.op_name = module_span(module, metadata->op_name);
  if (choice != FRAMES_INNERMOST && take_frame(module, metadata->stack_frame_id, choice, &place)) {
    return place;
  }
  place.file = module_span(module, metadata->source_file);
  place.line = metadata->source_line;
  if (place.file.len == 0) {
    take_frame(module, metadata->stack_frame_id, FRAMES_INNERMOST, &place);
  }
  return place;
}

SourcePlace source_place_of(const Module *module, InstId id) {
  return find_place(module, id, module->backend.frames);
}

SourcePlace source_place_innermost(const Module *module, InstId id) {
  return find_place(module, id, FRAMES_INNERMOST);
}
