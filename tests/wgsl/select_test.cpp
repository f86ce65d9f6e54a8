// select in WGSL, in the simulator: at every subgroup size, full and partial, with every strategy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "primitives/select/select_plan.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using detail::SelectTask;
using simulator::Machine;

constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

// Of the items' numbers, in the order in which they are to be written.
std::vector<std::byte> gathered(std::span<const std::byte> from, std::size_t bytes,
                                std::span<const std::uint32_t> order) {
    std::vector<std::byte> to;
    for (const std::uint32_t i : order) {
        const auto item = from.subspan(i * bytes, bytes);
        to.insert(to.end(), item.begin(), item.end());
    }
    return to;
}

std::vector<std::vector<std::byte>> sorted(std::span<const std::byte> from, std::size_t bytes) {
    std::vector<std::vector<std::byte>> records;
    for (std::size_t at = 0; bytes != 0 && at < from.size(); at += bytes) {
        const auto record = from.subspan(at, bytes);
        records.emplace_back(record.begin(), record.end());
    }
    std::ranges::sort(records);
    return records;
}

// Data whose items repeat, flags of which one in three is set; a predicate keeps what its first
// word or byte leaves over, by three.
void expect_right(const Machine& machine, const SelectTask& task, std::size_t count,
                  std::uint64_t seed, WgslRun run = {}) {
    const Caps caps = webgpu_caps(task.tier == Tier::barrier ? 0 : machine.subgroup_size);
    const auto plan = detail::plan_select_task(caps, task);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, task.tier.value_or(plan->tier));
    const std::size_t bytes = plan->element_bytes;
    std::vector<std::byte> items(count * bytes);
    for (std::size_t i = 0; i < items.size(); ++i)
        items[i] = static_cast<std::byte>(hash(seed, i / bytes) % 3 + i % bytes);
    std::vector<std::uint32_t> words(count * plan->value_bytes / 4);
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = task.indices ? static_cast<std::uint32_t>(i)
                                : static_cast<std::uint32_t>(hash(seed, i));
    const auto values = std::as_bytes(std::span(words));
    std::vector<std::uint32_t> flags(count * plan->flag_bits / 32 + 1);
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> rest;
    for (std::uint32_t i = 0; i < count; ++i) {
        bool kept = hash(hash(seed, 77), i) % 3 == 0;
        const auto first = static_cast<std::uint8_t>(items[i * bytes]);
        if (task.predicate) kept = first % 3 == 1;
        if (task.changes)
            kept = i == 0 || std::memcmp(&items[i * bytes], &items[(i - 1) * bytes], bytes) != 0;
        (kept ? order : rest).push_back(i);
        if (plan->flag_bits == 0 || !kept) continue;
        // Any bit but the lowest, where there is another.
        const std::uint64_t bit =
            std::uint64_t{i} * plan->flag_bits + hash(seed, i) % plan->flag_bits;
        flags[bit / 32] |= 1u << (bit % 32);
    }
    const std::size_t kept = order.size();
    if (task.rest == SelectRest::after) order.insert(order.end(), rest.begin(), rest.end());
    order.resize(std::min<std::size_t>(order.size(), task.capacity.value_or(count)));
    run.values = task.value_bytes != 0 ? values : std::span<const std::byte>();
    run.flags = std::as_bytes(std::span(flags));
    if (plan->flag_bits == 0) run.flags = {};
    run.all_results = task.rest == SelectRest::after;
    const auto result = run_plan_with_values(machine, caps, *plan, items, run);
    ASSERT_TRUE(result);
    const std::string what = to_text(machine) + "\n" + to_text(*plan);
    ASSERT_EQ(result->count_out, kept) << what;
    const auto expect_same = [&](const std::vector<std::byte>& is,
                                 const std::vector<std::byte>& expected, std::size_t size) {
        if (task.order == SelectOrder::any) {
            ASSERT_EQ(sorted(is, size), sorted(expected, size)) << what;
        } else {
            ASSERT_EQ(is, expected) << what;
        }
    };
    if (task.items) expect_same(result->output, gathered(items, bytes, order), bytes);
    expect_same(result->values_out, gathered(values, plan->value_bytes, order), plan->value_bytes);
    if (task.rest == SelectRest::rejected)
        expect_same(result->rejected, gathered(items, bytes, rest), bytes);
}

class WgslSelect : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    // Small: a few hundred items cross many tiles and workgroups.
    SelectTask task(SelectStrategy strategy, Tier tier) const {
        SelectTask made;
        made.tier = tier;
        made.policy = SelectPolicy{.strategy = strategy,
                                   .workgroup_size = std::max(16u, GetParam()),
                                   .vectors = vectors(),
                                   .max_groups = 5,
                                   .patience = 3};
        if (strategy == SelectStrategy::count_ahead) made.policy->ahead = 2;
        if (strategy == SelectStrategy::append) made.order = SelectOrder::any;
        return made;
    }
    // As many as WebGPU's least workgroup memory has room for, a word for each narrow item.
    std::uint32_t vectors() const { return GetParam() < 128 ? 2 : 1; }
    std::size_t tile(std::uint32_t element_bytes) const {
        const std::uint32_t of_vector = 16 % element_bytes == 0 ? 16 / element_bytes : 1;
        return std::size_t{std::max(16u, GetParam())} * vectors() * of_vector;
    }
};

constexpr SelectStrategy kStrategies[] = {
    SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter, SelectStrategy::look_back,
    SelectStrategy::count_ahead, SelectStrategy::append};

TEST_P(WgslSelect, FlagsAndValues) {
    std::uint64_t seed = 1;
    for (const Machine& machine : wgsl_machines(GetParam())) {
        for (const Tier tier : kTiers) {
            for (const SelectStrategy strategy : kStrategies) {
                SelectTask select = task(strategy, tier);
                select.element = std::array{Scalar::u32, Scalar::u64, Scalar::i8}[seed % 3];
                select.flag_bits = std::array{8u, 1u, 32u, 16u}[seed % 4];
                select.indices = seed % 5 == 1;
                select.value_bytes = select.indices ? 0 : std::uint32_t(seed % 5 * 4);
                select.items = seed % 5 == 0 || seed % 4 != 0;
                if (strategy == SelectStrategy::look_back) select.rest = SelectRest::rejected;
                if (strategy == SelectStrategy::one_workgroup ||
                    strategy == SelectStrategy::count_then_scatter)
                    select.rest = SelectRest(seed % 3);
                // Not in a pass with so many other buffers.
                if (select.rest == SelectRest::rejected && select.value_bytes != 0) {
                    select.value_bytes = 0;
                    select.items = true;
                }
                const std::size_t whole = tile(size_of(select.element));
                select.max_count = 4 * whole + 3;
                if (select.rest != SelectRest::after && strategy != SelectStrategy::append &&
                    seed % 7 == 0)
                    select.capacity = whole / 3;
                for (const std::size_t count : {std::size_t{5}, whole, 4 * whole + 3}) {
                    expect_right(machine, select, count, ++seed, {.uses = 2});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslSelect, PredicatesAndChanges) {
    std::uint64_t seed = 2;
    const std::vector<CustomPredicate> predicates = {
        {"byte", {{Scalar::u8}}, "x % 3u == 1u"},
        {"word", {{Scalar::u32}}, "if (x % 256u % 3u == 1u) { return 1u; }\nreturn 0u;"},
        {"triple", {{Scalar::u32, 3}}, "x.x % 256u % 3u == 1u && index < 4294967295u"},
    };
    for (const Tier tier : kTiers) {
        for (const SelectStrategy strategy : kStrategies) {
            for (std::size_t i = 0; i < 2; ++i) {
                const Machine machine = wgsl_machines(GetParam())[seed % 5];
                SelectTask select = task(strategy, tier);
                if (i == 0) {
                    select.predicate = predicates[seed % 3];
                } else {
                    select.changes = true;
                    select.element = std::array{Scalar::u32, Scalar::u64, Scalar::u8}[seed / 2 % 3];
                }
                select.indices = seed % 4 != 0;
                const std::size_t whole =
                    tile(select.predicate ? bytes_of(select.predicate->element)
                                          : size_of(select.element));
                select.max_count = 3 * whole + 1;
                for (const std::size_t count : {std::size_t{1}, 3 * whole + 1}) {
                    expect_right(machine, select, count, seed++);
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslSelect, CountInBufferAndATileThatNeverPublishes) {
    std::uint64_t seed = 3;
    for (const Tier tier : kTiers) {
        for (const SelectStrategy strategy : kStrategies) {
            SelectTask select = task(strategy, tier);
            select.max_count = 4 * tile(4);
            if (strategy == SelectStrategy::look_back || strategy == SelectStrategy::count_ahead)
                select.policy->silent_tile = 1;
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, 3 * tile(4) + 1}) {
                expect_right(wgsl_machines(GetParam())[1], select, count, ++seed,
                             {.count_in_buffer = true, .uses = 2, .earlier_counts = {9}});
                if (HasFailure()) return;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslSelect, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
