/* Protection by opt-barriers: a group of clones reads its operands through one barrier. */
#include "remat/protect/protect_internal.h"

/* Whether all operands of an instruction are constants. */
static bool reads_constants(const Module *module, InstId id) {
  for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
    if (inst_get(module, inst_operand(module, id, k))->opcode != OPCODE_CONSTANT) return false;
  }
  return true;
}

/* The properties of a member that decide which of its operands pass through the barrier. */
typedef struct Member {
  bool is_cheap, reads_constants;
} Member;

static Member member_of(const ProtectJob *job, InstId id) {
  return (Member){clone_group_is_cheap(job->groups, id), reads_constants(job->rewrite->module, id)};
}

/* Whether the operand passes through the barrier. XLA can only fold and fuse constants that it
 * sees, so a constant passes through only for members that read nothing but constants. */
static bool is_guarded(const ProtectJob *job, Member member, InstId operand) {
  const Module *module = job->rewrite->module;
  bool is_constant = inst_get(module, operand)->opcode == OPCODE_CONSTANT;
  return !member.is_cheap && !clone_group_has(job->groups, operand) &&
         shape_is_array(inst_shape(module, operand)) && (!is_constant || member.reads_constants);
}

/* The operands that pass through the barrier, each once. For the group's other operands, `images`
 * is set to NO_ID. */
static IdVec list_guarded(const ProtectJob *job, InstId *images) {
  const Module *module = job->rewrite->module;
  const CloneGroup *group = job->group;
  IdVec guarded = {0};
  for (uint32_t i = 0; i < group->operands.len; i++)
    images[group->operands.data[i]] = NO_ID;
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    Member member = member_of(job, id);
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (!is_guarded(job, member, operand) || images[operand] != NO_ID) continue;
      images[operand] = operand;
      *vec_push(job->scratch, &guarded) = operand;
    }
  }
  return guarded;
}

/* Redirects the members to the elements of the barrier. */
static void redirect_members(ProtectJob *job, const InstId *images) {
  Rewrite *rewrite = job->rewrite;
  const Module *module = rewrite->module;
  for (uint32_t i = 0; i < job->group->members.len; i++) {
    InstId id = job->group->members.data[i];
    Member member = member_of(job, id);
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (is_guarded(job, member, operand)) rewrite_set_operand(rewrite, id, k, images[operand]);
    }
    protect_push(job, id);
  }
}

/* Adds the barrier. Its first elements are the guarded operands. XLA's simplifier removes an
 * element without users only if the operand has no other users either, so the tie stays. */
static InstId add_barrier(ProtectJob *job, IdVec *guarded) {
  Rewrite *rewrite = job->rewrite;
  Module *module = rewrite->module;
  bool has_tie = job->tie != NO_ID;
  for (uint32_t i = 0; i < guarded->len; i++)
    has_tie &= guarded->data[i] != job->tie;
  uint32_t count = guarded->len + has_tie;
  InstId *operands = arena_array(job->scratch, InstId, count);
  ShapeId *shapes = arena_array(job->scratch, ShapeId, count);
  for (uint32_t i = 0; i < count; i++) {
    operands[i] = i < guarded->len ? guarded->data[i] : job->tie;
    shapes[i] = inst_get(module, operands[i])->shape;
  }
  ShapeId shape = shape_tuple(&module->shapes, shapes, count);
  if (shape == NO_ID) return NO_ID;
  CompId comp = job->group->comp;
  InstId tuple = rewrite_add_helper(
      rewrite, comp,
      (InstSpec){
          .opcode = OPCODE_TUPLE, .shape = shape, .operands = operands, .num_operands = count});
  InstId barrier = rewrite_add_helper(
      rewrite, comp,
      (InstSpec){
          .opcode = OPCODE_OPT_BARRIER, .shape = shape, .operands = &tuple, .num_operands = 1});
  protect_push(job, tuple);
  protect_push(job, barrier);
  return barrier;
}

bool protect_with_barrier(ProtectJob *job) {
  Rewrite *rewrite = job->rewrite;
  InstId *images = protect_images(job);
  IdVec guarded = list_guarded(job, images);
  if (guarded.len == 0) return false;
  InstId barrier = add_barrier(job, &guarded);
  if (barrier == NO_ID) return false;
  for (uint32_t i = 0; i < guarded.len; i++) {
    InstId element = rewrite_add_get_tuple_element(rewrite, barrier, i);
    protect_push(job, element);
    images[guarded.data[i]] = element;
  }
  redirect_members(job, images);
  return true;
}
