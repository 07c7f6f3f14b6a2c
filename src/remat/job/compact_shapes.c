#include "remat/job/compact_shapes.h"

#include "analysis/range/narrow.h"
#include "ir/target.h"

/* Whether conversions can be added. XLA's GPU backend runs conversions only inside of fusions, and
 * a module that is fused already cannot get new ones (xla/service/gpu/thunk_emitter.cc). */
static bool may_convert(const Module *module) {
  return !module->backend.target->gpu_sharing || !module_has_fusions(module);
}

CompactShapes compact_shapes_build(const RematJob *job, const ShapeSizes *sizes, Arena *out,
                                   Arena *scratch) {
  Module *module = job->rewrite->module;
  CompactShapes shapes = {.job = job, .sizes = sizes, .arena = out};
  if (job->modes & RH_REMAT_NARROW && may_convert(module)) {
    shapes.narrow = narrow_shapes(module, out, scratch);
    shapes.num_narrow = module->insts.len;
  }
  return shapes;
}

static ShapeId compact_layout(CompactShapes *shapes, ShapeId shape) {
  Module *module = shapes->job->rewrite->module;
  while (shapes->compact.len <= shape)
    *vec_push(shapes->arena, &shapes->compact) = NO_ID;
  ShapeId *compact = &shapes->compact.data[shape];
  if (*compact == NO_ID)
    *compact = target_compact_shape(module->backend.target, &module->shapes, shape);
  return *compact;
}

/* A clone has the values of its original. A fusion that has lost its tuple has no known ranges. */
static ShapeId narrow_shape_of(const CompactShapes *shapes, InstId id) {
  const Module *module = shapes->job->rewrite->module;
  ShapeId shape = inst_get(module, id)->shape;
  InstId original = rewrite_first_original(shapes->job->rewrite, id);
  if (original >= shapes->num_narrow) return shape;
  ShapeId narrow = shapes->narrow[original];
  return shape_is_array(shape_get(&module->shapes, narrow)) ? narrow : shape;
}

ShapeId compact_shape_of(CompactShapes *shapes, InstId id) {
  const Module *module = shapes->job->rewrite->module;
  ShapeId shape = inst_get(module, id)->shape, narrow = narrow_shape_of(shapes, id);
  if (shapes->job->modes & RH_REMAT_COMPRESS) shape = compact_layout(shapes, shape);
  return shapes->sizes->of_part(module, narrow) < shapes->sizes->of_part(module, shape) ? narrow
                                                                                        : shape;
}
