// Decoding and encoding of pictures: libjpeg, libpng, libwebp and others behind calls that cannot jump, exit or print
// for any bytes. Thread-safe. The library's allocations are freed when a call returns, except those of the color
// conversions used last. Pixels are RGBA of sRGB, 8 bits each, with straight alpha.
#ifndef IMAGE_CODECS_H
#define IMAGE_CODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  VITRINE_IMAGE_OK,
  VITRINE_IMAGE_TRUNCATED,    // the bytes end before the picture does
  VITRINE_IMAGE_CORRUPT,  // the bytes violate the rules of the format
  VITRINE_IMAGE_UNSUPPORTED,  // a kind of the format that the library does not support
  VITRINE_IMAGE_TOO_LARGE,  // above the limits of the library or of the call
  VITRINE_IMAGE_TOO_LATE,  // exceeded the time limit
  VITRINE_IMAGE_NO_MEMORY,
  VITRINE_IMAGE_NO_LIBRARY,  // the library is loaded while the program runs, and is not there
} vitrine_image_status;

typedef struct {
  vitrine_image_status status;
  char reason[200];  // message of the library; empty if status is OK
} vitrine_image_result;

// The reason as a string: Swift sees the array as 200 fields.
const char *vitrine_image_reason(const vitrine_image_result *result);

// The content of a header. Width and height are set as soon as they are known, even if the rest is damaged.
typedef struct {
  uint32_t width;
  uint32_t height;
  uint32_t bits;  // of one channel, as stored
  bool has_alpha;
  bool is_gray;
  bool is_cmyk;
  bool is_progressive;  // or interlaced
  bool is_animated;
  bool is_lossless;
  uint8_t orientation;  // 1 to 8 as in EXIF, if the format has one of its own; else 0
} vitrine_image_info;

typedef struct {
  size_t working_bytes;   // for the memory of libjpeg, and for each allocation of libtiff; other codecs ignore it
  uint64_t milliseconds;  // from the start of the call
} vitrine_image_limits;

// Memory of the caller: `height` rows of at least `4 * width` bytes, `bytes_per_row` apart. After decoding it contains
// a whole picture only if the result is OK.
typedef struct {
  uint8_t *bytes;
  size_t bytes_per_row;
  uint32_t width;
  uint32_t height;
} vitrine_image_pixels;

// Encoded bytes. Must be zeroed first, and freed even if the encoding failed.
typedef struct {
  uint8_t *bytes;
  size_t count;
  size_t capacity;
} vitrine_image_buffer;

void vitrine_image_buffer_free(vitrine_image_buffer *buffer);

// JPEG. At a scale of `eighths` (1 to 8) eighths, a side is `ceil(side * eighths / 8)` pixels, and `pixels` has that
// size.
void vitrine_jpeg_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, vitrine_image_limits limits,
                         vitrine_image_pixels pixels, vitrine_image_result *result);
// `quality` is 0 to 100. Alpha is left out.
void vitrine_jpeg_encode(vitrine_image_pixels pixels, int quality, vitrine_image_buffer *buffer,
                         vitrine_image_result *result);

// PNG. `pixels` has the size of the picture.
void vitrine_png_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_png_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result);
// The checksum of a chunk's name and content.
uint32_t vitrine_png_checksum(const uint8_t *bytes, size_t count);
// Without alpha, the file is RGB.
void vitrine_png_encode(vitrine_image_pixels pixels, bool has_alpha, vitrine_image_buffer *buffer,
                        vitrine_image_result *result);

// WebP. An animation yields its first frame, on a transparent canvas: `pixels` must be zeroed.
void vitrine_webp_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_webp_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result);
// `quality` is 0 to 100; a negative one is lossless.
void vitrine_webp_encode(vitrine_image_pixels pixels, bool has_alpha, float quality, vitrine_image_buffer *buffer,
                         vitrine_image_result *result);

// BMP and ICO, of which the largest picture is decoded.
void vitrine_bmp_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_bmp_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result);
void vitrine_ico_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_ico_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result);

// SVG, if librsvg is installed. `pixels` has any size, and must be zeroed. Has no time limit, and may end the process if
// memory is short: for decoder processes only.
void vitrine_svg_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_svg_decode(const uint8_t *bytes, size_t count, vitrine_image_pixels pixels, vitrine_image_result *result);

// GIF, AVIF, HEIF, JPEG XL and TIFF, only with VITRINE_MORE_FORMATS. An animation yields its first frame. The frame of a
// GIF is on a transparent canvas: `pixels` must be zeroed.
void vitrine_gif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_gif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result);
void vitrine_avif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_avif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result);
void vitrine_heif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_heif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result);
void vitrine_jxl_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_jxl_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result);
void vitrine_tiff_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result);
void vitrine_tiff_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result);

#endif
