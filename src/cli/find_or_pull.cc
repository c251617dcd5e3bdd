#include "cli/find_or_pull.h"

#include "base/error.h"
#include "cli/catalogue.h"
#include "cli/document_word.h"
#include "cli/pull_hub.h"
#include "engine/model_names.h"
#include "hub/model_reference.h"

namespace longhaul {

ModelSource find_or_pull(const std::string& model) {
  if (const auto reference = parse_reference(model)) {
    if (const auto path = find_pulled(*reference)) return {*path, {}, {}, {}};
    const PulledModel pulled = pull_from_hub({*reference, "", false, true});
    if (pulled.cancelled) user_error("{}: the download is not complete", model);
    return {pulled.path, {}, {}, {}};
  }
  if (is_document_file(model)) {
    user_error("{}: is a document, not a model: {}", model, document_advice(model));
  }
  try {
    return find_model_source(model);
  } catch (const UserError& error) {
    if (!find_in_catalogue(model)) {
      const std::string hint = catalogue_hint(model);
      if (hint.empty()) throw;
      user_error("{}{}", error.what(), hint);
    }
    user_error("model '{0}' has not been fetched yet: run 'longhaul pull {0}'", model);
  }
}

}  // namespace longhaul
