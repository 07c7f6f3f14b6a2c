/* The peak of the model `xla-remat`, counted again in the plain way: for each instruction the sum
 * of all buffers that live while it runs, and of the peaks of what it calls. O(instructions *
 * buffers). */
#include <inttypes.h>
#include <stdlib.h>

#include "buffers.h"
#include "property.h"

typedef struct Buffer {
  Place place; /* that defines it */
  int64_t bytes;
  uint32_t begin, last;
  bool is_free; /* a parameter, or returned: the caller pays */
} Buffer;

typedef struct Judge {
  const Module *module;
  const Schedule *schedule;
  uint32_t *position; /* by InstId, in its sequence */
} Judge;

/* As place_source, where the state of a loop is the memory of its initial value. */
static Place owner(const Module *module, Place place) {
  place = place_source(module, place);
  while (inst_get(module, place.inst)->opcode == OPCODE_WHILE) {
    place = place_source(module, (Place){inst_operand(module, place.inst, 0), place.part});
  }
  return place;
}

/* Whether a user does not touch a part of an operand: a get-tuple-element reads nothing but the
 * table of pointers, a loop fusion may have a parameter that it does not use. */
static bool leaves_alone(const Module *module, InstId user, Place operand) {
  const Instruction *inst = inst_get(module, user);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && operand.part != 0) return true;
  bool is_loop_fusion = inst->opcode == OPCODE_FUSION &&
                        str_is(inst_attr_text(module, user, ATTR_FUSION_KIND), "kLoop");
  if (!is_loop_fusion) return false;
  uint32_t index = 0;
  while (inst_operand(module, user, index) != operand.inst)
    index++;
  CompId comp = inst_callees(module, user)[0];
  Place param = {id_list(module, comp_get(module, comp)->params)[index], operand.part};
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    for (uint32_t k = 0; k < inst_get(module, inner)->num_operands; k++) {
      InstId read = inst_operand(module, inner, k);
      for (uint32_t part = 0; part < inst_shape(module, read)->num_parts; part++) {
        Place place = {read, part};
        bool is_param = place_equal(place_source(module, place), param);
        if (is_param && !leaves_alone(module, inner, place)) return false;
      }
    }
  }
  return true;
}

static Buffer *find_buffer(Buffer *buffers, uint32_t count, Place place) {
  for (uint32_t i = 0; i < count; i++) {
    if (place_equal(buffers[i].place, place)) return &buffers[i];
  }
  return NULL;
}

static uint32_t collect(const Judge *judge, Sequence sequence, Buffer *buffers) {
  const Module *module = judge->module;
  uint32_t count = 0;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    judge->position[id] = pos;
    for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
      Place place = {id, part};
      if (!place_equal(owner(module, place), place)) continue;
      buffers[count++] = (Buffer){.place = place,
                                  .bytes = place_bytes(module, place),
                                  .begin = pos,
                                  .last = pos,
                                  .is_free = inst_get(module, id)->opcode == OPCODE_PARAMETER};
    }
  }
  return count;
}

static void note_uses(const Judge *judge, Sequence sequence, InstId root, Buffer *buffers,
                      uint32_t count) {
  const Module *module = judge->module;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
        Place place = {operand, part};
        if (leaves_alone(module, id, place)) continue;
        Buffer *buffer = find_buffer(buffers, count, owner(module, place));
        if (buffer->last < pos) buffer->last = pos;
      }
    }
  }
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    find_buffer(buffers, count, owner(module, (Place){root, part}))->is_free = true;
  }
}

static int64_t peak_of(const Judge *judge, CompId comp);

static int64_t called_bytes(const Judge *judge, InstId id) {
  Opcode opcode = (Opcode)inst_get(judge->module, id)->opcode;
  if (opcode != OPCODE_WHILE && opcode != OPCODE_CALL && opcode != OPCODE_CONDITIONAL) return 0;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(judge->module, id)->num_callees; i++) {
    bytes += peak_of(judge, inst_callees(judge->module, id)[i]);
  }
  return bytes;
}

static int64_t peak_of(const Judge *judge, CompId comp) {
  const Module *module = judge->module;
  Sequence sequence = judge->schedule->of[comp];
  uint32_t num_parts = 0;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    num_parts += inst_shape(module, sequence.ids[pos])->num_parts;
  }
  Buffer *buffers = malloc((num_parts + 1) * sizeof *buffers);
  uint32_t count = collect(judge, sequence, buffers);
  note_uses(judge, sequence, comp_get(module, comp)->root, buffers, count);
  int64_t peak = 0;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    int64_t bytes = called_bytes(judge, sequence.ids[pos]);
    for (uint32_t i = 0; i < count; i++) {
      bool is_live = buffers[i].begin <= pos && pos <= buffers[i].last;
      if (is_live && !buffers[i].is_free) bytes += buffers[i].bytes;
    }
    if (bytes > peak) peak = bytes;
  }
  free(buffers);
  return peak;
}

START_TEST(peaks_are_recounted) {
  Sample sample = sample_make((uint64_t)_i, 300, GENERATE_ALL);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "postorder"};
  rh_module *scheduled = schedule_sample(&sample, schedulers[_i % 4]);
  const Module *module = scheduled->module;
  Judge judge = {module, &scheduled->schedule, calloc(module->insts.len, sizeof *judge.position)};
  int64_t wanted = peak_of(&judge, module->entry);
  InstId root = comp_get(module, module->entry)->root;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    wanted += place_bytes(module, (Place){root, part});
  }
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, "xla-remat", &memory, NULL), RH_OK);
  ck_assert_msg(memory.peak_bytes == wanted, "%" PRId64 " bytes, not %" PRId64 "\n%s",
                memory.peak_bytes, wanted, sample_shown(&sample));
  free(judge.position);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("peak_remat", peaks_are_recounted, 1000);
}
