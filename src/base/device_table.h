#pragma once
// The operations that a device implements in addition to those that every device must have
// (ops/core/device_ops.h). They only add speed. An operation that a device lacks runs on the host,
// on copies of its arrays (base/host_stage.h), which costs a wait. A new backend can therefore
// begin with DeviceQueue and DeviceOps and add operations one by one.

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace longhaul {

/// Returns the number of the next operation to be declared. Numbers ascend from 0.
inline size_t& next_operation() {
  static size_t next = 0;
  return next;
}

/// An operation that a device may implement. It is declared beside the operation of the host, whose
/// arguments it has, without the queue. Its arrays lie on the device. An operation that returns
/// bool returns false without doing anything if the device does not support the arguments.
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

/// The functions of one device.
class DeviceTable {
 public:
  template <class Signature>
  void set(const DeviceOperation<Signature>& operation,
           std::type_identity_t<std::function<Signature>> function) {
    if (functions_.size() <= operation.number()) functions_.resize(operation.number() + 1);
    functions_[operation.number()] =
        std::make_shared<std::function<Signature>>(std::move(function));
  }
  /// Returns null if the device does not implement the operation.
  template <class Signature>
  const std::function<Signature>* find(const DeviceOperation<Signature>& operation) const {
    if (functions_.size() <= operation.number()) return nullptr;
    return static_cast<const std::function<Signature>*>(functions_[operation.number()].get());
  }

 private:
  std::vector<std::shared_ptr<void>> functions_;  ///< by number of the operation
};

}  // namespace longhaul
