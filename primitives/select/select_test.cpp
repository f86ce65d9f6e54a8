// select on a device: the conformance matrix (every tier, strategy, addressing, element, flag,
// value, rest and order, at sizes where such kernels break), then what the header promises of
// capacities, of counts and of what stands behind the results. The passes are select_counts,
// select_tiles, select_lookback and select_append. Predicates: tests/conformance.
#include "lanewise/select.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/select/select_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/select_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

// One of each size; the kernels know no more of an element.
constexpr Scalar kElements[] = {Scalar::u8, Scalar::i16, Scalar::f32, Scalar::u64};
constexpr std::uint32_t kFlagBits[] = {1, 8, 16, 32};
// Bytes of a value; 1 stands for indices.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kIndices = 1;
constexpr SelectRest kRests[] = {SelectRest::dropped, SelectRest::rejected, SelectRest::after};
constexpr SelectOrder kOrders[] = {SelectOrder::input, SelectOrder::any};
constexpr SelectStrategy kStrategies[] = {
    SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter, SelectStrategy::look_back,
    SelectStrategy::count_ahead, SelectStrategy::append};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};

bool looks_back(SelectStrategy strategy) {
    return strategy == SelectStrategy::look_back || strategy == SelectStrategy::count_ahead;
}

// How much room the output has.
enum class Room : std::uint8_t { as_needed, for_some, for_none };
constexpr Room kRooms[] = {Room::as_needed, Room::for_some, Room::for_none};

// Tiny, so that a few thousand items cross many tiles, and workgroups take several.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t max_groups;
    std::uint32_t ahead;
    std::uint32_t patience;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 3, 1, 4}, {32, 2, 5, 2, 1}, {64, 1, 7, 5, 64}, {128, 1, 4, 1, 2}, {16, 4, 6, 3, 4096},
};

SelectPolicy policy_of(const TinyPolicy& tiny, SelectStrategy strategy) {
    return {.strategy = strategy,
            .workgroup_size = tiny.workgroup_size,
            .vectors = tiny.vectors,
            .max_groups = tiny.max_groups,
            .ahead = strategy == SelectStrategy::count_ahead ? tiny.ahead : 0,
            .patience = tiny.patience};
}

struct Row {
    Scalar element = Scalar::u32;
    std::uint32_t flag_bits = 8;
    std::uint32_t values = 0;
    bool items = true;
    SelectRest rest = SelectRest::dropped;
    SelectOrder order = SelectOrder::input;
    Tier tier = Tier::barrier;
    SelectStrategy strategy = SelectStrategy::count_then_scatter;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    Keep keep = Keep::half;
    Room room = Room::as_needed;

    SelectDesc desc(std::uint64_t max_count) const {
        SelectDesc desc{.element = element,
                        .flag_bits = flag_bits,
                        .value_bytes = values == kIndices ? 0 : values,
                        .indices = values == kIndices,
                        .items = items,
                        .rest = rest,
                        .order = order,
                        .max_count = max_count,
                        .tier = tier,
                        .addressing = addressing,
                        .policy = policy_of(policy, strategy)};
        if (room == Room::for_some) desc.capacity = max_count / 5 + 3;
        if (room == Room::for_none) desc.capacity = 0;
        return desc;
    }
    std::string name() const {
        const std::string what = values == kIndices ? "indices"
                                 : values == 0      ? "alone"
                                                    : fmt::format("with{}", values);
        constexpr const char* kRoomTexts[] = {"", "_someroom", "_noroom"};
        return fmt::format("{}_f{}_{}{}_{}_{}_{}_{}_{}_w{}x{}g{}_{}{}", lanewise::to_text(element),
                           flag_bits, items ? "" : "only_", what, lanewise::to_text(rest),
                           lanewise::to_text(order), lanewise::to_text(tier),
                           lanewise::to_text(strategy), lanewise::to_text(addressing),
                           policy.workgroup_size, policy.vectors, policy.max_groups,
                           test::to_text(keep), kRoomTexts[static_cast<std::size_t>(room)]);
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

// What the header says goes together.
bool is_meant(const Row& row) {
    if (row.strategy == SelectStrategy::append && row.order != SelectOrder::any) return false;
    if (row.order == SelectOrder::any && row.rest != SelectRest::dropped) return false;
    if (row.rest == SelectRest::after && row.room != Room::as_needed) return false;
    // How many are kept in all is known too late.
    if (row.rest == SelectRest::after && looks_back(row.strategy)) return false;
    return row.items || row.values != 0;
}

bool possible(const Caps& caps, const Row& row) {
    if (!is_meant(row) || !lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    // More buffers than a pass may have: the planner says where.
    static std::map<std::string, bool> known;
    const auto [found, is_new] = known.try_emplace(row.name(), false);
    if (is_new) {
        const auto plan = plan_select(caps, row.desc(5000));
        // Any other error is for the test to show.
        found->second = plan || (plan.error().code != ErrorCode::unsupported &&
                                 plan.error().code != ErrorCode::limit_exceeded);
    }
    return found->second;
}

const std::vector<std::size_t> kSizes = {
    std::size(kElements),    std::size(kFlagBits), std::size(kValues), 2,
    std::size(kRests),       std::size(kOrders),   std::size(kTiers),  std::size(kStrategies),
    std::size(kAddressings), std::size(kPolicies), std::size(kKeeps),  std::size(kRooms)};

Row row_of(const Choice& choice) {
    return {kElements[choice[0]], kFlagBits[choice[1]],   kValues[choice[2]],
            choice[3] == 0,       kRests[choice[4]],      kOrders[choice[5]],
            kTiers[choice[6]],    kStrategies[choice[7]], kAddressings[choice[8]],
            kPolicies[choice[9]], kKeeps[choice[10]],     kRooms[choice[11]]};
}

// One row of how many is taken: each has pipelines of its own, which drivers take long to compile.
std::size_t share_of_rows() {
    if (!TestDevice::shared().is_simulated()) return 8;
    if (is_sanitized()) return 6;
    return has_small_subgroups() ? 3 : 2;
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    // All of them are a million.
    const std::vector<Choice> choices = pairwise_choices(kSizes, can);
    const std::size_t step = test_all() ? 1 : share_of_rows();
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// Sizes where tails, lanes, subgroups, tiles and workgroups begin and end.
std::vector<std::uint64_t> sizes_of(const SelectPolicy& policy, const Plan& plan,
                                    const Caps& caps) {
    const std::uint64_t tile = plan.share.tile_items;
    const std::uint64_t group = policy.workgroup_size;
    const std::uint64_t subgroup = std::max(caps.subgroup.size, 4u);
    const std::uint64_t full = tile * policy.max_groups;
    const std::set<std::uint64_t> sizes{0,
                                        1,
                                        2,
                                        subgroup - 1,
                                        subgroup,
                                        subgroup + 1,
                                        group - 1,
                                        group,
                                        group + 1,
                                        tile - 1,
                                        tile,
                                        tile + 1,
                                        2 * tile + 1,
                                        full,
                                        full + tile + tile / 2 + 3};
    return {sizes.begin(), sizes.end()};
}

class SelectMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(SelectMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const auto first = plan_select(device().caps(), row.desc(5000));
    ASSERT_TRUE(first) << first.error().message;
    const auto sizes = sizes_of(*row.desc(0).policy, *first, device().caps());
    const std::uint64_t max_count = sizes.back();
    SelectRunner runner(device(), row.desc(max_count));
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    EXPECT_EQ(share_out(runner.plan().share, max_count).groups > 1,
              row.strategy != SelectStrategy::one_workgroup);
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));

    // Up with the count on the host, down with it in a buffer: one Executable, sizes both ways. A
    // size takes one of the two each time it comes up in another row; the ends take both.
    for (std::size_t i = 0; i < sizes.size() * 2; ++i) {
        const bool in_buffer = i >= sizes.size();
        const std::size_t at = in_buffer ? sizes.size() * 2 - 1 - i : i;
        const std::uint64_t count = sizes[at];
        const bool both = test_all() || at == 0 || count == max_count;
        if (!both && ((at + seed) % 2 == 0) != in_buffer) continue;
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        RunOptions options{.count_in_buffer = in_buffer, .timestamps = i % 4 == 0};
        // Above the maximum means the maximum, however far above.
        if (in_buffer && count == max_count) {
            options.count_value = row.addressing == Addressing::device_address
                                      ? (std::uint64_t{1} << 32) + 1
                                      : std::uint64_t{0xffffffff};
        }
        runner.expect_right(static_cast<std::size_t>(count), seed + i, row.keep, options);
        if (HasFailure()) return;  // one size says it; the rest repeats it
    }
}

INSTANTIATE_TEST_SUITE_P(Select, SelectMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

class SelectTest : public TierTest {
protected:
    static std::uint32_t workgroup() { return std::max(32u, device().caps().subgroup.max_size); }

    static SelectPolicy tiny(SelectStrategy strategy) {
        return policy_of({workgroup(), 1, 5, 2, 16}, strategy);
    }
    // Keys of 32 bits, flags of 8: `tile()` items in a tile.
    static SelectDesc standard(Tier tier, SelectStrategy strategy) {
        return {.order = strategy == SelectStrategy::append ? SelectOrder::any : SelectOrder::input,
                .max_count = 8 * tile(tier, strategy) + 5,
                .tier = tier,
                .policy = tiny(strategy)};
    }
    // Items of a tile of that policy.
    static std::size_t tile(Tier tier, SelectStrategy strategy) {
        const auto plan = plan_select(
            device().caps(),
            {.order = strategy == SelectStrategy::append ? SelectOrder::any : SelectOrder::input,
             .max_count = 5000,
             .tier = tier,
             .policy = tiny(strategy)});
        EXPECT_TRUE(plan) << plan.error().message;
        return plan ? plan->share.tile_items : 1;
    }

    // Calls f with each tier and strategy. Drivers, which take long to compile, have some of them,
    // another some for each device and `turn`.
    template <class F>
    void for_each_tier_and_strategy(std::size_t turn, F&& f) {
        for_each_tier([&](Tier tier) {
            bool ran = false;
            for (const SelectStrategy strategy : kStrategies) {
                const bool all = device().is_simulated() || test_all();
                if (!all && (turn++ + device_number()) % 5 != 0) continue;
                SCOPED_TRACE(to_text(strategy));
                f(tier, strategy);
                ran = true;
            }
            // What a test claims it must run.
            if (!ran) f(tier, kStrategies[turn % 5]);
        });
    }
};

// A11: a capacity that is too small. The count says what would have been needed; exactly so many
// are written as there is room for, the first of them where the order is the input's, and the same
// on every run.
TEST_F(SelectTest, MoreAreKeptThanThereIsRoomFor) {
    const std::size_t count = device().is_simulated() ? 2000 : 20000;
    const int runs = device().is_simulated() ? 10 : 100;
    for_each_tier_and_strategy(0, [&](Tier tier, SelectStrategy strategy) {
        SelectDesc desc = standard(tier, strategy);
        desc.max_count = count;
        desc.capacity = count / 5 + 96;
        desc.indices = true;
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        EXPECT_EQ(runner.plan().max_results, desc.capacity);
        // Every other item, in hashed places.
        Kept kept(count);
        for (std::size_t i = 0; i < count; i += 2) kept[i + hash(3, i) % 2] = 1;
        const SelectInput input = make_select_input(desc, kept, 7);
        std::set<std::vector<std::byte>> answers;
        for (int run = 0; run < runs; ++run) {
            const auto selected =
                runner.run(input, {.count_in_buffer = run % 2 == 1, .timestamps = false});
            ASSERT_TRUE(selected);
            ASSERT_EQ(selected->count, count / 2);
            ASSERT_EQ(selected->items.size(), *desc.capacity * 4);
            std::string why;
            ASSERT_TRUE(select_matches(desc, input.items, {}, kept, *selected, &why)) << why;
            answers.insert(selected->items);
            answers.insert(selected->values);
            if (HasFailure()) return;
        }
        if (desc.order == SelectOrder::input) {
            EXPECT_EQ(answers.size(), 2u);
        }
    });
}

// Room for none, for one, for one less than are kept, and for as many as are.
TEST_F(SelectTest, CapacitiesAroundWhatIsKept) {
    std::size_t turn = 0;
    for_each_tier_and_strategy(1, [&](Tier tier, SelectStrategy strategy) {
        SelectDesc desc = standard(tier, strategy);
        const std::size_t count = static_cast<std::size_t>(desc.max_count);
        const std::uint64_t kept = 3 * count / 4;
        for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{1}, kept - 1, kept,
                                             kept + 1, std::uint64_t{count}, desc.max_count + 9}) {
            if (!device().is_simulated() && !test_all() && turn++ % 4 != 0) continue;
            SCOPED_TRACE(capacity);
            desc.capacity = capacity;
            desc.element = kElements[turn % 4];
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            for (const std::uint64_t first : {std::uint64_t{0}, count - kept}) {
                Kept which(count);
                std::fill_n(which.begin() + static_cast<std::ptrdiff_t>(first), kept,
                            std::uint8_t{1});
                runner.expect_right(make_select_input(desc, which, capacity));
            }
            runner.expect_right(count, 4, Keep::all, {.count_in_buffer = true});
            runner.expect_right(0, 4, Keep::all);
            if (HasFailure()) return;
        }
    });
}

// All, none, one, S and W of the items, wherever they are; one Executable, again and again.
TEST_F(SelectTest, WhateverIsKept) {
    for_each_tier_and_strategy(2, [&](Tier tier, SelectStrategy strategy) {
        SelectDesc desc = standard(tier, strategy);
        desc.value_bytes = 4;
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const std::size_t count = static_cast<std::size_t>(desc.max_count);
        std::uint64_t seed = 0;
        for (const Keep keep : kKeeps) {
            runner.expect_right(count, ++seed, keep, {.timestamps = false});
            runner.expect_right(count - 7, ++seed, keep,
                                {.count_in_buffer = true, .timestamps = false});
        }
        const std::size_t subgroup = std::max(device().caps().subgroup.size, 4u);
        for (const std::size_t many : {std::size_t{1}, subgroup, std::size_t{workgroup()}}) {
            // Next to each other, from the first, across the end of a tile, to the last.
            for (const std::size_t first :
                 {std::size_t{0}, runner.plan().share.tile_items - many / 2, count - many}) {
                Kept kept(count);
                std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(first), many,
                            std::uint8_t{1});
                SCOPED_TRACE(fmt::format("{} from {}", many, first));
                runner.expect_right(make_select_input(desc, kept, ++seed), {.timestamps = false});
            }
            // One of so many.
            Kept kept(count);
            for (std::size_t i = many - 1; i < count; i += many) kept[i] = 1;
            runner.expect_right(make_select_input(desc, kept, ++seed), {.timestamps = false});
        }
    });
}

// B: the same bytes on every run, whatever workgroup was first, where the order is the input's.
TEST_F(SelectTest, EveryRunGivesTheSameBytes) {
    const int runs = device().is_simulated() ? 8 : 100;
    for_each_tier_and_strategy(3, [&](Tier tier, SelectStrategy strategy) {
        if (strategy == SelectStrategy::append) strategy = SelectStrategy::look_back;
        SelectDesc desc = standard(tier, strategy);
        desc.indices = true;
        desc.rest = SelectRest::rejected;
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const SelectInput input =
            make_select_input(desc, static_cast<std::size_t>(desc.max_count), 5, Keep::runs);
        std::optional<Selected> first;
        for (int run = 0; run < runs; ++run) {
            const auto selected = runner.run(input, {.timestamps = false});
            ASSERT_TRUE(selected);
            if (!first) {
                std::string why;
                ASSERT_TRUE(select_matches(desc, input.items, {}, input.kept, *selected, &why))
                    << why;
                first = selected;
            }
            ASSERT_EQ(selected->count, first->count) << "run " << run;
            ASSERT_EQ(selected->items, first->items) << "run " << run;
            ASSERT_EQ(selected->values, first->values) << "run " << run;
            ASSERT_EQ(selected->rejected, first->rejected) << "run " << run;
        }
    });
}

// Every strategy of the device gives the same, its tiers too: what one kernel does to what it does
// not keep is what the others do.
TEST_F(SelectTest, StrategiesAgree) {
    const SelectDesc wanted{
        .flag_bits = 1, .value_bytes = 8, .rest = SelectRest::rejected, .max_count = 3001};
    const SelectInput input = make_select_input(wanted, 3001, 9);
    std::optional<Selected> first;
    std::size_t turn = device_number();
    for_each_tier([&](Tier tier) {
        ++turn;
        for (std::size_t i = 0; i < std::size(kStrategies); ++i) {
            const SelectStrategy strategy = kStrategies[i];
            if (strategy == SelectStrategy::append) continue;
            if (!device().is_simulated() && !test_all() && i != turn % 4) continue;
            SCOPED_TRACE(to_text(strategy));
            SelectDesc desc = wanted;
            desc.tier = tier;
            desc.policy = tiny(strategy);
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto selected = runner.run(input);
            ASSERT_TRUE(selected);
            if (!first) first = selected;
            EXPECT_EQ(selected->count, first->count);
            EXPECT_EQ(selected->items, first->items);
            EXPECT_EQ(selected->values, first->values);
            EXPECT_EQ(selected->rejected, first->rejected);
        }
    });
    ASSERT_TRUE(first);
    std::string why;
    EXPECT_TRUE(select_matches(wanted, input.items, input.values, input.kept, *first, &why)) << why;
}

// A partition, as the standard library's stable one.
TEST_F(SelectTest, PartitionIsStable) {
    for_each_tier_and_strategy(4, [&](Tier tier, SelectStrategy strategy) {
        if (strategy == SelectStrategy::append || looks_back(strategy))
            strategy = SelectStrategy::count_then_scatter;
        SelectDesc desc = standard(tier, strategy);
        desc.flag_bits = 32;
        desc.indices = true;
        desc.rest = SelectRest::after;
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const std::size_t count = static_cast<std::size_t>(desc.max_count);
        for (const Keep keep : {Keep::half, Keep::none, Keep::all, Keep::ends}) {
            const SelectInput input = make_select_input(desc, count, 3, keep);
            const auto selected = runner.run(input, {.count_in_buffer = keep == Keep::half});
            ASSERT_TRUE(selected);
            std::vector<std::uint32_t> order(count);
            std::iota(order.begin(), order.end(), 0u);
            const auto middle = std::stable_partition(
                order.begin(), order.end(), [&](std::uint32_t i) { return input.kept[i] != 0; });
            EXPECT_EQ(selected->count, static_cast<std::uint64_t>(middle - order.begin()));
            ASSERT_EQ(selected->values.size(), count * 4);
            EXPECT_EQ(std::memcmp(selected->values.data(), order.data(), count * 4), 0)
                << "the indices are in another order";
            for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(std::memcmp(selected->items.data() + i * 4,
                                      input.items.data() + order[i] * 4, 4),
                          0)
                    << "item " << i;
            }
        }
    });
}

// Any order: a permutation of what is kept, each with its value, and the right count.
TEST_F(SelectTest, AnyOrderHasEachOfThemOnce) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 2 * device_number() + static_cast<std::size_t>(tier);
        for (const std::uint32_t values : {0u, kIndices, 12u}) {
            if (!device().is_simulated() && !test_all() && turn++ % 3 != 0) continue;
            SelectDesc desc = standard(tier, SelectStrategy::append);
            desc.element = kElements[turn % 4];
            desc.flag_bits = kFlagBits[turn / 2 % 4];
            desc.indices = values == kIndices;
            desc.value_bytes = values == kIndices ? 0 : values;
            desc.items = values != kIndices;
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const std::size_t count = static_cast<std::size_t>(desc.max_count);
            std::uint64_t seed = 0;
            for (const Keep keep : kKeeps) {
                runner.expect_right(count, ++seed, keep, {.count_in_buffer = seed % 2 == 0});
                runner.expect_right(5, ++seed, keep, {.timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// D5: a tile that publishes nothing is counted again by those that wait for it.
TEST_F(SelectTest, ATileThatNeverPublishes) {
    const std::uint32_t tiles = 9;
    for_each_tier([&](Tier tier) {
        // One of them on a driver, another in each tier.
        std::size_t turn = 3 * static_cast<std::size_t>(tier) + device_number();
        for (const SelectStrategy strategy :
             {SelectStrategy::look_back, SelectStrategy::count_ahead}) {
            for (const std::uint32_t silent : {0u, 3u, tiles - 2, tiles - 1}) {
                if (!device().is_simulated() && !test_all() && turn++ % 8 != 0) continue;
                const std::size_t form = silent + static_cast<std::size_t>(tier) + device_number();
                SelectDesc desc = standard(tier, strategy);
                desc.element = kElements[form % 4];
                desc.flag_bits = kFlagBits[(form / 4 + silent) % 4];
                desc.rest = kRests[form % 2];
                desc.indices = form / 2 % 2 == 0;
                const auto talking = plan_select(device().caps(), desc);
                ASSERT_TRUE(talking) << talking.error().message;
                const std::size_t tile = talking->share.tile_items;
                desc.max_count = (tiles - 1) * tile + 7;
                desc.policy->silent_tile = silent;
                desc.policy->max_groups = silent == 3 ? 4 : tiles;
                SCOPED_TRACE(fmt::format("{}, tile {} of {}", to_text(strategy), silent, tiles));
                SelectRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                EXPECT_NE(runner.plan().passes, talking->passes)
                    << "no kernel knows of the silent tile";
                const std::size_t count = static_cast<std::size_t>(desc.max_count);
                // Twice: what the first use leaves behind must be as it found it.
                runner.expect_right(count, silent, Keep::half);
                runner.expect_right(count, silent + 1, Keep::runs, {.count_in_buffer = true});
                runner.expect_right(tile + 1, silent, Keep::most);
                runner.expect_right(0, silent, Keep::all);
            }
        }
    });
}

// count_ahead with every distance: the next tile, as far as the tiles go, and further.
TEST_F(SelectTest, AheadByAnyDistance) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = static_cast<std::size_t>(tier) + device_number();
        bool ran = false;
        for (const std::uint32_t ahead : {1u, 2u, 3u, 7u, 9u, 10u, 50u}) {
            const bool last = ahead == 50 && !ran;
            if (!device().is_simulated() && !test_all() && turn++ % 7 != 0 && !last) continue;
            ran = true;
            SCOPED_TRACE(ahead);
            SelectDesc desc = standard(tier, SelectStrategy::count_ahead);
            desc.policy->ahead = ahead;
            desc.policy->max_groups = ahead % 2 == 0 ? 64 : 3;
            desc.indices = true;
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const std::size_t tile = runner.plan().share.tile_items;
            for (const std::size_t items :
                 {static_cast<std::size_t>(desc.max_count), tile, std::size_t{5}, std::size_t{0}})
                runner.expect_right(items, ahead + items);
        }
    });
}

// Flags of every width at every length of a tail. A mask's last word has bits of nobody.
TEST_F(SelectTest, TailsOfFlags) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = static_cast<std::size_t>(tier) + device_number();
        for (const std::uint32_t flag_bits : kFlagBits) {
            if (!device().is_simulated() && !test_all() && turn++ % 4 != 0) continue;
            SCOPED_TRACE(flag_bits);
            SelectDesc desc = standard(tier, SelectStrategy::one_workgroup);
            desc.element = flag_bits == 1 ? Scalar::u8 : Scalar::u32;
            desc.flag_bits = flag_bits;
            desc.max_count = 600;
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const std::size_t step = device().is_simulated() ? 5 : 1;
            for (std::size_t count = turn % step; count <= 131; count += step) {
                runner.expect_right(count, count, count % 3 == 0 ? Keep::all : Keep::half,
                                    {.timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// One Executable, one binding after the other, sizes up and down, and pages of state that come and
// go.
TEST_F(SelectTest, ManyUses) {
    for_each_tier_and_strategy(0, [&](Tier tier, SelectStrategy strategy) {
        SelectDesc desc = standard(tier, strategy);
        desc.element = Scalar::u16;
        desc.flag_bits = 16;
        const std::size_t most = static_cast<std::size_t>(desc.max_count);
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (std::size_t i = 0; i < 25; ++i) {
            const std::size_t count = (i * 397) % (most + 1);
            SCOPED_TRACE(count);
            runner.expect_right(count, i, kKeeps[i % 8], {.count_in_buffer = i % 3 == 0});
            if (HasFailure()) return;
        }
    });
}

// One binding, run again and again: each use leaves the binding's state ready for the next.
TEST_F(SelectTest, OneBindingIsUsedAgain) {
    for_each_tier_and_strategy(1, [&](Tier tier, SelectStrategy strategy) {
        const SelectDesc desc = standard(tier, strategy);
        const auto plan = plan_select(device().caps(), desc);
        ASSERT_TRUE(plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const PlainUse use = make_plain_use(device(), *plan);
        const std::size_t most = static_cast<std::size_t>(desc.max_count);
        const SelectInput input = make_select_input(desc, most, 6);
        const auto bound = (*executable)->bind(use.buffers(*plan), use.count_range(*plan));
        ASSERT_TRUE(bound) << bound.error().message;
        ASSERT_TRUE(use.input->write(0, input.items));
        ASSERT_TRUE(use.flags->write(0, input.flags));
        for (std::size_t i = 0; i < 12; ++i) {
            const std::uint64_t count = i % 4 == 3 ? 0 : most - i * 61;
            ASSERT_TRUE(use.count->write(
                0, std::as_bytes(std::span(&count, 1)).first(use.count_range(*plan).bytes)));
            const auto ran = (*bound)->run({});
            ASSERT_TRUE(ran) << ran.error().message;
            count_dispatch(tier);
            std::uint32_t kept = 0;
            ASSERT_TRUE(use.count_out->read(0, std::as_writable_bytes(std::span(&kept, 1))));
            Selected selected{.count = kept};
            selected.items.resize(kept * std::size_t{4});
            ASSERT_LE(kept, count);
            ASSERT_TRUE(use.output->read(0, selected.items));
            std::string why;
            const std::size_t items = static_cast<std::size_t>(count);
            ASSERT_TRUE(select_matches(desc, std::span(input.items).first(items * 4), {},
                                       std::span(input.kept).first(items), selected, &why))
                << "use " << i << ": " << why;
        }
    });
}

// A chain with counts that only the device knows: what one select keeps the next selects from, and
// so on, each with flags of its own.
TEST_F(SelectTest, ChainOfUses) {
    const std::size_t count = 2500;
    const int links = 4;
    for_each_tier_and_strategy(2, [&](Tier tier, SelectStrategy strategy) {
        SelectDesc desc = standard(tier, strategy);
        desc.order = SelectOrder::input;
        if (strategy == SelectStrategy::append) {
            desc.policy = tiny(SelectStrategy::count_ahead);
        }
        desc.max_count = count;
        desc.flag_bits = 1;
        // A count in a buffer is one of 32 bits only where buffers are bound as such.
        desc.addressing = Addressing::descriptor;
        const auto plan = plan_select(device().caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        std::vector<PlainUse> uses;
        std::vector<std::unique_ptr<TestUse>> bound;
        std::vector<std::uint32_t> expected;
        for (int link = 0; link < links; ++link) {
            uses.push_back(make_plain_use(device(), *plan));
            const SelectInput input = make_select_input(desc, count, static_cast<unsigned>(link));
            ASSERT_TRUE(uses.back().flags->write(0, input.flags));
            TestBuffers buffers = uses.back().buffers(*plan);
            TestCount how_many = std::uint64_t{count};
            std::vector<std::uint32_t> kept;
            if (link == 0) {
                ASSERT_TRUE(uses.back().input->write(0, input.items));
                expected.resize(count);
                std::memcpy(expected.data(), input.items.data(), input.items.size());
            } else {
                const PlainUse& before = uses[uses.size() - 2];
                buffers.input = before.buffers(*plan).output;
                how_many = TestRange{before.count_out.get(), 0, 4};
            }
            for (std::size_t i = 0; i < expected.size(); ++i)
                if (input.kept[i] != 0) kept.push_back(expected[i]);
            expected = kept;
            auto use = (*executable)->bind(buffers, how_many);
            ASSERT_TRUE(use) << use.error().message;
            bound.push_back(*std::move(use));
        }
        for (const auto& use : bound) {
            const auto ran = use->run({});
            ASSERT_TRUE(ran) << ran.error().message;
            count_dispatch(tier);
        }
        std::uint32_t found = 0;
        ASSERT_TRUE(uses.back().count_out->read(0, std::as_writable_bytes(std::span(&found, 1))));
        ASSERT_EQ(found, expected.size());
        std::vector<std::uint32_t> output(found);
        ASSERT_TRUE(uses.back().output->read(0, std::as_writable_bytes(std::span(output))));
        EXPECT_EQ(output, expected);
    });
}

// What the defaults of this device choose, across the sizes where they change, and for plans that
// never have an item.
TEST_F(SelectTest, DefaultPolicies) {
    std::size_t turn = device_number();
    for (const std::uint64_t count : {0u, 1000u, 20000u, 200000u}) {
        if (device().is_simulated() && count > 20000 && !test_all()) continue;
        for (const SelectOrder order : kOrders) {
            if (!device().is_simulated() && !test_all() && turn++ % 2 != 0) continue;
            const SelectDesc desc{.flag_bits = kFlagBits[turn % 4],
                                  .indices = true,
                                  .order = order,
                                  .max_count = count};
            SCOPED_TRACE(fmt::format("{} items, order {}", count, to_text(order)));
            SelectRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            claim(runner.plan().tier);
            runner.expect_right(static_cast<std::size_t>(count), count);
            runner.expect_right(0, 1, Keep::half, {.count_in_buffer = true});
            if (count == 0)
                runner.expect_right(0, 1, Keep::half,
                                    {.count_in_buffer = true, .count_value = 12345});
            if (HasFailure()) return;
        }
    }
}

TEST_F(SelectTest, BadInputIsRefused) {
    const auto refused = [&](SelectDesc desc, ErrorCode code, const char* part) {
        SCOPED_TRACE(part);
        desc.max_count = desc.max_count == 0 ? 1000 : desc.max_count;
        const auto plan = plan_select(device().caps(), desc);
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, code);
        EXPECT_NE(plan.error().message.find(part), std::string::npos) << plan.error().message;
    };
    const auto by = [](SelectPolicy policy) {
        SelectDesc desc;
        desc.policy = policy;
        return desc;
    };
    refused({.flag_bits = 0}, ErrorCode::bad_argument, "flag_bits");
    refused({.flag_bits = 2}, ErrorCode::bad_argument, "flag_bits");
    refused({.flag_bits = 64}, ErrorCode::bad_argument, "flag_bits");
    refused({.value_bytes = 6}, ErrorCode::bad_argument, "value_bytes");
    refused({.value_bytes = 20}, ErrorCode::bad_argument, "value_bytes");
    refused({.value_bytes = 4, .indices = true}, ErrorCode::bad_argument, "value_bytes");
    refused({.rest = SelectRest::after, .capacity = 5}, ErrorCode::bad_argument, "capacity");
    refused({.rest = SelectRest::rejected, .order = SelectOrder::any}, ErrorCode::bad_argument,
            "rejected");
    refused({.rest = SelectRest::after, .order = SelectOrder::any}, ErrorCode::bad_argument,
            "after");
    refused(by({.strategy = SelectStrategy::append}), ErrorCode::bad_argument, "append");
    for (const SelectStrategy strategy : {SelectStrategy::look_back, SelectStrategy::count_ahead}) {
        SelectDesc desc =
            by({.strategy = strategy, .ahead = strategy == SelectStrategy::count_ahead ? 1u : 0u});
        desc.rest = SelectRest::after;
        refused(desc, ErrorCode::bad_argument, to_text(strategy));
    }
    refused({.items = false}, ErrorCode::bad_argument, "nothing is written");
    refused(by({.workgroup_size = 100}), ErrorCode::bad_argument, "workgroup_size");
    refused(by({.workgroup_size = 2}), ErrorCode::bad_argument, "workgroup_size");
    refused(by({.vectors = 3}), ErrorCode::bad_argument, "vectors");
    refused(by({.max_groups = 0}), ErrorCode::bad_argument, "max_groups");
    refused(by({.strategy = SelectStrategy::count_ahead}), ErrorCode::bad_argument, "ahead");
    refused({.max_count = std::uint64_t{1} << 32}, ErrorCode::limit_exceeded, "max_count");
    CustomPredicate nothing{.element = {{Scalar::u32, 1}}};
    refused({.predicate = nothing}, ErrorCode::bad_argument, "keep");
    CustomPredicate unnamed{.name = "", .element = {{Scalar::u32, 1}}, .keep = "x > 1u"};
    refused({.predicate = unnamed}, ErrorCode::bad_argument, "name");
    CustomPredicate typeless{.keep = "x > 1u"};
    refused({.predicate = typeless}, ErrorCode::bad_argument, "element");
}

TEST_F(SelectTest, PlansSayWhatTheyNeed) {
    SelectDesc desc{.element = Scalar::u16,
                    .flag_bits = 1,
                    .value_bytes = 12,
                    .rest = SelectRest::rejected,
                    .max_count = 4000,
                    .capacity = 100};
    const auto plan = plan_select(device().caps(), desc);
    if (!plan && plan.error().code == ErrorCode::limit_exceeded)
        GTEST_SKIP() << plan.error().message;
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->primitive, "select");
    EXPECT_EQ(plan->element_bytes, 2u);
    EXPECT_EQ(plan->value_bytes, 12u);
    EXPECT_EQ(plan->flag_bits, 1u);
    EXPECT_EQ(plan->max_results, 100u);
    EXPECT_FALSE(plan->in_place);
    const auto expect = [&](Role role, Access access, std::uint64_t bytes) {
        const Argument* argument = plan->argument(role);
        ASSERT_NE(argument, nullptr) << to_text(role);
        EXPECT_EQ(argument->access, access) << to_text(role);
        EXPECT_GE(argument->bytes, bytes) << to_text(role);
        EXPECT_LT(argument->bytes, bytes + 16) << to_text(role);
    };
    expect(Role::input, Access::read, 8000);
    expect(Role::flags, Access::read, 500);
    expect(Role::values, Access::read, 48000);
    expect(Role::values_out, Access::write, 1200);
    expect(Role::rejected, Access::write, 8000);
    expect(Role::count_out, Access::write, 4);
    // Fewer items, less memory.
    EXPECT_EQ(bytes_needed(*plan, Role::flags, 33), 8u);
    EXPECT_EQ(bytes_needed(*plan, Role::values_out, 3), 36u);
    EXPECT_EQ(bytes_needed(*plan, Role::values_out, 300), 1200u);
}

}  // namespace
}  // namespace lanewise::test
