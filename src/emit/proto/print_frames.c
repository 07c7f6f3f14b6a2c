/* The tables of source locations. When XLA reads a module, it enters the stack frames anew, in the
 * order in which the instructions have them (HloModule::CanonicalizeStackFrameIds), so that the
 * tables in the text have only those that are used. */
#include "emit/proto/print.h"

typedef RematHloText__StackFrameIndex__FileLocation Location;

typedef struct Frame {
  int32_t location, parent;
} Frame;

/* A list of texts without repetition. */
typedef struct Texts {
  VEC(Bytes) list;
  IdTable table;
} Texts;

struct Frames {
  const RematHloText__StackFrameIndex *index; /* NULL = there is none */
  int32_t *numbers;                           /* by the number in `index`; 0 = not yet entered */
  Texts files, functions;
  VEC(Location) locations;
  VEC(Frame) frames;
  IdTable location_table, frame_table;
};

Frames *frames_new(Printer *printer, const RematHloText__StackFrameIndex *index) {
  Frames *frames = arena_zalloc(printer->arena, sizeof *frames);
  frames->index = index;
  if (!index) return frames;
  print_known(printer, &index->base);
  for (size_t i = 0; i < index->n_file_locations; i++)
    print_known(printer, &index->file_locations[i]->base);
  for (size_t i = 0; i < index->n_stack_frames; i++)
    print_known(printer, &index->stack_frames[i]->base);
  frames->numbers = arena_zarray(printer->arena, int32_t, index->n_stack_frames + 1);
  return frames;
}

static bool is_index(int32_t number, size_t count) {
  return number > 0 && (size_t)number <= count;
}

static int32_t enter_text(Printer *printer, Texts *texts, Bytes text) {
  uint32_t index;
  uint64_t hash = hash_str(bytes_str(text));
  for (IdProbe p = id_table_probe(&texts->table, hash); id_probe_next(&p, &index);) {
    if (str_equal(bytes_str(texts->list.data[index]), bytes_str(text))) return (int32_t)index + 1;
  }
  index = texts->list.len;
  *vec_push(printer->arena, &texts->list) = text;
  id_table_add(&texts->table, printer->arena, hash, index);
  return (int32_t)index + 1;
}

static bool same_location(const Location *a, const Location *b) {
  return a->file_name_id == b->file_name_id && a->function_name_id == b->function_name_id &&
         a->line == b->line && a->column == b->column && a->end_line == b->end_line &&
         a->end_column == b->end_column;
}

static int32_t enter_location(Printer *printer, const Location *old) {
  Frames *frames = printer->frames;
  Location made = *old;
  made.file_name_id =
      enter_text(printer, &frames->files, frames->index->file_names[old->file_name_id - 1]);
  made.function_name_id = enter_text(printer, &frames->functions,
                                     frames->index->function_names[old->function_name_id - 1]);
  uint64_t hash = hash_mix(HASH_SEED, (uint64_t)made.file_name_id << 32 | (uint32_t)made.line);
  hash = hash_mix(hash, (uint64_t)made.function_name_id << 32 | (uint32_t)made.column);
  hash = hash_mix(hash, (uint64_t)(uint32_t)made.end_line << 32 | (uint32_t)made.end_column);
  uint32_t index;
  for (IdProbe p = id_table_probe(&frames->location_table, hash); id_probe_next(&p, &index);) {
    if (same_location(&frames->locations.data[index], &made)) return (int32_t)index + 1;
  }
  index = frames->locations.len;
  *vec_push(printer->arena, &frames->locations) = made;
  id_table_add(&frames->location_table, printer->arena, hash, index);
  return (int32_t)index + 1;
}

/* Returns 0, and refuses, if the frame has a location that does not exist. */
static int32_t enter_frame(Printer *printer, int32_t old, int32_t parent) {
  Frames *frames = printer->frames;
  const RematHloText__StackFrameIndex *index = frames->index;
  int32_t place = index->stack_frames[old - 1]->file_location_id;
  const Location *location =
      is_index(place, index->n_file_locations) ? index->file_locations[place - 1] : NULL;
  if (!location || !is_index(location->file_name_id, index->n_file_names) ||
      !is_index(location->function_name_id, index->n_function_names)) {
    print_refuse(printer, "a stack frame has no location");
    return 0;
  }
  Frame made = {enter_location(printer, location), parent};
  uint64_t hash = hash_mix(HASH_SEED, (uint64_t)made.location << 32 | (uint32_t)parent);
  uint32_t known;
  for (IdProbe p = id_table_probe(&frames->frame_table, hash); id_probe_next(&p, &known);) {
    const Frame *frame = &frames->frames.data[known];
    if (frame->location == made.location && frame->parent == parent) return (int32_t)known + 1;
  }
  known = frames->frames.len;
  *vec_push(printer->arena, &frames->frames) = made;
  id_table_add(&frames->frame_table, printer->arena, hash, known);
  return (int32_t)known + 1;
}

int32_t frames_number(Printer *printer, int32_t frame) {
  Frames *frames = printer->frames;
  size_t count = frames->index ? frames->index->n_stack_frames : 0;
  if (is_index(frame, count) && frames->numbers[frame]) return frames->numbers[frame];
  ArenaMark mark = arena_mark(printer->scratch);
  VEC(int32_t) path = {0};
  int32_t at = frame;
  while (at != 0 && is_index(at, count) && !frames->numbers[at] && path.len <= count) {
    *vec_push(printer->scratch, &path) = at;
    at = frames->index->stack_frames[at - 1]->parent_frame_id;
  }
  int32_t number = 0;
  if (at != 0 && (!is_index(at, count) || path.len > count)) {
    print_refuse(printer, "a stack frame does not exist, or is its own caller");
    path.len = 0;
  } else if (at != 0) {
    number = frames->numbers[at];
  }
  for (uint32_t i = path.len; i-- > 0 && !printer->refusal;) { /* from the oldest */
    number = enter_frame(printer, path.data[i], number);
    frames->numbers[path.data[i]] = number;
  }
  arena_reset(printer->scratch, mark);
  return number;
}

static void print_texts(TextBuffer *text, const char *title, const Texts *texts) {
  text_put(text, title);
  for (uint32_t i = 0; i < texts->list.len; i++) {
    text_put_int(text, (int64_t)i + 1);
    text_put(text, " \"");
    print_escaped(text, texts->list.data[i]);
    text_put(text, "\"\n");
  }
}

static void print_location(TextBuffer *text, const Location *location) {
  print_key_int(text, " {file_name_id=", location->file_name_id);
  print_key_int(text, " function_name_id=", location->function_name_id);
  print_key_int(text, " line=", location->line);
  print_key_int(text, " end_line=", location->end_line);
  print_key_int(text, " column=", location->column);
  print_key_int(text, " end_column=", location->end_column);
  text_put(text, "}\n");
}

void frames_print(Printer *printer, TextBuffer *text) {
  const Frames *frames = printer->frames;
  if (frames->frames.len == 0) return;
  print_texts(text, "\n\nFileNames\n", &frames->files);
  print_texts(text, "\nFunctionNames\n", &frames->functions);
  text_put(text, "\nFileLocations\n");
  for (uint32_t i = 0; i < frames->locations.len; i++) {
    text_put_int(text, (int64_t)i + 1);
    print_location(text, &frames->locations.data[i]);
  }
  text_put(text, "\nStackFrames\n");
  for (uint32_t i = 0; i < frames->frames.len; i++) {
    text_put_int(text, (int64_t)i + 1);
    print_key_int(text, " {file_location_id=", frames->frames.data[i].location);
    print_key_int(text, " parent_frame_id=", (int64_t)frames->frames.data[i].parent + 1);
    text_put(text, "}\n");
  }
}
