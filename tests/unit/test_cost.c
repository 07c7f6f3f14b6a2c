/* Every group of opcodes, and modules that a pass has changed. */
#include "cost_fixture.h"

/* ---- one instruction ---- */

#define ADD "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
#define TWO                                                                                       \
  "two { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] "   \
  "parameter(3)\n e = f32[] add(a, c)\n f = f32[] tanh(d)\n ROOT g = (f32[], f32[]) tuple(e, f) " \
  "}\n"
#define EXP                                                                                       \
  "exp { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] exponential(b)\n d = f32[] " \
  "add(a, c)\n ROOT e = f32[] multiply(d, a) }\n"
#define FOUR                                                                                     \
  "four { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] " \
  "parameter(3)\n e = f32[] add(a, c)\n f = f32[] add(b, d)\n ROOT g = (f32[], f32[]) tuple(e, " \
  "f) }\n"
#define GE                                                                                 \
  "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), " \
  "direction=GE }\n"
#define LT                                                                                 \
  "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), " \
  "direction=LT }\n"
#define LT2                                                                                     \
  "lt2 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] " \
  "parameter(3)\n ROOT e = pred[] compare(a, b), direction=LT }\n"
#define DOUBLE_EXP                                                                            \
  "double_exp { a = f32[4,5] parameter(0)\n b = f32[4,5] exponential(a)\n ROOT c = f32[4,5] " \
  "add(b, b) }\n"
#define LOOP                                                                                       \
  "body { a = (s32[], f32[8]) parameter(0)\n b = s32[] get-tuple-element(a), index=0\n c = s32[] " \
  "constant(1)\n d = s32[] add(b, c)\n e = f32[8] get-tuple-element(a), index=1\n f = f32[8] "     \
  "tanh(e)\n ROOT g = (s32[], f32[8]) tuple(d, f) }\ncond { a = (s32[], f32[8]) parameter(0)\n b " \
  "= s32[] get-tuple-element(a), index=0\n c = s32[] constant(10)\n ROOT d = pred[] compare(b, "   \
  "c), direction=LT }\n"
#define HEAVY "heavy { a = f32[8] parameter(0)\n b = f32[8] tanh(a)\n ROOT c = f32[8] tanh(b) }\n"
#define WIDE "wide { a = f32[8] parameter(0)\n b = f32[8] add(a, a)\n ROOT c = f32[8] add(b, a) }\n"
#define UNKNOWN                                                              \
  "opaque_call { a = f32[8] parameter(0)\n ROOT b = f32[8] custom-call(a), " \
  "custom_call_target=\"y\" }\n"
#define NOTHING "nothing { ROOT a = f32[8] parameter(0) }\n"

#define P "p = f32[4,5] parameter(0)\n"
#define Q "q = f32[4,5] parameter(1)\n"
#define UNARY(op, flops, transcendentals)    \
  {                                          \
    "", P "ROOT x = f32[4,5] " op "(p)\n", { \
      flops, transcendentals, 160            \
    }                                        \
  }
#define BINARY(op, flops, transcendentals)        \
  {                                               \
    "", P Q "ROOT x = f32[4,5] " op "(p, q)\n", { \
      flops, transcendentals, 240                 \
    }                                             \
  }
#define BITS(op)                                                                             \
  {                                                                                          \
    "", "p = u8[9] parameter(0)\n q = u8[9] parameter(1)\n ROOT x = u8[9] " op "(p, q)\n", { \
      9, 0, 27                                                                               \
    }                                                                                        \
  }

static const CostCase cases[] = {
    /* elementwise, one operand */
    UNARY("abs", 20, 0),
    UNARY("ceil", 20, 0),
    UNARY("floor", 20, 0),
    UNARY("negate", 20, 0),
    UNARY("sign", 20, 0),
    UNARY("round-nearest-afz", 20, 0),
    UNARY("round-nearest-even", 20, 0),
    {"", "p = s32[6] parameter(0)\n ROOT x = s32[6] not(p)\n", {6, 0, 48}},
    {"", "p = s32[6] parameter(0)\n ROOT x = s32[6] popcnt(p)\n", {6, 0, 48}},
    {"", "p = s32[6] parameter(0)\n ROOT x = s32[6] count-leading-zeros(p)\n", {6, 0, 48}},
    {"", P "ROOT x = bf16[4,5] convert(p)\n", {20, 0, 120}},
    {"", P "ROOT x = s32[4,5] bitcast-convert(p)\n", {20, 0, 160}},
    {"", P "ROOT x = pred[4,5] is-finite(p)\n", {20, 0, 100}},
    {"",
     P "ROOT x = f32[4,5] reduce-precision(p), exponent_bits=5, mantissa_bits=10\n",
     {20, 0, 160}},
    {"", "p = c64[7] parameter(0)\n ROOT x = f32[7] real(p)\n", {7, 0, 84}},
    {"", "p = c64[7] parameter(0)\n ROOT x = f32[7] imag(p)\n", {7, 0, 84}},
    /* transcendental */
    UNARY("acos", 0, 20),
    UNARY("acosh", 0, 20),
    UNARY("asin", 0, 20),
    UNARY("asinh", 0, 20),
    UNARY("atanh", 0, 20),
    UNARY("cbrt", 0, 20),
    UNARY("cosine", 0, 20),
    UNARY("cosh", 0, 20),
    UNARY("erf", 0, 20),
    UNARY("exponential", 0, 20),
    UNARY("exponential-minus-one", 0, 20),
    UNARY("log", 0, 20),
    UNARY("log-plus-one", 0, 20),
    UNARY("logistic", 0, 20),
    UNARY("rsqrt", 0, 20),
    UNARY("sine", 0, 20),
    UNARY("sinh", 0, 20),
    UNARY("sqrt", 0, 20),
    UNARY("tan", 0, 20),
    UNARY("tanh", 0, 20),
    BINARY("atan2", 0, 20),
    BINARY("power", 0, 20),
    /* elementwise, more operands */
    BINARY("add", 20, 0),
    BINARY("subtract", 20, 0),
    BINARY("multiply", 20, 0),
    BINARY("divide", 20, 0),
    BINARY("remainder", 20, 0),
    BINARY("maximum", 20, 0),
    BINARY("minimum", 20, 0),
    BITS("and"),
    BITS("or"),
    BITS("xor"),
    BITS("shift-left"),
    BITS("shift-right-arithmetic"),
    BITS("shift-right-logical"),
    BITS("mulhi"),
    {"", P Q "ROOT x = c64[4,5] complex(p, q)\n", {20, 0, 320}},
    {"", P Q "ROOT x = pred[4,5] compare(p, q), direction=LT\n", {20, 0, 180}},
    {"",
     P "q = u32[4,5] parameter(1)\n ROOT x = bf16[4,5] stochastic-convert(p, q)\n",
     {20, 0, 200}},
    {"",
     "s = pred[4,5] parameter(2)\n p = f32[4,5] parameter(0)\n q = f32[4,5] parameter(1)\n ROOT x "
     "= f32[4,5] select(s, p, q)\n",
     {20, 0, 260}},
    {"",
     "s = f32[] parameter(1)\n p = f32[4,5] parameter(0)\n ROOT x = f32[4,5] clamp(s, p, s)\n",
     {20, 0, 168}},
    {"", P "ROOT x = f32[4,5] multiply(p, p)\n", {20, 0, 240}},
    /* sizes */
    {"", "p = s4[7]{0:E(4)} parameter(0)\n ROOT x = s4[7]{0:E(4)} negate(p)\n", {7, 0, 8}},
    {"", "p = s4[7] parameter(0)\n ROOT x = s4[7] negate(p)\n", {7, 0, 14}},
    {"", "p = f32[0,7] parameter(0)\n ROOT x = f32[0,7] negate(p)\n", {0, 0, 0}},
    {"", "p = f32[] parameter(0)\n ROOT x = f32[] negate(p)\n", {1, 0, 8}},
    {"", "p = c128[3] parameter(0)\n ROOT x = c128[3] negate(p)\n", {3, 0, 96}},
    /* nothing */
    {"", "ROOT x = f32[4,5] parameter(0)\n", {0, 0, 0}},
    {"", "ROOT x = s32[3] constant({1, 2, 3})\n", {0, 0, 0}},
    {"",
     "p = (f32[4], s32[]) parameter(0)\n ROOT x = f32[4] get-tuple-element(p), index=0\n",
     {0, 0, 0}},
    {"", P "ROOT x = f32[20] bitcast(p)\n", {0, 0, 0}},
    {"", "p = token[] parameter(0)\n ROOT x = token[] after-all(p)\n", {0, 0, 0}},
    {"", P "t = token[] after-all()\n ROOT x = f32[4,5] add-dependency(p, t)\n", {0, 0, 0}},
    {"",
     P "ROOT x = f32[4,5] domain(p), domain={kind=\"sharding\", entry={maximal device=0}, "
       "exit={maximal device=1}}\n",
     {0, 0, 0}},
    {"",
     P
     "ROOT x = f32[4,5] custom-call(p), custom_call_target=\"__xla_internal_call_marker_before\"\n",
     {0, 0, 0}},
    /* bytes only */
    UNARY("copy", 0, 0),
    {"", P "ROOT x = bf16[4,5] copy(p)\n", {20, 0, 120}}, /* it converts */
    {"", P "ROOT x = f32[20] reshape(p)\n", {0, 0, 160}},
    {"", P "ROOT x = f32[3,4,5] broadcast(p), dimensions={1,2}\n", {0, 0, 320}},
    {"", P "s = f32[] parameter(1)\n ROOT x = f32[6,5] pad(p, s), padding=1_1x0_0\n", {0, 0, 204}},
    {"", P Q "ROOT x = f32[8,5] concatenate(p, q), dimensions={0}\n", {0, 0, 320}},
    {"", P "ROOT x = f32[4,5] reverse(p), dimensions={1}\n", {0, 0, 160}},
    {"", "ROOT x = s32[4,5] iota(), iota_dimension=1\n", {0, 0, 80}},
    {"", P "ROOT x = f32[5,4] transpose(p), dimensions={1,0}\n", {0, 0, 160}},
    {"", P "ROOT x = f32[5,4]{0,1} transpose(p), dimensions={1,0}\n", {0, 0, 0}},
    {"",
     "p = f32[2,3,4]{0,2,1} parameter(0)\n ROOT x = f32[3,4,2]{2,1,0} transpose(p), "
     "dimensions={1,2,0}\n",
     {0, 0, 0}},
    {"", P "ROOT x = s32[] get-dimension-size(p), dimensions={0}\n", {0, 0, 84}},
    UNARY("opt-barrier", 0, 0),
    {"", "ROOT x = u32[] replica-id()\n", {0, 0, 4}},
    {"", "ROOT x = u32[] partition-id()\n", {0, 0, 4}},
    {"", "ROOT x = u64[2] rng-get-and-update-state(), delta=4\n", {0, 0, 16}},
    {"",
     "p = f32[6] parameter(0)\n ROOT x = (f32[2], s32[2]) topk(p), k=2, largest=true\n",
     {0, 0, 40}},
    {"",
     "p = f32[2,3] parameter(0)\n q = f32[3] parameter(1)\n ROOT x = f32[2,3] "
     "batch-norm-inference(p, q, q, q, q), epsilon=0.1, feature_index=1\n",
     {0, 0, 96}},
    {"",
     "p = f32[2,3] parameter(0)\n q = f32[3] parameter(1)\n ROOT x = (f32[2,3], f32[3], f32[3]) "
     "batch-norm-training(p, q, q), epsilon=0.1, feature_index=1\n",
     {0, 0, 96}},
    {"",
     "p = f32[2,3] parameter(0)\n q = f32[3] parameter(1)\n ROOT x = (f32[2,3], f32[3], f32[3]) "
     "batch-norm-grad(p, q, q, q, p), epsilon=0.1, feature_index=1\n",
     {0, 0, 132}},
    /* tuples */
    {"", P "s = s32[] parameter(1)\n ROOT x = (f32[4,5], s32[]) tuple(p, s)\n", {0, 0, 16}},
    {"", "ROOT x = () tuple()\n", {0, 0, 0}},
    {"",
     "p = (f32[4], (s32[], s32[])) parameter(0)\n ROOT x = (f32[4], (s32[], s32[])) "
     "opt-barrier(p)\n",
     {0, 0, 40}},
    /* parts of arrays */
    {"", P "ROOT x = f32[2,2] slice(p), slice={[0:4:2], [1:3]}\n", {0, 0, 32}},
    {"",
     P "i = s32[] parameter(1)\n j = s64[] parameter(2)\n ROOT x = f32[2,2] dynamic-slice(p, i, "
       "i), dynamic_slice_sizes={2,2}\n",
     {0, 0, 36}},
    {"", "p = f32[] parameter(0)\n ROOT x = f32[] slice(p), slice={}\n", {0, 0, 8}},
    {"",
     P "u = f32[2,3] parameter(1)\n i = s64[] parameter(2)\n ROOT x = f32[4,5] "
       "dynamic-update-slice(p, u, i, i)\n",
     {0, 0, 56}},
    {"",
     P "i = s32[3,1] parameter(1)\n ROOT x = f32[3,5] gather(p, i), offset_dims={1}, "
       "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}\n",
     {0, 0, 132}},
    {ADD,
     P "i = s32[3,1] parameter(1)\n u = f32[3,5] parameter(2)\n ROOT x = f32[4,5] scatter(p, i, "
       "u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
       "index_vector_dim=1, to_apply=add\n",
     {15, 0, 192}},
    {TWO,
     P Q "i = s32[3,1] parameter(2)\n u = f32[3,5] parameter(3)\n v = f32[3,5] parameter(4)\n ROOT "
         "x = (f32[4,5], f32[4,5]) scatter(p, q, i, u, v), update_window_dims={1}, "
         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
         "to_apply=two\n",
     {15, 15, 372}},
    /* products */
    {"",
     "p = f32[4,6] parameter(0)\n q = f32[6,5] parameter(1)\n ROOT x = f32[4,5] dot(p, q), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     {240, 0, 296}},
    {"",
     "p = bf16[2,4,6] parameter(0)\n q = bf16[2,6,5] parameter(1)\n ROOT x = f32[2,4,5] dot(p, q), "
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
     {480, 0, 376}},
    {"",
     "p = f32[3,4,6] parameter(0)\n q = f32[6,5,3] parameter(1)\n ROOT x = f32[4,5] dot(p, q), "
     "lhs_contracting_dims={0,2}, rhs_contracting_dims={2,0}\n",
     {720, 0, 728}},
    {"",
     "p = f32[4] parameter(0)\n q = f32[5] parameter(1)\n ROOT x = f32[4,5] dot(p, q)\n",
     {40, 0, 116}},
    {"",
     "p = f32[0,6] parameter(0)\n q = f32[6,5] parameter(1)\n ROOT x = f32[0,5] dot(p, q), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     {0, 0, 120}},
    {"",
     "p = f32[11,5] parameter(0)\n q = f32[3,5,7] parameter(1)\n s = s32[3] parameter(2)\n ROOT x "
     "= f32[11,7] ragged-dot(p, q, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}\n",
     {70, 0, 960}},
    {"",
     "p = f32[11,5] parameter(0)\n q = f32[5,7] parameter(1)\n s = s32[3] parameter(2)\n ROOT x = "
     "f32[3,11,7] ragged-dot(p, q, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}\n",
     {2310, 0, 1296}},
    {"",
     "p = f8e4m3fn[4,64] parameter(0)\n q = f8e4m3fn[64,5] parameter(1)\n s = f8e8m0fnu[4,2] "
     "parameter(2)\n t = f8e8m0fnu[2,5] parameter(3)\n ROOT x = bf16[4,5] scaled-dot(p, q, s, t), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     {2560, 0, 634}},
    /* applied computations */
    {ADD,
     P "s = f32[] parameter(1)\n ROOT x = f32[4] reduce(p, s), dimensions={1}, to_apply=add\n",
     {16, 0, 100}},
    {EXP,
     P "s = f32[] parameter(1)\n ROOT x = f32[] reduce(p, s), dimensions={0,1}, to_apply=exp\n",
     {38, 19, 88}},
    {ADD,
     "p = f32[0,5] parameter(0)\n s = f32[] parameter(1)\n ROOT x = f32[5] reduce(p, s), "
     "dimensions={0}, to_apply=add\n",
     {-5, 0, 24}},
    {FOUR,
     P Q "s = f32[] parameter(2)\n ROOT x = (f32[4], f32[4]) reduce(p, q, s, s), dimensions={1}, "
         "to_apply=four\n",
     {32, 0, 200}},
    {EXP, P Q "ROOT x = f32[4,5] map(p, q), dimensions={0,1}, to_apply=exp\n", {40, 20, 240}},
    {ADD,
     P "s = f32[] parameter(1)\n ROOT x = f32[3,4] reduce-window(p, s), window={size=2x2}, "
       "to_apply=add\n",
     {36, 0, 132}},
    {ADD,
     "p = f32[6] parameter(0)\n s = f32[] parameter(1)\n ROOT x = f32[6] reduce-window(p, s), "
     "window={size=11 pad=5_5}, to_apply=add\n",
     {6, 0, 52}},
    {ADD,
     "p = f32[6] parameter(0)\n s = f32[] parameter(1)\n ROOT x = f32[6] reduce-window(p, s), "
     "window={size=6 pad=5_0}, to_apply=add\n",
     {30, 0, 52}},
    {EXP,
     "p = f32[4,6] parameter(0)\n s = f32[] parameter(1)\n ROOT x = f32[4,6] reduce-window(p, s), "
     "window={size=1x11 pad=0_0x5_5}, to_apply=exp\n",
     {18, 9, 196}},
    {ADD,
     "p = f32[6,6] parameter(0)\n s = f32[] parameter(1)\n ROOT x = f32[6,6] reduce-window(p, s), "
     "window={size=11x11 pad=5_5x5_5}, to_apply=add\n",
     {4320, 0, 292}},
    {FOUR,
     "p = f32[6] parameter(0)\n q = f32[6] parameter(1)\n s = f32[] parameter(2)\n ROOT x = "
     "(f32[6], f32[6]) reduce-window(p, q, s, s), window={size=11 pad=5_5}, to_apply=four\n",
     {120, 0, 104}},
    {GE ADD,
     "p = f32[8] parameter(0)\n q = f32[4] parameter(1)\n s = f32[] parameter(2)\n ROOT x = f32[8] "
     "select-and-scatter(p, q, s), window={size=2 stride=2}, select=ge, scatter=add\n",
     {8, 0, 84}},
    {LT,
     "p = f32[6] parameter(0)\n ROOT x = f32[6] sort(p), dimensions={0}, to_apply=lt\n",
     {18, 0, 48}},
    {LT2,
     "p = f32[8,4] parameter(0)\n q = s32[8,4] parameter(1)\n ROOT x = (f32[8,4], s32[8,4]) "
     "sort(p, q), dimensions={1}, to_apply=lt2\n",
     {160, 0, 512}},
    {LT,
     "p = f32[0] parameter(0)\n ROOT x = f32[0] sort(p), dimensions={0}, to_apply=lt\n",
     {0, 0, 0}},
    /* linear algebra and random numbers */
    {"",
     "p = c64[2,16] parameter(0)\n ROOT x = c64[2,16] fft(p), fft_type=FFT, fft_length={16}\n",
     {1024, 0, 512}},
    {"",
     "p = f32[8,12] parameter(0)\n ROOT x = c64[8,7] fft(p), fft_type=RFFT, fft_length={8,12}\n",
     {6912, 0, 832}},
    {"",
     "p = f32[2,4,4] parameter(0)\n q = f32[2,4,3] parameter(1)\n ROOT x = f32[2,4,3] "
     "triangular-solve(p, q), left_side=true, lower=true, transpose_a=NO_TRANSPOSE\n",
     {192, 0, 256}},
    {"",
     "p = f32[2,5,5] parameter(0)\n ROOT x = f32[2,5,5] cholesky(p), lower=true\n",
     {83, 0, 200}},
    {"",
     "p = f32[] parameter(0)\n ROOT x = f32[7] rng(p, p), distribution=rng_uniform\n",
     {0, 7, 36}},
    {"",
     "p = u64[2] parameter(0)\n ROOT x = (u64[2], u32[8]) rng-bit-generator(p), "
     "algorithm=rng_default\n",
     {0, 10, 64}},
    /* collectives and transfers */
    {ADD, P "ROOT x = f32[4,5] all-reduce(p), replica_groups={}, to_apply=add\n", {20, 0, 160}},
    {ADD,
     P "q = f32[3] parameter(1)\n ROOT x = (f32[4,5], f32[3]) all-reduce(p, q), replica_groups={}, "
       "to_apply=add\n",
     {23, 0, 184}},
    {ADD,
     P "s = f32[4,5] all-reduce-start(p), replica_groups={}, to_apply=add\n ROOT x = f32[4,5] "
       "all-reduce-done(s)\n",
     {20, 0, 320}},
    {"",
     P "ROOT x = f32[8,5] all-gather(p), replica_groups={{0,1}}, dimensions={0}\n",
     {0, 0, 240}},
    {ADD,
     P
     "ROOT x = f32[2,5] reduce-scatter(p), replica_groups={{0,1}}, dimensions={0}, to_apply=add\n",
     {0, 0, 120}},
    {"",
     P "ROOT x = f32[4,5] all-to-all(p), replica_groups={{0,1}}, dimensions={0}\n",
     {0, 0, 160}},
    {"", P "ROOT x = f32[4,5] collective-permute(p), source_target_pairs={{0,1}}\n", {0, 0, 160}},
    {"", P "ROOT x = f32[4,5] collective-broadcast(p), replica_groups={{0,1}}\n", {0, 0, 160}},
    {"", P "ROOT x = (f32[4,5], f32[4,5], u32[]) copy-start(p)\n", {0, 0, 244}},
    {"",
     "p = (f32[4,5], f32[4,5], u32[]) parameter(0)\n ROOT x = f32[4,5] copy-done(p)\n",
     {0, 0, 104}},
    {"", "t = token[] parameter(0)\n ROOT x = ((f32[4], s32[]), token[]) infeed(t)\n", {0, 0, 20}},
    {"",
     "t = token[] parameter(0)\n p = (f32[4], s32[]) parameter(1)\n ROOT x = token[] outfeed(p, "
     "t), outfeed_shape=(f32[4], s32[])\n",
     {0, 0, 20}},
    {"",
     "t = token[] parameter(0)\n p = f32[4,5] parameter(1)\n ROOT x = (f32[4,5], u32[], token[]) "
     "send(p, t), channel_id=1\n",
     {0, 0, 164}},
    {"",
     "t = token[] parameter(0)\n ROOT x = (f32[4,5], u32[], token[]) recv(t), channel_id=1\n",
     {0, 0, 84}},
    /* other computations */
    {"", P "ROOT x = f32[4,5] custom-call(p), custom_call_target=\"x\"\n", {-1, 0, -1}},
    {DOUBLE_EXP, P "ROOT x = f32[4,5] call(p), to_apply=double_exp\n", {20, 20, 400}},
    {LOOP,
     "p = (s32[], f32[8]) parameter(0)\n ROOT x = (s32[], f32[8]) while(p), condition=cond, "
     "body=body\n",
     {2, 8, 101}},
    {HEAVY WIDE,
     "p = f32[8] parameter(0)\n s = pred[] parameter(1)\n ROOT x = f32[8] conditional(s, p, p), "
     "true_computation=heavy, false_computation=wide\n",
     {16, 16, 192}},
    {UNKNOWN HEAVY WIDE,
     "p = f32[8] parameter(0)\n s = s32[] parameter(1)\n ROOT x = f32[8] conditional(s, p, p, p), "
     "branch_computations={opaque_call, heavy, wide}\n",
     {16, 16, 192}},
    {UNKNOWN NOTHING,
     "p = f32[8] parameter(0)\n s = pred[] parameter(1)\n ROOT x = f32[8] conditional(s, p, p), "
     "true_computation=opaque_call, false_computation=nothing\n",
     {-1, 0, -1}},
    {DOUBLE_EXP,
     P "s = ((f32[4,5]), f32[4,5], u32[]) call-start(p), to_apply=double_exp\n ROOT x = f32[4,5] "
       "call-done(s)\n",
     {20, 20, 504}},
    {"", P "ROOT x = ((f32[4,5]), f32[4,5]) negate-start(p)\n", {20, 0, 160}},
};

START_TEST(cost_matches_xla) {
  check_case(&cases[_i]);
}
END_TEST

START_TEST(counts_saturate) {
  Analysed analysed = analyse_body(
      "",
      "p = f32[3037000500,3037000500] parameter(0)\n q = s4[4611686018427387904] parameter(1)\n"
      "a = f32[3037000500,3037000500] add(p, p)\n b = s4[4611686018427387904] negate(q)\n"
      "c = f32[4611686018427387904] iota(), iota_dimension=0\n"
      "d = f32[8,4611686018427387904] broadcast(c), dimensions={1}\n"
      "x = f32[] dot(c, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n");
  check_cost(cost_in(&analysed, "a"), (Cost){INT64_MAX, 0, INT64_MAX}, "elements overflow");
  check_cost(cost_in(&analysed, "b"), (Cost){INT64_C(1) << 62, 0, INT64_MAX}, "sum overflows");
  check_cost(cost_in(&analysed, "d"), (Cost){0, 0, INT64_MAX}, "operand overflows");
  check_cost(cost_in(&analysed, "x"), (Cost){INT64_MAX, 0, INT64_MAX}, "dot overflows");
  check_cost(cost_total(analysed.module, &analysed.table), (Cost){INT64_MAX, 0, INT64_MAX},
             "total");
  finish(analysed);
}
END_TEST

START_TEST(unknown_sizes_count_as_nothing) {
  Analysed analysed = analyse_body("",
                                   "p = f32[?,4] parameter(0)\n q = f32[4] parameter(1)\n"
                                   "x = f32[?,4] add(p, p)\n y = f32[4] add(q, q)\n");
  check_cost(cost_in(&analysed, "x"), (Cost){0}, "?");
  check_cost(cost_total(analysed.module, &analysed.table), (Cost){4, 0, 48}, "total");
  finish(analysed);
}
END_TEST

/* ---- modules that a pass has changed ---- */

START_TEST(callees_come_first_whatever_their_ids) {
  Module *module = parse_or_fail(
      "HloModule m\n"
      "one { a = f32[8] parameter(0)\n ROOT b = f32[8] tanh(a) }\n"
      "mid { a = f32[8] parameter(0)\n ROOT c = f32[8] call(a), to_apply=one }\n"
      "ENTRY e { p = f32[8] parameter(0)\n ROOT x = f32[8] call(p), to_apply=mid }\n"
      "two { a = f32[8] parameter(0)\n b = f32[8] tanh(a)\n ROOT c = f32[8] tanh(b) }\n");
  CompId two = find_comp(module, "two");
  ck_assert_uint_gt(two, find_comp(module, "mid"));
  module_set_callee(module, find_inst(module, "c"), 0, two);
  Analysed analysed = analyse(module);
  check_cost(cost_total(module, &analysed.table), (Cost){0, 16, 128}, "total");
  finish(analysed);
}
END_TEST

static const char fused_text[] =
    "HloModule m\n"
    "fused { a = f32[8] parameter(0)\n b = f32[8] tanh(a)\n ROOT c = f32[8] add(a, b) }\n"
    "ENTRY e { p = f32[8] parameter(0)\n f = f32[8] fusion(p), kind=kLoop, calls=fused\n"
    " d = f32[8] negate(p)\n ROOT x = f32[8] add(f, d) }\n";

START_TEST(removed_instructions_do_not_count) {
  Module *module = parse_or_fail(fused_text);
  module_set_operand(module, find_inst(module, "x"), 1, find_inst(module, "f"));
  module_remove_inst(module, find_inst(module, "d"));
  for (int is_swept = 0; is_swept < 2; is_swept++) {
    if (is_swept) module_sweep_comp(module, module->entry);
    Analysed analysed = analyse(module);
    check_cost(cost_total(module, &analysed.table), (Cost){16, 8, 64 + 96}, "total");
    WeightedCost weighted = cost_total_weighted(module, &analysed.table, NULL, 1, analysed.scratch);
    ck_assert_double_eq(weighted.bytes, 64 + 96);
    arena_free(analysed.scratch);
  }
  module_free(module);
}
END_TEST

static InstId clone_inst(Module *module, InstId original, Str name) {
  return module_clone_inst(module, original, name, module->entry, NULL);
}

START_TEST(clone_costs_what_its_original_does) {
  Module *module = parse_or_fail(fused_text);
  Analysed analysed = analyse(module);
  InstId fusion = clone_inst(module, find_inst(module, "f"), STR("f.remat"));
  InstId negate = clone_inst(module, find_inst(module, "d"), STR("d.remat"));
  module_set_operand(module, find_inst(module, "x"), 0, fusion);
  module_set_operand(module, find_inst(module, "x"), 1, negate);
  check_cost(cost_in(&analysed, "f.remat"), (Cost){8, 8, 64}, "fusion");
  check_cost(cost_in(&analysed, "d.remat"), (Cost){8, 0, 64}, "negate");
  DeviceProfile profile = {.memory_bandwidth = 1, .transcendentals = 1};
  for (int type = 0; type < NUM_TYPES; type++)
    profile.vector_flops[type] = 1;
  ck_assert_double_eq(cost_seconds(module, &analysed.table, &profile, fusion), 64);
  /* Both originals still stand beside their clones. */
  WeightedCost weighted = cost_total_weighted(module, &analysed.table, NULL, 1, analysed.scratch);
  ck_assert_double_eq(weighted.flops, 8 + 8 + 8 + 8 + 8);
  finish(analysed);
}
END_TEST

/* A clone of a fusion calls a copy of the computation. */
START_TEST(clone_with_its_own_computation_is_known) {
  Module *module = parse_or_fail(fused_text);
  Analysed analysed = analyse(module);
  CompId copy = module_add_comp(module, STR("fused.remat"), find_comp(module, "fused"));
  InstId a = module_clone_inst(module, find_inst(module, "a"), STR("a.remat"), copy, NULL);
  InstId b = module_clone_inst(module, find_inst(module, "b"), STR("b.remat"), copy, &a);
  InstId c =
      module_clone_inst(module, find_inst(module, "c"), STR("c.remat"), copy, (InstId[]){a, b});
  IdList params = {0};
  id_list_push(module, &params, a);
  comp_get(module, copy)->params = params;
  comp_get(module, copy)->root = c;
  InstId clone = clone_inst(module, find_inst(module, "f"), STR("f.remat"));
  module_set_callee(module, clone, 0, copy);
  check_cost(cost_in(&analysed, "f.remat"), (Cost){8, 8, 64}, "fusion");
  finish(analysed);
}
END_TEST

/* The original is gone when the clone's own clone is asked for. */
START_TEST(clone_of_a_clone_is_known) {
  Module *module = parse_or_fail(fused_text);
  InstId first = clone_inst(module, find_inst(module, "f"), STR("f.remat"));
  module_set_operand(module, find_inst(module, "x"), 0, first);
  module_remove_inst(module, find_inst(module, "f"));
  module_sweep_comp(module, module->entry);
  Analysed analysed = analyse(module);
  InstId second = clone_inst(module, first, STR("f.remat2"));
  check_cost(cost_in(&analysed, "f.remat2"), (Cost){8, 8, 64}, "fusion");
  DeviceProfile profile = {.memory_bandwidth = 2, .transcendentals = 1e9};
  for (int type = 0; type < NUM_TYPES; type++)
    profile.vector_flops[type] = 1e9;
  ck_assert_double_eq(cost_seconds(module, &analysed.table, &profile, second), 32);
  finish(analysed);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cost");
  TCase *tc = tcase_create("cost");
  tcase_add_loop_test(tc, cost_matches_xla, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, counts_saturate);
  tcase_add_test(tc, unknown_sizes_count_as_nothing);
  tcase_add_test(tc, callees_come_first_whatever_their_ids);
  tcase_add_test(tc, removed_instructions_do_not_count);
  tcase_add_test(tc, clone_costs_what_its_original_does);
  tcase_add_test(tc, clone_with_its_own_computation_is_known);
  tcase_add_test(tc, clone_of_a_clone_is_known);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
