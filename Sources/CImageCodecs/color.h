// Colors of a file to sRGB, by LittleCMS. Thread-safe.
//
// Which profile describes a picture is the codec's question. A profile that is damaged, too large, or of another color
// space than the picture is ignored, as browsers do, and the colors then count as sRGB.
//
// The intent is perceptual, with LittleCMS's own choice of black point compensation. Chrome takes the perceptual table
// of a profile before others, and Firefox's intent is perceptual by default; both ignore the intent in the header. For
// profiles of a matrix and curves, such as those of cameras and screens, all intents except the absolute one are the
// same.
#ifndef COLOR_H
#define COLOR_H

#include "common.h"

enum {
  // The largest profiles of printers have less than 3 MiB.
  VITRINE_COLOR_MOST_BYTES = 4 << 20,
};

// The pixels that a conversion takes. It gives RGBA, 8 bits each. Alpha is straight, and is kept.
typedef enum {
  VITRINE_COLOR_RGBA8,
  VITRINE_COLOR_GRAY8,  // of RGBA pixels, the red is taken
  VITRINE_COLOR_RGBA16,  // big-endian, as in PNG
  VITRINE_COLOR_GRAYA16,
  VITRINE_COLOR_CMYK8,  // the share of ink
  VITRINE_COLOR_CMYK8_INVERTED,  // the share of bare paper, as Adobe stores it
} vitrine_color_layout;

typedef enum {
  VITRINE_COLOR_PROFILE,  // bytes of an ICC profile
  VITRINE_COLOR_CODES,  // 4 bytes: primaries, curve, matrix and range of ITU-T H.273, as in PNG's cICP
  VITRINE_COLOR_POINTS,  // a `vitrine_color_points`
} vitrine_color_kind;

// PNG's cHRM and gAMA in units of 1/100,000: x and y of white, red, green and blue, and the exponent of the encoding.
// All are 0 if unknown: sRGB's are taken.
typedef struct {
  int32_t points[8];
  int32_t gamma;
} vitrine_color_points;

typedef struct {
  vitrine_color_kind kind;
  const uint8_t *bytes;
  size_t count;
} vitrine_color_source;

typedef struct vitrine_color vitrine_color;

// Returns the conversion, or NULL if the colors are sRGB or the source is ignored. The caller releases it. Costs up to
// some milliseconds, with a printer's profile a tenth of a second, unless one of the last 16 sources is equal.
vitrine_color *vitrine_color_take(vitrine_color_source source, vitrine_color_layout layout);

// `color` may be NULL.
void vitrine_color_release(vitrine_color *color);

// Converts a row of `width` pixels. Layouts of 4 bytes a pixel can be converted in place.
void vitrine_color_convert(const vitrine_color *color, const uint8_t *from, uint8_t *to, uint32_t width);

// Whether H.273 assigns colors to the codes that can be converted.
bool vitrine_color_knows(const uint8_t codes[4]);

#endif
