#pragma once
// Limits the resources that a template may use. Templates are parts of model files and may be
// hostile. Every operation is therefore counted before it runs.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/cpu_limit.h"

namespace longhaul::jinja {

/// An error while a template is parsed or run. Template adds its name and the line number.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw Fault(fmt::format(format, std::forward<Args>(args)...));
}

class Budget {
 public:
  static constexpr int kDeepestCalls = 100;   ///< nesting of macros and recursive loops
  static constexpr int kDeepestNodes = 1000;  ///< nesting of statements and expressions
  static constexpr int kDeepestValues = 100;  ///< nesting of lists and dicts

  /// `input` is the total size of all arguments in bytes.
  explicit Budget(size_t input)
      : most_steps_(10'000'000 + static_cast<int64_t>(input) * 4),
        most_bytes_(16 * input + (size_t{1} << 20)) {}

  /// Counts one operation on `amount` bytes or values. It counts as one step, plus one step for
  /// every 16 bytes or values. Throws Fault if the limit of steps is exceeded.
  void spend(size_t amount = 0) {
    steps_ += 1 + static_cast<int64_t>(amount / 16);
    if (steps_ > most_steps_) fault("needs more than {} steps", most_steps_);
    CpuLimit::check();
  }

  /// Throws Fault if a string of this length would be too long. Call it before the string is
  /// created or the output grows to this length.
  void check_length(size_t bytes) const {
    if (bytes > most_bytes_) fault("makes a text of more than {} bytes", most_bytes_);
  }

  /// Returns how many bytes the values of a template may occupy at the same time (HeldMemory). In
  /// this and the next function, `input` is the same as in the constructor.
  static size_t most_held(size_t input) { return (size_t{64} << 20) + 16 * input; }
  /// Returns the limit of processor time in seconds. Ten million steps take about one second.
  static double most_seconds(size_t input) { return 10 + 1e-6 * static_cast<double>(input); }

  /// Counts one level of nesting as long as the object exists. Throws Fault if the nesting is too
  /// deep.
  class Nested {
   public:
    Nested(int& depth, int most, const char* what) : depth_(depth) {
      if (depth >= most) fault("{} nested deeper than {}", what, most);
      ++depth_;
    }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };
  Nested node() { return {nodes_, kDeepestNodes, "expressions"}; }
  Nested call() { return {calls_, kDeepestCalls, "calls"}; }

 private:
  int64_t steps_ = 0, most_steps_;
  size_t most_bytes_;
  int nodes_ = 0, calls_ = 0;
};

}  // namespace longhaul::jinja
