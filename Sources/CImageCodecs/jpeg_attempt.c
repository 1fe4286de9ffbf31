// Errors and warnings of libjpeg.
#include "jpeg_attempt.h"

// Must follow jpeglib.h, which it needs.
#include <jerror.h>

void vitrine_jpeg_leave(j_common_ptr object, vitrine_image_status status, const char *reason) {
  vitrine_jpeg_attempt *self = vitrine_jpeg_attempt_of(object);
  vitrine_image_say(self->result, status, reason);
  longjmp(self->way_out, 1);
}

static vitrine_image_status status_of(int code) {
  switch (code) {
    case JERR_OUT_OF_MEMORY: return VITRINE_IMAGE_NO_MEMORY;
    case JERR_IMAGE_TOO_BIG:
    case JERR_NO_BACKING_STORE:
    case JERR_WIDTH_OVERFLOW: return VITRINE_IMAGE_TOO_LARGE;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_SOF_UNSUPPORTED: return VITRINE_IMAGE_UNSUPPORTED;
    default: return VITRINE_IMAGE_CORRUPT;
  }
}

static void on_error(j_common_ptr object) {
  char reason[JMSG_LENGTH_MAX];
  object->err->format_message(object, reason);
  vitrine_image_status status = status_of(object->err->msg_code);
  bool is_cut = status == VITRINE_IMAGE_CORRUPT && vitrine_jpeg_attempt_of(object)->has_ended;
  vitrine_jpeg_leave(object, is_cut ? VITRINE_IMAGE_TRUNCATED : status, reason);
}

// Level -1 is a warning. Other levels are traces. A warning is an error if pixels are missing or invented after it:
//
// | warning             | cause                                            | pixels    |
// |---------------------|--------------------------------------------------|-----------|
// | ADOBE_XFORM         | Adobe's marker names an unknown color transform  | complete  |
// | BOGUS_ICC           | the parts of a profile do not fit together       | complete  |
// | EXTRANEOUS_DATA     | bytes before a marker belong to no segment       | complete  |
// | JFIF_MAJOR          | the revision of JFIF is not 1, such as 0.00      | complete  |
// | NOT_SEQUENTIAL      | a sequential scan has parameters of a refinement | complete  |
// | ARITH_BAD_CODE      | no value of the arithmetic code                  | invented  |
// | HUFF_BAD_CODE       | no value of the Huffman code                     | invented  |
// | BOGUS_PROGRESSION   | a scan refines bits that no scan has sent        | invented  |
// | HIT_MARKER          | a scan ends before its blocks do                 | missing   |
// | JPEG_EOF            | the file ends; libjpeg's own sources report it   | missing   |
// | MUST_RESYNC         | a restart marker is missing or out of order      | missing   |
// | TOO_MUCH_DATA       | an encoder gets too many rows                    | encoding  |
static void on_message(j_common_ptr object, int level) {
  if (level >= 0) return;
  switch (object->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL: return;
    default: on_error(object);
  }
}

static void print_nothing(j_common_ptr object) { (void)object; }

void vitrine_jpeg_prepare(vitrine_jpeg_attempt *self, vitrine_image_result *result) {
  jpeg_std_error(&self->errors);
  self->errors.error_exit = on_error;
  self->errors.emit_message = on_message;
  self->errors.output_message = print_nothing;
  self->result = result;
}
