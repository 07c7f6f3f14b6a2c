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
static void put_shape(DotText *text, const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  if (!shape_is_tuple(shape)) {
    dot_put_shortened(text, shape_text(&module->shapes, id, false, text->arena), DOT_SHAPE_CHARS);
    return;
  }
  dot_put(text, "(");
  for (uint32_t i = 0; i < shape->rank && i < 1; i++) {
    const Shape *element = shape_get(&module->shapes, shape->elements[i]);
    if (shape_is_tuple(element)) {
      dot_put(text, "(\xE2\x80\xA6)");
    } else {
      dot_put_shortened(text, shape_text(&module->shapes, shape->elements[i], false, text->arena),
                        DOT_SHAPE_CHARS);
    }
  }
  if (shape->rank > 1) {
    dot_put(text, ", ");
    dot_put_count(text, shape->rank - 1);
    dot_put(text, " more");
  }
  dot_put(text, ")");
}

static void put_mark(DotText *text, RematMark mark) {
  switch (mark.kind) {
    case REMAT_KIND_CLONE:
      dot_put(text, "<BR/><I>recomputes ");
      dot_put_shortened(text, mark.original, DOT_NAME_CHARS);
      dot_put(text, "</I>");
      break;
    case REMAT_KIND_MOVED: dot_put(text, "<BR/><I>moved</I>"); break;
    case REMAT_KIND_HELPER: dot_put(text, "<BR/><I>helper</I>"); break;
    default: break;
  }
}

char *dot_node_label(const DotPicture *picture, RematMarks marks, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  DotText text = {.arena = out};
  if (id == picture->memory->peak_inst) {
    dot_put(&text, "<B>PEAK ");
    dot_put_size(&text, picture->memory->peak_bytes);
    dot_put(&text, "</B><BR/>");
  }
  /* What lives at the peak has a border of its own. */
  bool is_match = picture->is_wanted[id] && !picture->is_about_peak;
  dot_put(&text, is_match ? "<B><U>" : "<B>");
  dot_put_name_lines(&text, inst_name(module, id));
  dot_put(&text, is_match ? "</U></B><BR/>" : "</B><BR/>");
  dot_put(&text, opcode_text((Opcode)inst->opcode));
  dot_put(&text, " ");
  put_shape(&text, module, inst->shape);
  dot_put(&text, "<BR/>");
  dot_put_size(&text, shape_total_bytes(&module->shapes, inst->shape));
  dot_put(&text, " \xC2\xB7 #"); /* · */
  dot_put_number(&text, picture->position[id]);
  if (picture->num_left_out[id]) {
    dot_put(&text, "<BR/>+ ");
    dot_put_count(&text, picture->num_left_out[id]);
    dot_put(&text, picture->num_left_out[id] == 1 ? " reader" : " readers");
  }
  if (marks) put_mark(&text, marks[id]);
  return dot_text_end(&text);
}

char *dot_node_tooltip(const DotPicture *picture, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  const char *opcode = opcode_text((Opcode)inst->opcode);
  DotText text = {.arena = out};
  dot_put_escaped(&text, inst_name(module, id));
  dot_put(&text, " = ");
  dot_put_escaped(&text, shape_text(&module->shapes, inst->shape, true, out));
  dot_put(&text, " ");
  dot_put(&text, opcode);
  if (picture->memory_at[id] > 0) {
    dot_put(&text, "&#10;memory while it runs: ");
    dot_put_size(&text, picture->memory_at[id]);
  }
  SourcePlace place = human_source_place(module, id, out);
  if (place.op_name.len) {
    dot_put(&text, "&#10;");
    dot_put_escaped(&text, place.op_name);
  }
  if (place.file.len || place.line > 0) {
    dot_put(&text, "&#10;");
    dot_put_escaped(&text, place.file);
    dot_put(&text, ":");
    dot_put_number(&text, place.line);
  }
  return dot_text_end(&text);
}

char *dot_edge_tooltip(const DotPicture *picture, const DotEdge *edge, Arena *out) {
  DotText text = {.arena = out};
  dot_put_escaped(&text, inst_name(picture->module, edge->from));
  dot_put(&text, " \xE2\x86\x92 "); /* → */
  dot_put_escaped(&text, inst_name(picture->module, edge->to));
  if (edge->is_path) {
    dot_put(&text, ", through what is not shown");
  } else {
    dot_put(&text, ": ");
    dot_put_size(&text, edge->bytes);
  }
  return dot_text_end(&text);
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
  DotText text = {.arena = out};
  dot_put(&text, comp == picture->module->entry ? "entry <B>" : "<B>");
  dot_put_shortened(&text, comp_name(picture->module, comp), DOT_NAME_CHARS);
  dot_put(&text, "</B> \xC2\xB7 peak <B>");
  dot_put_size(&text, peak_bytes);
  dot_put(&text, "</B> \xC2\xB7 ");
  dot_put_count(&text, num_shown);
  dot_put(&text, " of ");
  dot_put_count(&text, sequence.len);
  dot_put(&text, " instructions");
  return dot_text_end(&text);
}

char *dot_scope_label(const DotScope *scope, Arena *out) {
  DotText text = {.arena = out};
  dot_put(&text, "<B>");
  dot_put_path(&text, scope->path);
  dot_put(&text, "</B> \xC2\xB7 ");
  dot_put_count(&text, scope->num_shown);
  dot_put(&text, " of ");
  dot_put_count(&text, scope->num_insts);
  return dot_text_end(&text);
}

static void put_instructions(DotText *text, uint32_t count) {
  dot_put_count(text, count);
  dot_put(text, count == 1 ? " instruction" : " instructions");
}

static void put_box_name(DotText *text, const DotBox *box) {
  if (box->is_rest || box->first_path.len == 0) {
    dot_put(text, "<I>others</I>");
    return;
  }
  dot_put(text, "<B>");
  dot_put_path(text, box->first_path);
  dot_put(text, "</B>");
  if (box->num_scopes == 1) return;
  dot_put(text, "<BR/>to <B>");
  dot_put_path(text, box->last_path);
  dot_put(text, "</B>");
}

char *dot_box_label(const DotBox *box, Arena *out) {
  DotText text = {.arena = out};
  put_box_name(&text, box);
  dot_put(&text, "<BR/>");
  put_instructions(&text, box->num_insts);
  if (box->num_scopes > 1) {
    dot_put(&text, " in ");
    dot_put_count(&text, box->num_scopes);
    dot_put(&text, " scopes");
  }
  dot_put(&text, "<BR/>");
  if (box->live_bytes > 0) {
    dot_put_size(&text, box->live_bytes);
    dot_put(&text, " live at the peak");
  } else {
    dot_put(&text, "results up to ");
    dot_put_size(&text, box->largest_bytes);
  }
  dot_put(&text, " \xC2\xB7 #");
  dot_put_number(&text, box->first);
  if (box->last != box->first) {
    dot_put(&text, "\xE2\x80\x93"); /* en dash */
    dot_put_number(&text, box->last);
  }
  return dot_text_end(&text);
}

char *dot_box_tooltip(const DotBox *box, Arena *out) {
  DotText text = {.arena = out};
  dot_put(&text, "not shown: ");
  put_instructions(&text, box->num_insts);
  if (box->first_path.len && !box->is_rest) {
    dot_put(&text, " of ");
    dot_put_escaped(&text, box->first_path);
  }
  dot_put(&text, ", results up to ");
  dot_put_size(&text, box->largest_bytes);
  return dot_text_end(&text);
}
