#include "base/seeded_hash.h"

#include <sys/random.h>
#include <xxhash.h>

#include <chrono>

namespace longhaul {
namespace {

std::array<uint64_t, 2> draw() {
  std::array<uint64_t, 2> secrets{};
  if (getrandom(secrets.data(), sizeof secrets, 0) != static_cast<ssize_t>(sizeof secrets)) {
    // Kernels before 3.17: uses the program's address and the time, which are also hard to predict.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto place = reinterpret_cast<uintptr_t>(&secrets);
    secrets[0] = XXH3_64bits_withSeed(&now, sizeof now, place);
    secrets[1] = XXH3_64bits_withSeed(&place, sizeof place, static_cast<uint64_t>(now));
  }
  for (uint64_t& secret : secrets) secret |= 1;
  return secrets;
}

}  // namespace

const std::array<uint64_t, 2>& hash_secrets() {
  static const std::array<uint64_t, 2> secrets = draw();
  return secrets;
}

uint64_t seeded_hash(std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), hash_secrets()[0]);
}

}  // namespace longhaul
