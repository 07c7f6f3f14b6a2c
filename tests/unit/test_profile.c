/* Profiles: XSpaces with planes as those of a TPU, a GPU and XLA:CPU, and traces as JSON. The
 * messages are made here, field by field, by xplane.proto. */
#include "text/profile.h"

#include <stdlib.h>

#include "support.h"

/* ---- messages ---- */

typedef struct Message {
  char data[4096];
  uint32_t len;
} Message;

static void put_varint(Message *message, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    message->data[message->len++] = (char)(value | 0x80);
  message->data[message->len++] = (char)value;
}

static void put_number(Message *message, uint32_t field, uint64_t value) {
  put_varint(message, field << 3);
  put_varint(message, value);
}

static void put_bytes(Message *message, uint32_t field, const char *data, uint32_t len) {
  put_varint(message, field << 3 | 2);
  put_varint(message, len);
  memcpy(message->data + message->len, data, len);
  message->len += len;
}

static void put_text(Message *message, uint32_t field, const char *text) {
  put_bytes(message, field, text, (uint32_t)strlen(text));
}

static void put_message(Message *message, uint32_t field, const Message *inner) {
  put_bytes(message, field, inner->data, inner->len);
}

/* An entry of one of the maps of metadata: 4 = of events, 5 = of stats. */
static void put_metadata(Message *plane, uint32_t map, uint64_t id, const char *name,
                         const char *shown) {
  Message value = {0}, entry = {0};
  put_number(&value, 1, id);
  put_text(&value, 2, name);
  if (shown) put_text(&value, 4, shown);
  put_number(&entry, 1, id);
  put_message(&entry, 2, &value);
  put_message(plane, map, &entry);
}

static Message event_of(uint64_t metadata, uint64_t offset_ps, uint64_t duration_ps) {
  Message event = {0};
  put_number(&event, 1, metadata);
  put_number(&event, 2, offset_ps);
  put_number(&event, 3, duration_ps);
  return event;
}

static void put_stat(Message *event, uint64_t metadata, uint32_t field, uint64_t number,
                     const char *text) {
  Message stat = {0};
  put_number(&stat, 1, metadata);
  if (text) {
    put_text(&stat, field, text);
  } else {
    put_number(&stat, field, number);
  }
  put_message(event, 4, &stat);
}

/* ---- reading ---- */

typedef struct Read {
  Arena *out, *scratch;
  Times times;
  rh_status status;
} Read;

static Read read_profile(const char *data, size_t length) {
  Read read = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  ProfileEvents events;
  read.status = profile_read(data, length, &events, NULL, read.out, read.scratch);
  if (read.status == RH_OK) read.times = profile_times(&events, read.out, read.scratch);
  return read;
}

static void finish(Read *read) {
  arena_free(read->scratch);
  arena_free(read->out);
}

static double seconds_of(const Read *read, const char *module, const char *inst) {
  const TimedModule *found = times_find_module(&read->times, str_make(module, strlen(module)));
  ck_assert_msg(found != NULL, "there is no module %s", module);
  return times_find(found, str_make(inst, strlen(inst)));
}

/* ---- a TPU ---- */

enum { PS = 1000000 }; /* of a microsecond */

/* Two runs of jit_step(77), 100 us apart: fusion.1 takes 10 and 20 us; a loop has tanh.2 twice, 3
 * us each; then nothing runs for 4 us, and copy.9 takes 1. The metadata are in no order. */
static Message tpu_space(void) {
  Message space = {0}, plane = {0}, modules = {0}, ops = {0};
  put_text(&plane, 2, "/device:TPU:0");
  put_metadata(&plane, 4, 8, "%tanh.2 = f32[8]{0:T(128)} tanh(f32[8]{0:T(128)} %p)", NULL);
  put_metadata(&plane, 4, 3, "jit_step(77)", NULL);
  put_metadata(&plane, 4, 5, "%while.4 = (s32[]) while(%t), condition=%c, body=%b", "while.4");
  put_metadata(&plane, 4, 1, "%fusion.1 = f32[8]{0:T(128)} fusion(%p), kind=kLoop, calls=%f",
               "fusion.1");
  put_metadata(&plane, 4, 2, "%copy.9 = f32[8]{0} copy(%q)", NULL);
  put_text(&modules, 2, "XLA Modules");
  put_text(&ops, 2, "XLA Ops");
  put_number(&modules, 3, 5000);
  put_number(&ops, 3, 5000);
  for (uint64_t run = 0; run < 2; run++) {
    uint64_t at = run * 100 * PS, first = (10 + 10 * run) * PS;
    Message events[] = {
        event_of(3, at, first + 11 * PS),         event_of(1, at, first),
        event_of(5, at + first, 6 * PS),          event_of(8, at + first, 3 * PS),
        event_of(8, at + first + 3 * PS, 3 * PS), event_of(2, at + first + 10 * PS, PS)};
    put_message(&modules, 4, &events[0]);
    for (int i = 1; i < 6; i++)
      put_message(&ops, 4, &events[i]);
  }
  put_message(&plane, 3, &modules);
  put_message(&plane, 3, &ops);
  put_message(&space, 1, &plane);
  return space;
}

START_TEST(plane_of_a_tpu) {
  Message space = tpu_space();
  Read read = read_profile(space.data, space.len);
  ck_assert_int_eq(read.status, RH_OK);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_step", "fusion.1"), 15e-6, 1e-12);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_step", "tanh.2"), 3e-6, 1e-12);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_step", "copy.9"), 1e-6, 1e-12);
  ck_assert_double_lt(seconds_of(&read, "jit_step", "while.4"), 0); /* its body is counted */
  const TimedModule *module = &read.times.modules[0];
  ck_assert_uint_eq(module->num_steps, 2);
  ck_assert_double_eq_tol(module->step_seconds, 26e-6, 1e-12);
  ck_assert_double_eq_tol(module->busy_seconds, 22e-6, 1e-12);
  ck_assert_double_eq_tol(module->overlap_seconds, 0, 1e-12);
  finish(&read);
}
END_TEST

/* ---- a GPU ---- */

/* Names are stats of the events: hlo_op as a reference to a name, hlo_module as a string. Two
 * streams overlap. */
static Message gpu_space(void) {
  Message space = {0}, plane = {0}, first = {0}, second = {0};
  put_text(&plane, 2, "/device:GPU:0");
  put_metadata(&plane, 4, 1, "loop_add_fusion", NULL);
  put_metadata(&plane, 5, 1, "hlo_op", NULL);
  put_metadata(&plane, 5, 2, "hlo_module", NULL);
  put_metadata(&plane, 5, 3, "run_id", NULL);
  put_metadata(&plane, 5, 4, "add_fusion", NULL);
  put_text(&first, 2, "Stream #13(Compute)");
  put_text(&second, 2, "Stream #14(MemcpyD2D)");
  for (uint64_t run = 1; run <= 3; run++) {
    Message add = event_of(1, run * 100 * PS, 8 * PS),
            copy = event_of(1, run * 100 * PS + 6 * PS, 6 * PS);
    Message other = event_of(1, run * 100 * PS + 50 * PS, PS);
    put_stat(&add, 1, 7, 4, NULL);
    put_stat(&add, 2, 5, 0, "jit_f");
    put_stat(&add, 3, 4, run, NULL);
    put_stat(&copy, 1, 5, 0, "copy.1");
    put_stat(&copy, 2, 5, 0, "jit_f");
    put_stat(&copy, 3, 4, run, NULL);
    put_message(&first, 4, &add);
    put_message(&second, 4, &copy);
    put_message(&first, 4, &other); /* a kernel of no instruction */
  }
  put_message(&plane, 3, &first);
  put_message(&plane, 3, &second);
  put_message(&space, 1, &plane);
  return space;
}

START_TEST(plane_of_a_gpu) {
  Message space = gpu_space();
  Read read = read_profile(space.data, space.len);
  ck_assert_int_eq(read.status, RH_OK);
  ck_assert_uint_eq(read.times.num_modules, 1);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_f", "add_fusion"), 8e-6, 1e-12);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_f", "copy.1"), 6e-6, 1e-12);
  const TimedModule *module = &read.times.modules[0];
  ck_assert_uint_eq(module->num_steps, 3);
  ck_assert_double_eq_tol(module->step_seconds, 12e-6, 1e-12);
  ck_assert_double_eq_tol(module->busy_seconds, 12e-6, 1e-12);
  ck_assert_double_eq_tol(module->overlap_seconds, 2e-6, 1e-12);
  finish(&read);
}
END_TEST

/* ---- traces ---- */

static const char trace[] =
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
    "{\"ph\":\"M\",\"pid\":7,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA "
    "Modules\"}},"
    "{\"ph\":\"M\",\"pid\":7,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA Ops\"}},"
    "{\"ph\":\"X\",\"pid\":7,\"tid\":1,\"ts\":10,\"dur\":20,\"name\":\"jit_t(3)\"},"
    "{\"ph\":\"X\",\"pid\":7,\"tid\":2,\"ts\":10,\"dur\":5.5,\"name\":\"fusion.8\",\"args\":{}},"
    "{\"ph\":\"X\",\"pid\":9,\"tid\":4,\"ts\":90,\"dur\":2,\"name\":\"x\",\"args\":{\"hlo_module\":"
    "\"jit_c\","
    "\"hlo_op\":\"dot.1\",\"run_id\":\"5\"}},"
    "{\"ph\":\"X\",\"pid\":9,\"tid\":4,\"ts\":95,\"dur\":4,\"name\":\"x\",\"args\":{\"hlo_module\":"
    "\"jit_c\","
    "\"hlo_op\":\"dot.1\",\"run_id\":\"6\"}},"
    "{\"ph\":\"X\",\"pid\":9,\"tid\":4,\"ts\":99,\"dur\":1,\"name\":\"python\"}]}";

START_TEST(trace_as_json) {
  Read read = read_profile(trace, strlen(trace));
  ck_assert_int_eq(read.status, RH_OK);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_t", "fusion.8"), 5.5e-6, 1e-12);
  ck_assert_double_eq_tol(seconds_of(&read, "jit_c", "dot.1"), 3e-6, 1e-12);
  ck_assert_uint_eq(times_find_module(&read.times, str_make("jit_c", 5))->num_steps, 2);
  finish(&read);
}
END_TEST

/* ---- allocators ---- */

static void check_allocator(const Read *read, uint32_t index, const char *name, uint64_t events,
                            int64_t least, int64_t most) {
  ck_assert_uint_lt(index, read->times.num_allocators);
  const TimedAllocator *found = &read->times.allocators[index];
  ck_assert(str_is(found->name, name));
  ck_assert_uint_eq(found->num_events, events);
  ck_assert_int_eq(found->least_bytes, least);
  ck_assert_int_eq(found->most_bytes, most);
}

/* A thread of the host in which two allocators give out memory and take it back. */
START_TEST(allocations_of_an_xspace) {
  static const struct {
    uint64_t name, bytes;
    const char *allocator;
  } rows[] = {{1, 500, "GPU_0_bfc"},
              {1, 900, "GPU_0_bfc"},
              {2, 700, "GPU_0_bfc"},
              {1, 40, "xla_host"},
              {3, 9999, "GPU_0_bfc"}};
  Message space = gpu_space(), plane = {0}, line = {0};
  put_text(&plane, 2, "/host:CPU");
  put_metadata(&plane, 4, 1, "MemoryAllocation", NULL);
  put_metadata(&plane, 4, 2, "MemoryDeallocation", NULL);
  put_metadata(&plane, 4, 3, "MemoryOfSomethingElse", NULL);
  put_metadata(&plane, 5, 1, "allocator_name", NULL);
  put_metadata(&plane, 5, 2, "bytes_allocated", NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Message event = event_of(rows[i].name, i * PS, 0);
    put_stat(&event, 1, 5, 0, rows[i].allocator);
    put_stat(&event, 2, 4, rows[i].bytes, NULL);
    put_message(&line, 4, &event);
  }
  put_message(&plane, 3, &line);
  put_message(&space, 1, &plane);
  Read read = read_profile(space.data, space.len);
  ck_assert_int_eq(read.status, RH_OK);
  ck_assert_uint_eq(read.times.num_modules, 1);
  ck_assert_uint_eq(read.times.num_allocators, 2);
  check_allocator(&read, 0, "GPU_0_bfc", 3, 500, 900);
  check_allocator(&read, 1, "xla_host", 1, 40, 40);
  finish(&read);
}
END_TEST

START_TEST(allocations_of_a_trace) {
  static const char text[] =
      "{\"traceEvents\":["
      "{\"ph\":\"X\",\"pid\":9,\"tid\":4,\"ts\":1,\"dur\":2,\"name\":\"x\",\"args\":"
      "{\"hlo_module\":\"jit_c\",\"hlo_op\":\"dot.1\"}},"
      "{\"ph\":\"i\",\"pid\":9,\"tid\":5,\"ts\":1,\"name\":\"MemoryAllocation\",\"args\":"
      "{\"allocator_name\":\"GPU_0_bfc\",\"bytes_allocated\":\"4096\"}},"
      "{\"ph\":\"X\",\"pid\":9,\"tid\":5,\"ts\":2,\"dur\":0,\"name\":\"MemoryDeallocation\","
      "\"args\":{\"allocator_name\":\"GPU_0_bfc\",\"bytes_allocated\":\"1024\"}}]}";
  Read read = read_profile(text, strlen(text));
  ck_assert_int_eq(read.status, RH_OK);
  ck_assert_uint_eq(read.times.num_allocators, 1);
  check_allocator(&read, 0, "GPU_0_bfc", 2, 1024, 4096);
  finish(&read);
}
END_TEST

/* ---- modules in a profile ---- */

START_TEST(module_is_found) {
  Message space = {0}, plane = {0};
  put_text(&plane, 2, "/host:metadata");
  put_metadata(&plane, 5, 1, "Hlo Proto", NULL);
  const char *names[] = {"jit_small(1)", "jit_large(2)"}, *protos[] = {"small", "larger"};
  for (uint64_t i = 0; i < 2; i++) {
    Message value = {0}, entry = {0}, stat = {0};
    put_number(&value, 1, i + 1);
    put_text(&value, 2, names[i]);
    put_number(&stat, 1, 1);
    put_text(&stat, 6, protos[i]);
    put_message(&value, 5, &stat);
    put_number(&entry, 1, i + 1);
    put_message(&entry, 2, &value);
    put_message(&plane, 4, &entry);
  }
  put_message(&space, 1, &plane);
  Arena *scratch = arena_new(NULL);
  ck_assert(str_is(xplane_find_hlo(space.data, space.len, NULL, scratch), "larger"));
  ck_assert(str_is(xplane_find_hlo(space.data, space.len, "jit_small", scratch), "small"));
  ck_assert_uint_eq(xplane_find_hlo(space.data, space.len, "jit_other", scratch).len, 0);
  arena_free(scratch);
}
END_TEST

/* ---- what is no profile ---- */

static const char *const others[] = {
    "", "HloModule m", "{}", "{\"traceEvents\": 3}", "{\"traceEvents\": []}", "\x0a"};

START_TEST(other_files_are_refused) {
  Read read = read_profile(others[_i], strlen(others[_i]));
  ck_assert_int_eq(read.status, RH_ERR_INPUT);
  finish(&read);
}
END_TEST

/* Every beginning is refused, or is read no further than it goes. */
START_TEST(cut_off_profile_is_safe) {
  Message space = _i ? gpu_space() : tpu_space();
  for (uint32_t length = 0; length < space.len; length++) {
    char *data = malloc(length + 1);
    memcpy(data, space.data, length);
    Read read = read_profile(data, length);
    finish(&read);
    free(data);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("profile");
  TCase *tc = tcase_create("profile");
  tcase_add_test(tc, plane_of_a_tpu);
  tcase_add_test(tc, plane_of_a_gpu);
  tcase_add_test(tc, trace_as_json);
  tcase_add_test(tc, allocations_of_an_xspace);
  tcase_add_test(tc, allocations_of_a_trace);
  tcase_add_test(tc, module_is_found);
  tcase_add_loop_test(tc, other_files_are_refused, 0, sizeof others / sizeof *others);
  tcase_add_loop_test(tc, cut_off_profile_is_safe, 0, 2);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
