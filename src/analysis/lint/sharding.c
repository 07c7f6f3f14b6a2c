/* Checks the sharding of an instruction against its shape and the devices, and the shardings of
 * loops and conditionals against those of their callees. Shardings are read from their text, which
 * the parser has checked; meshes are not checked. Source: HloSharding::Validate,
 * InstructionVerifier::VerifyConsistentSharding. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lint/lint.h"
#include "ir/hash.h"

/* ---- reading ---- */

typedef enum TileKind {
  TILE_UNKNOWN, /* a mesh, or words in an unknown order */
  TILE_WORD,    /* replicated, manual, … */
  TILE_MAXIMAL, /* all on one device */
  TILE_TILED,
} TileKind;

/* The sharding of one array. */
typedef struct Tile {
  TileKind kind;
  Str word;          /* TILE_WORD */
  Span devices;      /* TILE_TILED: the list in the text; empty for an iota */
  uint32_t num_dims; /* of the array */
  uint32_t num_others;
  int64_t num_tiles;   /* product of the array's dimensions; -1 = beyond 64 bits */
  int64_t num_devices; /* product of all dimensions; -1 = beyond 64 bits */
  int64_t device;      /* TILE_MAXIMAL */
  /* Hashes of the numbers, so that each text is read once, however many others it is compared
   * with. */
  uint64_t dims_hash, devices_hash;
} Tile;

/* Iterates over the shardings of a tuple's arrays; a single sharding applies to all of them. */
typedef struct Tiles {
  const char *text;
  uint32_t at, end;
  bool is_tuple;
} Tiles;

/* The place of `word` in [begin, end) of the text, or `end` when it is not there. */
static uint32_t find_word(const char *text, uint32_t begin, uint32_t end, Str word) {
  for (; begin + word.len <= end; begin++) {
    if (bytes_equal(text + begin, word.data, word.len)) return begin;
  }
  return end;
}

static uint32_t find_char(const char *text, uint32_t begin, uint32_t end, char wanted) {
  while (begin < end && text[begin] != wanted)
    begin++;
  return begin;
}

/* The place after the bracket that closes the one at `begin`. Brackets in quoted text do not
 * count. */
static uint32_t skip_braces(const char *text, uint32_t begin, uint32_t end) {
  uint32_t depth = 0;
  bool is_quoted = false;
  for (uint32_t i = begin; i < end; i++) {
    if (is_quoted && text[i] == '\\') {
      i++;
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text[i] == '{') {
      depth++;
    } else if (!is_quoted && text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return end;
}

/* The number of dimensions of the tile assignment after those of the array. */
static uint32_t count_others(const char *text, uint32_t begin, uint32_t end) {
  uint32_t at = find_word(text, begin, end, STR("last_tile_dims={"));
  if (at == end) return find_word(text, begin, end, STR("last_tile_dim_replicate")) < end;
  uint32_t close = find_char(text, at, end, '}'), count = 1;
  for (; at < close; at++)
    count += text[at] == ',';
  return count;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static uint64_t hash_numbers(const char *text, Span list) {
  uint64_t hash = HASH_SEED;
  int64_t number;
  while (lint_next_number(text, &list.begin, list.end, &number))
    hash = hash_mix(hash, (uint64_t)number);
  return hash;
}

static void read_tiled(const char *text, uint32_t begin, uint32_t end, Tile *tile) {
  const Span dims = {begin, find_char(text, begin, end, ']')};
  tile->kind = TILE_TILED;
  tile->devices.begin = tile->devices.end = dims.end + 1;
  bool is_list = tile->devices.begin < end && text[tile->devices.begin] != '<';
  while (is_list && tile->devices.end < end && strchr(" ,-0123456789", text[tile->devices.end]))
    tile->devices.end++;
  uint32_t num_dims = 1;
  for (uint32_t i = begin; i < dims.end; i++)
    num_dims += text[i] == ',';
  tile->dims_hash = hash_numbers(text, dims);
  tile->devices_hash = hash_numbers(text, tile->devices);
  tile->num_others = count_others(text, begin, end);
  if (num_dims < tile->num_others) {
    tile->kind = TILE_UNKNOWN;
    return;
  }
  tile->num_dims = num_dims - tile->num_others;
  tile->num_tiles = tile->num_devices = 1;
  int64_t size;
  for (uint32_t i = 0, at = begin; lint_next_number(text, &at, dims.end, &size); i++) {
    tile->num_devices = multiply(tile->num_devices, size);
    if (i < tile->num_dims) tile->num_tiles = multiply(tile->num_tiles, size);
  }
}

static bool begins_with(const char *text, uint32_t begin, uint32_t end, Str word) {
  return begin + word.len <= end && bytes_equal(text + begin, word.data, word.len);
}

/* Reads a sharding, beginning after its opening brace. */
static Tile read_tile(const char *text, uint32_t begin, uint32_t end) {
  const Str words[] = {STR("replicated"), STR("manual"), STR("unknown"), STR("unreduced")};
  const Str devices = STR("devices=["), maximal = STR("maximal device=");
  Tile tile = {.kind = TILE_UNKNOWN};
  if (begins_with(text, begin, end, devices)) {
    read_tiled(text, begin + devices.len, end, &tile);
  } else if (begins_with(text, begin, end, maximal)) {
    uint32_t at = begin + maximal.len;
    tile.kind = lint_next_number(text, &at, end, &tile.device) ? TILE_MAXIMAL : TILE_UNKNOWN;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (begins_with(text, begin, end, words[i])) tile = (Tile){.kind = TILE_WORD, .word = words[i]};
  }
  return tile;
}

static Tiles tiles_of(const Module *module, const Attr *attr) {
  Tiles tiles = {.text = module->source->text, .at = attr->text.begin, .end = attr->text.end};
  uint32_t at = tiles.at + 1;
  while (at < tiles.end && tiles.text[at] == ' ')
    at++;
  tiles.is_tuple = at < tiles.end && (tiles.text[at] == '{' || tiles.text[at] == '}');
  if (tiles.is_tuple) tiles.at = at;
  return tiles;
}

/* Reads the next sharding. False after the last one of a tuple. */
static bool next_tile(Tiles *tiles, Tile *tile) {
  uint32_t begin = find_char(tiles->text, tiles->at, tiles->end, '{');
  if (begin == tiles->end) return false;
  uint32_t end = skip_braces(tiles->text, begin, tiles->end);
  *tile = read_tile(tiles->text, begin + 1, end);
  if (tiles->is_tuple) tiles->at = end;
  return true;
}

/* ---- compared with shape and devices ---- */

static int by_number(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static const char *device_fault(int64_t device, int64_t limit) {
  if (device < 0) return "names a negative device";
  return limit && device >= limit ? "names a device that the module does not have" : NULL;
}

/* The fault of a list of devices, NULL if there is none; `limit` 0 = unknown. */
static const char *list_fault(Lint *lint, const Tile *tile, int64_t limit) {
  const char *text = lint->module->source->text, *fault = NULL;
  ArenaMark mark = arena_mark(lint->scratch);
  VEC(int64_t) devices = {0};
  int64_t device;
  uint32_t at = tile->devices.begin;
  while (!fault && lint_next_number(text, &at, tile->devices.end, &device)) {
    *vec_push(lint->scratch, &devices) = device;
    fault = device_fault(device, limit);
  }
  if (devices.len) qsort(devices.data, devices.len, sizeof *devices.data, by_number);
  for (uint32_t i = 1; !fault && i < devices.len; i++) {
    if (devices.data[i] == devices.data[i - 1]) fault = "names a device twice";
  }
  arena_reset(lint->scratch, mark);
  return fault;
}

/* XLA treats a tiled sharding with only one tile as another kind: replicated, or manual. */
static bool is_tiled(const Tile *tile) {
  return tile->kind == TILE_TILED && tile->num_tiles != 1 && tile->num_devices >= 0;
}

static const char *tile_devices_fault(Lint *lint, const Tile *tile) {
  int64_t limit = lint->module->source->header.num_partitions;
  if (limit <= 1) limit = 0;
  if (tile->kind == TILE_MAXIMAL) return device_fault(tile->device, limit);
  if (!is_tiled(tile)) return NULL;
  const char *fault = list_fault(lint, tile, limit);
  if (fault || !limit || tile->num_devices == limit) return fault;
  return arena_printf(lint->scratch, "is for %" PRId64 " devices, the module has %" PRId64,
                      tile->num_devices, limit);
}

static bool fits_rank(const Tile *tile, const Shape *shape) {
  return !is_tiled(tile) || !shape_has_dims(shape) || tile->num_dims == shape->rank;
}

static bool fail_sharding(Lint *lint, InstId id, const char *fault) {
  return lint_find_at(lint, LINT_SHARDING, id, lint_place_attr(lint, id, ATTR_SHARDING),
                      "its sharding %s", fault);
}

/* Checks the sharding of an array of the shape. */
static bool lint_tile(Lint *lint, InstId id, const Tile *tile, ShapeId array) {
  if (fits_rank(tile, shape_get(&lint->module->shapes, array))) return true;
  return fail_sharding(lint, id,
                       arena_printf(lint->scratch, "is for rank %u, its shape is %s",
                                    tile->num_dims, lint_shown(lint, array)));
}

/* The arrays of a shape in their order. Allocated in scratch. */
static uint32_t list_arrays(const Lint *lint, ShapeId shape, ShapeId **arrays) {
  const ShapeTable *shapes = &lint->module->shapes;
  uint32_t num_parts = shape_get(shapes, shape)->num_parts, count = 0;
  *arrays = arena_array(lint->scratch, ShapeId, num_parts);
  shape_list_parts(shapes, shape, *arrays);
  for (uint32_t i = 0; i < num_parts; i++) {
    if (!shape_is_tuple(shape_get(shapes, (*arrays)[i]))) (*arrays)[count++] = (*arrays)[i];
  }
  return count;
}

/* Checks one sharding for all arrays. */
static void lint_single(Lint *lint, InstId id, Tiles *tiles) {
  Tile tile;
  ShapeId *arrays;
  if (!next_tile(tiles, &tile)) return;
  uint32_t num_arrays = list_arrays(lint, inst_get(lint->module, id)->shape, &arrays);
  for (uint32_t i = 0; i < num_arrays; i++) {
    if (!lint_tile(lint, id, &tile, arrays[i])) return;
  }
  const char *fault = num_arrays ? tile_devices_fault(lint, &tile) : NULL;
  if (fault) fail_sharding(lint, id, fault);
}

static void lint_tuple(Lint *lint, InstId id, Tiles *tiles) {
  ShapeId *arrays;
  uint32_t num_arrays = list_arrays(lint, inst_get(lint->module, id)->shape, &arrays), count = 0;
  Tile tile;
  for (; next_tile(tiles, &tile); count++) {
    if (count >= num_arrays) continue;
    if (!lint_tile(lint, id, &tile, arrays[count])) return;
    const char *fault = tile_devices_fault(lint, &tile);
    if (!fault) continue;
    fail_sharding(lint, id, fault);
    return;
  }
  if (count == num_arrays || (num_arrays == 0 && count == 1)) return;
  fail_sharding(
      lint, id,
      arena_printf(lint->scratch, "has %u elements, its shape has %u arrays", count, num_arrays));
}

static void lint_own_sharding(Lint *lint, InstId id, const Attr *attr) {
  const Shape *shape = inst_shape(lint->module, id);
  Tiles tiles = tiles_of(lint->module, attr);
  if (shape_is_token(shape)) return;
  if (!tiles.is_tuple) {
    lint_single(lint, id, &tiles);
  } else if (shape_is_tuple(shape)) {
    lint_tuple(lint, id, &tiles);
  } else {
    fail_sharding(lint, id,
                  arena_printf(lint->scratch, "is that of a tuple, its shape is %s",
                               lint_shown(lint, inst_get(lint->module, id)->shape)));
  }
}

/* ---- compared with each other ---- */

/* True only when it is certain: one sharding can be written in many ways. */
static bool tiles_differ(const Tile *a, const Tile *b) {
  if (a->kind == TILE_UNKNOWN || b->kind == TILE_UNKNOWN) return false;
  bool is_clear =
      (a->kind != TILE_TILED || a->num_tiles > 1) && (b->kind != TILE_TILED || b->num_tiles > 1);
  if (!is_clear || a->kind != b->kind) return is_clear;
  if (a->kind == TILE_WORD) return !str_equal(a->word, b->word);
  if (a->kind == TILE_MAXIMAL) return a->device != b->device;
  if (a->num_others || b->num_others) return false;
  if (a->dims_hash != b->dims_hash) return true;
  bool are_lists = a->devices.begin < a->devices.end && b->devices.begin < b->devices.end;
  return are_lists && a->devices_hash != b->devices_hash;
}

/* All elements of a sharding. */
typedef struct TileList {
  VEC(Tile) list;
  bool is_tuple;
} TileList;

static TileList read_all(const Lint *lint, InstId id) {
  Tiles tiles = tiles_of(lint->module, inst_attr(lint->module, id, ATTR_SHARDING));
  TileList all = {.is_tuple = tiles.is_tuple};
  Tile tile;
  while (next_tile(&tiles, &tile)) {
    *vec_push(lint->scratch, &all.list) = tile;
    if (!tiles.is_tuple) break;
  }
  return all;
}

/* A single sharding applies to each array. */
static bool shardings_differ(const Lint *lint, const TileList *all, InstId other) {
  Tiles tiles = tiles_of(lint->module, inst_attr(lint->module, other, ATTR_SHARDING));
  Tile tile;
  bool has_tile = next_tile(&tiles, &tile);
  for (uint32_t i = 0; has_tile && i < all->list.len; i += all->is_tuple) {
    if (tiles_differ(&all->list.data[i], &tile)) return true;
    if (!all->is_tuple && !tiles.is_tuple) break;
    if (tiles.is_tuple) has_tile = next_tile(&tiles, &tile);
  }
  return false;
}

/* All others are compared with the first of `ids` that has a sharding. */
static void lint_consistent(Lint *lint, InstId id, const InstId *ids, uint32_t count) {
  InstId first = NO_ID;
  TileList all = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (!inst_attr(lint->module, ids[i], ATTR_SHARDING)) continue;
    if (first == NO_ID) {
      first = ids[i];
      all = read_all(lint, first);
    }
    if (first == ids[i] || !shardings_differ(lint, &all, ids[i])) continue;
    Str name = inst_name(lint->module, first), other = inst_name(lint->module, ids[i]);
    DiagPlace place = lint_place_attr(lint, ids[i], ATTR_SHARDING);
    place.opener = lint_place(lint, first).offset;
    lint_find_at(lint, LINT_SHARDING, id, place, "the shardings of '%.*s' and '%.*s' differ",
                 (int)name.len, name.data, (int)other.len, other.data);
    return;
  }
}

static InstId param_of(const Module *module, CompId comp) {
  return id_list(module, comp_get(module, comp)->params)[0];
}

static void lint_while(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const CompId *callees = inst_callees(module, id); /* body, condition */
  const InstId ids[] = {id, comp_get(module, callees[0])->root, param_of(module, callees[0]),
                        param_of(module, callees[1])};
  lint_consistent(lint, id, ids, sizeof ids / sizeof *ids);
}

static void lint_conditional(Lint *lint, InstId id) {
  const Module *module = lint->module;
  uint32_t num_branches = inst_get(module, id)->num_callees;
  InstId *ids = arena_array(lint->scratch, InstId, (size_t)num_branches + 1);
  ids[0] = id;
  for (uint32_t i = 0; i < num_branches; i++)
    ids[i + 1] = comp_get(module, inst_callees(module, id)[i])->root;
  lint_consistent(lint, id, ids, num_branches + 1);
}

void lint_sharding(Lint *lint, InstId id) {
  const Attr *attr = inst_attr(lint->module, id, ATTR_SHARDING);
  if (attr && !lint_is_oversized(lint, id)) lint_own_sharding(lint, id, attr);
  unsigned opcode = inst_get(lint->module, id)->opcode;
  if (opcode == OPCODE_WHILE) lint_while(lint, id);
  if (opcode == OPCODE_CONDITIONAL) lint_conditional(lint, id);
}
