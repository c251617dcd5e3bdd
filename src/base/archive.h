#pragma once
// An Archive saves or loads the state of an object. The object has one function for both
// directions. This function passes each member of the object to the archive. The archive writes the
// member to a ByteWriter, or reads it from a ByteReader.

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

  /// Returns whether the state is being loaded. The object must check loaded numbers with expect(),
  /// because the file may be damaged.
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
  /// Saves or loads a flag as one byte.
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

  /// Throws UserError "FILE: damaged: WHAT". Call it only while loading.
  [[noreturn]] void damaged(std::string_view what) const {
    user_error("{}: damaged: {}", in_->path().string(), what);
  }
  /// While loading, throws the error of damaged() if `holds` is false. While saving, does nothing.
  void expect(bool holds, std::string_view what) const {
    if (loading() && !holds) damaged(what);
  }

 private:
  ByteWriter* out_ = nullptr;
  ByteReader* in_ = nullptr;
};

}  // namespace longhaul
