// A workload whose input is one array, perhaps with values, and whose output is checked as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"

namespace lanewise::bench {

class ArrayWorkload : public Workload {
public:
    // Makes hashed input for the largest size; each word of a value is the number of its item.
    Result<void> upload();
    // The same with data of the caller's, of that size.
    Result<void> upload(std::vector<std::byte> data);

protected:
    ArrayWorkload(Session& session, const Request& request)
        : session_(session), request_(request) {}

    const Caps& caps() const { return session_.caps(); }
    const Request& request() const { return request_; }

    struct Outputs {
        std::vector<std::byte> output;
        std::vector<std::byte> values;
        std::optional<std::uint32_t> count;  // as the plan wrote it

        bool operator==(const Outputs&) const = default;
    };
    // Whether the outputs are right for the data; if not, `why` says what was expected.
    using Matches = std::function<bool(std::span<const std::byte> data, const Outputs& outputs,
                                       std::string& why)>;
    // The plan, compiled and bound to buffers of the workload's. One case is alive at a time.
    Result<Case> make_case(Plan plan, std::uint64_t count, std::uint64_t output_bytes,
                           Matches matches);

private:
    Result<bool> check(const Plan& plan, std::uint64_t count, std::uint64_t output_bytes,
                       const Matches& matches, std::string& why);

    Session& session_;
    Request request_;
    std::vector<std::byte> data_;
    std::unique_ptr<Memory> input_, output_, scratch_, values_, values_out_, count_out_;
    // The last outputs that were found right, and for how many items.
    std::optional<std::uint64_t> known_count_;
    Outputs known_outputs_;
};

}  // namespace lanewise::bench
