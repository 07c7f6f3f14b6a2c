#include "emit/dot/labels.h"

#include <stdio.h>

#include "analysis/memory/remat_memory.h"
#include "emit/human.h"
#include "emit/label.h"

/* ---- pieces of text ---- */

enum { MAX_TOOLTIP_CHARS = 500, MAX_ID_CHARS = 4000 };

/* Returns the beginning of the UTF-8 sequence that contains `pos`. */
static uint32_t sequence_begin(Str text, uint32_t pos) {
  while (pos > 0 && pos < text.len && ((unsigned char)text.data[pos] & 0xC0) == 0x80)
    pos--;
  return pos;
}

/* Escapes a text for HTML-like labels, also inside of quotes. escStrings accept entities as
 * well. */
void dot_put_html(TextBuffer *text, Str raw) {
  Str clean = human_utf8(raw, text->arena);
  for (uint32_t i = 0; i < clean.len; i++) {
    char c = clean.data[i];
    switch (c) {
      case '&': text_put(text, "&amp;"); break;
      case '<': text_put(text, "&lt;"); break;
      case '>': text_put(text, "&gt;"); break;
      case '"': text_put(text, "&quot;"); break;
      default: text_put_char(text, (unsigned char)c < 0x20 ? ' ' : c);
    }
  }
}

/* Escapes a text for an escString, where a backslash begins an escape. */
void dot_put_escaped(TextBuffer *text, Str raw) {
  bool is_long = raw.len > MAX_TOOLTIP_CHARS;
  if (is_long) raw.len = sequence_begin(raw, MAX_TOOLTIP_CHARS);
  TextBuffer html = {.arena = text->arena};
  dot_put_html(&html, raw);
  for (uint32_t i = 0; i < html.chars.len; i++) {
    if (html.chars.data[i] == '\\') text_put(text, "\\");
    text_put_char(text, html.chars.data[i]);
  }
  if (is_long) text_put(text, "\xE2\x80\xA6");
}

void dot_put_size(TextBuffer *text, int64_t bytes) {
  text_put(text, human_bytes(bytes).text);
}

void dot_put_count(TextBuffer *text, uint64_t count) {
  text_put(text, human_count(count).text);
}

/* Names differ mostly at their ends, so the middle of a long name is omitted. */
void dot_put_shortened(TextBuffer *text, Str name, uint32_t max_chars) {
  if (name.len == 0) name = STR("(no name)"); /* <B></B> is an error */
  if (name.len <= max_chars) {
    dot_put_html(text, name);
    return;
  }
  uint32_t head = sequence_begin(name, max_chars * 2 / 3);
  uint32_t tail = sequence_begin(name, name.len - max_chars / 3 + 1);
  dot_put_html(text, (Str){name.data, head});
  text_put(text, "\xE2\x80\xA6"); /* … */
  dot_put_html(text, (Str){name.data + tail, name.len - tail});
}

void dot_put_path(TextBuffer *text, Str path) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < path.len && path.len - begin > DOT_NAME_CHARS; i++) {
    if (path.data[i] == '/' || (path.data[i] == '[' && i > 0)) begin = i;
  }
  if (begin > 0) text_put(text, "\xE2\x80\xA6");
  dot_put_shortened(text, (Str){path.data + begin, path.len - begin}, DOT_NAME_CHARS);
}

/* Long names of parameters differ in the middle, so they are written in two lines. */
void dot_put_name_lines(TextBuffer *text, Str name) {
  if (name.len <= DOT_NAME_CHARS) {
    dot_put_shortened(text, name, DOT_NAME_CHARS);
    return;
  }
  uint32_t half = name.len <= 2 * DOT_NAME_CHARS ? (name.len + 1) / 2 : DOT_NAME_CHARS;
  half = sequence_begin(name, half);
  dot_put_html(text, (Str){name.data, half});
  text_put(text, "<BR/>");
  dot_put_shortened(text, (Str){name.data + half, name.len - half}, DOT_NAME_CHARS);
}

char *dot_name(const char *prefix, Str name, Arena *out) {
  Str clean = human_utf8(name, out);
  if (clean.len > MAX_ID_CHARS) clean.len = sequence_begin(clean, MAX_ID_CHARS);
  TextBuffer text = {.arena = out};
  text_put(&text, prefix);
  for (uint32_t i = 0; i < clean.len; i++) {
    if (clean.data[i] == '\\') text_put(&text, "\\");
    text_put_char(&text, clean.data[i]);
  }
  return text_c_string(&text);
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

/* The colours are ColorBrewer's YlOrRd without the darkest ones. */
DotColor dot_heat_color(int permille) {
  static const int ramp[][3] = {{255, 255, 204}, {255, 237, 160}, {254, 217, 118},
                                {254, 178, 76},  {253, 141, 60},  {252, 78, 42}};
  enum { STEPS = 200 }; /* number of steps between two colours */
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

/* Writes the type of an array, or the first element of a tuple and the number of other elements. */
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

static rh_text text_of(Str text) {
  return (rh_text){text.data, text.len};
}

/* Returns the label of an instruction, which is its name if that says something. */
static Str label_of(const Module *module, InstId id, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  SourcePlace place = human_source_place(module, id, out);
  const char *opcode = opcode_text((Opcode)inst->opcode);
  bool is_argument = inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry;
  bool has_path = is_argument && place.file.len == 0;
  rh_live_value value = {.name = text_of(inst_name(module, id)),
                         .opcode = {opcode, strlen(opcode)},
                         .op_name = text_of(place.op_name),
                         .source_file = text_of(place.file),
                         .source_line = place.line,
                         .argument = has_path ? text_of(place.op_name) : (rh_text){"", 0}};
  rh_text label = value_label(&value, out);
  return (Str){label.data, (uint32_t)label.length};
}

/* Writes the label, and below it the name unless that is the label. */
static void put_names(TextBuffer *text, const Module *module, InstId id) {
  Str name = inst_name(module, id), label = label_of(module, id, text->arena);
  text_put(text, "<FONT POINT-SIZE=\"" DOT_HEAD_POINTS "\"><B>");
  dot_put_name_lines(text, label);
  text_put(text, "</B></FONT>");
  if (str_equal(name, label)) return;
  text_put(text, "<BR/>");
  dot_put_shortened(text, name, DOT_NAME_CHARS);
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
  /* What is live at the peak has its own border. */
  bool is_match = picture->is_wanted[id] && !picture->is_about_peak;
  if (is_match) text_put(&text, "<U>");
  put_names(&text, module, id);
  text_put(&text, is_match ? "</U><BR/>" : "<BR/>");
  text_put(&text, opcode_text((Opcode)inst->opcode));
  text_put(&text, " ");
  put_shape(&text, module, inst->shape);
  text_put(&text, "<BR/>");
  dot_put_size(&text, result_device_bytes(module, id));
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

/* ---- the title: the module, what is shown of it, and the legend ---- */

/* Writes which sizes a picture of everything shows. */
static void put_sizes(TextBuffer *text, const DotPicture *picture, const DotOptions *options) {
  bool is_exclusive = options->min_bytes >= 0 || picture->has_more_of_size;
  int64_t bytes = options->min_bytes >= 0 ? options->min_bytes : picture->shown_bytes;
  if (bytes <= 0) {
    text_put(text, "all results with memory");
  } else {
    text_put(text, is_exclusive ? "all results over " : "all results of at least ");
    dot_put_size(text, bytes);
    if (picture->has_more_of_size) text_put(text, ", some of this size");
  }
  text_put(text, ", and what reads them");
}

static void put_shown_of_wanted(TextBuffer *text, const DotPicture *picture) {
  if (picture->num_wanted_shown < picture->num_wanted) {
    dot_put_count(text, picture->num_wanted_shown);
    text_put(text, " of ");
  }
  dot_put_count(text, picture->num_wanted);
}

static void put_peak(TextBuffer *text, const DotPicture *picture, const DotOptions *options) {
  int64_t shown_bytes = 0;
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    if (picture->is_shown[id]) shown_bytes += picture->live_bytes[id];
  }
  put_shown_of_wanted(text, picture);
  text_put(text, options->min_bytes < 0 ? " large" : "");
  text_put(text, picture->num_wanted == 1 ? " value" : " values");
  text_put(text, " of the peak");
  if (options->min_bytes >= 0) {
    text_put(text, " over ");
    dot_put_size(text, options->min_bytes);
  }
  text_put(text, ", and what is around them (");
  dot_put_size(text, shown_bytes);
  text_put(text, " of ");
  dot_put_size(text, picture->all_live_bytes);
  text_put(text, " live)");
}

static void put_matches(TextBuffer *text, const DotPicture *picture, const DotFilter *filter) {
  static const char *const kinds[] = {[DOT_FILTER_NAME] = "the name",
                                      [DOT_FILTER_REGEX] = "the expression",
                                      [DOT_FILTER_SCOPE] = "the scope",
                                      [DOT_FILTER_COMPUTATION] = "the computation"};
  put_shown_of_wanted(text, picture);
  text_put(text, picture->num_wanted == 1 ? " match" : " matches");
  text_put(text, " of ");
  text_put(text, kinds[filter->kind]);
  text_put(text, " <B>");
  dot_put_shortened(text, filter->text, 2 * DOT_NAME_CHARS);
  text_put(text, "</B>, and what is around them");
}

static void put_hidden_computations(TextBuffer *text, const DotPicture *picture) {
  uint32_t num_comps = 0, num_insts = 0;
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) {
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    Sequence sequence = picture->schedule->of[comp];
    SchedPos pos = 0;
    while (pos < sequence.len && !picture->is_shown[sequence.ids[pos]])
      pos++;
    if (pos < sequence.len) continue;
    num_comps++;
    num_insts += sequence.len;
  }
  if (num_comps == 0) return;
  text_put(text, "; left out: ");
  dot_put_count(text, num_comps);
  text_put(text, num_comps == 1 ? " computation of " : " computations of ");
  dot_put_count(text, num_insts);
  text_put(text, " instructions");
}

/* Writes what is shown and also what is omitted. */
static void put_choice(TextBuffer *text, const DotPicture *picture, const DotOptions *options) {
  switch (options->filter.kind) {
    case DOT_FILTER_ALL: put_sizes(text, picture, options); return;
    case DOT_FILTER_PEAK: put_peak(text, picture, options); break;
    default: put_matches(text, picture, &options->filter);
  }
  put_hidden_computations(text, picture);
  if (!picture->has_paths) text_put(text, "; too many to look for paths through others");
}

static void put_heading(TextBuffer *text, const DotPicture *picture, const DotOptions *options) {
  const MemoryProfile *memory = picture->memory;
  text_put(text, "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"24\"><B>");
  Str name = picture->module->source->header.name;
  dot_put_shortened(text, name, 2 * DOT_NAME_CHARS);
  text_put(text, "</B> \xC2\xB7 peak <B>");
  dot_put_size(text, memory->peak_bytes);
  text_put(text, "</B></FONT></TD></TR><TR><TD ALIGN=\"LEFT\">");
  text_put(text, "memory model ");
  text_put(text, options->model->name);
  int64_t total_bytes = memory_profile_total_bytes(memory);
  if (total_bytes != memory->peak_bytes) {
    text_put(text, " \xC2\xB7 total ");
    dot_put_size(text, total_bytes);
  }
  text_put(text, " \xC2\xB7 parameters ");
  dot_put_size(text, memory->parameter_bytes);
  text_put(text, memory->counts_params ? "" : " (not in the peak)");
  text_put(text, " \xC2\xB7 outputs ");
  dot_put_size(text, memory->output_bytes);
  text_put(text, "</TD></TR><TR><TD ALIGN=\"LEFT\">");
  dot_put_count(text, picture->num_shown);
  text_put(text, " of ");
  dot_put_count(text, picture->num_insts);
  text_put(text, " instructions: ");
  put_choice(text, picture, options);
  text_put(text, "</TD></TR>");
}

static void put_legend_row(TextBuffer *text, const char *sample, const char *meaning) {
  text_put(text, "<TR><TD ");
  text_put(text, sample);
  text_put(text, "</TD><TD ALIGN=\"LEFT\">");
  text_put(text, meaning);
  text_put(text, "</TD></TR>");
}

/* Writes the colour scale in ten cells. */
static void put_heat_row(TextBuffer *text, const DotPicture *picture) {
  text_put(text,
           "<TR><TD><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>");
  for (int i = 0; i < 10; i++) {
    text_put(text, "<TD WIDTH=\"9\" HEIGHT=\"14\" BGCOLOR=\"");
    text_put(text, dot_heat_color(i * 1000 / 9).text);
    text_put(text, "\"></TD>");
  }
  text_put(text, "</TR></TABLE></TD><TD ALIGN=\"LEFT\">memory while it runs, from ");
  dot_put_size(text, picture->least_memory);
  text_put(text, " to ");
  dot_put_size(text, picture->memory->peak_bytes);
  text_put(text, "</TD></TR>");
}

char *dot_title(const DotPicture *picture, const DotOptions *options, const DotLegend *legend,
                Arena *out) {
  TextBuffer text = {.arena = out};
  text_put(&text, "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"1\">");
  put_heading(&text, picture, options);
  text_put(&text,
           "<TR><TD ALIGN=\"LEFT\">"
           "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"1\">");
  put_heat_row(&text, picture);
  if (picture->num_wanted > 0 && !picture->is_about_peak) {
    put_legend_row(&text, "><B><U>name</U></B>", "matches the filter");
  }
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
  if (legend->has_paths) {
    put_legend_row(&text, ">\xE2\x95\x8C\xE2\x95\x8C\xE2\x96\xB6",
                   "reads what others, that are not shown, make of it");
  }
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
  if (legend->has_boxes) {
    put_legend_row(&text,
                   "BORDER=\"1\" COLOR=\"" DOT_COLOR_QUIET "\" BGCOLOR=\"" DOT_COLOR_BOX "\">scope",
                   "instructions that are not shown; thick: some live at the peak");
  }
  put_legend_row(&text, ">#12", "position in its computation's schedule");
  text_put(&text, "</TABLE></TD></TR></TABLE>");
  return text_c_string(&text);
}
