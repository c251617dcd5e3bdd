#pragma once
// Fills, copies and sums arrays of floats, on the host or a device.

#include <span>

#include "base/array.h"

namespace longhaul {

void fill(Queue& queue, View<float> x, float value);
inline const DeviceOperation<bool(View<float>, float)> kFill;

/// Copies `from` to `to`, which must have the same size.
void copy(Queue& queue, View<const float> from, View<float> to);
/// Copies from[i] to to[i] for all i. A device copies all pairs in one operation. No `to` may
/// overlap any `from`.
void copy_lists(Queue& queue, std::span<const View<const float>> from,
                std::span<const View<float>> to);

/// x consists of several arrays of n = out.size() floats, one after another. sum_lists() sets
/// out[i] to the sum over l of x[l * n + i], added in ascending order of l. add_lists() adds this
/// sum to out[i].
void sum_lists(Queue& queue, View<const float> x, View<float> out);
/// Calls sum_lists() with x[i] and out[i] for all i. A device computes all sums in one operation.
void sum_groups(Queue& queue, std::span<const View<const float>> x,
                std::span<const View<float>> out);
inline const DeviceOperation<bool(std::span<const View<const float>>, std::span<const View<float>>)>
    kSumGroups;
void add_lists(Queue& queue, View<const float> x, View<float> out);
inline const DeviceOperation<bool(View<const float>, View<float>)> kAddLists;

}  // namespace longhaul
