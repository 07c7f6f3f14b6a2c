/* The title of a picture: what the module is, what is shown of it, and what colours and lines mean.
 */
#include "emit/dot/label.h"
#include "emit/dot/select.h"
#include "emit/dot/text.h"

/* What a picture of all shows. */
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

/* What was left out, too: nothing is without a word. */
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
  text_put(text, "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"18\"><B>");
  Str name = picture->module->source->header.name;
  dot_put_shortened(text, name, 2 * DOT_NAME_CHARS);
  text_put(text, "</B> \xC2\xB7 peak <B>");
  dot_put_size(text, memory->peak_bytes);
  text_put(text, "</B></FONT></TD></TR><TR><TD ALIGN=\"LEFT\">");
  text_put(text, "memory model ");
  text_put(text, options->model->name);
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

/* The ramp in ten cells. */
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
