#include "emit/dot/label.h"

#include <stdio.h>

#include "analysis/memory/remat_memory.h"
#include "emit/dot/text.h"
#include "emit/human.h"

/* ---- colours ---- */

int dot_permille(int64_t part, int64_t whole) {
  if (part <= 0 || whole <= 0) return 0;
  if (part >= whole) return 1000;
  while (whole >= INT64_C(1) << 50) {
    part >>= 1;
    whole >>= 1;
  }
  return (int)(part * 1000 / whole);
}

/* ColorBrewer's YlOrRd without its darkest ones. */
DotColor dot_heat_color(int permille) {
  static const int ramp[][3] = {{255, 255, 204}, {255, 237, 160}, {254, 217, 118},
                                {254, 178, 76},  {253, 141, 60},  {252, 78, 42}};
  enum { STEPS = 200 }; /* between two colours */
  int step = permille == 1000 ? 4 : permille / STEPS, rest = permille - step * STEPS;
  int color[3];
  for (int i = 0; i < 3; i++) {
    color[i] = ramp[step][i] + (ramp[step + 1][i] - ramp[step][i]) * rest / STEPS;
  }
  DotColor found;
  snprintf(found.text, sizeof found.text, "#%02x%02x%02x", (unsigned)color[0] & 255,
           (unsigned)color[1] & 255, (unsigned)color[2] & 255);
  return found;
}

/* ---- nodes ---- */

/* An array's type, or a tuple's first element and how many more there are. */
static void put_shape(TextBuffer *text, const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  if (!shape_is_tuple(shape)) {
    dot_put_shortened(text, shape_text(&module->shapes, id, false, text->arena), DOT_SHAPE_CHARS);
    return;
  }
  text_put(text, "(");
  for (uint32_t i = 0; i < shape->rank && i < 1; i++) {
    const Shape *element = shape_get(&module->shapes, shape->elements[i]);
    if (shape_is_tuple(element)) {
      text_put(text, "(\xE2\x80\xA6)");
    } else {
      dot_put_shortened(text, shape_text(&module->shapes, shape->elements[i], false, text->arena),
                        DOT_SHAPE_CHARS);
    }
  }
  if (shape->rank > 1) {
    text_put(text, ", ");
    dot_put_count(text, shape->rank - 1);
    text_put(text, " more");
  }
  text_put(text, ")");
}

static void put_mark(TextBuffer *text, RematMark mark) {
  switch (mark.kind) {
    case REMAT_KIND_CLONE:
      text_put(text, "<BR/><I>recomputes ");
      dot_put_shortened(text, mark.original, DOT_NAME_CHARS);
      text_put(text, "</I>");
      break;
    case REMAT_KIND_MOVED: text_put(text, "<BR/><I>moved</I>"); break;
    case REMAT_KIND_HELPER: text_put(text, "<BR/><I>helper</I>"); break;
    default: break;
  }
}

char *dot_node_label(const DotPicture *picture, RematMarks marks, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  TextBuffer text = {.arena = out};
  if (id == picture->memory->peak_inst) {
    text_put(&text, "<B>PEAK ");
    dot_put_size(&text, picture->memory->peak_bytes);
    text_put(&text, "</B><BR/>");
  }
  /* What lives at the peak has a border of its own. */
  bool is_match = picture->is_wanted[id] && !picture->is_about_peak;
  text_put(&text, is_match ? "<B><U>" : "<B>");
  dot_put_name_lines(&text, inst_name(module, id));
  text_put(&text, is_match ? "</U></B><BR/>" : "</B><BR/>");
  text_put(&text, opcode_text((Opcode)inst->opcode));
  text_put(&text, " ");
  put_shape(&text, module, inst->shape);
  text_put(&text, "<BR/>");
  dot_put_size(&text, shape_total_bytes(&module->shapes, inst->shape));
  text_put(&text, " \xC2\xB7 #"); /* · */
  text_put_int(&text, picture->position[id]);
  if (picture->num_left_out[id]) {
    text_put(&text, "<BR/>+ ");
    dot_put_count(&text, picture->num_left_out[id]);
    text_put(&text, picture->num_left_out[id] == 1 ? " reader" : " readers");
  }
  if (marks) put_mark(&text, marks[id]);
  return text_c_string(&text);
}

char *dot_node_tooltip(const DotPicture *picture, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  const char *opcode = opcode_text((Opcode)inst->opcode);
  TextBuffer text = {.arena = out};
  dot_put_escaped(&text, inst_name(module, id));
  text_put(&text, " = ");
  dot_put_escaped(&text, shape_text(&module->shapes, inst->shape, true, out));
  text_put(&text, " ");
  text_put(&text, opcode);
  if (picture->memory_at[id] > 0) {
    text_put(&text, "&#10;memory while it runs: ");
    dot_put_size(&text, picture->memory_at[id]);
  }
  SourcePlace place = human_source_place(module, id, out);
  if (place.op_name.len) {
    text_put(&text, "&#10;");
    dot_put_escaped(&text, place.op_name);
  }
  if (place.file.len || place.line > 0) {
    text_put(&text, "&#10;");
    dot_put_escaped(&text, place.file);
    text_put(&text, ":");
    text_put_int(&text, place.line);
  }
  return text_c_string(&text);
}

char *dot_edge_tooltip(const DotPicture *picture, const DotEdge *edge, Arena *out) {
  TextBuffer text = {.arena = out};
  dot_put_escaped(&text, inst_name(picture->module, edge->from));
  text_put(&text, " \xE2\x86\x92 "); /* → */
  dot_put_escaped(&text, inst_name(picture->module, edge->to));
  if (edge->is_path) {
    text_put(&text, ", through what is not shown");
  } else {
    text_put(&text, ": ");
    dot_put_size(&text, edge->bytes);
  }
  return text_c_string(&text);
}

/* ---- clusters and boxes ---- */

char *dot_cluster_label(const DotPicture *picture, CompId comp, Arena *out) {
  Sequence sequence = picture->schedule->of[comp];
  int64_t peak_bytes = 0;
  uint32_t num_shown = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    int64_t bytes = picture->memory->bytes_at[sequence.ids[pos]];
    if (bytes > peak_bytes) peak_bytes = bytes;
    num_shown += picture->is_shown[sequence.ids[pos]];
  }
  TextBuffer text = {.arena = out};
  text_put(&text, comp == picture->module->entry ? "entry <B>" : "<B>");
  dot_put_shortened(&text, comp_name(picture->module, comp), DOT_NAME_CHARS);
  text_put(&text, "</B> \xC2\xB7 peak <B>");
  dot_put_size(&text, peak_bytes);
  text_put(&text, "</B> \xC2\xB7 ");
  dot_put_count(&text, num_shown);
  text_put(&text, " of ");
  dot_put_count(&text, sequence.len);
  text_put(&text, " instructions");
  return text_c_string(&text);
}

char *dot_scope_label(const DotScope *scope, Arena *out) {
  TextBuffer text = {.arena = out};
  text_put(&text, "<B>");
  dot_put_path(&text, scope->path);
  text_put(&text, "</B> \xC2\xB7 ");
  dot_put_count(&text, scope->num_shown);
  text_put(&text, " of ");
  dot_put_count(&text, scope->num_insts);
  return text_c_string(&text);
}

static void put_instructions(TextBuffer *text, uint32_t count) {
  dot_put_count(text, count);
  text_put(text, count == 1 ? " instruction" : " instructions");
}

static void put_box_name(TextBuffer *text, const DotBox *box) {
  if (box->is_rest || box->first_path.len == 0) {
    text_put(text, "<I>others</I>");
    return;
  }
  text_put(text, "<B>");
  dot_put_path(text, box->first_path);
  text_put(text, "</B>");
  if (box->num_scopes == 1) return;
  text_put(text, "<BR/>to <B>");
  dot_put_path(text, box->last_path);
  text_put(text, "</B>");
}

char *dot_box_label(const DotBox *box, Arena *out) {
  TextBuffer text = {.arena = out};
  put_box_name(&text, box);
  text_put(&text, "<BR/>");
  put_instructions(&text, box->num_insts);
  if (box->num_scopes > 1) {
    text_put(&text, " in ");
    dot_put_count(&text, box->num_scopes);
    text_put(&text, " scopes");
  }
  text_put(&text, "<BR/>");
  if (box->live_bytes > 0) {
    dot_put_size(&text, box->live_bytes);
    text_put(&text, " live at the peak");
  } else {
    text_put(&text, "results up to ");
    dot_put_size(&text, box->largest_bytes);
  }
  text_put(&text, " \xC2\xB7 #");
  text_put_int(&text, box->first);
  if (box->last != box->first) {
    text_put(&text, "\xE2\x80\x93"); /* en dash */
    text_put_int(&text, box->last);
  }
  return text_c_string(&text);
}

char *dot_box_tooltip(const DotBox *box, Arena *out) {
  TextBuffer text = {.arena = out};
  text_put(&text, "not shown: ");
  put_instructions(&text, box->num_insts);
  if (box->first_path.len && !box->is_rest) {
    text_put(&text, " of ");
    dot_put_escaped(&text, box->first_path);
  }
  text_put(&text, ", results up to ");
  dot_put_size(&text, box->largest_bytes);
  return text_c_string(&text);
}
