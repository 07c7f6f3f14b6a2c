/* What instructions do on a TPU, in units, and the time that prices make of that. */
#include <math.h>

#include "cost_fixture.h"

#define T "{1,0:T(8,128)}"
#define V "{1,0:T(8,128)S(1)}"
#define SQUARE " dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
#define INNER                                                               \
  "g { p = f32[128,128]" V " parameter(0)\n ROOT d = f32[128,128]" T SQUARE \
  "f { a = f32[128,128]" V " parameter(0)\n p = f32[128,128]" T             \
  " fusion(a), kind=kOutput, calls=g\n ROOT d = f32[128,128]" V SQUARE
#define ADD "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"

static CostUnits units_of(const Analysed *analysed, const char *name) {
  return units_of_inst(analysed->module, &analysed->table, find_inst(analysed->module, name));
}

/* ---- what is counted ---- */

/* A row: the entry's instructions, of which `x` is looked at, and how many units of a kind it has.
 */
static const struct {
  const char *comps;
  const char *body;
  CostUnit unit;
  double count;
} cases[] = {
    /* 100 rows of 200 lanes are 13 x 2 registers, and 26 pieces of 4 KiB; bf16 has half of them */
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " negate(p)\n", UNIT_SIMPLE,
     26},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " negate(p)\n", UNIT_READ,
     26},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " negate(p)\n", UNIT_KERNEL,
     1},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = bf16[100,200]" T " convert(p)\n",
     UNIT_WRITE, 13},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = bf16[100,200]" T " convert(p)\n", UNIT_PACK,
     26},
    {"", "p = bf16[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " convert(p)\n",
     UNIT_UNPACK, 26},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " tanh(p)\n",
     UNIT_TRANSCENDENTAL, 26},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " rsqrt(p)\n", UNIT_ROOT,
     26},
    /* without tiles, those of XLA:TPU are assumed; the other layout has 25 x 1 */
    {"", "p = f32[100,200] parameter(0)\n ROOT x = f32[100,200] negate(p)\n", UNIT_SIMPLE, 26},
    {"", "p = f32[100,200]{0,1} parameter(0)\n ROOT x = f32[100,200]{0,1} negate(p)\n", UNIT_SIMPLE,
     25},
    /* what stays in VMEM is read all the same, but writing it is free */
    {"", "p = f32[100,200]" V " parameter(0)\n ROOT x = f32[100,200]" V " negate(p)\n",
     UNIT_READ_VMEM, 26},
    {"", "p = f32[100,200]" V " parameter(0)\n ROOT x = f32[100,200]" V " negate(p)\n", UNIT_READ,
     0},
    {"", "p = f32[100,200]" V " parameter(0)\n ROOT x = f32[100,200]" V " negate(p)\n", UNIT_WRITE,
     0},
    /* a tile of one row fills a register, though not a piece */
    {"",
     "p = f32[16,128]{1,0:T(1,128)} parameter(0)\n ROOT x = f32[16,128]{1,0:T(1,128)} negate(p)\n",
     UNIT_READ, 2},
    {"",
     "p = f32[16,1,128]{2,1,0:T(1,128)} parameter(0)\n"
     "ROOT x = f32[16,1,128]{2,1,0:T(1,128)} negate(p)\n",
     UNIT_SIMPLE, 16},
    /* broadcasts and reductions by what becomes of lanes and rows */
    /* what is the same in all lanes once for each 8 rows, however many lanes there are */
    {"", "p = f32[100]{0} parameter(0)\n ROOT x = f32[100,200]" T " broadcast(p), dimensions={0}\n",
     UNIT_SPREAD_LANES, 13},
    /* and what is the same in all rows, or in all of other dimensions, once for all of these */
    {"",
     "p = f32[12]{0} parameter(0)\n"
     "ROOT x = f32[8,12,64,200]{3,2,1,0:T(8,128)} broadcast(p), dimensions={1}\n",
     UNIT_SPREAD_LANES, 12},
    {"",
     "p = f32[64]{0} parameter(0)\n"
     "ROOT x = f32[8,12,64,200]{3,2,1,0:T(8,128)} broadcast(p), dimensions={2}\n",
     UNIT_SPREAD_LANES, 8},
    {"", "p = f32[200]{0} parameter(0)\n ROOT x = f32[100,200]" T " broadcast(p), dimensions={1}\n",
     UNIT_SPREAD_ROWS, 26},
    {"", "p = f32[] parameter(0)\n ROOT x = f32[100,200]" T " broadcast(p), dimensions={}\n",
     UNIT_SIMPLE, 26},
    {"",
     "p = pred[100]{0} parameter(0)\n ROOT x = pred[100,200]" T " broadcast(p), dimensions={0}\n",
     UNIT_SPREAD_LANES, 3 * 13},
    {"",
     "p = pred[200]{0} parameter(0)\n ROOT x = pred[100,200]" T " broadcast(p), dimensions={1}\n",
     UNIT_MASK, 26},
    {"add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n",
     "p = f32[100,200]" T " parameter(0)\n z = f32[] constant(0)\n"
     "ROOT x = f32[100]{0} reduce(p, z), dimensions={1}, to_apply=add\n",
     UNIT_REDUCE_LANES, 26},
    {"add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n",
     "p = f32[100,200]" T " parameter(0)\n z = f32[] constant(0)\n"
     "ROOT x = f32[200]{0} reduce(p, z), dimensions={0}, to_apply=add\n",
     UNIT_REDUCE_ROWS, 26},
    {"add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n",
     "p = f32[3,100,200]{2,1,0:T(8,128)} parameter(0)\n z = f32[] constant(0)\n"
     "ROOT x = f32[100,200]" T " reduce(p, z), dimensions={0}, to_apply=add\n",
     UNIT_REDUCE, 78},
    /* copies by what changes places */
    {"", "p = f32[128,128]" T " parameter(0)\n ROOT x = f32[128,128]{0,1:T(8,128)} copy(p)\n",
     UNIT_TRANSPOSING, 1},
    {"",
     "p = f32[128,128]" T " parameter(0)\n ROOT x = f32[128,128]" T
     " transpose(p), dimensions={1,0}\n",
     UNIT_TRANSPOSING, 1},
    {"", "p = bf16[128,128]" T " parameter(0)\n ROOT x = bf16[128,128]{0,1:T(8,128)} copy(p)\n",
     UNIT_READ, 16},
    {"", "p = f32[128,128]" T " parameter(0)\n ROOT x = f32[128,128]{0,1:T(8,128)} copy(p)\n",
     UNIT_KERNEL, 2},
    {"", "p = f32[8192,128]" V " parameter(0)\n ROOT x = f32[8192,128]{0,1:T(8,128)S(1)} copy(p)\n",
     UNIT_TRANSPOSING, 3},
    {"",
     "p = f32[8,8,128]{2,1,0:T(8,128)} parameter(0)\n ROOT x = f32[8,8,128]{2,0,1:T(8,128)} "
     "copy(p)\n",
     UNIT_PERMUTE, 8},
    /* a copy alone does not read VMEM as others do */
    {"",
     "p = f32[8,8,128]{2,1,0:T(8,128)S(1)} parameter(0)\n ROOT x = f32[8,8,128]{2,0,1:T(8,128)} "
     "copy(p)\n",
     UNIT_READ, 0},
    /* what ends as less than 32 bits, and what is reduced, if no result of 32 is as large */
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = bf16[100,200]" T " convert(p)\n",
     UNIT_STAGED, 26},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " negate(p)\n", UNIT_STAGED,
     0},
    /* or ends in tiles of fewer rows than a register has, also where nothing is read */
    {"",
     "p = f32[16,4,32]{2,1,0:T(4,128)} parameter(0)\n"
     "ROOT x = f32[16,4,32]{2,1,0:T(4,128)} negate(p)\n",
     UNIT_STAGED, 16},
    {"",
     "p = f32[16,4,32]{2,1,0:T(4,128)} parameter(0)\n"
     "ROOT x = f32[16,4,32]{2,1,0:T(4,128)} negate(p)\n",
     UNIT_WRITE, 8},
    {"",
     "z = f32[] constant(0)\n ROOT x = f32[16,4,32]{2,1,0:T(4,128)S(1)} broadcast(z), "
     "dimensions={}\n",
     UNIT_KERNEL, 1},
    /* a product that is multiplied again in the same fusion is written, and has a window */
    {INNER,
     "p = f32[128,128]" V " parameter(0)\n ROOT x = f32[128,128]" V
     " fusion(p), kind=kOutput, calls=f\n",
     UNIT_WRITE, 16},
    {INNER,
     "p = f32[128,128]" V " parameter(0)\n ROOT x = f32[128,128]" V
     " fusion(p), kind=kOutput, calls=f\n",
     UNIT_PRODUCT_WINDOW, 2},
    /* or less, where there is less to fill */
    {"",
     "p = f32[8,256]" V " parameter(0)\n q = f32[256,16]" V " parameter(1)\n"
     "ROOT x = f32[8,16]" V " dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     UNIT_PRODUCT_WIDE, 2},
    /* of f32 in six parts, two of 128 contracted elements fill cells of 256 */
    {"",
     "p = f32[128,128]" V " parameter(0)\n ROOT x = f32[128,128]" V
     " dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={highest,highest}\n",
     UNIT_PRODUCT_WIDE, 16 * 3},
    /* wide cells are filled in the time of 128 rows */
    {"",
     "p = f32[8,256]" V " parameter(0)\n q = f32[256,256]" V " parameter(1)\n"
     "ROOT x = f32[8,256]" V " dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     UNIT_PRODUCT_WIDE, 16},
    {"",
     "p = f32[8,256]" V " parameter(0)\n q = f32[256,256]" V " parameter(1)\n"
     "ROOT x = f32[8,256]" V " dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     UNIT_PRODUCT_MACS, 4},
    {ADD,
     "p = f32[100,200]" T " parameter(0)\n z = f32[] constant(0)\n"
     "ROOT x = f32[100]{0} reduce(p, z), dimensions={1}, to_apply=add\n",
     UNIT_STAGED, 26},
    {ADD "f { p = f32[100,200]" T " parameter(0)\n z = f32[] constant(0)\n"
         "r = f32[100]{0} reduce(p, z), dimensions={1}, to_apply=add\n"
         "n = f32[100,200]" T " negate(p)\n ROOT t = (f32[100]{0}, f32[100,200]" T
         ") tuple(r, n) }\n",
     "p = f32[100,200]" T " parameter(0)\n"
     "ROOT x = (f32[100]{0}, f32[100,200]" T ") fusion(p), kind=kLoop, calls=f\n",
     UNIT_STAGED, 0},
    {"", "p = f32[100,200]" T " parameter(0)\n ROOT x = f32[100,200]" T " negate(p)\n",
     UNIT_LONE_PIECES, 2 * 26 + 26},
    {"", "p = f32[128,128]" V " parameter(0)\n ROOT x = f32[128,128]{0,1:T(8,128)S(1)} copy(p)\n",
     UNIT_KERNEL, 0},
    {"", "p = f32[128,128]" V " parameter(0)\n ROOT x = f32[128,128]{0,1:T(8,128)S(1)} copy(p)\n",
     UNIT_READ, 0},
    /* only what is touched of an array in place, or of one that is sliced */
    {"",
     "p = f32[64,128]" T " parameter(0)\n u = f32[8,128]" T
     " parameter(1)\n i = s32[] parameter(2)\n"
     "ROOT x = f32[64,128]" T " dynamic-update-slice(p, u, i, i)\n",
     UNIT_WRITE, 1},
    {"f { p = f32[64,128]" T " parameter(0)\n u = f32[8,128]" T
     " parameter(1)\n i = s32[] parameter(2)\n"
     "n = f32[8,128]" T " negate(u)\n ROOT d = f32[64,128]" T
     " dynamic-update-slice(p, n, i, i) }\n",
     "p = f32[64,128]" T " parameter(0)\n u = f32[8,128]" T
     " parameter(1)\n i = s32[] parameter(2)\n"
     "ROOT x = f32[64,128]" T " fusion(p, u, i), kind=kLoop, calls=f\n",
     UNIT_READ, 1},
    {"f { p = f32[64,128]" T " parameter(0)\n i = s32[] parameter(1)\n"
     "d = f32[8,128]" T " dynamic-slice(p, i, i), dynamic_slice_sizes={8,128}\n"
     "ROOT n = f32[8,128]" T " negate(d) }\n",
     "p = f32[64,128]" T " parameter(0)\n i = s32[] parameter(1)\n"
     "ROOT x = f32[8,128]" T " fusion(p, i), kind=kLoop, calls=f\n",
     UNIT_READ, 1},
    /* products: 100 rows are 13 x 8, 200 contracted elements 2 x 128, 300 columns 3 x 128 */
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]" T " dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     UNIT_PRODUCT_MACS, 13 * 2 * 3},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]{0,1:T(8,128)} convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_PRODUCT_MACS, 38 * 2 * 1},
    {"",
     "p = f32[200,100]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=fb_io->bf\n",
     UNIT_PRODUCT_TRANSPOSE, 25},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_PRODUCT_MACS, 13 * 2 * 3},
    {"",
     "p = f32[4,10,200] parameter(0)\n q = f32[4,200,30] parameter(1)\n"
     "ROOT x = f32[4,10,30] dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, "
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
     UNIT_PRODUCT_MACS, 4 * 2 * 2},
    {"",
     "p = f32[8,16,16,128] parameter(0)\n q = f32[3,3,128,128] parameter(1)\n"
     "ROOT x = f32[8,8,8,128] convolution(p, q), window={size=3x3 stride=2x2 pad=0_1x0_1}, "
     "dim_labels=b01f_01io->b01f\n",
     UNIT_PRODUCT_MACS, 8 * 8 * 9},
    /* 3 positions of 32 features are joined, 3 rows of them are not; holes are skipped */
    {"",
     "p = f32[8,16,16,32] parameter(0)\n q = f32[3,3,32,128] parameter(1)\n"
     "ROOT x = f32[8,16,16,128] convolution(p, q), window={size=3x3 pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f\n",
     UNIT_PRODUCT_MACS, 16 * 16 * 3 * 0.75},
    {"",
     "p = f32[8,8,8,128] parameter(0)\n q = f32[3,3,128,128] parameter(1)\n"
     "ROOT x = f32[8,16,16,128] convolution(p, q), window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2}, "
     "dim_labels=b01f_01io->b01f\n",
     UNIT_PRODUCT_MACS, 16 * 16 * 2.25},
    /* by channel: cells hold the kernels of 128 channels; the derivative for the kernel is no
       product */
    {"",
     "p = f32[16,14,14,192] parameter(0)\n q = f32[3,3,1,192] parameter(1)\n"
     "ROOT x = f32[16,14,14,192]{3,0,2,1:T(8,128)} convolution(p, q), window={size=3x3 "
     "pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=192\n",
     UNIT_PRODUCT_MACS, 14 * 14 * 2 * 2 * 9},
    {"",
     "p = f32[16,14,14,256] parameter(0)\n q = f32[3,3,4,256] parameter(1)\n"
     "ROOT x = f32[16,14,14,256]{3,0,2,1:T(8,128)} convolution(p, q), window={size=3x3 "
     "pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=64\n",
     UNIT_PRODUCT_MACS, 14 * 14 * 2 * 2 * 9},
    {"",
     "p = f32[16,14,14,192]{3,0,2,1:T(8,128)} parameter(0)\n"
     "q = f32[16,14,14,192]{3,0,2,1:T(8,128)} parameter(1)\n"
     "ROOT x = f32[3,3,1,192] convolution(p, q), window={size=14x14 pad=1_1x1_1}, "
     "dim_labels=f01b_i01o->01bf, batch_group_count=192\n",
     UNIT_SIMPLE, 2 * 9 * 14 * 14 * 2 * 2},
    {"",
     "p = f32[16,14,14,192]{3,0,2,1:T(8,128)} parameter(0)\n"
     "q = f32[16,14,14,192]{3,0,2,1:T(8,128)} parameter(1)\n"
     "ROOT x = f32[3,3,1,192] convolution(p, q), window={size=14x14 pad=1_1x1_1}, "
     "dim_labels=f01b_i01o->01bf, batch_group_count=192\n",
     UNIT_PRODUCT_MACS, 0},
    {"",
     "p = f32[16,14,14,192] parameter(0)\n q = f32[3,3,1,192] parameter(1)\n"
     "ROOT x = f32[16,14,14,192]{3,0,2,1:T(8,128)} convolution(p, q), window={size=3x3 "
     "pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=192\n",
     UNIT_PRODUCT_WIDE, 14 * 14 * 2 * 2 * 9},
    /* of groups as batches in a window, those of the derivative for the input are not joined, and
       have whole lanes; the others have whole cells */
    {"",
     "p = bf16[16,32,32,16,8] parameter(0)\n q = bf16[3,3,16,8,8] parameter(1)\n"
     "ROOT x = bf16[16,32,32,16,8]{0,4,3,2,1:T(8,128)(2,1)} convolution(p, q), "
     "window={size=3x3x16 stride=1x1x15 pad=1_1x1_1x0_0 lhs_dilate=1x1x16}, "
     "dim_labels=b012f_012oi->b012f\n",
     UNIT_PRODUCT_MACS, 32 * 32 * 16 * 9},
    {"",
     "p = bf16[16,32,32,16,8] parameter(0)\n q = bf16[3,3,16,8,8] parameter(1)\n"
     "ROOT x = bf16[16,32,32,16,8]{0,4,3,2,1:T(8,128)(2,1)} convolution(p, q), "
     "window={size=3x3x16 stride=1x1x15 pad=1_1x1_1x0_0 lhs_dilate=1x1x16}, "
     "dim_labels=b012f_012oi->b012f\n",
     UNIT_PRODUCT_WIDE, 32 * 32 * 16 * 5},
    {"",
     "p = bf16[16,32,32,16,8] parameter(0)\n q = bf16[3,3,8,16,8] parameter(1)\n"
     "ROOT x = bf16[16,32,32,16,8]{0,4,3,2,1:T(8,128)(2,1)} convolution(p, q), "
     "window={size=3x3x16 stride=1x1x15 pad=1_1x1_1x0_0 lhs_dilate=1x1x16}, "
     "dim_labels=b012f_01i2o->b012f\n",
     UNIT_PRODUCT_MACS, 32 * 32 * 16 * 3},
    {"",
     "p = bf16[8,28,28,32,16] parameter(0)\n q = bf16[8,28,28,32,16] parameter(1)\n"
     "ROOT x = f32[3,3,16,32,16]{4,2,3,1,0:T(8,128)S(1)} convolution(p, q), "
     "window={size=28x28x32 stride=1x1x31 pad=1_1x1_1x0_0 lhs_dilate=1x1x32}, "
     "dim_labels=f012b_i012o->01b2f\n",
     UNIT_PRODUCT_MACS, 9 * 32 * 2 * 28 * 2},
    /* a batch as a window; cells of 256 x 256; three parts of each side */
    {"",
     "p = f32[4,16,64] parameter(0)\n q = f32[4,64,128] parameter(1)\n"
     "ROOT x = f32[4,16,128] convolution(p, q), window={size=4 stride=3 lhs_dilate=4}, "
     "dim_labels=0bf_0io->0bf\n",
     UNIT_PRODUCT_MACS, 4 * 2},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_PRODUCT_WIDE, 16 * 1 * 2},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" T " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=bf_io->bf, "
     "operand_precision={highest,highest}\n",
     UNIT_PRODUCT_MACS, 6 * 13 * 2 * 3},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" V " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_READ, 26},
    {"",
     "p = f32[100,200]" T " parameter(0)\n q = f32[200,300]" V " parameter(1)\n"
     "ROOT x = f32[100,300]" T " convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_KERNEL, 2},
    {"f { p = f32[100,200]" T " parameter(0)\n q = bf16[200,300]" T " parameter(1)\n"
     "c = bf16[100,200]" T " convert(p)\n"
     "ROOT d = bf16[100,300]" T " convolution(c, q), dim_labels=bf_io->bf }\n",
     "p = f32[100,200]" T " parameter(0)\n q = bf16[200,300]" T " parameter(1)\n"
     "ROOT x = bf16[100,300]" T " fusion(p, q), kind=kOutput, calls=f\n",
     UNIT_PACK, 26},
    /* a product narrows what it writes to VMEM at a price of its own */
    {"",
     "p = bf16[104,256]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n"
     "q = bf16[256,256]{1,0:T(8,128)(2,1)S(1)} parameter(1)\n"
     "ROOT x = bf16[104,256]{1,0:T(8,128)(2,1)S(1)} convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_PRODUCT_NARROW, 1},
    {"",
     "p = bf16[104,256]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n"
     "q = bf16[256,256]{1,0:T(8,128)(2,1)S(1)} parameter(1)\n"
     "ROOT x = bf16[104,256]{1,0:T(8,128)(2,1)S(1)} convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_PRODUCT_STAGED, 26},
    {"",
     "p = bf16[104,256]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n"
     "q = bf16[256,256]{1,0:T(8,128)(2,1)S(1)} parameter(1)\n"
     "ROOT x = bf16[104,256]{1,0:T(8,128)(2,1)} convolution(p, q), dim_labels=bf_io->bf\n",
     UNIT_STAGED, 26},
    /* a slice behind a bitcast is what is read */
    {"f { p = f32[64,128]" T " parameter(0)\n b = f32[8,8,128]{2,1,0:T(8,128)} bitcast(p)\n"
     "n = f32[8,8,128]{2,1,0:T(8,128)} negate(b)\n"
     "ROOT d = f32[1,8,128]{2,1,0:T(8,128)} slice(n), slice={[2:3], [0:8], [0:128]} }\n",
     "p = f32[64,128]" T " parameter(0)\n"
     "ROOT x = f32[1,8,128]{2,1,0:T(8,128)} fusion(p), kind=kLoop, calls=f\n",
     UNIT_READ, 1},
    {"",
     "p = f32[128]{0:T(128)S(1)} parameter(0)\n ROOT x = f32[16,128]" V
     " broadcast(p), dimensions={1}\n",
     UNIT_UNREAD, 1},
    /* a matrix is spread window by window of the result */
    {"",
     "p = f32[32,128]" V " parameter(0)\n ROOT x = f32[32,8,128]{2,1,0:T(8,128)S(1)}"
     " broadcast(p), dimensions={0,2}\n",
     UNIT_KERNEL, 1},
    {"",
     "p = f32[32,128]" V " parameter(0)\n ROOT x = f32[32,8,128]{2,1,0:T(8,128)S(1)}"
     " broadcast(p), dimensions={0,2}\n",
     UNIT_STAGED, 32},
    {"",
     "p = f32[32,128]" V " parameter(0)\n ROOT x = f32[32,8,128]{2,1,0:T(8,128)S(1)}"
     " broadcast(p), dimensions={0,2}\n",
     UNIT_LONE_PIECES, 3 * 32},
    /* the scalar unit's work, other names for memory, and what runs beside the rest */
    {"", "p = f32[] parameter(0)\n ROOT x = f32[] negate(p)\n", UNIT_KERNEL, 0},
    {"",
     "p = f32[8,128]" V " parameter(0)\n"
     "ROOT x = f32[16,128]" V " custom-call(p, p), custom_call_target=\"ConcatBitcast\"\n",
     UNIT_KERNEL, 0},
    {"", "ROOT x = f32[16,128]" T " custom-call(), custom_call_target=\"AllocateBuffer\"\n",
     UNIT_KERNEL, 0},
    {"",
     "p = f32[100,200]" T " parameter(0)\n"
     "ROOT x = (f32[100,200]" V ", f32[100,200]" T ", u32[]) copy-start(p)\n",
     UNIT_KERNEL, 0},
    {"", "ROOT x = s32[8,128]" V " iota(), iota_dimension=0\n", UNIT_UNREAD, 1},
};

START_TEST(units_are_counted) {
  Analysed analysed = analyse_body(cases[_i].comps, cases[_i].body);
  double found = (double)units_of(&analysed, "x").of[cases[_i].unit];
  ck_assert_msg(found == cases[_i].count, "%s: %g of %s, not %g", cases[_i].body, found,
                unit_key(cases[_i].unit), cases[_i].count);
  finish(analysed);
}
END_TEST

/* ---- prices ---- */

static UnitPrices flat_prices(double price) {
  UnitPrices prices = unit_prices_begin();
  for (int unit = 0; unit < UNIT_FIRST_FIGURE; unit++)
    prices.of[unit] = price;
  prices.of[UNIT_PRODUCT_VECTOR] = 1;
  return prices;
}

START_TEST(transfers_and_work_of_one_window_add_up) {
  CostUnits units = {.of = {[UNIT_KERNEL] = 1, [UNIT_READ] = 100, [UNIT_SIMPLE] = 5}};
  UnitPrices prices = flat_prices(2);
  prices.of[UNIT_KERNEL] = 100;
  UnitBound bound;
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 100 + 200 + 10);
  ck_assert_int_eq(bound, UNITS_MEMORY);
}
END_TEST

START_TEST(more_windows_work_side_by_side) {
  CostUnits units = {
      .of = {
          [UNIT_KERNEL] = 1, [UNIT_READ] = 100, [UNIT_PRODUCT_MACS] = 1000, [UNIT_SIMPLE] = 500}};
  UnitPrices prices = flat_prices(2);
  UnitBound bound;
  /* The matrix unit takes longest; only what comes first, for one of 57 windows, is added. */
  ck_assert_double_eq_tol(units_cycles(&units, &prices, &bound), 2000 + 2 + 200.0 / 57, 1e-9);
  ck_assert_int_eq(bound, UNITS_MATRIX);
  prices.of[UNIT_PRODUCT_VECTOR] = 3;
  ck_assert_double_eq_tol(units_cycles(&units, &prices, &bound), 3000 + 2 + 200.0 / 57, 1e-9);
  ck_assert_int_eq(bound, UNITS_VECTOR);
}
END_TEST

START_TEST(each_window_begins_anew) {
  CostUnits units = {.of = {[UNIT_KERNEL] = 1, [UNIT_READ] = 100, [UNIT_FUSED_PIECES] = 100}};
  UnitPrices prices = flat_prices(2);
  UnitBound bound;
  prices.of[UNIT_FUSED_PIECES] = 30;
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 4 * 2 + 200);
  units.of[UNIT_FUSED_PIECES] = 0;
  prices.of[UNIT_LONE_PIECES] = 1400;
  units.of[UNIT_LONE_PIECES] = 1500;
  prices.of[UNIT_LONE_REGISTERS] = 128;
  units.of[UNIT_LONE_REGISTERS] = 1500; /* 12 windows of 128 */
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 12 * 2 + 200);
  units.of[UNIT_LONE_PIECES] = 1300;
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 2 + 200);
  units.row_tiles = 1025;
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 12 * 2 + 200);
  units.of[UNIT_LONE_REGISTERS] = 0;
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 2 * 2 + 200);
  prices.cores = 2; /* which share them */
  ck_assert_double_eq(units_cycles(&units, &prices, &bound), 2 + 200);
}
END_TEST

/* Rows that become lanes of a vector, in blocks of 128: the windows that XLA:TPU was seen to make
 * of so many blocks, where more than one has to be made. */
static const struct {
  float blocks, windows;
} parted[] = {{64, 2}, {97, 33}, {131, 22}, {157, 53}, {188, 2}, {193, 39}, {257, 37}, {262, 2}};

START_TEST(windows_have_whole_blocks_of_rows) {
  CostUnits units = {.of = {[UNIT_KERNEL] = 1, [UNIT_READ] = 100, [UNIT_FUSED_PIECES] = 2},
                     .row_blocks = parted[_i].blocks};
  UnitPrices prices = flat_prices(2);
  UnitBound bound;
  prices.of[UNIT_FUSED_PIECES] = 1;
  ck_assert_double_eq_tol(units_cycles(&units, &prices, &bound),
                          (double)parted[_i].windows * 2 + 200, 1e-9);
}
END_TEST

/* ---- estimates ---- */

#define CONFIG(cycles) \
  "backend_config={\"window_config\":{\"estimated_cycles\":\"" cycles "\",\"is_mask\":false}}"

static const char estimated[] =
    "HloModule m\n"
    "ENTRY e {\n"
    " p = f32[100,200]{1,0} parameter(0)\n"
    " a = f32[100,200]{1,0} negate(p), " CONFIG("3000") "\n"
    " b = f32[100,200]{1,0} negate(a), " CONFIG("9223372036854775807") "\n"
    " c = f32[100,200]{1,0} negate(b), backend_config=\"{\\\"window_config\\\":{\\\"estimated_cycles\\\":\\\"500\\\"}}\"\n"
    " d = f32[100,200]{1,0} negate(c)\n"
    " ROOT r = (f32[100,200]{1,0}) tuple(d) }\n";

static DeviceProfile clocked(void) {
  DeviceProfile profile = device_profile_default();
  profile.clock = 1e9;
  return profile;
}

START_TEST(estimates_are_the_time) {
  Analysed analysed = analyse(parse_or_fail(estimated));
  DeviceProfile with = clocked(), without = device_profile_default();
  const char *names[] = {"a", "b", "c", "d"};
  double expected[] = {3e-6, -1, 5e-7, -1};
  for (int i = 0; i < 4; i++) {
    InstId id = find_inst(analysed.module, names[i]);
    ModelledTime time = cost_time(analysed.module, &analysed.table, &with, id);
    ModelledTime roofline = cost_time(analysed.module, &analysed.table, &without, id);
    ck_assert_int_eq(time.source, expected[i] < 0 ? TIME_MODELLED : TIME_ESTIMATED);
    ck_assert_double_eq_tol(time.seconds, expected[i] < 0 ? roofline.seconds : expected[i], 1e-15);
    ck_assert_int_eq(roofline.source, TIME_MODELLED);
  }
  finish(analysed);
}
END_TEST

START_TEST(clone_has_the_estimate_of_its_original) {
  Analysed analysed = analyse(parse_or_fail(estimated));
  Module *module = analysed.module;
  InstId original = find_inst(module, "a"), operand = find_inst(module, "p");
  InstId clone = module_add_inst(module, module->entry,
                                 &(InstSpec){.opcode = OPCODE_NEGATE,
                                             .name = STR("a.remat"),
                                             .shape = inst_get(module, original)->shape,
                                             .operands = &operand,
                                             .num_operands = 1});
  inst_get(module, clone)->origin = original;
  DeviceProfile profile = clocked();
  ck_assert_double_eq(cost_seconds(module, &analysed.table, &profile, clone),
                      cost_seconds(module, &analysed.table, &profile, original));
  finish(analysed);
}
END_TEST

START_TEST(prices_are_the_time_where_there_is_no_estimate) {
  Analysed analysed = analyse(parse_or_fail(estimated));
  DeviceProfile profile = clocked();
  profile.has_units = true;
  profile.cycles = flat_prices(10);
  profile.cycles.of[UNIT_KERNEL] = 300;
  InstId id = find_inst(analysed.module, "d");
  ModelledTime time = cost_time(analysed.module, &analysed.table, &profile, id);
  /* A kernel, 26 pieces read, 26 written, 26 registers negated. */
  ck_assert_double_eq_tol(time.seconds, (300 + 10 * 3 * 26) / 1e9, 1e-15);
  ck_assert_int_eq(time.bound, BOUND_MEMORY);
  id = find_inst(analysed.module, "a");
  ck_assert_double_eq_tol(cost_seconds(analysed.module, &analysed.table, &profile, id), 3e-6,
                          1e-15);
  finish(analysed);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("units");
  TCase *tc = tcase_create("units");
  tcase_add_loop_test(tc, units_are_counted, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, transfers_and_work_of_one_window_add_up);
  tcase_add_test(tc, more_windows_work_side_by_side);
  tcase_add_test(tc, each_window_begins_anew);
  tcase_add_loop_test(tc, windows_have_whole_blocks_of_rows, 0, sizeof parted / sizeof *parted);
  tcase_add_test(tc, estimates_are_the_time);
  tcase_add_test(tc, clone_has_the_estimate_of_its_original);
  tcase_add_test(tc, prices_are_the_time_where_there_is_no_estimate);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
