"""Small modules for test_advise.py."""

UPDATE = """HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[4096]{0}, f32[4096]{0})->(f32[4096]{0}, f32[])}

ENTRY e {
  w = f32[4096]{0} parameter(0), metadata={op_name="state.params['w']"}
  g = f32[4096]{0} parameter(1), metadata={op_name="batch"}
  zero = f32[] constant(0)
  n = f32[4096]{0} subtract(w, g), metadata={op_name="jit(step)/sub" source_file="/home/me/train.py" source_line=12}
  ROOT r = (f32[4096]{0}, f32[]) tuple(n, zero)
}
"""

# The state of an optimizer that goes on every few steps only: what the conditional hands on or adds to is a new version.
SOMETIMES = """HloModule jit_update, is_scheduled=true

skip {
  p = (f32[4096]{0}, f32[4096]{0}) parameter(0)
  a = f32[4096]{0} get-tuple-element(p), index=0
  m = f32[4096]{0} get-tuple-element(p), index=1
  ROOT r = (f32[4096]{0}, f32[4096]{0}) tuple(a, m)
}

go_on {
  p = (f32[4096]{0}, f32[4096]{0}) parameter(0)
  a = f32[4096]{0} get-tuple-element(p), index=0
  m = f32[4096]{0} get-tuple-element(p), index=1
  zero = f32[] constant(0)
  z = f32[4096]{0} broadcast(zero), dimensions={}
  n = f32[4096]{0} add(m, a)
  ROOT r = (f32[4096]{0}, f32[4096]{0}) tuple(z, n)
}

ENTRY e {
  now = pred[] parameter(0), metadata={op_name="state['now']"}
  a = f32[4096]{0} parameter(1), metadata={op_name="state['sum']"}
  m = f32[4096]{0} parameter(2), metadata={op_name="state['mu']"}
  g = f32[4096]{0} parameter(3), metadata={op_name="batch"}
  s = f32[4096]{0} add(a, g), metadata={op_name="jit(update)/add"}
  t = (f32[4096]{0}, f32[4096]{0}) tuple(s, m)
  c = (f32[4096]{0}, f32[4096]{0}) conditional(now, t, t), true_computation=go_on, false_computation=skip, metadata={op_name="jit(update)/cond"}
  sum = f32[4096]{0} get-tuple-element(c), index=0
  mu = f32[4096]{0} get-tuple-element(c), index=1
  ROOT r = (pred[], f32[4096]{0}, f32[4096]{0}) tuple(now, sum, mu)
}
"""

# A network of which each row is computed alone, and one with a mean over all rows. There are positions in each row, which
# products have merged with the rows.
ROWS = """HloModule jit_render, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = f32[64,8,4]{2,1,0} parameter(0), metadata={op_name="rays"}
  w = f32[4,256]{1,0} parameter(1), metadata={op_name="weights"}
  v = f32[256,3]{1,0} parameter(2), metadata={op_name="last"}
  k = f32[256,256]{1,0} parameter(3), metadata={op_name="middle"}
  zero = f32[] constant(0)
  m = f32[512,4]{1,0} reshape(x)
  h = f32[512,256]{1,0} dot(m, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(render)/dot_general"}
  t = f32[512,256]{1,0} tanh(h)
  n = f32[512,256]{1,0} dot(t, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(render)/dot_general"}
  y = f32[512,3]{1,0} dot(n, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(render)/dot_general"}
  p = f32[64,8,3]{2,1,0} reshape(y)
  ROOT r = f32[64,3]{1,0} reduce(p, zero), dimensions={1}, to_apply=sum
}
"""
NORMED_ROWS = ROWS.replace("  y = f32", """  q = f32[256]{0} reduce(n, zero), dimensions={0}, to_apply=sum
  b = f32[512,256]{1,0} broadcast(q), dimensions={1}
  u = f32[512,256]{1,0} subtract(n, b)
  y = f32""").replace("dot(n, v)", "dot(u, v)")

# A mean over all rows in the end, and one that each row needs.
COUNTED_ROWS = ROWS.replace("  ROOT r = f32[64,3]{1,0} reduce(p, zero), dimensions={1}", "  ROOT r = f32[3]{0} reduce(p, zero), dimensions={0,1}")
# Factors of each, which are returned.
RETURNED_FACTORS = """HloModule jit_factors, is_scheduled=true

ENTRY e {
  a = f32[64,64]{1,0} parameter(0), metadata={op_name="a"}
  c = (f32[64,64]{1,0}, f32[64]{0}) custom-call(a), custom_call_target="lapack_ssyevd_ffi", metadata={op_name="jit(factors)/eigh"}
  v = f32[64,64]{1,0} get-tuple-element(c), index=0
  w = f32[64]{0} get-tuple-element(c), index=1
  ROOT r = (f32[64]{0}, f32[64,64]{1,0}) tuple(w, v)
}
"""

# Neighbours of a grid, which are nearly as large as the grid itself.
NEIGHBOURS = """HloModule jit_smooth, is_scheduled=true

ENTRY e {
  x = f32[64,64]{1,0} parameter(0), metadata={op_name="x"}
  a = f32[64,63]{1,0} slice(x), slice={[0:64], [0:63]}
  b = f32[64,63]{1,0} slice(x), slice={[0:64], [1:64]}
  s = f32[64,63]{1,0} add(a, b)
  t = f32[64,63]{1,0} tanh(s)
  zero = f32[] constant(0)
  ROOT r = f32[64,64]{1,0} pad(t, zero), padding=0_0x0_1
}
"""

# Factors of a matrix, which no library computes row by row.
FACTORS = """HloModule jit_solve, is_scheduled=true

ENTRY e {
  x = f32[256,2]{1,0} parameter(0), metadata={op_name="x"}
  k = f32[256,256]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  c = f32[256,256]{1,0} custom-call(k), custom_call_target="lapack_spotrf_ffi"
  d = f32[256,256]{1,0} add(c, c)
  ROOT r = f32[256,2]{1,0} dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

# A recurrent network, of which no operation is known, that returns its states: the gradients of the states come from a
# stack of their own, and the states are not what the backward loop needs again.
RETURNED_STATES = """HloModule jit_step, is_scheduled=true

done {
  p = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(64)
  ROOT l = pred[] compare(i, n), direction=LT
}

step {
  p = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  h = f32[1024]{0} get-tuple-element(p), index=1
  hs = f32[64,1024]{1,0} get-tuple-element(p), index=2
  us = f32[64,1024]{1,0} get-tuple-element(p), index=3
  vs = f32[64,1024]{1,0} get-tuple-element(p), index=4
  u = f32[1024]{0} custom-call(h), custom_call_target="cell", metadata={op_name="jit(step)/jvp()/while/body/cell"}
  v = f32[1024]{0} custom-call(u), custom_call_target="cell", metadata={op_name="jit(step)/jvp()/while/body/cell"}
  s = f32[1024]{0} add(h, v)
  zero = s32[] constant(0)
  one = s32[] constant(1)
  ur = f32[1,1024]{1,0} bitcast(u)
  vr = f32[1,1024]{1,0} bitcast(v)
  sr = f32[1,1024]{1,0} bitcast(s)
  hs1 = f32[64,1024]{1,0} dynamic-update-slice(hs, sr, i, zero)
  us1 = f32[64,1024]{1,0} dynamic-update-slice(us, ur, i, zero)
  vs1 = f32[64,1024]{1,0} dynamic-update-slice(vs, vr, i, zero)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) tuple(j, s, hs1, us1, vs1)
}

back_done {
  p = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(64)
  ROOT l = pred[] compare(i, n), direction=LT
}

back {
  p = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  d = f32[1024]{0} get-tuple-element(p), index=1
  ds = f32[64,1024]{1,0} get-tuple-element(p), index=2
  us = f32[64,1024]{1,0} get-tuple-element(p), index=3
  vs = f32[64,1024]{1,0} get-tuple-element(p), index=4
  zero = s32[] constant(0)
  one = s32[] constant(1)
  last = s32[] constant(63)
  k = s32[] subtract(last, i)
  dr = f32[1,1024]{1,0} dynamic-slice(ds, k, zero), dynamic_slice_sizes={1,1024}
  ur = f32[1,1024]{1,0} dynamic-slice(us, k, zero), dynamic_slice_sizes={1,1024}
  vr = f32[1,1024]{1,0} dynamic-slice(vs, k, zero), dynamic_slice_sizes={1,1024}
  db = f32[1024]{0} bitcast(dr)
  ub = f32[1024]{0} bitcast(ur)
  vb = f32[1024]{0} bitcast(vr)
  e = f32[1024]{0} add(d, db)
  f = f32[1024]{0} multiply(e, ub)
  g = f32[1024]{0} multiply(f, vb)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) tuple(j, g, ds, us, vs)
}

ENTRY e {
  x = f32[1024]{0} parameter(0), metadata={op_name="x"}
  zero = s32[] constant(0)
  none = f32[] constant(0)
  two = f32[] constant(2)
  a = f32[64,1024]{1,0} broadcast(none), dimensions={}
  b = f32[64,1024]{1,0} broadcast(none), dimensions={}
  c = f32[64,1024]{1,0} broadcast(none), dimensions={}
  y = f32[1024]{0} copy(x)
  t = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) tuple(zero, y, a, b, c)
  w = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) while(t), condition=done, body=step, metadata={op_name="jit(step)/jvp()/while" source_file="/home/me/train.py" source_line=9}, backend_config={"known_trip_count":{"n":"64"}}
  hs = f32[64,1024]{1,0} get-tuple-element(w), index=2
  us = f32[64,1024]{1,0} get-tuple-element(w), index=3
  vs = f32[64,1024]{1,0} get-tuple-element(w), index=4
  twos = f32[64,1024]{1,0} broadcast(two), dimensions={}
  ds = f32[64,1024]{1,0} multiply(hs, twos), metadata={op_name="jit(step)/transpose(jvp())/mul"}
  z = f32[1024]{0} broadcast(none), dimensions={}
  zero2 = s32[] constant(0)
  q = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) tuple(zero2, z, ds, us, vs)
  o = (s32[], f32[1024]{0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}, f32[64,1024]{1,0}) while(q), condition=back_done, body=back, metadata={op_name="jit(step)/transpose(jvp())/while" source_file="/home/me/train.py" source_line=9}, backend_config={"known_trip_count":{"n":"64"}}
  ROOT r = f32[1024]{0} get-tuple-element(o), index=1
}
"""

# An update that is fused with the gradient's product, as XLA:TPU does, of two arrays at once.
FUSED_UPDATE = """HloModule jit_step, is_scheduled=true

update {
  w = f32[256,256]{1,0} parameter(0)
  m = f32[256,256]{1,0} parameter(1)
  x = f32[8,256]{1,0} parameter(2)
  g = f32[256,256]{1,0} dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  n = f32[256,256]{1,0} add(m, g)
  v = f32[256,256]{1,0} subtract(w, n)
  ROOT r = (f32[256,256]{1,0}, f32[256,256]{1,0}) tuple(v, n)
}

ENTRY e {
  w = f32[256,256]{1,0} parameter(0), metadata={op_name="weights"}
  m = f32[256,256]{1,0} parameter(1), metadata={op_name="moments"}
  x = f32[8,256]{1,0} parameter(2), metadata={op_name="batch"}
  ROOT f = (f32[256,256]{1,0}, f32[256,256]{1,0}) fusion(w, m, x), kind=kOutput, calls=update
}
"""

# Gradients that are summed up over four devices, a moment that only the update reads, and weights that a product
# reads.
MOMENTUM = """HloModule jit_step, is_scheduled=true, num_partitions=4, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  w = f32[256,256]{1,0} parameter(0), metadata={op_name="weights"}
  m = f32[256,256]{1,0} parameter(1), metadata={op_name="state.mu['w']"}
  x = f32[8,256]{1,0} parameter(2), metadata={op_name="batch"}
  y = f32[8,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/dot_general"}
  d = f32[256,256]{1,0} dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  g = f32[256,256]{1,0} all-reduce(d), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum
  n = f32[256,256]{1,0} add(m, g)
  v = f32[256,256]{1,0} subtract(w, n)
  ROOT r = (f32[256,256]{1,0}, f32[256,256]{1,0}) tuple(v, n)
}
"""

# Rows of 4096 columns, which a softmax sums up row by row, and a loss that is a number for each row.
LOGITS = """HloModule jit_loss, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  h = f32[512,16]{1,0} parameter(0), metadata={op_name="h"}
  w = f32[16,4096]{1,0} parameter(1), metadata={op_name="w"}
  zero = f32[] constant(0)
  z = f32[512,4096]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(loss)/dot_general" source_file="/home/me/train.py" source_line=30}
  x = f32[512,4096]{1,0} exponential(z), metadata={op_name="jit(loss)/exp" source_file="/home/me/train.py" source_line=31}
  y = f32[512,4096]{1,0} multiply(x, z), metadata={op_name="jit(loss)/mul" source_file="/home/me/train.py" source_line=32}
  ROOT r = f32[512]{0} reduce(y, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(loss)/reduce_sum" source_file="/home/me/train.py" source_line=33}
}
"""

# Means over a batch and its places, as a batch norm has them: no row is done alone.
BATCH_NORM = """HloModule jit_norm, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  h = f32[4096,16]{1,0} parameter(0)
  w = f32[16,64]{1,0} parameter(1)
  zero = f32[] constant(0)
  p = f32[4096,64]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[64,64,64]{2,1,0} reshape(p)
  m = f32[64]{0} reduce(z, zero), dimensions={0,1}, to_apply=sum
  c = f32[64,64,64]{2,1,0} broadcast(m), dimensions={2}
  d = f32[64,64,64]{2,1,0} subtract(z, c)
  ROOT r = f32[64,64]{1,0} reduce(d, zero), dimensions={2}, to_apply=sum
}
"""

NARROW = """HloModule jit_narrow, is_scheduled=true

ENTRY e {
  p = f32[40000]{0} parameter(0)
  x = f32[40000,1]{1,0:T(8,128)} reshape(p), metadata={op_name="jit(f)/reshape" source_file="/home/me/train.py" source_line=7}
  y = f32[40000,1]{1,0:T(8,128)} sine(x)
  ROOT r = f32[40000]{0} reshape(y)
}
"""

WIDE = """HloModule jit_wide, is_scheduled=true

ENTRY e {
  p = bf16[65536]{0} parameter(0)
  c = f32[65536]{0} convert(p), metadata={op_name="jit(f)/convert" source_file="/home/me/train.py" source_line=9}
  s = f32[65536]{0} sine(c)
  ROOT r = f32[65536]{0} add(c, s)
}
"""

# XLA:GPU puts gradients together for one sum over devices, and cuts them out of it.
TOGETHER = MOMENTUM.replace("(1, {}, may-alias)", "(1, {}, may-alias), {2}: (3, {}, may-alias), {3}: (4, {}, may-alias)").replace(
    "  g = f32[256,256]{1,0} all-reduce(d)", """  u = f32[256,256]{1,0} parameter(3), metadata={op_name="weights"}
  o = f32[256,256]{1,0} parameter(4), metadata={op_name="state.mu['u']"}
  z = f32[8,256]{1,0} dot(y, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/dot_general"}
  e = f32[256,256]{1,0} dot(y, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  da = f32[65536]{0} bitcast(d)
  ea = f32[65536]{0} bitcast(e)
  all = f32[131072]{0} concatenate(da, ea), dimensions={0}
  sums = f32[131072]{0} all-reduce(all)""").replace("  n = f32", """  gs = f32[65536]{0} slice(sums), slice={[0:65536]}
  hs = f32[65536]{0} slice(sums), slice={[65536:131072]}
  g = f32[256,256]{1,0} bitcast(gs)
  h = f32[256,256]{1,0} bitcast(hs)
  k = f32[256,256]{1,0} add(o, h)
  q = f32[256,256]{1,0} subtract(u, k)
  n = f32""").replace("ROOT r = (f32[256,256]{1,0}, f32[256,256]{1,0}) tuple(v, n)",
                      "ROOT r = (f32[256,256]{1,0}, f32[256,256]{1,0}, f32[256,256]{1,0}, f32[256,256]{1,0}) tuple(v, n, q, k)")

# A softmax of logits whose loss is returned beside the gradient of the weights, and computed last, as XLA:CPU does: the
# logits wait for that. With pieces, the loop that computes the loss is over before the one of the gradients begins.
LOSS_LAST = """HloModule jit_loss, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  h = f32[512,32]{1,0} parameter(0), metadata={op_name="h"}
  w = f32[32,4096]{1,0} parameter(1), metadata={op_name="w"}
  zero = f32[] constant(0)
  z = f32[512,4096]{1,0} dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(loss)/jvp()/dot_general"}
  e = f32[512,4096]{1,0} exponential(z), metadata={op_name="jit(loss)/jvp()/exp"}
  s = f32[512]{0} reduce(e, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(loss)/jvp()/reduce_sum"}
  b = f32[512,4096]{1,0} broadcast(s), dimensions={0}, metadata={op_name="jit(loss)/transpose(jvp())/broadcast_in_dim"}
  d = f32[512,4096]{1,0} divide(e, b), metadata={op_name="jit(loss)/transpose(jvp())/div"}
  dw = f32[32,4096]{1,0} dot(h, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(loss)/transpose(jvp())/dot_general"}
  m = f32[512]{0} reduce(z, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(loss)/jvp()/reduce_sum"}
  l = f32[512]{0} log(s), metadata={op_name="jit(loss)/jvp()/log"}
  t = f32[512]{0} subtract(l, m), metadata={op_name="jit(loss)/jvp()/sub"}
  v = f32[] reduce(t, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(loss)/jvp()/reduce_sum"}
  ROOT r = (f32[32,4096]{1,0}, f32[]) tuple(dw, v)
}
"""

# Weights that are gathered in the forward part, and read again in the backward part; what is in between
# takes the most memory.
GATHERED = """HloModule jit_step, is_scheduled=true, num_partitions=4

ENTRY e {
  x = f32[64,256]{1,0} parameter(0)
  w = f32[64,256]{1,0} parameter(1)
  big = f32[1024,64]{1,0} parameter(2)
  g = f32[256,256]{1,0} all-gather(w), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true, metadata={op_name="jit(step)/jvp()/all_gather" source_file="/home/me/train.py" source_line=40}
  h = f32[64,256]{1,0} dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp()/dot_general"}
  t = f32[1024,64]{1,0} tanh(big), metadata={op_name="jit(step)/jvp()/tanh"}
  s = f32[64,64]{1,0} dot(t, t), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp()/dot_general"}
  k = f32[64,256]{1,0} dot(s, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp())/dot_general"}
  ROOT d = f32[64,256]{1,0} dot(k, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(step)/transpose(jvp())/dot_general"}
}
"""


def unrolled(names, nameless=False, constant_in=None, files=(), saved_before=False):
    """A training step of some residual layers, x + narrow(tanh(wide(x))), in the order of XLA:CPU, each layer under a scope
    of this name. With `nameless`, what comes between the products has no metadata, as a fusion that XLA has cut has none;
    with `constant_in`, a broadcast that all layers read, made in that layer's scope, where XLA has merged them; with
    `saved_before`, the wide product is there twice, first for the backward part, which reads it in another form."""
    rows, narrow, wide = 512, 64, 256
    lines = [f"  x0 = f32[{rows},{narrow}]{{1,0}} parameter(0), metadata={{op_name=\"x\"}}"]
    count, weights, big, small = len(names), [], f"f32[{rows},{wide}]{{1,0}}", f"f32[{rows},{narrow}]{{1,0}}"

    def emit(name, shape, text, op, layer=None, part="jvp"):
        wrapped = f"jvp({names[layer]})" if layer is not None else "jvp()"
        path = f"jit(f)/{wrapped if part == 'jvp' else f'transpose({wrapped})'}/{op}"
        meta = "" if op is None else f", metadata={{op_name=\"{path}\"}}"
        lines.append(f"  {name} = {shape} {text}{meta}")
    for i in range(count):
        lines.append(f"  wu{i} = f32[{narrow},{wide}]{{1,0}} parameter({2 * i + 1}), metadata={{op_name=\"w[{i}].u\"}}")
        lines.append(f"  wv{i} = f32[{wide},{narrow}]{{1,0}} parameter({2 * i + 2}), metadata={{op_name=\"w[{i}].v\"}}")
        weights += [f"f32[{narrow},{wide}]{{1,0}}", f"f32[{wide},{narrow}]{{1,0}}"]
    if constant_in is not None:
        emit("one", "f32[]", "constant(1)", "constant")
        emit("ones", big, "broadcast(one), dimensions={}", "mul", constant_in)
    dot = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    for i in range(count):
        if saved_before:
            emit(f"saved{i}", big, f"dot(x{i}, wu{i}), {dot}", "dot_general", i)
            emit(f"flat{i}", f"f32[{rows * wide}]{{0}}", f"bitcast(saved{i})", None)
        emit(f"z{i}", big, f"dot(x{i}, wu{i}), {dot}", "dot_general", i)
        emit(f"t{i}", big, f"tanh(z{i})", None if nameless else "tanh", i)
        emit(f"h{i}", big, f"multiply(t{i}, {'ones' if constant_in is not None else f't{i}'})",
             None if nameless else "mul", i)
        emit(f"y{i}", small, f"dot(h{i}, wv{i}), {dot}", "dot_general", i)
        emit(f"x{i + 1}", small, f"add(x{i}, y{i})", "add", i)
    emit("g%d" % count, small, f"add(x{count}, x{count})", "mul", None, "transpose")
    for i in reversed(range(count)):
        g = f"g{i + 1}"
        emit(f"dh{i}", big, f"dot({g}, wv{i}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}", "dot_general", i, "t")
        emit(f"dv{i}", weights[2 * i + 1], f"dot(h{i}, {g}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}",
             "dot_general", i, "t")
        emit(f"dt{i}", big, f"multiply(dh{i}, t{i})", "mul", i, "t")
        if saved_before:
            emit(f"form{i}", big, f"bitcast(flat{i})", None)
        emit(f"dz{i}", big, f"multiply(dt{i}, {'form' if saved_before else 'z'}{i})", "mul", i, "t")
        emit(f"du{i}", weights[2 * i], f"dot(x{i}, dz{i}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}",
             "dot_general", i, "t")
        emit(f"dx{i}", small, f"dot(dz{i}, wu{i}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}", "dot_general", i,
             "t")
        emit(f"g{i}", small, f"add({g}, dx{i})", "add_any", i, "t")
    results = ", ".join(f"du{i}, dv{i}" for i in range(count))
    lines.append(f"  ROOT r = ({', '.join(weights)}) tuple({results})")
    table = "".join(f'{i} "{file}"\n' for i, file in enumerate(files, 1))
    table = f"FileNames\n{table}\nFunctionNames\n\nFileLocations\n\nStackFrames\n\n" if files else ""
    return "HloModule jit_f, is_scheduled=true\n\n" + table + "ENTRY e {\n" + "\n".join(lines) + "\n}\n"

# Bytes of an array of the wide and of the narrow width in unrolled().
WIDE_BYTES, NARROW_BYTES = 512 * 256 * 4, 512 * 64 * 4

# A step of decoding: a row is written into each of two caches.
CACHES = """HloModule jit_decode, is_scheduled=true

write {
  a = f32[64,256]{1,0} parameter(0)
  b = f32[1,256]{1,0} parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  ROOT u = f32[64,256]{1,0} dynamic-update-slice(a, b, i, z)
}

ENTRY e {
  k = f32[64,256]{1,0} parameter(0), metadata={op_name="keys"}
  v = f32[64,256]{1,0} parameter(1), metadata={op_name="values"}
  x = f32[1,256]{1,0} parameter(2), metadata={op_name="x"}
  i = s32[] parameter(3), metadata={op_name="position"}
  n = f32[64,256]{1,0} fusion(k, x, i), kind=kLoop, calls=write
  m = f32[64,256]{1,0} fusion(v, x, i), kind=kLoop, calls=write
  ROOT r = (f32[64,256]{1,0}, f32[64,256]{1,0}) tuple(n, m)
}
"""

# Logits of each row are returned.
RETURNED = """HloModule jit_evaluate, is_scheduled=true

ENTRY e {
  w = f32[16,1024]{1,0} parameter(0), metadata={op_name="w"}
  x = f32[512,16]{1,0} parameter(1), metadata={op_name="x"}
  ROOT z = f32[512,1024]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(evaluate)/dot_general"}
}
"""

# Eight members, each of which sees all samples.
ENSEMBLE = """HloModule jit_step, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  w = f32[8,16,16]{2,1,0} parameter(0), metadata={op_name="w"}
  x = f32[512,16]{1,0} parameter(1), metadata={op_name="x"}
  zero = f32[] constant(0)
  h = f32[8,512,16]{2,1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  t = f32[8,512,16]{2,1,0} tanh(h)
  y = f32[8,512,16]{2,1,0} dot(t, w), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  l = f32[8]{0} reduce(y, zero), dimensions={1,2}, to_apply=sum
  g = f32[8,16,16]{2,1,0} dot(t, y), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  ROOT r = (f32[8]{0}, f32[8,16,16]{2,1,0}) tuple(l, g)
}
"""

# Scores that are padded for the product that reads them, as XLA:GPU does.
PADDED = """HloModule jit_scores, is_scheduled=true

pad {
  a = f32[512,1001]{1,0} parameter(0)
  z = f32[] constant(0)
  ROOT p = f32[512,1008]{1,0} pad(a, z), padding=0_0x0_7
}

ENTRY e {
  a = f32[512,1]{1,0} parameter(0), metadata={op_name="a"}
  b = f32[1,1001]{1,0} parameter(1), metadata={op_name="b"}
  v = f32[1008,4]{1,0} parameter(2), metadata={op_name="v"}
  s = f32[512,1001]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(scores)/dot_general" source_file="/home/me/train.py" source_line=30}
  x = f32[512,1001]{1,0} exponential(s), metadata={op_name="jit(scores)/exp" source_file="/home/me/train.py" source_line=31}
  p = f32[512,1008]{1,0} fusion(x), kind=kLoop, calls=pad, metadata={op_name="jit(scores)/dot_general" source_file="/home/me/train.py" source_line=32}
  ROOT r = f32[512,4]{1,0} dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(scores)/dot_general" source_file="/home/me/train.py" source_line=32}
}
"""

# Rows of a table, by a product with a one-hot array.
ONE_HOT = """HloModule jit_embed, is_scheduled=true

hot {
  i = s32[512]{0} parameter(0)
  b = s32[512,1000]{1,0} broadcast(i), dimensions={0}
  n = s32[1000]{0} iota(), iota_dimension=0
  c = s32[512,1000]{1,0} broadcast(n), dimensions={1}
  e = pred[512,1000]{1,0} compare(b, c), direction=EQ
  ROOT f = f32[512,1000]{1,0} convert(e)
}

ENTRY e {
  t = f32[1000,4]{1,0} parameter(0), metadata={op_name="table"}
  i = s32[512]{0} parameter(1), metadata={op_name="ids"}
  h = f32[512,1000]{1,0} fusion(i), kind=kLoop, calls=hot, metadata={op_name="jit(embed)/jit(_one_hot)/eq" source_file="/home/me/train.py" source_line=8}
  ROOT r = f32[512,4]{1,0} dot(h, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(embed)/dot_general" source_file="/home/me/train.py" source_line=8}
}
"""

# A donated array, a row of which is replaced, and whose old rows are summed up, which may run after that.
COPIED = """HloModule jit_step, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  b = f32[64,256]{1,0} parameter(0), metadata={op_name="buffer"}
  x = f32[1,256]{1,0} parameter(1), metadata={op_name="x"}
  i = s32[] parameter(2), metadata={op_name="position"}
  z = s32[] constant(0)
  zero = f32[] constant(0)
  c = f32[64,256]{1,0} copy(b)
  n = f32[64,256]{1,0} dynamic-update-slice(b, x, i, z), metadata={op_name="jit(step)/scatter" source_file="/home/me/train.py" source_line=4}
  t = f32[64]{0} reduce(c, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(step)/reduce_sum" source_file="/home/me/train.py" source_line=5}
  ROOT r = (f32[64,256]{1,0}, f32[64]{0}) tuple(n, t)
}
"""


def scans(lines):
    """Forward loops that stack what they carry, and its tanh, for backward loops; at these lines."""
    stack, row = "f32[16,4096]{1,0}", "f32[4096]{0}"
    state = f"(s32[], {row}, {stack}, {stack})"
    text = "HloModule jit_step, is_scheduled=true\n"
    begin = "x0"
    entry = f"""
ENTRY e {{
  x0 = {row} parameter(0), metadata={{op_name="x"}}
  null = f32[] constant(0)
  first = s32[] constant(0)
"""
    for n in range(len(lines)):
        entry += f"  empty.h{n} = {stack} broadcast(null), dimensions={{}}\n"
        entry += f"  empty.c{n} = {stack} broadcast(null), dimensions={{}}\n"
    for n, line in enumerate(lines):
        place = f'source_file="model.py" source_line={line}'
        text += f"""
less{n} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(16)
  ROOT l = pred[] compare(i, n), direction=LT
}}

forth{n} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  c = {row} get-tuple-element(s), index=1
  hs = {stack} get-tuple-element(s), index=2
  cs = {stack} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  h = {row} tanh(c), metadata={{op_name="jit(step)/jvp()/while/body/tanh" source_file="model.py" source_line=3}}
  h.row = f32[1,4096]{{1,0}} reshape(h)
  hs.next = {stack} dynamic-update-slice(hs, h.row, i, zero)
  c.row = f32[1,4096]{{1,0}} reshape(c)
  cs.next = {stack} dynamic-update-slice(cs, c.row, i, zero)
  d = {row} multiply(h, c), metadata={{op_name="jit(step)/jvp()/while/body/mul" source_file="model.py" source_line=3}}
  j = s32[] add(i, one)
  ROOT r = {state} tuple(j, d, hs.next, cs.next)
}}

back{n} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = {row} get-tuple-element(s), index=1
  hs = {stack} get-tuple-element(s), index=2
  cs = {stack} get-tuple-element(s), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  last = s32[] constant(15)
  at = s32[] subtract(last, i)
  h.row = f32[1,4096]{{1,0}} dynamic-slice(hs, at, zero), dynamic_slice_sizes={{1,4096}}
  h = {row} reshape(h.row)
  c.row = f32[1,4096]{{1,0}} dynamic-slice(cs, at, zero), dynamic_slice_sizes={{1,4096}}
  c = {row} reshape(c.row)
  p = {row} multiply(g, c)
  q = {row} multiply(p, h)
  j = s32[] add(i, one)
  ROOT r = {state} tuple(j, q, hs, cs)
}}
"""
        entry += f"""  init{n} = {state} tuple(first, {begin}, empty.h{n}, empty.c{n})
  forth{n}.loop = {state} while(init{n}), condition=less{n}, body=forth{n}, metadata={{op_name="jit(step)/jvp()/while" {place}}}
  y{n} = {row} get-tuple-element(forth{n}.loop), index=1
  hs{n} = {stack} get-tuple-element(forth{n}.loop), index=2
  cs{n} = {stack} get-tuple-element(forth{n}.loop), index=3
"""
        begin = f"y{n}"
    for n, line in reversed(list(enumerate(lines))):
        entry += f"""  late{n} = {state} tuple(first, {begin}, hs{n}, cs{n})
  back{n}.loop = {state} while(late{n}), condition=less{n}, body=back{n}, metadata={{op_name="jit(step)/transpose(jvp())/while" source_file="model.py" source_line={line}}}
  {"" if n else "ROOT "}z{n} = {row} get-tuple-element(back{n}.loop), index=1
"""
        begin = f"z{n}"
    return text + entry + "}\n"


def parts(count, is_chain=False, is_one_gradient=False):
    """Parts of a loop of Python, each with an array that is wider than what it begins and ends with, in the order in which
    XLA:CPU takes what is ready. In a chain each needs the one before."""
    text = """HloModule jit_step, is_scheduled=true

ENTRY e {
  x = f32[1024]{0} parameter(0), metadata={op_name="x"}
"""
    lines = [[] for _ in range(3)]
    begin, sums = "x", []
    for n in range(count):
        name = 'op_name="jit(step)/jvp()/' if is_one_gradient else 'op_name="jit(step)/'
        place = 'source_file="train.py" source_line=7'
        lines[0].append(f'  wide{n} = f32[64,1024]{{1,0}} broadcast({begin}), dimensions={{1}}, metadata={{{name}exp" {place}}}\n')
        lines[1].append(f'  exp{n} = f32[64,1024]{{1,0}} exponential(wide{n}), metadata={{{name}mul" {place}}}\n')
        lines[2].append(f"  cut{n} = f32[1,1024]{{1,0}} slice(exp{n}), slice={{[0:1], [0:1024]}}\n"
                        f"  row{n} = f32[1024]{{0}} reshape(cut{n})\n")
        begin = f"row{n}" if is_chain else "x"
        sums.append(f"row{n}")
    order = [one for each in zip(*lines) for one in each] if is_chain else [one for each in lines for one in each]
    text += "".join(order)
    total = sums[0]
    for n in range(1, count):
        name = "jit(step)/transpose(jvp())/add_any" if is_one_gradient else "jit(step)/add"
        text += f'  sum{n} = f32[1024]{{0}} add({total}, row{n}), metadata={{op_name="{name}" source_file="train.py" source_line=8}}\n'
        total = f"sum{n}"
    return text + f"  ROOT r = f32[1024]{{0}} negate({total})\n}}\n"


# A step of decoding for eight sequences, whose caches are written in place.
CACHES_OF_ROWS = """HloModule jit_decode, is_scheduled=true, input_output_alias={ {1}: (0, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  c = f32[8,512,64]{2,1,0} parameter(0), metadata={op_name="cache"}
  x = f32[8,1,64]{2,1,0} parameter(1), metadata={op_name="x"}
  i = s32[] parameter(2), metadata={op_name="position"}
  z = s32[] constant(0)
  zero = f32[] constant(0)
  n = f32[8,512,64]{2,1,0} dynamic-update-slice(c, x, z, i, z)
  y = f32[8,64]{1,0} reduce(n, zero), dimensions={1}, to_apply=sum
  ROOT r = (f32[8,64]{1,0}, f32[8,512,64]{2,1,0}) tuple(y, n)
}
"""

# Gradients of each row, as differential privacy needs them: scaled row by row, and added up.
GRADIENTS_OF_ROWS = """HloModule jit_step, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  w = f32[256,64]{1,0} parameter(0), metadata={op_name="w"}
  x = f32[32,256]{1,0} parameter(1), metadata={op_name="x"}
  zero = f32[] constant(0)
  h = f32[32,64]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/vmap(jvp())/dot_general" source_file="train.py" source_line=5}
  a = f32[32,256,64]{2,1,0} broadcast(x), dimensions={0,1}, metadata={op_name="jit(step)/vmap(transpose(jvp()))/mul" source_file="train.py" source_line=5}
  b = f32[32,256,64]{2,1,0} broadcast(h), dimensions={0,2}, metadata={op_name="jit(step)/vmap(transpose(jvp()))/mul" source_file="train.py" source_line=5}
  g = f32[32,256,64]{2,1,0} multiply(a, b), metadata={op_name="jit(step)/vmap(transpose(jvp()))/mul" source_file="train.py" source_line=5}
  q = f32[32,256,64]{2,1,0} multiply(g, g), metadata={op_name="jit(step)/vmap()/mul" source_file="train.py" source_line=8}
  n = f32[32]{0} reduce(q, zero), dimensions={1,2}, to_apply=sum, metadata={op_name="jit(step)/vmap()/reduce_sum" source_file="train.py" source_line=8}
  m = f32[32,256,64]{2,1,0} broadcast(n), dimensions={0}, metadata={op_name="jit(step)/vmap()/div" source_file="train.py" source_line=9}
  d = f32[32,256,64]{2,1,0} divide(g, m), metadata={op_name="jit(step)/vmap()/div" source_file="train.py" source_line=9}
  t = f32[256,64]{1,0} reduce(d, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(step)/reduce_sum" source_file="train.py" source_line=12}
  ROOT r = f32[256,64]{1,0} subtract(w, t), metadata={op_name="jit(step)/sub" source_file="train.py" source_line=13}
}
"""

# Gradients of an energy of all pairs of rows.
PAIRS = """HloModule jit_step, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = f32[512,3]{1,0} parameter(0), metadata={op_name="x"}
  zero = f32[] constant(0)
  p = f32[512,512]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(step)/jvp()/dot_general" source_file="train.py" source_line=5}
  c = f32[512,512]{1,0} cosine(p), metadata={op_name="jit(step)/jvp()/cos" source_file="train.py" source_line=6}
  l = f32[512]{0} reduce(c, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(step)/jvp()/reduce_sum" source_file="train.py" source_line=6}
  b = f32[512,512]{1,0} broadcast(l), dimensions={0}, metadata={op_name="jit(step)/jvp()/mul" source_file="train.py" source_line=7}
  m = f32[512,512]{1,0} multiply(c, b), metadata={op_name="jit(step)/jvp()/mul" source_file="train.py" source_line=7}
  k = f32[512]{0} reduce(m, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(step)/jvp()/reduce_sum" source_file="train.py" source_line=7}
  d = f32[512,512]{1,0} broadcast(k), dimensions={1}, metadata={op_name="jit(step)/transpose(jvp())/mul" source_file="train.py" source_line=7}
  s = f32[512,512]{1,0} multiply(d, m), metadata={op_name="jit(step)/transpose(jvp())/mul" source_file="train.py" source_line=7}
  ROOT r = f32[512]{0} reduce(s, zero), dimensions={1}, to_apply=sum, metadata={op_name="jit(step)/transpose(jvp())/reduce_sum" source_file="train.py" source_line=5}
}
"""

# What XLA:GPU makes of two products: one in parts that are added up, and one that a library computes in memory of its own.
DIVIDED = """HloModule jit_power, is_scheduled=true

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  a = f32[256,256]{1,0} parameter(0), metadata={op_name="a"}
  zero = f32[] constant(0)
  b = f32[4,64,256]{2,1,0} bitcast(a)
  c = f32[256,4,64]{2,1,0} bitcast(a)
  p = f32[4,256,256]{2,1,0} dot(c, b), lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, metadata={op_name="jit(power)/dot_general" source_file="power.py" source_line=3}
  s = f32[256,256]{1,0} reduce(p, zero), dimensions={0}, to_apply=sum, metadata={op_name="jit(power)/dot_general" source_file="power.py" source_line=3}
  q = (f32[256,256]{1,0}, s8[4194304]{0}) custom-call(s, a), custom_call_target="__cublas$gemm", metadata={op_name="jit(power)/dot_general" source_file="power.py" source_line=4}
  g = f32[256,256]{1,0} get-tuple-element(q), index=0
  ROOT r = f32[256,256]{1,0} negate(g), metadata={op_name="jit(power)/neg" source_file="power.py" source_line=5}
}
"""
