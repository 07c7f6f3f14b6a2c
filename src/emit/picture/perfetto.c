/* Writes traces in Chrome's trace-event format, which ui.perfetto.dev opens: one process per
 * module and memory, one counter of its live bytes, and one slice per value. The slices of a track
 * must not overlap, so a space of memory has as many tracks as the number of values that are live
 * in it at the same time. One position of the schedule is one microsecond. */
#include "emit/human.h"
#include "emit/json.h"
#include "emit/picture/picture.h"

typedef struct Trace {
  const rh_picture *picture;
  const rh_memory_map *map;
  int pid;
  bool has_events;
  Writer *out;
  Arena *scratch;
} Trace;

/* ---- pieces of events ---- */

/* Writes `{"ph":"C","pid":1`. The caller adds fields and closes the object. */
static void begin_event(Trace *trace, const char *phase) {
  write_text(trace->out, trace->has_events ? ",\n" : "\n");
  write_format(trace->out, "{\"ph\":\"%s\",\"pid\":%d", phase, trace->pid);
  trace->has_events = true;
}

/* Writes metadata of a process or thread up to the value of its argument. The caller writes the
 * value and closes the object. */
static void begin_metadata(Trace *trace, const char *what, int64_t tid, const char *argument) {
  begin_event(trace, "M");
  json_int_field(trace->out, "tid", tid);
  write_format(trace->out, ",\"name\":\"%s\",\"args\":{\"%s\":", what, argument);
}

static void name_thing(Trace *trace, const char *what, int64_t tid, rh_text name) {
  begin_metadata(trace, what, tid, "name");
  json_string(trace->out, name.data, name.length);
  write_text(trace->out, "}}");
}

static void sort_thing(Trace *trace, const char *what, int64_t tid, int64_t index) {
  begin_metadata(trace, what, tid, "sort_index");
  json_int(trace->out, index);
  write_text(trace->out, "}}");
}

/* ---- counters ---- */

static void count(Trace *trace, const char *name, int64_t time, int64_t bytes) {
  begin_event(trace, "C");
  json_int_field(trace->out, "ts", time);
  write_format(trace->out, ",\"name\":\"%s\",\"args\":{\"bytes\":", name);
  json_int(trace->out, bytes);
  write_text(trace->out, "}}");
}

static void write_counters(Trace *trace) {
  const rh_memory_map *map = trace->map;
  for (int64_t time = 0; time < map->num_positions; time++) {
    bool is_same = time > 0 && map->live_bytes[time] == map->live_bytes[time - 1];
    if (!is_same) count(trace, "live", time, map->live_bytes[time]);
  }
  count(trace, "peak", 0, map->total_bytes);
  int64_t limit = map->memory_space ? -1 : picture_limit(trace->picture, map);
  if (limit >= 0) count(trace, "budget", 0, limit);
}

/* ---- tracks ---- */

typedef struct Track {
  int64_t end; /* end of the last slice of the track */
  int64_t tid;
} Track;

/* The tracks of a space, as a binary heap. The track that is free first is at the top. */
typedef struct Tracks {
  VEC(Track) heap;
} Tracks;

static bool is_before(Track a, Track b) {
  return a.end != b.end ? a.end < b.end : a.tid < b.tid;
}

static void sink(Tracks *tracks) {
  Track *heap = tracks->heap.data, moved = heap[0];
  uint32_t at = 0, len = tracks->heap.len;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= len) break;
    if (child + 1 < len && is_before(heap[child + 1], heap[child])) child++;
    if (!is_before(heap[child], moved)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

static void rise(Tracks *tracks) {
  Track *heap = tracks->heap.data, moved = heap[tracks->heap.len - 1];
  uint32_t at = tracks->heap.len - 1;
  while (at > 0 && is_before(moved, heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = moved;
}

static void write_slice(Trace *trace, int64_t tid, const rh_placed_value *placed) {
  Writer *out = trace->out;
  const rh_live_value *value = placed->value;
  begin_event(trace, "X");
  json_int_field(out, "tid", tid);
  json_int_field(out, "ts", placed->begin);
  json_int_field(out, "dur", placed->end - placed->begin);
  json_string_field(out, "name", value->name);
  json_string_field(out, "cat", (rh_text){value->category, strlen(value->category)});
  write_text(out, ",\"args\":{\"bytes\":");
  json_int(out, value->bytes);
  json_int_field(out, "offset", placed->offset);
  json_string_field(out, "shape", value->shape);
  json_string_field(out, "opcode", value->opcode);
  if (value->op_name.length) json_string_field(out, "op_name", value->op_name);
  if (value->source_file.length) json_string_field(out, "source_file", value->source_file);
  if (value->source_line > 0) json_int_field(out, "source_line", value->source_line);
  if (placed->is_rematerialized) write_text(out, ",\"rematerialized\":true");
  write_text(out, "}}");
}

static void name_track(Trace *trace, const rh_memory_space *space, uint32_t number, int64_t tid) {
  const char *name = space->color ? arena_printf(trace->scratch, "%s S(%lld) %u", space->kind,
                                                 (long long)space->color, number)
                                  : arena_printf(trace->scratch, "%s %u", space->kind, number);
  name_thing(trace, "thread_name", tid, (rh_text){name, strlen(name)});
  sort_thing(trace, "thread_sort_index", tid, tid);
}

static int64_t write_space(Trace *trace, size_t space, int64_t next_tid) {
  const rh_memory_map *map = trace->map;
  ArenaMark mark = arena_mark(trace->scratch);
  Tracks tracks = {0};
  for (size_t i = 0; i < map->num_values; i++) {
    const rh_placed_value *value = map->values[i];
    if (value->space != space) continue;
    bool is_free = tracks.heap.len && tracks.heap.data[0].end <= value->begin;
    Track track = {value->end, is_free ? tracks.heap.data[0].tid : next_tid++};
    if (is_free) {
      tracks.heap.data[0] = track;
      sink(&tracks);
    } else {
      *vec_push(trace->scratch, &tracks.heap) = track;
      rise(&tracks);
      name_track(trace, map->spaces[space], tracks.heap.len, track.tid);
    }
    write_slice(trace, track.tid, value);
  }
  arena_reset(trace->scratch, mark);
  return next_tid;
}

/* ---- the whole trace ---- */

static void write_process(Trace *trace, const char *title) {
  const rh_memory_map *map = trace->map;
  rh_text name = map->module;
  if (title) {
    Str text = human_utf8(str_make(title, strlen(title)), trace->scratch);
    name = (rh_text){text.data, text.len};
  }
  name_thing(trace, "process_name", 0, name);
  sort_thing(trace, "process_sort_index", 0, trace->pid);
  write_counters(trace);
  int64_t next_tid = 1;
  for (size_t space = map->num_spaces; space-- > 0;) /* starts with the temporaries */
    next_tid = write_space(trace, space, next_tid);
}

/* The name of a further memory and of what it belongs to. */
static const char *memory_of_side(const Trace *trace, const PictureMap *drawn) {
  const rh_picture *picture = trace->picture;
  const char *side = drawn->side ? picture->after_title : picture->before_title;
  rh_text module = drawn->map->module;
  if (side) return arena_printf(trace->scratch, "%s: %s", side, drawn->title);
  return arena_printf(trace->scratch, "%.*s: %s", (int)module.length, module.data, drawn->title);
}

void picture_perfetto(const rh_picture *picture, Writer *out, Arena *scratch) {
  PictureMaps maps = picture_maps(picture, scratch);
  Trace trace = {.picture = picture, .out = out, .scratch = scratch};
  write_text(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  for (uint32_t i = 0; i < maps.list.len; i++) {
    const PictureMap *drawn = &maps.list.data[i];
    trace.map = drawn->map;
    trace.pid = (int)i + 1;
    write_process(&trace, drawn->row ? memory_of_side(&trace, drawn) : drawn->title);
  }
  write_text(out, "\n]}\n");
}
