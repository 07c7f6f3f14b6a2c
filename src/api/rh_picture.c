/* The public function that draws. */
#include "emit/report/memory_map.h"
#include "emit/picture/picture.h"
#include "api/call.h"
#include "api/arguments.h"
#include "api/sized.h"

typedef void (*PictureFn)(const rh_picture *picture, Writer *out, Arena *scratch);

static PictureFn find_format(rh_picture_format format) {
  switch (format) {
#ifdef REMAT_HLO_PICTURES
    case RH_PICTURE_HTML: return picture_html;
#endif
    case RH_PICTURE_SVG: return picture_svg;
    case RH_PICTURE_PERFETTO: return picture_perfetto;
    default: return NULL;
  }
}

rh_status rh_emit_picture(const rh_picture *given, rh_picture_format format, rh_write_fn write,
                          void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_picture picture = RH_PICTURE_INIT;
  rh_status status = sized_read(&picture, sizeof picture, given, "rh_picture", diags);
  if (status == RH_OK) {
    status = check_choice((int)format, RH_NUM_PICTURE_FORMATS, "the format", diags);
  }
  PictureFn draw = find_format(format);
  if (status == RH_OK && !draw) {
    status = diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NOT_BUILT, NO_OFFSET),
                       "this build cannot write pages (REMAT_HLO_PICTURES is off)");
  }
  if (status != RH_OK) return call_close(call, status);
  ArenaOptions memory = call_memory(call, memory_map_limit(picture.before));
  Arena *scratch = arena_new(&memory);
  Writer writer;
  writer_init(&writer, write, context);
  draw(&picture, &writer, scratch);
  arena_free(scratch);
  return call_close(call, writer_finish(&writer));
}
