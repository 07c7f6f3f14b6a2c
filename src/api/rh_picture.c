/* The public function that draws. */
#include "emit/report/memory_map.h"
#include "emit/picture/picture.h"
#include "ir/diag.h"

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

rh_status rh_emit_picture(const rh_picture *picture, rh_picture_format format, rh_write_fn write,
                          void *context, rh_diags *diags) {
  PictureFn draw = find_format(format);
  if (!draw) {
    return diag_fail(diags, RH_ERR_USAGE, DIAG_NOWHERE,
                     "this build cannot write pages (REMAT_HLO_PICTURES is off)");
  }
  Arena *scratch = arena_new(memory_map_options(picture->before));
  Writer writer;
  writer_init(&writer, write, context);
  draw(picture, &writer, scratch);
  arena_free(scratch);
  return writer_finish(&writer);
}
