/* An XSpace, as tsl/profiler/protobuf/xplane.proto defines it. On XLA:CPU and XLA:GPU, events have
 * the stats hlo_op and hlo_module. On a TPU's plane, events of the line "XLA Ops" are instructions,
 * whose text is the name of their metadata, and those of the line "XLA Modules" are runs of
 * modules. Allocators of device memory have events "MemoryAllocation" and "MemoryDeallocation" in
 * a host thread, with what they have given out by then (kBytesAllocated of
 * tsl/profiler/utils/xplane_schema.cc). HloProtos are stats of the events' metadata of the plane
 * "/host:metadata", which are named after the modules. */
#include <stdlib.h>
#include <string.h>

#include "text/profile.h"
#include "text/wire.h"

/* Numbers of fields. */
enum { SPACE_PLANES = 1 };
enum { PLANE_NAME = 2, PLANE_LINES = 3, PLANE_EVENT_METADATA = 4, PLANE_STAT_METADATA = 5 };
enum { LINE_NAME = 2, LINE_TIMESTAMP_NS = 3, LINE_EVENTS = 4, LINE_DISPLAY_NAME = 11 };
enum { EVENT_METADATA_ID = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3, EVENT_STATS = 4 };
enum {
  STAT_METADATA_ID = 1,
  STAT_UINT64 = 3,
  STAT_INT64 = 4,
  STAT_STRING = 5,
  STAT_BYTES = 6,
  STAT_REF = 7
};
enum { METADATA_NAME = 2, METADATA_DISPLAY_NAME = 4, METADATA_STATS = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

typedef enum StatKind {
  STAT_OTHER,
  STAT_HLO_OP,
  STAT_HLO_MODULE,
  STAT_RUN_ID,
  STAT_ALLOCATOR,
  STAT_ALLOCATED,
  STAT_HLO_PROTO
} StatKind;

typedef struct Metadata {
  uint64_t id;
  Str name, display_name;
  Str stats; /* the whole message, from which they are read when they are needed */
} Metadata;

typedef struct Plane {
  uint64_t number;
  VEC(Metadata) events, stats; /* in the order of the file */
  ProfileEvents *out;
  Arena *scratch;
} Plane;

typedef enum LineKind { LINE_PLAIN, LINE_OPS, LINE_MODULES } LineKind;

/* ---- metadata ---- */

static Metadata read_metadata(Str bytes, uint64_t id) {
  Metadata made = {.id = id, .stats = bytes};
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number == METADATA_NAME) made.name = field.bytes;
    if (field.number == METADATA_DISPLAY_NAME) made.display_name = field.bytes;
  }
  return made;
}

static Metadata read_entry(Str bytes) {
  uint64_t id = 0;
  Str value = {0};
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number == ENTRY_KEY) id = field.value;
    if (field.number == ENTRY_VALUE) value = field.bytes;
  }
  return read_metadata(value, id);
}

/* Ids count from 1 in most files, and the entries are in any order. NULL = there is none. */
static const Metadata *find_by_id(const Metadata *list, uint32_t len, uint64_t id) {
  if (id > 0 && id <= len && list[id - 1].id == id) return &list[id - 1];
  for (uint32_t i = 0; i < len; i++) {
    if (list[i].id == id) return &list[i];
  }
  return NULL;
}

static int by_id(const void *pa, const void *pb) {
  const Metadata *a = pa, *b = pb;
  return (a->id > b->id) - (a->id < b->id);
}

/* ---- stats ---- */

typedef struct Stat {
  StatKind kind;
  Str text;
  uint64_t number;
} Stat;

static StatKind stat_kind(Str name) {
  if (str_is(name, "hlo_op")) return STAT_HLO_OP;
  if (str_is(name, "hlo_module")) return STAT_HLO_MODULE;
  if (str_is(name, "run_id")) return STAT_RUN_ID;
  if (str_is(name, "allocator_name")) return STAT_ALLOCATOR;
  if (str_is(name, "bytes_allocated")) return STAT_ALLOCATED;
  return str_is(name, "Hlo Proto") || str_is(name, "hlo_proto") ? STAT_HLO_PROTO : STAT_OTHER;
}

static Stat read_stat(const Plane *plane, Str bytes) {
  Stat stat = {0};
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    const Metadata *named;
    switch (field.number) {
      case STAT_METADATA_ID:
        named = find_by_id(plane->stats.data, plane->stats.len, field.value);
        if (named) stat.kind = stat_kind(named->name);
        break;
      case STAT_STRING:
      case STAT_BYTES: stat.text = field.bytes; break;
      case STAT_REF:
        named = find_by_id(plane->stats.data, plane->stats.len, field.value);
        if (named) stat.text = named->name;
        break;
      case STAT_UINT64:
      case STAT_INT64: stat.number = field.value; break;
      default: break;
    }
  }
  return stat;
}

/* ---- events ---- */

typedef struct RawEvent {
  uint64_t metadata, offset_ps, duration_ps;
  Str op, module;
  uint64_t run;
  Str allocator;
  uint64_t allocated_bytes;
} RawEvent;

static void take_stat(const Plane *plane, Str bytes, RawEvent *event) {
  Stat stat = read_stat(plane, bytes);
  if (stat.kind == STAT_HLO_OP) event->op = stat.text;
  if (stat.kind == STAT_HLO_MODULE) event->module = stat.text;
  if (stat.kind == STAT_RUN_ID) event->run = stat.number;
  if (stat.kind == STAT_ALLOCATOR) event->allocator = stat.text;
  if (stat.kind == STAT_ALLOCATED) event->allocated_bytes = stat.number;
}

static RawEvent read_event(const Plane *plane, Str bytes) {
  RawEvent event = {0};
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    switch (field.number) {
      case EVENT_METADATA_ID: event.metadata = field.value; break;
      case EVENT_OFFSET_PS: event.offset_ps = field.value; break;
      case EVENT_DURATION_PS: event.duration_ps = field.value; break;
      case EVENT_STATS: take_stat(plane, field.bytes, &event); break;
      default: break;
    }
  }
  return event;
}

static void add_event(Plane *plane, LineKind kind, uint64_t line, double begin_of_line, Str bytes) {
  static const double SECONDS_OF_PS = 1e-12;
  RawEvent raw = read_event(plane, bytes);
  double begin = begin_of_line + (double)raw.offset_ps * SECONDS_OF_PS;
  double seconds = (double)raw.duration_ps * SECONDS_OF_PS;
  const Metadata *named = find_by_id(plane->events.data, plane->events.len, raw.metadata);
  if (kind == LINE_MODULES && named) {
    *vec_push(plane->scratch, &plane->out->runs) =
        (ProfileRun){profile_module_name(named->name), plane->number, begin, begin + seconds};
    return;
  }
  if (named && raw.allocator.len && profile_is_allocation(named->name)) {
    bool fits = raw.allocated_bytes <= INT64_MAX;
    *vec_push(plane->scratch, &plane->out->allocations) =
        (ProfileAllocation){raw.allocator, fits ? (int64_t)raw.allocated_bytes : INT64_MAX};
    return;
  }
  if (kind == LINE_OPS && named && raw.op.len == 0) {
    raw.op = named->display_name.len ? named->display_name : profile_inst_name(named->name);
  }
  if (raw.op.len == 0) return;
  *vec_push(plane->scratch, &plane->out->events) =
      (ProfileEvent){.module = profile_module_name(raw.module),
                     .inst = raw.op,
                     .line = line,
                     .run = raw.run,
                     .begin = begin,
                     .seconds = seconds};
}

/* ---- lines and planes ---- */

static void read_line(Plane *plane, Str bytes, uint64_t number) {
  LineKind kind = LINE_PLAIN;
  double begin = 0;
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    bool is_name = field.number == LINE_NAME || field.number == LINE_DISPLAY_NAME;
    if (is_name && str_is(field.bytes, "XLA Ops")) kind = LINE_OPS;
    if (is_name && str_is(field.bytes, "XLA Modules")) kind = LINE_MODULES;
    if (field.number == LINE_TIMESTAMP_NS) begin = (double)field.value * 1e-9;
  }
  wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number == LINE_EVENTS) add_event(plane, kind, number, begin, field.bytes);
  }
}

static void read_names(Plane *plane, Str bytes) {
  Wire wire = wire_of(bytes);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number == PLANE_EVENT_METADATA)
      *vec_push(plane->scratch, &plane->events) = read_entry(field.bytes);
    if (field.number == PLANE_STAT_METADATA)
      *vec_push(plane->scratch, &plane->stats) = read_entry(field.bytes);
  }
  if (plane->events.len) qsort(plane->events.data, plane->events.len, sizeof(Metadata), by_id);
  if (plane->stats.len) qsort(plane->stats.data, plane->stats.len, sizeof(Metadata), by_id);
}

/* Whether the bytes are a message whose fields are all planes. */
static bool is_space(Str space) {
  Wire wire = wire_of(space);
  uint32_t num_planes = 0;
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number == SPACE_PLANES && field.has_bytes) num_planes++;
  }
  return !wire.has_failed && num_planes > 0;
}

bool xplane_read(const char *data, size_t length, ProfileEvents *events, Arena *scratch) {
  enum { LINES_OF_PLANE = 1 << 20 };
  if (length == 0 || length > UINT32_MAX) return false;
  Str space = {data, (uint32_t)length};
  if (!is_space(space)) return false;
  uint64_t number = 0;
  Wire wire = wire_of(space);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number != SPACE_PLANES) continue;
    Plane plane = {.number = number++, .out = events, .scratch = scratch};
    read_names(&plane, field.bytes);
    uint64_t line = plane.number * LINES_OF_PLANE;
    Wire inner = wire_of(field.bytes);
    for (WireField part; wire_next(&inner, &part);) {
      if (part.number == PLANE_LINES) read_line(&plane, part.bytes, line++);
    }
  }
  return true;
}

/* ---- modules ---- */

static Str hlo_of(const Plane *plane, const Metadata *metadata) {
  Wire wire = wire_of(metadata->stats);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number != METADATA_STATS) continue;
    Stat stat = read_stat(plane, field.bytes);
    if (stat.kind == STAT_HLO_PROTO) return stat.text;
  }
  return (Str){0};
}

Str xplane_find_hlo(const char *data, size_t length, const char *name, Arena *scratch) {
  Str found = {0};
  if (length == 0 || length > UINT32_MAX) return found;
  Str space = {data, (uint32_t)length};
  if (!is_space(space)) return found;
  Wire wire = wire_of(space);
  for (WireField field; wire_next(&wire, &field);) {
    if (field.number != SPACE_PLANES) continue;
    Plane plane = {.scratch = scratch};
    read_names(&plane, field.bytes);
    for (uint32_t i = 0; i < plane.events.len; i++) {
      Str hlo = hlo_of(&plane, &plane.events.data[i]);
      if (name && !str_is(profile_module_name(plane.events.data[i].name), name)) continue;
      if (hlo.len > found.len) found = hlo;
    }
  }
  return found;
}
