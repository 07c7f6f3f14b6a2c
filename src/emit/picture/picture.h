/* Pictures of memory: time runs from left to right, addresses from bottom to top, and each value is
 * a box.
 *
 *   bytes
 *     |      +---- value -----+
 *     |  +---+--- value ---+--+
 *     |  |   value   |
 *     +------------------------- positions of the schedule */
#ifndef REMAT_HLO_EMIT_PICTURE_PICTURE_H
#define REMAT_HLO_EMIT_PICTURE_PICTURE_H

#include "ir/handle.h"
#include "ir/writer.h"

/* A category of values and its colour. The colours are those of Okabe and Ito, which people with
 * any kind of colour vision can distinguish. */
typedef struct PictureCategory {
  const char *name;
  const char *color;
  bool is_dark; /* text on it is white */
} PictureCategory;

enum { NUM_PICTURE_CATEGORIES = 7 };
extern const PictureCategory picture_categories[NUM_PICTURE_CATEGORIES];

/* Returns the index of a value's category. */
uint32_t picture_category(const rh_live_value *value);

/* Returns the number of bytes between marks of an axis: a power of two, so that there are at most
 * `max_marks` marks. */
int64_t picture_byte_step(int64_t bytes, int64_t max_marks);

/* Returns the number between marks of an axis of counts: 1, 2 or 5 times a power of ten. */
int64_t picture_count_step(int64_t count, int64_t max_marks);

/* Returns the height of the line that shows the limit, over all spaces of a map: the peak plus what
 * is left of the limit. Returns -1 if there is no line. */
int64_t picture_limit(const rh_picture *picture, const rh_memory_map *map);

/* Returns the words that follow the size of the limit and say what it bounds, such as ` for
 * temporaries`. They are empty if it bounds everything. */
const char *picture_limit_words(const rh_picture *picture);

/* Returns the height at which a space begins, above all spaces below it. */
int64_t picture_space_base(const rh_memory_map *map, size_t space);

/* A map that is drawn: that of the device's memory on one side, or that of a further memory, which
 * has a track of its own below it. */
typedef struct PictureMap {
  const rh_memory_map *map;
  uint32_t side;     /* 0 = before, 1 = after */
  uint32_t row;      /* 0 = the device's memory; the tracks are by ascending number of the memory */
  const char *title; /* of a row, such as `VMEM, S(1)`; for the device's memory, that of its side */
} PictureMap;

typedef struct PictureMaps {
  VEC(PictureMap) list; /* row by row, `before` first */
  uint32_t num_rows;
} PictureMaps;

PictureMaps picture_maps(const rh_picture *picture, Arena *out);

/* ---- formats ---- */

void picture_html(const rh_picture *picture, Writer *out, Arena *scratch);
void picture_svg(const rh_picture *picture, Writer *out, Arena *scratch);
void picture_perfetto(const rh_picture *picture, Writer *out, Arena *scratch);

#endif
