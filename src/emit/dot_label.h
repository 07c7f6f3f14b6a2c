/* What is written on a picture, and its colours. Knows nothing of graphviz's libraries, only of the
 * languages of its labels: HTML-like ones (without the outer < >) and escString. */
#ifndef REMAT_HLO_EMIT_DOT_LABEL_H
#define REMAT_HLO_EMIT_DOT_LABEL_H

#include "emit/dot_picture.h"

/* Blue against the yellow to red of the heat: told apart by all kinds of colour vision. */
#define DOT_COLOR_REMAT "#0057c2"
#define DOT_COLOR_LIVE "#202020"  /* live at the peak */
#define DOT_COLOR_QUIET "#8c8c8c" /* not live at the peak */
#define DOT_COLOR_FRAME "#b0b0b0"

typedef struct DotColor {
  char text[8]; /* #rrggbb */
} DotColor;

/* Thousandths, 0 to 1000, in integers: the same on all machines. */
int dot_permille(int64_t part, int64_t whole);

/* From white over yellow to red, darker the hotter; black text can be read on all of it. */
DotColor dot_heat_color(int permille);

/* Which entries the legend needs. */
typedef struct DotLegend {
  bool has_kind[4]; /* by RematKind */
  bool has_recompute_edges;
  bool has_control;
  bool has_calls;
} DotLegend;

/* A name that graphviz can hold: UTF-8, backslashes doubled, the end of a very long one left out.
 * Names that differ may come out alike. */
char *dot_name(const char *prefix, Str name, Arena *out);

char *dot_node_label(const DotPicture *picture, RematMarks marks, InstId id, Arena *out);
char *dot_node_tooltip(const DotPicture *picture, InstId id, Arena *out);
char *dot_edge_tooltip(const DotPicture *picture, const DotEdge *edge, Arena *out);
char *dot_cluster_label(const DotPicture *picture, CompId comp, Arena *out);
char *dot_title(const DotPicture *picture, const DotOptions *options, const DotLegend *legend,
                Arena *out);

#endif
