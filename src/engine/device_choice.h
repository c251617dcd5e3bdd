#pragma once
// Decides whether an available GPU is used when the user does not choose a device (`--device
// auto`).

#include <memory>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// `options` are those of sessions on a device. All of them are moved to the host's queue unless
/// the device can run the model with each of them and has room for `tokens` tokens and a reply. The
/// weights are copied to the device for this test, unless they are too large by themselves. They
/// are released if the host is chosen.
void settle_device(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                   int64_t tokens, int64_t reply);

}  // namespace longhaul
