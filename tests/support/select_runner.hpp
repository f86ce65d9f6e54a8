// Runs a select on a device with all that PlanRunner checks, items past the end that would be kept,
// outputs that must not be written past what is kept, past the capacity, or past what is rejected,
// and the answer held against the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanewise/select.hpp"
#include "primitives/select/select_reference.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

// Which items are kept.
enum class Keep : std::uint8_t {
    half,  // hashed
    most,  // all but one of 32, hashed
    few,   // one of 64, hashed
    all,
    none,
    one,   // in the middle
    runs,  // stretches of hashed lengths up to some tiles, kept and not in turn
    ends,  // the first and the last
};
inline constexpr Keep kKeeps[] = {Keep::half, Keep::most, Keep::few,  Keep::all,
                                  Keep::none, Keep::one,  Keep::runs, Keep::ends};
const char* to_text(Keep keep);
Kept make_kept(Keep keep, std::size_t count, std::uint64_t seed);

struct SelectInput {
    std::vector<std::byte> items;
    std::vector<std::byte> values;
    std::vector<std::byte> flags;  // none with a predicate
    Kept kept;                     // what the flags or the predicate say
    // An item that would be kept, in a predicate's eyes; empty: any.
    std::vector<std::byte> hostile;
};

// Hashed items, values no two of which are alike, and flags that say `kept` with any bits. The
// flags of a bit mask end with bits of items that are not there, all set.
SelectInput make_select_input(const SelectDesc& desc, const Kept& kept, std::uint64_t seed);
SelectInput make_select_input(const SelectDesc& desc, std::size_t count, std::uint64_t seed,
                              Keep keep = Keep::half);

class SelectRunner {
public:
    // Plans and compiles; adds a failure where that does not work, and is false then.
    SelectRunner(TestDevice& device, const SelectDesc& desc);
    explicit operator bool() const { return runner_ && *runner_; }

    const Plan& plan() const { return runner_->plan(); }
    const SelectDesc& desc() const { return desc_; }

    // nullopt, with a failure added, where something went wrong.
    std::optional<Selected> run(const SelectInput& input, const RunOptions& options = {});
    // The same, held against the reference.
    void expect_right(const SelectInput& input, const RunOptions& options = {});
    void expect_right(std::size_t count, std::uint64_t seed, Keep keep = Keep::half,
                      const RunOptions& options = {});

private:
    SelectDesc desc_;
    std::optional<PlanRunner> runner_;
};

}  // namespace lanewise::test
