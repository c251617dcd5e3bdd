#pragma once
// Filling and adding up numbers wherever they are.

#include <span>

#include "base/array.h"

namespace longhaul {

void fill(Queue& queue, View<float> x, float value);

/// `to` gets the numbers of `from`, of which there are as many.
void copy(Queue& queue, View<const float> from, View<float> to);
/// The same of several, none of which is written and read: one piece of work for a device.
void copy_lists(Queue& queue, std::span<const View<const float>> from,
                std::span<const View<float>> to);

/// out[i] = sum over lists l of x[l * n + i], for i in [0, n), n = out.size(); in the order of the
/// lists. add_lists: added to what is there.
void sum_lists(Queue& queue, View<const float> x, View<float> out);
void add_lists(Queue& queue, View<const float> x, View<float> out);

}  // namespace longhaul
