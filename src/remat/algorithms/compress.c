/* Compressing, the second strategy of XLA's pass. A result is copied at once into a layout that
 * takes fewer bytes; a second copy restores the first layout for the unplaced users.
 *
 * Example: `x` becomes `x.remat_compressed = copy(x)`, and its later users read
 * `x.remat_uncompressed = copy(x.remat_compressed)`.
 *
 * XLA lets the compiler that calls it choose the layout. Here it is the layout with the least
 * padding (target_compact_shape), so nothing is compressed if the target does not pad. Narrowing,
 * which XLA does not do, works in the same way with conversions to a narrower element type and
 * back, if they lose nothing (remat/job/compact_shapes.h).
 *
 * Difference, on the safe side: XLA compresses bitcasts of parameters, too, which frees nothing. */
#include "remat/algorithms/standard_pass.h"

/* Both arrays are live during the copy, so XLA requires that they are smaller than the peak. */
int64_t compress_bytes_reduced(Pass *pass, InstId id) {
  Standard *standard = pass->standard;
  const Module *module = standard->module;
  ShapeId compact = compact_shape_of(&standard->compact, id);
  if (compact == inst_get(module, id)->shape) return 0;
  const ShapeSizes *sizes = standard->compact.sizes;
  int64_t bytes = sizes->of_part(module, inst_get(module, id)->shape);
  int64_t compact_bytes = sizes->of_part(module, compact);
  if (compact_bytes >= standard->memory[pass->comp].peak_bytes - bytes) return 0;
  return tracker_bytes_compressed(&pass->tracker, id, compact_bytes);
}

void standard_move_users(Pass *pass, InstId id, InstId back, IdVec *moved) {
  Rewrite *rewrite = pass->standard->job->rewrite;
  const Module *module = rewrite->module;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    if (!pass_is_placed(pass, user)) *vec_push(pass->arena, moved) = user;
  }
  for (uint32_t i = 0; i < moved->len; i++) {
    for (uint32_t k = 0; k < inst_get(module, moved->data[i])->num_operands; k++) {
      if (inst_operand(module, moved->data[i], k) != id) continue;
      rewrite_set_operand(rewrite, moved->data[i], k, back);
    }
  }
}

void standard_compress(Pass *pass, InstId id) {
  Standard *standard = pass->standard;
  Rewrite *rewrite = standard->job->rewrite;
  ShapeId shape = inst_get(standard->module, id)->shape;
  InstId compact = rewrite_add_copy(rewrite, id, compact_shape_of(&standard->compact, id), id,
                                    "remat_compressed", standard->scratch);
  InstId back =
      rewrite_add_copy(rewrite, compact, shape, id, "remat_uncompressed", standard->scratch);
  item_list_create(&pass->list, compact);
  item_list_create(&pass->list, back);
  item_get(&pass->list, compact)->is_placed = true;
  IdVec moved = {0}, next = {0};
  standard_move_users(pass, id, back, &moved);
  tracker_add_copies(&pass->tracker, id, compact, back);
  standard_deny(standard, compact);
  standard_deny(standard, back);
  item_list_insert_before(&pass->list, back, &moved);
  *vec_push(pass->arena, &next) = item_get(&pass->list, id)->next;
  item_list_insert_before(&pass->list, compact, &next);
  standard->stats->num_steps++;
}
