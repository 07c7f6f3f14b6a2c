"""Checkpoints that are chosen for a program: what remat_hlo.jax.checkpoint, plan and fit are made of.

A marked function's jaxpr is flattened (equations), analysed (rules, costs, shards), divided into segments that are
recomputed one at a time (segments), of which some results are saved (cut), for each of a few levels (levels). The
program is compiled with some of them for the real target (targets, compiling, worker), and the best is kept
(driver) in a plan (file), by which the marked function is evaluated anew (binding) where the plan is active (mark).
fit says whether a program fits a device (fit, cli)."""
