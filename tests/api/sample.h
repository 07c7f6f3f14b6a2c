/* A module with a little of everything that the library looks at: a loop whose body says how often
 * it runs, a custom call whose cost is noted, a fusion, names of operations, memory to save. */
#ifndef REMAT_HLO_TESTS_API_SAMPLE_H
#define REMAT_HLO_TESTS_API_SAMPLE_H

#define SAMPLE_TEXT                                                                              \
  "HloModule sample, is_scheduled=true\n\n"                                                      \
  "double {\n  x = f32[1024] parameter(0)\n  ROOT y = f32[1024] add(x, x)\n}\n\n"                \
  "less {\n  s = (s32[], f32[1024]) parameter(0)\n"                                              \
  "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(3)\n"                         \
  "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"                                         \
  "turn {\n  t = (s32[], f32[1024]) parameter(0)\n"                                              \
  "  j = s32[] get-tuple-element(t), index=0\n  one = s32[] constant(1)\n"                       \
  "  k = s32[] add(j, one)\n  v = f32[1024] get-tuple-element(t), index=1\n"                     \
  "  w = f32[1024] sine(v)\n  ROOT u = (s32[], f32[1024]) tuple(k, w)\n}\n\n"                    \
  "ENTRY e {\n  p = f32[1] parameter(0)\n  reshape = f32[] reshape(p)\n"                         \
  "  bcast = f32[1024] broadcast(reshape), dimensions={}, metadata={op_name=\"jit(f)/b/bcast\" " \
  "source_file=\"f.py\" source_line=3}\n"                                                        \
  "  negate = f32[1024] negate(bcast), metadata={op_name=\"jit(f)/b/neg\"}\n"                    \
  "  fused = f32[1024] fusion(negate), kind=kLoop, calls=double\n"                               \
  "  concat1 = f32[3072] concatenate(negate, fused, negate), dimensions={0}\n"                   \
  "  slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                                            \
  "  call = f32[1] custom-call(slice1), custom_call_target=\"f\", "                              \
  "backend_config={\"cost_estimate\":{\"flops\":\"9\",\"bytes_accessed\":\"8\"}}\n"              \
  "  zero = s32[] constant(0)\n  init = (s32[], f32[1024]) tuple(zero, bcast)\n"                 \
  "  loop = (s32[], f32[1024]) while(init), condition=less, body=turn, "                         \
  "backend_config={\"known_trip_count\":{\"n\":\"3\"}}\n"                                        \
  "  last = f32[1024] get-tuple-element(loop), index=1\n"                                        \
  "  concat2 = f32[1025] concatenate(last, call), dimensions={0}\n"                              \
  "  ROOT root = f32[1] slice(concat2), slice={[0:1]}\n}\n"

#define SAMPLE_PROFILE                                                                            \
  "{\"name\": \"toy\", \"description\": \"a toy\", \"source\": \"none\", \"memory_bytes\": 1000," \
  " \"memory_bandwidth\": 40, \"flops\": {\"default\": 10, \"bf16\": 20},"                        \
  " \"vector_flops\": {\"default\": 10}, \"transcendentals\": 2, \"host_to_device\": 1,"          \
  " \"device_to_host\": 1, \"interconnect\": 1, \"kernel_seconds\": 0}"

/* With a clock, for estimates of XLA:TPU. */
#define SAMPLE_CLOCKED                                                                            \
  "{\"name\": \"toy\", \"description\": \"a toy\", \"source\": \"none\", \"memory_bytes\": 1000," \
  " \"memory_bandwidth\": 40, \"flops\": {\"default\": 10}, \"vector_flops\": {\"default\": 10}," \
  " \"transcendentals\": 2, \"host_to_device\": 1, \"device_to_host\": 1, \"interconnect\": 1,"   \
  " \"kernel_seconds\": 0, \"clock\": 1e9}"

#define SAMPLE_ESTIMATED                                                                  \
  "HloModule m\nENTRY e {\n p = f32[8,128]{1,0} parameter(0)\n ROOT a = f32[8,128]{1,0} " \
  "negate(p), backend_config={\"window_config\":{\"estimated_cycles\":\"9000\"}}\n}\n"

#define SAMPLE_TRACE                                                                       \
  "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"x\"," \
  "\"args\":{"                                                                             \
  "\"hlo_module\":\"m\",\"hlo_op\":\"neg\"}}]}"

#define SAMPLE_RANGES "id,lower,upper,size\na,0,4,16\nb,2,6,32\nc,5,9,8\n"

#endif
