/* Where values lie and when. */
#include "emit/report/memory_map.h"

#include "support.h"

typedef struct Mapped {
  rh_module *module, *scheduled;
  rh_memory_map *map;
  Arena *arena;
} Mapped;

static Mapped map_text(const char *text) {
  Mapped mapped = {.arena = arena_new(NULL)};
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &mapped.module, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(mapped.module, NULL, NULL, &mapped.scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_memory_map_make(mapped.scheduled, NULL, &mapped.map, NULL), RH_OK);
  return mapped;
}

static void mapped_free(Mapped *mapped) {
  rh_memory_map_free(mapped->map);
  rh_module_free(mapped->scheduled);
  rh_module_free(mapped->module);
  arena_free(mapped->arena);
}

/* `SPACE:NAME@OFFSET+BYTES[BEGIN,END)READ,READ` */
static const char *listing(const Mapped *mapped) {
  const char *text = "";
  for (size_t i = 0; i < mapped->map->num_values; i++) {
    const rh_placed_value *value = mapped->map->values[i];
    const char *reads = "";
    for (size_t k = 0; k < value->num_reads; k++)
      text_add(mapped->arena, &reads, "%d", (int)value->reads[k]);
    text_add(mapped->arena, &text, "%c:%.*s@%d+%d[%d,%d)%s",
             mapped->map->spaces[value->space]->kind[0], (int)value->value->name.length,
             value->value->name.data, (int)value->offset, (int)value->value->bytes,
             (int)value->begin, (int)value->end, reads);
  }
  return text;
}

static const struct {
  const char *what, *text, *listing, *spaces;
} cases[] = {
    {"a chain; the result's memory serves before it is computed",
     "HloModule m, is_scheduled=true\n"
     "ENTRY e {\n"
     "  p = f32[16] parameter(0)\n"
     "  a = f32[16] exponential(p)\n"
     "  b = f32[32] concatenate(a, p), dimensions={0}\n"
     "  c = f32[32] negate(b)\n"
     "  ROOT r = f32[48] concatenate(c, a), dimensions={0}\n"
     "}\n",
     "p:p@0+64[0,5)1 2 o:b@0+128[2,4)3 o:r@0+192[4,5) t:a@128+64[1,5)2 4 t:c@0+128[3,5)4",
     "parameters 64 outputs 192 temporaries 192"},
    {"a donated parameter",
     "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e {\n"
     "  p = f32[16] parameter(0)\n"
     "  k = f32[16] constant({...})\n"
     "  a = f32[16] add(p, k)\n"
     "  ROOT r = f32[16] negate(a)\n"
     "}\n",
     "c:k@0+64[0,4)2 p:p@0+64[0,2)2 p:a@0+64[2,3)3 p:r@0+64[3,4)", "constants 64 parameters 64"},
    {"a parameter that is returned",
     "HloModule m, is_scheduled=true\n"
     "ENTRY e {\n"
     "  p = f32[16] parameter(0)\n"
     "  ROOT t = (f32[16]) tuple(p)\n"
     "}\n",
     "p:p@0+64[0,2)1 o:t@0+8[1,2)", "parameters 64 outputs 72"},
    {"nothing",
     "HloModule m, is_scheduled=true\n"
     "ENTRY e {\n"
     "  ROOT t = () tuple()\n"
     "}\n",
     "", "outputs 0"},
};

START_TEST(values_have_places) {
  Mapped mapped = map_text(cases[_i].text);
  check_text(listing(&mapped), cases[_i].listing, cases[_i].what);
  const char *spaces = "";
  for (size_t i = 0; i < mapped.map->num_spaces; i++) {
    text_add(mapped.arena, &spaces, "%s %d", mapped.map->spaces[i]->kind,
             (int)mapped.map->spaces[i]->bytes);
  }
  check_text(spaces, cases[_i].spaces, cases[_i].what);
  mapped_free(&mapped);
}
END_TEST

START_TEST(positions_are_described) {
  Mapped mapped = map_text(cases[0].text);
  const rh_memory_map *map = mapped.map;
  const char *text = "";
  for (int64_t i = 0; i < map->num_positions; i++) {
    text_add(mapped.arena, &text, "%.*s=%d", (int)map->instructions[i].length,
             map->instructions[i].data, (int)map->live_bytes[i]);
  }
  check_text(text, "p=256 a=320 b=320 c=448 r=448", "live bytes");
  ck_assert_int_eq(map->peak_position, 3);
  ck_assert_int_eq(map->total_bytes, 448);
  ck_assert_int_eq(map->memory->total_bytes, 448);
  ck_assert(str_is(str_make(map->module.data, map->module.length), "m"));
  mapped_free(&mapped);
}
END_TEST

START_TEST(what_was_computed_again_is_marked) {
  Mapped mapped = map_text(
      "HloModule m, is_scheduled=true\n"
      "ENTRY e {\n"
      "  p = f32[16] parameter(0)\n"
      "  a = f32[4096] broadcast(p), dimensions={}\n"
      "  s = f32[16] slice(a), slice={[0:16]}\n"
      "  b = f32[8192] broadcast(s), dimensions={}\n"
      "  c = f32[16] slice(b), slice={[0:16]}\n"
      "  d = f32[4096] broadcast(c), dimensions={}\n"
      "  ROOT r = f32[4096] add(d, a)\n"
      "}\n");
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.memory_model = "xla-remat";
  options.small_node_bytes = 0;
  options.limit_bytes = 0;
  rh_module *result = NULL;
  rh_status status = rh_remat(mapped.scheduled, NULL, &options, &result, NULL, NULL);
  ck_assert(status == RH_OK || status == RH_OVER_LIMIT);
  rh_memory_map *map = NULL;
  ck_assert_int_eq(rh_memory_map_make(result, NULL, &map, NULL), RH_OK);
  const char *names = "";
  for (size_t i = 0; i < map->num_values; i++) {
    if (!map->values[i]->is_rematerialized) continue;
    rh_text name = map->values[i]->value->name;
    text_add(mapped.arena, &names, "%.*s", (int)name.length, name.data);
  }
  check_text(names, "a.remat", "rematerialized");
  rh_memory_map_free(map);
  rh_module_free(result);
  mapped_free(&mapped);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory_map");
  TCase *tcase = tcase_create("memory_map");
  tcase_add_loop_test(tcase, values_have_places, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(tcase, positions_are_described);
  tcase_add_test(tcase, what_was_computed_again_is_marked);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
