// Runs a scan on a device with all that PlanRunner checks, elements past the end that spoil the
// answer, outputs past the end that must not be written, and the reference beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanewise/scan.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

class ScanRunner {
public:
    // Plans and compiles; adds a failure where that does not work, and is false then.
    ScanRunner(TestDevice& device, const ScanDesc& desc);
    ScanRunner(TestDevice& device, const ScanDesc& desc, const Caps& caps);
    explicit operator bool() const { return runner_ && *runner_; }

    const Plan& plan() const { return runner_->plan(); }

    // The outputs' bytes, one output for each item of `data`; with a count in a buffer
    // (count_value) one for each item that counts. nullopt, with a failure added, where something
    // went wrong.
    std::optional<std::vector<std::byte>> run(std::span<const std::byte> data,
                                              const RunOptions& options = {});
    // The same, held against the reference.
    void expect_right(std::span<const std::byte> data, const RunOptions& options = {});
    // Holds `output` against the reference for the items that it has outputs for: the first of
    // `data`.
    void expect_matches(std::span<const std::byte> data, std::span<const std::byte> output) const;

private:
    ScanDesc desc_;
    std::optional<PlanRunner> runner_;
};

// Data for which nearly every output depends on every item before it: where make_elements has a
// minimum that comes early and hides all that follows, these go on finding smaller ones.
Elements make_scan_elements(const ScanDesc& desc, std::size_t count, std::uint64_t seed,
                            FloatData floats = FloatData::exact);

// An initial value, as bits of the accumulator, that matters and that sums stay exact with.
std::uint64_t initial_bits(const ScanDesc& desc, std::uint64_t seed);

// The strategies that plan_scan accepts for `desc` on a device with these caps. Anything but
// ErrorCode::unsupported is a failure.
std::vector<ScanStrategy> possible_strategies(const Caps& caps, ScanDesc desc);
// Whether plan_scan accepts it.
bool is_possible(const Caps& caps, const ScanDesc& desc);

}  // namespace lanewise::test
