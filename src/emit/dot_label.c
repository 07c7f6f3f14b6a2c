#include "emit/dot_label.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/remat_memory.h"
#include "emit/human.h"

/* In bytes. graphviz does not read strings of more than 16384. */
enum { MAX_NAME_CHARS = 40, MAX_SHAPE_CHARS = 36, MAX_TOOLTIP_CHARS = 500, MAX_ID_CHARS = 4000 };

/* ---- text ---- */

typedef struct Text {
  VEC(char) chars;
  Arena *arena;
} Text;

static void put_bytes(Text *text, const char *data, uint32_t len) {
  if (len) memcpy(vec_extend(text->arena, &text->chars, len), data, len);
}

static void put(Text *text, const char *literal) {
  put_bytes(text, literal, (uint32_t)strlen(literal));
}

static char *text_end(Text *text) {
  *vec_push(text->arena, &text->chars) = '\0';
  return text->chars.data;
}

/* Back to the beginning of a UTF-8 sequence. */
static uint32_t sequence_begin(Str text, uint32_t pos) {
  while (pos > 0 && pos < text.len && ((unsigned char)text.data[pos] & 0xC0) == 0x80)
    pos--;
  return pos;
}

/* For HTML-like labels; what is between " in them, too. escStrings know entities as well. */
static void put_html(Text *text, Str raw) {
  Str clean = human_utf8(raw, text->arena);
  for (uint32_t i = 0; i < clean.len; i++) {
    char c = clean.data[i];
    switch (c) {
      case '&': put(text, "&amp;"); break;
      case '<': put(text, "&lt;"); break;
      case '>': put(text, "&gt;"); break;
      case '"': put(text, "&quot;"); break;
      default: *vec_push(text->arena, &text->chars) = (unsigned char)c < 0x20 ? ' ' : c;
    }
  }
}

/* For an escString: a backslash would begin an escape. */
static void put_escaped(Text *text, Str raw) {
  bool is_long = raw.len > MAX_TOOLTIP_CHARS;
  if (is_long) raw.len = sequence_begin(raw, MAX_TOOLTIP_CHARS);
  Text html = {.arena = text->arena};
  put_html(&html, raw);
  for (uint32_t i = 0; i < html.chars.len; i++) {
    if (html.chars.data[i] == '\\') put(text, "\\");
    *vec_push(text->arena, &text->chars) = html.chars.data[i];
  }
  if (is_long) put(text, "\xE2\x80\xA6");
}

static void put_size(Text *text, int64_t bytes) {
  put(text, human_bytes(bytes).text);
}

static void put_count(Text *text, uint64_t count) {
  put(text, human_count(count).text);
}

/* A number that somebody may search for, without commas. */
static void put_number(Text *text, int64_t number) {
  char room[DECIMAL_CHARS];
  Str digits = decimal_text(number, room);
  put_bytes(text, digits.data, digits.len);
}

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
static void put_shortened(Text *text, Str name, uint32_t max_chars) {
  if (name.len == 0) name = STR("(no name)"); /* <B></B> is an error */
  if (name.len <= max_chars) {
    put_html(text, name);
    return;
  }
  uint32_t head = sequence_begin(name, max_chars * 2 / 3);
  uint32_t tail = sequence_begin(name, name.len - max_chars / 3 + 1);
  put_html(text, (Str){name.data, head});
  put(text, "\xE2\x80\xA6"); /* … */
  put_html(text, (Str){name.data + tail, name.len - tail});
}

/* Long names of parameters differ in the middle: they get two lines. */
static void put_name_lines(Text *text, Str name) {
  if (name.len <= MAX_NAME_CHARS) {
    put_shortened(text, name, MAX_NAME_CHARS);
    return;
  }
  uint32_t half = name.len <= 2 * MAX_NAME_CHARS ? (name.len + 1) / 2 : MAX_NAME_CHARS;
  half = sequence_begin(name, half);
  put_html(text, (Str){name.data, half});
  put(text, "<BR/>");
  put_shortened(text, (Str){name.data + half, name.len - half}, MAX_NAME_CHARS);
}

char *dot_name(const char *prefix, Str name, Arena *out) {
  Str clean = human_utf8(name, out);
  if (clean.len > MAX_ID_CHARS) clean.len = sequence_begin(clean, MAX_ID_CHARS);
  Text text = {.arena = out};
  put(&text, prefix);
  for (uint32_t i = 0; i < clean.len; i++) {
    if (clean.data[i] == '\\') put(&text, "\\");
    *vec_push(out, &text.chars) = clean.data[i];
  }
  return text_end(&text);
}

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

DotColor dot_heat_color(int permille) {
  static const int ramp[][3] = {
      {255, 255, 255}, {255, 245, 205}, {254, 214, 138}, {251, 168, 92}, {238, 110, 72}};
  enum { STEPS = 250 }; /* between two colours */
  int step = permille == 1000 ? 3 : permille / STEPS, rest = permille - step * STEPS;
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
static void put_shape(Text *text, const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  if (!shape_is_tuple(shape)) {
    put_shortened(text, shape_text(&module->shapes, id, false, text->arena), MAX_SHAPE_CHARS);
    return;
  }
  put(text, "(");
  for (uint32_t i = 0; i < shape->rank && i < 1; i++) {
    const Shape *element = shape_get(&module->shapes, shape->elements[i]);
    if (shape_is_tuple(element)) {
      put(text, "(\xE2\x80\xA6)");
    } else {
      put_shortened(text, shape_text(&module->shapes, shape->elements[i], false, text->arena),
                    MAX_SHAPE_CHARS);
    }
  }
  if (shape->rank > 1) {
    put(text, ", ");
    put_count(text, shape->rank - 1);
    put(text, " more");
  }
  put(text, ")");
}

static void put_mark(Text *text, RematMark mark) {
  switch (mark.kind) {
    case REMAT_KIND_CLONE:
      put(text, "<BR/><I>recomputes ");
      put_shortened(text, mark.original, MAX_NAME_CHARS);
      put(text, "</I>");
      break;
    case REMAT_KIND_MOVED: put(text, "<BR/><I>moved</I>"); break;
    case REMAT_KIND_HELPER: put(text, "<BR/><I>helper</I>"); break;
    default: break;
  }
}

char *dot_node_label(const DotPicture *picture, RematMarks marks, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  Text text = {.arena = out};
  if (id == picture->memory->peak_inst) {
    put(&text, "<B>PEAK ");
    put_size(&text, picture->memory->peak_bytes);
    put(&text, "</B><BR/>");
  }
  put(&text, "<B>");
  put_name_lines(&text, inst_name(module, id));
  put(&text, "</B><BR/>");
  put(&text, opcode_text((Opcode)inst->opcode));
  put(&text, " ");
  put_shape(&text, module, inst->shape);
  put(&text, "<BR/>");
  put_size(&text, shape_total_bytes(&module->shapes, inst->shape));
  put(&text, " \xC2\xB7 #"); /* · */
  put_number(&text, picture->position[id]);
  if (picture->num_left_out[id]) {
    put(&text, "<BR/>+ ");
    put_count(&text, picture->num_left_out[id]);
    put(&text, picture->num_left_out[id] == 1 ? " reader" : " readers");
  }
  if (marks) put_mark(&text, marks[id]);
  return text_end(&text);
}

char *dot_node_tooltip(const DotPicture *picture, InstId id, Arena *out) {
  const Module *module = picture->module;
  const Instruction *inst = inst_get(module, id);
  const char *opcode = opcode_text((Opcode)inst->opcode);
  Text text = {.arena = out};
  put_escaped(&text, inst_name(module, id));
  put(&text, " = ");
  put_escaped(&text, shape_text(&module->shapes, inst->shape, true, out));
  put(&text, " ");
  put(&text, opcode);
  if (picture->memory_at[id] > 0) {
    put(&text, "&#10;memory while it runs: ");
    put_size(&text, picture->memory_at[id]);
  }
  SourcePlace place = human_source_place(module, id, out);
  if (place.op_name.len) {
    put(&text, "&#10;");
    put_escaped(&text, place.op_name);
  }
  if (place.file.len || place.line > 0) {
    put(&text, "&#10;");
    put_escaped(&text, place.file);
    put(&text, ":");
    put_number(&text, place.line);
  }
  return text_end(&text);
}

char *dot_edge_tooltip(const DotPicture *picture, const DotEdge *edge, Arena *out) {
  Text text = {.arena = out};
  put_escaped(&text, inst_name(picture->module, edge->from));
  put(&text, " \xE2\x86\x92 "); /* → */
  put_escaped(&text, inst_name(picture->module, edge->to));
  put(&text, ": ");
  put_size(&text, edge->bytes);
  return text_end(&text);
}

/* ---- clusters and title ---- */

char *dot_cluster_label(const DotPicture *picture, CompId comp, Arena *out) {
  Sequence sequence = picture->schedule->of[comp];
  int64_t peak_bytes = 0;
  uint32_t num_shown = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    int64_t bytes = picture->memory->bytes_at[sequence.ids[pos]];
    if (bytes > peak_bytes) peak_bytes = bytes;
    num_shown += picture->is_shown[sequence.ids[pos]];
  }
  Text text = {.arena = out};
  put(&text, comp == picture->module->entry ? "entry <B>" : "<B>");
  put_shortened(&text, comp_name(picture->module, comp), MAX_NAME_CHARS);
  put(&text, "</B> \xC2\xB7 peak <B>");
  put_size(&text, peak_bytes);
  put(&text, "</B> \xC2\xB7 ");
  put_count(&text, num_shown);
  put(&text, " of ");
  put_count(&text, sequence.len);
  put(&text, " instructions");
  return text_end(&text);
}

static void put_heading(Text *text, const DotPicture *picture, const DotOptions *options) {
  const MemoryProfile *memory = picture->memory;
  put(text, "<TR><TD COLSPAN=\"2\" ALIGN=\"LEFT\"><FONT POINT-SIZE=\"18\"><B>");
  Str name = picture->module->source->header.name;
  put_shortened(text, name, 2 * MAX_NAME_CHARS);
  put(text, "</B> \xC2\xB7 peak <B>");
  put_size(text, memory->peak_bytes);
  put(text, "</B></FONT></TD></TR><TR><TD COLSPAN=\"2\" ALIGN=\"LEFT\">");
  put(text, "memory model ");
  put(text, options->model->name);
  put(text, " \xC2\xB7 parameters ");
  put_size(text, memory->parameter_bytes);
  put(text, memory->counts_params ? "" : " (not in the peak)");
  put(text, " \xC2\xB7 outputs ");
  put_size(text, memory->output_bytes);
  put(text, "</TD></TR><TR><TD COLSPAN=\"2\" ALIGN=\"LEFT\">");
  put_count(text, picture->num_shown);
  put(text, " of ");
  put_count(text, picture->num_insts);
  put(text, " instructions: ");
  bool is_exclusive = options->min_bytes >= 0 || picture->has_more_of_size;
  int64_t bytes = options->min_bytes >= 0 ? options->min_bytes : picture->shown_bytes;
  if (bytes <= 0) {
    put(text, "all results with memory");
  } else {
    put(text, is_exclusive ? "all results over " : "all results of at least ");
    put_size(text, bytes);
    if (picture->has_more_of_size) put(text, ", some of this size");
  }
  put(text, ", and what reads them</TD></TR>");
}

static void put_legend_row(Text *text, const char *sample, const char *meaning) {
  put(text, "<TR><TD ");
  put(text, sample);
  put(text, "</TD><TD ALIGN=\"LEFT\">");
  put(text, meaning);
  put(text, "</TD></TR>");
}

/* The ramp in ten cells. */
static void put_heat_row(Text *text, const DotPicture *picture) {
  put(text,
      "<TR><TD><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>");
  for (int i = 0; i < 10; i++) {
    put(text, "<TD WIDTH=\"9\" HEIGHT=\"14\" FIXEDSIZE=\"TRUE\" BGCOLOR=\"");
    put(text, dot_heat_color(i * 1000 / 9).text);
    put(text, "\"></TD>");
  }
  put(text, "</TR></TABLE></TD><TD ALIGN=\"LEFT\">memory while it runs, from ");
  put_size(text, picture->least_memory);
  put(text, " to ");
  put_size(text, picture->memory->peak_bytes);
  put(text, "</TD></TR>");
}

char *dot_title(const DotPicture *picture, const DotOptions *options, const DotLegend *legend,
                Arena *out) {
  Text text = {.arena = out};
  put(&text, "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"1\">");
  put_heading(&text, picture, options);
  put_heat_row(&text, picture);
  put_legend_row(&text, "BORDER=\"3\" COLOR=\"" DOT_COLOR_LIVE "\">live",
                 "its result is live at the peak");
  if (legend->has_kind[REMAT_KIND_CLONE]) {
    put_legend_row(&text, "BORDER=\"3\" COLOR=\"" DOT_COLOR_REMAT "\">recomputed",
                   "computes again what another one computes");
  }
  if (legend->has_kind[REMAT_KIND_MOVED]) {
    put_legend_row(&text, "BORDER=\"3\" COLOR=\"" DOT_COLOR_REMAT "\" STYLE=\"dashed\">moved",
                   "runs elsewhere than before");
  }
  if (legend->has_kind[REMAT_KIND_HELPER]) {
    put_legend_row(&text, "BORDER=\"3\" COLOR=\"" DOT_COLOR_REMAT "\" STYLE=\"dotted\">helper",
                   "serves a recomputed one");
  }
  put_legend_row(&text,
                 "><FONT COLOR=\"" DOT_COLOR_LIVE "\">\xE2\x94\x81\xE2\x94\x81\xE2\x96\xB6</FONT>",
                 "reads; as wide as the buffer is large; dark when it is held across the peak");
  if (legend->has_recompute_edges) {
    put_legend_row(
        &text, "><FONT COLOR=\"" DOT_COLOR_REMAT "\">\xE2\x95\x8C\xE2\x95\x8C\xE2\x96\xB6</FONT>",
        "is recomputed as");
  }
  if (legend->has_calls) {
    put_legend_row(&text, ">\xE2\x95\x8C\xE2\x95\x8C\xE2\x96\xB7", "calls");
  }
  if (legend->has_control) {
    put_legend_row(&text, ">\xE2\x94\x88\xE2\x94\x88\xE2\x96\xB6", "control dependency");
  }
  put_legend_row(&text, ">#12", "position in its computation's schedule");
  put(&text, "</TABLE>");
  return text_end(&text);
}
