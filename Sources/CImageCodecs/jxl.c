// JPEG XL, by libjxl. The first picture of an animation.
//
// Before version 0.8, libjxl cannot bound its memory. It may end the process if memory is short.
#ifdef VITRINE_MORE_FORMATS

#include <jxl/decode.h>
#include <jxl/version.h>
#include <stdlib.h>
#include <string.h>

#include "color.h"
#include "common.h"

#if JPEGXL_NUMERIC_VERSION < JPEGXL_COMPUTE_NUMERIC_VERSION(0, 9, 0)
#define NO_FORMAT NULL,
#else
#define NO_FORMAT
#endif

enum {
  // Each channel beside the colors takes memory, and a small file can declare thousands.
  MOST_EXTRA_CHANNELS = 4,
  // The deadline is checked after each part of the input.
  PART = 1 << 18,
};

typedef struct {
  JxlDecoder *decoder;
  const uint8_t *bytes;
  size_t count;
  size_t given;
  JxlBasicInfo info;
  vitrine_image_pixels pixels;
} session;

static bool begin(session *self, int events, vitrine_image_result *result) {
  self->decoder = JxlDecoderCreate(NULL);
  if (!self->decoder) {
    vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libjxl's own");
    return false;
  }
  JxlDecoderSubscribeEvents(self->decoder, events);
  JxlDecoderSetKeepOrientation(self->decoder, JXL_TRUE);
  JxlDecoderSetUnpremultiplyAlpha(self->decoder, JXL_TRUE);
  return true;
}

// Gives the decoder more of the file. Returns false if there is no more.
static bool give(session *self) {
  size_t left = JxlDecoderReleaseInput(self->decoder);
  if (self->given == self->count) return false;
  const uint8_t *start = self->bytes + self->given - left;
  size_t more = self->count - self->given;
  if (more > PART) more = PART;
  self->given += more;
  if (JxlDecoderSetInput(self->decoder, start, left + more) != JXL_DEC_SUCCESS) return false;
  if (self->given == self->count) JxlDecoderCloseInput(self->decoder);
  return true;
}

// Returns the next event; JXL_DEC_ERROR, with a result, after a fault or at the deadline.
static JxlDecoderStatus next(session *self, uint64_t deadline, vitrine_image_result *result) {
  for (;;) {
    JxlDecoderStatus status = JxlDecoderProcessInput(self->decoder);
    if (status == JXL_DEC_ERROR) vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "libjxl finds a fault");
    if (status != JXL_DEC_NEED_MORE_INPUT) return status;
    if (vitrine_image_is_late(deadline)) {
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
      return JXL_DEC_ERROR;
    }
    if (!give(self)) {
      vitrine_image_say(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
      return JXL_DEC_ERROR;
    }
  }
}

static bool read_basic_info(session *self, uint64_t deadline, vitrine_image_result *result) {
  JxlDecoderStatus status = next(self, deadline, result);
  if (status != JXL_DEC_BASIC_INFO || JxlDecoderGetBasicInfo(self->decoder, &self->info) != JXL_DEC_SUCCESS) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "no header");
    return false;
  }
  return true;
}

static void check_channels(session *self, vitrine_image_result *result) {
  if (self->info.num_extra_channels > MOST_EXTRA_CHANNELS) {
    vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "more than 4 channels beside the colors");
    return;
  }
  for (uint32_t index = 0; index < self->info.num_extra_channels; index++) {
    JxlExtraChannelInfo extra;
    if (JxlDecoderGetExtraChannelInfo(self->decoder, index, &extra) == JXL_DEC_SUCCESS &&
        extra.type == JXL_CHANNEL_BLACK) {
      vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "CMYK");
    }
  }
}

void vitrine_jxl_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  session self = {.bytes = bytes, .count = count};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (begin(&self, JXL_DEC_BASIC_INFO, result) && read_basic_info(&self, UINT64_MAX, result)) {
    info->width = self.info.xsize;
    info->height = self.info.ysize;
    // Samples of more bits are decoded to 16.
    info->bits = self.info.bits_per_sample <= 16 ? self.info.bits_per_sample : 16;
    info->has_alpha = self.info.alpha_bits > 0;
    info->is_gray = self.info.num_color_channels == 1;
    info->is_animated = self.info.have_animation;
    // Lossy pictures have the colors of XYB, unless their encoder was told otherwise.
    info->is_lossless = self.info.uses_original_profile;
    info->orientation = (uint8_t)self.info.orientation;
    check_channels(&self, result);
  }
  JxlDecoderDestroy(self.decoder);
}

// Colors of XYB can be had in any profile. sRGB then needs no conversion.
static void prefer_srgb(session *self) {
  JxlColorEncoding srgb = {
      .color_space = self->info.num_color_channels == 1 ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB,
      .white_point = JXL_WHITE_POINT_D65,
      .primaries = JXL_PRIMARIES_SRGB,
      .transfer_function = JXL_TRANSFER_FUNCTION_SRGB,
      .rendering_intent = JXL_RENDERING_INTENT_RELATIVE,
  };
  JxlDecoderSetPreferredColorProfile(self->decoder, &srgb);
}

// The values of libjxl for primaries and curves are those of H.273, except for Display P3.
static bool codes_of(const JxlColorEncoding *color, uint8_t codes[4]) {
  if (color->white_point != JXL_WHITE_POINT_D65 || (unsigned)color->transfer_function > UINT8_MAX) return false;
  bool is_gray = color->color_space == JXL_COLOR_SPACE_GRAY;
  if (!is_gray && (color->color_space != JXL_COLOR_SPACE_RGB || color->primaries == JXL_PRIMARIES_CUSTOM)) return false;
  uint8_t primaries = is_gray ? JXL_PRIMARIES_SRGB : (uint8_t)color->primaries;
  codes[0] = primaries == JXL_PRIMARIES_P3 ? 12 : primaries;
  codes[1] = (uint8_t)color->transfer_function;
  codes[2] = 0;
  codes[3] = 1;
  return vitrine_color_knows(codes);
}

static vitrine_color *color_of(session *self, vitrine_image_result *result) {
  JxlColorEncoding encoding;
  uint8_t codes[4];
  if (JxlDecoderGetColorAsEncodedProfile(self->decoder, NO_FORMAT JXL_COLOR_PROFILE_TARGET_DATA, &encoding) ==
          JXL_DEC_SUCCESS &&
      codes_of(&encoding, codes)) {
    return vitrine_color_take((vitrine_color_source){VITRINE_COLOR_CODES, codes, 4}, VITRINE_COLOR_RGBA8);
  }
  size_t count = 0;
  if (JxlDecoderGetICCProfileSize(self->decoder, NO_FORMAT JXL_COLOR_PROFILE_TARGET_DATA, &count) != JXL_DEC_SUCCESS ||
      count == 0 || count > VITRINE_COLOR_MOST_BYTES) {
    return NULL;
  }
  uint8_t *profile = malloc(count);
  if (!profile) {
    vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "a profile");
    return NULL;
  }
  vitrine_color *color = NULL;
  if (JxlDecoderGetColorAsICCProfile(self->decoder, NO_FORMAT JXL_COLOR_PROFILE_TARGET_DATA, profile, count) ==
      JXL_DEC_SUCCESS) {
    bool is_gray = self->info.num_color_channels == 1;
    color = vitrine_color_take((vitrine_color_source){VITRINE_COLOR_PROFILE, profile, count},
                               is_gray ? VITRINE_COLOR_GRAY8 : VITRINE_COLOR_RGBA8);
  }
  free(profile);
  return color;
}

static void take_row(void *opaque, size_t x, size_t y, size_t count, const void *row) {
  const vitrine_image_pixels *pixels = &((session *)opaque)->pixels;
  if (y >= pixels->height || x > pixels->width || count > pixels->width - x) return;
  memcpy(pixels->bytes + y * pixels->bytes_per_row + x * 4, row, count * 4);
}

static void convert(const session *self, const vitrine_color *color, uint64_t deadline, vitrine_image_result *result) {
  for (uint32_t y = 0; color && y < self->pixels.height; y++) {
    if (vitrine_image_is_late(deadline)) {
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
      return;
    }
    uint8_t *row = self->pixels.bytes + (size_t)y * self->pixels.bytes_per_row;
    vitrine_color_convert(color, row, row, self->pixels.width);
  }
}

static void draw(session *self, uint64_t deadline, vitrine_image_result *result) {
  static const JxlPixelFormat format = {4, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  vitrine_color *color = NULL;
  bool is_done = false;
  while (!is_done && result->status == VITRINE_IMAGE_OK) {
    switch (next(self, deadline, result)) {
      case JXL_DEC_COLOR_ENCODING:
        prefer_srgb(self);
        vitrine_color_release(color);
        color = color_of(self, result);
        break;
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
        if (JxlDecoderSetImageOutCallback(self->decoder, &format, take_row, self) != JXL_DEC_SUCCESS) {
          vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "libjxl takes no memory for its pixels");
        }
        break;
      case JXL_DEC_FULL_IMAGE: is_done = true; break;
      default: vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "it ends without a picture"); break;
    }
  }
  if (is_done) convert(self, color, deadline, result);
  vitrine_color_release(color);
}

void vitrine_jxl_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result) {
  uint64_t deadline = vitrine_image_deadline(limits);
  session self = {.bytes = bytes, .count = count, .pixels = pixels};
  *result = (vitrine_image_result){0};
  int events = JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE;
  if (begin(&self, events, result) && read_basic_info(&self, deadline, result)) {
    check_channels(&self, result);
    if (self.info.xsize != pixels.width || self.info.ysize != pixels.height) {
      vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    }
    draw(&self, deadline, result);
  }
  JxlDecoderDestroy(self.decoder);
}

#endif
