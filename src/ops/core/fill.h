#pragma once
// Filling, copying and summing values on the host or a device.

#include <span>

#include "base/array.h"

namespace longhaul {

void fill(Queue& queue, View<float> x, float value);

/// Copies `from` to `to`, of the same size.
void copy(Queue& queue, View<const float> from, View<float> to);
/// Copies several pairs in one operation on a device. No view may be both read and written.
void copy_lists(Queue& queue, std::span<const View<const float>> from,
                std::span<const View<float>> to);

/// out[i] = sum over lists l of x[l * n + i], for i in [0, n), n = out.size(), in the order of the
/// lists. add_lists() adds the sum to out.
void sum_lists(Queue& queue, View<const float> x, View<float> out);
void add_lists(Queue& queue, View<const float> x, View<float> out);

}  // namespace longhaul
