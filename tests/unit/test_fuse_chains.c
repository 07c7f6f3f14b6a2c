#include "remat/rewrite/dce.h"
#include "remat/rewrite/fuse_chains.h"
#include "remat/rewrite/unfuse.h"
#include "support.h"

#define P "p = f32[64] parameter(0)\n"
#define Q "q = f32[64] parameter(1)\n"
#define ADD "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"

static const struct {
  const char *name, *comps, *body;
  uint32_t num_fusions;
  const char *fused; /* what is left of the entry computation, in the default order */
} rows[] = {
    {"a chain", "", P "a = f32[64] sine(p)\n b = f32[64] cosine(a)\n ROOT r = f32[64] negate(b)\n",
     1, "p ROOT r.fused"},
    {"a single instruction", "", P "ROOT r = f32[64] sine(p)\n", 0, "p ROOT r"},
    {"the value in the middle is read elsewhere, and dear to compute", "",
     P Q
     "a = f32[64] sine(p)\n b = f32[64] negate(a)\n c = f32[64] add(b, q)\n d = f32[64] abs(a)\n"
     "e = f32[64] multiply(d, q)\n ROOT t = (f32[64], f32[64]) tuple(c, e)\n",
     2, "q p a c.fused e.fused ROOT t"},
    {"the same, and as cheap to compute as to read", "",
     P Q
     "a = f32[64] abs(p)\n b = f32[64] negate(a)\n c = f32[64] add(b, q)\n d = f32[64] sine(a)\n"
     "e = f32[64] multiply(d, q)\n ROOT t = (f32[64], f32[64]) tuple(c, e)\n",
     2, "q p c.fused e.fused ROOT t"},
    {"what reads more than it writes is kept", "",
     P Q
     "a = f32[64] add(p, q)\n b = f32[64] negate(a)\n c = f32[64] sine(b)\n d = f32[64] abs(a)\n"
     "e = f32[64] cosine(d)\n ROOT t = (f32[64], f32[64]) tuple(c, e)\n",
     2, "q p a c.fused e.fused ROOT t"},
    {"a value that the module returns", "",
     P "a = f32[64] abs(p)\n b = f32[64] negate(a)\n c = f32[64] sine(b)\n"
       "ROOT t = (f32[64], f32[64]) tuple(a, c)\n",
     1, "p a c.fused ROOT t"},
    {"a reduction with what it reduces", ADD,
     P
     "z = f32[] constant(0)\n a = f32[64] multiply(p, p)\n s = f32[] reduce(a, z), dimensions={0}, "
     "to_apply=add\n ROOT r = f32[] sqrt(s)\n",
     1, "p s.fused ROOT r"},
    {"a broadcast of a scalar is made in each fusion", "",
     P
     "z = f32[] constant(2)\n w = f32[64] broadcast(z), dimensions={}\n"
     "a = f32[64] multiply(p, w)\n b = f32[64] sine(a)\n c = f32[64] add(b, w)\n"
     "d = f32[64] dot(c, w), lhs_contracting_dims={}, rhs_contracting_dims={}, lhs_batch_dims={0}, "
     "rhs_batch_dims={0}\n ROOT r = f32[64] negate(d)\n",
     1, "z p c.fused w d ROOT r"},
    {"scalars stay", "",
     "p = f32[] parameter(0)\n a = f32[] sine(p)\n b = f32[] negate(a)\n ROOT r = f32[] abs(b)\n",
     0, "p a b ROOT r"},
    {"a slice at a place that the data says stays, and what gives it its shape", "",
     "p = f32[8,64] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n"
     "d = f32[1,64] dynamic-slice(p, i, z), dynamic_slice_sizes={1,64}\n v = f32[64] reshape(d)\n"
     "a = f32[64] sine(v)\n ROOT r = f32[64] negate(a)\n",
     1, "z i p d v ROOT r.fused"},
    {"what is written there is not merged with its shape", "",
     "p = f32[8,64] parameter(0)\n i = s32[] parameter(1)\n q = f32[64] parameter(2)\n"
     "z = s32[] constant(0)\n a = f32[64] sine(q)\n b = f32[64] negate(a)\n v = f32[1,64] "
     "reshape(b)\n"
     "ROOT r = f32[8,64] dynamic-update-slice(p, v, i, z)\n",
     1, "z i q p b.fused v ROOT r"},
    {"an instruction that waits for another one stays", "",
     P Q
     "w = f32[64] sine(q)\n a = f32[64] sine(p), control-predecessors={w}\n b = f32[64] negate(a)\n"
     "c = f32[64] abs(b)\n ROOT t = (f32[64], f32[64]) tuple(c, w)\n",
     1, "q p w a c.fused ROOT t"},
    {"in a loop",
     "cond { cp = f32[64] parameter(0)\n ROOT y = pred[] constant(true) }\n"
     "body { bp = f32[64] parameter(0)\n ba = f32[64] sine(bp)\n ROOT bb = f32[64] cosine(ba) }\n",
     P "ROOT w = f32[64] while(p), condition=cond, body=body\n", 1, "p ROOT w"},
    {"a constraint of a sharding goes along", "",
     P "a = f32[64] sine(p)\n s = f32[64] custom-call(a), custom_call_target=\"Sharding\", "
       "sharding={replicated}\n ROOT r = f32[64] negate(s)\n",
     1, "p ROOT r.fused"},
};

/* The names of the entry's instructions that are not dead, in an order of execution. */
static const char *entry_names(Fixture *fixture) {
  Schedule schedule = fixture_schedule(fixture, "default");
  return scheduled_names(fixture, &schedule, "e");
}

START_TEST(chains_are_fused_and_taken_apart) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Module *module = fixture.module;
  uint64_t meaning = module_meaning(module);
  Rewrite rewrite = rewrite_begin(module);
  uint32_t num_fusions = fuse_chains(&rewrite, fixture.scratch);
  ck_assert_msg(num_fusions == rows[_i].num_fusions, "%s: %u fusions", rows[_i].name, num_fusions);
  dce_run(&rewrite, fixture.scratch);
  check_text(entry_names(&fixture), rows[_i].fused, rows[_i].name);
  ck_assert_msg(module_meaning(module) == meaning, "%s: another meaning", rows[_i].name);
  Schedule schedule = fixture_schedule(&fixture, "default");
  check_prints_and_parses(module, &schedule);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fuse_chains");
  TCase *tc = tcase_create("fuse_chains");
  tcase_add_loop_test(tc, chains_are_fused_and_taken_apart, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
