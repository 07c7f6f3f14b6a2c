/* Modules with loops that hand stacks to each other, as texts in which tests replace pieces. */
#ifndef REMAT_HLO_TESTS_LOOP_TEXTS_H
#define REMAT_HLO_TESTS_LOOP_TEXTS_H

enum { MAX_LOOP_EDITS = 12 };

typedef struct LoopEdit {
  const char *old, *new; /* `old` occurs in the text; all its occurrences are replaced */
} LoopEdit;

/* Six layers: the first loop computes x and stacks y, the second one reads y from the last layer to
 * the first one, and stacks gradients. */
extern const char *const loop_scan[];

/* The same in two segments of three layers. The first nest of loops stacks x before each segment.
 * The second one computes a segment again, which stacks y, and goes back through it. */
extern const char *const loop_segments[];

/* The same as remat/scan/segment.c cuts it: the counters of the iterations run through all
 * segments, other ones count within a segment, and slices are stacked along a new dimension. */
extern const char *const loop_cut[];

/* The text after the edits, in their order, up to the first one without `old`; free() it. Fails the
 * test `name` if there is nothing to replace. */
char *loop_text_edited(const char *name, const char *const *text, const LoopEdit *edits);

/* The second loop of loop_scan computes y again from x, which is stacked instead. */
#define LOOP_STACK_X " yr = f32[1,4] reshape(y)", " yr = f32[1,4] reshape(x)"
#define LOOP_AGAIN_Y " x = f32[4] reshape(ss)\n m = f32[4] multiply(x, wj)\n y = f32[4] sine(m)\n"
#define LOOP_REMAT                            \
  {LOOP_STACK_X}, {                           \
    " y = f32[4] reshape(ss)\n", LOOP_AGAIN_Y \
  }

/* The inner loops of loop_cut stack x, from which the backward one computes y again. */
#define LOOP_CUT_REMAT(index)                                                                 \
  {"f32[1,4] fusion(y), kind=kLoop, calls=row", "f32[1,4] fusion(x), kind=kLoop, calls=row"}, \
      {"turn { i = s32[] parameter(0)",                                                       \
       "end_of { i = s32[] parameter(0)\n five = s32[] constant(5)\n"                         \
       " ROOT j = s32[] subtract(five, i) }\n"                                                \
       "turn { i = s32[] parameter(0)"},                                                      \
  {                                                                                           \
    " d = f32[4] fusion(ss, dx), kind=kLoop, calls=back",                                     \
        " xr = f32[4] bitcast(ss)\n jj = s32[] fusion(" index                                 \
        "), kind=kLoop, calls=end_of\n"                                                       \
        " y = f32[4] fusion(w, jj, xr), kind=kLoop, calls=layer\n"                            \
        " yr = f32[1,4] bitcast(y)\n"                                                         \
        " d = f32[4] fusion(yr, dx), kind=kLoop, calls=back"                                  \
  }

/* A reason of loop_check_verdict(): the values are the same, and only how they are rounded may not
 * be. */
#define LOOP_ROUNDING "the values are the same, but may be rounded otherwise"

/* Fails unless a text and the same with edits are equivalent, where `why` is NULL, or differ for
 * that reason: LOOP_ROUNDING, or a part of the message, and then they differ whatever rounds. */
void loop_check_verdict(const char *row, const char *const *parts, const LoopEdit *edits,
                        const char *why);

/* The state of loops in loop_scan and loop_segments. */
#define LOOP_BACK "(s32[], f32[4], f32[6,4]{1,0}, f32[6,4], f32[6,4])"
#define LOOP_FORTH "(s32[], f32[4], f32[6,4]{1,0}, f32[6,4])"
#define LOOP_INNER_BACK "(s32[], f32[4], f32[6,4], s32[], f32[3,4], f32[6,4])"
#define LOOP_AGAIN "(s32[], f32[4], f32[6,4], s32[], f32[3,4])"
#define LOOP_INNER "(s32[], f32[4], f32[6,4], s32[])"
#define LOOP_OUTER_BACK "(s32[], f32[4], f32[2,4], f32[6,4], f32[6,4])"
#define LOOP_OUTER "(s32[], f32[4], f32[2,4], f32[6,4])"

/* The state of loops in loop_cut. */
#define LOOP_CUT_INNER "(s32[], f32[4], f32[6,4], s32[])"
#define LOOP_CUT_OUTER "(s32[], f32[4], f32[6,4], s32[], f32[2,4])"
#define LOOP_CUT_AGAIN "(s32[], f32[4], f32[6,4], s32[], f32[3,1,4])"
#define LOOP_CUT_INNER_BACK "(s32[], f32[4], f32[6,4], f32[6,4], s32[], f32[3,1,4])"
#define LOOP_CUT_OUTER_BACK "(s32[], f32[4], f32[6,4], f32[6,4], s32[], f32[2,4])"

#endif
