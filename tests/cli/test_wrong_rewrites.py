#!/usr/bin/env python3
"""Wrong rewrites of modules that are past copy-insertion, made by hand: `verify` refuses each.

Each of them computes the same as HLO defines it, or nearly, but not in the memory that XLA gives the
values: something is read after it was overwritten. usage: test_wrong_rewrites.py TOOL [CLASS...]

A rewrite is a list of edits of a module: (what a line says, what it says instead). An edit whose
first half is moved has an empty second half there and a second edit that puts it elsewhere.
"""

import tool
from tool import ToolTest

ADD = "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n"

# Weights w are donated to the new weights n, the averages e to the new averages m.
DONATED = """HloModule step, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
ENTRY main {
  w = f32[64] parameter(0)
  e = f32[64] parameter(1)
  g = f32[64] parameter(2)
  a = f32[64] sine(w)
  b = f32[64] cosine(e)
  c = f32[64] multiply(a, g)
  n = f32[64] subtract(w, c)
  d = f32[64] add(b, c)
  m = f32[64] add(e, d)
  k = f32[64] multiply(n, a)
  l = f32[64] multiply(m, b)
  ROOT out = (f32[64], f32[64], f32[64], f32[64]) tuple(n, m, k, l)
}
"""

# One branch updates the averages in the memory of the old ones, the other one hands them through.
BRANCHES = """HloModule average, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
keep {
  kp = (f32[64], f32[64]) parameter(0)
  kw = f32[64] get-tuple-element(kp), index=0
  ROOT ke = f32[64] get-tuple-element(kp), index=1
}
update {
  up = (f32[64], f32[64]) parameter(0)
  uw = f32[64] get-tuple-element(up), index=0
  ue = f32[64] get-tuple-element(up), index=1
  ua = f32[64] cosine(ue)
  ub = f32[64] multiply(ua, uw)
  ROOT un = f32[64] add(ue, ub)
}
ENTRY main {
  w = f32[64] parameter(0)
  e = f32[64] parameter(1)
  step = s32[] parameter(2)
  a = f32[64] sine(w)
  f = f32[64] sine(e)
  n = f32[64] subtract(w, a)
  t = (f32[64], f32[64]) tuple(n, e)
  m = f32[64] conditional(step, t, t), branch_computations={keep, update}
  k = f32[64] multiply(m, a)
  l = f32[64] multiply(f, n)
  ROOT out = (f32[64], f32[64], f32[64], f32[64]) tuple(n, m, k, l)
}
"""

# A cache of 8 rows, one of which each iteration fills in place; the loop takes over what init made.
LOOP = """HloModule decode, is_scheduled=true
condition {
  cp = (s32[], f32[8,64], f32[64]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(8)
  ROOT less = pred[] compare(ci, cn), direction=LT
}
body {
  p = (s32[], f32[8,64], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  cache = f32[8,64] get-tuple-element(p), index=1
  x = f32[64] get-tuple-element(p), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  old = f32[1,64] dynamic-slice(cache, i, zero), dynamic_slice_sizes={1,64}
  o = f32[64] reshape(old)
  s = f32[64] add(x, o)
  y = f32[64] sine(s)
  q = f32[64] multiply(y, x)
  row = f32[1,64] reshape(y)
  filled = f32[8,64] dynamic-update-slice(cache, row, i, zero)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[8,64], f32[64]) tuple(next, filled, q)
}
ENTRY main {
  w = f32[8,64] parameter(0)
  v = f32[64] parameter(1)
  start = s32[] parameter(2)
  init = f32[8,64] negate(w)
  u = f32[64] negate(v)
  h = f32[64] exponential(u)
  begin = s32[] copy(start)
  t = (s32[], f32[8,64], f32[64]) tuple(begin, init, u)
  loop = (s32[], f32[8,64], f32[64]) while(t), condition=condition, body=body
  last = f32[64] get-tuple-element(loop), index=2
  all = f32[8,64] get-tuple-element(loop), index=1
  z = f32[64] add(last, h)
  ROOT out = (f32[8,64], f32[64]) tuple(all, z)
}
"""

# Copies that copy-insertion has made: of what is updated in place but read later, or the caller's.
COPIES = """HloModule copies, is_scheduled=true
ENTRY main {
  p = f32[64] parameter(0)
  u = f32[1] parameter(1)
  i = s32[] parameter(2)
  x = f32[64] sine(p)
  x2 = f32[64] copy(x)
  d = f32[64] dynamic-update-slice(x2, u, i)
  p2 = f32[64] copy(p)
  f = f32[64] dynamic-update-slice(p2, u, i)
  c = f32[64] constant({...})
  c2 = f32[64] copy(c)
  g = f32[64] dynamic-update-slice(c2, u, i)
  y = f32[64] add(x, d)
  y2 = f32[64] copy(y)
  s = f32[1] dynamic-slice(y2, i), dynamic_slice_sizes={1}
  h = f32[64] dynamic-update-slice(y, s, i)
  j = f32[64] add(f, g)
  ROOT out = (f32[64], f32[64], f32[64]) tuple(y2, h, j)
}
"""

# Branches that swap, hand through and sort; what the conditional returns is read afterwards.
SWITCH = """HloModule switch, is_scheduled=true
first {
  fp = (f32[64], f32[64]) parameter(0)
  fa = f32[64] get-tuple-element(fp), index=0
  fb = f32[64] get-tuple-element(fp), index=1
  fc = f32[64] copy(fb)
  fd = f32[64] copy(fa)
  ROOT fr = (f32[64], f32[64]) tuple(fc, fd)
}
second {
  sp = (f32[64], f32[64]) parameter(0)
  sa = f32[64] get-tuple-element(sp), index=0
  sb = f32[64] get-tuple-element(sp), index=1
  sc = f32[64] sine(sa)
  sd = f32[64] multiply(sc, sb)
  ROOT sr = (f32[64], f32[64]) tuple(sc, sd)
}
ENTRY main {
  p = f32[64] parameter(0)
  q = f32[64] parameter(1)
  k = s32[] parameter(2)
  a = f32[64] sine(p)
  b = f32[64] cosine(q)
  e = f32[64] multiply(a, b)
  t = (f32[64], f32[64]) tuple(a, b)
  r = (f32[64], f32[64]) conditional(k, t, t), branch_computations={first, second}
  r0 = f32[64] get-tuple-element(r), index=0
  r1 = f32[64] get-tuple-element(r), index=1
  u = f32[64] add(r0, e)
  ROOT out = (f32[64], f32[64]) tuple(u, r1)
}
"""

# Side effects, and a conditional in a loop whose carry one branch updates in place.
NESTED = """HloModule nested, is_scheduled=true
skip {
  kp = (f32[64], f32[64]) parameter(0)
  ROOT ks = f32[64] get-tuple-element(kp), index=0
}
apply {
  ap = (f32[64], f32[64]) parameter(0)
  aw = f32[64] get-tuple-element(ap), index=0
  ag = f32[64] get-tuple-element(ap), index=1
  ah = f32[64] sine(aw)
  aj = f32[64] multiply(ah, ag)
  ROOT an = f32[64] subtract(aw, aj)
}
condition {
  cp = (s32[], f32[64]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(4)
  ROOT less = pred[] compare(ci, cn), direction=LT
}
body {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  w = f32[64] get-tuple-element(p), index=1
  one = s32[] constant(1)
  f = f32[64] cosine(w)
  g = f32[64] exponential(f)
  t = (f32[64], f32[64]) tuple(w, g)
  bit = s32[] and(i, one)
  n = f32[64] conditional(bit, t, t), branch_computations={skip, apply}
  h = f32[64] add(n, g)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[64]) tuple(next, h)
}
ENTRY main {
  v = f32[64] parameter(0)
  start = s32[] parameter(1)
  first = token[] after-all()
  u = f32[64] negate(v)
  z = f32[64] exponential(u)
  begin = s32[] copy(start)
  t = (s32[], f32[64]) tuple(begin, u)
  sent = token[] outfeed(z, first), outfeed_shape=f32[64]
  loop = (s32[], f32[64]) while(t), condition=condition, body=body
  o = f32[64] get-tuple-element(loop), index=1
  done = token[] outfeed(o, sent), outfeed_shape=f32[64]
  ROOT out = f32[64] add(o, z)
}
"""


class WrongRewrites(ToolTest):
    def refuse(self, module, *edits, says="overwritten"):
        before = module
        for old, new in edits:
            self.assertEqual(module.count(old), 1, f"{old!r} is not once in the module")
            module = module.replace(old, new)
        self.write("before.hlo", before)
        self.write("after.hlo", module)
        same = self.expect(0, "verify", "before.hlo", "before.hlo")
        self.assertEqual(same.err, "")
        err = self.expect(1, "verify", "before.hlo", "after.hlo").err
        self.assertIn(says, err)
        # Where XLA would still insert copies, most of them are right.
        if says == "overwritten":
            self.expect(0, "verify", "before.hlo", "after.hlo", "--copies=pending")
        return err

    def move(self, module, line, before, **kwargs):
        """The line that begins with `line` goes before the one that begins with `before`."""
        lines = module.splitlines(keepends=True)
        moved = [text for text in lines if text.startswith(f"  {line} =")]
        self.assertEqual(len(moved), 1)
        lines.remove(moved[0])
        at = [k for k, text in enumerate(lines) if text.startswith(f"  {before} =")]
        self.assertEqual(len(at), 1)
        lines.insert(at[0], moved[0])
        self.refuse_text(module, "".join(lines), **kwargs)

    def refuse_text(self, before, after, says="overwritten"):
        self.write("before.hlo", before)
        self.write("after.hlo", after)
        self.expect(0, "verify", "before.hlo", "before.hlo")
        self.assertIn(says, self.expect(1, "verify", "before.hlo", "after.hlo").err)


class DonatedParameters(WrongRewrites):
    def test_clone_after_the_output_that_takes_it_over(self):
        err = self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                                    "  a.remat = f32[64] sine(w)\n  k = f32[64] multiply(n, a.remat)"))
        self.assertIn("'w' is read by 'a.remat' after 'n' has overwritten it", err)

    def test_clone_of_the_other_one(self):
        self.refuse(DONATED, ("  l = f32[64] multiply(m, b)",
                              "  b.remat = f32[64] cosine(e)\n  l = f32[64] multiply(m, b.remat)"))

    def test_both_clones(self):
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  a.remat = f32[64] sine(w)\n  k = f32[64] multiply(n, a.remat)"),
                    ("  l = f32[64] multiply(m, b)",
                     "  b.remat = f32[64] cosine(e)\n  l = f32[64] multiply(m, b.remat)"))

    def test_chain_of_clones(self):
        self.refuse(DONATED, ("  d = f32[64] add(b, c)",
                              "  a.remat = f32[64] sine(w)\n"
                              "  c.remat = f32[64] multiply(a.remat, g)\n"
                              "  d = f32[64] add(b, c.remat)"))

    def test_clone_of_the_output(self):
        """It would be computed from what it has itself overwritten."""
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  n.remat = f32[64] subtract(w, c)\n  k = f32[64] multiply(n.remat, a)"))

    def test_through_a_bitcast(self):
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  w.remat = f32[64] bitcast(w)\n  a.remat = f32[64] sine(w.remat)\n"
                              "  k = f32[64] multiply(n, a.remat)"))

    def test_through_a_barrier(self):
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  w.remat = f32[64] opt-barrier(w)\n  a.remat = f32[64] sine(w.remat)\n"
                              "  k = f32[64] multiply(n, a.remat)"))

    def test_through_a_tuple(self):
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  t.remat = (f32[64], f32[64]) tuple(g, w)\n"
                              "  w.remat = f32[64] get-tuple-element(t.remat), index=1\n"
                              "  a.remat = f32[64] sine(w.remat)\n  k = f32[64] multiply(n, a.remat)"))

    def test_reader_moved_across_the_write(self):
        self.refuse(DONATED, ("  b = f32[64] cosine(e)\n", ""),
                    ("  d = f32[64] add(b, c)\n", ""),
                    ("  m = f32[64] add(e, d)\n",
                     "  b0 = f32[64] cosine(e)\n  d = f32[64] add(b0, c)\n  m = f32[64] add(e, d)\n"
                     "  b = f32[64] cosine(e)\n"))

    def test_write_moved_up(self):
        self.refuse(DONATED, ("  n = f32[64] subtract(w, c)\n", ""),
                    ("  a = f32[64] sine(w)\n",
                     "  a0 = f32[64] sine(w)\n  c0 = f32[64] multiply(a0, g)\n"
                     "  n = f32[64] subtract(w, c0)\n  a = f32[64] sine(w)\n"))

    def test_copy_of_the_parameter_after_it(self):
        self.refuse(DONATED, ("  k = f32[64] multiply(n, a)",
                              "  w.copy = f32[64] copy(w)\n  a.remat = f32[64] sine(w.copy)\n"
                              "  k = f32[64] multiply(n, a.remat)"))

    def test_exchanged_donations(self):
        self.refuse(DONATED, ("{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)",
                              "{0}: (1, {}, may-alias), {1}: (0, {}, may-alias)"),
                    says="input_output_alias")

    def test_one_donation_more(self):
        self.refuse(DONATED, ("{1}: (1, {}, may-alias) }",
                              "{1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }"),
                    says="input_output_alias")


class Branches(WrongRewrites):
    def test_clone_of_what_reads_donated_weights(self):
        self.refuse(BRANCHES, ("  k = f32[64] multiply(m, a)",
                               "  a.remat = f32[64] sine(w)\n  k = f32[64] multiply(m, a.remat)"))

    def test_clone_after_the_conditional(self):
        self.refuse(BRANCHES, ("  l = f32[64] multiply(f, n)",
                               "  f.remat = f32[64] sine(e)\n  l = f32[64] multiply(f.remat, n)"))

    def test_reader_moved_after_the_conditional(self):
        self.move(BRANCHES, "f", "l")

    def test_reader_of_donated_weights_moved(self):
        self.refuse(BRANCHES, ("  a = f32[64] sine(w)\n", ""),
                    ("  n = f32[64] subtract(w, a)\n",
                     "  a0 = f32[64] sine(w)\n  n = f32[64] subtract(w, a0)\n  a = f32[64] sine(w)\n"))

    def test_clone_in_the_branch(self):
        """Two updates in place, and a read of what the first one has replaced."""
        module = BRANCHES.replace(
            "  ROOT un = f32[64] add(ue, ub)\n",
            "  z = s32[] constant(0)\n  us = f32[1] slice(ub), slice={[0:1]}\n"
            "  uf = f32[1] slice(ua), slice={[1:2]}\n  ux = f32[1] add(us, uf)\n"
            "  ud = f32[64] dynamic-update-slice(ue, us, z)\n"
            "  ROOT un = f32[64] dynamic-update-slice(ud, ux, z)\n")
        self.refuse(module, ("  uf = f32[1] slice(ua), slice={[1:2]}\n  ux = f32[1] add(us, uf)\n", ""),
                    ("  ROOT un", "  ua.remat = f32[64] cosine(ue)\n"
                     "  uf = f32[1] slice(ua.remat), slice={[1:2]}\n  ux = f32[1] add(us, uf)\n"
                     "  ROOT un"))

    def test_exchanged_branches(self):
        self.refuse(BRANCHES, ("{keep, update}", "{update, keep}"), says="differ")

    def test_hands_the_other_one_through(self):
        self.refuse(BRANCHES, ("  ROOT ke = f32[64] get-tuple-element(kp), index=1",
                               "  ROOT ke = f32[64] get-tuple-element(kp), index=0"), says="differ")

    def test_old_weights_for_the_branch(self):
        self.refuse(BRANCHES, ("  t = (f32[64], f32[64]) tuple(n, e)",
                               "  t = (f32[64], f32[64]) tuple(w, e)"), says="differ")

    def test_weights_recomputed_for_the_branch(self):
        self.refuse(BRANCHES, ("  t = (f32[64], f32[64]) tuple(n, e)",
                               "  n.remat = f32[64] subtract(w, a)\n"
                               "  t = (f32[64], f32[64]) tuple(n.remat, e)"))

    def test_conditional_moved_up(self):
        """The weights that it reads are new ones: the averages' sine is read after the update."""
        self.move(BRANCHES, "f", "k")

    def test_passed_on_although_overwritten(self):
        """The conditional comes first, and somebody reads the old averages instead of its result."""
        self.refuse(BRANCHES, ("  k = f32[64] multiply(m, a)",
                               "  f.remat = f32[64] sine(e)\n  k = f32[64] multiply(m, a)"),
                    ("  l = f32[64] multiply(f, n)", "  l = f32[64] multiply(f.remat, n)"))


class Loops(WrongRewrites):
    def test_old_carry_read_after_the_loop(self):
        self.refuse(LOOP, ("  z = f32[64] add(last, h)",
                           "  h.remat = f32[64] exponential(u)\n  z = f32[64] add(last, h.remat)"))

    def test_reader_moved_after_the_loop(self):
        self.move(LOOP, "h", "z")

    def test_initial_value_instead_of_the_result(self):
        self.refuse(LOOP, ("tuple(all, z)", "tuple(init, z)"), says="differ")

    def test_cache_read_after_it_was_filled(self):
        self.refuse(LOOP, ("  next = s32[] add(i, one)\n",
                           "  old.remat = f32[1,64] dynamic-slice(cache, i, zero), "
                           "dynamic_slice_sizes={1,64}\n  o.remat = f32[64] reshape(old.remat)\n"
                           "  s.remat = f32[64] add(x, o.remat)\n  y.remat = f32[64] sine(s.remat)\n"
                           "  next = s32[] add(i, one)\n"),
                    ("  q = f32[64] multiply(y, x)\n", ""),
                    ("  ROOT r =", "  q = f32[64] multiply(y.remat, x)\n  ROOT r ="))

    def test_reader_in_the_body_moved(self):
        self.refuse(LOOP, ("  filled = f32[8,64] dynamic-update-slice(cache, row, i, zero)\n",
                           "  filled = f32[8,64] dynamic-update-slice(cache, row, i, zero)\n"
                           "  filled.remat = f32[8,64] dynamic-update-slice(cache, row, i, zero)\n"),
                    ("tuple(next, filled, q)", "tuple(next, filled.remat, q)"))

    def test_counter_of_the_iteration_before(self):
        self.refuse(LOOP, ("tuple(next, filled, q)", "tuple(i, filled, q)"), says="differ")

    def test_carry_stays_old(self):
        self.refuse(LOOP, ("tuple(next, filled, q)", "tuple(next, cache, q)"), says="differ")

    def test_dropped_copy_of_the_counter(self):
        """The loop would count in the caller's memory."""
        self.refuse(LOOP, ("  begin = s32[] copy(start)\n", ""), ("tuple(begin,", "tuple(start,"))

    def test_one_value_for_two_carries(self):
        module = LOOP.replace("(s32[], f32[8,64], f32[64])", "(s32[], f32[8,64], f32[64], f32[64])")
        module = module.replace("(next, filled, q)", "(next, filled, q, e)")
        module = module.replace("  q = f32", "  x1 = f32[64] get-tuple-element(p), index=3\n"
                                "  e = f32[64] sine(x1)\n  q = f32")
        module = module.replace("  h = f32", "  uu = f32[64] negate(v)\n  h = f32")
        module = module.replace("tuple(begin, init, u)", "tuple(begin, init, u, uu)")
        self.refuse(module, ("  uu = f32[64] negate(v)\n", ""), ("init, u, uu)", "init, u, u)"))

    def test_swapped_without_copies(self):
        module = LOOP.replace("(s32[], f32[8,64], f32[64])", "(s32[], f32[8,64], f32[64], f32[64])")
        module = module.replace("(next, filled, q)", "(next, filled, x2, q2)")
        module = module.replace("  q = f32", "  x1 = f32[64] get-tuple-element(p), index=3\n  q = f32")
        module = module.replace("  next = s32", "  x2 = f32[64] copy(x1)\n  q2 = f32[64] copy(q)\n"
                                "  next = s32")
        module = module.replace("  h = f32", "  uu = f32[64] negate(v)\n  h = f32")
        module = module.replace("tuple(begin, init, u)", "tuple(begin, init, u, uu)")
        self.refuse(module, ("  x2 = f32[64] copy(x1)\n", ""), ("filled, x2,", "filled, x1,"))

    def test_swapped_branches_of_a_carry(self):
        self.refuse(NESTED, ("{skip, apply}", "{apply, skip}"), says="differ")

    def test_carry_read_after_the_branch_that_updates_it(self):
        self.refuse(NESTED, ("  h = f32[64] add(n, g)",
                             "  f.remat = f32[64] cosine(w)\n  g.remat = f32[64] exponential(f.remat)\n"
                             "  h = f32[64] add(n, g.remat)"))

    def test_reader_of_a_carry_moved_after_the_branches(self):
        self.refuse(NESTED, ("  f = f32[64] cosine(w)\n  g = f32[64] exponential(f)\n", ""),
                    ("  t = (f32[64], f32[64]) tuple(w, g)\n",
                     "  f0 = f32[64] cosine(w)\n  g0 = f32[64] exponential(f0)\n"
                     "  t = (f32[64], f32[64]) tuple(w, g0)\n"),
                    ("  h = f32[64]", "  f = f32[64] cosine(w)\n  g = f32[64] exponential(f)\n"
                     "  h = f32[64]"))

    def test_nested_initial_value_read_after_the_loop(self):
        self.refuse(NESTED, ("  ROOT out = f32[64] add(o, z)",
                             "  z.remat = f32[64] exponential(u)\n  ROOT out = f32[64] add(o, z.remat)"))


class Copies(WrongRewrites):
    def test_dropped_copy_of_what_is_read_later(self):
        self.refuse(COPIES, ("  x2 = f32[64] copy(x)\n", ""), ("slice(x2,", "slice(x,"))

    def test_dropped_copy_of_a_parameter(self):
        self.refuse(COPIES, ("  p2 = f32[64] copy(p)\n", ""), ("slice(p2,", "slice(p,"))

    def test_dropped_copy_of_a_constant(self):
        self.refuse(COPIES, ("  c2 = f32[64] copy(c)\n", ""), ("slice(c2,", "slice(c,"))

    def test_copy_after_the_update(self):
        self.refuse(COPIES, ("  y2 = f32[64] copy(y)\n", ""),
                    ("  s = f32[1] dynamic-slice(y2, i)", "  s = f32[1] dynamic-slice(y, i)"),
                    ("  j = f32[64] add(f, g)\n", "  j = f32[64] add(f, g)\n  y2 = f32[64] copy(y)\n"))

    def test_two_updates_of_one_copy(self):
        self.refuse(COPIES, ("  p2 = f32[64] copy(p)\n", "  p2 = f32[64] copy(p)\n"
                             "  f.remat = f32[64] dynamic-update-slice(p2, u, i)\n"),
                    ("  j = f32[64] add(f, g)", "  j = f32[64] add(f.remat, g)"))

    def test_update_recomputed_from_what_it_replaced(self):
        self.refuse(COPIES, ("  y = f32[64] add(x, d)",
                             "  d.remat = f32[64] dynamic-update-slice(x2, u, i)\n"
                             "  y = f32[64] add(x, d.remat)"))

    def test_reads_where_it_writes(self):
        """The update is cut out of what it goes into."""
        self.refuse(COPIES, ("  y2 = f32[64] copy(y)\n", ""), ("dynamic-slice(y2, i)", "dynamic-slice(y, i)"),
                    ("tuple(y2, h, j)", "tuple(y, h, j)"))


class Fusions(WrongRewrites):
    # The fusion reads all of x, and writes into it.
    MODULE = """HloModule fused, is_scheduled=true
update {
  a = f32[64] parameter(0)
  i = s32[] parameter(1)
  s = f32[1] slice(a), slice={[5:6]}
  d = f32[64] dynamic-update-slice(a, s, i)
  n = f32[64] negate(a)
  ROOT r = (f32[64], f32[64]) tuple(d, n)
}
ENTRY main {
  p = f32[64] parameter(0)
  i = s32[] parameter(1)
  x = f32[64] sine(p)
  f = (f32[64], f32[64]) fusion(x, i), kind=kLoop, calls=update
  d = f32[64] get-tuple-element(f), index=0
  n = f32[64] get-tuple-element(f), index=1
  ROOT out = f32[64] add(d, n)
}
"""

    def test_written_out(self):
        before, after = self.MODULE.split("ENTRY")
        after = "HloModule fused, is_scheduled=true\nENTRY" + after.replace(
            "  f = (f32[64], f32[64]) fusion(x, i), kind=kLoop, calls=update\n"
            "  d = f32[64] get-tuple-element(f), index=0\n"
            "  n = f32[64] get-tuple-element(f), index=1\n",
            "  s = f32[1] slice(x), slice={[5:6]}\n  d = f32[64] dynamic-update-slice(x, s, i)\n"
            "  n = f32[64] negate(x)\n")
        self.refuse_text(self.MODULE, after)

    def test_what_the_tool_writes(self):
        self.write("before.hlo", self.MODULE)
        self.expect(0, "before.hlo", "--unfuse=all", "-o", "after.hlo", "-q")
        self.assertIn("fusion(", self.read("after.hlo"))
        self.expect(0, "verify", "before.hlo", "after.hlo")
        self.expect(0, "before.hlo", "--unfuse=all", "--copies=pending", "-o", "after.hlo", "-q")
        self.assertNotIn("fusion(", self.read("after.hlo"))
        self.expect(1, "verify", "before.hlo", "after.hlo")


class Conditionals(WrongRewrites):
    def test_operand_read_after_it(self):
        module = SWITCH.replace("  fc = f32[64] copy(fb)\n  fd = f32[64] copy(fa)\n",
                                "  z = s32[] constant(0)\n  g = f32[1] slice(fb), slice={[0:1]}\n"
                                "  fd = f32[64] negate(fb)\n"
                                "  fc = f32[64] dynamic-update-slice(fa, g, z)\n")
        self.refuse(module, ("  u = f32[64] add(r0, e)",
                             "  e.remat = f32[64] multiply(a, b)\n  u = f32[64] add(r0, e.remat)"))

    def test_dropped_copies_of_a_swap(self):
        module = SWITCH.replace("  sc = f32[64] sine(sa)\n  sd = f32[64] multiply(sc, sb)\n",
                                "  z = s32[] constant(0)\n  g = f32[1] slice(sb), slice={[0:1]}\n"
                                "  sc = f32[64] dynamic-update-slice(sa, g, z)\n"
                                "  sd = f32[64] dynamic-update-slice(sb, g, z)\n")
        self.refuse(module, ("  fc = f32[64] copy(fb)\n  fd = f32[64] copy(fa)\n", ""),
                    ("tuple(fc, fd)", "tuple(fb, fa)"))

    def test_one_result_twice(self):
        self.refuse(SWITCH, ("tuple(sc, sd)", "tuple(sc, sc)"), says="differ")

    def test_other_operand(self):
        self.refuse(SWITCH, ("  t = (f32[64], f32[64]) tuple(a, b)",
                             "  t = (f32[64], f32[64]) tuple(b, a)"), says="differ")


class SideEffects(WrongRewrites):
    def test_swapped(self):
        self.refuse(NESTED, ("outfeed(z, first)", "outfeed(o, first)"),
                    ("outfeed(o, sent)", "outfeed(z, sent)"),
                    ("  sent = token[] outfeed(o, first), outfeed_shape=f32[64]\n", ""),
                    ("  done =", "  sent = token[] outfeed(o, first), outfeed_shape=f32[64]\n  done ="),
                    says="differ")

    def test_twice(self):
        self.refuse(NESTED, ("  ROOT out", "  again = token[] outfeed(o, done), outfeed_shape=f32[64]\n"
                             "  ROOT out"), says="differ")

    def test_of_a_recomputed_value_that_is_gone(self):
        self.refuse(NESTED, ("  done = token[] outfeed(o, sent), outfeed_shape=f32[64]\n",
                             "  done = token[] outfeed(o, sent), outfeed_shape=f32[64]\n"
                             "  z.remat = f32[64] exponential(u)\n"),
                    ("add(o, z)", "add(o, z.remat)"))


class OpenOrders(WrongRewrites):
    """Unscheduled modules that have their copies: XLA will choose an order of which only dependencies
    are known."""

    # What reads w is computed before n, which depends on it: c does.
    BEFORE = DONATED.replace(", is_scheduled=true", "")

    def check(self, code, *edits):
        after = self.BEFORE
        for old, new in edits:
            self.assertEqual(after.count(old), 1, old)
            after = after.replace(old, new)
        self.write("before.hlo", self.BEFORE)
        self.write("after.hlo", after)
        self.expect(0, "verify", "before.hlo", "before.hlo", "--copies=inserted")
        return self.expect(code, "verify", "before.hlo", "after.hlo", "--copies=inserted").err

    CLONE = ("  a = f32[64] sine(w)\n", "  a = f32[64] sine(w)\n  a.remat = f32[64] sine(w)\n")
    LATE = ("  k = f32[64] multiply(n, a)", "  k = f32[64] multiply(n, a.remat)")
    OTHERS = ("  c = f32[64] multiply(a, g)", "  c = f32[64] multiply(a.remat, g)")

    def test_clone_that_may_come_late(self):
        err = self.check(1, self.CLONE, self.LATE)
        self.assertIn("nothing keeps 'n' from overwriting 'w' before 'a.remat' reads it", err)

    def test_original_that_may_come_late(self):
        """The clone comes before n now; a, which did, need not any more."""
        err = self.check(1, self.CLONE, self.OTHERS)
        self.assertIn("nothing keeps 'n' from overwriting 'w' before 'a' reads it", err)

    def test_control_dependency(self):
        held = ("subtract(w, c)", "subtract(w, c), control-predecessors={a.remat}")
        self.check(0, self.CLONE, self.LATE, held)

    def test_what_the_tool_writes(self):
        self.write("before.hlo", self.BEFORE)
        self.run_tool("before.hlo", "--copies=inserted", "--emit=unscheduled", "-mmin", "-o", "after.hlo",
                      "--small-node-limit=0", "--memory-model=xla-remat", "--algorithm=standard")
        self.expect(0, "verify", "before.hlo", "after.hlo", "--copies=inserted")


class OpenOrdersOfTuples(WrongRewrites):
    """A call reads two donated parameters through one tuple: it must come before both overwriters, of
    which only the first one in the text is its next."""

    HELD = """HloModule step, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
both {
  p = (f32[64], f32[64]) parameter(0)
  x = f32[64] get-tuple-element(p), index=0
  y = f32[64] get-tuple-element(p), index=1
  ROOT s = f32[64] add(x, y)
}
ENTRY main {
  w = f32[64] parameter(0)
  e = f32[64] parameter(1)
  t = (f32[64], f32[64]) tuple(w, e)
  r = f32[64] call(t), to_apply=both
  n = f32[64] sine(w), control-predecessors={r}
  m = f32[64] cosine(e), control-predecessors={r}
  ROOT out = (f32[64], f32[64], f32[64]) tuple(n, m, r)
}
"""

    SCHEDULED = HELD.replace(", control-predecessors={r}", "").replace("step,", "step, is_scheduled=true,")

    def check(self, overwriter, read):
        lost = self.HELD.replace(f"{overwriter}({read}), control-predecessors={{r}}", f"{overwriter}({read})")
        self.assertNotEqual(lost, self.HELD)
        self.write("before.hlo", self.SCHEDULED)
        self.write("after.hlo", lost)
        return self.expect(1, "verify", "before.hlo", "after.hlo", "--copies=inserted").err

    def test_first_overwriter(self):
        self.assertIn("nothing keeps 'n' from overwriting 't' before 'r' reads it", self.check("sine", "w"))

    def test_second_overwriter(self):
        self.assertIn("nothing keeps 'm' from overwriting 't' before 'r' reads it", self.check("cosine", "e"))

    def test_what_the_tool_writes(self):
        self.write("before.hlo", self.SCHEDULED)
        self.run_tool("before.hlo", "--copies=inserted", "--emit=unscheduled", "--algorithm=none", "-mmin",
                      "-o", "after.hlo")
        self.assertEqual(self.read("after.hlo").count("control-predecessors={r}"), 2)
        self.expect(0, "verify", "before.hlo", "after.hlo", "--copies=inserted")


if __name__ == "__main__":
    tool.main()
