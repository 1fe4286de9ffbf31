// Exact conversions of 16 bits a channel. LittleCMS has an exact and fast way for 8 bits only. For 16 bits it either
// computes each pixel with powers, or samples a table of 33 steps a channel, which is off by up to 16 of 255 in
// shadows.
#ifndef COLOR_DEEP_H
#define COLOR_DEEP_H

#include <lcms2.h>

#include "color.h"

typedef struct vitrine_color_deep vitrine_color_deep;

// Returns the conversion of a profile of curves and, for RGB, primaries. Returns NULL for a profile with tables, or if
// memory is short. Takes about a millisecond.
vitrine_color_deep *vitrine_color_deep_make(cmsHPROFILE profile, vitrine_color_layout layout);

// Converts a row of pixels in the layout, which is RGBA16 or GRAYA16.
void vitrine_color_deep_convert(const vitrine_color_deep *deep, const uint8_t *from, uint8_t *to, uint32_t width);

#endif
