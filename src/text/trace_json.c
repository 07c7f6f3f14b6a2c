/* The JSON of a trace (`….trace.json`), which has the events of an XSpace. Of XLA:CPU and XLA:GPU,
 * the arguments of an event have hlo_op and hlo_module. On a TPU's process, threads are named "XLA
 * Ops" and "XLA Modules", as lines of an XSpace. */
#include <stdlib.h>
#include <string.h>

#include "ir/json_read.h"
#include "text/profile.h"

typedef struct Thread {
  double process, thread;
  Str name;
} Thread;

typedef struct Trace {
  VEC(Thread) threads;
  ProfileEvents *out;
  Arena *arena, *scratch;
} Trace;

static double number_of(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static Str text_of(Trace *trace, const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  if (!text) return (Str){0};
  size_t length = strlen(text);
  return (Str){arena_strndup(trace->arena, text, length), (uint32_t)length};
}

static void read_thread(Trace *trace, const cJSON *event) {
  const char *what = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));
  if (!what || strcmp(what, "thread_name") != 0) return;
  *vec_push(trace->scratch, &trace->threads) =
      (Thread){number_of(event, "pid"), number_of(event, "tid"),
               text_of(trace, cJSON_GetObjectItemCaseSensitive(event, "args"), "name")};
}

static uint32_t thread_of(const Trace *trace, const cJSON *event) {
  double process = number_of(event, "pid"), thread = number_of(event, "tid");
  for (uint32_t i = 0; i < trace->threads.len; i++) {
    const Thread *known = &trace->threads.data[i];
    if (known->process == process && known->thread == thread) return i;
  }
  return trace->threads.len;
}

static bool is_allocation(const cJSON *event) {
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));
  return name && profile_is_allocation(str_make(name, strlen(name)));
}

/* Arguments are texts, of numbers, too. */
static void read_allocation(Trace *trace, const cJSON *event) {
  const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
  const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(args, "bytes_allocated");
  Str allocator = text_of(trace, args, "allocator_name");
  if (allocator.len == 0 || !cJSON_IsString(bytes)) return;
  *vec_push(trace->scratch, &trace->out->allocations) =
      (ProfileAllocation){allocator, strtoll(bytes->valuestring, NULL, 10)};
}

static void read_event(Trace *trace, const cJSON *event) {
  static const double SECONDS_OF_TICK = 1e-6;
  const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
  uint32_t thread = thread_of(trace, event);
  Str line = thread < trace->threads.len ? trace->threads.data[thread].name : (Str){0};
  Str module = text_of(trace, args, "hlo_module"), inst = text_of(trace, args, "hlo_op");
  Str run = text_of(trace, args, "run_id");
  double begin = number_of(event, "ts") * SECONDS_OF_TICK;
  double seconds = number_of(event, "dur") * SECONDS_OF_TICK;
  if (str_is(line, "XLA Modules")) {
    *vec_push(trace->scratch, &trace->out->runs) =
        (ProfileRun){profile_module_name(text_of(trace, event, "name")),
                     (uint64_t)number_of(event, "pid"), begin, begin + seconds};
    return;
  }
  if (inst.len == 0 && str_is(line, "XLA Ops"))
    inst = profile_inst_name(text_of(trace, event, "name"));
  if (inst.len == 0) return;
  *vec_push(trace->scratch, &trace->out->events) =
      (ProfileEvent){.module = profile_module_name(module),
                     .inst = inst,
                     .line = thread,
                     .run = run.len ? strtoull(run.data, NULL, 10) : 0,
                     .begin = begin,
                     .seconds = seconds};
}

bool trace_json_read(const char *data, size_t length, ProfileEvents *events, Arena *out,
                     Arena *scratch) {
  const cJSON *root = json_read(data, length, NULL, scratch);
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "traceEvents"), *event;
  if (!cJSON_IsArray(list)) return false;
  Trace trace = {.out = events, .arena = out, .scratch = scratch};
  cJSON_ArrayForEach(event, list) {
    const char *phase = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "ph"));
    if (phase && strcmp(phase, "M") == 0) read_thread(&trace, event);
  }
  cJSON_ArrayForEach(event, list) {
    const char *phase = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "ph"));
    bool is_span = phase && strcmp(phase, "X") == 0, is_instant = phase && strcmp(phase, "i") == 0;
    if ((is_span || is_instant) && is_allocation(event)) {
      read_allocation(&trace, event);
    } else if (is_span) {
      read_event(&trace, event);
    }
  }
  return true;
}
