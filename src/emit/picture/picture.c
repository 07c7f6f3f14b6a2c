#include "emit/picture/picture.h"

const PictureCategory picture_categories[NUM_PICTURE_CATEGORIES] = {
    {"temporary", "#56b4e9", false},   {"copy", "#d55e00", false},
    {"while carry", "#cc79a7", false}, {"output", "#e69f00", false},
    {"donated", "#009e73", false},     {"parameter", "#0072b2", true},
    {"constant", "#999999", false},
};

uint32_t picture_category(const rh_live_value *value) {
  uint32_t index = 0;
  while (index + 1 < NUM_PICTURE_CATEGORIES &&
         strcmp(picture_categories[index].name, value->category) != 0) {
    index++;
  }
  return index;
}

int64_t picture_byte_step(int64_t bytes, int64_t max_marks) {
  int64_t step = 1;
  while (bytes / step > max_marks)
    step *= 2;
  return step;
}

int64_t picture_count_step(int64_t count, int64_t max_marks) {
  static const int64_t factors[] = {1, 2, 5};
  for (int64_t power = 1;; power *= 10) {
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
      if (count / (factors[i] * power) <= max_marks) return factors[i] * power;
    }
  }
}

int64_t picture_limit(const rh_picture *picture, const rh_memory_map *map) {
  if (picture->limit_bytes < 0) return -1;
  int64_t counted = rh_counted_bytes(map->memory, picture->limit_counts);
  int64_t below = map->total_bytes - counted;
  return picture->limit_bytes < INT64_MAX - below ? below + picture->limit_bytes : -1;
}

const char *picture_limit_words(const rh_picture *picture) {
  switch (picture->limit_counts) {
    case RH_COUNT_TEMP: return " for temporaries";
    case RH_COUNT_TEMP_OUTPUTS: return " for temporaries and outputs";
    case RH_COUNT_TOTAL: return "";
  }
  return "";
}

int64_t picture_space_base(const rh_memory_map *map, size_t space) {
  int64_t base = 0;
  for (size_t i = 0; i < space; i++)
    base += map->spaces[i]->bytes;
  return base;
}
