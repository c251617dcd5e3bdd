// The section on what the replies' rows could see of the answers.

#include <fmt/format.h>

#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/recall.h"
#include "report/text.h"

namespace longhaul {
namespace {

std::string table_of(const Results& results, const RecallTable& table) {
  std::string head = "<tr><th>method</th>";
  for (size_t layer = 0; layer < table.layers; ++layer) {
    head += fmt::format("<th class=\"num\">{}</th>", layer);
  }
  std::string body;
  for (const Recall& row : table.rows) {
    body += "<tr>" + html_row_head(results.series()[row.series]);
    for (const double share : row.layers) {
      body += fmt::format("<td {}>{}</td>", html_tint(share), percent_text(share));
    }
    for (size_t layer = row.layers.size(); layer < table.layers; ++layer) {
      body += "<td class=\"none\"></td>";
    }
    body += "</tr>\n";
  }
  return fmt::format("<h3>{}</h3>\n", length_title(table.length)) +
         html_table("tight", head + "</tr>", body, "");
}

}  // namespace

std::string html_recall(const Results& results) {
  std::string body;
  for (const RecallTable& table : recall_tables(results)) body += table_of(results, table);
  return html_section(
      "recall", "What the replies could see",
      fmt::format(
          "Share of the answer\xE2\x80\x99s tokens in the text, per cent, that at least one "
          "head of a layer could see in the rows that chose the reply\xE2\x80\x99s tokens, "
          "by layer; mean over the answers that stand in their text word for word. {}",
          kRecallReading),
      body);
}

}  // namespace longhaul
