// AVIF, by libavif. The first picture of a sequence.
//
// Under libavif, dav1d writes a line about some damaged pictures to the standard error. libavif cannot silence it.
// Before version 1, libavif ends the process if memory is short.
#ifdef VITRINE_MORE_FORMATS

#include <avif/avif.h>
#include <string.h>

#include "color.h"
#include "common.h"

static void say(vitrine_image_result *result, avifResult code) {
  const char *reason = avifResultToString(code);
  switch (code) {
    case AVIF_RESULT_OK: return;
    case AVIF_RESULT_TRUNCATED_DATA:
    case AVIF_RESULT_WAITING_ON_IO:
    case AVIF_RESULT_IO_ERROR: vitrine_image_say(result, VITRINE_IMAGE_TRUNCATED, "its end is missing"); return;
    case AVIF_RESULT_OUT_OF_MEMORY: vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libavif's own"); return;
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH: vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, reason); return;
    default: vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, reason); return;
  }
}

// Returns a decoder that has read the header, or NULL. `most_pixels` bounds every part that libavif decodes.
static avifDecoder *begin(const uint8_t *bytes, size_t count, uint32_t most_pixels, vitrine_image_result *result) {
  avifDecoder *decoder = avifDecoderCreate();
  if (!decoder) {
    vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libavif's own");
    return NULL;
  }
  decoder->maxThreads = 1;
  decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageSizeLimit = most_pixels;
  // A small file can claim millions of frames.
  decoder->imageCountLimit = 10000;
  // Browsers show files of old encoders, too.
  decoder->strictFlags = AVIF_STRICT_DISABLED;
  avifResult code = avifDecoderSetIOMemory(decoder, bytes, count);
  if (code == AVIF_RESULT_OK) code = avifDecoderParse(decoder);
  if (code == AVIF_RESULT_OK) return decoder;
  say(result, code);
  avifDecoderDestroy(decoder);
  return NULL;
}

// The turn counterclockwise, and then the mirroring, as in EXIF.
static uint8_t orientation_of(const avifImage *image) {
  static const uint8_t turned[4] = {1, 8, 3, 6};
  static const uint8_t mirrored[2][4] = {{4, 5, 2, 7}, {2, 7, 4, 5}};  // top and bottom, left and right
  unsigned angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
#if AVIF_VERSION_MAJOR >= 1
  unsigned axis = image->imir.axis & 1;
#else
  unsigned axis = image->imir.mode & 1;
#endif
  return image->transformFlags & AVIF_TRANSFORM_IMIR ? mirrored[axis][angle] : turned[angle];
}

void vitrine_avif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  avifDecoder *decoder = begin(bytes, count, AVIF_DEFAULT_IMAGE_SIZE_LIMIT, result);
  if (!decoder) return;
  const avifImage *image = decoder->image;
  info->width = image->width;
  info->height = image->height;
  info->bits = image->depth;
  info->has_alpha = decoder->alphaPresent;
  info->is_gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
  info->is_animated = decoder->imageCount > 1;
  info->orientation = orientation_of(image);
  avifDecoderDestroy(decoder);
}

static vitrine_color *color_of(const avifImage *image, uint8_t codes[4]) {
  if (image->icc.size > 0) {
    bool is_gray = image->icc.size > 20 && memcmp(image->icc.data + 16, "GRAY", 4) == 0 &&
                   image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    return vitrine_color_take((vitrine_color_source){VITRINE_COLOR_PROFILE, image->icc.data, image->icc.size},
                              is_gray ? VITRINE_COLOR_GRAY8 : VITRINE_COLOR_RGBA8);
  }
  codes[0] = (uint8_t)image->colorPrimaries;
  codes[1] = (uint8_t)image->transferCharacteristics;
  // libavif has undone the matrix and the range.
  codes[2] = 0;
  codes[3] = 1;
  if (!vitrine_color_knows(codes)) return NULL;
  return vitrine_color_take((vitrine_color_source){VITRINE_COLOR_CODES, codes, 4}, VITRINE_COLOR_RGBA8);
}

static void draw(avifDecoder *decoder, uint64_t deadline, vitrine_image_pixels pixels, vitrine_image_result *result) {
  avifImage *image = decoder->image;
  if (image->width != pixels.width || image->height != pixels.height) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    return;
  }
  // libavif cannot be stopped in between.
  if (vitrine_image_is_late(deadline)) {
    vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
    return;
  }
  avifResult code = avifDecoderNextImage(decoder);
  if (code == AVIF_RESULT_OK && (image->width != pixels.width || image->height != pixels.height)) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    return;
  }
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, image);
  rgb.format = AVIF_RGB_FORMAT_RGBA;
  rgb.depth = 8;
  rgb.pixels = pixels.bytes;
  rgb.rowBytes = (uint32_t)pixels.bytes_per_row;
  if (code == AVIF_RESULT_OK) code = avifImageYUVToRGB(image, &rgb);
  say(result, code);
  uint8_t codes[4];
  vitrine_color *color = result->status == VITRINE_IMAGE_OK ? color_of(image, codes) : NULL;
  for (uint32_t y = 0; color && y < pixels.height; y++) {
    if (vitrine_image_is_late(deadline)) {
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
      break;
    }
    uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
    vitrine_color_convert(color, row, row, pixels.width);
  }
  vitrine_color_release(color);
}

void vitrine_avif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  uint64_t deadline = vitrine_image_deadline(limits);
  *result = (vitrine_image_result){0};
  uint64_t pixel_count = (uint64_t)pixels.width * pixels.height;
  if (pixel_count > AVIF_DEFAULT_IMAGE_SIZE_LIMIT || pixel_count == 0) {
    vitrine_image_say(result, VITRINE_IMAGE_TOO_LARGE, "above libavif's limit");
    return;
  }
  avifDecoder *decoder = begin(bytes, count, (uint32_t)pixel_count, result);
  if (!decoder) return;
  draw(decoder, deadline, pixels, result);
  avifDecoderDestroy(decoder);
}

#endif
