#pragma once

#include "jinja/budget.h"

namespace longhaul::jinja {

/// Thrown when a template calls raise_exception(). Templates do this if they do not support the
/// messages of the conversation.
class Refusal : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace longhaul::jinja
