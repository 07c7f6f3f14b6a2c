/* The texts and colours of a picture. This part does not use graphviz's libraries; it only knows
 * the syntax of its labels: HTML-like labels (without the outer < >) and escString. */
#ifndef REMAT_HLO_EMIT_DOT_LABELS_H
#define REMAT_HLO_EMIT_DOT_LABELS_H

#include "emit/dot/picture.h"
#include "ir/text_buffer.h"

/* ---- colours ---- */

/* Blue contrasts with the yellow to red of the heat for all kinds of colour vision. */
#define DOT_COLOR_REMAT "#0057c2"
#define DOT_COLOR_LIVE "#202020"  /* live at the peak */
#define DOT_COLOR_QUIET "#8c8c8c" /* not live at the peak */
#define DOT_COLOR_FRAME "#b0b0b0"
#define DOT_COLOR_BOX "#f2f2f2"   /* the box of instructions that are not shown individually */
#define DOT_COLOR_SCOPE "#fafafa" /* the background of the frame of a scope */

typedef struct DotColor {
  char text[8]; /* #rrggbb */
} DotColor;

/* Returns a ratio in thousandths, 0 to 1000. It is computed with integers, so it is the same on all
 * machines. */
int dot_permille(int64_t part, int64_t whole);

/* Returns a colour from light yellow over orange to red. Hotter colours are darker for all kinds of
 * colour vision, and black text is readable on all of them. */
DotColor dot_heat_color(int permille);

/* ---- pieces of text, from any bytes ---- */

/* Limits in bytes. graphviz does not read strings of more than 16384 bytes. */
/* The size of what a node begins with; see graph.c for that of the rest. */
#define DOT_HEAD_POINTS "15"

enum { DOT_NAME_CHARS = 40, DOT_SHAPE_CHARS = 36 };

/* Appends a text in HTML-like labels, also inside of quotes. */
void dot_put_html(TextBuffer *text, Str raw);

/* Appends a text in an escString. The end of a very long text is omitted. */
void dot_put_escaped(TextBuffer *text, Str raw);

void dot_put_size(TextBuffer *text, int64_t bytes);
void dot_put_count(TextBuffer *text, uint64_t count);

/* Names differ mostly at their ends, so the middle of a long name is omitted. */
void dot_put_shortened(TextBuffer *text, Str name, uint32_t max_chars);

/* The end of a scope's path is the most specific part, so the parts before it are omitted from a
 * long path. */
void dot_put_path(TextBuffer *text, Str path);

/* Long names of parameters differ in the middle, so they are written in two lines. */
void dot_put_name_lines(TextBuffer *text, Str name);

/* Returns a name in a form that graphviz accepts: UTF-8, with backslashes doubled, and without the
 * end of a very long name. Different names may give the same result. */
char *dot_name(const char *prefix, Str name, Arena *out);

/* ---- labels of nodes, frames and boxes, and the title ---- */

/* The entries that the legend needs. */
typedef struct DotLegend {
  bool has_kind[4]; /* by RematKind */
  bool has_recompute_edges;
  bool has_control;
  bool has_paths;
  bool has_boxes;
  bool has_calls;
} DotLegend;

char *dot_node_label(const DotPicture *picture, RematMarks marks, InstId id, Arena *out);
char *dot_node_tooltip(const DotPicture *picture, InstId id, Arena *out);
char *dot_edge_tooltip(const DotPicture *picture, const DotEdge *edge, Arena *out);
char *dot_cluster_label(const DotPicture *picture, CompId comp, Arena *out);
char *dot_scope_label(const DotScope *scope, Arena *out);
char *dot_box_label(const DotBox *box, Arena *out);
char *dot_box_tooltip(const DotBox *box, Arena *out);
char *dot_title(const DotPicture *picture, const DotOptions *options, const DotLegend *legend,
                Arena *out);

#endif
