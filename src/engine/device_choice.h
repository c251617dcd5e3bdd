#pragma once
// Whether a GPU that was found is taken, where nobody says which (`--device auto`).

#include <memory>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Sessions with these options would be on a device: they come to the host's queue, all of them,
/// unless the device runs the model with each of them and has room for `tokens` tokens and a reply.
/// The weights are sent there to find out, but for those that alone are too many; they are given
/// back where the host is taken.
void settle_device(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                   int64_t tokens, int64_t reply);

}  // namespace longhaul
