#pragma once
// Defines the values that templates compute with. They behave like Python's values in jinja2.
// Templates cannot change lists and dicts, so copies of a value share their contents.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "jinja/budget.h"
#include "jinja/string.h"

namespace longhaul::jinja {

class Interpreter;
class Value;
struct List;
struct Dict;

using Values = Vector<Value>;
using Pairs = Vector<std::pair<Value, Value>>;

struct Arguments {
  Values positional;
  Vector<std::pair<Text, Value>> named;
};

/// The base class of values that have attributes or can be called: loops, namespaces, macros,
/// functions and methods.
class Object {
 public:
  Object() { HeldMemory::take(kBytesBeside); }
  virtual ~Object() { HeldMemory::give_back(kBytesBeside); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual const char* type() const = 0;
  virtual bool attribute(std::string_view /*name*/, Value& /*out*/) const { return false; }
  virtual bool callable() const { return false; }
  virtual bool defined() const { return true; }  ///< returns the result of `is defined`
  virtual Value call(Interpreter& interpreter, const Arguments& arguments);
  /// Releases the references to other values, which breaks a cycle of references.
  virtual void release() {}

 private:
  /// Bytes that HeldMemory counts for each object, in addition to its values.
  static constexpr size_t kBytesBeside = 128;
};

enum class ListKind : uint8_t {
  list,
  tuple,
  /// Python's generators and iterators. They have no length, and are true even if they are empty.
  generator,
};

enum class Kind : uint8_t { undefined, none, boolean, integer, real, string, list, dict, object };

class Value {
 public:
  Value() = default;  ///< creates an undefined value
  explicit Value(bool b) : data_(b) {}
  explicit Value(int64_t i) : data_(i) {}
  explicit Value(double d) : data_(d) {}
  explicit Value(String text) : data_(make_counted<const String>(std::move(text))) {}
  explicit Value(std::shared_ptr<Object> object) : data_(std::move(object)) {}
  explicit Value(const char*) = delete;

  static Value none();
  /// Returns an undefined value. Using the value throws Fault with `message`. A long message is
  /// cut.
  static Value undefined(std::string message);
  static Value text(std::string_view bytes, Origin origin = Origin::kTemplate);
  /// Returns a list. Throws Fault if values are nested too deep.
  static Value list(Values items, ListKind kind = ListKind::list);
  static Value dict(Pairs items);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }

  bool boolean() const { return std::get<bool>(data_); }
  /// Returns the number if the value is an integer or a boolean, or else nothing.
  std::optional<int64_t> integer() const;
  double real() const;  ///< requires that the value is a number
  const String& string() const { return *std::get<std::shared_ptr<const String>>(data_); }
  std::string_view bytes() const { return string().bytes(); }
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(data_); }
  std::string undefined_message() const;

  bool truth() const;
  const char* type() const;  ///< returns Python's name of the type
  int depth() const;         ///< returns the nesting depth of lists and dicts

 private:
  struct Undefined {
    std::shared_ptr<const Text> message;
  };
  struct None {};
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const String>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      data_;
};

struct List {
  Values items;
  ListKind kind = ListKind::list;
  int depth = 1;
};

struct Dict {
  Pairs items;  // in the order of insertion, with unique keys
  int depth = 1;

  const Value* find(std::string_view key) const;
  const Value* find(const Value& key, Budget& budget) const;
};

/// Throws Fault with the message of Value::undefined() if `value` is undefined.
void check_defined(const Value& value);

/// equal() and less() implement Python's == and <. less() throws Fault if Python defines no order.
bool equal(const Value& a, const Value& b, Budget& budget);
bool less(const Value& a, const Value& b, Budget& budget);

/// Returns Python's str(value), which is the output of {{ value }}.
String to_text(const Value& value, Budget& budget);
/// Appends Python's repr(value). Items of lists are written in this form.
void append_repr(String& out, const Value& value, Budget& budget);
std::string float_text(double value);

/// Returns the values over which a for loop iterates. Throws Fault if the value cannot be iterated.
Values items_of(const Value& value, Budget& budget);

}  // namespace longhaul::jinja
