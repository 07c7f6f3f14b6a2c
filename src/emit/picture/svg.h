/* What the files that write SVG share. */
#ifndef REMAT_HLO_EMIT_PICTURE_SVG_H
#define REMAT_HLO_EMIT_PICTURE_SVG_H

#include "emit/picture/picture.h"

/* Lengths in the picture, hundredths of a pixel: whole numbers come out alike everywhere. */
typedef int64_t Centi;
enum { PIXEL = 100 };

/* One map in its frame. */
typedef struct SvgPanel {
  const rh_memory_map *map;
  const char *title;
  Centi left, right, top, bottom;
  int64_t num_positions; /* from left to right */
  int64_t bytes;         /* from bottom to top */
  int64_t limit;         /* height of the budget's line, -1 = none */
} SvgPanel;

Centi svg_x(const SvgPanel *panel, int64_t position);
Centi svg_y(const SvgPanel *panel, int64_t height_bytes);

/* `12.5` */
void svg_length(Writer *out, Centi length);

/* ` name="12.5"` */
void svg_attribute(Writer *out, const char *name, Centi length);

/* A text as XML can hold it. */
void svg_escaped(Writer *out, const char *text, size_t length);

/* The values as boxes, those below a pixel only where no other such box is. */
void svg_boxes(const SvgPanel *panel, Writer *out, Arena *scratch);

/* What is live by position, as a line. */
void svg_curve(const SvgPanel *panel, Writer *out);

#endif
