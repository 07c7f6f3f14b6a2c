/* Times the memory models on modules of a million instructions, in CPU seconds: the fastest of
 * three. usage: bench_memory [INSTRUCTIONS] */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/vec.h"
#include "remat_hlo.h"

enum { NUM_RUNS = 3 };

typedef struct Text {
  VEC(char) chars;
  Arena *arena;
} Text;

__attribute__((format(printf, 2, 3))) static void add(Text *text, const char *format, ...) {
  char line[200];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  memcpy(vec_extend(text->arena, &text->chars, (uint32_t)len), line, (size_t)len);
}

/* Every value is read once, by the next one. */
static void add_chain(Text *text, long count) {
  add(text, "  v0 = f32[64]{0} sine(p)\n");
  for (long i = 1; i < count; i++)
    add(text, "  v%ld = f32[64]{0} sine(v%ld)\n", i, i - 1);
  add(text, "  ROOT r = f32[64]{0} negate(v%ld)\n", count - 1);
}

/* A forward part, all of whose values the backward part reads, in sizes that take turns. */
static void add_training_step(Text *text, long count) {
  static const int sizes[] = {64, 256, 1024, 4096, 100, 300};
  long num_layers = count / 2;
  for (long i = 0; i < num_layers; i++)
    add(text, "  v%ld = f32[%d]{0} custom-call(v%ld), custom_call_target=\"forward\"\n", i,
        sizes[i % 6], i - 1);
  for (long i = num_layers; i-- > 0;)
    add(text, "  g%ld = f32[%d]{0} custom-call(g%ld, v%ld), custom_call_target=\"backward\"\n", i,
        sizes[i % 6], i + 1, i);
  add(text, "  ROOT r = f32[64]{0} custom-call(g0), custom_call_target=\"end\"\n");
}

/* Results that are there from the beginning, all of which could hold what comes between. */
static void add_results(Text *text, long count) {
  long num_results = count / 10;
  for (long i = 0; i < num_results; i++)
    add(text, "  o%ld = f32[64]{0} custom-call(p), custom_call_target=\"result\"\n", i);
  add(text, "  v0 = f32[32]{0} custom-call(p), custom_call_target=\"next\"\n");
  for (long i = 1; i < count - num_results; i++)
    add(text, "  v%ld = f32[%ld]{0} custom-call(v%ld), custom_call_target=\"next\"\n", i,
        32 - i % 7, i - 1);
  add(text, "  ROOT r = (f32[64]{0}");
  for (long i = 1; i < num_results; i++)
    add(text, ", f32[64]{0}");
  add(text, ") tuple(");
  for (long i = 0; i < num_results; i++)
    add(text, i ? ", o%ld" : "o%ld", i);
  add(text, "), control-predecessors={v%ld}\n", count - num_results - 1);
}

static double cpu_seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static void time_models(const char *shape, void (*add_body)(Text *, long), long count) {
  Arena *arena = arena_new(NULL);
  Text text = {.arena = arena};
  add(&text, "HloModule m, is_scheduled=true\n\nENTRY e {\n");
  add(&text, add_body == add_training_step ? "  v-1 = f32[64]{0} parameter(0)\n"
                                           : "  p = f32[64]{0} parameter(0)\n");
  if (add_body == add_training_step) add(&text, "  g%ld = f32[64]{0} parameter(1)\n", count / 2);
  add_body(&text, count);
  add(&text, "}\n");
  rh_module *module = NULL;
  double start = cpu_seconds();
  if (rh_parse(text.chars.data, text.chars.len, NULL, &module, NULL) != RH_OK) abort();
  printf("%-14s %8ld %-14s %6.2f s\n", shape, count, "parse", cpu_seconds() - start);
  const rh_entry *model;
  for (size_t i = 0; (model = rh_list(RH_MEMORY_MODELS, i)); i++) {
    double best = 1e9;
    rh_memory memory = RH_MEMORY_INIT;
    for (int run = 0; run < NUM_RUNS; run++) {
      start = cpu_seconds();
      if (rh_measure_memory(module, NULL, model->name, &memory, NULL) != RH_OK) abort();
      double seconds = cpu_seconds() - start;
      if (seconds < best) best = seconds;
    }
    printf("%-14s %8ld %-14s %6.2f s\n", shape, count, model->name, best);
  }
  rh_module_free(module);
  arena_free(arena);
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 1000000;
  if (argc > 2 || count < 20) {
    fprintf(stderr, "usage: bench_memory [INSTRUCTIONS]\n");
    return 2;
  }
  time_models("chain", add_chain, count);
  time_models("training step", add_training_step, count);
  time_models("results", add_results, count);
  return 0;
}
