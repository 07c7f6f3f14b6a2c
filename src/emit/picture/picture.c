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
  if (picture->limit_bytes < 0 || picture->limit_bytes == INT64_MAX) return -1;
  int64_t counted = rh_counted_bytes(map->memory, picture->limit_counts);
  int64_t below = map->total_bytes - counted;
  if (below > 0 && picture->limit_bytes >= INT64_MAX - below) return -1;
  return below + picture->limit_bytes;
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

/* The smallest number above `space` of a further memory of either map; INT64_MAX if there is
 * none. */
static int64_t next_memory(const rh_memory_map *const *maps, int64_t space) {
  int64_t next = INT64_MAX;
  for (int side = 0; side < 2 && maps[side]; side++) {
    for (size_t i = 0; i < maps[side]->num_others; i++) {
      int64_t other = maps[side]->others[i]->memory_space;
      if (other > space && other < next) next = other;
    }
  }
  return next;
}

static const char *memory_title(const rh_memory_map *map, Arena *out) {
  rh_text name = map->memory_space_name;
  return arena_printf(out, "%.*s%sS(%lld)", (int)name.length, name.length ? name.data : "",
                      name.length ? ", " : "", (long long)map->memory_space);
}

PictureMaps picture_maps(const rh_picture *picture, Arena *out) {
  const rh_memory_map *maps[] = {picture->before, picture->after};
  const char *titles[] = {picture->before_title, picture->after_title};
  PictureMaps found = {.num_rows = 1};
  for (uint32_t side = 0; side < 2 && maps[side]; side++)
    *vec_push(out, &found.list) = (PictureMap){maps[side], side, 0, titles[side]};
  int64_t space = next_memory(maps, 0);
  for (; space != INT64_MAX; space = next_memory(maps, space)) {
    for (uint32_t side = 0; side < 2 && maps[side]; side++) {
      for (size_t i = 0; i < maps[side]->num_others; i++) {
        const rh_memory_map *other = maps[side]->others[i];
        if (other->memory_space != space) continue;
        *vec_push(out, &found.list) =
            (PictureMap){other, side, found.num_rows, memory_title(other, out)};
      }
    }
    found.num_rows++;
  }
  return found;
}
