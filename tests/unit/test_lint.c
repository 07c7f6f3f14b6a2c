#include "analysis/lint/lint.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/handle.h"
#include "support.h"

/* In front of each entry's instructions. */
#define COMPS                                                                                  \
  "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"           \
  "neg { a = f32[] parameter(0) ROOT n = f32[] negate(a) }\n"                                  \
  "less { a = f32[] parameter(0) b = f32[] parameter(1)\n"                                     \
  " ROOT l = pred[] compare(a, b), direction=LT }\n"                                           \
  "vadd { a = f32[8] parameter(0) b = f32[8] parameter(1) ROOT s = f32[8] add(a, b) }\n"       \
  "vneg { a = f32[8] parameter(0) ROOT n = f32[8] negate(a) }\n"                               \
  "wneg { a = f32[8] parameter(0) ROOT n = f32[8] negate(a) }\n"                               \
  "vabs { a = f32[8] parameter(0) ROOT n = f32[8] abs(a) }\n"                                  \
  "two { a = f32[8] parameter(0) n = f32[8] negate(a) ROOT m = f32[8] negate(n) }\n"           \
  "lazy { a = f32[8] parameter(0) n = f32[8] negate(a) ROOT m = f32[8] abs(a) }\n"             \
  "busy { a = f32[8] parameter(0) ROOT n = f32[8] negate(a)\n"                                 \
  " m = f32[8] custom-call(n), custom_call_target=\"c\", custom_call_has_side_effect=true }\n" \
  "far { a = f32[8] parameter(0) ROOT n = f32[8] negate(a) }, execution_thread=\"far\"\n"      \
  "ENTRY e {\n p = f32[8] parameter(0)\n q = f32[4,8] parameter(1)\n i = s32[] parameter(2)\n" \
  " z = f32[] constant(0)\n l = s8[] constant(0)\n h = bf16[8] parameter(3)\n"                 \
  " t = token[] after-all()\n k = s8[8] parameter(4)\n u = u32[] parameter(5)\n "

#define HEADER "HloModule m\n"

/* Buffers: `m` is one of `p`. */
#define WHOLE "output_to_operand_aliasing={{}: (0, {})}"
#define PIN "m = b(f32[8]) custom-call(p), custom_call_target=\"Pin\", " WHOLE "\n "
#define UNPIN(of) " x = f32[8] custom-call(" of "), custom_call_target=\"Unpin\""

typedef struct Case {
  const char *header; /* NULL = HEADER */
  const char *body;   /* behind COMPS */
  const char *rule, *says;
} Case;

/* ---- what is right ---- */

static const char *const right[] = {
    "x = f32[8] add(p, p)",
    "x = f32[8]{0:T(128)} negate(p)",
    "x = pred[8] compare(p, p), direction=LT, type=TOTALORDER",
    "x = f32[8] clamp(z, p, z)",
    "x = f32[4,8] broadcast(p), dimensions={1}",
    "x = f32[8] convert(k)",
    "x = s8[8,4] bitcast-convert(p)",
    "y = s8[8,4] bitcast-convert(p)\n x = f32[8] bitcast-convert(y)",
    "x = f32[3] slice(p), slice={[1:6:2]}",
    "x = f32[1,8] dynamic-slice(q, i, i), dynamic_slice_sizes={1,8}",
    "y = f32[1,8] reshape(p)\n x = f32[4,8] dynamic-update-slice(q, y, i, i)",
    "x = f32[8,4] transpose(q), dimensions={1,0}",
    "x = f32[4] reduce(q, z), dimensions={1}, to_apply=add",
    "x = (f32[4], f32[4]) fusion(), kind=kLoop, calls={ c = f32[4] constant({...})"
    " ROOT r = (f32[4], f32[4]) tuple(c, c) }",
    "x = f32[8] sort(p), dimensions={0}, to_apply=less",
    "x = f32[4,4] dot(q, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "x = bf16[4,4] dot(q, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "x = f32[8] map(p), to_apply=neg",
    "x = f32[8] map(p), dimensions={0}, to_apply=neg",
    "x = s32[3,5] iota(), iota_dimension=1",
    "x = f32[8] rng(z, z), distribution=rng_uniform",
    "x = u64[2] rng-get-and-update-state(), delta=1",
    "x = f32[8] reduce-precision(p), exponent_bits=5, mantissa_bits=10",
    "x = f32[8] all-reduce(p), to_apply=add",
    "x = (f32[8], s8[8]) all-reduce(p, k), to_apply=add",
    "x = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1},{2,3}}",
    "x = f32[4] reduce-scatter(p), dimensions={0}, replica_groups={{1,0}}, to_apply=add",
    "y = (f32[8], f32[16]) all-gather-start(p), dimensions={0}\n x = f32[16] all-gather-done(y)",
    "y = f32[8] all-reduce-start(p), to_apply=add\n x = f32[8] all-reduce-done(y)",
    "y = (f32[8], f32[8], u32[], u32[]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
    " x = f32[8] collective-permute-done(y)",
    "x = f32[8] all-to-all(p), dimensions={0}, replica_groups={{0,1}}",
    "x = (f32[8], f32[8]) all-to-all(p, p), replica_groups={{0,1}}",
    "x = f32[8] collective-permute(p), source_target_pairs={{0,1},{1,0}}",
    "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n x = f32[8] async-done(y)",
    "y = ((), (), u32[]) async-start(), calls=vneg\n v = ((f32[8]), f32[8], u32[]) "
    "async-update(y, p)\n x = f32[8] async-done(v)",
    "y = (f32[8], f32[8], u32[]) copy-start(p)\n x = f32[8] copy-done(y)",
    "y = (f32[8], u32[], token[]) send(p, t), channel_id=1\n x = token[] send-done(y), "
    "channel_id=1",
    "x = f32[8] custom-call(p), custom_call_target=\"c\", output_to_operand_aliasing={{}: (0, {})}",
    "x = f32[8] fusion(p), kind=kLoop, calls=vneg",
    /* what XLA:TPU does */
    "y = bf16[8]{0:T(1024)} copy(p)\n x = f32[8]{0:T(1024)} add(y, p)",
    "y = bf16[8]{0:T(1024)} copy(p)\n x = bf16[9]{0:T(1024)} pad(y, z), padding=0_1",
    "y = bf16[8]{0:T(1024)} copy(p)\n x = f32[8]{0:T(1024)} reverse(y), dimensions={0}",
    "x = bf16[8,1]{1,0:T(8,128)(2,1)} broadcast(p), dimensions={0}",
    "x = f32[8] all-reduce(p), to_apply=add, channel_id=1, use_global_device_ids=true, "
    "replica_groups=mesh['a'=2] {'a'}",
    "x = f32[2,2,2] bitcast(p)",
    "x = f32[8] negate(p), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}",
    "x = f32[8] negate(p), sharding={devices=[2,1,2]<=[4] last_tile_dims={manual, replicated}}",
    "x = f32[8] negate(p), sharding={replicated}",
    "x = f32[8] negate(p), sharding={devices=[1,1,4]<=[4] last_tile_dim_replicate}",
    "x = (f32[8], f32[4,8], token[]) tuple(p, q, t), sharding={{devices=[2]1,0 metadata={op_name=\""
    "}}\"}}, {devices=[2,1]<=[2]}, {maximal device=1}}",
    "x = (f32[8], f32[8]) tuple(p, p), sharding={devices=[2]<=[2]}",
    "x = f32[8] while(p), condition={ c = f32[8] parameter(0), sharding={replicated}\n"
    " ROOT l = pred[] constant(true) }, body={ b = f32[8] parameter(0)\n"
    " ROOT n = f32[8] negate(b), sharding={replicated} }, sharding={devices=[1,2]<=[2] "
    "last_tile_dim_replicate}",
    PIN
    "y = b(f32[8]) custom-call(m), custom_call_target=\"w\", "
    "output_to_operand_aliasing={{}: (0, {})}\n" UNPIN("y") ", " WHOLE,
    PIN
    "y = (b(f32[8]), s32[]) tuple(m, i)\n"
    " v = (s32[], b(f32[8])) custom-call(y), custom_call_target=\"w\", "
    "output_to_operand_aliasing={{1}: (0, {0})}\n"
    " w = b(f32[8]) get-tuple-element(v), index=1\n" UNPIN("w") ", " WHOLE,
    "y = b(f32[8]) custom-call(), custom_call_target=\"CreateBuffer\"\n" UNPIN("y") ", " WHOLE,
    "x = (token[]) custom-call(t), custom_call_target=\"c\"",
    "y = ((f32[8]), f32[8], u32[]) custom-call-start(p), custom_call_target=\"c\", " WHOLE
    "\n x = f32[8] custom-call-done(y)",
    "y = ((f32[8]), f32[8], f32[8]) async-start(p), calls=vneg\n"
    " v = ((f32[8]), f32[8], f32[8]) async-update(y), "
    "output_to_operand_aliasing={{2}: (0, {2})}\n x = f32[8] async-done(v)",
    "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n"
    " v = ((f32[8]), f32[8], u32[]) custom-call(y), custom_call_target=\"Sharding\"\n"
    " x = f32[8] async-done(v)",
    "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n"
    " v = (((f32[8]), f32[8], u32[])) tuple(y)\n"
    " w = ((f32[8]), f32[8], u32[]) get-tuple-element(v), index=0\n x = f32[8] async-done(w)",
    "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n"
    " v = (((f32[8]), f32[8], u32[])) tuple(y)\n"
    " w = (((f32[8]), f32[8], u32[])) while(v), condition={ c = (((f32[8]), f32[8], u32[])) "
    "parameter(0) ROOT l = pred[] constant(true) }, body={\n"
    " s = (((f32[8]), f32[8], u32[])) parameter(0)\n"
    " g = ((f32[8]), f32[8], u32[]) get-tuple-element(s), index=0\n"
    " d = f32[8] async-done(g), calls=vneg\n"
    " a = ((f32[8]), f32[8], u32[]) async-start(d), calls=vneg\n"
    " ROOT r = (((f32[8]), f32[8], u32[])) tuple(a) }\n"
    " g = ((f32[8]), f32[8], u32[]) get-tuple-element(w), index=0\n"
    " x = f32[8] async-done(g), calls=vneg",
    "x = f32[8] call(p), to_apply=vneg, is_composite=true, "
    "frontend_attributes={other=\"composite.name=\",composite.attributes={a = \"}\"},"
    "composite.name=\"n\",composite.version=\"3\"}",
    "x = u64[] custom-call(), custom_call_target=\"GetRngSeed\"",
    "x = (f32[4], s8[4]) reduce-window(p, k, z, l), window={size=2 stride=2}, to_apply={\n"
    " a = f32[] parameter(0) b = s8[] parameter(1) c = f32[] parameter(2) d = s8[] parameter(3)\n"
    " ROOT r = (f32[], s8[]) tuple(c, d) }",
    "y = f32[1,4] slice(q), slice={[0:1], [0:8:2]}\n x = f32[4,4] scaled-dot(q, q, y, y), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "y = bf16[] constant(1)\n v = bf16[4,8] convert(q)\n w = bf16[1,1] constant({{1}})\n"
    " x = f32[4,4] scaled-dot(v, v, w, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "y = (s32[], s32[]) tuple(i, i)\n v = ((s32[], s32[]), (s32[], s32[])) tuple(y, y)\n"
    " x = f32[4,8] collective-permute(q, q, v, v), source_target_pairs={{0,1},{0,2}}, "
    "slice_sizes={{1,8},{1,8}}",
    "y = (s32[]) tuple(i)\n v = (f32[8]) tuple(p)\n w = ((s32[])) tuple(y)\n"
    " m = (((s32[]))) tuple(w)\n"
    " o = ((f32[8]), (f32[8]), u32[]) collective-permute-start(v, v, m, m), "
    "source_target_pairs={{0,1},{1,2}}, slice_sizes={{1}}\n"
    " x = (f32[8]) collective-permute-done(o)",
    "y = f32[4,8]{1,0:S(5)} copy(q)\n x = (f32[4,8], f32[4,8]) all-to-all(q, y), "
    "replica_groups={{0,1}}",
    "x = (f32[8], (s8[8], u32[])) custom-call(), custom_call_target=\"c\", "
    "origin={({\"a,(\"}, ({}, {\"b\" {1}}))}",
    "x = f32[8] negate(p), origin={{\"n\"}}",
    "y = f32[8] all-reduce-start(p), channel_id=0, to_apply=add\n x = f32[8] all-reduce-done(y)",
    "y = token[] outfeed(p, t), outfeed_shape=f32[8]\n x = (f32[8], token[]) infeed(y)",
};

/* The module, checked to parse, and its findings. */
typedef struct Found {
  char *text;
  rh_module *module;
  rh_diags *diags;
  rh_status status;
  uint64_t count;
} Found;

static Found lint_text(const char *header, const char *body, const rh_lint_options *options) {
  Arena *arena = arena_new(NULL);
  const char *text = arena_printf(arena, "%s%s%s }", header, COMPS, body);
  Found found = {.text = strdup(text), .diags = rh_diags_new()};
  arena_free(arena);
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_parse(found.text, strlen(found.text), NULL, &found.module, diags);
  ck_assert_msg(status == RH_OK, "%s: %s", body,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "no message");
  rh_diags_free(diags);
  found.status = rh_lint(found.module, options, &found.count, found.diags);
  return found;
}

static void found_free(Found *found) {
  rh_module_free(found->module);
  rh_diags_free(found->diags);
  free(found->text);
}

START_TEST(what_is_right_has_no_finding) {
  static const char *const headers[] = {HEADER, "HloModule m, is_scheduled=true\n"};
  for (int i = 0; i < 2; i++) {
    Found found = lint_text(headers[i], right[_i], NULL);
    ck_assert_msg(found.count == 0, "%s: %s", right[_i],
                  found.count ? rh_diags_get(found.diags, 0)->message : "");
    ck_assert_int_eq(found.status, RH_OK);
    ck_assert_uint_eq(rh_diags_len(found.diags), 0);
    found_free(&found);
  }
}
END_TEST

/* ---- what is wrong ---- */

#define TABLES(locations, frames)                                                     \
  "HloModule m\nFileNames 1 \"a.py\" FunctionNames 1 \"f\"\nFileLocations " locations \
  "\nStackFrames " frames "\n"
#define LOCATION "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}"
#define FRAME "1 {file_location_id=1 parent_frame_id=1}"

static const Case wrong[] = {
    /* called-computation */
    {NULL, "x = f32[4] reduce(q, z), dimensions={1}, to_apply=neg", "called-computation",
     "takes 1 parameters"},
    {NULL, "x = f32[4] reduce(q, z), dimensions={1}, to_apply=less", "called-computation",
     "returns pred[]"},
    {NULL, "x = f32[8] all-reduce(p), to_apply=neg", "called-computation", "not two"},
    {NULL, "x = f32[8] all-reduce(p), to_apply=vadd", "called-computation", "not a scalar"},
    {NULL, "x = f32[8] sort(p), dimensions={0}, to_apply=add", "called-computation", "not pred[]"},
    {NULL, "x = s8[8] sort(k), dimensions={0}, to_apply=less", "called-computation",
     "parameter 0 of its computation is f32[], operand 0 s8[8]"},
    {NULL, "x = (f32[8], f32[8]) sort(p, p), dimensions={0}, to_apply=less", "called-computation",
     "not two for each of 2 operands"},
    {NULL, "x = f32[8] select-and-scatter(p, p, z), window={size=1}, select=less, scatter=neg",
     "called-computation", "takes 1 parameters"},
    /* api-version */
    {NULL,
     "x = f32[8] custom-call(p), custom_call_target=\"c\", api_version=API_VERSION_UNSPECIFIED",
     "api-version", "its parser refuses it"},
    /* composite-call */
    {NULL, "x = f32[8] call(p), to_apply=vneg, is_composite=true", "composite-call",
     "expected a composite.name"},
    {NULL,
     "x = f32[8] call(p), to_apply=vneg, is_composite=true, "
     "frontend_attributes={composite.name=\"\"}",
     "composite-call", "expected a composite.name"},
    {NULL,
     "x = f32[8] call(p), to_apply=vneg, is_composite=true, "
     "frontend_attributes={composite.name=\"n\",composite.attributes=\"\"}",
     "composite-call", "composite.attributes is empty"},
    {NULL,
     "x = f32[8] call(p), to_apply=vneg, is_composite=true, "
     "frontend_attributes={composite.name=\"n\",composite.version=\"one\"}",
     "composite-call", "composite.version is one, expected a whole number"},
    /* fusion */
    {NULL,
     "y = f32[8] fusion(p), kind=kLoop, calls=vneg\n x = f32[8] fusion(p), kind=kLoop, "
     "calls=vneg",
     "fusion", "its computation is that of 'y' too"},
    {NULL, "x = f32[8] fusion(p), kind=kLoop, calls=lazy", "fusion", "'n': nobody in the fusion"},
    {NULL, "x = f32[8] fusion(p), kind=kLoop, calls=busy", "fusion", "'n': the root of a fusion"},
    {NULL, "x = f32[8] fusion(p), kind=kLoop, calls=far", "execution-thread", "thread 'main'"},
    /* operand-count, operand-shape */
    {NULL, "x = () sort(), dimensions={0}, to_apply=less", "operand-count", "no operands"},
    {NULL, "x = f32[8] ragged-all-to-all(p, p)", "operand-count", "2 operands, not 6"},
    {NULL, "x = f32[8] all-to-all(p, p), dimensions={0}", "operand-count", "splits one operand"},
    {NULL, "x = f32[12] concatenate(p, q), dimensions={0}", "operand-shape", ""},
    {NULL, "x = f32[8] add(p, k)", "operand-shape", ""},
    {NULL, "x = f32[8] popcnt(p)", "operand-shape", "element type f32"},
    {NULL, "x = f32[4] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "operand-shape", "differ in size"},
    {NULL, "x = f32[9] slice(p), slice={[0:9]}", "operand-shape", "[0:9:1] is no slice"},
    {NULL, "x = f32[5,8] dynamic-slice(q, i, i), dynamic_slice_sizes={5,8}", "operand-shape",
     "a slice of size 5 is not in dimension 0"},
    {NULL, "x = f32[4,8] dynamic-slice(q, z, z), dynamic_slice_sizes={4,8}", "operand-shape",
     "no start index"},
    {NULL,
     "y = s8[4,8] broadcast(k), dimensions={1}\n x = f32[4,8] dynamic-update-slice(q, y, i, "
     "i)",
     "operand-shape", "is no part of"},
    {NULL, "x = f32[4,8] broadcast(p), dimensions={0}", "operand-shape", "is not dimension 0"},
    {NULL, "x = f32[4,8] broadcast(p), dimensions={}", "operand-shape", "0 dimensions"},
    {NULL, "x = s32[3] iota(), iota_dimension=1", "operand-shape", "no dimension 1"},
    {NULL, "x = pred[3] iota(), iota_dimension=0", "operand-shape", "counts in pred"},
    {NULL, "x = f32[8] rng(z, i), distribution=rng_uniform", "operand-shape", "two scalars"},
    {NULL, "x = f32[8] rng(z), distribution=rng_uniform", "operand-shape", "two operands"},
    {NULL, "x = s32[8] rng(i, i), distribution=rng_normal", "operand-shape",
     "no such distribution"},
    {NULL, "x = f32[8] reduce-precision(p), exponent_bits=0, mantissa_bits=1", "operand-shape",
     "exponent bit"},
    {NULL, "x = c64[4] bitcast-convert(p)", "operand-shape", "are no bits of"},
    {NULL, "x = f32[8] bitcast-convert(k)", "operand-shape", "4 elements of s8[8]"},
    {NULL, "x = f32[8] stochastic-convert(p, k)", "operand-shape", "random bits"},
    {NULL, "x = token[] outfeed(p, z), outfeed_shape=f32[8]", "operand-shape", "not a token"},
    {NULL, "x = token[] outfeed(p, t), outfeed_shape=f32[9]", "operand-shape", "outfeed_shape is"},
    {NULL, "x = f32[8] sort(p), dimensions={1}, to_apply=less", "operand-shape", "no dimension 1"},
    {NULL, "y = (f32[8]) tuple(p)\n x = (f32[8]) all-reduce(y), to_apply=add", "operand-shape",
     "not an array"},
    {NULL,
     "x = f32[8] rng-bit-generator(u), algorithm=rng_default\n y = (f32[8], f32[8]) "
     "rng-bit-generator(u), algorithm=rng_default",
     "operand-shape", "its state"},
    {NULL, "x = u64[] custom-call(p), custom_call_target=\"GetRngSeed\"", "operand-count",
     "1 operands, expected none"},
    {NULL,
     "x = (f32[4], s8[4]) reduce-window(p, l, z, l), window={size=2 stride=2}, to_apply={\n"
     " a = f32[] parameter(0) b = s8[] parameter(1) c = f32[] parameter(2) d = s8[] parameter(3)\n"
     " ROOT r = (f32[], s8[]) tuple(c, d) }",
     "operand-shape", "operand 0 is f32[8], operand 1 is s8[]"},
    {NULL,
     "y = f32[1,3] slice(q), slice={[0:1], [0:3]}\n x = f32[4,4] scaled-dot(q, q, y, y), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "operand-shape", "operand 2, f32[1,3], does not scale operand 0"},
    {NULL,
     "y = bf16[] constant(1)\n v = bf16[4,8] convert(q)\n x = f32[4,4] scaled-dot(v, v, y, y), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "operand-shape", "both of its scales are scalars"},
    {NULL,
     "y = f32[8,4] transpose(q), dimensions={1,0}\n v = f32[4,8]{0,1} bitcast(y)\n"
     " x = (f32[4,8], f32[4,8]{0,1}) all-to-all(q, v), replica_groups={{0,1}}",
     "operand-shape", "operand 0 is f32[4,8]{1,0}, operand 1 is f32[4,8]{0,1}"},
    {NULL,
     "y = (f32[8]) tuple(p)\n v = (s32[]) tuple(i)\n x = (f32[8]) collective-permute(p, y, v, v), "
     "source_target_pairs={{0,1}}, slice_sizes={{1}}",
     "operand-shape", "operand 0 is f32[8], operand 1 is (f32[8])"},
    {NULL,
     "v = (s32[]) tuple(i)\n x = f32[4,8] collective-permute(q, q, v, v), "
     "source_target_pairs={{0,1}}, slice_sizes={{1,8}}",
     "operand-shape", "operand 2, (s32[]), has no offsets into operand 0, f32[4,8]"},
    {NULL, "x = f32[8] all-to-all(p), dimensions={1}", "operand-shape",
     "f32[8] has no dimension 1 to split"},
    /* result-shape */
    {NULL, "y = (f32[8], f32[8], s32[]) copy-start(p)\n x = f32[8] copy-done(y)", "result-shape",
     "its operands give (f32[8], f32[8], u32[])"},
    {NULL, "x = u32[] custom-call(), custom_call_target=\"GetRngSeed\"", "result-shape",
     "expected u64[]"},
    {NULL,
     "x = (f32[3], s8[3]) reduce-window(p, k, z, l), window={size=2 stride=2}, to_apply={\n"
     " a = f32[] parameter(0) b = s8[] parameter(1) c = f32[] parameter(2) d = s8[] parameter(3)\n"
     " ROOT r = (f32[], s8[]) tuple(c, d) }",
     "result-shape", "its operands give (f32[4], s8[4])"},
    {NULL,
     "v = (s32[]) tuple(i)\n x = f32[9] collective-permute(p, p, v, v), "
     "source_target_pairs={{0,1}}, slice_sizes={{1}}",
     "result-shape", "it makes f32[9] of operand 1, f32[8]"},
    {NULL, "x = f32[9] add(p, p)", "implicit-broadcast", "its shape is f32[9], operand 0 is"},
    {NULL, "x = s32[8] add(p, p)", "result-shape", "f32[8]"},
    {NULL, "x = f32[8,4] transpose(q), dimensions={0,1}", "result-shape", "f32[4,8]"},
    {NULL, "x = f32[8] reduce(q, z), dimensions={1}, to_apply=add", "result-shape", "f32[4]"},
    {NULL, "x = f32[4] slice(p), slice={[1:6:2]}", "result-shape", "f32[3]"},
    {NULL, "x = f32[9] convert(k)", "result-shape", "f32[8]"},
    {NULL, "x = u32[2] rng-get-and-update-state(), delta=1", "result-shape", "u64[2]"},
    {NULL, "x = s32[8] reshape(p)", "result-shape", "f32[8]"},
    {NULL, "x = f32[9] all-reduce(p), to_apply=add", "result-shape", "of operand 0, f32[8]"},
    {NULL, "x = f32[17] all-gather(p), dimensions={0}", "result-shape", "f32[17]"},
    {NULL, "x = f32[3] reduce-scatter(p), dimensions={0}, to_apply=add", "result-shape", "f32[3]"},
    {NULL, "x = f32[8] all-to-all(p), replica_groups={{0}}", "result-shape", "f32[8]"},
    {NULL, "x = f32[9] collective-permute(p), source_target_pairs={{0,1}}", "result-shape", ""},
    {NULL, "y = f32[8] all-reduce-start(p), to_apply=add\n x = f32[9] all-reduce-done(y)",
     "result-shape", "its operand gives f32[8]"},
    /* the others about types and layouts */
    {NULL, "x = f32[8] add(p, z)", "implicit-broadcast", "operand 1 is f32[]"},
    {NULL, "x = f32[8] add(p, h)", "mixed-precision", "operand 1 of bf16"},
    {NULL,
     "y = bf16[] constant(0)\n x = bf16[4] reduce-window(p, y), window={size=2 stride=2}, "
     "to_apply=add",
     "mixed-precision", ""},
    {NULL, "x = f32[8] map(h), dimensions={0}, to_apply=neg", "mixed-precision",
     "parameter 0 of its computation is of type f32, operand 0 of bf16"},
    {NULL, "x = bf16[8] negate(p)", "mixed-precision", "its shape is bf16[8]"},
    {NULL, "x = pred[8] compare(p, p), direction=LT, type=SIGNED", "compare-type", "type=SIGNED"},
    {NULL, "x = f32[4,8]{1,1} negate(q)", "layout", "no permutation"},
    {"HloModule m, is_scheduled=true\n", "x = f32[2,3] bitcast(p)", "bitcast-size",
     "24 bytes, its operand has 32"},
    {NULL,
     "x = f32[8] custom-call(p), custom_call_target=\"c\", output_to_operand_aliasing={{}: (1,"
     " {})}",
     "output-to-operand-aliasing", "none of number 1"},
    {NULL,
     "x = f32[8] custom-call(k), custom_call_target=\"c\", output_to_operand_aliasing={{}: (0,"
     " {})}",
     "output-to-operand-aliasing", "shares the memory of"},
    {NULL,
     "x = f32[8] custom-call(p), custom_call_target=\"c\", output_to_operand_aliasing={{1}: "
     "(0, {})}",
     "output-to-operand-aliasing", "its result, f32[8], has no element"},
    {NULL,
     "m = b(f32[8]) custom-call(p), custom_call_target=\"w\", "
     "output_to_operand_aliasing={{}: (0, {})}\n" UNPIN("m") ", " WHOLE,
     "output-to-operand-aliasing", "an output, b(f32[8]), shares the memory of an operand, f32[8]"},
    {NULL,
     "y = ((f32[8]), f32[8], f32[8]) async-start(p), calls=vneg\n"
     " v = ((f32[8]), f32[8], f32[8]) async-update(y), "
     "output_to_operand_aliasing={{2}: (0, {1})}\n x = f32[8] async-done(v)",
     "output-to-operand-aliasing", "expected pairs of element {2}"},
    {NULL, "x = f32[8] negate(p), sharding={devices=[2,2]0,1,2,3}", "sharding", "for rank 2"},
    {NULL, "x = f32[4,8] negate(q), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}",
     "sharding", "for rank 1"},
    {NULL, "x = f32[8] negate(p), sharding={{replicated}}", "sharding", "is that of a tuple"},
    {NULL, "x = (f32[8], f32[8]) tuple(p, p), sharding={{replicated}}", "sharding",
     "has 1 elements, its shape has 2 arrays"},
    {NULL, "x = (f32[8], f32[4,8]) tuple(p, q), sharding={devices=[2]0,1}", "sharding",
     "for rank 1, its shape is f32[4,8]"},
    {NULL, "x = f32[4,8] negate(q), sharding={devices=[2,2]0,1,2,1}", "sharding",
     "names a device twice"},
    {NULL, "x = f32[8] negate(p), sharding={maximal device=-1}", "sharding", "negative device"},
    {"HloModule m, num_partitions=2\n", "x = f32[8] negate(p), sharding={maximal device=2}",
     "sharding", "that the module does not have"},
    {"HloModule m, num_partitions=4\n", "x = f32[8] negate(p), sharding={devices=[2]<=[2]}",
     "sharding", "is for 2 devices, the module has 4"},
    {NULL,
     "x = f32[8] while(p), condition={ c = f32[8] parameter(0), sharding={maximal device=0}\n"
     " ROOT l = pred[] constant(true) }, body={ b = f32[8] parameter(0), sharding={replicated}\n"
     " ROOT n = f32[8] negate(b) }",
     "sharding", "'x': the shardings of 'b' and 'c' differ"},
    {NULL,
     "y = pred[] constant(true)\n x = f32[8] conditional(y, p, p), true_computation={\n"
     " a = f32[8] parameter(0), sharding={manual}\n"
     " ROOT b = f32[8] negate(a), sharding={devices=[2]0,1} }, false_computation={\n"
     " c = f32[8] parameter(0) ROOT d = f32[8] negate(c), sharding={devices=[2]1,0} }",
     "sharding", "'x': the shardings of 'b' and 'd' differ"},
    /* buffer */
    {NULL, "m = b(f32[8]) custom-call(p), custom_call_target=\"Pin\"\n" UNPIN("m") ", " WHOLE,
     "buffer", "'m': expected output_to_operand_aliasing with one pair"},
    {NULL,
     PIN UNPIN("m") ", " WHOLE "\n y = f32[8] custom-call(m), custom_call_target=\"Unpin\", " WHOLE,
     "buffer", "'m': a buffer in its result has several writers"},
    {NULL, "x = f32[8] custom-call(p), custom_call_target=\"Unpin\", " WHOLE, "buffer",
     "expected a buffer as its operand"},
    {NULL, "m = f32[8] custom-call(p), custom_call_target=\"Pin\", " WHOLE, "buffer",
     "expected the buffer of its operand, f32[8], as its result, found f32[8]"},
    {NULL, "x = f32[8] custom-call(), custom_call_target=\"CreateBuffer\"", "buffer",
     "expected a buffer as its result"},
    {NULL, PIN "x = f32[8] custom-call(m), custom_call_target=\"r\"", "buffer",
     "a buffer in its operand, b(f32[8]), is in output_to_operand_aliasing nowhere"},
    {NULL, "x = b(f32[8]) custom-call(p), custom_call_target=\"r\"", "buffer",
     "a buffer in its result, b(f32[8]), is in output_to_operand_aliasing nowhere"},
    {NULL,
     PIN "x = (b(f32[8]), b(f32[8])) custom-call(m), custom_call_target=\"r\", "
         "output_to_operand_aliasing={{0}: (0, {}), {1}: (0, {})}",
     "buffer", "is in output_to_operand_aliasing several times"},
    {NULL, PIN "x = (b(f32[8])) opt-barrier((b(f32[8])) tuple(m))", "buffer",
     "operand 0 is (b(f32[8])), expected no buffers"},
    {NULL, "x = b(f32[8]) parameter(6)", "buffer", "its shape is b(f32[8]), expected no buffers"},
    /* origin */
    {NULL, "x = f32[8] negate(p), origin={({\"n\"})}", "origin",
     "does not name each array of its shape, f32[8]"},
    {NULL, "x = (f32[8], f32[8]) tuple(p, p), origin={({\"n\"})}", "origin", ""},
    {NULL, "x = (f32[8], (s8[8])) custom-call(), custom_call_target=\"c\", origin={({}, {})}",
     "origin", ""},
    /* devices */
    {NULL, "x = f32[8] all-reduce(p), replica_groups={{0,1},{1,2}}, to_apply=add", "replica-groups",
     "device 1 is in its groups twice"},
    {NULL, "x = f32[8] all-reduce(p), replica_groups={{0,-1}}, to_apply=add", "replica-groups",
     "device -1 is negative"},
    {NULL, "x = f32[8] all-reduce(p), replica_groups={{0,4}}, to_apply=add", "replica-groups",
     "device 4 is too large"},
    {NULL, "x = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1},{2}}",
     "replica-groups", "not of the same size"},
    {NULL, "x = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1,2,3}}",
     "replica-groups", "have 4 devices, its shapes are for 2"},
    {NULL,
     "x = f32[8] all-reduce(p), replica_groups={}, channel_id=1, use_global_device_ids=true, "
     "to_apply=add",
     "replica-groups", "wants groups"},
    {"HloModule m, replica_count=4\n",
     "x = f32[8] all-reduce(p), replica_groups={{0,1}}, "
     "to_apply=add",
     "replica-groups", "the module has 4"},
    {NULL, "x = (f32[8], f32[8]) all-to-all(p, p), replica_groups={{0,1,2,3}}", "replica-groups",
     "2 operands for groups of 4"},
    {NULL, "x = f32[8] all-reduce(p), replica_groups={{0},{ },{1}}, to_apply=add", "replica-groups",
     "one of its groups is empty"},
    {NULL, "x = f32[8] all-to-all(p), dimensions={0}, replica_groups={{0,1,2}}", "replica-groups",
     "splits a dimension of 8 for groups of 3"},
    {NULL, "x = f32[8] collective-permute(p), source_target_pairs={{0,1},{0,2}}",
     "source-target-pairs", "device 0 is a source 2 times, expected 1 at most"},
    {NULL, "x = f32[8] collective-permute(p), source_target_pairs={{0,1},{2,1}}",
     "source-target-pairs", "device 1 is a target 2 times"},
    {"HloModule m, replica_count=2\n",
     "x = f32[8] collective-permute(p), "
     "source_target_pairs={{0,2}}",
     "source-target-pairs", "no device 2"},
    {NULL,
     "y = (s32[], s32[]) tuple(i, i)\n v = ((s32[], s32[]), (s32[], s32[])) tuple(y, y)\n"
     " x = f32[4,8] collective-permute(q, q, v, v), source_target_pairs={{0,1},{0,2},{0,3}}, "
     "slice_sizes={{1,8},{1,8}}",
     "source-target-pairs", "device 0 is a source 3 times, expected 2 at most"},
    {NULL, "x = f32[8] all-reduce(p), channel_id=0, to_apply=add", "channel", "is positive"},
    {NULL,
     "y = (f32[8], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n"
     " x = token[] send-done(y), channel_id=1",
     "channel", "is_host_transfer"},
    {NULL,
     "y = (f32[8], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n"
     " v = token[] send-done(y), channel_id=1, is_host_transfer=true\n"
     " w = (f32[], u32[], token[]) send(z, t), channel_id=1, is_host_transfer=true\n"
     " x = token[] send-done(w), channel_id=1, is_host_transfer=true",
     "channel", "'w': it has channel_id 1 and is another transfer than 'y'"},
    {NULL,
     "y = f32[8] all-reduce(p), constrain_layout=true, to_apply=add\n"
     " x = f32[8] all-reduce(p), to_apply=add",
     "constrain-layout", "false here"},
    /* asynchronous */
    {NULL, "x = (f32[8], f32[8], u32[]) copy-start(p)", "async-pair", "done nowhere"},
    {NULL,
     "x = (f32[8], f32[8], u32[]) copy-start(p)\n y = f32[8] copy-done(x)\n v = f32[8] "
     "copy-done(x)",
     "async-pair", "done several times"},
    {NULL,
     "y = (f32[8], f32[8], u32[]) copy-start(p)\n"
     " v = (f32[8], f32[8], u32[]) custom-call(y), custom_call_target=\"c\"",
     "async-pair", "'v' reads it, which is no copy-done"},
    {NULL, "x = (f32[8], f32[8], u32[]) tuple(p, p, u)\n y = f32[8] copy-done(x)", "async-pair",
     "its operand 'x' is no copy-start"},
    {NULL, "x = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg", "async-pair",
     "done nowhere"},
    {NULL,
     "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n x = f32[8] async-done(y)\n"
     " v = f32[8] async-done(y)",
     "async-pair", "'v': 'y' is done by 'x' already"},
    {NULL,
     "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n"
     " v = (((f32[8]), f32[8], u32[])) tuple(y)\n"
     " w = (((f32[8]), f32[8], u32[])) while(v), condition={ c = (((f32[8]), f32[8], u32[])) "
     "parameter(0) ROOT l = pred[] constant(true) }, body={\n"
     " s = (((f32[8]), f32[8], u32[])) parameter(0)\n"
     " g = ((f32[8]), f32[8], u32[]) get-tuple-element(s), index=0\n"
     " d = f32[8] async-done(g), calls=vabs\n"
     " a = ((f32[8]), f32[8], u32[]) async-start(d), calls=vabs\n"
     " ROOT r = (((f32[8]), f32[8], u32[])) tuple(a) }\n"
     " g = ((f32[8]), f32[8], u32[]) get-tuple-element(w), index=0\n"
     " x = f32[8] async-done(g), calls=vabs",
     "async-pair", "'d': it calls another computation than 'y'"},
    {NULL, "y = ((f32[8]), f32[9], u32[]) async-start(p), calls=vneg\n x = f32[8] async-done(y)",
     "async-shape", "its computation returns f32[8]"},
    {NULL, "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=vneg\n x = f32[9] async-done(y)",
     "async-shape", "its shape is f32[9]"},
    {NULL, "y = ((), (), u32[]) async-start(), calls=vneg\n x = f32[8] async-done(y)",
     "async-shape", "only 0 of 1 operands"},
    {NULL,
     "y = ((), (), u32[]) async-start(), calls=vneg\n v = ((f32[8]), f32[8], u32[]) "
     "async-update(y)\n x = f32[8] async-done(v)",
     "async-shape", "does not have the operands of 'y' and its own"},
    {NULL, "y = ((f32[8]), f32[8], u32[]) async-start(p), calls=two\n x = f32[8] async-done(y)",
     "async-computation", "1 instructions of its computation"},
    /* the header */
    {"HloModule m, entry_computation_layout={()->u32[]}\n", "", "entry-layout",
     "has 0 parameters, the entry computation 6"},
    {"HloModule m, entry_computation_layout={(f32[9], f32[4,8], s32[], bf16[8], s8[8], u32[])->"
     "u32[]}\n",
     "", "entry-layout", "'p': parameter 0 is f32[8]"},
    {"HloModule m, entry_computation_layout={(f32[8], f32[4,8], s32[], bf16[8], s8[8], u32[])->"
     "f32[]}\n",
     "", "entry-layout", "the entry returns u32[]"},
    {"HloModule m, input_output_alias={ {}: (9, {}) }\n", "", "input-output-alias",
     "none of number 9"},
    {"HloModule m, input_output_alias={ {}: (5, {1}) }\n", "", "input-output-alias",
     "no element of this index"},
    {"HloModule m, input_output_alias={ {}: (0, {}) }\n", "", "input-output-alias",
     "not of the same size"},
    {"HloModule m, input_output_alias={ {}: (2, {}, must-alias) }\n", "", "input-output-alias",
     "must be in the memory"},
    {"HloModule m, input_output_alias={ {}: (0, {}, must-alias) }, entry_computation_layout={"
     "(f32[8]{0:S(5)}, f32[4,8], s32[], bf16[8], s8[8], u32[])->f32[8]}\n",
     "ROOT x = f32[8] negate(p)", "input-output-alias",
     "an output, f32[8]{0}, must be in the memory of a parameter, f32[8]{0:S(5)}"},
    {"HloModule m, input_output_alias={ {0}: (0, {}), {1}: (0, {}) }\n",
     "ROOT x = (f32[8], f32[8]) tuple(p, p)", "input-output-alias", "aliased twice"},
    {"HloModule m, buffer_donor={ (9, {}) }\n", "", "buffer-donor", "none of number 9"},
    {"HloModule m, input_output_alias={ {}: (5, {}) }, buffer_donor={ (5, {}) }\n", "",
     "buffer-donor", "both aliased and donated"},
    {TABLES(LOCATION, "1 {file_location_id=2 parent_frame_id=1}"), "", "stack-frame",
     "no file location 2"},
    {TABLES(LOCATION, "1 {file_location_id=1 parent_frame_id=3}"), "", "stack-frame",
     "no stack frame 2 for a parent"},
    {TABLES(LOCATION,
            "1 {file_location_id=1 parent_frame_id=3} 2 {file_location_id=1 "
            "parent_frame_id=2}"),
     "", "stack-frame", "is among its own parents"},
    {TABLES("1 {file_name_id=2 function_name_id=1 line=1 end_line=1 column=1 end_column=1}", FRAME),
     "", "stack-frame", "no file name 2"},
    {TABLES("1 {file_name_id=1 function_name_id=7 line=1 end_line=1 column=1 end_column=1}", FRAME),
     "", "stack-frame", "no function name 7"},
    {TABLES(LOCATION, FRAME), "x = f32[8] negate(p), metadata={stack_frame_id=2}", "stack-frame",
     "no stack frame 2, the table has 1"},
    {NULL, "x = f32[8] negate(p), metadata={stack_frame_id=2}", "stack-frame", "no table of them"},
};

START_TEST(what_is_wrong_is_found) {
  const Case *row = &wrong[_i];
  Found found = lint_text(row->header ? row->header : HEADER, row->body, NULL);
  ck_assert_msg(found.count == 1, "%s: %d findings, second: %s", row->body, (int)found.count,
                found.count > 1 ? rh_diags_get(found.diags, 1)->message : "");
  rh_diag diag = *rh_diags_get(found.diags, 0);
  ck_assert_msg(diag.rule && strcmp(diag.rule, row->rule) == 0 && strstr(diag.message, row->says),
                "%s%s: %s [%s]", row->header ? row->header : "", row->body, diag.message,
                diag.rule ? diag.rule : "no rule");
  ck_assert_int_eq(diag.severity, RH_SEVERITY_WARNING);
  ck_assert_int_eq(found.status, RH_OK);
  ck_assert(diag.offset < strlen(found.text));
  found_free(&found);
}
END_TEST

/* What XLA:TPU has extracted for the SparseCore has the header of the whole module. */
START_TEST(extracted_modules_keep_their_header) {
  static const char *const headers[] = {
      "HloModule extracted, entry_computation_layout={(f32[3])->f32[3]}\n",
      "HloModule other, entry_computation_layout={(f32[3])->f32[3]}\n"};
  for (size_t i = 0; i < 2; i++) {
    Found found = lint_text(
        headers[i], "x = f32[8]{0:T(1024)} negate(p), metadata={op_name=\"a\" stack_frame_id=3}",
        NULL);
    ck_assert_msg((found.count == 0) == (i == 0), "%s: %d", headers[i], (int)found.count);
    found_free(&found);
  }
}
END_TEST

START_TEST(each_rule_has_a_case) {
  const rh_entry *entry;
  for (size_t i = 0; (entry = rh_list(RH_LINT_RULES, i)); i++) {
    ck_assert_str_eq(entry->name, lint_rule_name((LintRule)i));
    bool is_there = i == LINT_SCHEDULE; /* the parser lets no such text pass */
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
      is_there |= strcmp(wrong[k].rule, entry->name) == 0;
    ck_assert_msg(is_there, "%s", entry->name);
  }
}
END_TEST

/* ---- places ---- */

START_TEST(places_are_those_of_the_text) {
  Found found =
      lint_text(HEADER, "x = f32[8] add(p, z)\n y = f32[8] all-reduce(p), to_apply=neg", NULL);
  ck_assert_uint_eq(found.count, 2);
  rh_diag diag = *rh_diags_get(found.diags, 0);
  ck_assert_int_eq(strncmp(found.text + diag.offset, "z)\n y", 5), 0);
  ck_assert(diag.opener_offset == RH_NO_OFFSET);
  diag = *rh_diags_get(found.diags, 1);
  ck_assert_int_eq(strncmp(found.text + diag.offset, "y = ", 4), 0);
  ck_assert_int_eq(strncmp(found.text + diag.opener_offset, "neg {", 5), 0);
  found_free(&found);
}
END_TEST

/* What is wrong inside of an implied wrapper is shown at the start. */
START_TEST(implied_instructions_have_a_place) {
  Found found = lint_text(
      HEADER, "x = ((f32[8], f32[8]), f32[9], u32[]) add-start(p, p)\n y = f32[9] add-done(x)",
      NULL);
  ck_assert_uint_eq(found.count, 1);
  rh_diag diag = *rh_diags_get(found.diags, 0);
  ck_assert_str_eq(diag.rule, "implicit-broadcast");
  ck_assert_int_eq(strncmp(found.text + diag.offset, "x = ", 4), 0);
  found_free(&found);
}
END_TEST

/* ---- options ---- */

START_TEST(strict_makes_errors) {
  rh_lint_options options = RH_LINT_OPTIONS_INIT;
  options.is_strict = true;
  Found found = lint_text(HEADER, "x = f32[9] negate(p)", &options);
  ck_assert_int_eq(found.status, RH_ERR_INPUT);
  ck_assert_int_eq(rh_diags_get(found.diags, 0)->severity, RH_SEVERITY_ERROR);
  found_free(&found);
  found = lint_text(HEADER, "x = f32[8] negate(p)", &options);
  ck_assert_int_eq(found.status, RH_OK);
  found_free(&found);
}
END_TEST

START_TEST(more_than_wanted_is_counted) {
  rh_lint_options options = RH_LINT_OPTIONS_INIT;
  options.max_findings = 2;
  Found found = lint_text(HEADER,
                          "a = f32[9] copy(p)\n b = f32[9] copy(p)\n c = f32[9] copy(p)\n"
                          " x = bf16[8] negate(p)",
                          &options);
  ck_assert_uint_eq(found.count, 4);
  ck_assert_uint_eq(rh_diags_len(found.diags), 2);
  found_free(&found);
}
END_TEST

/* They are errors in any case, and nothing else is said of them. */
START_TEST(contradictions_are_errors) {
  Found found =
      lint_text(HEADER, "a = f32[9] copy(p)\n b = bf16[8] negate(p)\n c = f32[9] copy(p)", NULL);
  ck_assert_uint_eq(found.count, 3);
  ck_assert_int_eq(found.status, RH_ERR_INPUT);
  for (size_t i = 0; i < 3; i++) {
    rh_diag diag = *rh_diags_get(found.diags, i);
    ck_assert((diag.severity == RH_SEVERITY_ERROR) == (i < 2));
    ck_assert((diag.rule == NULL) == (i < 2));
  }
  found_free(&found);
}
END_TEST

/* ---- schedules ---- */

START_TEST(schedules_are_checked) {
  Found found = lint_text("HloModule m, is_scheduled=true\n",
                          "a = f32[8] copy(p)\n b = f32[8] copy(a)\n"
                          " c = f32[8] copy(p), control-predecessors={b}",
                          NULL);
  ck_assert_uint_eq(found.count, 0);
  const Module *module = found.module->module;
  Sequence sequence = found.module->schedule.of[module->entry];
  InstId *last = &sequence.ids[sequence.len - 3]; /* a, b, c */
  InstId a = last[0], b = last[1], c = last[2];
  last[0] = b, last[1] = a;
  rh_status status = rh_lint(found.module, NULL, &found.count, found.diags);
  ck_assert_int_eq(status, RH_OK);
  ck_assert_str_eq(rh_diags_get(found.diags, 0)->message,
                   "'b': it is scheduled before its operand 'a'");
  last[0] = a, last[1] = c, last[2] = b;
  rh_lint(found.module, NULL, &found.count, found.diags);
  ck_assert_uint_eq(rh_diags_len(found.diags), 2);
  ck_assert_str_eq(rh_diags_get(found.diags, 1)->message,
                   "'c': it is scheduled before its control predecessor 'b'");
  ck_assert_str_eq(rh_diags_get(found.diags, 1)->rule, "schedule");
  found_free(&found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lint");
  TCase *tc = tcase_create("lint");
  tcase_add_loop_test(tc, what_is_right_has_no_finding, 0, sizeof right / sizeof *right);
  tcase_add_loop_test(tc, what_is_wrong_is_found, 0, sizeof wrong / sizeof *wrong);
  tcase_add_test(tc, extracted_modules_keep_their_header);
  tcase_add_test(tc, each_rule_has_a_case);
  tcase_add_test(tc, places_are_those_of_the_text);
  tcase_add_test(tc, implied_instructions_have_a_place);
  tcase_add_test(tc, strict_makes_errors);
  tcase_add_test(tc, more_than_wanted_is_counted);
  tcase_add_test(tc, contradictions_are_errors);
  tcase_add_test(tc, schedules_are_checked);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
