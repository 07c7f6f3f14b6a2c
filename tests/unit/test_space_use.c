/* What modules need of other memories than the device's. */
#include <string.h>

#include "remat_hlo.h"
#include "support.h"

#define VMEM "{1,0:T(8,128)S(1)}"
#define HBM "{1,0:T(8,128)}"

static const struct {
  const char *what, *target, *text, *spaces;
} cases[] = {
    {"live ranges that follow each other", "tpu",
     "  p = f32[8,128]" HBM " parameter(0)\n"
     "  a = f32[8,128]" VMEM " negate(p)\n"
     "  b = f32[16,128]" VMEM " concatenate(a, a), dimensions={0}\n"
     "  c = f32[16,128]" VMEM " sine(b)\n"
     "  ROOT r = f32[16,128]" HBM " negate(c)\n",
     "VMEM S(1) 12288 at b, 12288 in 3"},
    {"parameters and results are there all the time", "tpu",
     "  p = f32[8,128]" VMEM " parameter(0)\n"
     "  a = f32[8,128]" HBM " negate(p)\n"
     "  ROOT r = f32[8,128]" VMEM " negate(a)\n",
     "VMEM S(1) 8192 at p, 8192 in 2"},
    {"operands side by side are the result", "tpu",
     "  p = f32[8,128]" HBM " parameter(0)\n"
     "  a = f32[8,128]" VMEM " negate(p)\n"
     "  b = f32[8,128]" VMEM " sine(p)\n"
     "  c = f32[16,128]" VMEM " custom-call(a, b), custom_call_target=\"ConcatBitcast\"\n"
     "  ROOT r = f32[16,128]" HBM " negate(c)\n",
     "VMEM S(1) 8192 at b, 16384 in 3"},
    {"those of another custom call are not", "tpu",
     "  p = f32[8,128]" HBM " parameter(0)\n"
     "  a = f32[8,128]" VMEM " negate(p)\n"
     "  b = f32[8,128]" VMEM " sine(p)\n"
     "  c = f32[16,128]" VMEM " custom-call(a, b), custom_call_target=\"Other\"\n"
     "  ROOT r = f32[16,128]" HBM " negate(c)\n",
     "VMEM S(1) 16384 at c, 16384 in 3"},
    {"several memories, by number", "tpu",
     "  p = f32[8,128]{1,0:T(8,128)S(5)} parameter(0)\n"
     "  s = (f32[8,128]" VMEM ", f32[8,128]{1,0:T(8,128)S(5)}, u32[]{:S(2)}) copy-start(p)\n"
     "  d = f32[8,128]" VMEM " copy-done(s)\n"
     "  ROOT r = f32[8,128]{1,0:T(8,128)S(6)} copy(d)\n",
     "VMEM S(1) 4096 at s, 4096 in 1; SMEM S(2) 4 at s, 4 in 1; host S(5) 4096 at p, 4096 in 1; "
     " S(6) 4096 at p, 4096 in 1"},
    {"the host's memory on a GPU, where S(1) is the device's", "gpu",
     "  p = f32[64] parameter(0)\n"
     "  a = f32[64]{0:S(5)} copy(p)\n"
     "  b = f32[64]{0:S(1)} copy(a)\n"
     "  ROOT r = f32[64] negate(b)\n",
     "host S(5) 256 at a, 256 in 1"},
    {"none", "cpu",
     "  p = f32[64] parameter(0)\n"
     "  ROOT r = f32[64] negate(p)\n",
     ""},
};

typedef struct Listing {
  Arena *arena;
  const char *text;
} Listing;

static void list(void *context, const rh_space *space) {
  Listing *listing = context;
  listing->text = arena_printf(
      listing->arena, "%s%s%.*s S(%d) %d at %.*s, %d in %d", listing->text,
      *listing->text ? "; " : "", (int)space->name.length, space->name.data ? space->name.data : "",
      (int)space->number, (int)space->peak_bytes, (int)space->peak_instruction.length,
      space->peak_instruction.data, (int)space->bytes, (int)space->num_values);
}

START_TEST(spaces_match_table) {
  Listing listing = {arena_new(NULL), ""};
  const char *text = arena_printf(listing.arena, "HloModule m, is_scheduled=true\nENTRY e {\n%s}\n",
                                  cases[_i].text);
  rh_module *module = NULL, *scheduled = NULL;
  rh_settings settings = RH_SETTINGS_INIT;
  settings.target = cases[_i].target;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(module, &settings, NULL, &scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_visit_spaces(scheduled, &settings, list, &listing, NULL), RH_OK);
  check_text(listing.text, cases[_i].spaces, cases[_i].what);
  rh_module_free(scheduled);
  rh_module_free(module);
  arena_free(listing.arena);
}
END_TEST

/* The map of each memory has the same bytes as the list, and no value of another one. */
START_TEST(each_memory_has_a_map) {
  Arena *arena = arena_new(NULL);
  const char *text =
      arena_printf(arena, "HloModule m, is_scheduled=true\nENTRY e {\n%s}\n", cases[4].text);
  rh_module *module = NULL, *scheduled = NULL;
  rh_memory_map *map = NULL;
  rh_settings settings = RH_SETTINGS_INIT;
  settings.target = "tpu";
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(module, &settings, NULL, &scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_memory_map_make(scheduled, &settings, &map, NULL), RH_OK);
  const char *maps = arena_printf(arena, "%d:%d", (int)map->memory_space, (int)map->num_values);
  for (size_t i = 0; i < map->num_others; i++) {
    const rh_memory_map *other = map->others[i];
    maps = arena_printf(arena, "%s %.*s %d:%d/%d at %d", maps, (int)other->memory_space_name.length,
                        other->memory_space_name.data ? other->memory_space_name.data : "",
                        (int)other->memory_space, (int)other->total_bytes, (int)other->num_values,
                        (int)other->peak_position);
    ck_assert(other->memory == map->memory);
    ck_assert_int_eq(other->live_bytes[other->peak_position], other->total_bytes);
  }
  check_text(maps, "0:1 VMEM 1:4096/1 at 1 SMEM 2:4/1 at 1 host 5:4096/1 at 0  6:4096/1 at 0",
             "maps");
  rh_memory_map_free(map);
  rh_module_free(scheduled);
  rh_module_free(module);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("space_use");
  TCase *tcase = tcase_create("space_use");
  tcase_add_loop_test(tcase, spaces_match_table, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(tcase, each_memory_has_a_map);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
