#include "ir/writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* Takes bytes until it has `room` of them, then fails. */
typedef struct Sink {
  char *data;
  size_t len, room;
  int num_calls;
} Sink;

static int take(void *context, const char *data, size_t length) {
  Sink *sink = context;
  sink->num_calls++;
  if (length > sink->room - sink->len) return 1;
  memcpy(sink->data + sink->len, data, length);
  sink->len += length;
  return 0;
}

static Writer *begin(Sink *sink, size_t room) {
  *sink = (Sink){.data = malloc(room + 1), .room = room};
  Writer *writer = malloc(sizeof *writer);
  ck_assert(sink->data && writer);
  writer_init(writer, take, sink);
  return writer;
}

static void end(Writer *writer, Sink *sink) {
  free(writer);
  free(sink->data);
}

START_TEST(small_pieces_go_in_one_call) {
  Sink sink;
  Writer *writer = begin(&sink, 1000);
  ck_assert_int_eq(writer->last, '\n');
  write_text(writer, "a");
  write_str(writer, STR("bc"));
  write_format(writer, "%d,%s", -5, "x");
  write_bytes(writer, "\0z", 2);
  write_bytes(writer, "ignored", 0);
  write_text(writer, "");
  ck_assert_int_eq(writer->last, 'z');
  ck_assert_int_eq(sink.num_calls, 0);
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  ck_assert_int_eq(sink.num_calls, 1);
  ck_assert_uint_eq(sink.len, 9);
  ck_assert_mem_eq(sink.data, "abc-5,x\0z", 9);
  end(writer, &sink);
}
END_TEST

START_TEST(nothing_written_is_no_call) {
  Sink sink;
  Writer *writer = begin(&sink, 10);
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  ck_assert_int_eq(sink.num_calls, 0);
  end(writer, &sink);
}
END_TEST

/* Pieces around the size of the buffer, in order, none lost. */
static const size_t piece_sizes[] = {1, 7, 65535, 65536, 65537, 200000};

START_TEST(pieces_of_any_size_arrive_in_order) {
  enum { ROOM = 2000000 };
  Sink sink;
  Writer *writer = begin(&sink, ROOM);
  char *piece = malloc(piece_sizes[_i]);
  size_t total = 0;
  for (int round = 0; round < 7; round++) {
    memset(piece, 'a' + round, piece_sizes[_i]);
    write_bytes(writer, piece, piece_sizes[_i]);
    write_text(writer, "|");
    total += piece_sizes[_i] + 1;
  }
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  ck_assert_uint_eq(sink.len, total);
  size_t at = 0;
  for (int round = 0; round < 7; round++) {
    ck_assert_uint_eq(
        count_other_bytes(sink.data + at, piece_sizes[_i], (unsigned char)('a' + round)), 0);
    at += piece_sizes[_i];
    ck_assert_int_eq(sink.data[at++], '|');
  }
  free(piece);
  end(writer, &sink);
}
END_TEST

START_TEST(a_failure_is_kept_and_ends_the_calls) {
  Sink sink;
  Writer *writer = begin(&sink, 0);
  char *piece = calloc(1, 100000);
  write_bytes(writer, piece, 100000); /* too large for the buffer: sent at once */
  ck_assert(writer->has_failed);
  ck_assert_int_eq(sink.num_calls, 1);
  for (int i = 0; i < 10; i++)
    write_bytes(writer, piece, 100000);
  write_text(writer, "x");
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  ck_assert_int_eq(sink.num_calls, 1);
  free(piece);
  end(writer, &sink);
}
END_TEST

START_TEST(a_failure_at_the_end_is_seen) {
  Sink sink;
  Writer *writer = begin(&sink, 0);
  write_text(writer, "x");
  ck_assert(!writer->has_failed);
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  end(writer, &sink);
}
END_TEST

START_TEST(a_full_buffer_that_fails_is_seen) {
  Sink sink;
  Writer *writer = begin(&sink, 100000);
  char *piece = calloc(1, 40000);
  for (int i = 0; i < 5; i++)
    write_bytes(writer, piece, 40000);
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  ck_assert_uint_le(sink.len, 100000);
  free(piece);
  end(writer, &sink);
}
END_TEST

START_TEST(a_format_that_is_too_long_is_not_cut) {
  Sink sink;
  Writer *writer = begin(&sink, 10000);
  write_format(writer, "%511s", "x");
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  ck_assert_uint_eq(sink.len, 511);
  write_format(writer, "%512s", "x");
  ck_assert_int_eq(writer_finish(writer), RH_ERR_WRITE);
  end(writer, &sink);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("writer");
  TCase *tc = tcase_create("writer");
  tcase_add_test(tc, small_pieces_go_in_one_call);
  tcase_add_test(tc, nothing_written_is_no_call);
  tcase_add_loop_test(tc, pieces_of_any_size_arrive_in_order, 0,
                      sizeof piece_sizes / sizeof *piece_sizes);
  tcase_add_test(tc, a_failure_is_kept_and_ends_the_calls);
  tcase_add_test(tc, a_failure_at_the_end_is_seen);
  tcase_add_test(tc, a_full_buffer_that_fails_is_seen);
  tcase_add_test(tc, a_format_that_is_too_long_is_not_cut);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
