#include "emit/dot/dot.h"

#include <cgraph.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit/dot/labels.h"
#include "emit_fixture.h"

static const char *dot_with(Measured *measured, const DotOptions *options) {
  TextBuffer captured;
  Writer *writer = capture_begin(&captured, measured);
  emit_dot(measured->module, &measured->schedule, &measured->memory, measured->marks, options,
           writer, measured->scratch);
  return capture_end(&captured, writer, measured);
}

/* Of all. */
static const char *dot(Measured *measured, int64_t min_bytes, uint32_t max_nodes) {
  DotOptions options = {.min_bytes = min_bytes, .max_nodes = max_nodes, .model = measured->model};
  return dot_with(measured, &options);
}

static const char *dot_filtered(Measured *measured, const char *filter, uint32_t max_nodes) {
  DotOptions options = {
      .min_bytes = -1, .max_nodes = max_nodes, .num_hops = 1, .model = measured->model};
  ck_assert_int_eq(dot_filter_parse(filter, &options.filter, NULL, measured->out), RH_OK);
  return dot_with(measured, &options);
}

/* How the label of a node begins. */
#define HEAD(name) "<FONT POINT-SIZE=\"15\"><B>" name "</B></FONT>"

/* The picture as graphviz reads it; agclose() it. */
static Agraph_t *picture(Measured *measured, int64_t min_bytes, uint32_t max_nodes) {
  const char *text = dot(measured, min_bytes, max_nodes);
  Agraph_t *graph = agmemread(text);
  ck_assert_msg(graph != NULL, "graphviz does not read\n%s", text);
  return graph;
}

static Agnode_t *node_of(Agraph_t *graph, const char *name) {
  Agnode_t *node = agnode(graph, (char *)name, 0);
  ck_assert_msg(node != NULL, "no node '%s'", name);
  return node;
}

static void check_attr(void *object, const char *name, const char *value) {
  const char *got = agget(object, (char *)name);
  ck_assert_msg(got && strcmp(got, value) == 0, "%s of %s is '%s', not '%s'", name,
                agnameof(object) ? agnameof(object) : "an edge", got, value);
}

/* Names of the nodes in the order of the text. */
static const char *shown_names(Agraph_t *graph, Arena *out) {
  const char *names = "";
  for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
    names = arena_printf(out, "%s%s%s", names, *names ? " " : "", agnameof(node));
  }
  return names;
}

/* The edge of this style between two nodes, NULL when there is none. */
static Agedge_t *edge_of(Agraph_t *graph, const char *from, const char *to, const char *style) {
  Agnode_t *tail = node_of(graph, from), *head = node_of(graph, to);
  for (Agedge_t *edge = agfstout(graph, tail); edge; edge = agnxtout(graph, edge)) {
    if (aghead(edge) == head && strcmp(agget(edge, "style"), style) == 0) return edge;
  }
  return NULL;
}

/* ---- what is shown ---- */

static const struct {
  int64_t min_bytes;
  const char *names;
} threshold_cases[] = {
    {0, "a zero big loop r out q n less p y t"},
    {16, "a big loop r out q n p y t"}, /* of q and p the second part */
    {1000, "a big loop r out q n p y t"},
    {1024, "big loop r out n"}, /* n is the peak, and loop leads to it */
    {4095, "big loop r out n"},
    {4096, "loop n"},
    {INT64_MAX, "loop n"},
};

START_TEST(threshold_chooses_nodes) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, threshold_cases[_i].min_bytes, 0);
  check_text(shown_names(graph, measured.out), threshold_cases[_i].names, "shown");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(clusters_are_computations) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  static const struct {
    const char *name, *label;
    int num_nodes;
  } clusters[] = {
      {"cluster_main",
       "entry <B>main</B> \xC2\xB7 peak <B>4.02 KiB</B> \xC2\xB7 6 of 8 instructions", 6},
      {"cluster_cond", "<B>cond</B> \xC2\xB7 peak <B>4 B</B> \xC2\xB7 3 of 4 instructions", 3},
      {"cluster_body", "<B>body</B> \xC2\xB7 peak <B>0 B</B> \xC2\xB7 3 of 5 instructions", 3},
  };
  for (size_t i = 0; i < 3; i++) {
    Agraph_t *cluster = agsubg(graph, (char *)clusters[i].name, 0);
    ck_assert_ptr_nonnull(cluster);
    ck_assert_int_eq(agnnodes(cluster), clusters[i].num_nodes);
    check_attr(cluster, "label", clusters[i].label);
  }
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* Fusions and reducers have no memory of their own. */
START_TEST(expressions_are_not_shown) {
  Measured measured = measure_text(
      "HloModule m\nf { p = f32[64] parameter(0)\n ROOT n = f32[64] negate(p) }\n"
      "ENTRY e { a = f32[64] parameter(0)\n"
      " x = f32[64] fusion(a), kind=kLoop, calls=f\n ROOT r = f32[64] abs(x) }",
      "liveness");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_text(shown_names(graph, measured.out), "a x r", "shown");
  ck_assert_int_eq(agnsubg(graph), 1);
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(edges_see_through_tuples) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_attr(edge_of(graph, "a", "loop", "solid"), "tooltip", "a \xE2\x86\x92 loop: 1.00 KiB");
  check_attr(edge_of(graph, "zero", "loop", "solid"), "tooltip", "zero \xE2\x86\x92 loop: 4 B");
  check_attr(edge_of(graph, "loop", "out", "solid"), "tooltip", "loop \xE2\x86\x92 out: 1.00 KiB");
  check_attr(edge_of(graph, "p", "y", "solid"), "tooltip", "p \xE2\x86\x92 y: 1.00 KiB");
  check_attr(edge_of(graph, "p", "t", "solid"), "tooltip", "p \xE2\x86\x92 t: 4 B");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(parts_of_a_result_make_one_edge) {
  Measured measured = measure_text(
      "HloModule m\nf { p = f32[64] parameter(0)\n n = f32[64] negate(p)\n"
      " ROOT t = (f32[64], f32[64]) tuple(p, n) }\n"
      "ENTRY e { a = f32[64] parameter(0)\n"
      " x = (f32[64], f32[64]) fusion(a), kind=kInput, calls=f\n"
      " g = f32[64] get-tuple-element(x), index=0\n h = f32[64] get-tuple-element(x), index=1\n"
      " y = f32[64] add(g, h)\n ROOT r = f32[64] abs(y) }",
      "liveness");
  Agraph_t *graph = picture(&measured, 0, 0);
  Agedge_t *edge = edge_of(graph, "x", "y", "solid");
  check_attr(edge, "tooltip", "x \xE2\x86\x92 y: 512 B");
  check_attr(edge, "penwidth", "5.0");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* ---- how it is shown ---- */

START_TEST(peak_and_what_lives_then_stand_out) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_attr(node_of(graph, "n"), "peripheries", "2");
  check_attr(node_of(graph, "r"), "peripheries", "1");
  check_attr(node_of(graph, "big"), "penwidth", "3");
  check_attr(node_of(graph, "big"), "color", "#202020");
  check_attr(node_of(graph, "r"), "penwidth", "1");
  check_attr(edge_of(graph, "big", "r", "solid"), "color", "#202020");
  check_attr(edge_of(graph, "r", "out", "solid"), "color", "#8c8c8c");
  check_has(agget(node_of(graph, "n"), "label"), "<B>PEAK 9.04 KiB</B><BR/>" HEAD("n") "<BR/>");
  check_attr(node_of(graph, "n"), "fillcolor", "#fc4e2a");   /* the hottest */
  check_attr(node_of(graph, "out"), "fillcolor", "#ffffcc"); /* the coldest */
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* A name that says nothing comes after what the metadata says. */
START_TEST(labels_say_what_names_do_not) {
  static const char text[] =
      "HloModule m, is_scheduled=true\n"
      "ENTRY e {\n"
      "  params__w__.1 = f32[1024]{0} parameter(0), metadata={op_name=\"params['w']\"}\n"
      "  negate.1 = f32[1024]{0} negate(params__w__.1), metadata={op_name=\"jit(f)/mlp/neg\"}\n"
      "  ROOT negate.2 = f32[1024]{0} negate(negate.1), metadata={op_name=\"jit(f)/neg\" "
      "source_file=\"/a/m.py\" source_line=7}\n"
      "}\n";
  Measured measured = measure_text(text, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_has(agget(node_of(graph, "params__w__.1"), "label"),
            HEAD("params['w']") "<BR/>params__w__.1<BR/>parameter f32[1024]");
  check_has(agget(node_of(graph, "negate.1"), "label"), HEAD("mlp/neg") "<BR/>negate.1<BR/>");
  check_has(agget(node_of(graph, "negate.2"), "label"), HEAD("neg m.py:7") "<BR/>negate.2<BR/>");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* In what `dot -Tpng` draws, 12 points are 16 pixels. */
START_TEST(texts_can_be_read_without_options) {
  enum { LEAST_POINTS = 12 };
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  ck_assert_int_ge(atoi(agget(graph, "fontsize")), LEAST_POINTS);
  for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
    ck_assert_int_ge(atoi(agget(node, "fontsize")), LEAST_POINTS);
    const char *at = agget(node, "label");
    while ((at = strstr(at, "POINT-SIZE=\"")) != NULL)
      ck_assert_int_ge(atoi(at += strlen("POINT-SIZE=\"")), LEAST_POINTS);
  }
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(labels_and_tooltips_say_what_it_is) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_attr(node_of(graph, "big"), "label",
             HEAD("big") "<BR/>broadcast f32[1024]<BR/>4.00 KiB \xC2\xB7 #2");
  check_attr(node_of(graph, "loop"), "label",
             HEAD("loop") "<BR/>while (s32[], 1 more)<BR/>1.02 KiB \xC2\xB7 #4");
  check_attr(node_of(graph, "y"), "tooltip",
             "y = f32[256]{0} exponential&#10;memory while it runs: 9.04 KiB&#10;"
             "jit(f)/exp, &quot;fast&quot;&#10;a,b.py:1007");
  const char *title = agget(graph, "label");
  check_has(title, "<B>small</B> \xC2\xB7 peak <B>9.04 KiB</B>");
  check_has(title,
            "memory model xla-remat \xC2\xB7 total 10.04 KiB \xC2\xB7 "
            "parameters 1.00 KiB (not in the peak)");
  check_has(title, "12 of 17 instructions: all results with memory, and what reads them");
  check_has(title, "from 5.02 KiB to 9.04 KiB");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

static const char called_peak[] =
    "HloModule m\n"
    "add { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT o = f32[] add(l, r) }\n"
    "work { z = f32[] constant(0)\n p = f32[64] parameter(0)\n"
    " e = f32[16,64] broadcast(p), dimensions={1}\n n = f32[16,64] negate(e)\n"
    " ROOT s = f32[64] reduce(n, z), dimensions={0}, to_apply=add }\n"
    "ENTRY main { x = f32[64] parameter(0)\n y = f32[64] negate(x)\n"
    " a = f32[64] call(y), to_apply=work\n ROOT d = f32[64] negate(a) }\n";

/* Where the peak is in what is called, only the call and what it calls are hot. */
START_TEST(memory_is_that_of_the_moment) {
  static const struct {
    const char *model, *negate, *called;
  } rows[] = {{"liveness", "512 B", "4.25 KiB"}, {"xla-remat", "512 B", "8.75 KiB"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Measured measured = measure_text(called_peak, rows[i].model);
    Agraph_t *graph = picture(&measured, 0, 0);
    check_attr(node_of(graph, "y"), "tooltip",
               arena_printf(measured.out, "y = f32[64]{0} negate&#10;memory while it runs: %s",
                            rows[i].negate));
    check_attr(node_of(graph, "n"), "tooltip",
               arena_printf(measured.out, "n = f32[16,64]{1,0} negate&#10;memory while it runs: %s",
                            rows[i].called));
    agclose(graph);
    measured_free(&measured);
  }
}
END_TEST

/* What runs asynchronously is called where it starts, however tight it is where it is done. */
START_TEST(starts_lead_to_what_they_call) {
  Measured measured = measure_text(
      "HloModule m\nwork { p = f32[64] parameter(0)\n e = f32[64] exponential(p)\n"
      " ROOT n = f32[64] negate(e) }, execution_thread=\"side\"\n"
      "ENTRY main { x = f32[64] parameter(0)\n y = f32[1024] parameter(1)\n"
      " s = ((f32[64]), f32[64], u32[]) async-start(x), calls=work,"
      " async_execution_thread=\"side\"\n"
      " big = f32[1024] exponential(y)\n neg = f32[1024] negate(big)\n"
      " d = f32[64] async-done(s), calls=work, async_execution_thread=\"side\"\n"
      " add = f32[1024] add(big, neg)\n"
      " ROOT t = (f32[64], f32[1024]) tuple(d, add) }\n",
      "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_attr(node_of(graph, "n"), "tooltip",
             "n = f32[64]{0} negate&#10;memory while it runs: 4.55 KiB");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* What an eye makes of a colour, in thousandths; for red-green blindness the dimmer half counts. */
static int lightness(const char *color, bool sees_red) {
  unsigned red, green, blue;
  ck_assert_int_eq(sscanf(color, "#%2x%2x%2x", &red, &green, &blue), 3);
  return (int)(sees_red ? 299 * red + 587 * green + 114 * blue : 886 * green + 114 * blue);
}

START_TEST(heat_gets_darker_all_the_way) {
  for (int i = 10; i <= 1000; i += 10) {
    DotColor before = dot_heat_color(i - 10), now = dot_heat_color(i);
    ck_assert_int_lt(lightness(now.text, true), lightness(before.text, true));
    ck_assert_int_lt(lightness(now.text, false), lightness(before.text, false));
  }
  ck_assert_int_gt(lightness(dot_heat_color(1000).text, true), 100 * 1000); /* under black text */
}
END_TEST

START_TEST(paths_boxes_and_matches_are_drawn) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = agmemread(dot_filtered(&measured, "regex:^(big|out)$", 2));
  ck_assert_ptr_nonnull(graph);
  check_attr(edge_of(graph, "big", "out", "dashed"), "tooltip",
             "big \xE2\x86\x92 out, through what is not shown");
  check_has(agget(node_of(graph, "big"), "label"), "<U>" HEAD("big") "</U>");
  Agnode_t *box = node_of(graph, "(left out)");
  check_attr(box, "shape", "folder");
  check_attr(box, "penwidth", "3"); /* some of it lives at the peak */
  check_has(agget(box, "label"), "<I>others</I><BR/>4 instructions<BR/>");
  const char *title = agget(graph, "label");
  check_has(title, "2 matches of the expression <B>^(big|out)$</B>, and what is around them");
  check_has(title, "left out: 2 computations of 9 instructions");
  check_has(title, "matches the filter");
  check_has(title, "reads what others, that are not shown, make of it");
  check_has(title, "instructions that are not shown");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(other_edges_have_styles) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_attr(edge_of(graph, "loop", "r", "dotted"), "tooltip", "control dependency");
  check_attr(edge_of(graph, "loop", "p", "dashed"), "lhead", "cluster_body");
  check_attr(edge_of(graph, "loop", "q", "dashed"), "lhead", "cluster_cond");
  check_attr(edge_of(graph, "big", "r", "invis"), "weight", "0"); /* below one another */
  const char *title = agget(graph, "label");
  check_has(title, "control dependency");
  check_has(title, "calls");
  check_lacks(title, "recomput");
  check_lacks(title, "moved");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(marks_are_blue) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  measured.marks[find_inst(measured.module, "r")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("big")};
  measured.marks[find_inst(measured.module, "y")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("gone")};
  measured.marks[find_inst(measured.module, "a")].kind = REMAT_KIND_MOVED;
  measured.marks[find_inst(measured.module, "zero")].kind = REMAT_KIND_HELPER;
  Agraph_t *graph = picture(&measured, 0, 0);
  static const char *const styles[][2] = {
      {"r", "filled"}, {"y", "filled"}, {"a", "filled,dashed"}, {"zero", "filled,dotted"}};
  for (size_t i = 0; i < 4; i++) {
    check_attr(node_of(graph, styles[i][0]), "style", styles[i][1]);
    check_attr(node_of(graph, styles[i][0]), "color", "#0057c2");
    check_attr(node_of(graph, styles[i][0]), "penwidth", "3");
  }
  check_has(agget(node_of(graph, "r"), "label"), "<BR/><I>recomputes big</I>");
  check_attr(edge_of(graph, "big", "r", "dashed"), "color", "#0057c2");
  const char *title = agget(graph, "label");
  check_has(title, ">recomputed<");
  check_has(title, ">moved<");
  check_has(title, ">helper<");
  check_has(title, "is recomputed as");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(marks_may_be_missing) {
  Measured measured = measure_text(emit_sample, "liveness");
  const char *with = dot(&measured, 0, 0);
  measured.marks = NULL;
  ck_assert_str_eq(dot(&measured, 0, 0), with);
  measured_free(&measured);
}
END_TEST

/* ---- the choice of a picture that is told how many nodes it may have ---- */

static const char *const samples[] = {
    "hlo_samples/gpt_scan.after_optimizations.hlo",
    "hlo_samples/gpt_unrolled.after_optimizations.hlo",
    "hlo_samples/lstm.after_optimizations.hlo",
    "hlo_samples/unet_donated.after_optimizations.hlo",
};
enum { NUM_SAMPLES = sizeof samples / sizeof *samples };
static const char *const models[] = {"xla-remat", "liveness"};

START_TEST(about_as_many_nodes_as_wanted) {
  Measured measured = measure_file(samples[_i / 2], models[_i % 2]);
  static const uint32_t wanted[] = {1, 20, 60, 120};
  for (size_t i = 0; i < 4; i++) {
    Agraph_t *graph = picture(&measured, -1, wanted[i]);
    int num_nodes = agnnodes(graph);
    /* The peak, the calls that lead somewhere and large parameters come on top. */
    ck_assert_msg(num_nodes <= (int)wanted[i] + 16, "%s: %d nodes, not %u", samples[_i / 2],
                  num_nodes, wanted[i]);
    bool has_more = strstr(agget(graph, "label"), "of at least") == NULL;
    ck_assert_msg(!has_more || num_nodes >= (int)wanted[i], "%s: %d nodes, not %u", samples[_i / 2],
                  num_nodes, wanted[i]);
    agclose(graph);
  }
  measured_free(&measured);
}
END_TEST

/* Forty readers of one buffer would be all of the picture. */
START_TEST(of_many_readers_the_last_is_shown) {
  Arena *arena = arena_new(NULL);
  const char *body =
      " a = f32[] parameter(0)\n x = f32[64] broadcast(a), dimensions={}\n"
      " y0 = f32[64] iota(), iota_dimension=0\n";
  for (int i = 1; i <= 40; i++) {
    body = arena_printf(arena, "%s y%d = f32[64] add(y%d, x)\n", body, i, i - 1);
  }
  char *text =
      arena_printf(arena, "HloModule m\nENTRY e {\n%s ROOT r = f32[64] abs(y40)\n}\n", body);
  Measured measured = measure_text(text, "liveness");
  Agraph_t *graph = picture(&measured, -1, 10);
  node_of(graph, "y40");
  ck_assert_int_eq(agnnodes(graph), 10);
  ck_assert_ptr_nonnull(strstr(agget(node_of(graph, "x"), "label"), " readers"));
  check_has(agget(graph, "label"),
            "all results over 256 B, some of this size, and what reads them");
  agclose(graph);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

/* All large results have one size; y is the peak, where x, its operand, and k live. */
START_TEST(what_matters_comes_first_among_equals) {
  Measured measured = measure_text(
      "HloModule m\nENTRY e {\n a = f32[] parameter(0)\n"
      " b = f32[64] broadcast(a), dimensions={}\n b1 = f32[1] slice(b), slice={[0:1]}\n"
      " c = f32[] reshape(b1)\n k = f32[64] broadcast(c), dimensions={}\n"
      " x = f32[64] broadcast(c), dimensions={}\n y = f32[64] negate(x)\n"
      " y1 = f32[1] slice(y), slice={[0:1]}\n k1 = f32[1] slice(k), slice={[0:1]}\n"
      " w = f32[64] broadcast(c), dimensions={}\n w1 = f32[1] slice(w), slice={[0:1]}\n"
      " ROOT t = (f32[1], f32[1], f32[1]) tuple(y1, k1, w1)\n}\n",
      "xla-remat");
  Agraph_t *graph = picture(&measured, -1, 3);
  check_text(shown_names(graph, measured.out), "x y y1", "the peak");
  agclose(graph);
  graph = picture(&measured, -1, 5);
  check_text(shown_names(graph, measured.out), "k x y y1 k1", "what is live");
  agclose(graph);
  measured.marks[find_inst(measured.module, "w")].kind = REMAT_KIND_MOVED;
  graph = picture(&measured, -1, 7);
  check_text(shown_names(graph, measured.out), "k x y y1 k1 w w1", "what was moved");
  check_has(agget(graph, "label"), "all results over 256 B, some of this size");
  agclose(graph);
  graph = picture(&measured, -1, 9);
  check_text(shown_names(graph, measured.out), "b b1 k x y y1 k1 w w1", "all of the size");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* ---- any name, any size ---- */

static const struct {
  const char *name;
  size_t len;
  const char *node; /* its name for graphviz; "#0" ends that of a name that is taken or empty */
} name_cases[] = {
    {"plain", 5, "plain"},
    {"", 0, " #0"},
    {"b", 1, "b"},
    {"two words", 9, "two words"},
    {"\"quoted\"", 8, "\"quoted\""},
    {"<b>&amp;", 8, "<b>&amp;"},
    {"end\\", 4, "end\\\\"},
    {"\\N\\n", 4, "\\\\N\\\\n"},
    {"new\nline", 8, "new\nline"},
    {"graph", 5, "graph"}, /* a word of the language */
    {"%local", 6, NULL},   /* graphviz gives such a node another name */
    {"-1.5", 4, "-1.5"},
    {"bad\xFF", 4, "bad\xEF\xBF\xBD"},
    {"a\0b", 3,
     "a\xEF\xBF\xBD"
     "b"},
    {"\xC3\xA9t\xC3\xA9", 5, "\xC3\xA9t\xC3\xA9"},
};

START_TEST(names_of_any_bytes_are_read_back) {
  Measured measured = measure_text(
      "HloModule m\nENTRY e { p = f32[] parameter(0)\n ROOT r = f32[] negate(p) }", "liveness");
  Instruction *param = inst_get(measured.module, find_inst(measured.module, "p"));
  Computation *entry = comp_get(measured.module, measured.module->entry);
  param->name = entry->name = name_cases[_i].name;
  param->name_len = entry->name_len = (uint32_t)name_cases[_i].len;
  measured.module->source->header.name = inst_name(measured.module, 0);
  measured.marks[1] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = inst_name(measured.module, 0)};
  Agraph_t *graph = picture(&measured, 0, 0);
  ck_assert_int_eq(agnnodes(graph), 2);
  const char *node = name_cases[_i].node;
  if (node) ck_assert_ptr_nonnull(edge_of(graph, node, "r", "solid"));
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(equal_names_are_two_nodes) {
  Measured measured = measure_text(
      "HloModule m\nf { x = f32[64] parameter(0)\n ROOT y = f32[64] negate(x) }\n"
      "ENTRY e { x = f32[64] parameter(0)\n ROOT y = f32[64] call(x), to_apply=f }",
      "liveness");
  Agraph_t *graph = picture(&measured, 0, 0);
  check_text(shown_names(graph, measured.out), "x y x #0 y #1", "shown");
  ck_assert_ptr_nonnull(edge_of(graph, "x #0", "y #1", "solid"));
  agclose(graph);
  measured_free(&measured);
}
END_TEST

/* graphviz refuses strings of more than 16384 bytes. */
START_TEST(long_texts_are_cut) {
  Arena *arena = arena_new(NULL);
  enum { LEN = 50000 };
  char *name = arena_alloc(arena, LEN + 1);
  memset(name, '&', LEN);
  name[LEN] = '\0';
  char *text = arena_printf(arena,
                            "HloModule m\nENTRY e { p = f32[] parameter(0)\n"
                            " q = f32[] abs(p)\n"
                            " ROOT r = f32[] negate(p), metadata={op_name=\"%s\"} }",
                            name);
  Measured measured = measure_text(text, "liveness");
  for (InstId id = 0; id < 3; id += 2) { /* alike up to their last bytes */
    inst_get(measured.module, id)->name = name;
    inst_get(measured.module, id)->name_len = LEN - id;
  }
  Agraph_t *graph = picture(&measured, 0, 0);
  ck_assert_int_eq(agnnodes(graph), 3);
  agclose(graph);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

START_TEST(empty_module) {
  Measured measured = measure_text("HloModule m\nENTRY e { ROOT t = () tuple() }", "xla-remat");
  Agraph_t *graph = picture(&measured, _i - 1, 120);
  ck_assert_int_eq(agnnodes(graph), 0);
  check_has(agget(graph, "label"), "0 of 1 instructions");
  agclose(graph);
  measured_free(&measured);
}
END_TEST

START_TEST(same_bytes_each_time) {
  Measured measured = measure_file(samples[_i], "xla-remat");
  const char *first = dot(&measured, -1, 120);
  void *moved = malloc(100000); /* addresses must not matter */
  ck_assert_str_eq(dot(&measured, -1, 120), first);
  free(moved);
  measured_free(&measured);
}
END_TEST

static int refuse(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 1;
}

START_TEST(write_errors_are_kept) {
  Measured measured = measure_text(emit_sample, "liveness");
  Writer *writer = arena_alloc(measured.out, sizeof *writer);
  writer_init(writer, refuse, NULL);
  DotOptions options = {.min_bytes = 0, .model = measured.model};
  emit_dot(measured.module, &measured.schedule, &measured.memory, NULL, &options, writer,
           measured.scratch);
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  measured_free(&measured);
}
END_TEST

/* ---- the program ---- */

static bool has_dot_program(void) {
  return system("command -v dot >/dev/null 2>&1") == 0;
}

/* Without a warning. */
static void check_renders(const char *text, const char *what) {
  FILE *program = popen("dot -Tsvg 2>&1 >/dev/null | { ! grep . >&2; }", "w");
  ck_assert_ptr_nonnull(program);
  ck_assert_uint_eq(fwrite(text, 1, strlen(text), program), strlen(text));
  int status = pclose(program);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "dot does not like %s", what);
}

START_TEST(dot_renders_samples) {
  Measured measured = measure_file(samples[_i], "liveness");
  check_renders(dot(&measured, -1, 120), samples[_i]);
  measured_free(&measured);
}
END_TEST

static const char *const filters[] = {"peak", "regex:add", "name:none"};

START_TEST(dot_renders_filters) {
  Measured measured = measure_file(samples[_i / 3], "liveness");
  check_renders(dot_filtered(&measured, filters[_i % 3], 80), filters[_i % 3]);
  measured_free(&measured);
}
END_TEST

/* Scopes of any bytes. */
static const char *const scopes[] = {
    "<b>&amp;", "\\\"quoted\\\"", "end\\\\",           "\\\\N{a|b}", "new\\nline", "bad\\377",
    "a\\000b",  "%s%n",           "\xC3\xA9t\xC3\xA9", " ",          "]]>-->",     "cluster_main",
};
enum { NUM_SCOPES = sizeof scopes / sizeof *scopes };

/* Instructions in a scope, of which some are shown; their text lies in the arena. */
static Measured measure_scope(const char *scope, Arena *arena) {
  const char *body = " p = f32[] parameter(0), metadata={op_name=\"p\"}\n";
  for (int k = 0; k < 12; k++) {
    body = arena_printf(arena,
                        "%s x%d = f32[64] broadcast(p), dimensions={}, "
                        "metadata={op_name=\"f/%s%s/op\"}\n",
                        body, k, k < 6 ? "other" : "", scope);
  }
  const char *format = "HloModule m\nENTRY main {\n%s ROOT r = f32[64] abs(p)\n}";
  return measure_text(arena_printf(arena, format, body), "liveness");
}

static const char *dot_of_scope(Measured *measured) {
  return dot_filtered(measured, "regex:^x([3-5]|[9]|10|11)$", 80);
}

/* A frame around two instructions and a box for the others of it. */
START_TEST(scopes_are_frames) {
  Arena *arena = arena_new(NULL);
  Measured measured = measure_scope(scopes[_i], arena);
  Agraph_t *graph = agmemread(dot_of_scope(&measured));
  ck_assert_ptr_nonnull(graph);
  Agraph_t *cluster = agsubg(graph, "cluster_main", 0);
  ck_assert_ptr_nonnull(cluster);
  ck_assert_msg(agnsubg(cluster) == 2, "%d frames of %s", agnsubg(cluster), scopes[_i]);
  agclose(graph);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

START_TEST(dot_renders_scopes) {
  Arena *arena = arena_new(NULL);
  Measured measured = measure_scope(scopes[_i], arena);
  check_renders(dot_of_scope(&measured), scopes[_i]);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

START_TEST(dot_renders_names) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  InstId id = find_inst(measured.module, "big");
  inst_get(measured.module, id)->name = name_cases[_i].name;
  inst_get(measured.module, id)->name_len = (uint32_t)name_cases[_i].len;
  measured.marks[find_inst(measured.module, "r")] =
      (RematMark){.kind = REMAT_KIND_CLONE, .original = inst_name(measured.module, id)};
  check_renders(dot(&measured, 0, 0), name_cases[_i].name);
  measured_free(&measured);
}
END_TEST

static TCase *program_case(void) {
  TCase *tc = tcase_create("program");
  tcase_set_tags(tc, "program");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, dot_renders_samples, 0, NUM_SAMPLES);
  tcase_add_loop_test(tc, dot_renders_filters, 0, 3 * NUM_SAMPLES);
  tcase_add_loop_test(tc, dot_renders_scopes, 0, NUM_SCOPES);
  tcase_add_loop_test(tc, dot_renders_names, 0, sizeof name_cases / sizeof *name_cases);
  return tc;
}

int main(void) {
  Suite *suite = suite_create("dot");
  TCase *tc = tcase_create("dot");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, threshold_chooses_nodes, 0,
                      sizeof threshold_cases / sizeof *threshold_cases);
  tcase_add_test(tc, clusters_are_computations);
  tcase_add_test(tc, expressions_are_not_shown);
  tcase_add_test(tc, edges_see_through_tuples);
  tcase_add_test(tc, parts_of_a_result_make_one_edge);
  tcase_add_test(tc, peak_and_what_lives_then_stand_out);
  tcase_add_test(tc, labels_say_what_names_do_not);
  tcase_add_test(tc, texts_can_be_read_without_options);
  tcase_add_test(tc, labels_and_tooltips_say_what_it_is);
  tcase_add_test(tc, memory_is_that_of_the_moment);
  tcase_add_test(tc, starts_lead_to_what_they_call);
  tcase_add_test(tc, heat_gets_darker_all_the_way);
  tcase_add_test(tc, paths_boxes_and_matches_are_drawn);
  tcase_add_test(tc, other_edges_have_styles);
  tcase_add_test(tc, marks_are_blue);
  tcase_add_test(tc, marks_may_be_missing);
  tcase_add_loop_test(tc, about_as_many_nodes_as_wanted, 0, 2 * NUM_SAMPLES);
  tcase_add_test(tc, of_many_readers_the_last_is_shown);
  tcase_add_test(tc, what_matters_comes_first_among_equals);
  tcase_add_loop_test(tc, names_of_any_bytes_are_read_back, 0,
                      sizeof name_cases / sizeof *name_cases);
  tcase_add_test(tc, equal_names_are_two_nodes);
  tcase_add_test(tc, long_texts_are_cut);
  tcase_add_loop_test(tc, empty_module, 0, 2);
  tcase_add_loop_test(tc, same_bytes_each_time, 0, NUM_SAMPLES);
  tcase_add_test(tc, write_errors_are_kept);
  tcase_add_loop_test(tc, scopes_are_frames, 0, NUM_SCOPES);
  suite_add_tcase(suite, tc);
  if (has_dot_program()) suite_add_tcase(suite, program_case());
  return run_suite(suite);
}
