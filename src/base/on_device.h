#pragma once
// Runs an operation on the device of a queue, if the device implements it. Otherwise the caller
// computes it on the host, with copies of the arrays (base/host_stage.h).

#include <algorithm>
#include <ranges>
#include <type_traits>
#include <utility>

#include "base/host_stage.h"

namespace longhaul {

/// Returns whether all arrays of an argument are in the memory of `place`. The argument may be a
/// view, a structure with a member function lies_on(), or a range of these. The result is true for
/// empty views, and for arguments of other types.
template <class T>
bool lies_on(Place place, const T& x) {
  if constexpr (requires { x.lies_on(place); }) {
    return x.lies_on(place);
  } else if constexpr (requires { x.address(); }) {
    return x.empty() || x.place() == place;
  } else if constexpr (std::ranges::range<const T>) {
    return std::ranges::all_of(x, [&](const auto& each) { return longhaul::lies_on(place, each); });
  } else {
    return true;
  }
}

/// Returns whether the queue's device implements the operation.
template <class Signature>
bool has(const DeviceOperation<Signature>& operation, const Queue& queue) {
  return !queue.on_host() && queue.device().operations().find(operation) != nullptr;
}

/// Runs the operation on the queue's device and returns its result. Does nothing and returns
/// Result{} in these cases: the queue is the host's, the device does not implement the operation,
/// or an argument is not in the memory of the device. The caller must then compute on the host.
template <class Result, class... Arguments>
Result on_device(const DeviceOperation<Result(Arguments...)>& operation, const Queue& queue,
                 std::type_identity_t<Arguments>... arguments) {
  if (queue.on_host()) return {};
  const auto* const function = queue.device().operations().find(operation);
  const Place place = queue.place();
  if (function == nullptr || !(longhaul::lies_on(place, arguments) && ...)) return {};
  return (*function)(std::forward<Arguments>(arguments)...);
}

}  // namespace longhaul
