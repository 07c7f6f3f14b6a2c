#include "analysis/cost/link.h"

#include "support.h"

/* A tanh of V takes 1 second, a copy of it to the host 4 and back 2. */
#define V "f32[16]"
#define HOST "f32[16]{0:S(5)}"
#define TANH(name, of) name " = " V " tanh(" of ")\n"
#define LEAVE(name, of) name " = (" HOST ", " V ", u32[]) copy-start(" of ")\n"
#define LEFT(name, of) name " = " HOST " copy-done(" of ")\n"
#define ENTER(name, of) name " = (" V ", " HOST ", u32[]) copy-start(" of ")\n"
#define BACK(name, of) name " = " V " copy-done(" of ")\n"
#define PARAM "p = " V " parameter(0)\n"
#define AWAY "h = " HOST " parameter(1)\n"
#define END "ROOT r = " V " tanh(p)\n"

static DeviceProfile toy_device(void) {
  DeviceProfile profile = {.memory_bandwidth = 0x1p100,
                           .transcendentals = 16,
                           .host_to_device = 32,
                           .device_to_host = 16};
  for (int type = 0; type < NUM_TYPES; type++) {
    profile.flops[type] = profile.vector_flops[type] = 0x1p100;
  }
  return profile;
}

typedef struct Row {
  const char *name, *comps, *body;
  const char *stalls; /* of the entry's and the others' instructions that wait */
  double seconds, stall_seconds, to_host_bytes;
} Row;

static const Row rows[] = {
    {"hidden", "",
     PARAM LEAVE("a", "p") TANH("b", "p") TANH("c", "b") TANH("d", "c") TANH("e", "d")
         LEFT("f", "a") END,
     "", 5, 0, 64},
    {"in part", "", PARAM LEAVE("a", "p") TANH("b", "p") LEFT("f", "a") END, "f 3", 5, 3, 64},
    {"one after the other", "",
     PARAM LEAVE("a", "p") LEAVE("b", "p") TANH("c", "p") LEFT("f", "b") LEFT("g", "a") END, "f 7",
     9, 7, 128},
    {"one in each direction", "",
     PARAM AWAY LEAVE("a", "p") ENTER("b", "h") TANH("c", "p") BACK("f", "b") TANH("d", "c")
         TANH("e", "d") LEFT("g", "a") END,
     "f 1", 5, 1, 64},
    {"a plain copy waits for its turn", "",
     PARAM LEAVE("a", "p") TANH("b", "p") "c = " HOST " copy(b)\n" LEFT("f", "a") END, "c 7", 9, 7,
     128},
    {"a plain copy the other way does not", "",
     PARAM AWAY LEAVE("a", "p") "c = " V " copy(h)\n" LEFT("f", "a") END, "c 2, f 2", 5, 4, 64},
    {"copies on one side are no business of the link", "",
     PARAM AWAY "a = (" V ", " V ", u32[]) copy-start(p)\n" BACK("b", "a") "c = " HOST
                                                                           " copy(h)\n" END,
     "", 1, 0, 0},
    {"a loop",
     "body { s = (s32[], " V ") parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
     "v = " V " get-tuple-element(s), index=1\n" LEAVE("a", "v") TANH("b", "v")
         LEFT("f", "a") "one = s32[] constant(1)\n n = s32[] add(i, one)\n"
                        "ROOT t = (s32[], " V ") tuple(n, b) }\n"
                        "cond { s = (s32[], " V
                        ") parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
                        "k = s32[] constant(3)\n ROOT c = pred[] compare(i, k), direction=LT }\n",
     PARAM AWAY "z = s32[] constant(0)\n" LEAVE("o", "p")
         ENTER("e", "h") "t = (s32[], " V ") tuple(z, p)\n"
                         "w = (s32[], " V ") while(t), condition=cond, body=body\n" LEFT("g", "o")
                             BACK("j", "e") END,
     "f 3, g 4", 17, 13, 256},
    {"the dearer branch",
     "x { v = " V " parameter(0)\n" LEAVE("a", "v") LEFT("f", "a")
         TANH("ROOT b", "v") "}\n"
                             "y { v = " V " parameter(0)\n" TANH("ROOT d", "v") "}\n",
     PARAM "q = pred[] constant(true)\n c = " V " conditional(q, p, p), true_computation=y, "
           "false_computation=x\n" END,
     "f 4", 6, 4, 64},
};

START_TEST(stalls_match_table) {
  const Row *row = &rows[_i];
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  fixture.module = parse_or_fail(arena_printf(
      fixture.out, "HloModule m, is_scheduled=true\n%sENTRY e {\n%s}\n", row->comps, row->body));
  const Module *module = fixture.module;
  DeviceProfile profile = toy_device();
  CostTable table = cost_analyze(module, fixture.out, fixture.scratch);
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  table.link_seconds =
      link_seconds(module, &schedule, &table, &profile, 1, fixture.out, fixture.scratch);
  const char *stalls = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    if (table.link_seconds[id] <= 0) continue;
    stalls = arena_printf(fixture.out, "%s%s%s %.10g", stalls, *stalls ? ", " : "",
                          names_of(module, &id, 1, fixture.out), table.link_seconds[id]);
  }
  check_text(stalls, row->stalls, row->name);
  WeightedCost total = cost_total_weighted(module, &table, &profile, 1, fixture.scratch);
  const double *runs = cost_runs(module, &table, &profile, 1, fixture.out, fixture.scratch);
  LinkUse use = link_use(module, &table, runs);
  ck_assert_msg(total.seconds > row->seconds - 1e-6 && total.seconds < row->seconds + 1e-6 &&
                    use.stall_seconds == row->stall_seconds &&
                    use.to_host_bytes == row->to_host_bytes,
                "%s: %g seconds, %g of stalls, %g bytes", row->name, total.seconds,
                use.stall_seconds, use.to_host_bytes);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("link");
  TCase *tc = tcase_create("link");
  tcase_add_loop_test(tc, stalls_match_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
