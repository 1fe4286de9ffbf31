#include "color_deep.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "color_profile.h"

enum { STEPS = 4096, LEVELS = 65536 };

struct vitrine_color_deep {
  bool is_gray;
  // The light of a channel at each step, and once more the last.
  float light[3][STEPS + 2];
  // From the light of the profile's channels to that of sRGB.
  float matrix[3][3];
};

// The byte of each amount of light. Near black, a level is 0.05 of a byte.
static uint8_t byte_of_level[LEVELS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_bytes(void) {
  for (int level = 0; level < LEVELS; level++) {
    byte_of_level[level] = (uint8_t)lround(255 * vitrine_color_encoded(level / (double)(LEVELS - 1)));
  }
}

static bool fill_light(vitrine_color_deep *deep, int channel, const cmsToneCurve *curve) {
  if (!curve) return false;
  for (int step = 0; step <= STEPS; step++) {
    double light = cmsEvalToneCurveFloat(curve, (cmsFloat32Number)step / STEPS);
    // A curve from a file may have any values, and no numbers at all.
    deep->light[channel][step] = isfinite(light) ? (float)fmin(fmax(light, 0), 1) : 0;
  }
  deep->light[channel][STEPS + 1] = deep->light[channel][STEPS];
  return true;
}

static bool fill(vitrine_color_deep *deep, cmsHPROFILE profile) {
  if (deep->is_gray) return fill_light(deep, 0, cmsReadTag(profile, cmsSigGrayTRCTag));
  static const cmsTagSignature curves[3] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
  double matrix[3][3];
  if (!vitrine_color_matrix(profile, matrix)) return false;
  for (int channel = 0; channel < 3; channel++) {
    if (!fill_light(deep, channel, cmsReadTag(profile, curves[channel]))) return false;
    for (int row = 0; row < 3; row++) deep->matrix[row][channel] = (float)matrix[row][channel];
  }
  return true;
}

vitrine_color_deep *vitrine_color_deep_make(cmsHPROFILE profile, vitrine_color_layout layout) {
  if (layout != VITRINE_COLOR_RGBA16 && layout != VITRINE_COLOR_GRAYA16) return NULL;
  if (cmsGetPCS(profile) != cmsSigXYZData || !cmsIsMatrixShaper(profile)) return NULL;
  if (cmsIsTag(profile, cmsSigAToB0Tag) || cmsIsTag(profile, cmsSigAToB1Tag)) return NULL;
  vitrine_color_deep *deep = calloc(1, sizeof *deep);
  if (!deep) return NULL;
  deep->is_gray = layout == VITRINE_COLOR_GRAYA16;
  if (!fill(deep, profile)) {
    free(deep);
    return NULL;
  }
  pthread_once(&once, fill_bytes);
  return deep;
}

// Converting ------------------------------------------------------------------------------------------------------

static float light_of(const float *light, const uint8_t *value) {
  float place = (float)(value[0] << 8 | value[1]) * ((float)STEPS / 65535);
  int step = (int)place;
  return light[step] + (light[step + 1] - light[step]) * (place - (float)step);
}

static uint8_t byte_of(float light) {
  if (!(light > 0)) return 0;
  return byte_of_level[light < 1 ? (int)(light * (LEVELS - 1) + 0.5f) : LEVELS - 1];
}

static uint8_t alpha_of(const uint8_t *value) {
  return (uint8_t)(((uint32_t)(value[0] << 8 | value[1]) * 255 + 32767) / 65535);
}

void vitrine_color_deep_convert(const vitrine_color_deep *deep, const uint8_t *from, uint8_t *to, uint32_t width) {
  for (; width > 0; width--, to += 4) {
    if (deep->is_gray) {
      to[0] = to[1] = to[2] = byte_of(light_of(deep->light[0], from));
      to[3] = alpha_of(from + 2);
      from += 4;
      continue;
    }
    float light[3];
    for (int channel = 0; channel < 3; channel++) light[channel] = light_of(deep->light[channel], from + 2 * channel);
    for (int row = 0; row < 3; row++) {
      const float *matrix = deep->matrix[row];
      to[row] = byte_of(matrix[0] * light[0] + matrix[1] * light[1] + matrix[2] * light[2]);
    }
    to[3] = alpha_of(from + 6);
    from += 8;
  }
}
