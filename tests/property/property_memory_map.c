/* No two values of a map have the same bytes at the same time, all lie in their spaces, and the
 * spaces add up to what the model `heap` counts; so do the temporaries at every position. */
#include <stdlib.h>
#include <string.h>

#include "property.h"

enum { ALIGNMENT = 64 };

static bool is_temporary(const rh_memory_map *map, const rh_placed_value *value) {
  return strcmp(map->spaces[value->space]->kind, "temporaries") == 0;
}

static void check_apart(const rh_memory_map *map, const Sample *sample) {
  for (size_t i = 0; i < map->num_values; i++) {
    const rh_placed_value *a = map->values[i];
    for (size_t k = i + 1; k < map->num_values && map->values[k]->space == a->space; k++) {
      const rh_placed_value *b = map->values[k];
      if (b->begin >= a->end) break; /* they are sorted */
      bool is_same =
          a->offset < b->offset + b->value->bytes && b->offset < a->offset + a->value->bytes;
      ck_assert_msg(!is_same, "%.*s and %.*s have the same bytes at position %lld\n%s",
                    (int)a->value->name.length, a->value->name.data, (int)b->value->name.length,
                    b->value->name.data, (long long)b->begin, sample_shown(sample));
    }
  }
}

static void check_values(const rh_memory_map *map, const Sample *sample) {
  for (size_t i = 0; i < map->num_values; i++) {
    const rh_placed_value *value = map->values[i];
    ck_assert_uint_lt(value->space, map->num_spaces);
    ck_assert_msg(value->offset >= 0 &&
                      value->offset + value->value->bytes <= map->spaces[value->space]->bytes,
                  "%.*s lies outside\n%s", (int)value->value->name.length, value->value->name.data,
                  sample_shown(sample));
    ck_assert_msg(
        0 <= value->begin && value->begin < value->end && value->end <= map->num_positions,
        "%.*s has no time\n%s", (int)value->value->name.length, value->value->name.data,
        sample_shown(sample));
    ck_assert_int_lt(value->position, map->num_positions);
    for (size_t k = 0; k < value->num_reads; k++) {
      ck_assert_int_lt(value->reads[k], map->num_positions);
      if (k) ck_assert_int_lt(value->reads[k - 1], value->reads[k]);
    }
  }
}

static bool is_table(const rh_placed_value *value) {
  return value->value->shape.length && value->value->shape.data[0] == '(';
}

/* Whether values before this one have its table, too. */
static bool is_counted(const rh_memory_map *map, size_t index) {
  const rh_placed_value *value = map->values[index];
  for (size_t i = 0; i < index; i++) {
    if (map->values[i]->space == value->space && map->values[i]->offset == value->offset)
      return true;
  }
  return false;
}

/* Adds up what the values of a kind take by position; returns the number of tables of pointers,
 * which are there all the time, each at a multiple of the alignment. */
static int64_t add_temporaries(const rh_memory_map *map, int64_t *bytes_at) {
  int64_t num_tables = 0;
  for (size_t i = 0; i < map->num_values; i++) {
    const rh_placed_value *value = map->values[i];
    if (!is_temporary(map, value)) continue;
    if (is_table(value) && is_counted(map, i)) continue;
    num_tables += is_table(value);
    int64_t begin = is_table(value) ? 0 : value->begin;
    int64_t end = is_table(value) ? map->num_positions : value->end;
    for (int64_t time = begin; time < end; time++)
      bytes_at[time] += value->value->bytes;
  }
  return num_tables;
}

static void check_sums(const rh_memory_map *map, bool is_limited, const Sample *sample) {
  int64_t held_bytes = 0, temp_bytes = 0;
  for (size_t i = 0; i < map->num_spaces; i++) {
    const rh_memory_space *space = map->spaces[i];
    bool is_temp = strcmp(space->kind, "temporaries") == 0;
    held_bytes += is_temp ? 0 : space->bytes;
    temp_bytes += is_temp ? space->bytes : 0;
  }
  ck_assert_msg(map->total_bytes == map->memory->total_bytes, "spaces of %lld bytes, not %lld\n%s",
                (long long)map->total_bytes, (long long)map->memory->total_bytes,
                sample_shown(sample));
  ck_assert_int_eq(temp_bytes, map->memory->temp_bytes);
  ck_assert_int_eq(map->total_bytes, held_bytes + temp_bytes);
  int64_t *bytes_at = calloc((size_t)map->num_positions + 1, sizeof *bytes_at);
  ck_assert_ptr_nonnull(bytes_at);
  int64_t num_tables = add_temporaries(map, bytes_at);
  int64_t padding = map->num_positions ? map->live_bytes[0] - held_bytes - bytes_at[0] : 0;
  ck_assert_int_ge(padding, 0);
  int64_t num_heaps = is_limited ? (int64_t)map->num_values : (int64_t)map->num_spaces;
  ck_assert_int_le(padding, ALIGNMENT * (num_tables + num_heaps));
  for (int64_t time = 0; time < map->num_positions; time++) {
    int64_t over = map->live_bytes[time] - held_bytes - bytes_at[time] - padding;
    ck_assert_msg(over == 0, "%lld bytes at %lld besides %lld\n%s", (long long)over,
                  (long long)time, (long long)bytes_at[time], sample_shown(sample));
    ck_assert_int_le(map->live_bytes[time], map->live_bytes[map->peak_position]);
  }
  free(bytes_at);
}

START_TEST(values_lie_apart) {
  Sample sample = sample_make((uint64_t)_i, 300, GENERATE_ALL);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "postorder"};
  rh_module *scheduled = schedule_sample(&sample, schedulers[_i % 4]);
  bool is_limited = _i % 3 == 0;
  if (is_limited) sample.settings.heap_limit_bytes = ((int64_t)_i * 37) % 5000;
  rh_memory_map *map = NULL;
  ck_assert_int_eq(rh_memory_map_make(scheduled, &sample.settings, &map, NULL), RH_OK);
  check_values(map, &sample);
  check_apart(map, &sample);
  check_sums(map, is_limited, &sample);
  rh_memory_map_free(map);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("memory_map", values_lie_apart, 1000);
}
