// The rotation of a pair, the same bits in every kernel that does it.
#pragma once

namespace octavo::cuda {

/** Cosine and sine of the angle, times magnitude: the accurate ones, for an angle may be 131072 radians and more. */
__device__ __forceinline__ float2 rotationOf(float position, float inverseFrequency, float magnitude) {
  float sine, cosine;
  sincosf(position * inverseFrequency, &sine, &cosine);
  return make_float2(cosine * magnitude, sine * magnitude);
}

/** (first, second) turned by `angle`, a cosine and a sine. */
__device__ __forceinline__ float2 rotated(float first, float second, float2 angle) {
  return make_float2(fmaf(first, angle.x, -(second * angle.y)), fmaf(second, angle.x, first * angle.y));
}

}  // namespace octavo::cuda
