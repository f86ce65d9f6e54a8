// What a host makes of a plan, whatever it computes: values beside the keys, ranges of scratch,
// results in the input, and how counts in a buffer are shared out. The plans are made by hand from
// those of scans, whose kernels know nothing of roles.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "lanewise/scan.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/passes.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/plan_runner.hpp"

namespace lanewise::test {
namespace {

constexpr std::uint64_t kMost = 1003;  // no whole number of vectors

std::vector<std::uint32_t> numbers(std::uint64_t seed, std::size_t count = kMost) {
    std::vector<std::uint32_t> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::uint32_t>(hash(seed, i));
    return made;
}

std::vector<std::uint32_t> sums_of(std::span<const std::uint32_t> data) {
    std::vector<std::uint32_t> sums(data.size());
    std::inclusive_scan(data.begin(), data.end(), sums.begin());
    return sums;
}

class PlanTest : public TierTest {
protected:
    // Of u32, in passes that hand partial sums on through scratch.
    static Plan scan(Tier tier, Addressing addressing = Addressing::descriptor) {
        ScanDesc desc;
        desc.max_count = kMost;
        desc.tier = tier;
        desc.addressing = addressing;
        desc.policy = ScanPolicy{.workgroup_size = 64, .vectors = 1, .max_groups = 5};
        if (tier == Tier::pinned) desc.policy->workgroup_size = 128;
        auto plan = plan_scan(device().caps(), desc);
        if (!plan) {
            ADD_FAILURE() << plan.error().message;
            return {};
        }
        plan->in_place = false;
        return *std::move(plan);
    }

    template <class F>
    void for_each_plan(F&& f) {
        for_each_tier([&](Tier tier) {
            for (const Addressing addressing :
                 {Addressing::descriptor, Addressing::device_address}) {
                if (addressing == Addressing::device_address && !device().caps().device_addresses)
                    continue;
                SCOPED_TRACE(to_text(addressing));
                if (const Plan plan = scan(tier, addressing); !plan.passes.empty()) f(plan);
            }
        });
    }

    // The passes of `scan`, with other buffers.
    static void add_passes(Plan& plan, const Plan& scan, const PassBuffer& from,
                           const PassBuffer& to, const PassBuffer& scratch) {
        for (Pass pass : scan.passes) {
            if (pass.when == When::count_in_buffer) continue;
            for (PassBuffer& buffer : pass.bindings) {
                buffer = buffer.role == Role::input    ? from
                         : buffer.role == Role::output ? to
                                                       : scratch;
            }
            plan.passes.push_back(std::move(pass));
        }
    }

    // `scan` without its passes but the one for counts in a buffer, and with so much more scratch.
    static Plan emptied(const Plan& scan, std::uint64_t more_scratch = 0) {
        Plan plan = scan;
        std::erase_if(plan.passes, [](const Pass& pass) { return pass.when == When::always; });
        for (Argument& argument : plan.arguments) {
            if (argument.role == Role::scratch)
                argument.bytes = detail::round_up(argument.bytes, 256) + more_scratch;
        }
        return plan;
    }

    static void rename(Plan& plan, Role from, Role to) {
        for (Argument& argument : plan.arguments)
            if (argument.role == from) argument.role = to;
    }

    // The output of `count` items: their sums, and nothing behind them.
    static void expect_sums(std::span<const std::byte> output,
                            std::span<const std::uint32_t> sums) {
        ASSERT_GE(output.size(), sums.size_bytes());
        const auto bytes = std::as_bytes(sums);
        EXPECT_TRUE(std::ranges::equal(output.first(bytes.size()), bytes));
        const auto rest = output.subspan(bytes.size());
        EXPECT_TRUE(std::ranges::equal(rest, poison(rest.size()))) << "written past the count";
    }
};

// Two scans, of the input and of the values, each with a range of scratch of its own; where the
// count is in a buffer, with the one range that has the share.
TEST_F(PlanTest, ValuesBesideTheInput) {
    for_each_plan([&](const Plan& one) {
        const std::uint64_t scratch = one.argument(Role::scratch)->bytes;
        const std::uint64_t second = detail::round_up(scratch, 256);
        for (const bool count_in_buffer : {false, true}) {
            Plan plan = emptied(one, count_in_buffer ? 0 : scratch);
            plan.value_bytes = 4;
            for (const auto& [role, like] :
                 {std::pair{Role::values, Role::input}, {Role::values_out, Role::output}}) {
                Argument argument = *one.argument(like);
                argument.role = role;
                plan.arguments.push_back(argument);
            }
            const PassBuffer first_range{Role::scratch, 0, scratch};
            add_passes(plan, one, Role::input, Role::output, first_range);
            add_passes(plan, one, Role::values, Role::values_out,
                       count_in_buffer ? first_range : PassBuffer{Role::scratch, second, scratch});
            PlanRunner runner(device(), plan);
            ASSERT_TRUE(runner);
            for (const std::uint64_t count :
                 {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{300}, kMost}) {
                SCOPED_TRACE(count);
                const auto keys = numbers(1, count), values = numbers(2, count);
                const RunResult result = runner.run_with_values(
                    std::as_bytes(std::span(keys)), std::as_bytes(std::span(values)), count,
                    {.count_in_buffer = count_in_buffer});
                expect_sums(result.output, sums_of(keys));
                expect_sums(result.values_out, sums_of(values));
            }
        }
    });
}

// As argsort: values_out alone takes a result.
TEST_F(PlanTest, ValuesAndNoOutput) {
    for_each_plan([&](const Plan& one) {
        Plan plan = emptied(one);
        rename(plan, Role::output, Role::values_out);
        plan.result_bytes = 0;
        plan.value_bytes = 4;
        add_passes(plan, one, Role::input, Role::values_out, Role::scratch);
        PlanRunner runner(device(), plan);
        ASSERT_TRUE(runner);
        for (const bool count_in_buffer : {false, true}) {
            for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{777}}) {
                const auto keys = numbers(3, count);
                const RunResult result =
                    runner.run_with_values(std::as_bytes(std::span(keys)), {}, count,
                                           {.count_in_buffer = count_in_buffer});
                EXPECT_TRUE(result.output.empty());
                expect_sums(result.values_out, sums_of(keys));
            }
        }
    });
}

// The sums of sums, the first of which stay in scratch: passes that read one range of it and write
// another.
TEST_F(PlanTest, RangesThatAreReadAndWritten) {
    for_each_plan([&](const Plan& one) {
        const std::uint64_t scratch = detail::round_up(one.argument(Role::scratch)->bytes, 256);
        const std::uint64_t kept = detail::round_up(one.argument(Role::output)->bytes, 16);
        Plan plan = emptied(one, kept);
        const PassBuffer partials{Role::scratch, 0, scratch};
        const PassBuffer between{Role::scratch, scratch, kept};
        add_passes(plan, one, Role::input, between, partials);
        add_passes(plan, one, between, Role::output, partials);
        PlanRunner runner(device(), plan);
        ASSERT_TRUE(runner);
        const auto data = numbers(4);
        const auto result = runner.run(std::as_bytes(std::span(data)), kMost);
        expect_sums(result, sums_of(sums_of(data)));
    });
}

TEST_F(PlanTest, TheResultIsInTheInput) {
    for_each_plan([&](const Plan& one) {
        Plan plan = emptied(one);
        plan.result = Role::input;
        for (Argument& argument : plan.arguments) argument.access = Access::read_write;
        add_passes(plan, one, Role::input, Role::output, Role::scratch);
        add_passes(plan, one, Role::output, Role::input, Role::scratch);
        PlanRunner runner(device(), plan);
        ASSERT_TRUE(runner);
        const auto data = numbers(5);
        const RunResult result = runner.run_with_values(std::as_bytes(std::span(data)), {}, kMost);
        expect_sums(result.output, sums_of(sums_of(data)));
        EXPECT_TRUE(result.values_out.empty());
    });
}

// kernels/tile/share against lanewise::share_out.
TEST_F(PlanTest, CountsInABufferAreSharedOutAlike) {
    const Caps& caps = device().caps();
    const Share shares[] = {{1, 1, ~0u},     {1, 7, 9},          {16, 3, ~0u}, {64, 3, 5},
                            {100, 7, 8},     {48, 5, 21},        {3, 2, 2},    {1792, 1024, ~0u},
                            {5376, 60, 100}, {4096, 65535, ~0u}, {7, 11, 11}};
    for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
        const bool by_address = addressing == Addressing::device_address;
        if (by_address && !caps.device_addresses) continue;
        for (const Share& share : shares) {
            const bool is_power = (share.tile_items & (share.tile_items - 1)) == 0;
            std::vector<std::uint64_t> counts = {0,    1,     47,    48,    49,     1791,      1792,
                                                 1793, 65535, 65536, 99999, 100000, 4294967295};
            if (by_address && is_power && share.tile_items > 1) {
                for (const std::uint64_t more : {std::uint64_t{4294967296}, std::uint64_t{1} << 35})
                    counts.insert(counts.end(), {more, more + 1, more + share.tile_items});
            }
            // Of few dispatches: there is an indirect one for each.
            std::erase_if(counts, [&](std::uint64_t count) {
                return detail::divide_up(count, share.tile_items) > 0xffffffff ||
                       share_out(share, count).dispatches > 1000;
            });
            const std::uint64_t most = counts.back();
            Plan plan;
            plan.primitive = "share";
            plan.addressing = addressing;
            plan.max_count = most;
            plan.element_bytes = 4;
            plan.share = share;
            plan.indirect_offset = detail::kParameterBytes;
            plan.passes = {detail::count_to_groups_pass(caps, share, most, addressing)};
            const std::uint32_t dispatches = share_out(share, most).dispatches;
            const std::size_t bytes =
                static_cast<std::size_t>(detail::scratch_header_bytes(dispatches));
            plan.arguments = {{Role::scratch, bytes, 256, detail::scratch_usages(caps, addressing),
                               Access::read_write}};
            const auto executable = device().prepare(plan);
            ASSERT_TRUE(executable) << executable.error().message;
            GuardedBuffer scratch(device(), bytes), where(device(), 8);
            const auto use =
                (*executable)
                    ->bind({.scratch = scratch.range(bytes)}, where.range(by_address ? 8 : 4));
            ASSERT_TRUE(use) << use.error().message;
            for (const std::uint64_t count : counts) {
                scratch.reset_poisoned(bytes);
                where.reset(std::as_bytes(std::span(&count, 1)));
                const auto ran = (*use)->run();
                ASSERT_TRUE(ran) << ran.error().message;
                std::vector<std::uint32_t> words(bytes / 4);
                std::memcpy(words.data(), scratch.read(bytes).data(), bytes);
                const Launch launch = share_out(share, count);
                const detail::Parameters expected = detail::parameters_of(launch);
                EXPECT_EQ(std::memcmp(words.data(), &expected, detail::kShareBytes), 0)
                    << count << " items by " << share.tile_items << ", " << share.max_groups << ", "
                    << share.max_tiles_per_dispatch << ": tiles " << words[2] << ", not "
                    << launch.tiles << "; tiles_per_group " << words[3] << ", not "
                    << launch.tiles_per_group << "; groups " << words[4] << ", not "
                    << launch.groups;
                for (std::uint32_t i = 0; i < dispatches; ++i) {
                    const std::uint64_t before = std::uint64_t{i} * share.max_groups;
                    const std::uint64_t left =
                        launch.groups - std::min<std::uint64_t>(launch.groups, before);
                    EXPECT_EQ(words[8 + 4 * i], std::min<std::uint64_t>(left, share.max_groups))
                        << count << " items, dispatch " << i;
                }
                if (HasFailure()) return;
            }
        }
    }
}

}  // namespace
}  // namespace lanewise::test
