/* The types and functions that the files for SVG share. */
#ifndef REMAT_HLO_EMIT_PICTURE_SVG_H
#define REMAT_HLO_EMIT_PICTURE_SVG_H

#include "emit/picture/groups.h"

/* Lengths in the picture, in hundredths of a pixel. Integers give the same output on all
 * machines. */
typedef int64_t Centi;
enum { PIXEL = 100 };

typedef struct Rect {
  Centi x, y, width, height;
} Rect;

/* One memory map with its frame. */
typedef struct SvgPanel {
  const rh_memory_map *map;
  const char *title;
  uint32_t row; /* as in PictureMap */
  Centi left, right, top, bottom;
  int64_t num_positions; /* number of positions, from left to right */
  int64_t bytes;         /* number of bytes, from bottom to top */
  int64_t limit;         /* height of the line of the budget; -1 = none */
  const PictureGroup *groups;
  const uint32_t *group_of; /* indexed by value */
  uint32_t num_groups;
  Rect reserved[2]; /* where the texts at the peak and at the budget are */
} SvgPanel;

Centi svg_x(const SvgPanel *panel, int64_t position);
Centi svg_y(const SvgPanel *panel, int64_t height_bytes);

/* Writes a length such as `12.5`. */
void svg_length(Writer *out, Centi length);

/* Writes an attribute such as ` name="12.5"`. */
void svg_attribute(Writer *out, const char *name, Centi length);

/* Writes a text with the characters escaped or replaced that XML cannot hold. */
void svg_escaped(Writer *out, const char *text, size_t length);

/* The beginning of a text in UTF-8, at most so many bytes of it, without cutting a character. */
rh_text svg_beginning(rh_text text, size_t most_bytes);

/* Draws the values as boxes. A box smaller than a pixel is only drawn where no other such box is.
 * Labels of boxes are where neither the line of live bytes nor what is reserved is. */
void svg_boxes(const SvgPanel *panel, Writer *out, Arena *scratch);

/* Draws a line of the live bytes at each position. */
void svg_curve(const SvgPanel *panel, Writer *out);

#endif
