#include "remat/verify/verify.h"

#include <stdlib.h>

#include "support.h"

#define M(comps, body) "HloModule m\n" comps "ENTRY e {\n p = f32[4] parameter(0)\n" body "}\n"
#define S(comps, body) \
  "HloModule m, is_scheduled=true\n" comps "ENTRY e {\n p = f32[4] parameter(0)\n" body "}\n"
#define F "f { q = f32[4] parameter(0)\n b = f32[4] sine(q)\n ROOT c = f32[4] cosine(b) }\n"
#define RNG(name) name " = f32[4] rng(z, z), distribution=rng_uniform\n"
#define ZERO "z = f32[] constant(0)\n"
#define LOOP(init) "ROOT w = f32[4] while(" init "), condition=cond, body=body\n"
#define DRAW \
  "draw { q = f32[] parameter(0)\n ROOT d = f32[4] rng(q, q), distribution=rng_uniform }\n"
#define COND "cond { cp = f32[4] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define LEAVE(of) "leave = (f32[4]{0:S(5)}, f32[4], u32[]) copy-start(" of ")\n"
#define ENTER(of) "enter = (f32[4], f32[4]{0:S(5)}, u32[]) copy-start(" of ")\n"
#define TWICE "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n ROOT r = f32[4] add(a, b)\n"
#define ROUNDED "c = bf16[4] copy(p)\n d = f32[4] copy(c)\n ROOT r = f32[4] negate(d)\n"
#define ROUNDED_TWICE                                                            \
  "c = bf16[4] copy(p)\n c.remat = bf16[4] copy(p)\n d = f32[4] copy(c.remat)\n" \
  "ROOT r = f32[4] negate(d)\n"
#define EFFECT(name, of)               \
  name " = f32[4] custom-call(" of     \
       "), custom_call_target=\"t\", " \
       "custom_call_has_side_effect=true\n"
#define MINUS(of, what) "ROOT r = f32[4] subtract(" of ", " what ")\n"
#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define GATHER(name, channel, groups)                                                            \
  name " = f32[8] all-gather(p), dimensions={0}, channel_id=" channel ", replica_groups=" groups \
       ", use_global_device_ids=true\n"

#define BRANCHES(taken, other)                                                                   \
  "yes { y = (f32[4]) parameter(0)\n yp = f32[4] get-tuple-element(y), index=0\n"                \
  "ya = f32[4] sine(yp)\n ROOT yr = (f32[4]) tuple(" taken                                       \
  ") }\n"                                                                                        \
  "no { n = () parameter(0)\n k = f32[] constant(0)\n ka = f32[4] broadcast(k), dimensions={}\n" \
  "ROOT nr = (f32[4]) tuple(" other ") }\n"
#define CHOICE(odd, predicate)                                                           \
  "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n s = f32[1] slice(b), slice={[0:1]}\n"     \
  "e = f32[] reshape(s)\n i = s32[] convert(e)\n one = s32[] constant(1)\n"              \
  "zero = s32[] constant(0)\n o = s32[] " odd "\n t = pred[] " predicate                 \
  "\n in = (f32[4]) tuple(p)\n none = () tuple()\n"                                      \
  "if = (f32[4]) conditional(t, in, none), true_computation=yes, false_computation=no\n" \
  "g = f32[4] get-tuple-element(if), index=0\n ROOT r = f32[4] add(g, b)\n"
#define MASK_WITH(deps)                       \
  "q = pred[4] compare(p, p), direction=GT\n" \
  "m = f32[4] convert(q)" deps "\n"
#define MASK MASK_WITH("")
#define ARGMAX                                                                                   \
  "argmax { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"          \
  "k = s32[] parameter(3)\n g = pred[] compare(a, b), direction=GT\n"                            \
  "m = f32[] select(g, a, b)\n n = s32[] select(g, i, k)\n ROOT t = (f32[], s32[]) tuple(m, n) " \
  "}\n"
#define ARGMAX_OF                                                                            \
  "i = s32[4] iota(), iota_dimension=0\n l = f32[] constant(-inf)\n c = s32[] constant(0)\n" \
  "t = (f32[], s32[]) reduce(p, i, l, c), dimensions={0}, to_apply=argmax\n"                 \
  "x = s32[] get-tuple-element(t), index=1\n"

static const struct {
  const char *name, *before, *after;
  const char *why; /* a part of the notes; NULL = the modules are equivalent */
} rows[] = {
    /* differences that do not matter */
    {"nothing changed", M("", TWICE), M("", TWICE), NULL},
    {"other names", M("", TWICE),
     M("", "x = f32[4] sine(p)\n y = f32[4] cosine(x)\n ROOT t = f32[4] add(x, y)\n"), NULL},
    {"another order",
     M("", "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n ROOT r = f32[4] add(a, b)\n"),
     M("", "b = f32[4] cosine(p)\n a = f32[4] sine(p)\n ROOT r = f32[4] add(a, b)\n"), NULL},
    {"computed twice", M("", TWICE),
     M("",
       "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n a.remat = f32[4] sine(p)\n"
       "ROOT r = f32[4] add(a.remat, b)\n"),
     NULL},
    {"dead code", M("", "d = f32[4] tanh(p)\n" TWICE), M("", TWICE), NULL},
    {"a barrier, a copy, a tuple", M("", TWICE),
     M("",
       "a = f32[4] sine(p)\n o = f32[4] opt-barrier(a)\n c = f32[4] copy(o)\n"
       "b = f32[4] cosine(c)\n u = (f32[4], f32[4]) tuple(b, a)\n"
       "g = f32[4] get-tuple-element(u), index=1\n h = f32[4] get-tuple-element(u), index=0\n"
       "ROOT r = f32[4] add(g, h)\n"),
     NULL},
    {"a fusion", M(F, "ROOT r = f32[4] fusion(p), kind=kLoop, calls=f\n"),
     M("", "x = f32[4] sine(p)\n ROOT r = f32[4] cosine(x)\n"), NULL},
    {"a call", M(F, "ROOT r = f32[4] call(p), to_apply=f\n"),
     M("", "x = f32[4] sine(p)\n ROOT r = f32[4] cosine(x)\n"), NULL},
    {"metadata", M("", "ROOT r = f32[4] sine(p), metadata={op_name=\"a\"}\n"),
     M("", "ROOT r = f32[4] sine(p), metadata={op_name=\"b\"}\n"), NULL},
    {"a loop's computations renamed",
     M(COND "body { b = f32[4] parameter(0)\n ROOT n = f32[4] sine(b) }\n", LOOP("p")),
     M("cond { x = f32[4] parameter(0)\n ROOT y = pred[] constant(true) }\n"
       "body { b = f32[4] parameter(0)\n ROOT m = f32[4] sine(b) }\n",
       LOOP("p")),
     NULL},
    {"a collective's clone has another channel",
     M("", GATHER("g", "1", "{{0,1}}") "ROOT r = f32[8] add(g, g)\n"),
     M("", GATHER("g", "1", "{{0,1}}") GATHER("h", "2", "{{0,1}}") "ROOT r = f32[8] add(g, h)\n"),
     NULL},
    {"side effects without a schedule have no order but their own",
     M("", ZERO RNG("a") EFFECT("b", "p") "ROOT r = f32[4] add(a, b)\n"),
     M("", ZERO EFFECT("b", "p") RNG("a") "ROOT r = f32[4] add(a, b)\n"), NULL},
    {"elided constants are known by name",
     M("", "k = f32[4] constant({...})\n ROOT r = f32[4] add(p, k)\n"),
     M("", "k.remat = f32[4] constant({...})\n ROOT r = f32[4] add(p, k.remat)\n"), NULL},
    {"clones of a clone are known by name",
     M("", EFFECT("a.clone", "p") EFFECT("a.clone5", "p") MINUS("a.clone", "a.clone5")),
     M("", EFFECT("a.clone2", "p") EFFECT("a.clone7", "p") MINUS("a.clone2", "a.clone7")), NULL},
    {"so are clones whose names were taken",
     M("", EFFECT("a", "p") EFFECT("a.clone", "a") EFFECT("a.clone2", "a")
               MINUS("a.clone", "a.clone2")),
     M("", EFFECT("a.clone.1", "p") EFFECT("a.clone2.1", "a.clone.1")
               EFFECT("a.clone3", "a.clone.1") MINUS("a.clone2.1", "a.clone3")),
     NULL},
    {"a copy to another layout and back need not wait for what the value waited for",
     M("", ZERO
       "q = f32[2,2] broadcast(z), dimensions={}\n s = f32[2,2] sine(q), control-predecessors={p}\n"
       "c = f32[2,2] cosine(s)\n k = f32[2,2] add(c, s)\n ROOT r = f32[4] reshape(k)\n"),
     M("", ZERO
       "q = f32[2,2] broadcast(z), dimensions={}\n s = f32[2,2] sine(q), control-predecessors={p}\n"
       "t = f32[2,2]{0,1} copy(s)\n c = f32[2,2] cosine(s)\n b = f32[2,2]{1,0} copy(t)\n"
       "k = f32[2,2] add(c, b)\n ROOT r = f32[4] reshape(k)\n"),
     NULL},
    {"to the host and back",
     M("",
       "a = f32[4] sine(p), control-predecessors={p}\n b = f32[4] cosine(a)\n"
       "ROOT r = f32[4] add(a, b)\n"),
     M("", "a = f32[4] sine(p), control-predecessors={p}\n" LEAVE(
               "a") "b = f32[4] cosine(a)\n"
                    "there = f32[4]{0:S(5)} copy-done(leave)\n" ENTER(
                        "there") "back = f32[4] copy-done(enter)\n ROOT r = f32[4] add(back, b)\n"),
     NULL},
    {"a branch that is always taken", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("or(i, one)", "compare(o, zero), direction=NE")), NULL},
    {"elements from behind a barrier need not wait",
     M("",
       "a = f32[4] sine(p), control-predecessors={p}\n b = f32[4] cosine(a)\n"
       "ROOT r = f32[4] add(a, b)\n"),
     M("",
       "a = f32[4] sine(p), control-predecessors={p}\n u = (f32[4]) tuple(a)\n"
       "o = (f32[4]) opt-barrier(u)\n g = f32[4] get-tuple-element(o), index=0\n"
       "b = f32[4] cosine(g)\n ROOT r = f32[4] add(a, b)\n"),
     NULL},
    {"a fusion without what nobody reads, and a tuple that waits",
     M("f { x = f32[4] parameter(0)\n s = f32[4] sine(x)\n k = f32[] constant(1)\n"
       "ROOT t = (f32[], f32[4], f32[]) tuple(k, s, k) }\n",
       "u = (f32[], f32[4], f32[]) fusion(p), kind=kLoop, calls=f\n"
       "g = f32[] get-tuple-element(u), index=0\n h = f32[] get-tuple-element(u), index=2\n"
       "ROOT r = (f32[], f32[]) tuple(g, h), control-predecessors={p}\n"),
     M("f { k = f32[] constant(1)\n ROOT t = (f32[], f32[]) tuple(k, k) }\n",
       "u = (f32[], f32[]) fusion(), kind=kLoop, calls=f\n"
       "g = f32[] get-tuple-element(u), index=0\n h = f32[] get-tuple-element(u), index=1\n"
       "ROOT r = (f32[], f32[]) tuple(g, h), control-predecessors={p}\n"),
     NULL},
    {"to integers of fewer bits and back",
     M("", MASK "b = f32[4] add(m, p)\n ROOT r = f32[4] multiply(b, m)\n"),
     M("", MASK "b = f32[4] add(m, p)\n n = u8[4] convert(m)\n k = f32[4] convert(n)\n"
                "ROOT r = f32[4] multiply(b, k)\n"),
     NULL},
    {"which need not wait for what the value waited for",
     M("", MASK_WITH(", control-predecessors={q}") "b = f32[4] add(m, p)\n"
                                                   "ROOT r = f32[4] multiply(b, m)\n"),
     M("", MASK_WITH(", control-predecessors={q}") "b = f32[4] add(m, p)\n n = u8[4] convert(m)\n"
                                                   "k = f32[4] convert(n)\n ROOT r = f32[4] "
                                                   "multiply(b, k)\n"),
     NULL},
    {"in both modules",
     M("", MASK "n = u8[4] convert(m)\n k = f32[4] convert(n)\n ROOT r = f32[4] multiply(k, m)\n"),
     M("", MASK "n = s8[4] convert(m)\n k = f32[4] convert(n)\n ROOT r = f32[4] multiply(k, k)\n"),
     NULL},
    {"in a fusion",
     M("f { x = f32[4] parameter(0)\n g = pred[4] compare(x, x), direction=GT\n"
       "ROOT m = s32[4] convert(g) }\n",
       "m = s32[4] fusion(p), kind=kLoop, calls=f\n ROOT r = s32[4] negate(m)\n"),
     M("f { x = f32[4] parameter(0)\n g = pred[4] compare(x, x), direction=GT\n"
       "m = s32[4] convert(g)\n ROOT n = u8[4] convert(m) }\n",
       "n = u8[4] fusion(p), kind=kLoop, calls=f\n k = s32[4] convert(n)\n"
       "ROOT r = s32[4] negate(k)\n"),
     NULL},
    {"where the largest is", M(ARGMAX, ARGMAX_OF "ROOT r = s32[] negate(x)\n"),
     M(ARGMAX, ARGMAX_OF "n = u8[] convert(x)\n k = s32[] convert(n)\n ROOT r = s32[] negate(k)\n"),
     NULL},
    {"to numbers of fewer bits, which may be rounded", M("", MASK "ROOT r = f32[4] negate(m)\n"),
     M("", MASK "n = bf16[4] convert(m)\n k = f32[4] convert(n)\n ROOT r = f32[4] negate(k)\n"),
     "the results differ"},
    {"to integers that have not all of them",
     M("",
       "i = s32[4] iota(), iota_dimension=0\n l = s32[4] negate(i)\n ROOT r = s32[4] add(l, l)\n"),
     M("",
       "i = s32[4] iota(), iota_dimension=0\n l = s32[4] negate(i)\n n = u8[4] convert(l)\n"
       "k = s32[4] convert(n)\n ROOT r = s32[4] add(l, k)\n"),
     "the results differ"},
    {"of what may be anything", M("", "ROOT r = f32[4] negate(p)\n"),
     M("", "n = u8[4] convert(p)\n k = f32[4] convert(n)\n ROOT r = f32[4] negate(k)\n"),
     "the results differ"},
    {"and on to another type", M("", MASK "ROOT r = f32[4] negate(m)\n"),
     M("", MASK "n = u8[4] convert(m)\n k = bf16[4] convert(n)\n l = f32[4] convert(k)\n"
                "ROOT r = f32[4] negate(l)\n"),
     "the results differ"},
    {"one more control dependency", M("", TWICE),
     M("",
       "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n a.remat = f32[4] sine(p), "
       "control-predecessors={b}\n ROOT r = f32[4] add(a.remat, b)\n"),
     NULL},

    {"a copy that converts, computed twice", M("", ROUNDED), M("", ROUNDED_TWICE), NULL},

    /* differences that do */
    {"a copy that converts, left out", M("", ROUNDED), M("", "ROOT r = f32[4] negate(p)\n"),
     "the results differ"},
    {"what is read before it has been copied", M("", TWICE),
     M("",
       "a = f32[4] sine(p)\n" LEAVE("a") "b = f32[4] cosine(a)\n"
                                         "there = f32[4]{0:S(5)} copy-done(leave)\n" ENTER(
                                             "there") "back = f32[4] get-tuple-element(enter), "
                                                      "index=0\n ROOT r = f32[4] add(back, b)\n"),
     "the results differ"},
    {"a copy in two halves of something else", M("", TWICE),
     M("", "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n" LEAVE(
               "b") "back = f32[4]{0:S(5)} copy-done(leave)\n ROOT r = f32[4] add(back, b)\n"),
     "the results differ"},
    {"a bitcast of a copy to another layout",
     M("", ZERO "q = f32[2,2] broadcast(z), dimensions={}\n ROOT r = f32[4] bitcast(q)\n"),
     M("", ZERO "q = f32[2,2] broadcast(z), dimensions={}\n t = f32[2,2]{0,1} copy(q)\n"
                "ROOT r = f32[4] bitcast(t)\n"),
     "the results differ"},
    {"a clone of a copy does not wait for what the copy waited for",
     M("",
       "a = f32[4] sine(p)\n c = f32[4] copy(p), control-predecessors={a}\n"
       "ROOT r = f32[4] add(a, c)\n"),
     M("", "a = f32[4] sine(p)\n c.remat = f32[4] copy(p)\n ROOT r = f32[4] add(a, c.remat)\n"),
     "is lost"},
    {"another operation", M("", TWICE),
     M("", "a = f32[4] tanh(p)\n b = f32[4] cosine(a)\n ROOT r = f32[4] add(a, b)\n"), "'a'"},
    {"operands exchanged", M("", "a = f32[4] sine(p)\n ROOT r = f32[4] subtract(a, p)\n"),
     M("", "a = f32[4] sine(p)\n ROOT r = f32[4] subtract(p, a)\n"), "the results differ"},
    {"another attribute", M("", "ROOT r = f32[2] slice(p), slice={[0:2]}\n"),
     M("", "ROOT r = f32[2] slice(p), slice={[1:3]}\n"), "the results differ"},
    {"another constant",
     M("", "k = f32[] constant(1)\n ROOT r = f32[4] broadcast(k), dimensions={}\n"),
     M("", "k = f32[] constant(2)\n ROOT r = f32[4] broadcast(k), dimensions={}\n"), "'k'"},
    {"another elided constant",
     M("", "k = f32[4] constant({...})\n l = f32[4] constant({...})\n ROOT r = f32[4] add(l, k)\n"),
     M("", "k = f32[4] constant({...})\n l = f32[4] constant({...})\n ROOT r = f32[4] add(k, l)\n"),
     "the results differ"},
    {"another body",
     M(COND "body { b = f32[4] parameter(0)\n ROOT n = f32[4] sine(b) }\n", LOOP("p")),
     M(COND "body { b = f32[4] parameter(0)\n ROOT n = f32[4] cosine(b) }\n", LOOP("p")), "'w'"},
    {"another element",
     M("",
       "u = (f32[4], f32[4]) custom-call(p), custom_call_target=\"t\"\n"
       "ROOT r = f32[4] get-tuple-element(u), index=0\n"),
     M("",
       "u = (f32[4], f32[4]) custom-call(p), custom_call_target=\"t\"\n"
       "ROOT r = f32[4] get-tuple-element(u), index=1\n"),
     "the results differ"},
    {"other devices", M("", GATHER("ROOT g", "1", "{{0,1}}")),
     M("", GATHER("ROOT g", "1", "{{1,0}}")), "'g'"},
    {"another reduction",
     M(SUM, ZERO "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n"),
     M("sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(m, l) }\n",
       ZERO "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n"),
     "'r'"},
    {"calls written out, another function with the same draw between them",
     M("f { q = f32[] parameter(0)\n d = f32[4] rng(q, q), distribution=rng_uniform\n"
       "ROOT n = f32[] negate(q) }\n" COND
       "body { b = f32[4] parameter(0)\n z = f32[] constant(0)\n"
       "x = f32[] call(z), to_apply=f\n ROOT n = f32[4] sine(b) }\n",
       ZERO "x = f32[] call(z), to_apply=f\n y = f32[] call(z), to_apply=f\n" LOOP("p")),
     S(COND "body { b = f32[4] parameter(0)\n" ZERO RNG("d") "ROOT n = f32[4] sine(b) }\n",
       ZERO RNG("d") "w = f32[4] while(p), condition=cond, body=body\n" RNG(
           "d.1") "ROOT v = f32[4] copy(w)\n"),
     NULL},
    {"equal draws in the order that the schedule had",
     S(DRAW, ZERO
       "a = f32[4] call(z), to_apply=draw\n b = f32[4] call(z), to_apply=draw\n" MINUS("b", "a")),
     M("", ZERO RNG("d") RNG("d.1") MINUS("d.1", "d")), NULL},
    {"equal draws in an order that was chosen",
     M(DRAW, ZERO
       "a = f32[4] call(z), to_apply=draw\n b = f32[4] call(z), to_apply=draw\n" MINUS("b", "a")),
     S("", ZERO RNG("d") RNG("d.1") MINUS("d.1", "d")), NULL},
    {"equal draws exchanged",
     S(DRAW, ZERO
       "a = f32[4] call(z), to_apply=draw\n b = f32[4] call(z), to_apply=draw\n" MINUS("b", "a")),
     M("", ZERO RNG("d") RNG("d.1") MINUS("d", "d.1")), "the results differ"},
    {"random numbers drawn twice",
     M("", ZERO RNG("a") "b = f32[4] sine(a)\n ROOT r = f32[4] add(a, b)\n"),
     M("", ZERO RNG("a") "b = f32[4] sine(a)\n" RNG("a.remat") "ROOT r = f32[4] add(a.remat, b)\n"),
     "differ"},
    {"two draws are not one", M("", ZERO RNG("a") RNG("b") "ROOT r = f32[4] subtract(a, b)\n"),
     M("", ZERO RNG("a") "ROOT r = f32[4] subtract(a, a)\n"), "differ"},
    {"a side effect is gone", M("", EFFECT("b", "p") "ROOT r = f32[4] sine(p)\n"),
     M("", "ROOT r = f32[4] sine(p)\n"), "side effects differ (1 and 0 of them): 'b'"},
    {"clones have exchanged their roles",
     M("", EFFECT("a", "p") EFFECT("a.clone", "p") MINUS("a", "a.clone")),
     M("", EFFECT("a.clone.1", "p") EFFECT("a.clone2", "p") MINUS("a.clone2", "a.clone.1")),
     "the results differ"},
    {"side effects in another order",
     S("", EFFECT("a", "p") EFFECT("b", "p") "ROOT r = f32[4] sine(p)\n"),
     S("", EFFECT("b", "p") EFFECT("a", "p") "ROOT r = f32[4] sine(p)\n"), "side effects differ"},
    {"a branch that computes something else", M("", TWICE),
     M(BRANCHES("yp", "ka"), CHOICE("or(i, one)", "compare(o, zero), direction=NE")),
     "the results differ"},
    {"a branch that may not be taken: another bit pattern", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("or(i, zero)", "compare(o, zero), direction=NE")),
     "the results differ"},
    {"and is no or", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("and(i, one)", "compare(o, zero), direction=NE")),
     "the results differ"},
    {"the other branch is taken", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("or(i, one)", "compare(o, zero), direction=EQ")),
     "the results differ"},
    {"compared with something else", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("or(i, one)", "compare(o, one), direction=NE")),
     "the results differ"},
    {"signs are not known", M("", TWICE),
     M(BRANCHES("ya", "ka"), CHOICE("or(i, one)", "compare(o, zero), direction=GT")),
     "the results differ"},
    {"a control dependency is lost",
     M("",
       "a = f32[4] sine(p)\n b = f32[4] cosine(p), control-predecessors={a}\n"
       "ROOT r = f32[4] add(a, b)\n"),
     M("", "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n ROOT r = f32[4] add(a, b)\n"),
     "the control dependency of 'b' on 'a' is lost"},
    {"a clone without the control dependency",
     M("",
       "a = f32[4] sine(p)\n b = f32[4] cosine(p), control-predecessors={a}\n"
       "c = f32[4] tanh(b)\n ROOT r = f32[4] add(c, b)\n"),
     M("",
       "a = f32[4] sine(p)\n b = f32[4] cosine(p), control-predecessors={a}\n"
       "c = f32[4] tanh(b)\n b.remat = f32[4] cosine(p)\n ROOT r = f32[4] add(c, b.remat)\n"),
     "the control dependency of 'b' on 'a' is lost"},
    {"another shape", M("", "ROOT r = f32[4] sine(p)\n"), M("", "ROOT r = f32[4,1] reshape(p)\n"),
     "the results have other shapes"},
    {"another layout", M("", "ROOT r = f32[2,2]{1,0} reshape(p)\n"),
     M("", "ROOT r = f32[2,2]{0,1} reshape(p)\n"), "the results have other shapes"},
    {"another parameter", M("", "ROOT r = f32[] constant(1)\n"),
     "HloModule m\nENTRY e {\n p = f32[5] parameter(0)\n ROOT r = f32[] constant(1)\n}\n",
     "parameter 0 has another shape"},
    {"one more parameter", M("", "ROOT r = f32[4] sine(p)\n"),
     M("", "d = f32[] parameter(1)\n ROOT r = f32[4] sine(p)\n"),
     "one module has 1 parameters, the other one 2"},
    {"parameters exchanged", M("", "q = f32[4] parameter(1)\n ROOT r = f32[4] subtract(p, q)\n"),
     M("", "q = f32[4] parameter(1)\n ROOT r = f32[4] subtract(q, p)\n"), "the results differ"},
    {"an alias is lost",
     "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e {\n p = f32[4] parameter(0)\n ROOT r = f32[4] sine(p)\n}\n",
     M("", "ROOT r = f32[4] sine(p)\n"), "input_output_alias or buffer_donor differ"},
};

START_TEST(verdict_matches_table) {
  Fixture before = fixture_parse(rows[_i].before), after = fixture_parse(rows[_i].after);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before.module, after.module, true, false, diags, after.scratch);
  char *notes = diags_as_text(diags, "", 0);
  const char *why = rows[_i].why;
  ck_assert_msg(status == (why ? RH_NOT_EQUIVALENT : RH_OK), "%s: %d\n%s", rows[_i].name, status,
                notes);
  ck_assert_msg(why ? strstr(notes, why) != NULL : !*notes, "%s: %s", rows[_i].name, notes);
  free(notes);
  rh_diags_free(diags);
  fixture_free(&before);
  fixture_free(&after);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify");
  TCase *tc = tcase_create("verify");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
