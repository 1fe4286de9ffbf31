// LittleCMS profiles from the descriptions of a file.
#ifndef COLOR_PROFILE_H
#define COLOR_PROFILE_H

#include <lcms2.h>

#include "color.h"

// Returns a profile that fits the pixels, or NULL.
cmsHPROFILE vitrine_color_profile(cmsContext context, vitrine_color_source source, vitrine_color_layout layout);

// The matrix from the light of the profile's channels to that of sRGB. Returns false for a profile without primaries.
bool vitrine_color_matrix(cmsHPROFILE profile, double matrix[3][3]);

// The value of sRGB, from 0, of an amount of light.
double vitrine_color_encoded(double light);

// Whether the profile has primaries and curves, and they change no color by a whole step of 255. Profiles of sRGB come
// in many versions: with the curve as a table or a formula, and primaries rounded in one way or another.
bool vitrine_color_is_srgb(cmsHPROFILE profile);

#endif
