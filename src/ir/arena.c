#include "ir/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  ALIGNMENT = 16,
  FIRST_CHUNK_BYTES = 1 << 12,
  MAX_CHUNK_BYTES = 1 << 20,
  MIN_RESERVED_BYTES = 1 << 20,
};

/* Requests of this size or more get a block of their own, which arena_grow can pass to realloc. */
#ifdef RH_ARENA_MALLOC
/* With this option every request is a real malloc, so that ASan and valgrind detect overruns. */
static const size_t LARGE_BYTES = 0;
#else
static const size_t LARGE_BYTES = 1 << 16;
#endif

typedef struct Chunk {
  struct Chunk *older;
  char *end;
  _Alignas(16) char data[];
} Chunk;

typedef struct Block {
  struct Block *older;
  struct Block *newer;
  uint64_t number; /* increases; arena_grow may move a block but keeps its number */
  size_t bytes;
  _Alignas(16) char data[];
} Block;

/* A resource other than arena memory that is released with the arena. The struct is in the arena
 * itself. */
typedef struct Owned {
  struct Owned *older;
  void *thing;
  void (*release)(void *thing);
} Owned;

struct Arena {
  ArenaOptions options;
  Arena *older, *newer; /* neighbours under the same guard */
  Owned *owned;         /* newest */
  Chunk *chunk;         /* newest; `next` points into it */
  char *next;
  Chunk *reserved; /* the chunk of arena_reserve, which also holds large requests; or NULL */
  Block *block;    /* newest */
  uint64_t num_blocks_ever;
  size_t total_bytes;
  size_t next_chunk_bytes;
};

static _Noreturn void out_of_memory(const ArenaOptions *options, size_t wanted_bytes) {
  ArenaGuard *guard = options->guard;
  if (!guard) abort();
  guard->wanted_bytes = wanted_bytes;
  guard->limit_bytes = options->max_bytes;
  longjmp(guard->jump, 1);
}

_Noreturn void arena_fail(Arena *arena, size_t wanted_bytes) {
  out_of_memory(&arena->options, wanted_bytes);
}

static void *take(const ArenaOptions *options, size_t *total_bytes, void *old, size_t old_bytes,
                  size_t bytes) {
  size_t added = bytes - old_bytes;
  if (options->max_bytes && added > options->max_bytes - *total_bytes) {
    out_of_memory(options, bytes);
  }
  void *memory = realloc(old, bytes);
  if (!memory) out_of_memory(options, bytes);
  *total_bytes += added;
  return memory;
}

/* ---- guards ---- */

static void link_to_guard(Arena *arena) {
  ArenaGuard *guard = arena->options.guard;
  if (!guard) return;
  arena->older = guard->arenas;
  if (arena->older) arena->older->newer = arena;
  guard->arenas = arena;
}

/* An arena whose guard was swapped is in no list, so it has no neighbours and is not the newest. */
static void unlink_from_guard(Arena *arena) {
  ArenaGuard *guard = arena->options.guard;
  if (guard && guard->arenas == arena) guard->arenas = arena->older;
  if (arena->older) arena->older->newer = arena->newer;
  if (arena->newer) arena->newer->older = arena->older;
  arena->older = arena->newer = NULL;
}

void arena_guard_free_all(ArenaGuard *guard) {
  while (guard->arenas)
    arena_free(guard->arenas);
}

void arena_guard_release_all(ArenaGuard *guard) {
  while (guard->arenas) {
    Arena *arena = guard->arenas;
    unlink_from_guard(arena);
    arena->options.guard = NULL;
  }
}

ArenaGuard *arena_swap_guard(Arena *arena, ArenaGuard *guard) {
  ArenaGuard *before = arena->options.guard;
  arena->options.guard = guard;
  return before;
}

/* ---- arenas ---- */

Arena *arena_new(const ArenaOptions *options) {
  static const ArenaOptions defaults = {0};
  if (!options) options = &defaults;
  size_t total_bytes = 0;
  Arena *arena = take(options, &total_bytes, NULL, 0, sizeof *arena);
  *arena = (Arena){
      .options = *options, .total_bytes = total_bytes, .next_chunk_bytes = FIRST_CHUNK_BYTES};
  link_to_guard(arena);
  return arena;
}

static void release_owned_until(Arena *arena, const Owned *keep) {
  while (arena->owned != keep) {
    Owned *owned = arena->owned;
    arena->owned = owned->older;
    if (owned->thing) owned->release(owned->thing);
  }
}

static void free_blocks_after(Arena *arena, uint64_t number) {
  while (arena->block && arena->block->number > number) {
    Block *block = arena->block;
    arena->block = block->older;
    arena->total_bytes -= sizeof *block + block->bytes;
    free(block);
  }
  if (arena->block) arena->block->newer = NULL;
}

static void free_chunks_until(Arena *arena, const Chunk *keep) {
  while (arena->chunk != keep) {
    Chunk *chunk = arena->chunk;
    assert(chunk && "the mark is older than the chunk");
    arena->chunk = chunk->older;
    arena->total_bytes -= (size_t)(chunk->end - (char *)chunk);
    if (chunk == arena->reserved) arena->reserved = NULL;
    free(chunk);
  }
}

void arena_free(Arena *arena) {
  if (!arena) return;
  release_owned_until(arena, NULL);
  unlink_from_guard(arena);
  free_blocks_after(arena, 0);
  free_chunks_until(arena, NULL);
  free(arena);
}

const ArenaOptions *arena_options(const Arena *arena) {
  return &arena->options;
}

size_t arena_bytes(const Arena *arena) {
  return arena->total_bytes;
}

size_t arena_array_bytes(Arena *arena, size_t count, size_t size) {
  if (size && count > SIZE_MAX / 2 / size) out_of_memory(&arena->options, SIZE_MAX);
  return count * size;
}

static void *alloc_block(Arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 2) out_of_memory(&arena->options, bytes);
  Block *block = take(&arena->options, &arena->total_bytes, NULL, 0, sizeof(Block) + bytes);
  block->older = arena->block;
  block->newer = NULL;
  block->number = ++arena->num_blocks_ever;
  block->bytes = bytes;
  if (arena->block) arena->block->newer = block;
  arena->block = block;
  return block->data;
}

static void open_chunk(Arena *arena, Chunk *chunk, size_t bytes) {
  chunk->older = arena->chunk;
  chunk->end = (char *)chunk + bytes;
  arena->chunk = chunk;
  arena->next = chunk->data;
}

void arena_reserve(Arena *arena, size_t bytes) {
  enum { OVERHEAD = sizeof(Chunk) + CACHE_LINE_BYTES };
  if (LARGE_BYTES == 0 || bytes < MIN_RESERVED_BYTES || bytes > SIZE_MAX / 2) return;
  size_t wanted = OVERHEAD + bytes;
  const ArenaOptions *options = &arena->options;
  if (options->max_bytes && wanted > options->max_bytes - arena->total_bytes) return;
  Chunk *chunk = malloc(wanted);
  if (!chunk) return;
  arena->total_bytes += wanted;
  open_chunk(arena, chunk, wanted);
  arena->next += -(uintptr_t)chunk->data % CACHE_LINE_BYTES;
  arena->reserved = chunk;
}

static bool is_in_reserved(const Arena *arena, const void *memory) {
  const Chunk *chunk = arena->reserved;
  return chunk && (uintptr_t)memory >= (uintptr_t)chunk->data &&
         (uintptr_t)memory < (uintptr_t)chunk->end;
}

void *arena_alloc(Arena *arena, size_t bytes) {
  size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  size_t left = arena->chunk ? (size_t)(arena->chunk->end - arena->next) : 0;
  if (bytes >= LARGE_BYTES) {
    bool fits = arena->reserved && arena->chunk == arena->reserved && rounded <= left;
    if (!fits) return alloc_block(arena, bytes);
  } else if (!arena->chunk || rounded > left) {
    size_t wanted = sizeof(Chunk) + rounded;
    if (wanted < arena->next_chunk_bytes) wanted = arena->next_chunk_bytes;
    open_chunk(arena, take(&arena->options, &arena->total_bytes, NULL, 0, wanted), wanted);
    if (arena->next_chunk_bytes < MAX_CHUNK_BYTES) arena->next_chunk_bytes *= 2;
  }
  void *memory = arena->next;
  arena->next += rounded;
  return memory;
}

void **arena_own(Arena *arena, void (*release)(void *thing)) {
  Owned *owned = arena_alloc(arena, sizeof *owned);
  *owned = (Owned){.older = arena->owned, .release = release};
  arena->owned = owned;
  return &owned->thing;
}

void *arena_zalloc(Arena *arena, size_t bytes) {
  return memset(arena_alloc(arena, bytes), 0, bytes);
}

void *arena_grow(Arena *arena, void *old, size_t old_bytes, size_t new_bytes) {
  if (new_bytes <= old_bytes) return old;
  if (!old) return arena_alloc(arena, new_bytes);
  if (old_bytes >= LARGE_BYTES && !is_in_reserved(arena, old)) {
    if (new_bytes > SIZE_MAX / 2) out_of_memory(&arena->options, new_bytes);
    Block *block = (Block *)((char *)old - offsetof(Block, data));
    assert(block->bytes == old_bytes && "arena_grow gets a block's whole size");
    bool is_newest = arena->block == block;
    block = take(&arena->options, &arena->total_bytes, block, sizeof(Block) + old_bytes,
                 sizeof(Block) + new_bytes);
    block->bytes = new_bytes;
    if (block->older) block->older->newer = block;
    if (block->newer) block->newer->older = block;
    if (is_newest) arena->block = block;
    return block->data;
  }
  void *memory = arena_alloc(arena, new_bytes);
  memcpy(memory, old, old_bytes);
  return memory;
}

char *arena_strndup(Arena *arena, const char *text, size_t length) {
  char *copy = arena_alloc(arena, length + 1);
  if (length) memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

char *arena_printf(Arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  assert(length >= 0 && "the format is a constant of ours");
  char *text = arena_alloc(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

ArenaMark arena_mark(const Arena *arena) {
  return (ArenaMark){.chunk = arena->chunk,
                     .next = arena->next,
                     .owned = arena->owned,
                     .num_blocks_ever = arena->num_blocks_ever};
}

void arena_reset(Arena *arena, ArenaMark mark) {
  release_owned_until(arena, mark.owned);
  free_blocks_after(arena, mark.num_blocks_ever);
  free_chunks_until(arena, mark.chunk);
  arena->next = mark.next;
}
