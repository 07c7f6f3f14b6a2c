#include "advice/policy.h"

#include <stdlib.h>

#include "advice/frames.h"
#include "emit/human.h"
#include "remat/algorithms/forward_end.h"

const char *policy_name(Policy policy) {
  switch (policy) {
    case POLICY_DOTS: return "dots_saveable";
    case POLICY_WEIGHT_DOTS: return "dots_with_no_batch_dims_saveable";
    case POLICY_NAMES: return "save_only_these_names";
    default: return NULL;
  }
}

/* ---- products ---- */

/* XLA:TPU writes a product as a convolution, with a batch dimension as one of space whose input is
 * dilated so that each place is multiplied by one place of the other operand. The convolution of a
 * network has that form only in a gradient of its input. */
static bool is_batch_convolution(const Module *module, InstId id) {
  enum { WINDOW_WORDS = 7, BASE_DILATION = 4 }; /* ORDER of its integers (ir/attribute.h) */
  IntSlice window = inst_attr_ints(module, id, ATTR_WINDOW);
  for (uint32_t word = BASE_DILATION; word < window.len; word += WINDOW_WORDS) {
    if (window.data[word] > 1) return true;
  }
  return false;
}

/* How often a derivative is under vmap, `vmap(jvp())`: the checkpoint has decided before that adds
 * its dimension of a batch to each product. */
static uint32_t num_vmaps_around(const Module *module, InstId id) {
  Str name = inst_op_name(module, id);
  uint32_t count = 0;
  for (uint32_t i = 0; i < name.len; i++) {
    Str rest = {name.data + i, name.len - i};
    if (str_begins_with(rest, "jvp(") || str_begins_with(rest, "transpose(")) return count;
    if (name.data[i] == '/') count = 0;
    count += str_begins_with(rest, "vmap(");
  }
  return 0;
}

static bool has_batch_dims(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  uint32_t num_around = num_vmaps_around(module, id);
  if (opcode == OPCODE_CONVOLUTION) return num_around == 0 && is_batch_convolution(module, id);
  return opcode == OPCODE_DOT && inst_attr(module, id, ATTR_LHS_BATCH_DIMS) &&
         inst_attr_ints(module, id, ATTR_LHS_BATCH_DIMS).len > num_around;
}

static bool is_program_convolution(const Module *module, InstId id) {
  return str_contains(inst_op_name(module, id), "conv_general_dilated");
}

/* An instruction of a fused computation that is meant; NO_ID if there is none. */
static InstId find_inside(const Module *module, InstId id,
                          bool (*is_meant)(const Module *module, InstId id)) {
  if (is_meant(module, id)) return id;
  for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
    CompId comp = inst_callees(module, id)[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      if (is_meant(module, comp_inst(module, comp, i))) return comp_inst(module, comp, i);
    }
  }
  return NO_ID;
}

Products products_find(const Module *module, Arena *out, Arena *scratch) {
  Products products = {.is_dot = find_products(module, out, scratch),
                       .is_batch_dot = arena_zarray(out, bool, module->insts.len)};
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!products.is_dot[id]) continue;
    products.is_dot[id] = find_inside(module, id, is_program_convolution) == NO_ID;
    products.is_batch_dot[id] =
        products.is_dot[id] && find_inside(module, id, has_batch_dims) != NO_ID;
  }
  return products;
}

/* ---- lines ---- */

static bool is_placed_product(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  bool is_product = opcode == OPCODE_DOT || opcode == OPCODE_CONVOLUTION ||
                    opcode == OPCODE_CUSTOM_CALL || opcode == OPCODE_RAGGED_DOT;
  return is_product && source_place_innermost(module, id).line > 0;
}

static int by_line(const ProductLine *a, const ProductLine *b) {
  int order = str_compare(a->file, b->file);
  return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_density(const void *pa, const void *pb) {
  const ProductLine *a = pa, *b = pb;
  double of_a = a->seconds / (double)(a->bytes + 1), of_b = b->seconds / (double)(b->bytes + 1);
  if (of_a != of_b) return of_a > of_b ? -1 : 1;
  return by_line(a, b);
}

static ProductLine *line_of(ProductLines *lines, SourceFrame frame, Arena *out) {
  for (uint32_t i = 0; i < lines->list.len; i++) {
    ProductLine *line = &lines->list.data[i];
    if (line->line == frame.line && str_equal(line->file, frame.file)) return line;
  }
  ProductLine *line = vec_push(out, &lines->list);
  *line = (ProductLine){.file = frame.file, .line = frame.line};
  return line;
}

/* A product, and the frame whose line it counts to. */
typedef struct Placed {
  InstId id;
  SourceFrame frame;
  bool is_raised;
} Placed;

typedef struct PlacedList {
  VEC(Placed) list;
} PlacedList;

static bool is_same_line(const SourceFrame *a, const SourceFrame *b) {
  return a->line == b->line && str_equal(a->file, b->file);
}

/* The program's line of a product; false if it is not known. */
static bool find_line(const Module *module, InstId id, SourceFrame *frame) {
  InstId placed = find_inside(module, id, is_placed_product);
  if (placed == NO_ID) return false;
  SourcePlace place = source_place_innermost(module, placed);
  *frame = (SourceFrame){.file = place.file, .line = place.line};
  int32_t number = frame_of(module, placed);
  if (number != 0) (void)frame_outside_libraries(module, number, frame);
  return !frame->is_library && frame->file.len && frame->line > 0;
}

/* The line that a frame was called from, if that is in the function or in what it calls. */
static bool find_caller(const Module *module, const SourceFrame *frame, Str function,
                        SourceFrame *caller) {
  if (!function.len || frame->parent == 0 || str_equal(frame->function, function)) return false;
  *caller = (SourceFrame){0};
  (void)frame_outside_libraries(module, frame->parent, caller);
  return !caller->is_library && caller->file.len && caller->line > 0;
}

/* Of products in one line that have been called from different lines, the callers count. Returns
 * whether there are any. */
static bool raise_lines(const Module *module, PlacedList *placed, Str function) {
  bool has_raised = false;
  for (uint32_t a = 0; a < placed->list.len; a++) {
    Placed *own = &placed->list.data[a];
    SourceFrame caller, its;
    own->is_raised = false;
    if (!find_caller(module, &own->frame, function, &caller)) continue;
    for (uint32_t b = 0; b < placed->list.len && !own->is_raised; b++) {
      const SourceFrame *other = &placed->list.data[b].frame;
      own->is_raised = is_same_line(&own->frame, other) &&
                       find_caller(module, other, function, &its) && !is_same_line(&caller, &its);
    }
    has_raised |= own->is_raised;
  }
  for (uint32_t a = 0; a < placed->list.len && has_raised; a++) {
    Placed *own = &placed->list.data[a];
    SourceFrame frame = own->frame;
    if (own->is_raised) (void)find_caller(module, &frame, function, &own->frame);
  }
  return has_raised;
}

static PlacedList find_placed(const Module *module, const Products *products, const bool *is_meant,
                              Str function, Arena *arena) {
  enum { MAX_RAISED = 1000, MAX_ROUNDS = 4 };
  PlacedList placed = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    Placed one = {.id = id};
    if (is_meant[id] && products->is_dot[id] && find_line(module, id, &one.frame))
      *vec_push(arena, &placed.list) = one;
  }
  for (int round = 0; round < MAX_ROUNDS && placed.list.len <= MAX_RAISED; round++) {
    if (!raise_lines(module, &placed, function)) break;
  }
  return placed;
}

ProductLines product_lines_find(const Advisor *advisor, const Products *products,
                                const bool *is_meant, Str function, Arena *out) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  CostTable costs = cost_analyze(module, arena, advisor->scratch);
  PlacedList placed = find_placed(module, products, is_meant, function, arena);
  ProductLines lines = {.of = arena_array(out, uint32_t, module->insts.len)};
  memset(lines.of, 0xff, module->insts.len * sizeof *lines.of);
  for (int pass = 0; pass < 2; pass++) { /* the second one, in the order of the lines */
    for (uint32_t i = 0; i < placed.list.len; i++) {
      InstId id = placed.list.data[i].id;
      ProductLine *line = line_of(&lines, placed.list.data[i].frame, out);
      lines.of[id] = (uint32_t)(line - lines.list.data);
      if (pass > 0) continue;
      line->bytes += inst_shape(module, id)->bytes;
      line->seconds += cost_seconds(module, &costs, advisor->request->device, id);
    }
    if (pass == 0 && lines.list.len)
      qsort(lines.list.data, lines.list.len, sizeof *lines.list.data, by_density);
  }
  arena_free(arena);
  return lines;
}

bool policy_saves(const Products *products, Policy policy, const ProductLines *lines, InstId id) {
  if (policy == POLICY_NOTHING || !products->is_dot[id]) return false;
  if (policy == POLICY_NAMES)
    return lines->of[id] != NO_ID && lines->list.data[lines->of[id]].is_saved;
  return policy == POLICY_DOTS || !products->is_batch_dot[id];
}

/* ---- words ---- */

/* A name for each saved line: that of the function's last part, and the line's number. */
static const char *name_of(const ProductLine *line, Str function, Arena *out) {
  uint32_t begin = 0, end;
  for (uint32_t i = 0; i < function.len; i++) {
    if (function.data[i] == '.' || function.data[i] == '/') begin = i + 1;
  }
  for (end = begin; end < function.len && function.data[end] != '<'; end++) {
    if (function.data[end] == '*') break;
  }
  if (end == begin) return arena_printf(out, "line_%d", line->line);
  return arena_printf(out, "%.*s_%d", (int)(end - begin), function.data + begin, line->line);
}

static Str file_name(Str file) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < file.len; i++) {
    if (file.data[i] == '/') begin = i + 1;
  }
  return (Str){file.data + begin, file.len - begin};
}

/* The saved line that follows in the order of the program; NULL if there is none. */
static const ProductLine *next_saved(const ProductLines *lines, const ProductLine *after) {
  const ProductLine *next = NULL;
  for (uint32_t i = 0; i < lines->list.len; i++) {
    const ProductLine *line = &lines->list.data[i];
    bool is_later = line->is_saved && (!after || by_line(line, after) > 0);
    if (is_later && (!next || by_line(line, next) < 0)) next = line;
  }
  return next;
}

const char *policy_names_code(const ProductLines *lines, Str function, Arena *out) {
  const char *code = "from jax.ad_checkpoint import checkpoint_name\n";
  for (const ProductLine *line = NULL; (line = next_saved(lines, line));) {
    Str file = human_unescape(file_name(line->file), out);
    code = arena_printf(out, "%sx = checkpoint_name(x, \"%s\")  # x: the product of %.*s:%d\n",
                        code, name_of(line, function, out), (int)file.len, file.data, line->line);
  }
  return code;
}

const char *policy_names_call(const ProductLines *lines, Str function, Arena *out) {
  const char *text = "save_only_these_names(", *comma = "";
  for (const ProductLine *line = NULL; (line = next_saved(lines, line)); comma = ", ")
    text = arena_printf(out, "%s%s\"%s\"", text, comma, name_of(line, function, out));
  return arena_printf(out, "%s)", text);
}

const char *policy_names_title(const ProductLines *lines, Arena *out) {
  const char *text = "", *between = "";
  uint32_t count = 0;
  for (const ProductLine *line = NULL; (line = next_saved(lines, line)); count++) {
    if (count > 0) between = next_saved(lines, line) ? ", " : " and ";
    text = arena_printf(out, "%s%s%d", text, between, line->line);
  }
  return arena_printf(out, ", which keeps the products of line%s %s", count > 1 ? "s" : "", text);
}
