// The part that the decoder and the encoder of JPEG share. libjpeg returns by longjmp: an attempt holds all state that
// must survive a jump, and no local variable does.
#ifndef JPEG_ATTEMPT_H
#define JPEG_ATTEMPT_H

#include "common.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

// The first member of a decoder or an encoder; `client_data` of libjpeg's object points to it.
typedef struct {
  struct jpeg_error_mgr errors;
  jmp_buf way_out;
  vitrine_image_result *result;
  bool has_ended;  // the input is exhausted, and libjpeg got an inserted end of the picture
} vitrine_jpeg_attempt;

static inline vitrine_jpeg_attempt *vitrine_jpeg_attempt_of(j_common_ptr object) { return object->client_data; }

// Sets the functions that libjpeg calls with errors and warnings.
void vitrine_jpeg_prepare(vitrine_jpeg_attempt *self, vitrine_image_result *result);

// Sets the result and jumps to `way_out`.
_Noreturn void vitrine_jpeg_leave(j_common_ptr object, vitrine_image_status status, const char *reason);

#endif
