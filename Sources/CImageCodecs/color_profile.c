#include "color_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_gray(vitrine_color_layout layout) {
  return layout == VITRINE_COLOR_GRAY8 || layout == VITRINE_COLOR_GRAYA16;
}

static cmsColorSpaceSignature space_of(vitrine_color_layout layout) {
  switch (layout) {
    case VITRINE_COLOR_CMYK8:
    case VITRINE_COLOR_CMYK8_INVERTED: return cmsSigCmykData;
    default: return is_gray(layout) ? cmsSigGrayData : cmsSigRgbData;
  }
}

// Profiles of a file -----------------------------------------------------------------------------------------------

// Firefox's test for damaged primaries: together they must give the white of the connection space.
static bool has_white(cmsHPROFILE profile) {
  static const cmsTagSignature tags[3] = {cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag};
  double sum[3] = {0, 0, 0};
  for (int index = 0; index < 3; index++) {
    const cmsCIEXYZ *point = cmsReadTag(profile, tags[index]);
    if (!point) return false;
    sum[0] += point->X;
    sum[1] += point->Y;
    sum[2] += point->Z;
  }
  const cmsCIEXYZ *white = cmsD50_XYZ();
  return fabs(sum[0] - white->X) < 0.05 && fabs(sum[1] - white->Y) < 0.05 && fabs(sum[2] - white->Z) < 0.05;
}

static bool is_usable(cmsHPROFILE profile, vitrine_color_layout layout) {
  switch ((uint32_t)cmsGetDeviceClass(profile)) {
    case cmsSigInputClass:
    case cmsSigDisplayClass:
    case cmsSigOutputClass:
    case cmsSigColorSpaceClass: break;
    default: return false;
  }
  if (cmsGetColorSpace(profile) != space_of(layout)) return false;
  cmsColorSpaceSignature connection = cmsGetPCS(profile);
  if (connection != cmsSigXYZData && connection != cmsSigLabData) return false;
  bool has_table = cmsIsTag(profile, cmsSigAToB0Tag) || cmsIsTag(profile, cmsSigAToB1Tag);
  return has_table || space_of(layout) != cmsSigRgbData || has_white(profile);
}

// Hides the tags D2B0 to D2B3 from LittleCMS, which prefers them. No browser reads them, and as programs of any length
// they can take any time. Their names stay different, since LittleCMS refuses a profile with two equal ones.
static void hide_programs(uint8_t *bytes, size_t count) {
  for (size_t at = 132; at + 12 <= count && at < 132 + 12 * 200; at += 12) {
    if (memcmp(bytes + at, "D2B", 3) == 0) bytes[at] = 'h';
  }
}

static cmsHPROFILE read_profile(cmsContext context, vitrine_color_source source, vitrine_color_layout layout) {
  if (source.count < 132 || source.count > VITRINE_COLOR_MOST_BYTES) return NULL;
  uint8_t *copy = malloc(source.count);
  if (!copy) return NULL;
  memcpy(copy, source.bytes, source.count);
  hide_programs(copy, source.count);
  // LittleCMS makes a copy of its own.
  cmsHPROFILE profile = cmsOpenProfileFromMemTHR(context, copy, (cmsUInt32Number)source.count);
  free(copy);
  if (profile && !is_usable(profile, layout)) {
    cmsCloseProfile(profile);
    return NULL;
  }
  return profile;
}

// Profiles of primaries and a curve --------------------------------------------------------------------------------

static cmsHPROFILE make_profile(cmsContext context, const double points[8], cmsToneCurve *curve, bool is_gray) {
  if (!curve) return NULL;
  cmsCIExyY white = {points[0], points[1], 1};
  cmsCIExyYTRIPLE primaries = {{points[2], points[3], 1}, {points[4], points[5], 1}, {points[6], points[7], 1}};
  cmsToneCurve *curves[3] = {curve, curve, curve};
  cmsHPROFILE profile = is_gray ? cmsCreateGrayProfileTHR(context, cmsD50_xyY(), curve)
                                : cmsCreateRGBProfileTHR(context, &white, &primaries, curves);
  cmsFreeToneCurve(curve);
  return profile;
}

static const double srgb_points[8] = {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06};

static cmsToneCurve *srgb_curve(cmsContext context) {
  static const double parameters[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  return cmsBuildParametricToneCurve(context, 4, parameters);
}

static cmsHPROFILE of_points(cmsContext context, const vitrine_color_points *given, bool is_gray) {
  double points[8];
  bool has_points = given->points[1] != 0;
  for (int index = 0; index < 8; index++) {
    points[index] = has_points ? given->points[index] / 100000.0 : srgb_points[index];
  }
  cmsToneCurve *curve = given->gamma == 0 ? srgb_curve(context) : cmsBuildGamma(context, 100000.0 / given->gamma);
  return make_profile(context, points, curve, is_gray);
}

// Codes of H.273 ---------------------------------------------------------------------------------------------------

typedef struct {
  uint8_t code;
  double points[8];
} primaries;

static const primaries all_primaries[] = {
    {1, {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06}},  // BT.709, sRGB
    {4, {0.310, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08}},  // BT.470 M
    {5, {0.3127, 0.3290, 0.64, 0.33, 0.29, 0.60, 0.15, 0.06}},  // BT.470 B, G
    {6, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}},  // BT.601
    {7, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}},  // SMPTE 240
    {8, {0.310, 0.316, 0.681, 0.319, 0.243, 0.692, 0.145, 0.049}},  // film
    {9, {0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046}},  // BT.2020, BT.2100
    {11, {0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},  // P3 of cinemas
    {12, {0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},  // P3 of screens
    {22, {0.3127, 0.3290, 0.630, 0.340, 0.295, 0.605, 0.155, 0.077}},  // EBU 3213
};

static const double *points_of(uint8_t code) {
  for (size_t index = 0; index < sizeof all_primaries / sizeof *all_primaries; index++) {
    if (all_primaries[index].code == code) return all_primaries[index].points;
  }
  return NULL;
}

static bool has_curve(uint8_t code) {
  switch (code) {
    case 1: case 4: case 5: case 6: case 7: case 8: case 13: case 14: case 15: case 16: case 18: return true;
    default: return false;
  }
}

// The luminance of the white of texts beside HDR pictures, in cd/m2 (BT.2408). It becomes sRGB's white; brighter
// light is cut off.
static const double reference_white = 203;

// The light of an encoded value from 0 to 1. The light 1 is white. PQ and HLG also encode brighter light.
static double light_of(uint8_t code, double value) {
  switch (code) {
    case 4: return pow(value, 2.2);
    case 5: return pow(value, 2.8);
    case 7: return value < 0.0913 ? value / 4 : pow((value + 0.1115) / 1.1115, 1 / 0.45);
    case 8: return value;
    case 13: return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
    case 16: {  // PQ
      double root = pow(value, 1 / 78.84375);
      double above = root - 0.8359375 < 0 ? 0 : root - 0.8359375;
      return pow(above / (18.8515625 - 18.6875 * root), 1 / 0.1593017578125) * 10000 / reference_white;
    }
    case 18: {  // HLG on a screen of 1000 cd/m2, whose exponent is 1.2
      double scene = value <= 0.5 ? value * value / 3 : (exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
      return pow(scene, 1.2) * 1000 / reference_white;
    }
    default: return value < 0.081 ? value / 4.5 : pow((value + 0.099) / 1.099, 1 / 0.45);  // BT.709
  }
}

bool vitrine_color_knows(const uint8_t codes[4]) {
  // PNG has no matrix.
  return points_of(codes[0]) && has_curve(codes[1]) && codes[2] == 0 && codes[3] <= 1;
}

static cmsToneCurve *curve_of(cmsContext context, uint8_t code, bool is_full) {
  if (code == 13 && is_full) return srgb_curve(context);
  enum { COUNT = 4096 };
  cmsUInt16Number table[COUNT];
  for (int index = 0; index < COUNT; index++) {
    double value = index / (double)(COUNT - 1);
    // Of a narrow range, 16 is black and 235 is white.
    if (!is_full) value = fmin(1, fmax(0, (value * 255 - 16) / 219));
    table[index] = (cmsUInt16Number)lround(fmin(1, light_of(code, value)) * 65535);
  }
  return cmsBuildTabulatedToneCurve16(context, COUNT, table);
}

cmsHPROFILE vitrine_color_profile(cmsContext context, vitrine_color_source source, vitrine_color_layout layout) {
  switch (source.kind) {
    case VITRINE_COLOR_PROFILE: return read_profile(context, source, layout);
    case VITRINE_COLOR_POINTS: {
      vitrine_color_points points;
      if (source.count != sizeof points) return NULL;
      memcpy(&points, source.bytes, sizeof points);
      return of_points(context, &points, is_gray(layout));
    }
    case VITRINE_COLOR_CODES: {
      if (source.count != 4 || !vitrine_color_knows(source.bytes)) return NULL;
      cmsToneCurve *curve = curve_of(context, source.bytes[1], source.bytes[3]);
      return make_profile(context, points_of(source.bytes[0]), curve, is_gray(layout));
    }
  }
  return NULL;
}

// sRGB ------------------------------------------------------------------------------------------------------------

// Light relative to the white of the connection space, to linear sRGB: the inverse of the primaries of IEC 61966-2-1,
// adapted by Bradford's method.
static const double to_srgb[3][3] = {
    {3.1338561, -1.6168667, -0.4906146},
    {-0.9787684, 1.9161415, 0.0334540},
    {0.0719453, -0.2289914, 1.4052427},
};

double vitrine_color_encoded(double light) {
  if (light <= 0) return 0;
  return light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

bool vitrine_color_matrix(cmsHPROFILE profile, double matrix[3][3]) {
  static const cmsTagSignature points[3] = {cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag};
  for (int channel = 0; channel < 3; channel++) {
    const cmsCIEXYZ *point = cmsReadTag(profile, points[channel]);
    if (!point) return false;
    for (int row = 0; row < 3; row++) {
      matrix[row][channel] = to_srgb[row][0] * point->X + to_srgb[row][1] * point->Y + to_srgb[row][2] * point->Z;
    }
  }
  return true;
}

bool vitrine_color_is_srgb(cmsHPROFILE profile) {
  static const cmsTagSignature curves[3] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
  if (cmsGetColorSpace(profile) != cmsSigRgbData || cmsGetPCS(profile) != cmsSigXYZData) return false;
  if (cmsIsTag(profile, cmsSigAToB0Tag) || cmsIsTag(profile, cmsSigAToB1Tag)) return false;
  double matrix[3][3];
  double light[3][256];
  if (!vitrine_color_matrix(profile, matrix)) return false;
  for (int channel = 0; channel < 3; channel++) {
    const cmsToneCurve *curve = cmsReadTag(profile, curves[channel]);
    if (!curve) return false;
    for (int value = 0; value < 256; value++) {
      light[channel][value] = cmsEvalToneCurveFloat(curve, (cmsFloat32Number)value / 255);
    }
  }
  // All grays, and each combination of six values.
  for (int index = 0; index < 256 + 6 * 6 * 6; index++) {
    int cell = index - 256;
    int values[3] = {cell / 36 * 51, cell / 6 % 6 * 51, cell % 6 * 51};
    if (cell < 0) values[0] = values[1] = values[2] = index;
    for (int row = 0; row < 3; row++) {
      double sum = 0;
      for (int channel = 0; channel < 3; channel++) sum += matrix[row][channel] * light[channel][values[channel]];
      // Not `>`: a value that is no number is not sRGB's either.
      if (!(fabs(vitrine_color_encoded(fmin(sum, 1)) * 255 - values[row]) <= 0.9)) return false;
    }
  }
  return true;
}
