#pragma once
// Fills, copies and sums values on the host or a device.

#include <span>

#include "base/array.h"

namespace longhaul {

void fill(Queue& queue, View<float> x, float value);
inline const DeviceOperation<bool(View<float>, float)> kFill;

/// Copies `from` to `to`. Both have the same size.
void copy(Queue& queue, View<const float> from, View<float> to);
/// Copies from[i] to to[i] for all i. A device copies all pairs in one operation. No memory may be
/// both read and written.
void copy_lists(Queue& queue, std::span<const View<const float>> from,
                std::span<const View<float>> to);

/// x contains several lists of n values, one after another, where n = out.size(). Writes to out[i]
/// the sum over the lists l of x[l * n + i], in ascending order of l. add_lists() adds the sum to
/// out[i].
void sum_lists(Queue& queue, View<const float> x, View<float> out);
/// Calls sum_lists() with x[i] and out[i] for all i. A device computes all sums in one operation.
void sum_groups(Queue& queue, std::span<const View<const float>> x,
                std::span<const View<float>> out);
inline const DeviceOperation<bool(std::span<const View<const float>>, std::span<const View<float>>)>
    kSumGroups;
void add_lists(Queue& queue, View<const float> x, View<float> out);
inline const DeviceOperation<bool(View<const float>, View<float>)> kAddLists;

}  // namespace longhaul
