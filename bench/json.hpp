// JSON pieces that the reports share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/report.hpp"

namespace lanewise::bench {

using Json = nlohmann::ordered_json;

Json to_json(const Timing& timing);
Json to_json(const Machine& machine);
// Two-space indented, ASCII, with a last line end.
std::string dump(const Json& json);

}  // namespace lanewise::bench
