#include "tests/support/select_runner.hpp"

#include <algorithm>
#include <cstring>

#include "tests/support/sort_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

std::vector<std::byte> make_flags(std::uint32_t flag_bits, const Kept& kept, std::uint64_t seed) {
    const std::size_t count = kept.size();
    std::vector<std::byte> flags((count * flag_bits + 7) / 8);
    if (flag_bits == 1) {
        for (std::size_t i = 0; i < 8 * flags.size(); ++i) {
            if (i >= count || kept[i] != 0) flags[i / 8] |= static_cast<std::byte>(1u << (i % 8));
        }
        return flags;
    }
    const std::size_t bytes = flag_bits / 8;
    for (std::size_t i = 0; i < count; ++i) {
        if (kept[i] == 0) continue;
        // A single bit, wherever it is, is enough; so are all.
        const std::uint64_t h = hash(seed ^ 0xf1a6, i);
        std::uint64_t bits = std::uint64_t{1} << (h >> 8) % flag_bits;
        if (h % 4 == 0) bits = h >> 16 | 1;
        if (h % 4 == 1) bits = ~std::uint64_t{0};
        std::memcpy(flags.data() + i * bytes, &bits, bytes);
    }
    return flags;
}

}  // namespace

const char* to_text(Keep keep) {
    constexpr const char* kTexts[] = {"half", "most", "few", "all", "none", "one", "runs", "ends"};
    return kTexts[static_cast<std::size_t>(keep)];
}

Kept make_kept(Keep keep, std::size_t count, std::uint64_t seed) {
    Kept kept(count);
    std::size_t left = 0;  // of a stretch
    std::uint8_t is_kept = hash(seed) & 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t h = hash(seed ^ 0x5e1ec7, i);
        switch (keep) {
            case Keep::half: kept[i] = h & 1; break;
            case Keep::most: kept[i] = h % 32 != 0; break;
            case Keep::few: kept[i] = h % 64 == 0; break;
            case Keep::all: kept[i] = 1; break;
            case Keep::none: break;
            case Keep::one: kept[i] = i == count / 2; break;
            case Keep::runs:
                if (left == 0) {
                    left = std::size_t{1} << h % 11;
                    is_kept ^= 1;
                }
                --left;
                kept[i] = is_kept;
                break;
            case Keep::ends: kept[i] = i == 0 || i + 1 == count; break;
        }
    }
    return kept;
}

SelectInput make_select_input(const SelectDesc& desc, const Kept& kept, std::uint64_t seed) {
    SelectInput input;
    input.kept = kept;
    input.items.resize(kept.size() * select_element_bytes(desc));
    for (std::size_t at = 0; at < input.items.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t bits = hash(seed, at);
        std::memcpy(input.items.data() + at, &bits, std::min(sizeof bits, input.items.size() - at));
    }
    if (desc.value_bytes != 0)
        input.values = make_sort_values({.value_bytes = desc.value_bytes}, kept.size(), seed);
    if (!desc.predicate) input.flags = make_flags(desc.flag_bits, kept, seed);
    return input;
}

SelectInput make_select_input(const SelectDesc& desc, std::size_t count, std::uint64_t seed,
                              Keep keep) {
    return make_select_input(desc, make_kept(keep, count, seed), seed);
}

SelectRunner::SelectRunner(TestDevice& device, const SelectDesc& desc) : desc_(desc) {
    auto plan = plan_select(device.caps(), desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << plan.error().message;
        return;
    }
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
    EXPECT_EQ(plan->element_bytes, select_element_bytes(desc));
    EXPECT_EQ(plan->value_bytes, select_value_bytes(desc));
    EXPECT_EQ(plan->argument(Role::flags) != nullptr, !desc.predicate);
    EXPECT_EQ(plan->flag_bits, desc.predicate ? 0 : desc.flag_bits);
    EXPECT_EQ(plan->argument(Role::output) != nullptr, desc.items);
    EXPECT_EQ(plan->argument(Role::values) != nullptr, desc.value_bytes != 0);
    EXPECT_EQ(plan->argument(Role::values_out) != nullptr, select_value_bytes(desc) != 0);
    EXPECT_EQ(plan->argument(Role::rejected) != nullptr, desc.rest == SelectRest::rejected);
    EXPECT_NE(plan->argument(Role::count_out), nullptr);
    runner_.emplace(device, *std::move(plan));
}

std::optional<Selected> SelectRunner::run(const SelectInput& input, const RunOptions& options) {
    if (!*this) return std::nullopt;
    const std::uint64_t count = input.kept.size();
    // What the plan reads, and past the end what would be kept.
    const auto with_more = [&](std::span<const std::byte> given, Role role,
                               std::span<const std::byte> hostile) {
        std::vector<std::byte> all;
        if (plan().argument(role) == nullptr) return all;
        const std::size_t bound = runner_->bound_bytes(role, count, options.count_in_buffer);
        all.assign(given.begin(), given.end());
        for (std::size_t i = 0; all.size() < bound; ++i)
            all.push_back(hostile.empty() ? std::byte{0xff} : hostile[i % hostile.size()]);
        return all;
    };
    const auto items = with_more(input.items, Role::input, input.hostile);
    const auto values = with_more(input.values, Role::values, {});
    const auto flags = with_more(input.flags, Role::flags, {});
    RunOptions with_flags = options;
    with_flags.flags = flags;
    const RunResult result = runner_->run_with_values(items, values, count, with_flags);
    if (::testing::Test::HasFatalFailure()) return std::nullopt;
    if (!result.count_out) return std::nullopt;  // which has been said

    const std::uint64_t found = options.count_in_buffer
                                    ? std::min(options.count_value.value_or(count), desc_.max_count)
                                    : count;
    EXPECT_EQ(found, count) << "a test's mistake";
    Selected selected;
    selected.count = *result.count_out;
    if (selected.count > count) {
        ADD_FAILURE() << selected.count << " of " << count << " items are kept\n"
                      << to_text(plan());
        return std::nullopt;
    }
    const std::uint64_t written = desc_.rest == SelectRest::after
                                      ? count
                                      : std::min(desc_.capacity.value_or(count), selected.count);
    // The first `used` bytes, once it is seen that nothing stands behind them.
    const auto taken = [&](const std::vector<std::byte>& after, Role role, std::size_t size,
                           std::uint64_t results) {
        const std::size_t used = static_cast<std::size_t>(results) * size;
        if (plan().argument(role) == nullptr || size == 0) return std::vector<std::byte>();
        if (after.size() < used) {
            ADD_FAILURE() << to_text(role) << " has " << after.size() << " bytes, not " << used;
            return std::vector<std::byte>();
        }
        const std::vector<std::byte> untouched = poison(after.size());
        for (std::size_t i = used; i < after.size(); ++i) {
            if (after[i] == untouched[i]) continue;
            ADD_FAILURE() << to_text(role) << ": item " << i / size << " is written, though only "
                          << results << " of " << count << " count\n"
                          << to_text(plan());
            break;
        }
        return std::vector<std::byte>(after.begin(),
                                      after.begin() + static_cast<std::ptrdiff_t>(used));
    };
    const std::size_t item_bytes = select_element_bytes(desc_);
    selected.items = taken(result.output, Role::output, item_bytes, written);
    selected.values =
        taken(result.values_out, Role::values_out, select_value_bytes(desc_), written);
    selected.rejected = taken(result.rejected, Role::rejected, item_bytes, count - selected.count);
    return selected;
}

void SelectRunner::expect_right(const SelectInput& input, const RunOptions& options) {
    const auto selected = run(input, options);
    if (!selected) return;
    std::string why;
    EXPECT_TRUE(select_matches(desc_, input.items, input.values, input.kept, *selected, &why))
        << why << ", of " << input.kept.size() << " items\n"
        << to_text(plan());
}

void SelectRunner::expect_right(std::size_t count, std::uint64_t seed, Keep keep,
                                const RunOptions& options) {
    SCOPED_TRACE(to_text(keep));
    expect_right(make_select_input(desc_, count, seed, keep), options);
}

}  // namespace lanewise::test
