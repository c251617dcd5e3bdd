#pragma once
// DeviceTable holds the optional operations that a device implements. They only make the
// computation faster. If a device lacks an operation, the host computes it on copies of the arrays
// (base/host_stage.h). The host must then wait for the device. A new backend can therefore begin
// with DeviceQueue and DeviceOps (ops/core/device_ops.h), and add operations one by one.

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace longhaul {

/// Returns a reference to the number that the next constructed DeviceOperation gets. Numbers ascend
/// from 0.
inline size_t& next_operation() {
  static size_t next = 0;
  return next;
}

/// Identifies an operation that a device may implement. It is declared next to the host function
/// that computes the same. It has the same parameters as the host function, except that it has no
/// queue and that its arrays are in device memory. An operation with the result type bool does
/// nothing and returns false if the device does not support the arguments.
template <class Signature>
class DeviceOperation {
 public:
  DeviceOperation() noexcept : number_(next_operation()++) {}
  DeviceOperation(const DeviceOperation&) = delete;
  DeviceOperation& operator=(const DeviceOperation&) = delete;
  size_t number() const { return number_; }

 private:
  size_t number_;
};

/// The functions with which one device implements operations.
class DeviceTable {
 public:
  /// Sets the function that implements an operation.
  template <class Signature>
  void set(const DeviceOperation<Signature>& operation,
           std::type_identity_t<std::function<Signature>> function) {
    if (functions_.size() <= operation.number()) functions_.resize(operation.number() + 1);
    functions_[operation.number()] =
        std::make_shared<std::function<Signature>>(std::move(function));
  }
  /// Returns the function, or null if the device does not implement the operation.
  template <class Signature>
  const std::function<Signature>* find(const DeviceOperation<Signature>& operation) const {
    if (functions_.size() <= operation.number()) return nullptr;
    return static_cast<const std::function<Signature>*>(functions_[operation.number()].get());
  }

 private:
  std::vector<std::shared_ptr<void>> functions_;  ///< indexed by DeviceOperation::number()
};

}  // namespace longhaul
