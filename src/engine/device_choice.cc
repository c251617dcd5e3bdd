#include "engine/device_choice.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul {

void settle_device(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                   int64_t tokens, int64_t reply) {
  const auto runs = [&](const SessionOptions& each) {
    if (each.queue.on_host()) return true;
    try {
      return Session(engine, each).has_room(tokens, reply, 0);
    } catch (const UserError&) {
      // If the error does not concern the device, the host will report it too.
      return false;
    }
  };
  if (std::ranges::all_of(options, runs)) return;
  for (SessionOptions& each : options) each.queue = {};
  engine->leave_device();
}

}  // namespace longhaul
