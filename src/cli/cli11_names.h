#pragma once
// Declares the classes of the library CLI11. Including CLI11's own header takes two seconds of
// compile time per source file.

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
