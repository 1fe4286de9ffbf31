#include "color.h"
#include "common.h"

#include <string.h>

#include <webp/decode.h>
#include <webp/encode.h>

// Decoding -------------------------------------------------------------------------------------------------------

static void say(vitrine_image_result *result, VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OK: return;
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: vitrine_image_say(result, VITRINE_IMAGE_TRUNCATED, "its end is missing"); return;
    case VP8_STATUS_OUT_OF_MEMORY: vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libwebp's own"); return;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "of a kind that libwebp does not know");
      return;
    default: vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its bit stream breaks the rules"); return;
  }
}

void vitrine_webp_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  WebPBitstreamFeatures features = {0};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  VP8StatusCode code = WebPGetFeatures(bytes, count, &features);
  if (code != VP8_STATUS_OK) {
    say(result, code);
    return;
  }
  info->width = (uint32_t)features.width;
  info->height = (uint32_t)features.height;
  info->bits = 8;
  info->has_alpha = features.has_alpha;
  info->is_animated = features.has_animation;
  info->is_lossless = features.format == 2;
}

static uint32_t little_endian(const uint8_t *bytes, int count) {
  uint32_t value = 0;
  for (int place = 0; place < count; place++) value |= (uint32_t)bytes[place] << (8 * place);
  return value;
}

// Each step yields about a megapixel of an evenly distributed picture. So a deadline is noticed between steps, and a
// header is not parsed repeatedly.
static size_t step_of(size_t count, vitrine_image_pixels pixels) {
  size_t megapixels = ((uint64_t)pixels.width * pixels.height >> 20) + 1;
  size_t step = count / megapixels;
  return step < 16 ? 16 : step;
}

static void make_opaque(vitrine_image_pixels pixels) {
  for (uint32_t y = 0; y < pixels.height; y++) {
    uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
    for (uint32_t x = 0; x < pixels.width; x++) row[(size_t)x * 4 + 3] = 255;
  }
}

// Returns the profile: the content of the chunk ICCP, which precedes the pixels, if the extended header announces it.
static vitrine_color_source find_profile(const uint8_t *bytes, size_t count) {
  vitrine_color_source source = {.kind = VITRINE_COLOR_PROFILE};
  if (count < 30 || memcmp(bytes + 12, "VP8X", 4) != 0 || !(bytes[20] & 0x20)) return source;
  for (size_t at = 12; at <= count && count - at >= 8;) {
    size_t size = little_endian(bytes + at + 4, 4);
    if (memcmp(bytes + at, "VP8 ", 4) == 0 || memcmp(bytes + at, "VP8L", 4) == 0) break;
    if (memcmp(bytes + at, "ICCP", 4) == 0) {
      if (size <= count - at - 8) source = (vitrine_color_source){VITRINE_COLOR_PROFILE, bytes + at + 8, size};
      break;
    }
    at += 8 + size + (size & 1);
  }
  return source;
}

static void convert_rows(const uint8_t *bytes, size_t count, uint64_t deadline, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  vitrine_color *color = vitrine_color_take(find_profile(bytes, count), VITRINE_COLOR_RGBA8);
  for (uint32_t y = 0; color && y < pixels.height; y++) {
    uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
    if (vitrine_image_is_late(deadline)) {
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
      break;
    }
    vitrine_color_convert(color, row, row, pixels.width);
  }
  vitrine_color_release(color);
}

// Decodes one picture into `pixels`, with the RIFF header or, for a frame, without.
static void decode_still(const uint8_t *bytes, size_t count, uint64_t deadline, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "libwebp is of another version than its header");
    return;
  }
  VP8StatusCode code = WebPGetFeatures(bytes, count, &config.input);
  if (code != VP8_STATUS_OK) {
    say(result, code);
    return;
  }
  if ((uint32_t)config.input.width != pixels.width || (uint32_t)config.input.height != pixels.height) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "a frame is not as large as its header says");
    return;
  }
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels.bytes;
  config.output.u.RGBA.stride = (int)pixels.bytes_per_row;
  config.output.u.RGBA.size = (size_t)(pixels.height - 1) * pixels.bytes_per_row + (size_t)pixels.width * 4;
  WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
  if (!decoder) {
    vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libwebp's own");
    return;
  }
  size_t step = step_of(count, pixels);
  code = VP8_STATUS_SUSPENDED;
  for (size_t end = 0; code == VP8_STATUS_SUSPENDED && end < count;) {
    if (vitrine_image_is_late(deadline)) {
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
      break;
    }
    end = count - end > step ? end + step : count;
    code = WebPIUpdate(decoder, bytes, end);
  }
  WebPIDelete(decoder);
  // For a lossless stream the header's transparency flag is only a hint, but drawing code trusts it.
  if (config.input.format == 2 && !config.input.has_alpha) make_opaque(pixels);
  say(result, code);
}

// Decodes the first ANMF chunk if it is complete: its position and size on the canvas (24 bits each; offsets in pairs
// of pixels, sizes minus one), its duration and flags (4 bytes), then the chunks of a picture.
static void decode_first_frame(const uint8_t *bytes, size_t count, uint64_t deadline, vitrine_image_pixels canvas,
                               vitrine_image_result *result) {
  for (size_t at = 12; count - at >= 8;) {
    size_t size = little_endian(bytes + at + 4, 4);
    const uint8_t *content = bytes + at + 8;
    size_t room = count - at - 8;
    if (memcmp(bytes + at, "ANMF", 4) != 0) {
      size += size & 1;
      if (size > room) break;
      at += 8 + size;
      continue;
    }
    if (room < 16) break;
    if (size < 16) {
      vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "a frame without a header");
      return;
    }
    uint32_t x = little_endian(content, 3) * 2, y = little_endian(content + 3, 3) * 2;
    uint32_t width = little_endian(content + 6, 3) + 1, height = little_endian(content + 9, 3) + 1;
    if (x > canvas.width || width > canvas.width - x || y > canvas.height || height > canvas.height - y) {
      vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "a frame lies outside of its canvas");
      return;
    }
    vitrine_image_pixels frame = {
        .bytes = canvas.bytes + (size_t)y * canvas.bytes_per_row + (size_t)x * 4,
        .bytes_per_row = canvas.bytes_per_row,
        .width = width,
        .height = height,
    };
    decode_still(content + 16, (size < room ? size : room) - 16, deadline, frame, result);
    return;
  }
  vitrine_image_say(result, VITRINE_IMAGE_TRUNCATED, "its first frame is missing");
}

void vitrine_webp_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  uint64_t deadline = vitrine_image_deadline(limits);
  vitrine_image_info info;
  vitrine_webp_info(bytes, count, &info, result);
  if (result->status != VITRINE_IMAGE_OK) return;
  if (info.width != pixels.width || info.height != pixels.height) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
  } else if (info.is_animated) {
    decode_first_frame(bytes, count, deadline, pixels, result);
  } else {
    decode_still(bytes, count, deadline, pixels, result);
  }
  if (result->status == VITRINE_IMAGE_OK) convert_rows(bytes, count, deadline, pixels, result);
}

// Encoding -------------------------------------------------------------------------------------------------------

static int write_bytes(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
  return vitrine_image_append(picture->custom_ptr, bytes, count);
}

static void say_why_not(vitrine_image_result *result, WebPEncodingError code) {
  switch (code) {
    case VP8_ENC_ERROR_OUT_OF_MEMORY:
    case VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY:
    case VP8_ENC_ERROR_BAD_WRITE: vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "encoded bytes"); return;
    case VP8_ENC_ERROR_BAD_DIMENSION:
      vitrine_image_say(result, VITRINE_IMAGE_TOO_LARGE, "a side has more than 16383 pixels");
      return;
    default: vitrine_image_say(result, VITRINE_IMAGE_TOO_LARGE, "a part is above what the format holds"); return;
  }
}

void vitrine_webp_encode(vitrine_image_pixels pixels, bool has_alpha, float quality, vitrine_image_buffer *buffer,
                         vitrine_image_result *result) {
  WebPConfig config;
  WebPPicture picture;
  *result = (vitrine_image_result){0};
  bool is_lossless = quality < 0;
  if (!WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, is_lossless ? 75 : quality) || !WebPPictureInit(&picture)) {
    vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "libwebp is of another version than its header");
    return;
  }
  if (pixels.width > WEBP_MAX_DIMENSION || pixels.height > WEBP_MAX_DIMENSION) {
    say_why_not(result, VP8_ENC_ERROR_BAD_DIMENSION);
    return;
  }
  if (is_lossless) WebPConfigLosslessPreset(&config, 6);
  config.exact = is_lossless;  // keeps the colors of transparent pixels
  picture.use_argb = is_lossless;
  picture.width = (int)pixels.width;
  picture.height = (int)pixels.height;
  picture.writer = write_bytes;
  picture.custom_ptr = buffer;
  int (*import)(WebPPicture *, const uint8_t *, int) = has_alpha ? WebPPictureImportRGBA : WebPPictureImportRGBX;
  if (!import(&picture, pixels.bytes, (int)pixels.bytes_per_row) || !WebPEncode(&config, &picture)) {
    say_why_not(result, picture.error_code);
  }
  WebPPictureFree(&picture);
}
