/* Pictures of memory: time from left to right, addresses upwards, a box a value. */
#ifndef REMAT_HLO_EMIT_PICTURE_PICTURE_H
#define REMAT_HLO_EMIT_PICTURE_PICTURE_H

#include "ir/handle.h"
#include "ir/writer.h"

/* The categories of values with their colours, those of Okabe and Ito, which people with any kind
 * of colour vision tell apart. */
typedef struct PictureCategory {
  const char *name;
  const char *color;
  bool is_dark; /* what is written on it is white */
} PictureCategory;

enum { NUM_PICTURE_CATEGORIES = 7 };
extern const PictureCategory picture_categories[NUM_PICTURE_CATEGORIES];

/* The index of a value's category. */
uint32_t picture_category(const rh_live_value *value);

/* Bytes between marks of an axis, a power of two, for at most `max_marks` of them. */
int64_t picture_byte_step(int64_t bytes, int64_t max_marks);

/* The same for numbers: 1, 2 or 5 times a power of ten. */
int64_t picture_count_step(int64_t count, int64_t max_marks);

/* The height of the limit's line over all spaces of a map: the peak may rise by what is left of the
 * limit. -1 = there is no line. */
int64_t picture_limit(const rh_picture *picture, const rh_memory_map *map);

/* What the limit is for, after its size: ` for temporaries`; empty when it is for all. */
const char *picture_limit_words(const rh_picture *picture);

/* Where a space begins over all below it. */
int64_t picture_space_base(const rh_memory_map *map, size_t space);

/* ---- formats ---- */

void picture_html(const rh_picture *picture, Writer *out, Arena *scratch);
void picture_svg(const rh_picture *picture, Writer *out, Arena *scratch);
void picture_perfetto(const rh_picture *picture, Writer *out, Arena *scratch);

#endif
