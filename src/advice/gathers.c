/* Advice on weights that collectives have gathered from all devices, and that stay for the backward
 * part: gather them again there. Simulated by clones before their first late reader
 * (remat/algorithms), as rematerialization makes them where collectives may be recomputed. */
#include "advice/advisor.h"
#include "advice/cloning.h"
#include "advice/layers.h"
#include "emit/human.h"

/* Whether an instruction gathers, or is a form of what one of its operands gathered. */
static bool *find_gathers(const Module *module, Sequence sequence, Arena *out) {
  bool *is_gather = arena_zarray(out, bool, module->insts.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    const Instruction *inst = inst_get(module, id);
    bool is_form = inst->num_operands == 1 &&
                   (opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE) ||
                    inst->opcode == OPCODE_COPY || inst->opcode == OPCODE_FUSION ||
                    inst->opcode == OPCODE_TRANSPOSE || inst_is_pass_through(module, id));
    is_gather[id] = inst->opcode == OPCODE_ALL_GATHER || inst->opcode == OPCODE_ALL_GATHER_START ||
                    inst->opcode == OPCODE_ALL_GATHER_DONE ||
                    (is_form && is_gather[inst_operand(module, id, 0)]);
  }
  return is_gather;
}

/* The module with clones of what was gathered; NULL if none was made. */
static rh_module *simulate(const Advisor *advisor, const ForwardPart *forward,
                           const bool *is_gather, int64_t *freed, InstId *largest) {
  Cloning cloning;
  cloning_begin(&cloning, advisor, advisor->module->entry, forward->end);
  CheckpointChoice *choice = &cloning.choice;
  int64_t most = 0;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    CheckpointValue *value = &choice->values[pos];
    value->is_checkpoint = !is_gather[id];
    if (!is_gather[id] || value->is_fixed || value->last_late == NO_ID) continue;
    *freed += value->bytes;
    if (value->bytes <= most) continue;
    most = value->bytes;
    *largest = id;
  }
  checkpoint_choice_keep_only(choice);
  bool has_clones = *freed > 0 && checkpoint_choice_apply(choice, cloning.made->arena) > 0;
  if (has_clones) cloning_drop_dead(&cloning, advisor->scratch);
  return cloning_end(&cloning, has_clones);
}

void advise_gathers(Advisor *advisor) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Sequence sequence = advisor->schedule->of[module->entry];
  ForwardPart forward = forward_part_of(module, sequence, advisor->scratch);
  int64_t freed = 0;
  InstId largest = NO_ID;
  rh_module *made = NULL;
  if (forward.end != NO_ID)
    made = simulate(advisor, &forward, find_gathers(module, sequence, arena), &freed, &largest);
  if (made) {
    SourcePlace place = advisor_place(advisor, largest);
    rh_remedy remedy = {.kind = "gathers", .confidence = "medium", .bytes_at_peak = freed};
    advisor_set_place(&remedy, place);
    remedy.title = advice_text(
        advisor->out,
        "%s: gather again in the backward part what collectives have gathered, %s of it wait",
        advisor_where(advisor, place), human_bytes(freed).text);
    remedy.code =
        advice_text(advisor->out, "%s",
                    framework_words(advisor->framework,
                                    "jax.checkpoint around the layer, with a policy that does not "
                                    "save the gathered array; or remat-hlo --remat-collectives",
                                    "torch_xla.distributed.fsdp.XlaFullyShardedDataParallel(layer, "
                                    "reshard_after_forward=True)",
                                    "tf.recompute_grad around the layer that reads the gathered "
                                    "array"));
    remedy.explanation = advice_text(advisor->out, "%s",
                                     "The gathered arrays are whole on each device from the "
                                     "forward part to the backward part. A "
                                     "second collective costs the time of the link instead.");
    (void)advisor_add(advisor, &remedy, made);
  }
  arena_free(arena);
}
