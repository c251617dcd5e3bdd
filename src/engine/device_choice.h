#pragma once
// Decides for `--device auto` whether the model runs on the GPU or on the host.

#include <memory>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Sets the queue of all `options` to the host, unless the device can run the model with each of
/// them and has memory for a prompt of `tokens` tokens and a reply of `reply` tokens. Before the
/// call, the queues of `options` must be those of the device. To check this, the function copies
/// the weights to the device if they fit. If it chooses the host, it releases the copy.
void settle_device(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                   int64_t tokens, int64_t reply);

}  // namespace longhaul
