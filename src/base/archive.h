#pragma once
// One function both writes a state and reads it back: the values that it lists are written to a
// file or read from one.

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"

namespace longhaul {

class Archive {
 public:
  explicit Archive(ByteWriter& out) : out_(&out) {}
  explicit Archive(ByteReader& in) : in_(&in) {}

  /// Whether the state is being read; check the values in that case.
  bool loading() const { return in_ != nullptr; }
  ByteReader& in() { return *in_; }
  ByteWriter& out() { return *out_; }

  template <class T>
  void number(T& value) {
    if (loading()) {
      value = in_->number<T>();
    } else {
      out_->number(value);
    }
  }
  /// Stored as one byte.
  void flag(bool& value) {
    uint8_t byte = value ? 1 : 0;
    number(byte);
    value = byte != 0;
  }
  template <class T>
  void array(std::vector<T>& values) {
    if (loading()) {
      values = in_->array<T>();
    } else {
      out_->array(std::span<const T>(values));
    }
  }

  /// Refuses the file: "FILE: damaged: WHAT".
  [[noreturn]] void damaged(std::string_view what) const {
    user_error("{}: damaged: {}", in_->path().string(), what);
  }
  void expect(bool holds, std::string_view what) const {
    if (loading() && !holds) damaged(what);
  }

 private:
  ByteWriter* out_ = nullptr;
  ByteReader* in_ = nullptr;
};

}  // namespace longhaul
