#include "generate_scan.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "generate.h"

enum { MAX_STACKS = 12, MAX_COUNTERS = 3, MAX_ELEMENTS = 24, MAX_CHARS = 48 };

typedef struct Counter {
  const char *type;
  bool is_array; /* of one element */
  int64_t begin, step;
} Counter;

/* An array whose slices one loop writes: slice first + t * step in iteration t. */
typedef struct Stack {
  int64_t num_slices, first, step;
  int dim;   /* of the slices: 0 or 1 */
  int width; /* of a slice */
  uint32_t loop;
  int64_t trips; /* of the loop */
  char shape[MAX_CHARS], slice[MAX_CHARS], row[MAX_CHARS], sizes[MAX_CHARS];
} Stack;

typedef struct Element {
  char shape[MAX_CHARS], init[MAX_CHARS], next[MAX_CHARS];
} Element;

typedef struct Writer {
  uint64_t state;
  FILE *comps, *entry, *body;
  bool is_fused, is_scheduled;
  uint32_t num_loops, num_names, num_stacks;
  Stack stacks[MAX_STACKS];
  int width;     /* of x */
  Stack weights; /* the second parameter, of which every iteration reads its row */
} Writer;

/* One loop that is being written. */
typedef struct Loop {
  uint32_t number, num_counters, counter_of_condition;
  int64_t trips;
  Counter counters[MAX_COUNTERS];
  uint32_t counter_at[MAX_COUNTERS]; /* elements of the state */
  uint32_t num_elements;
  Element elements[MAX_ELEMENTS];
} Loop;

static uint32_t below(Writer *writer, uint32_t bound) {
  return random_below(&writer->state, bound);
}

static uint32_t add_element(Loop *loop, const char *shape, const char *init) {
  Element *element = &loop->elements[loop->num_elements];
  snprintf(element->shape, sizeof element->shape, "%s", shape);
  snprintf(element->init, sizeof element->init, "%s", init);
  snprintf(element->next, sizeof element->next, "e%u", loop->num_elements);
  return loop->num_elements++;
}

/* ---- counters and indices ---- */

static const struct {
  const char *name;
  int64_t low, high;
} types[] = {{"s32", -100000, 100000},
             {"s32", 0, 0},
             {"s32", 0, 12},
             {"s32", -9, 9},
             {"s32", 0, 0},
             {"s64", 0, 0},
             {"s16", -300, 300},
             {"s64", -5000000000, 5000000000},
             {"s8", -20, 20},
             {"u8", 60, 100},
             {"u32", 100, 4000000000},
             {"u64", 100, 300}};

static Counter make_counter(Writer *writer) {
  static const int64_t steps[] = {1, 1, 1, -1, -1, 2, -2, 3, -3, 5};
  uint32_t type = below(writer, sizeof types / sizeof *types);
  uint64_t range = (uint64_t)(types[type].high - types[type].low) + 1;
  return (Counter){.type = types[type].name,
                   .is_array = below(writer, 8) == 0,
                   .begin = types[type].low + (int64_t)(random_next(&writer->state) % range),
                   .step = steps[below(writer, sizeof steps / sizeof *steps)]};
}

static void counter_shape(const Counter *counter, char shape[MAX_CHARS]) {
  snprintf(shape, MAX_CHARS, "%s[%s]", counter->type, counter->is_array ? "1" : "");
}

/* Writes an s32 named `name` that is first + t * step, from the counter's value `from`. */
static void put_index(Writer *writer, FILE *out, const char *name, const char *from,
                      const Counter *counter, int64_t first, int64_t step) {
  uint32_t n = writer->num_names++;
  int64_t sign = counter->step < 0 ? -1 : 1, by = counter->step * sign;
  char scalar[MAX_CHARS];
  snprintf(scalar, sizeof scalar, "%s", from);
  if (counter->is_array) {
    fprintf(out, " q%u = %s[] reshape(%s)\n", n, counter->type, from);
    snprintf(scalar, sizeof scalar, "q%u", n);
  }
  fprintf(out, " con%u = s64[] convert(%s)\n b%u = s64[] constant(%" PRId64 ")\n", n, scalar, n,
          counter->begin);
  if (sign > 0) {
    fprintf(out, " d%u = s64[] subtract(con%u, b%u)\n", n, n, n);
  } else {
    fprintf(out, " d%u = s64[] subtract(b%u, con%u)\n", n, n, n);
  }
  fprintf(out, " k%u = s64[] constant(%" PRId64 ")\n t%u = s64[] %s(d%u, k%u)\n", n, by, n,
          by == 1 ? "multiply" : "divide", n, n);
  fprintf(out, " i%u = s32[] convert(t%u)\n fac%u = s32[] constant(%" PRId64 ")\n", n, n, n, step);
  fprintf(out, " m%u = s32[] multiply(i%u, fac%u)\n o%u = s32[] constant(%" PRId64 ")\n", n, n, n,
          n, first);
  fprintf(out, " %s = s32[] add(m%u, o%u)\n", name, n, n);
}

/* ---- pieces of a body ---- */

/* Writes how `stack` is changed by `row` where the counter says; returns what has the result. */
static void put_write(Writer *writer, const Loop *loop, uint32_t counter, const Stack *stack,
                      const char *array, const char *row, char result[MAX_CHARS]) {
  uint32_t n = writer->num_names++;
  const Counter *by = &loop->counters[counter];
  char from[MAX_CHARS], index[MAX_CHARS], shape[MAX_CHARS];
  snprintf(result, MAX_CHARS, "w%u", n);
  snprintf(index, sizeof index, "at%u", n);
  snprintf(from, sizeof from, "e%u", loop->counter_at[counter]);
  counter_shape(by, shape);
  FILE *out = writer->is_fused ? writer->comps : writer->body;
  const char *cast = writer->is_fused ? "bitcast" : "reshape";
  if (writer->is_fused) {
    fprintf(out, "write%u {\n a = %s parameter(0)\n y = %s parameter(1)\n i = %s parameter(2)\n", n,
            stack->shape, stack->row, shape);
  }
  put_index(writer, out, index, writer->is_fused ? "i" : from, by, stack->first, stack->step);
  fprintf(out, " yr%u = %s %s(%s)\n z%u = s32[] constant(0)\n", n, stack->slice, cast,
          writer->is_fused ? "y" : row, n);
  char zero[MAX_CHARS];
  snprintf(zero, sizeof zero, "z%u", n);
  fprintf(out, " %s%s = %s dynamic-update-slice(%s, yr%u, %s, %s)\n",
          writer->is_fused ? "ROOT " : "", writer->is_fused ? "r" : result, stack->shape,
          writer->is_fused ? "a" : array, n, stack->dim ? zero : index, stack->dim ? index : zero);
  if (!writer->is_fused) return;
  fprintf(out, "}\n");
  fprintf(writer->body, " %s = %s fusion(%s, %s, %s), kind=kLoop, calls=write%u\n", result,
          stack->shape, array, row, from, n);
}

/* Takes slice `index` of a stack, and writes it as a row named `name`. */
static void put_whole_slice(FILE *out, uint32_t n, const Stack *stack, const char *array,
                            const char *index, const char *cast, const char *name) {
  char zero[MAX_CHARS];
  snprintf(zero, sizeof zero, "zero%u", n);
  fprintf(out, " cut%u = %s dynamic-slice(%s, %s, %s), dynamic_slice_sizes=%s\n", n, stack->slice,
          array, stack->dim ? zero : index, stack->dim ? index : zero, stack->sizes);
  fprintf(out, " %s = %s %s(cut%u)\n", name, stack->row, cast, n);
}

/* Takes both halves of the slice by themselves, as scans do of which an iteration has several
 * steps, and writes the second one before the first. */
static void put_halves(FILE *out, uint32_t n, const Stack *stack, const char *array,
                       const char *index, const char *cast, const char *name) {
  int half = stack->width / 2;
  fprintf(out, " half_at%u = s32[] constant(%d)\n none%u = f32[] constant(0)\n", n, half, n);
  fprintf(out, " empty%u = %s broadcast(none%u), dimensions={}\n", n, stack->row, n);
  for (int i = 0; i < 2; i++) {
    char at[MAX_CHARS], other[MAX_CHARS];
    snprintf(at, sizeof at, i ? "half_at%u" : "zero%u", n);
    snprintf(other, sizeof other, i ? "zero%u" : "half_at%u", n);
    fprintf(out, " cut%u_%d = f32[%d,%d] dynamic-slice(%s, %s, %s), dynamic_slice_sizes={%d,%d}\n",
            n, i, stack->dim ? half : 1, stack->dim ? 1 : half, array, stack->dim ? at : index,
            stack->dim ? index : at, stack->dim ? half : 1, stack->dim ? 1 : half);
    fprintf(out, " part%u_%d = f32[%d] %s(cut%u_%d)\n", n, i, half, cast, n, i);
    if (i == 0)
      fprintf(out, " joined%u = %s dynamic-update-slice(empty%u, part%u_0, %s)\n", n, stack->row, n,
              n, other);
    else
      fprintf(out, " %s = %s dynamic-update-slice(joined%u, part%u_1, %s)\n", name, stack->row, n,
              n, other);
  }
}

/* Reads slice first + t * step of a stack, as a row. */
static void put_read(Writer *writer, const Loop *loop, uint32_t counter, const Stack *stack,
                     const char *array, int64_t first, int64_t step, char result[MAX_CHARS]) {
  uint32_t n = writer->num_names++;
  const Counter *by = &loop->counters[counter];
  bool is_halved = below(writer, 4) == 0;
  char from[MAX_CHARS], index[MAX_CHARS], shape[MAX_CHARS];
  snprintf(result, MAX_CHARS, "r%u", n);
  snprintf(index, sizeof index, "at%u", n);
  snprintf(from, sizeof from, "e%u", loop->counter_at[counter]);
  counter_shape(by, shape);
  FILE *out = writer->is_fused ? writer->comps : writer->body;
  if (writer->is_fused)
    fprintf(out, "read%u {\n a = %s parameter(0)\n i = %s parameter(1)\n", n, stack->shape, shape);
  put_index(writer, out, index, writer->is_fused ? "i" : from, by, first, step);
  fprintf(out, " zero%u = s32[] constant(0)\n", n);
  (is_halved ? put_halves : put_whole_slice)(out, n, stack, writer->is_fused ? "a" : array, index,
                                             writer->is_fused ? "bitcast" : "reshape",
                                             writer->is_fused ? "ROOT r" : result);
  if (!writer->is_fused) return;
  fprintf(out, "}\n");
  fprintf(writer->body, " %s = %s fusion(%s, %s), kind=kLoop, calls=read%u\n", result, stack->row,
          array, from, n);
}

/* A result of one or two rows; what it is called. */
static void put_value(Writer *writer, const char *row, const char *a, const char *b,
                      char result[MAX_CHARS]) {
  static const char *const unary[] = {"sine", "cosine", "tanh", "exponential", "negate"};
  static const char *const binary[] = {"multiply", "add", "subtract", "maximum"};
  uint32_t n = writer->num_names++;
  char from[2 * MAX_CHARS];
  const char *opcode = b ? binary[below(writer, 4)] : unary[below(writer, 5)];
  snprintf(from, sizeof from, b ? "%s, %s" : "%s", a, b);
  snprintf(result, MAX_CHARS, "v%u", n);
  if (!writer->is_fused) {
    fprintf(writer->body, " %s = %s %s(%s)\n", result, row, opcode, from);
    return;
  }
  fprintf(writer->comps, "value%u {\n a = %s parameter(0)\n", n, row);
  if (b) fprintf(writer->comps, " b = %s parameter(1)\n", row);
  fprintf(writer->comps, " ROOT r = %s %s(%s)\n}\n", row, opcode, b ? "a, b" : "a");
  fprintf(writer->body, " %s = %s fusion(%s), kind=kLoop, calls=value%u\n", result, row, from, n);
}

/* ---- a loop ---- */

static void put_counters(Writer *writer, Loop *loop) {
  for (uint32_t c = 0; c < loop->num_counters; c++) {
    Element *element = &loop->elements[loop->counter_at[c]];
    const Counter *counter = &loop->counters[c];
    uint32_t n = writer->num_names++;
    const char *inner = writer->is_fused ? "i" : "";
    FILE *out = writer->is_fused ? writer->comps : writer->body;
    char from[MAX_CHARS];
    snprintf(from, sizeof from, "e%u", loop->counter_at[c]);
    if (writer->is_fused) fprintf(out, "next%u {\n i = %s parameter(0)\n", n, element->shape);
    const char *brace = counter->is_array ? "{" : "", *close = counter->is_array ? "}" : "";
    bool is_down = counter->step < 0; /* an unsigned constant cannot be negative */
    fprintf(out, " by%u = %s constant(%s%" PRId64 "%s)\n", n, element->shape, brace,
            is_down ? -counter->step : counter->step, close);
    fprintf(out, " %sn%u = %s %s(%s, by%u)\n", writer->is_fused ? "ROOT " : "", n, element->shape,
            is_down ? "subtract" : "add", *inner ? inner : from, n);
    snprintf(element->next, sizeof element->next, "n%u", n);
    if (!writer->is_fused) continue;
    fprintf(out, "}\n");
    snprintf(element->next, sizeof element->next, "g%u", n);
    fprintf(writer->body, " g%u = %s fusion(%s), kind=kLoop, calls=next%u\n", n, element->shape,
            from, n);
  }
}

static void put_shape(FILE *out, const Loop *loop) {
  for (uint32_t e = 0; e < loop->num_elements; e++)
    fprintf(out, "%s%s", e ? ", " : "(", loop->elements[e].shape);
  fputc(')', out);
}

/* The condition is written with the counter that has been chosen for it. */
static void put_condition(Writer *writer, const Loop *loop) {
  FILE *out = writer->comps;
  const Counter *counter = &loop->counters[loop->counter_of_condition];
  int64_t end = counter->begin + counter->step * loop->trips;
  uint32_t element = loop->counter_at[loop->counter_of_condition];
  fprintf(out, "cond%u {\n t = ", loop->number);
  put_shape(out, loop);
  fprintf(out, " parameter(0)\n i = %s get-tuple-element(t), index=%u\n",
          loop->elements[element].shape, element);
  if (counter->is_array) fprintf(out, " s = %s[] reshape(i)\n", counter->type);
  fprintf(out,
          " n = %s[] constant(%" PRId64 ")\n ROOT c = pred[] compare(%s, n), direction=%s\n}\n",
          counter->type, end, counter->is_array ? "s" : "i", counter->step < 0 ? "GT" : "LT");
}

/* Counters, at random places among the elements that are there. */
static void add_counters(Writer *writer, Loop *loop) {
  loop->num_counters = 1 + below(writer, MAX_COUNTERS);
  loop->counter_of_condition = below(writer, loop->num_counters);
  for (uint32_t c = 0; c < loop->num_counters; c++) {
    char shape[MAX_CHARS], init[MAX_CHARS];
    uint32_t n = writer->num_names++;
    loop->counters[c] = make_counter(writer);
    counter_shape(&loop->counters[c], shape);
    snprintf(init, sizeof init, "begin%u", n);
    fprintf(writer->entry, " %s = %s constant(%s%" PRId64 "%s)\n", init, shape,
            loop->counters[c].is_array ? "{" : "", loop->counters[c].begin,
            loop->counters[c].is_array ? "}" : "");
    loop->counter_at[c] = add_element(loop, shape, init);
  }
}

static void begin_body(Writer *writer, const Loop *loop) {
  for (uint32_t e = 0; e < loop->num_elements; e++)
    fprintf(writer->body, " e%u = %s get-tuple-element(t), index=%u\n", e, loop->elements[e].shape,
            e);
}

static void set_shapes(Stack *stack) {
  int slices = (int)stack->num_slices, width = stack->width;
  bool is_last = stack->dim == 1;
  snprintf(stack->shape, MAX_CHARS, "f32[%d,%d]", is_last ? width : slices,
           is_last ? slices : width);
  snprintf(stack->slice, MAX_CHARS, "f32[%d,%d]", is_last ? width : 1, is_last ? 1 : width);
  snprintf(stack->sizes, MAX_CHARS, "{%d,%d}", is_last ? width : 1, is_last ? 1 : width);
  snprintf(stack->row, MAX_CHARS, "f32[%d]", width);
}

/* A stack of the loop, in a random form. */
static Stack make_stack(Writer *writer, const Loop *loop) {
  int64_t stride = 1 + (below(writer, 5) == 0), offset = below(writer, 4) ? 0 : below(writer, 3);
  bool is_down = below(writer, 3) == 0;
  Stack stack = {.dim = below(writer, 4) == 0, .width = writer->width};
  stack.loop = loop->number;
  stack.trips = loop->trips;
  stack.num_slices = loop->trips * stride + offset + (below(writer, 5) == 0);
  stack.step = is_down ? -stride : stride;
  stack.first = is_down ? offset + (loop->trips - 1) * stride : offset;
  set_shapes(&stack);
  return stack;
}

/* Adds stacks to the state; returns how many. */
static uint32_t add_stacks(Writer *writer, Loop *loop, uint32_t most, uint32_t *at) {
  uint32_t count = 1 + below(writer, most);
  for (uint32_t s = 0; s < count; s++) {
    Stack stack = make_stack(writer, loop);
    char init[MAX_CHARS];
    snprintf(init, sizeof init, "zeros%u", writer->num_names++);
    fprintf(writer->entry, " %s = %s broadcast(zero), dimensions={}\n", init, stack.shape);
    at[s] = add_element(loop, stack.shape, init);
    writer->stacks[writer->num_stacks + s] = stack;
  }
  return count;
}

static void end_loop(Writer *writer, Loop *loop, char *body_text) {
  put_condition(writer, loop);
  FILE *out = writer->comps;
  fprintf(out, "body%u {\n t = ", loop->number);
  put_shape(out, loop);
  fprintf(out, " parameter(0)\n%s ROOT r = ", body_text);
  put_shape(out, loop);
  for (uint32_t e = 0; e < loop->num_elements; e++)
    fprintf(out, "%s%s", e ? ", " : " tuple(", loop->elements[e].next);
  fprintf(out, ")\n}\n");
  fprintf(writer->entry, " init%u = ", loop->number);
  put_shape(writer->entry, loop);
  for (uint32_t e = 0; e < loop->num_elements; e++)
    fprintf(writer->entry, "%s%s", e ? ", " : " tuple(", loop->elements[e].init);
  fprintf(writer->entry, ")\n loop%u = ", loop->number);
  put_shape(writer->entry, loop);
  fprintf(writer->entry,
          " while(init%u), condition=cond%u, body=body%u, "
          "backend_config={\"known_trip_count\":{\"n\":\"%" PRId64 "\"}}\n",
          loop->number, loop->number, loop->number, loop->trips);
}

/* Names an element of the loop's result in the entry. */
static void put_result(Writer *writer, const Loop *loop, uint32_t element, const char *name) {
  fprintf(writer->entry, " %s = %s get-tuple-element(loop%u), index=%u\n", name,
          loop->elements[element].shape, loop->number, element);
}

/* Writes what a loop stacks, and what it hands on of its state: `x`, or what becomes of it. The
 * last stack may have what is handed on, and each of them what the iteration begins with. */
static void put_stacks(Writer *writer, Loop *loop, uint32_t state, char x[MAX_CHARS],
                       const char *weights, uint32_t count, const uint32_t *at) {
  char row[MAX_CHARS], made[MAX_CHARS], array[MAX_CHARS], before[MAX_CHARS];
  char *next = loop->elements[state].next;
  bool hands_on = count > 0 && below(writer, 2);
  snprintf(row, sizeof row, "f32[%d]", writer->width);
  snprintf(before, sizeof before, "e%u", state);
  for (uint32_t s = 0; s < count; s++) {
    bool is_next = hands_on && s + 1 == count;
    bool is_state = below(writer, 3) == 0 || (hands_on && s == 0);
    put_value(writer, row, x, below(writer, 2) ? weights : NULL, made);
    if (is_next) put_value(writer, row, x, weights, next);
    snprintf(array, sizeof array, "e%u", at[s]);
    put_write(writer, loop, below(writer, loop->num_counters),
              &writer->stacks[writer->num_stacks + s], array,
              is_next    ? next
              : is_state ? before
                         : made,
              loop->elements[at[s]].next);
    if (below(writer, 2)) snprintf(x, MAX_CHARS, "%s", made);
  }
  if (!hands_on) put_value(writer, row, x, weights, next);
}

/* Writes a loop that changes the row `x` of the entry, reads some of the stacks that there are, and
 * stacks what it computes. The row is then `x` with the loop's number. */
static void put_loop(Writer *writer, int64_t trips, bool reads) {
  Loop loop = {.number = writer->num_loops++, .trips = trips};
  char *text = NULL, row[MAX_CHARS], x[MAX_CHARS], init[MAX_CHARS];
  size_t length;
  uint32_t num_known = writer->num_stacks, read_at[MAX_STACKS], stacks_at[MAX_STACKS];
  bool is_read[MAX_STACKS] = {false};
  bool begins_with_counters = below(writer, 2);
  writer->body = open_memstream(&text, &length);
  snprintf(row, sizeof row, "f32[%d]", writer->width);
  if (begins_with_counters) add_counters(writer, &loop);
  snprintf(init, sizeof init, loop.number ? "x%u" : "x", loop.number - 1);
  uint32_t state = add_element(&loop, row, init);
  uint32_t weight = add_element(&loop, writer->weights.shape, "w");
  for (uint32_t s = 0; reads && s < num_known; s++) {
    is_read[s] = writer->stacks[s].trips >= trips && below(writer, 4) > 0;
    if (!is_read[s]) continue;
    snprintf(init, sizeof init, "stack%u", s);
    read_at[s] = add_element(&loop, writer->stacks[s].shape, init);
  }
  uint32_t num_new =
      !reads || below(writer, 3) == 0 ? add_stacks(writer, &loop, reads ? 1 : 3, stacks_at) : 0;
  if (!begins_with_counters) add_counters(writer, &loop);
  begin_body(writer, &loop);

  char weights[MAX_CHARS], made[MAX_CHARS], array[MAX_CHARS];
  snprintf(x, sizeof x, "e%u", state);
  snprintf(array, sizeof array, "e%u", weight);
  bool is_reversed = reads && below(writer, 2);
  put_read(writer, &loop, below(writer, loop.num_counters), &writer->weights, array,
           is_reversed ? trips - 1 : 0, is_reversed ? -1 : 1, weights);
  for (uint32_t s = 0; s < num_known; s++) {
    if (!is_read[s]) continue;
    const Stack *stack = &writer->stacks[s];
    bool is_turned = below(writer, 3) > 0; /* from the last iteration to the first one */
    int64_t skipped = below(writer, 2) ? stack->trips - trips : 0;
    int64_t first = is_turned ? stack->trips - 1 - skipped : skipped;
    char slice[MAX_CHARS];
    snprintf(array, sizeof array, "e%u", read_at[s]);
    put_read(writer, &loop, below(writer, loop.num_counters), stack, array,
             stack->first + first * stack->step, is_turned ? -stack->step : stack->step, slice);
    put_value(writer, row, x, slice, made);
    snprintf(x, sizeof x, "%s", made);
  }
  put_stacks(writer, &loop, state, x, weights, num_new, stacks_at);
  put_counters(writer, &loop);
  fclose(writer->body);
  end_loop(writer, &loop, text);
  free(text);
  char name[MAX_CHARS];
  snprintf(name, sizeof name, "x%u", loop.number);
  put_result(writer, &loop, state, name);
  for (uint32_t s = 0; s < num_new; s++) {
    snprintf(name, sizeof name, "stack%u", num_known + s);
    put_result(writer, &loop, stacks_at[s], name);
  }
  writer->num_stacks += num_new;
}

char *generate_scan(uint64_t seed, size_t *length) {
  static const int64_t trip_counts[] = {1, 2, 3, 4, 6, 6, 8, 9, 12};
  static const int widths[] = {4, 64, 2048};
  Writer writer = {.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
  char *comps = NULL, *entry = NULL, *whole = NULL;
  size_t comps_length, entry_length;
  for (int i = 0; i < 4; i++)
    (void)random_next(&writer.state);
  writer.is_fused = below(&writer, 2);
  writer.is_scheduled = writer.is_fused && below(&writer, 2);
  writer.width = widths[below(&writer, 3)];
  writer.comps = open_memstream(&comps, &comps_length);
  writer.entry = open_memstream(&entry, &entry_length);
  int64_t trips = trip_counts[below(&writer, sizeof trip_counts / sizeof *trip_counts)];
  writer.weights = (Stack){.num_slices = trips, .width = writer.width, .step = 1};
  set_shapes(&writer.weights);
  uint32_t num_writers = 1 + (below(&writer, 3) == 0), num_readers = 1 + below(&writer, 2);
  for (uint32_t i = 0; i < num_writers; i++)
    put_loop(&writer, trips, i > 0 && below(&writer, 2));
  for (uint32_t i = 0; i < num_readers; i++)
    put_loop(&writer, trips > 2 && below(&writer, 5) == 0 ? trips - 1 : trips, true);
  bool returns_stack = below(&writer, 6) == 0;
  fclose(writer.comps);
  fclose(writer.entry);

  FILE *out = open_memstream(&whole, length);
  fprintf(out,
          "HloModule scans%s\n\n%s\nENTRY e {\n x = f32[%d] parameter(0)\n"
          " w = %s parameter(1)\n zero = f32[] constant(0)\n%s",
          writer.is_scheduled ? ", is_scheduled=true" : "", comps, writer.width,
          writer.weights.shape, entry);
  uint32_t last = writer.num_loops - 1;
  if (returns_stack) {
    uint32_t stack = below(&writer, writer.num_stacks);
    fprintf(out, " ROOT r = (f32[%d], %s) tuple(x%u, stack%u)\n}\n", writer.width,
            writer.stacks[stack].shape, last, stack);
  } else {
    fprintf(out, " ROOT r = (f32[%d]) tuple(x%u)\n}\n", writer.width, last);
  }
  fclose(out);
  free(comps);
  free(entry);
  return whole;
}
