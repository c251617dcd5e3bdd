#pragma once
// Declares the filters, tests, functions and methods that templates can use.

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/interpreter.h"
#include "jinja/value.h"

namespace longhaul::jinja {

using Filter = Value (*)(Interpreter&, const Value& subject, const Arguments&);
using Test = bool (*)(Interpreter&, const Value& subject, const Arguments&);

/// The following functions return the filter or test with this name, or null if there is none.
Filter find_filter(std::string_view name);
Filter find_text_filter(std::string_view name);
Filter find_list_filter(std::string_view name);
Test find_test(std::string_view name);
/// Returns a method of a string, list or dict as a callable value. The result is an undefined value
/// if there is no such method.
Value find_method(const Value& object, std::string_view name);
Filter find_text_method(std::string_view name);
Filter find_container_method(const Value& object, std::string_view name);

/// Assigns the arguments of a call to the parameters of a function. Parameter i has the name
/// names[i]. The constructor throws Fault if an argument has an unknown name or if a parameter has
/// two arguments.
class Parameters {
 public:
  Parameters(const Arguments& arguments, std::initializer_list<const char*> names);

  bool has(size_t i) const { return values_[i] != nullptr; }
  const Value& operator[](size_t i) const;  ///< throws Fault if the parameter is missing
  /// Returns the value of a parameter, or null if it is missing or None.
  const Value* given(size_t i) const;
  int64_t integer(size_t i, int64_t when_absent) const;
  bool flag(size_t i, bool when_absent) const;
  String text(size_t i, std::string_view when_absent, Budget& budget) const;

 private:
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

/// Adds an item to a dict. An item with the same key is replaced.
void put(Pairs& items, Value key, Value value, Budget& budget);

}  // namespace longhaul::jinja
