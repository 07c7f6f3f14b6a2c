/* What is written on a picture, and its colours. Knows nothing of graphviz's libraries, only of the
 * languages of its labels: HTML-like ones (without the outer < >) and escString. */
#ifndef REMAT_HLO_EMIT_DOT_LABEL_H
#define REMAT_HLO_EMIT_DOT_LABEL_H

#include "emit/dot/picture.h"

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
