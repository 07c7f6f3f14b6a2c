#include "analysis/memory/tracker.h"

#include "analysis/memory/remat_memory.h"
#include "support.h"

#define P "p = f32[4] parameter(0)\n"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"
#define PAIR "(f32[4], f32[4])"
#define F "f { q = f32[4] parameter(0)\n ROOT fa = f32[4] abs(q) }\n"
#define COND "cond { cp = f32[4] parameter(0)\n ROOT c = pred[] constant(true) }\n"
#define TWO                                                                       \
  "two { t0 = f32[4] parameter(0)\n t1 = f32[4] abs(t0)\n t2 = f32[4] sine(t0)\n" \
  "ROOT t = " PAIR " tuple(t1, t2) }\n"

/* A tracker of the entry, nothing placed. */
typedef struct Job {
  Fixture fixture;
  Module *module;
  ItemTable table;
  ItemList list;
  Tracker tracker;
} Job;

static void job_track(Job *job, const Schedule *schedule, CompId comp) {
  Arena *out = job->fixture.out, *scratch = job->fixture.scratch;
  PointsTo points_to = points_to_build(job->module, out, scratch);
  job->table = (ItemTable){.arena = out};
  job->list = item_list_build(&job->table, schedule->of[comp], job->module->insts.len);
  job->tracker = tracker_build(job->module, &points_to, &job->list, comp, out, scratch);
}

static void job_start(Job *job, const char *comps, const char *body) {
  job->fixture = fixture_parse_body(comps, body);
  job->module = job->fixture.module;
  Schedule schedule = schedule_in_text_order(job->module, job->fixture.out);
  job_track(job, &schedule, job->module->entry);
}

static void job_finish(Job *job) {
  fixture_free(&job->fixture);
}

static InstId inst(const Job *job, const char *name) {
  return find_inst(job->module, name);
}

/* Places everything before the instruction and begins it. */
static void place_until(Job *job, const char *name) {
  InstId last = inst(job, name);
  InstId id = job->list.first;
  while (item_get(&job->list, id)->is_placed)
    id = item_get(&job->list, id)->next;
  if (job->tracker.in_progress != NO_ID) tracker_end(&job->tracker);
  for (; id != last; id = item_get(&job->list, id)->next) {
    tracker_begin(&job->tracker, id);
    tracker_end(&job->tracker);
  }
  tracker_begin(&job->tracker, id);
}

/* ---- what it knows of a computation ---- */

/* Per buffer: definer:depth=bytes, element number of a tuple, O live-out, I indirect uses, and who
 * reads it at which operand, users counted once in front. */
static const struct {
  const char *name, *comps, *body, *buffers;
} rows[] = {
    {"users and operands", "",
     P "a = f32[4] abs(p)\n b = f32[4] clamp(a, p, a)\n ROOT r = f32[4] add(b, a)\n",
     "p:0=0 2(a.0,b.1) a:0=16 2(b.0,b.2,r.1) b:0=16 1(r.0) r:0=0O 0()"},
    {"through bitcasts, the definer's users first", "",
     P "a = f32[4] abs(p)\n b = f32[2,2] bitcast(a)\n c = f32[4] sine(a)\n d = f32[2,2] cosine(b)\n"
       "ROOT r = (f32[4], f32[2,2]) tuple(c, d)\n",
     "p:0=0 1(a.0) a:0=16 3(b.0,c.0,d.0) c:0=0O 1(r.0) d:0=0O 1(r.1) r:0=0O 0()"},
    {"elements of a tuple", TWO,
     P "x = " PAIR " fusion(p), kind=kLoop, calls=two\n" GTE("g1", "x", "1")
         GTE("g0", "x", "0") "ROOT r = f32[4] add(g0, g1)\n",
     "p:0=0 1(x.0) x:0=16 2(g1.0,g0.0) x:1=16#0 1(r.0) x:1=16#1 1(r.1) r:0=0O 0()"},
    {"elements of elements", "",
     P "x = (f32[4], (f32[2], f32[4])) custom-call(p), custom_call_target=\"x\"\n"
       "y = (f32[2], f32[4]) get-tuple-element(x), index=1\n" GTE("z", "y",
                                                                  "1") "ROOT r = f32[4] abs(z)\n",
     "p:0=0 1(x.0) x:0=16 1(y.0) x:1=16#0 0() x:1=16#1 1(z.0) x:2=8 0() x:2=16 1(r.0) r:0=0O 0()"},
    {"indirect: what the tuple's reader reads", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n o = (f32[4]) opt-barrier(t)\n" GTE(
         "g", "o", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0 1(a.0) a:0=16I 3(t.0,o.0,r.0) t:0=8I 2(o.0,g.0) r:0=0O 0()"},
    {"a tuple that is only taken apart is direct", "",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n" GTE("g", "t", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0 1(a.0) a:0=16 2(t.0,r.0) t:0=8 1(g.0) r:0=0O 0()"},
    {"an element of what works in place is another value", TWO,
     P "a = f32[4] abs(p)\n x = " PAIR
       " fusion(a), kind=kLoop, output_to_operand_aliasing={{0}: (0, {})}, calls=two\n" GTE(
           "g", "x", "0") "ROOT r = f32[4] sine(g)\n",
     "p:0=0 1(a.0) a:0=16I 2(x.0,r.0) x:0=16 1(g.0) x:1=16#1 0() r:0=0O 0()"},
    {"a loop's state is its initial value's memory", F COND,
     P "a = f32[4] abs(p)\n w = f32[4] while(a), condition=cond, body=f\n b = f32[4] sine(a)\n"
       "ROOT r = f32[4] add(w, b)\n",
     "p:0=0 1(a.0) a:0=16I 3(w.0,b.0,r.0) b:0=16 1(r.1) r:0=0O 0()"},
    {"a loop's result is the root's", F COND,
     P "a = f32[4] abs(p)\n ROOT w = f32[4] while(a), condition=cond, body=f\n",
     "p:0=0 1(a.0) a:0=0OI 1(w.0)"},
};

START_TEST(buffers_match_table) {
  Job job;
  job_start(&job, rows[_i].comps, rows[_i].body);
  Arena *out = job.fixture.out;
  const char *text = NULL;
  for (TrackedId id = 0; id < job.tracker.buffers.len; id++) {
    const TrackedBuffer *buffer = tracked_buffer(&job.tracker, id);
    Str name = inst_name(job.module, buffer->definer);
    text_add(out, &text, "%.*s:%u=%lld%s%s%s", (int)name.len, name.data, buffer->depth,
             (long long)buffer->bytes,
             buffer->element == NO_ID ? "" : arena_printf(out, "#%u", buffer->element),
             buffer->is_live_out ? "O" : "", buffer->has_indirect_uses ? "I" : "");
    text = arena_printf(out, "%s %u(", text, buffer->num_unfinished);
    for (uint32_t i = 0; i < buffer->uses.len; i++) {
      Str user = inst_name(job.module, buffer->uses.data[i].user);
      text = arena_printf(out, "%s%s%.*s.%u", text, i ? "," : "", (int)user.len, user.data,
                          buffer->uses.data[i].operand);
    }
    text = arena_printf(out, "%s)", text);
  }
  check_text(text, rows[_i].buffers, rows[_i].name);
  job_finish(&job);
}
END_TEST

/* ---- placing ---- */

/* Memory while each instruction runs is what the recount says, and nothing is left at the end. */
static void check_placing(Job *job, const Schedule *schedule, const char *what) {
  Arena *out = job->fixture.out, *scratch = job->fixture.scratch;
  RematMemory memory = remat_memory(job->module, schedule, out, scratch);
  for (CompId comp = 0; comp < job->module->comps.len; comp++) {
    if (!memory.of[comp].bytes_at) continue;
    job_track(job, schedule, comp);
    int64_t peak_bytes = 0;
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId id = schedule->of[comp].ids[pos];
      tracker_begin(&job->tracker, id);
      int64_t bytes = job->tracker.memory_bytes + remat_callee_bytes(job->module, memory.of, id);
      Str name = inst_name(job->module, id);
      ck_assert_msg(bytes == memory.of[comp].bytes_at[pos], "%s: %lld bytes at %.*s, not %lld",
                    what, (long long)bytes, (int)name.len, name.data,
                    (long long)memory.of[comp].bytes_at[pos]);
      if (bytes > peak_bytes) peak_bytes = bytes;
      tracker_end(&job->tracker);
    }
    ck_assert_int_eq(peak_bytes, memory.of[comp].peak_bytes);
    ck_assert_msg(job->tracker.memory_bytes == 0, "%s: %lld bytes are left", what,
                  (long long)job->tracker.memory_bytes);
  }
}

START_TEST(placing_equals_recounting) {
  Job job;
  job_start(&job, rows[_i].comps, rows[_i].body);
  Schedule schedule = schedule_in_text_order(job.module, job.fixture.out);
  check_placing(&job, &schedule, rows[_i].name);
  job_finish(&job);
}
END_TEST

static const char *const samples[] = {
    "gpt_scan.before",
    "gpt_scan.after",
    "gpt_unrolled.before",
    "gpt_unrolled.after",
    "lstm.before",
    "lstm.after",
    "mlp_checkpoint.before",
    "mlp_checkpoint.after",
    "mobilenet.before",
    "mobilenet.after",
    "resnet.before",
    "resnet.after",
    "unet_donated.before",
    "unet_donated.after",
    "vgg.before",
    "vgg.after",
};

/* As dumped, and again after some of it was rematerialized. */
START_TEST(placing_equals_recounting_in_samples) {
  Arena *arena = arena_new(NULL);
  Job job = {.fixture = fixture_parse_file(
                 arena_printf(arena, "hlo_samples/%s_optimizations.hlo", samples[_i]))};
  job.module = job.fixture.module;
  Schedule schedule = fixture_schedule(&job.fixture, "input");
  check_placing(&job, &schedule, samples[_i]);
  int64_t peak_bytes =
      remat_memory(job.module, &schedule, job.fixture.out, job.fixture.scratch).peak_bytes;
  RematSetup setup = {.limit_bytes = peak_bytes / 10 * 9};
  RematResult result = fixture_remat(&job.fixture, &setup);
  check_placing(&job, &result.schedule, samples[_i]);
  job_finish(&job);
  arena_free(arena);
}
END_TEST

/* ---- what a rematerialization would bring ---- */

static const struct {
  const char *name, *body;
  const char *at; /* in progress */
  const char *block[3];
  int64_t bytes;
} reductions[] = {
    {"a live value",
     P
     "a = f32[4] abs(p)\n b = f32[8] concatenate(p, p), dimensions={0}\n ROOT r = f32[4] sine(a)\n",
     "b",
     {"a"},
     16},
    {"a dead value",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n c = f32[4] tanh(p)\n"
       "ROOT r = f32[4] add(b, c)\n",
     "c",
     {"a"},
     0},
    {"its operand is dead: it would have to stay",
     P "a = f32[8] concatenate(p, p), dimensions={0}\n b = f32[8] sine(a)\n c = f32[4] tanh(p)\n"
       "ROOT r = f32[8] abs(b)\n",
     "c",
     {"b"},
     0},
    {"its operand is dead and smaller",
     P "a = f32[2] slice(p), slice={[0:2]}\n b = f32[2,8] broadcast(a), dimensions={0}\n"
       "c = f32[4] tanh(p)\n ROOT r = f32[2,8] abs(b)\n",
     "c",
     {"b"},
     64 - 8},
    {"its operand is dead and larger",
     P "a = f32[8] concatenate(p, p), dimensions={0}\n b = f32[4] slice(a), slice={[0:4]}\n"
       "c = f32[4] tanh(p)\n ROOT r = f32[4] abs(b)\n",
     "c",
     {"b"},
     16 - 32},
    {"its operand is alive",
     P "a = f32[8] concatenate(p, p), dimensions={0}\n b = f32[8] sine(a)\n c = f32[4] tanh(p)\n"
       "ROOT r = f32[8] add(a, b)\n",
     "c",
     {"b"},
     32},
    {"the operand is in the block",
     P "a = f32[8] concatenate(p, p), dimensions={0}\n b = f32[8] sine(a)\n c = f32[4] tanh(p)\n"
       "ROOT r = f32[8] abs(b)\n",
     "c",
     {"a", "b"},
     32},
    {"the operand of the first of the block is not",
     P "z = f32[2] slice(p), slice={[0:2]}\n a = f32[2,8] broadcast(z), dimensions={0}\n"
       "b = f32[2,8] sine(a)\n c = f32[4] tanh(p)\n ROOT r = f32[2,8] abs(b)\n",
     "c",
     {"a", "b"},
     64 - 8},
    {"three in a row",
     P "z = f32[2] slice(p), slice={[0:2]}\n a = f32[2,8] broadcast(z), dimensions={0}\n"
       "b = f32[2,8] sine(a)\n c = f32[4] tanh(p)\n ROOT r = f32[2,8] abs(b)\n",
     "c",
     {"z", "a", "b"},
     64},
    {"in use by the one in progress",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n ROOT r = f32[4] add(a, b)\n",
     "b",
     {"a"},
     0},
    {"live-out",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n c = f32[4] tanh(b)\n"
       "ROOT r = " PAIR " tuple(a, c)\n",
     "c",
     {"a"},
     0},
    {"indirect: whether that can be led elsewhere is for legality",
     P "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n o = (f32[4]) opt-barrier(t)\n"
       "b = f32[4] tanh(p)\n" GTE("g", "o", "0") "ROOT r = f32[4] add(g, b)\n",
     "b",
     {"a"},
     16},
    {"through a bitcast and an element",
     P
     "a = f32[4] abs(p)\n t = (f32[4]) tuple(a)\n" GTE("g", "t", "0") "b = f32[4] tanh(p)\n"
                                                                      "ROOT r = f32[4] add(g, b)\n",
     "b",
     {"a"},
     16},
    {"both elements and the table of a tuple",
     P "x = " PAIR " custom-call(p), custom_call_target=\"x\"\n b = f32[4] tanh(p)\n" GTE(
         "g0", "x", "0") GTE("g1", "x", "1") "c = f32[4] add(g0, g1)\n ROOT r = f32[4] add(b, c)\n",
     "b",
     {"x"},
     48},
    {"one element is dead",
     P "x = " PAIR " custom-call(p), custom_call_target=\"x\"\n b = f32[4] tanh(p)\n" GTE(
         "g0", "x", "0") "ROOT r = f32[4] add(b, g0)\n",
     "b",
     {"x"},
     32},
    {"elements of elements",
     P "x = (f32[4], (f32[4], f32[4])) custom-call(p), custom_call_target=\"x\"\n b = f32[4] "
       "tanh(p)\n" GTE("g0", "x", "0") "ROOT r = f32[4] add(b, g0)\n",
     "b",
     {"x"},
     32},
};

START_TEST(bytes_reduced_match_table) {
  Job job;
  job_start(&job, "", reductions[_i].body);
  place_until(&job, reductions[_i].at);
  InstId block[3];
  uint32_t len = 0;
  for (; len < 3 && reductions[_i].block[len]; len++)
    block[len] = inst(&job, reductions[_i].block[len]);
  int64_t bytes = tracker_bytes_reduced(&job.tracker, block, len);
  ck_assert_msg(bytes == reductions[_i].bytes, "%s: %lld, not %lld", reductions[_i].name,
                (long long)bytes, (long long)reductions[_i].bytes);
  job_finish(&job);
}
END_TEST

START_TEST(unplaced_uses_are_seen) {
  Job job;
  job_start(&job, "",
            P
            "a = f32[4] abs(p)\n b = f32[2,2] bitcast(a)\n c = f32[4] sine(p)\n"
            "ROOT r = f32[2,2] tanh(b)\n");
  place_until(&job, "c");
  ck_assert(tracker_has_unplaced_uses(&job.tracker, inst(&job, "a")));
  ck_assert(!tracker_has_unplaced_uses(&job.tracker, inst(&job, "b"))); /* defines nothing */
  ck_assert(!tracker_has_unplaced_uses(&job.tracker, inst(&job, "p")));
  place_until(&job, "r");
  ck_assert(!tracker_has_unplaced_uses(&job.tracker, inst(&job, "a")));
  ck_assert_int_eq(tracker_defined_bytes(&job.tracker, inst(&job, "a")), 16);
  ck_assert_int_eq(tracker_defined_bytes(&job.tracker, inst(&job, "b")), 0);
  job_finish(&job);
}
END_TEST

/* ---- accounting for clones ---- */

typedef struct Clone {
  const char *name, *comps, *body;
  const char *at; /* in progress when `original` is cloned */
  const char *original;
  const char *before;   /* where the clone goes */
  const char *users[2]; /* that read it instead, at operand 0, through … */
  int element[2];       /* a get-tuple-element, -1 for none, and/or */
  bool is_bitcast[2];   /* a bitcast to the old operand's shape */
  int64_t bytes;        /* while `at` runs, afterwards */
  int64_t missed_bytes; /* XLA also subtracts parts of the original that are dead already */
} Clone;

static const Clone clones[] = {
    {"a value",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n c = f32[8] concatenate(b, b), dimensions={0}\n"
       "d = f32[4] slice(c), slice={[0:4]}\n ROOT r = f32[4] add(a, d)\n",
     "c",
     "a",
     "r",
     {"r"},
     {-1},
     {false},
     16 + 32,
     0},
    {"its operand lives again",
     "",
     P "z = f32[2] slice(p), slice={[0:2]}\n a = f32[2,8] broadcast(z), dimensions={0}\n"
       "b = f32[4] tanh(p)\n c = f32[8] concatenate(b, b), dimensions={0}\n"
       "d = f32[8] negate(c)\n e = f32[2,8] cosine(a)\n ROOT r = (f32[8], f32[2,8]) tuple(d, e)\n",
     "c",
     "a",
     "e",
     {"e"},
     {-1},
     {false},
     8 + 16 + 32,
     0},
    {"two users",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] tanh(p)\n c = f32[4] sine(a)\n d = f32[4] cosine(a)\n"
       "e = f32[4] add(c, d)\n ROOT r = f32[4] add(e, b)\n",
     "b",
     "a",
     "c",
     {"c", "d"},
     {-1, -1},
     {false, false},
     16,
     0},
    {"through a bitcast",
     "",
     P "a = f32[4] abs(p)\n f = f32[2,2] bitcast(a)\n b = f32[4] tanh(p)\n c = f32[2,2] sine(f)\n"
       "d = f32[4] bitcast(c)\n ROOT r = f32[4] add(d, b)\n",
     "b",
     "a",
     "c",
     {"c"},
     {-1},
     {true},
     16,
     0},
    {"all of a tuple",
     TWO,
     P "x = " PAIR " fusion(p), kind=kLoop, calls=two\n b = f32[4] tanh(p)\n" GTE("g", "x", "1")
         GTE("h", "x", "0") "c = f32[4] sine(g)\n d = f32[4] cosine(h)\n e = f32[4] add(c, d)\n"
                            "ROOT r = f32[4] add(e, b)\n",
     "b",
     "x",
     "c",
     {"c", "d"},
     {1, 0},
     {false, false},
     16,
     0},
    {"an element whose sibling is dead",
     TWO,
     P "x = " PAIR " fusion(p), kind=kLoop, calls=two\n b = f32[4] tanh(p)\n" GTE(
         "g", "x", "1") "c = f32[4] sine(g)\n ROOT r = f32[4] add(c, b)\n",
     "b",
     "x",
     "c",
     {"c"},
     {1},
     {false},
     0,
     16},
    {"an element whose sibling and table are dead, through a bitcast",
     TWO,
     P "x = " PAIR " fusion(p), kind=kLoop, calls=two\n" GTE(
         "g", "x", "1") "f = f32[2,2] bitcast(g)\n"
                        "b = f32[4] tanh(p)\n c = f32[2,2] sine(f)\n d = f32[4] bitcast(c)\n"
                        "ROOT r = f32[4] add(d, b)\n",
     "b",
     "x",
     "c",
     {"c"},
     {1},
     {true},
     -16,
     32},
};

/* Clones and redirects as the row says; returns the helpers. */
static IdVec redirect(Job *job, Rewrite *rewrite, const Clone *row, InstId clone) {
  Module *module = job->module;
  IdVec helpers = {0};
  for (int i = 0; i < 2 && row->users[i]; i++) {
    InstId user = inst(job, row->users[i]), operand = clone;
    ShapeId shape = inst_get(module, inst_operand(module, user, 0))->shape;
    if (row->element[i] >= 0) {
      operand = rewrite_add_get_tuple_element(rewrite, operand, row->element[i]);
      *vec_push(job->fixture.out, &helpers) = operand;
    }
    if (row->is_bitcast[i]) {
      operand = rewrite_add_bitcast(rewrite, operand, shape);
      *vec_push(job->fixture.out, &helpers) = operand;
    }
    rewrite_set_operand(rewrite, user, 0, operand);
  }
  for (uint32_t i = 0; i < helpers.len; i++)
    item_list_create(&job->list, helpers.data[i]);
  return helpers;
}

/* Elements and bitcasts that lost their users before they were placed are no part of the account.
 */
static void remove_bypassed(Job *job) {
  Module *module = job->module;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (opcode_has((Opcode)inst_get(module, id)->opcode, OPF_PASS_THROUGH) &&
        inst_get(module, id)->users.len == 0 && !item_get(&job->list, id)->is_placed) {
      module_remove_inst(module, id);
    }
  }
  module_sweep_comp(module, module->entry);
}

/* From the one in progress to the end the tracker says what a recount of the finished module says.
 */
static void check_rest(Job *job, const Clone *row) {
  Module *module = job->module;
  Schedule schedule = schedule_in_text_order(module, job->fixture.out);
  Sequence sequence = item_list_sequence(&job->list, module, job->fixture.out);
  schedule.of[module->entry] = sequence;
  check_schedule(module, &schedule);
  RematMemory memory = remat_memory(module, &schedule, job->fixture.out, job->fixture.scratch);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (id != job->tracker.in_progress) {
      if (item_get(&job->list, id)->is_placed) continue;
      tracker_begin(&job->tracker, id);
    }
    int64_t bytes = job->tracker.memory_bytes + row->missed_bytes;
    Str name = inst_name(module, id);
    ck_assert_msg(bytes == memory.of[module->entry].bytes_at[pos],
                  "%s: %lld bytes at %.*s, not %lld", row->name, (long long)bytes, (int)name.len,
                  name.data, (long long)memory.of[module->entry].bytes_at[pos]);
    tracker_end(&job->tracker);
  }
  ck_assert_int_eq(job->tracker.memory_bytes, -row->missed_bytes);
}

START_TEST(clones_are_accounted_for) {
  const Clone *row = &clones[_i];
  Job job;
  job_start(&job, row->comps, row->body);
  place_until(&job, row->at);
  Rewrite rewrite = rewrite_begin(job.module);
  InstId original = inst(&job, row->original);
  InstId clone = rewrite_clone(&rewrite, original, job.fixture.scratch);
  item_list_create(&job.list, clone);
  IdVec helpers = redirect(&job, &rewrite, row, clone);
  tracker_add_clone(&job.tracker, original, clone, &helpers);
  ck_assert_msg(job.tracker.memory_bytes == row->bytes, "%s: %lld, not %lld", row->name,
                (long long)job.tracker.memory_bytes, (long long)row->bytes);
  IdVec places = {.data = (uint32_t[]){inst(&job, row->before)}, .len = 1};
  item_list_insert_before(&job.list, clone, &places);
  for (uint32_t i = 0; i < helpers.len; i++) {
    item_list_insert_before(&job.list, helpers.data[i], &places);
  }
  remove_bypassed(&job);
  check_rest(&job, row);
  job_finish(&job);
}
END_TEST

/* The positions in a long list of operands are looked up, those in a short one are read. */
START_TEST(operands_of_wide_tuples_are_found) {
  enum { NUM_OPERANDS = 300 };
  static const char *const names[] = {"p", "a", "b"};
  Arena *arena = arena_new(NULL);
  const char *shapes = "", *operands = "";
  for (int i = 0; i < NUM_OPERANDS; i++) {
    text_add(arena, &shapes, "%s f32[4]", i ? "," : "");
    text_add(arena, &operands, "%s %s", i ? "," : "", names[(i * i + i / 7) % 3]);
  }
  Job job;
  job_start(&job, "",
            arena_printf(arena,
                         P "a = f32[4] abs(p)\nb = f32[4] sine(a)\n"
                           "ROOT r = (%s) tuple(%s)\n",
                         shapes, operands));
  for (TrackedId id = 0; id < 3; id++) {
    const TrackedBuffer *buffer = tracked_buffer(&job.tracker, id);
    uint32_t next = 0;
    for (uint32_t n = 0; n < NUM_OPERANDS; n++) {
      if ((n * n + n / 7) % 3 != id) continue;
      while (next < buffer->uses.len && buffer->uses.data[next].user != inst(&job, "r"))
        next++;
      ck_assert_uint_lt(next, buffer->uses.len);
      ck_assert_uint_eq(buffer->uses.data[next++].operand, n);
    }
    ck_assert_uint_eq(next, buffer->uses.len);
  }
  job_finish(&job);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tracker");
  TCase *tc = tcase_create("tracker");
  size_t num_rows = sizeof rows / sizeof *rows;
  tcase_add_loop_test(tc, buffers_match_table, 0, (int)num_rows);
  tcase_add_loop_test(tc, placing_equals_recounting, 0, (int)num_rows);
  tcase_add_loop_test(tc, bytes_reduced_match_table, 0, sizeof reductions / sizeof *reductions);
  tcase_add_test(tc, unplaced_uses_are_seen);
  tcase_add_test(tc, operands_of_wide_tuples_are_found);
  tcase_add_loop_test(tc, clones_are_accounted_for, 0, sizeof clones / sizeof *clones);
  suite_add_tcase(suite, tc);
  tc = tcase_create("samples");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, placing_equals_recounting_in_samples, 0,
                      sizeof samples / sizeof *samples);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
