#include "support.h"

/* The first two are the modules of XLA's own tests of offloading (hlo_rematerialization_test.cc):
 * each instruction takes half a second, and each copy takes one second. */

#define K 1024
#define V "f32[1024]"
#define PARAMS "param_0 = " V " parameter(0)\n param_1 = " V " parameter(1)\n"
#define TANH(name, of) name " = " V " tanh(" of ")\n"
#define ADD(name, a, b) name " = " V " add(" a ", " b ")\n"

/* Memory takes no time. */
static DeviceProfile slow_device(void) {
  DeviceProfile profile = {.memory_bandwidth = 0x1p100,
                           .transcendentals = 2 * K,
                           .host_to_device = 4 * K,
                           .device_to_host = 4 * K};
  for (int type = 0; type < NUM_TYPES; type++) {
    profile.flops[type] = profile.vector_flops[type] = 2 * K;
  }
  return profile;
}

typedef struct Row {
  const char *name, *body;
  RematSetup setup;
  int64_t before_bytes;
  int64_t reported_bytes; /* as XLA reports it */
  int64_t after_bytes;
  const char *names;
} Row;

#define FORWARD ADD("res_3", "param_0", "param_1")
#define WAY TANH("res_4", "res_3") TANH("res_5", "res_4") TANH("res_6", "res_5")
#define BACK                     \
  ADD("res_7", "res_6", "res_6") \
  ADD("res_8", "res_7", "res_5") ADD("res_9", "res_8", "res_4")
#define LAST "ROOT " TANH("res_11", "res_10")

static const Row rows[] = {
    {"what is read long after",
     PARAMS FORWARD WAY BACK ADD("res_10", "res_9", "res_3") LAST,
     {.algorithm = "offload", .limit_bytes = 10 * K},
     24576,
     24584,
     24632,
     "param_0 param_1 res_3 copy-start res_4 copy-start.2 res_5 copy-done res_6 copy-done.2 "
     "copy-start.3 res_7 copy-start.1 res_8 copy-done.3 res_9 copy-done.1 res_10 ROOT res_11"},
    {"not what a bitcast hands on",
     PARAMS FORWARD "bitcast = " V " bitcast(res_3)\n" WAY BACK ADD("res_10", "res_9", "bitcast")
         LAST,
     {.algorithm = "offload", .limit_bytes = 10 * K},
     24576,
     24580,
     24604,
     "param_0 param_1 res_3 bitcast res_4 copy-start res_5 res_6 copy-done copy-start.1 res_7 "
     "res_8 copy-done.1 res_9 res_10 ROOT res_11"},
    {"not where time is too short",
     PARAMS FORWARD TANH("res_4", "res_3") TANH("res_5", "res_4") TANH("res_6", "res_5")
         ADD("res_7", "res_6", "res_3") "ROOT " TANH("res_8", "res_7"),
     {.algorithm = "offload", .limit_bytes = 1 * K},
     16384,
     16384,
     16384,
     "param_0 param_1 res_3 res_4 res_5 res_6 res_7 ROOT res_8"},
    {"where windows meet, one copy behind the other",
     "p = f32[4096] parameter(0)\n a = f32[1024] slice(p), slice={[0:1024]}\n"
     "b = f32[4096] tanh(p)\n c = f32[1024] slice(b), slice={[0:1024]}\n"
     "d = f32[1024] add(c, a)\n ROOT e = f32[1024] tanh(d)\n",
     {.algorithm = "offload", .limit_bytes = 1 * K},
     28672,
     28676,
     28700,
     "p a copy-start b copy-done copy-start.1 c copy-done.1 d ROOT e"},
    {"away while another one is large",
     "p = f32[1024] parameter(0)\n" TANH("a", "p") TANH("b", "a") TANH(
         "c",
         "b") "wide = f32[2048] concatenate(c, c), dimensions={0}\n w2 = f32[2048] tanh(wide)\n"
              "s = f32[1024] slice(w2), slice={[0:1024]}\n" TANH("d", "s")
                  TANH("e", "d") "ROOT " ADD("r", "e", "a"),
     {.algorithm = "offload", .limit_bytes = 22 * K},
     24576,
     20480,
     20480,
     "p a copy-start b c copy-done wide w2 s copy-start.1 d e copy-done.1 ROOT r"},
    {"at the peak",
     PARAMS FORWARD WAY BACK ADD("res_10", "res_9", "res_3") LAST,
     {.algorithm = "peak-priority", .modes = RH_REMAT_OFFLOAD, .limit_bytes = 10 * K},
     24576,
     24632,
     24632,
     "param_0 param_1 res_3 copy-start res_4 copy-start.2 res_5 copy-done res_6 copy-done.2 "
     "copy-start.3 res_7 copy-start.1 res_8 copy-done.3 res_9 copy-done.1 res_10 ROOT res_11"},
    {"offloading frees as much as recomputing",
     PARAMS FORWARD WAY BACK ADD("res_10", "res_9", "res_3") LAST,
     {.modes = RH_REMAT_OFFLOAD | RH_REMAT_RECOMPUTE, .limit_bytes = 10 * K},
     24576,
     24584,
     24632,
     "param_0 param_1 res_3 copy-start res_4 copy-start.2 res_5 copy-done copy-done.2 copy-start.3 "
     "res_6.remat res_7 copy-start.1 res_8 copy-done.3 res_9 copy-done.1 res_10 ROOT res_11"},
};

START_TEST(row_is_reached) {
  const Row *row = &rows[_i];
  Fixture fixture = fixture_parse_body("", row->body);
  DeviceProfile profile = slow_device();
  RematSetup setup = row->setup;
  setup.profile = &profile;
  RematResult result = fixture_remat(&fixture, &setup);
  check_text(scheduled_names(&fixture, &result.schedule, "e"), row->names, row->name);
  check_remat_bytes(&result, row->before_bytes, row->reported_bytes, row->after_bytes, row->name);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("offload");
  TCase *tc = tcase_create("offload");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
