/* Parses shardings and replica groups. Only their form is checked, and the counts that XLA checks.
 * Nothing in them affects memory or cost, except the number and the size of replica groups. */
#include <inttypes.h>
#include <stdlib.h>

#include "ir/bytes.h"
#include "text/parser.h"

/* A range of the module's integers. Dimensions and devices are kept there only while they are
 * checked. */
typedef struct IntRange {
  uint32_t begin, len;
} IntRange;

/* As absl::c_accumulate with int64, it wraps on overflow. */
static int64_t product(const Parser *parser, IntRange range) {
  uint64_t result = 1;
  for (uint32_t i = 0; i < range.len; i++) {
    result *= (uint64_t)parser->source->ints.data[range.begin + i];
  }
  return (int64_t)result;
}

/* Returns the product in the form for messages. If it overflows, the wrapped value is not shown. */
static const char *show_product(const Parser *parser, IntRange range) {
  const int64_t *factors = parser->source->ints.data + range.begin;
  int64_t result = 1;
  bool has_zero = false, fits = true;
  for (uint32_t i = 0; i < range.len; i++) {
    has_zero |= factors[i] == 0;
    fits = fits && mul_bytes(result, factors[i], &result);
  }
  if (!fits && !has_zero) return "2^63 or more";
  return arena_printf(parser->scratch, "%" PRId64, has_zero ? 0 : result);
}

/* int (',' int)* without brackets. */
static bool parse_plain_ints(Parser *parser, IntRange *range) {
  range->begin = parser->source->ints.len;
  do {
    int64_t value;
    if (!parse_int(parser, &value)) return false;
    push_int(parser, value);
  } while (eat(parser, TOK_COMMA));
  range->len = parser->source->ints.len - range->begin;
  return true;
}

/* '[' int,… ']' ('T' '(' int,… ')')?
 *
 * The transpose is required for more than one dimension. */
static bool parse_iota(Parser *parser, IntRange *dims) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACKET, "before the dimensions of the iota") ||
      !parse_plain_ints(parser, dims) ||
      !parse_close(parser, TOK_RBRACKET, opener, "the dimensions of the iota")) {
    return false;
  }
  if (dims->len == 1) return true;
  if (!at_ident(parser, "T")) {
    return parse_expected(parser, "T(…), the order of the iota's dimensions");
  }
  lex_next(&parser->lex);
  uint32_t paren = tok(parser)->begin;
  IntRange order;
  if (!parse_token(parser, TOK_LPAREN, "after T") || !parse_plain_ints(parser, &order)) {
    return false;
  }
  if (order.len != dims->len) {
    return parse_fail(parser, paren, "T(…) orders %u of the iota's %u dimensions", order.len,
                      dims->len);
  }
  ArenaMark mark = arena_mark(parser->scratch);
  bool *is_named = arena_zarray(parser->scratch, bool, dims->len);
  bool is_permutation = true;
  for (uint32_t i = 0; i < order.len; i++) {
    int64_t dim = parser->source->ints.data[order.begin + i];
    if (dim < 0 || dim >= dims->len) {
      return parse_fail(parser, paren, "T(…) names dimension %" PRId64 " of %u", dim, dims->len);
    }
    is_permutation &= !is_named[dim];
    is_named[dim] = true;
  }
  arena_reset(parser->scratch, mark);
  if (!is_permutation) {
    diag_warn(parser->diags, DIAG_AT(paren), "T(…) names a dimension twice; XLA overlooks it");
  }
  return parse_close(parser, TOK_RPAREN, paren, "the order");
}

/* '[' dims ']' ('<=' iota | device,…)
 *
 * If `devices` is NULL, only the iota is allowed. */
static bool parse_tile_assignment(Parser *parser, IntRange *dims, IntRange *iota,
                                  IntRange *devices) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACKET, "before the dimensions of the tile assignment") ||
      !parse_plain_ints(parser, dims) ||
      !parse_close(parser, TOK_RBRACKET, opener, "the dimensions of the tile assignment")) {
    return false;
  }
  if (eat(parser, TOK_LESS_EQUAL)) return parse_iota(parser, iota);
  if (!devices) return parse_expected(parser, "'<=' and an iota");
  return parse_plain_ints(parser, devices);
}

/* ---- meshes ---- */

/* An axis, or a part of it. A part consists of `size` elements, and the parts before it have `pre`
 * elements. */
typedef struct AxisRef {
  uint32_t axis;
  int64_t pre, size;
  uint32_t place;
} AxisRef;

typedef struct Mesh {
  bool is_maximal;
  VEC(Str) axes;
  IdTable axis_of; /* from a name to its axis */
  IntRange sizes;
  VEC(AxisRef) refs; /* references to axes, in the order of the text */
} Mesh;

static bool parse_maximal_mesh(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  int64_t device;
  if (!parse_token(parser, TOK_LBRACKET, "after the mesh")) return false;
  if (!at(parser, TOK_ATTR_NAME) || !str_is(tok_word(parser), "device_id")) {
    return parse_expected(parser, "device_id=");
  }
  lex_next(&parser->lex);
  return parse_int(parser, &device) && parse_close(parser, TOK_RBRACKET, opener, "the mesh");
}

/* Returns true if device_ids follows the current ','. Consumes no token. */
static bool at_device_ids(const Parser *parser) {
  if (!at(parser, TOK_COMMA)) return false;
  Lexer ahead = parser->lex;
  lex_next(&ahead);
  Str word = {ahead.text + ahead.tok.word.begin, ahead.tok.word.end - ahead.tok.word.begin};
  return ahead.tok.kind == TOK_ATTR_NAME && str_is(word, "device_ids");
}

/* The device list must be a permutation other than the identity. XLA terminates otherwise. */
static bool check_devices(Parser *parser, uint32_t place, IntRange devices, int64_t count) {
  if (devices.len != count) {
    return parse_fail(parser, place, "the mesh has %" PRId64 " devices, device_ids names %u", count,
                      devices.len);
  }
  const int64_t *ids = parser->source->ints.data + devices.begin;
  bool is_identity = true, is_permutation = true;
  ArenaMark mark = arena_mark(parser->scratch);
  bool *seen = arena_zarray(parser->scratch, bool, devices.len + 1);
  for (uint32_t i = 0; i < devices.len; i++) {
    is_identity &= ids[i] == i;
    if (ids[i] < 0 || ids[i] >= devices.len || seen[ids[i]]) {
      is_permutation = false;
      break;
    }
    seen[ids[i]] = true;
  }
  arena_reset(parser->scratch, mark);
  if (!is_permutation) {
    return parse_fail(parser, place, "device_ids is not a permutation of the mesh's devices");
  }
  return !is_identity ||
         parse_fail(parser, place, "device_ids is the identity, which must be left out");
}

/* ',' device_ids= '(' (iota | int,…) ')' */
static bool parse_device_ids(Parser *parser, const Mesh *mesh) {
  lex_next(&parser->lex);
  lex_next(&parser->lex);
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LPAREN, "before the device ids")) return false;
  if (at(parser, TOK_LBRACKET)) {
    IntRange iota;
    if (!parse_iota(parser, &iota) || !parse_close(parser, TOK_RPAREN, opener, "the device ids")) {
      return false;
    }
    if (product(parser, iota) != product(parser, mesh->sizes)) {
      return parse_fail(parser, opener, "the iota has %s devices, the mesh %s",
                        show_product(parser, iota), show_product(parser, mesh->sizes));
    }
    return true;
  }
  IntRange devices = {0};
  if (!at(parser, TOK_RPAREN) && !parse_plain_ints(parser, &devices)) return false;
  if (!parse_close(parser, TOK_RPAREN, opener, "the device ids")) return false;
  int64_t count = 1;
  for (uint32_t i = 0; i < mesh->sizes.len; i++) {
    int64_t size = parser->source->ints.data[mesh->sizes.begin + i];
    if (size < 0 || !mul_bytes(count, size, &count)) {
      return parse_fail(parser, opener, "the size of the mesh overflows 64 bits");
    }
  }
  return check_devices(parser, opener, devices, count);
}

/* Returns NO_ID if the mesh has no axis of this name. */
static uint32_t find_axis(const Mesh *mesh, Str name) {
  uint32_t axis;
  for (IdProbe probe = id_table_probe(&mesh->axis_of, hash_str(name));
       id_probe_next(&probe, &axis);) {
    if (str_equal(mesh->axes.data[axis], name)) return axis;
  }
  return NO_ID;
}

/* (maximal_mesh | single_device) '[' device_id=I ']' | mesh '[' ('axis'=size),… ']' device_ids? */
static bool parse_mesh(Parser *parser, Mesh *mesh) {
  *mesh = (Mesh){.is_maximal = !at_ident(parser, "mesh")};
  lex_next(&parser->lex);
  if (mesh->is_maximal) return parse_maximal_mesh(parser);
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACKET, "after mesh")) return false;
  mesh->sizes.begin = parser->source->ints.len;
  if (!at(parser, TOK_RBRACKET)) {
    do {
      Span name;
      int64_t size;
      if (!parse_string(parser, &name) || !parse_token(parser, TOK_EQUAL, "after the axis") ||
          !parse_int(parser, &size)) {
        return false;
      }
      Str text = {parser->lex.text + name.begin, name.end - name.begin};
      if (find_axis(mesh, text) != NO_ID) {
        return parse_fail(parser, name.begin, "the mesh has two axes '%.*s'", (int)text.len,
                          text.data); /* XLA terminates here */
      }
      id_table_add(&mesh->axis_of, parser->scratch, hash_str(text), mesh->axes.len);
      *vec_push(parser->scratch, &mesh->axes) = text;
      push_int(parser, size);
    } while (eat(parser, TOK_COMMA));
  }
  mesh->sizes.len = mesh->axes.len;
  if (!parse_close(parser, TOK_RBRACKET, opener, "the mesh")) return false;
  if (mesh->axes.len && at_device_ids(parser)) return parse_device_ids(parser, mesh);
  return true;
}

/* axis_ref = string (':' '(' int ')' int)?
 *
 * The string is the name or the number of an axis. */
static bool parse_axis_ref(Parser *parser, Mesh *mesh) {
  uint32_t place = tok(parser)->begin;
  Span text;
  if (!parse_string(parser, &text)) return false;
  Str name = {parser->lex.text + text.begin, text.end - text.begin};
  uint32_t axis = find_axis(mesh, name);
  if (axis == NO_ID) {
    Lexer number;
    lexer_init(&number, name.data, name.len, NULL);
    lex_next_int(&number);
    bool is_number = number.tok.kind == TOK_INT && number.pos == name.len;
    if (!is_number || number.tok.integer < 0 || number.tok.integer >= mesh->axes.len) {
      return parse_fail(parser, place, "'%.*s' is no axis of the mesh", (int)name.len, name.data);
    }
    axis = (uint32_t)number.tok.integer;
  }
  int64_t whole = parser->source->ints.data[mesh->sizes.begin + axis];
  AxisRef ref = {axis, 1, whole, place};
  if (eat(parser, TOK_COLON)) {
    uint32_t opener = tok(parser)->begin;
    if (!parse_token(parser, TOK_LPAREN, "before the size in front of a sub-axis") ||
        !parse_int(parser, &ref.pre) || !parse_close(parser, TOK_RPAREN, opener, "the size") ||
        !parse_int(parser, &ref.size)) {
      return false;
    }
    bool is_part = ref.pre >= 1 && ref.size >= 2 && ref.size < whole && whole % ref.pre == 0 &&
                   whole / ref.pre % ref.size == 0;
    if (!is_part) { /* XLA terminates here */
      return parse_fail(parser, place, "(%" PRId64 ")%" PRId64 " is no part of an axis of %" PRId64,
                        ref.pre, ref.size, whole);
    }
  }
  *vec_push(parser->scratch, &mesh->refs) = ref;
  return true;
}

/* ---- axes that do not fit together, on which XLA terminates ---- */

static int by_axis_then_pre(const void *pa, const void *pb) {
  const AxisRef *a = pa, *b = pb;
  if (a->axis != b->axis) return a->axis < b->axis ? -1 : 1;
  if (a->pre != b->pre) return a->pre < b->pre ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

/* In the order of `pre`, each part of an axis must begin at a multiple of the end of the part
 * before it. Otherwise the parts overlap. */
static bool check_axes(Parser *parser, const Mesh *mesh) {
  uint32_t len = mesh->refs.len;
  if (len < 2) return true;
  AxisRef *sorted = arena_array(parser->scratch, AxisRef, len);
  memcpy(sorted, mesh->refs.data, len * sizeof *sorted);
  qsort(sorted, len, sizeof *sorted, by_axis_then_pre);
  for (uint32_t i = 1; i < len; i++) {
    const AxisRef *a = &sorted[i - 1], *b = &sorted[i];
    if (a->axis != b->axis || a->size < 1 || b->pre % (a->pre * a->size) == 0) {
      continue;
    }
    return parse_fail_opened(parser, b->place, a->place,
                             "the axis, or a part of it, is used twice");
  }
  return true;
}

/* Checks the list that begins at `first`. Neighbours must not be mergeable, and the list must be
 * sorted if its order has no meaning. */
static bool check_list(Parser *parser, const Mesh *mesh, uint32_t first, bool is_sorted) {
  for (uint32_t i = first + 1; i < mesh->refs.len; i++) {
    const AxisRef *a = &mesh->refs.data[i - 1], *b = &mesh->refs.data[i];
    if (a->axis == b->axis && a->pre * a->size == b->pre) {
      return parse_fail(parser, b->place, "this part of the axis is to be one with that before it");
    }
    if (is_sorted && by_axis_then_pre(a, b) > 0) {
      return parse_fail(parser, b->place, "these axes are to be in the order of the mesh");
    }
  }
  return true;
}

/* '{' axis,… '}'
 *
 * A '?' may be at the end if the dimension may be open. */
static bool parse_axis_refs(Parser *parser, Mesh *mesh, bool may_be_open) {
  uint32_t opener = tok(parser)->begin, first = mesh->refs.len;
  if (!parse_token(parser, TOK_LBRACE, "before the axes")) return false;
  if (!at(parser, TOK_RBRACE)) {
    bool is_open = false;
    do {
      if (is_open) return parse_expected(parser, "'}' after '?'");
      if (may_be_open && at(parser, TOK_QUESTION)) {
        is_open = true;
        lex_next(&parser->lex);
      } else if (!parse_axis_ref(parser, mesh)) {
        return false;
      }
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the axes") &&
         check_list(parser, mesh, first, !may_be_open);
}

/* metadata | '{' metadata,… '}' */
static bool parse_metadata_or_list(Parser *parser) {
  Metadata metadata;
  if (!at(parser, TOK_LBRACE) || lex_peek(&parser->lex) != TOK_LBRACE) {
    return parse_metadata(parser, &metadata);
  }
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  do {
    if (!parse_metadata(parser, &metadata)) return false;
  } while (eat(parser, TOK_COMMA));
  return parse_close(parser, TOK_RBRACE, opener, "the list of metadata");
}

static bool parse_metadata_at_end(Parser *parser, uint32_t opener) {
  if (eat(parser, TOK_COMMA)) {
    if (!at(parser, TOK_ATTR_NAME) || !str_is(tok_word(parser), "metadata")) {
      return parse_expected(parser, "metadata=");
    }
    lex_next(&parser->lex);
    if (!parse_metadata_or_list(parser)) return false;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the sharding");
}

static bool at_reduction(const Parser *parser) {
  Str word = tok_word(parser);
  return (at(parser, TOK_ATTR_NAME) || at(parser, TOK_IDENT)) &&
         (str_is(word, "sum") || str_is(word, "max") || str_is(word, "min"));
}

/* unreduced ('=' (sum|max|min))? axes? */
static bool parse_unreduced(Parser *parser, Mesh *mesh, uint32_t opener) {
  bool has_reduction = at(parser, TOK_ATTR_NAME);
  lex_next(&parser->lex);
  if (!has_reduction) has_reduction = eat(parser, TOK_EQUAL);
  if (has_reduction) {
    if (!at_reduction(parser)) return parse_expected(parser, "sum, max or min");
    lex_next(&parser->lex);
  }
  if (at(parser, TOK_LBRACE) && !parse_axis_refs(parser, mesh, false)) return false;
  return parse_metadata_at_end(parser, opener);
}

/* '[' axes,… ']' (',' (replicated= | unreduced= | manual= | metadata=) …)* */
static bool parse_dim_shardings(Parser *parser, Mesh *mesh, uint32_t opener) {
  uint32_t bracket = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACKET, "before the dimensions")) return false;
  if (!at(parser, TOK_RBRACKET)) {
    do {
      if (!parse_axis_refs(parser, mesh, true)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  if (!parse_close(parser, TOK_RBRACKET, bracket, "the dimensions")) return false;
  while (!at(parser, TOK_RBRACE)) {
    if (!parse_token(parser, TOK_COMMA, "before the next attribute of the sharding")) return false;
    Str name = tok_word(parser);
    if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "an attribute of the sharding");
    bool is_metadata = str_is(name, "metadata"), is_unreduced = str_is(name, "unreduced");
    if (!is_metadata && !is_unreduced && !str_is(name, "replicated") && !str_is(name, "manual")) {
      return parse_expected(parser, "replicated=, unreduced=, manual= or metadata=");
    }
    lex_next(&parser->lex);
    if (is_unreduced && (at(parser, TOK_ATTR_NAME) || at(parser, TOK_IDENT))) {
      if (!at_reduction(parser)) return parse_expected(parser, "sum, max or min");
      lex_next(&parser->lex);
    }
    if (is_metadata ? !parse_metadata_or_list(parser) : !parse_axis_refs(parser, mesh, false)) {
      return false;
    }
  }
  return parse_close(parser, TOK_RBRACE, opener, "the sharding");
}

static bool at_mesh(const Parser *parser) {
  return at_ident(parser, "mesh") || at_ident(parser, "maximal_mesh") ||
         at_ident(parser, "single_device");
}

/* Reads the form with a mesh, after its '{' at `opener`. */
static bool parse_named_sharding(Parser *parser, uint32_t opener) {
  Mesh mesh;
  if (!parse_mesh(parser, &mesh)) return false;
  if (mesh.is_maximal) return parse_metadata_at_end(parser, opener);
  eat(parser, TOK_COMMA);
  if (tok_is_keyword(tok(parser), KW_REPLICATED) || tok_is_keyword(tok(parser), KW_MANUAL)) {
    lex_next(&parser->lex);
    return parse_metadata_at_end(parser, opener);
  }
  bool is_unreduced = tok_is_keyword(tok(parser), KW_UNREDUCED) ||
                      (at(parser, TOK_ATTR_NAME) && str_is(tok_word(parser), "unreduced"));
  bool ok = is_unreduced ? parse_unreduced(parser, &mesh, opener)
                         : parse_dim_shardings(parser, &mesh, opener);
  return ok && check_axes(parser, &mesh);
}

/* '{' (maximal | replicated | manual | unreduced),… '}' */
static bool parse_sharding_types(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the types")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!tok_is_keyword(tok(parser), KW_MAXIMAL) && !tok_is_keyword(tok(parser), KW_REPLICATED) &&
          !tok_is_keyword(tok(parser), KW_MANUAL) && !tok_is_keyword(tok(parser), KW_UNREDUCED)) {
        return parse_expected(parser, "maximal, replicated, manual or unreduced");
      }
      lex_next(&parser->lex);
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the types");
}

typedef struct SingleSharding {
  bool has[KW_SHARD_LIKE + 1]; /* by keyword */
  bool has_types;
  uint32_t num_types;
  IntRange dims, iota, devices;
} SingleSharding;

static bool parse_sharding_attr(Parser *parser, SingleSharding *sharding) {
  Str name = tok_word(parser);
  if (str_is(name, "device")) {
    lex_next(&parser->lex);
    sharding->devices.begin = parser->source->ints.len;
    sharding->devices.len = 1;
    int64_t device;
    if (!parse_int(parser, &device)) return false;
    push_int(parser, device);
    return true;
  }
  if (str_is(name, "devices")) {
    uint32_t place = tok(parser)->begin;
    bool had_some = sharding->dims.len > 0, had_iota = sharding->iota.len > 0;
    lex_next(&parser->lex);
    if (!parse_tile_assignment(parser, &sharding->dims, &sharding->iota, &sharding->devices)) {
      return false;
    }
    /* XLA accepts several lists in sequence, but terminates or fails if one of them is an iota. */
    bool is_confused = had_some && (had_iota || sharding->iota.len > 0);
    return !is_confused || parse_fail(parser, place, "devices= is given twice");
  }
  if (str_is(name, "metadata")) {
    lex_next(&parser->lex);
    return parse_metadata_or_list(parser);
  }
  if (str_is(name, "last_tile_dims")) {
    lex_next(&parser->lex);
    sharding->has_types = true;
    return parse_sharding_types(parser);
  }
  static const char *const words[] = {"device", "devices", "metadata", "last_tile_dims"};
  return parse_expected_word(parser, "device=, devices=, metadata= or last_tile_dims=", words, 4);
}

/* XLA's array of tiles computes its number of elements from the dimensions, so they must be valid
 * sizes. */
static bool check_tiles(Parser *parser, const SingleSharding *sharding, uint32_t place) {
  int64_t tiles = product(parser, sharding->dims);
  for (uint32_t i = 0; i < sharding->dims.len; i++) {
    if (parser->source->ints.data[sharding->dims.begin + i] < 0) {
      return parse_fail(parser, place, "a dimension of the tile assignment is negative");
    }
  }
  if (sharding->iota.len) {
    return product(parser, sharding->iota) == tiles ||
           parse_fail(parser, place,
                      "the tile assignment has %s places for the %s devices of the iota",
                      show_product(parser, sharding->dims), show_product(parser, sharding->iota));
  }
  if (sharding->devices.len <= 1) {
    return parse_fail(parser, place, "a tiled sharding needs more than one device");
  }
  return sharding->devices.len == tiles ||
         parse_fail(parser, place, "the tile assignment has %s places for %u devices",
                    show_product(parser, sharding->dims), sharding->devices.len);
}

static bool check_single_sharding(Parser *parser, const SingleSharding *sharding, uint32_t place) {
  static const uint8_t without_devices[] = {KW_MANUAL, KW_UNKNOWN, KW_UNREDUCED};
  uint32_t num_devices = sharding->devices.len;
  if (sharding->has[KW_REPLICATED]) {
    return num_devices == 0 || parse_fail(parser, place, "a replicated sharding names no devices");
  }
  if (sharding->has[KW_MAXIMAL]) {
    return num_devices == 1 || parse_fail(parser, place, "a maximal sharding names one device");
  }
  for (size_t i = 0; i < sizeof without_devices; i++) {
    if (!sharding->has[without_devices[i]]) continue;
    return num_devices == 0 || parse_fail(parser, place, "this sharding names no devices");
  }
  if (sharding->dims.len == 0) {
    return parse_fail(parser, place,
                      "the sharding is neither replicated, maximal, manual, unknown "
                      "nor unreduced, and has no devices=");
  }
  return check_tiles(parser, sharding, place);
}

/* Reads words in any order up to '}', after the '{' at `opener`. */
static bool parse_single_sharding(Parser *parser, uint32_t opener) {
  uint32_t before = parser->source->ints.len;
  if (at_mesh(parser)) {
    bool ok = parse_named_sharding(parser, opener);
    parser->source->ints.len = before;
    return ok;
  }
  SingleSharding sharding = {0};
  while (!at(parser, TOK_RBRACE)) {
    uint8_t keyword = tok(parser)->value;
    bool is_word = at(parser, TOK_KEYWORD) && keyword >= KW_MAXIMAL;
    if (is_word) {
      sharding.has[keyword] = true;
      lex_next(&parser->lex);
      int64_t group;
      if ((keyword == KW_SHARD_AS || keyword == KW_SHARD_LIKE) && !parse_int(parser, &group)) {
        return false;
      }
    } else if (at(parser, TOK_ATTR_NAME)) {
      if (!parse_sharding_attr(parser, &sharding)) return false;
    } else {
      static const char *const words[] = {"maximal",  "replicated", "manual",
                                          "unknown",  "unreduced",  "last_tile_dim_replicate",
                                          "shard_as", "shard_like", "devices"};
      return parse_expected_word(parser, "a word of the sharding or '}'", words,
                                 sizeof words / sizeof *words);
    }
  }
  bool ok = check_single_sharding(parser, &sharding, opener);
  parser->source->ints.len = before;
  return ok && parse_close(parser, TOK_RBRACE, opener, "the sharding");
}

/* '{' '{' single '}',… '}' for a tuple | '{' '}' | '{' single '}' */
bool parse_sharding(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the sharding")) return false;
  if (!at(parser, TOK_LBRACE) && !at(parser, TOK_RBRACE)) {
    return parse_single_sharding(parser, opener);
  }
  if (!at(parser, TOK_RBRACE)) {
    do {
      uint32_t element = tok(parser)->begin;
      if (!parse_token(parser, TOK_LBRACE, "before the sharding of a tuple element") ||
          !parse_single_sharding(parser, element)) {
        return false;
      }
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the tuple sharding");
}

/* '{' '{' int,… '}',… '}'
 *
 * Stores the number of groups, and their size if all have the same one. */
static bool parse_group_lists(Parser *parser) {
  uint32_t opener = tok(parser)->begin, before = parser->source->ints.len;
  int64_t num_groups = 0, group_size = 0;
  if (!parse_token(parser, TOK_LBRACE, "before the replica groups")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (at(parser, TOK_ATTR_NAME)) {
        parse_check_closed(parser, TOK_RBRACE, opener, "the replica groups");
      }
      if (!parse_int_list(parser, TOK_LBRACE, TOK_RBRACE, TOK_COMMA)) return false;
      int64_t size = parser->source->ints.len - before;
      parser->source->ints.len = before;
      group_size = num_groups == 0 || group_size == size ? size : -1;
      num_groups++;
    } while (eat(parser, TOK_COMMA));
  }
  push_int(parser, num_groups);
  push_int(parser, group_size);
  return parse_close(parser, TOK_RBRACE, opener, "the replica groups");
}

/* lists | '[' groups ',' size ']' '<=' iota | mesh axes */
bool parse_replica_groups(Parser *parser) {
  if (at(parser, TOK_LBRACE)) return parse_group_lists(parser);
  uint32_t before = parser->source->ints.len, place = tok(parser)->begin;
  if (at_mesh(parser)) {
    Mesh mesh;
    if (!parse_mesh(parser, &mesh) || !parse_axis_refs(parser, &mesh, false)) return false;
    parser->source->ints.len = before;
    return true;
  }
  IntRange dims, iota = {0};
  bool is_list = at(parser, TOK_LBRACKET) && lex_peek(&parser->lex) == TOK_LBRACKET;
  if (!at(parser, TOK_LBRACKET) || is_list) {
    return parse_expected(parser, "groups such as {{0,1},{2,3}} or [2,2]<=[4]");
  }
  if (!parse_tile_assignment(parser, &dims, &iota, NULL)) return false;
  if (dims.len != 2) {
    return parse_fail(parser, place, "replica groups are [groups,size]<=[…]: two dimensions");
  }
  if (product(parser, dims) != product(parser, iota)) {
    return parse_fail(parser, place, "the groups hold %s devices, the iota %s",
                      show_product(parser, dims), show_product(parser, iota));
  }
  int64_t num_groups = parser->source->ints.data[dims.begin];
  int64_t group_size = parser->source->ints.data[dims.begin + 1];
  parser->source->ints.len = before;
  push_int(parser, num_groups);
  push_int(parser, group_size);
  return true;
}
