#pragma once
// Decides whether a GPU is used if the user does not choose a device (`--device auto`).

#include <memory>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Moves all `options` to the host, unless the device can run the model with each of them and has
/// memory for `tokens` tokens and a reply. Before the call, the queues of all `options` are those
/// of the device. The check copies the weights to the device, unless the weights alone exceed its
/// memory. If the host is chosen, the copy is released.
void settle_device(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                   int64_t tokens, int64_t reply);

}  // namespace longhaul
