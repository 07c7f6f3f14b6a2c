/* What is written on a picture, and its colours. Knows nothing of graphviz's libraries, only of the
 * languages of its labels: HTML-like ones (without the outer < >) and escString. */
#ifndef REMAT_HLO_EMIT_DOT_LABELS_H
#define REMAT_HLO_EMIT_DOT_LABELS_H

#include "emit/dot/picture.h"
#include "ir/text_buffer.h"

/* ---- colours ---- */

/* Blue against the yellow to red of the heat: told apart by all kinds of colour vision. */
#define DOT_COLOR_REMAT "#0057c2"
#define DOT_COLOR_LIVE "#202020"  /* live at the peak */
#define DOT_COLOR_QUIET "#8c8c8c" /* not live at the peak */
#define DOT_COLOR_FRAME "#b0b0b0"
#define DOT_COLOR_BOX "#f2f2f2"   /* of what is not shown one by one */
#define DOT_COLOR_SCOPE "#fafafa" /* within the frame of a scope */

typedef struct DotColor {
  char text[8]; /* #rrggbb */
} DotColor;

/* Thousandths, 0 to 1000, in integers: the same on all machines. */
int dot_permille(int64_t part, int64_t whole);

/* From light yellow over orange to red, darker the hotter for all kinds of colour vision; black
 * text can be read on all of it. */
DotColor dot_heat_color(int permille);

/* ---- texts piece by piece, any bytes may go in ---- */

/* In bytes. graphviz does not read strings of more than 16384. */
enum { DOT_NAME_CHARS = 40, DOT_SHAPE_CHARS = 36 };

/* For HTML-like labels; what is between " in them, too. */
void dot_put_html(TextBuffer *text, Str raw);

/* For an escString; the end of a very long one is left out. */
void dot_put_escaped(TextBuffer *text, Str raw);

void dot_put_size(TextBuffer *text, int64_t bytes);
void dot_put_count(TextBuffer *text, uint64_t count);

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
void dot_put_shortened(TextBuffer *text, Str name, uint32_t max_chars);

/* Paths of scopes say most at their end: the parts before are left out of a long one. */
void dot_put_path(TextBuffer *text, Str path);

/* Long names of parameters differ in the middle: they get two lines. */
void dot_put_name_lines(TextBuffer *text, Str name);

/* A name that graphviz can hold: UTF-8, backslashes doubled, the end of a very long one left out.
 * Names that differ may come out alike. */
char *dot_name(const char *prefix, Str name, Arena *out);

/* ---- what stands in nodes, frames and boxes, and above all ---- */

/* Which entries the legend needs. */
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
