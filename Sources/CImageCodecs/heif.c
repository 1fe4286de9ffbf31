// HEIC, by libheif. The primary picture of a file.
#ifdef VITRINE_MORE_FORMATS

#include <libheif/heif.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "color.h"
#include "common.h"
#include "heif_boxes.h"

typedef struct {
  struct heif_context *context;
  struct heif_image_handle *handle;
  struct heif_image *image;
  uint8_t *profile;
  vitrine_color *color;
} session;

static bool check(struct heif_error error, vitrine_image_result *result) {
  if (error.code == heif_error_Ok) return true;
  const char *reason = error.message ? error.message : "breaks the rules";
  vitrine_image_status status = VITRINE_IMAGE_CORRUPT;
  if (error.code == heif_error_Memory_allocation_error) status = VITRINE_IMAGE_NO_MEMORY;
  if (error.code == heif_error_Unsupported_feature) status = VITRINE_IMAGE_UNSUPPORTED;
  if (error.code == heif_error_Unsupported_filetype) status = VITRINE_IMAGE_UNSUPPORTED;
  if (error.subcode == heif_suberror_End_of_data) status = VITRINE_IMAGE_TRUNCATED;
  if (error.subcode == heif_suberror_Security_limit_exceeded) status = VITRINE_IMAGE_TOO_LARGE;
  vitrine_image_say(result, status, reason);
  return false;
}

// Reads the boxes. `longest` bounds the sides of every part that libheif decodes.
static bool begin(session *self, const uint8_t *bytes, size_t count, int longest, vitrine_image_result *result) {
  if (!vitrine_heif_is_plain(bytes, count)) {
    vitrine_image_say(result, VITRINE_IMAGE_UNSUPPORTED, "made of other pictures than tiles");
    return false;
  }
  self->context = heif_context_alloc();
  if (!self->context) {
    vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "libheif's own");
    return false;
  }
  heif_context_set_maximum_image_size_limit(self->context, longest);
  heif_context_set_max_decoding_threads(self->context, 0);
  return check(heif_context_read_from_memory_without_copy(self->context, bytes, count, NULL), result) &&
         check(heif_context_get_primary_image_handle(self->context, &self->handle), result);
}

static void end(session *self) {
  if (self->image) heif_image_release(self->image);
  if (self->handle) heif_image_handle_release(self->handle);
  if (self->context) heif_context_free(self->context);
  vitrine_color_release(self->color);
  free(self->profile);
}

void vitrine_heif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  session self = {0};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (begin(&self, bytes, count, INT_MAX, result)) {
    int width = heif_image_handle_get_width(self.handle), height = heif_image_handle_get_height(self.handle);
    int bits = heif_image_handle_get_luma_bits_per_pixel(self.handle);
    info->width = width > 0 ? (uint32_t)width : 0;
    info->height = height > 0 ? (uint32_t)height : 0;
    info->bits = bits > 0 && bits <= 16 ? (uint32_t)bits : 8;
    info->has_alpha = heif_image_handle_has_alpha_channel(self.handle);
    // libheif itself turns and mirrors pictures.
    info->orientation = 1;
    if (width <= 0 || height <= 0) vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "no size");
  }
  end(&self);
}

static void find_color(session *self, vitrine_image_result *result) {
  size_t count = heif_image_handle_get_raw_color_profile_size(self->handle);
  struct heif_color_profile_nclx *codes = NULL;
  if (count > 0 && count <= VITRINE_COLOR_MOST_BYTES) {
    self->profile = malloc(count);
    if (!self->profile) {
      vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "a profile");
      return;
    }
    if (heif_image_handle_get_raw_color_profile(self->handle, self->profile).code != heif_error_Ok) return;
    vitrine_color_source source = {VITRINE_COLOR_PROFILE, self->profile, count};
    self->color = vitrine_color_take(source, VITRINE_COLOR_RGBA8);
  } else if (heif_image_handle_get_nclx_color_profile(self->handle, &codes).code == heif_error_Ok && codes) {
    // libheif undoes the matrix and the range.
    uint8_t bytes[4] = {(uint8_t)codes->color_primaries, (uint8_t)codes->transfer_characteristics, 0, 1};
    if (vitrine_color_knows(bytes)) {
      self->color = vitrine_color_take((vitrine_color_source){VITRINE_COLOR_CODES, bytes, 4}, VITRINE_COLOR_RGBA8);
    }
    heif_nclx_color_profile_free(codes);
  }
}

static void straighten(uint8_t *row, uint32_t width) {
  for (size_t x = 0; x < width; x++, row += 4) {
    uint32_t alpha = row[3];
    for (int channel = 0; channel < 3; channel++) {
      uint32_t value = alpha ? (row[channel] * 255 + alpha / 2) / alpha : 0;
      row[channel] = value > 255 ? 255 : (uint8_t)value;
    }
  }
}

static void draw(session *self, uint64_t deadline, vitrine_image_pixels pixels, vitrine_image_result *result) {
  if (heif_image_handle_get_width(self->handle) != (int)pixels.width ||
      heif_image_handle_get_height(self->handle) != (int)pixels.height) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    return;
  }
  // libheif cannot be stopped in between.
  if (vitrine_image_is_late(deadline)) {
    vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
    return;
  }
  struct heif_error error =
      heif_decode_image(self->handle, &self->image, heif_colorspace_RGB, heif_chroma_interleaved_RGBA, NULL);
  if (!check(error, result)) return;
  int stride = 0;
  const uint8_t *plane = heif_image_get_plane_readonly(self->image, heif_channel_interleaved, &stride);
  if (!plane || heif_image_get_width(self->image, heif_channel_interleaved) != (int)pixels.width ||
      heif_image_get_height(self->image, heif_channel_interleaved) != (int)pixels.height) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "not as large as its header says");
    return;
  }
  bool has_alpha = heif_image_handle_has_alpha_channel(self->handle);
  bool is_premultiplied = has_alpha && heif_image_handle_is_premultiplied_alpha(self->handle);
  find_color(self, result);
  for (uint32_t y = 0; y < pixels.height && result->status == VITRINE_IMAGE_OK; y++) {
    if (vitrine_image_is_late(deadline)) vitrine_image_say(result, VITRINE_IMAGE_TOO_LATE, "deadline");
    uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
    memcpy(row, plane + (size_t)y * (size_t)stride, (size_t)pixels.width * 4);
    for (size_t x = 0; !has_alpha && x < pixels.width; x++) row[x * 4 + 3] = 0xFF;
    if (is_premultiplied) straighten(row, pixels.width);
    if (self->color) vitrine_color_convert(self->color, row, row, pixels.width);
  }
}

void vitrine_heif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  uint64_t deadline = vitrine_image_deadline(limits);
  session self = {0};
  *result = (vitrine_image_result){0};
  uint32_t longest = pixels.width > pixels.height ? pixels.width : pixels.height;
  // A coded picture may be larger than the shown one by its padding to whole blocks of 64 pixels.
  if (begin(&self, bytes, count, longest > INT_MAX - 64 ? INT_MAX : (int)longest + 64, result)) {
    draw(&self, deadline, pixels, result);
  }
  end(&self);
}

#endif
