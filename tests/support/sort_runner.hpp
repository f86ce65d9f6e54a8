// Runs a sort on a device with all that PlanRunner checks, items past the end that would go to the
// front, outputs past the end that must not be written, and the answer checked three times: no item
// is lost or made up, keys are in order, and all is as in the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanewise/sort.hpp"
#include "primitives/sort/sort_reference.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

class SortRunner {
public:
    // Plans and compiles; adds a failure where that does not work, and is false then.
    SortRunner(TestDevice& device, const SortDesc& desc);
    SortRunner(TestDevice& device, const SortDesc& desc, const Caps& caps);
    // With a plan that sorts in some other way: `desc` says which keys and values there are.
    SortRunner(TestDevice& device, const SortDesc& desc, Plan plan);
    explicit operator bool() const { return runner_ && *runner_; }

    const Plan& plan() const { return runner_->plan(); }

    // Keys and values in order, for the items that count. nullopt, with a failure added, where
    // something went wrong.
    std::optional<Sorted> run(std::span<const std::byte> keys,
                              std::span<const std::byte> values = {},
                              const RunOptions& options = {});
    // The same, held against the reference.
    void expect_right(std::span<const std::byte> keys, std::span<const std::byte> values = {},
                      const RunOptions& options = {});
    // With values of this runner's making.
    void expect_right_with_values(std::span<const std::byte> keys, std::uint64_t seed,
                                  const RunOptions& options = {});

    // That the last run wrote.
    const std::vector<std::uint32_t>& offsets() const { return offsets_; }

private:
    SortDesc desc_;
    std::vector<std::uint32_t> offsets_;
    std::optional<PlanRunner> runner_;
};

// Adds failures where `sorted` is not what the first keys and values are in order, as many as
// `sorted` has.
void expect_sorted(const SortDesc& desc, std::span<const std::byte> keys,
                   std::span<const std::byte> values, const Sorted& sorted);

enum class SortData : std::uint8_t {
    hashed,    // every bit pattern
    few,       // a dozen of distinct keys, spread over the bits that count
    equal,     // one key
    sorted,    // ascending, with ties
    reversed,  // the same from the end
    special,   // all bits set or clear, NaNs with payloads, infinities, zeros, denormals
};
inline constexpr SortData kSortData[] = {SortData::hashed, SortData::few,      SortData::equal,
                                         SortData::sorted, SortData::reversed, SortData::special};
const char* to_text(SortData data);

Elements make_sort_keys(const SortDesc& desc, std::size_t count, std::uint64_t seed,
                        SortData data = SortData::hashed);
// Values of desc.value_bytes: no two of one size alike.
std::vector<std::byte> make_sort_values(const SortDesc& desc, std::size_t count,
                                        std::uint64_t seed);

// Whether plan_sort accepts it. Anything but ErrorCode::unsupported is a failure.
bool is_possible(const Caps& caps, const SortDesc& desc);

}  // namespace lanewise::test
