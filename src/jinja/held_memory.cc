#include "jinja/held_memory.h"

#include "jinja/budget.h"

namespace longhaul::jinja {

thread_local constinit HeldMemory* HeldMemory::current = nullptr;

void HeldMemory::add(int64_t bytes) {
  if (bytes > most_ - held_) fault("holds more than {} bytes of values", most_);
  held_ += bytes;
}

}  // namespace longhaul::jinja
