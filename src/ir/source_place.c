#include "ir/source_place.h"

static bool is_id_in(int32_t id, uint32_t len) {
  return id > 0 && (uint32_t)id <= len;
}

static void add_stack_frame(const ModuleSource *source, int32_t frame, SourcePlace *place) {
  if (!is_id_in(frame, source->stack_frames.len)) return;
  int32_t location = source->stack_frames.data[frame - 1].file_location_id;
  if (!is_id_in(location, source->file_locations.len)) return;
  const FileLocation *found = &source->file_locations.data[location - 1];
  place->line = found->line;
  if (!is_id_in(found->file_name_id, source->file_names.len)) return;
  Span name = source->file_names.data[found->file_name_id - 1];
  place->file = (Str){source->text + name.begin, name.end - name.begin};
}

SourcePlace source_place_of(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  SourcePlace place = {0};
  if (!metadata) return place;
  place.op_name = module_span(module, metadata->op_name);
  place.file = module_span(module, metadata->source_file);
  place.line = metadata->source_line;
  if (place.file.len == 0) add_stack_frame(module->source, metadata->stack_frame_id, &place);
  return place;
}
