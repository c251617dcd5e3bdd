// longhaul devices: the GPUs that --device can name, and the missing parts if there are none.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/table.h"
#include "ops/core/devices.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::ordered_json;

/// Searched only with several GPUs, because a search may take a tenth of a second.
std::string collectives_of(const Devices& devices) {
  return devices.found.size() > 1 ? find_collectives() : std::string();
}

ordered_json json_of(const Devices& devices) {
  ordered_json list = ordered_json::array();
  for (const DeviceInfo& info : devices.found) {
    list.push_back({{"device", fmt::format("cuda:{}", info.number)},
                    {"name", info.name},
                    {"memory_bytes", info.memory},
                    {"free_bytes", info.free},
                    {"compute_capability", fmt::format("{}.{}", info.major, info.minor)},
                    {"multiprocessors", info.processors},
                    {"trouble", info.trouble}});
  }
  return {{"devices", list},
          {"driver", devices.driver},
          {"library", devices.library},
          {"collectives", collectives_of(devices)},
          {"missing", devices.why}};
}

void print(const Devices& devices) {
  Table table;
  table.add({"cpu", "the default", "", ""});
  for (const DeviceInfo& info : devices.found) {
    table.add({fmt::format("cuda:{}", info.number), printable(info.name),
               fmt::format("{}, {} free", format_bytes(info.memory), format_bytes(info.free)),
               info.trouble.empty()
                   ? fmt::format("compute capability {}.{}", info.major, info.minor)
                   : info.trouble});
  }
  std::fputs(table.text().c_str(), stdout);
  if (!devices.driver.empty()) fmt::print("driver: {}\n", devices.driver);
  if (!devices.library.empty()) fmt::print("matrix products: {}\n", printable(devices.library));
  const std::string collectives = collectives_of(devices);
  if (!collectives.empty()) fmt::print("several GPUs: {}\n", printable(collectives));
  if (!devices.why.empty()) fmt::print("no GPU can be used: {}\n", devices.why);
}

}  // namespace

Command add_devices_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("devices", "The GPUs that --device can name");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "For machines");
  return {app, [json] {
            const Devices devices = find_devices();
            if (*json) {
              print_json(json_of(devices));
            } else {
              print(devices);
            }
            return kExitOk;
          }};
}

}  // namespace longhaul
