// Custom predicates on a device, in select: elements of every size, predicates that ask for the
// index, and values that were never in the input. All against serial twins in C++, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/jit.hpp"
#include "lanewise/select.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/select_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

using Bytes = std::vector<std::byte>;

struct PredicateCase {
    CustomPredicate predicate;
    std::string wgsl;  // what keeps in WGSL where GLSL has other words; empty: the same
    // Items, so many, about half of them kept.
    std::function<Bytes(std::size_t count, std::uint64_t seed)> make;
    std::function<bool(const std::byte* item, std::uint32_t index)> keeps;
    Bytes hostile;  // an item that is kept

    SelectInput input(const SelectDesc& desc, std::size_t count, std::uint64_t seed) const {
        SelectInput made = make_select_input(desc, Kept(count), seed);
        made.items = make(count, seed);
        const std::size_t size = bytes_of(predicate.element);
        for (std::size_t i = 0; i < count; ++i)
            made.kept[i] = keeps(made.items.data() + i * size, static_cast<std::uint32_t>(i));
        made.hostile = hostile;
        return made;
    }
    bool has_64_bits() const {
        for (const Field& field : predicate.element)
            if (size_of(field.scalar) == 8) return true;
        return false;
    }
};

// make: E(hash). keeps: bool(E, index).
template <class E, class Make, class Keeps>
PredicateCase make_case(CustomPredicate predicate, std::string wgsl, E hostile, Make make,
                        Keeps keeps) {
    PredicateCase made;
    EXPECT_EQ(bytes_of(predicate.element), sizeof(E)) << predicate.name;
    made.predicate = std::move(predicate);
    made.wgsl = std::move(wgsl);
    made.hostile.resize(sizeof(E));
    std::memcpy(made.hostile.data(), &hostile, sizeof(E));
    made.make = [make](std::size_t count, std::uint64_t seed) {
        Bytes items(count * sizeof(E));
        for (std::size_t i = 0; i < count; ++i) {
            const E item = make(hash(seed, i));
            std::memcpy(items.data() + i * sizeof(E), &item, sizeof(E));
        }
        return items;
    };
    made.keeps = [keeps](const std::byte* bytes, std::uint32_t index) {
        E item;
        std::memcpy(&item, bytes, sizeof(E));
        return keeps(item, index);
    };
    return made;
}

// A small number that every type holds exactly.
float small(std::uint64_t h) { return static_cast<float>(h % 17) - 8.0f; }

struct Point {
    float x, y, z;
};
struct Box {
    float low_x, low_y, high_x, high_y;
};
struct Pair {
    std::uint32_t a, b;
};
struct Narrow {
    std::uint8_t a, b;
    std::uint16_t c;
};
struct Particle {
    std::uint32_t id;
    float weights[4];
    std::int32_t last;
};
struct Wide {
    std::uint32_t words[20];
};

std::vector<PredicateCase> make_cases() {
    std::vector<PredicateCase> cases;
    cases.push_back(make_case<std::uint32_t>(
        {.name = "over", .element = {{Scalar::u32, 1}}, .keep = "x > 0x80000000u"}, "", 0xffffffffu,
        [](std::uint64_t h) { return static_cast<std::uint32_t>(h); },
        [](std::uint32_t x, std::uint32_t) { return x > 0x80000000u; }));
    cases.push_back(make_case<std::uint8_t>(
        {.name = "bytes", .element = {{Scalar::u8, 1}}, .keep = "x % 3u != 1u"}, "",
        std::uint8_t{0}, [](std::uint64_t h) { return static_cast<std::uint8_t>(h); },
        [](std::uint8_t x, std::uint32_t) { return x % 3 != 1; }));
    cases.push_back(make_case<std::int16_t>(
        {.name = "shorts", .element = {{Scalar::i16, 1}}, .keep = "x < -100"}, "",
        std::int16_t{-30000}, [](std::uint64_t h) { return static_cast<std::int16_t>(h); },
        [](std::int16_t x, std::uint32_t) { return x < -100; }));
    cases.push_back(make_case<float>(
        {.name = "every_third",
         .element = {{Scalar::f32, 1}},
         .keep = "index % 3u == 0u || x == 8.0"},
        "", 8.0f, small, [](float x, std::uint32_t index) { return index % 3 == 0 || x == 8.0f; }));
    cases.push_back(make_case<Point>(
        {.name = "near", .element = {{Scalar::f32, 3}}, .keep = "dot(x, x) <= 70.0"}, "",
        Point{0, 0, 0},
        [](std::uint64_t h) {
            return Point{small(h), small(h >> 8), small(h >> 16)};
        },
        [](Point p, std::uint32_t) { return p.x * p.x + p.y * p.y + p.z * p.z <= 70.0f; }));
    cases.push_back(make_case<Box>(
        {.name = "boxes",
         .element = {{Scalar::f32, 2, "low"}, {Scalar::f32, 2, "high"}},
         .keep = "x.low.x < x.high.x || x.low.y < x.high.y"},
        "", Box{0, 0, 1, 1},
        [](std::uint64_t h) {
            return Box{small(h), small(h >> 8), small(h >> 16), small(h >> 24)};
        },
        [](Box b, std::uint32_t) { return b.low_x < b.high_x || b.low_y < b.high_y; }));
    cases.push_back(make_case<Pair>(
        {.name = "pairs", .element = {{Scalar::u32, 2}}, .keep = "x.x < x.y"}, "", Pair{0, 1},
        [](std::uint64_t h) {
            return Pair{static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(h >> 32)};
        },
        [](Pair p, std::uint32_t) { return p.a < p.b; }));
    cases.push_back(make_case<Narrow>(
        {.name = "narrow",
         .element = {{Scalar::u8, 1, "a"}, {Scalar::u8, 1, "b"}, {Scalar::u16, 1, "c"}},
         .keep = "(x.a + x.b) * 128u > x.c"},
        "", Narrow{255, 255, 0},
        [](std::uint64_t h) {
            return Narrow{static_cast<std::uint8_t>(h), static_cast<std::uint8_t>(h >> 8),
                          static_cast<std::uint16_t>(h >> 16)};
        },
        [](Narrow n, std::uint32_t) { return (n.a + n.b) * 128 > n.c; }));
    cases.push_back(make_case<Particle>(
        {.name = "particles",
         .element = {{Scalar::u32, 1, "id"}, {Scalar::f32, 4, "weights"}, {Scalar::i32, 1, "last"}},
         .keep = "f32 sum = 0.0;\n"
                 "for (int i = 0; i < 4; ++i) { sum += x.weights[i]; }\n"
                 "if (sum > 12.0) { return 1u; }\n"
                 "return x.last < 0 && x.id != index ? 1u : 0u;"},
        "var sum = 0.0;\n"
        "for (var i = 0u; i < 4u; i++) { sum += x.weights[i]; }\n"
        "if (sum > 12.0) { return 1u; }\n"
        "return select(0u, 1u, x.last < 0 && x.id != index);",
        Particle{1, {8, 8, 8, 8}, -1},
        [](std::uint64_t h) {
            return Particle{static_cast<std::uint32_t>(h % 3000),
                            {small(h >> 8), small(h >> 16), small(h >> 24), small(h >> 32)},
                            static_cast<std::int32_t>(h >> 32)};
        },
        [](const Particle& p, std::uint32_t index) {
            const float sum = p.weights[0] + p.weights[1] + p.weights[2] + p.weights[3];
            return sum > 12.0f || (p.last < 0 && p.id != index);
        }));
    cases.push_back(make_case<Wide>(
        {.name = "wide",
         .element = {{Scalar::u32, 4, "a"},
                     {Scalar::u32, 4, "b"},
                     {Scalar::u32, 4, "c"},
                     {Scalar::u32, 4, "d"},
                     {Scalar::u32, 4, "e"}},
         .keep = "((x.a.x ^ x.b.y ^ x.c.z ^ x.d.w ^ x.e.x) & 1u) == 0u"},
        "", Wide{},
        [](std::uint64_t h) {
            Wide wide;
            for (std::uint32_t i = 0; i < 20; ++i)
                wide.words[i] = static_cast<std::uint32_t>(hash(h, i));
            return wide;
        },
        [](const Wide& w, std::uint32_t) {
            return ((w.words[0] ^ w.words[5] ^ w.words[10] ^ w.words[15] ^ w.words[16]) & 1) == 0;
        }));
    cases.push_back(make_case<std::uint64_t>(
        {.name = "longs",
         .element = {{Scalar::u64, 1}},
         .keep = "x > u64(0x80000000u) * u64(0xffffffffu)"},
        "", ~std::uint64_t{0}, [](std::uint64_t h) { return h; },
        [](std::uint64_t x, std::uint32_t) {
            return x > std::uint64_t{0x80000000u} * 0xffffffffu;
        }));
    return cases;
}

// In the language that the device's host takes; those whose types the device has.
const std::vector<PredicateCase>& all() {
    static const std::vector<PredicateCase> cases = [] {
        std::vector<PredicateCase> made = make_cases();
        if (!TestDevice::shared().caps().types.int64)
            std::erase_if(made, [](const PredicateCase& one) { return one.has_64_bits(); });
        if (TestDevice::shared().is_webgpu()) {
            for (PredicateCase& one : made)
                if (!one.wgsl.empty()) one.predicate.keep = one.wgsl;
        }
        return made;
    }();
    return cases;
}

constexpr SelectStrategy kStrategies[] = {SelectStrategy::count_then_scatter,
                                          SelectStrategy::look_back, SelectStrategy::one_workgroup,
                                          SelectStrategy::count_ahead, SelectStrategy::append};
constexpr SelectRest kRests[] = {SelectRest::dropped, SelectRest::rejected, SelectRest::after};
constexpr std::uint32_t kValues[] = {0, 4, 1, 16};  // 1 stands for indices

class CustomPredicateTest : public TierTest {
protected:
    // Each tier, with another number on each device: tests turn by it what they have no time to
    // combine. Drivers, which take long to compile kernels, have one tier each.
    template <class F>
    void for_each_tier_in_turn(F&& f) {
        const bool one = (!device().is_simulated() || is_sanitized()) && !test_all();
        std::vector<Tier> tiers;
        for (const Tier tier : kTiers)
            if (lacking(device().caps(), tier).empty()) tiers.push_back(tier);
        for (std::size_t i = 0; i < tiers.size(); ++i) {
            if (one && i != device_number() % tiers.size()) continue;
            SCOPED_TRACE(to_text(tiers[i]));
            claim(tiers[i]);
            f(tiers[i], device_number() + static_cast<std::size_t>(tiers[i]));
        }
    }

    static SelectDesc desc_of(const PredicateCase& one, Tier tier, SelectStrategy strategy,
                              std::uint64_t max_count) {
        const bool appends = strategy == SelectStrategy::append;
        return {.predicate = one.predicate,
                .order = appends ? SelectOrder::any : SelectOrder::input,
                .max_count = max_count,
                .tier = tier,
                .policy =
                    SelectPolicy{.strategy = strategy,
                                 .workgroup_size = std::max(32u, device().caps().subgroup.max_size),
                                 .vectors = 1,
                                 .max_groups = 5,
                                 .ahead = strategy == SelectStrategy::count_ahead ? 2u : 0u,
                                 .patience = 16}};
    }
    static PredicateCase case_of(const std::string& name) {
        for (const PredicateCase& one : all())
            if (one.predicate.name == name) return one;
        ADD_FAILURE() << name;
        return all().front();
    }
};

// Every predicate, in every way, with everything that may travel along or be left over, each in its
// turn.
TEST_F(CustomPredicateTest, EveryElement) {
    const std::size_t step = test_all() ? 1 : device().is_simulated() ? 3 : 4;
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        for (const PredicateCase& one : all()) {
            const std::size_t at = turn++;
            if (at % step != 0) continue;
            const std::uint64_t h = hash(17, at);
            for (std::size_t i = 0; i < (test_all() ? std::size(kStrategies) : 1); ++i) {
                const SelectStrategy strategy = kStrategies[(at + i) % std::size(kStrategies)];
                SelectDesc desc = desc_of(one, tier, strategy, 3000);
                if (desc.order == SelectOrder::input) desc.rest = kRests[h % 3];
                // How many are kept in all is known too late.
                if (desc.rest == SelectRest::after && strategy != SelectStrategy::one_workgroup) {
                    desc.policy->strategy = SelectStrategy::count_then_scatter;
                    desc.policy->ahead = 0;
                }
                const std::uint32_t values = kValues[(h >> 8) % 4];
                desc.indices = values == 1;
                desc.value_bytes = values == 1 ? 0 : values;
                desc.items = values == 0 || (h >> 16) % 3 != 0;
                SCOPED_TRACE(fmt::format("{} {} {}", one.predicate.name, to_text(strategy),
                                         to_text(desc.rest)));
                const auto planned = plan_select(device().caps(), desc);
                // More buffers than WebGPU's least.
                if (!planned && planned.error().code == ErrorCode::limit_exceeded) continue;
                ASSERT_TRUE(planned) << planned.error().message;
                const std::size_t tile = planned->share.tile_items;
                desc.max_count = 6 * tile + tile / 2 + 1;
                SelectRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count :
                     {std::size_t{0}, std::size_t{1}, std::size_t{3}, tile - 1, tile, tile + 1,
                      static_cast<std::size_t>(desc.max_count)}) {
                    SCOPED_TRACE(count);
                    runner.expect_right(one.input(desc, count, at + count),
                                        {.count_in_buffer = count % 2 == 0, .timestamps = false});
                    if (HasFailure()) return;
                }
            }
        }
    });
}

// B14: a predicate is asked of no item that was not in the input, not even where nobody looks at
// what it says. A simulated machine faults where it is: the text divides by zero.
TEST_F(CustomPredicateTest, NeverSeesWhatWasNotInTheInput) {
    if (!device().is_simulated()) GTEST_SKIP() << "drivers do not say who divided by zero";
    struct Marked {
        std::uint32_t value, mark;
    };
    for (const bool in_a_vector : {true, false}) {
        PredicateCase marked = make_case<Marked>(
            {.name = in_a_vector ? "strict" : "strict_long",
             .element = {{Scalar::u32, 1, "value"}, {Scalar::u32, 1, "mark"}},
             .keep = "(x.value & 1u) == 7u / (x.mark == 0x600d600du ? 7u : 0u)"},
            "", Marked{1, 0},
            [](std::uint64_t h) {
                return Marked{static_cast<std::uint32_t>(h), 0x600d600d};
            },
            [](Marked m, std::uint32_t) { return (m.value & 1) == 1; });
        if (!in_a_vector) {
            struct Long {
                std::uint32_t value, more, mark;
            };
            marked = make_case<Long>(
                {.name = "strict_long",
                 .element = {{Scalar::u32, 1, "value"},
                             {Scalar::u32, 1, "more"},
                             {Scalar::u32, 1, "mark"}},
                 .keep = marked.predicate.keep},
                "", Long{1, 0, 0},
                [](std::uint64_t h) {
                    return Long{static_cast<std::uint32_t>(h), 5, 0x600d600d};
                },
                [](Long m, std::uint32_t) { return (m.value & 1) == 1; });
        }
        for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
            for (std::size_t i = 0; i < std::size(kStrategies); ++i) {
                if ((i + turn + (in_a_vector ? 1 : 0)) % 3 != 0) continue;
                SCOPED_TRACE(to_text(kStrategies[i]));
                const SelectDesc desc = desc_of(marked, tier, kStrategies[i], 3000);
                SelectRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                const std::size_t tile = runner.plan().share.tile_items;
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3},
                                                tile - 1, tile, tile + 1, 6 * tile + 5})
                    runner.expect_right(marked.input(desc, count, count),
                                        {.count_in_buffer = count % 2 == 0});
            }
        });
    }
}

// A tile that never publishes is counted again: the predicate is asked once more, of the right
// items with their indices.
TEST_F(CustomPredicateTest, ATileThatNeverPublishes) {
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const PredicateCase one = case_of(turn % 2 == 0 ? "every_third" : "particles");
        const SelectStrategy strategy =
            turn / 2 % 2 == 0 ? SelectStrategy::look_back : SelectStrategy::count_ahead;
        SelectDesc desc = desc_of(one, tier, strategy, 3000);
        const auto talking = plan_select(device().caps(), desc);
        ASSERT_TRUE(talking) << talking.error().message;
        const std::size_t tile = talking->share.tile_items;
        desc.max_count = 7 * tile + 7;
        desc.policy->silent_tile = 3;
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::size_t count : {7 * tile + 7, tile + 1})
            runner.expect_right(one.input(desc, count, count), {.count_in_buffer = count % 2 == 0});
    });
}

// The policy that the library chooses, and what is kept too much for the output.
TEST_F(CustomPredicateTest, AsTheLibraryChooses) {
    std::size_t turn = device_number();
    for (const PredicateCase& one : all()) {
        if (!test_all() && turn++ % (device().is_simulated() ? 3 : 9) != 0) continue;
        SCOPED_TRACE(one.predicate.name);
        const SelectDesc desc{.predicate = one.predicate, .max_count = 5000, .capacity = 700};
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        claim(runner.plan().tier);
        runner.expect_right(one.input(desc, 5000, 1));
        runner.expect_right(one.input(desc, 77, 2), {.count_in_buffer = true});
        runner.expect_right(one.input(desc, 0, 3));
    }
}

// The words that the header promises, and names that kernels have, too.
TEST_F(CustomPredicateTest, NamesAndWordsOfTheHeader) {
    struct Names {
        std::uint32_t count, lane, tile, item, x, index, kept, flag;
    };
    const PredicateCase one = make_case<Names>(
        {.name = "names",
         .element = {{Scalar::u32, 1, "count"},
                     {Scalar::u32, 1, "lane"},
                     {Scalar::u32, 1, "tile"},
                     {Scalar::u32, 1, "item"},
                     {Scalar::u32, 1, "x"},
                     {Scalar::u32, 1, "index"},
                     {Scalar::u32, 1, "kept"},
                     {Scalar::u32, 1, "flag"}},
         .keep = "((x.count + x.lane + x.tile + x.item + x.x + x.index + x.kept + x.flag + index) "
                 "& 1u) != 0u"},
        "", Names{1, 0, 0, 0, 0, 0, 0, 0},
        [](std::uint64_t h) {
            const auto part = [&](int i) { return static_cast<std::uint32_t>(h >> (7 * i)); };
            return Names{part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7)};
        },
        [](Names n, std::uint32_t index) {
            return ((n.count + n.lane + n.tile + n.item + n.x + n.index + n.kept + n.flag + index) &
                    1) != 0;
        });
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const SelectDesc desc = desc_of(one, tier, kStrategies[turn % 2], 1000);
        SelectRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        runner.expect_right(one.input(desc, 1000, 1));
    });
}

// What does not compile is an error of the caller's text, in the compiler's words.
TEST_F(CustomPredicateTest, BadExpressions) {
    if (device().is_webgpu()) GTEST_SKIP() << "an implementation of WebGPU says what it finds";
    for (const auto& [keep, part] : {std::pair{"x >", "keep"}, std::pair{"nobody > 3u", "nobody"},
                                     std::pair{"x ? 1u : 0u", "keep"},
                                     std::pair{"bool a = true;\nreturn mystery;", "mystery"}}) {
        SCOPED_TRACE(keep);
        const CustomPredicate predicate{.name = "bad", .element = {{Scalar::f32, 1}}, .keep = keep};
        const auto plan = plan_select(device().caps(), {.predicate = predicate, .max_count = 1000});
        ASSERT_TRUE(plan) << plan.error().message;
        const auto bundle = jit::compile(*plan);
        ASSERT_FALSE(bundle);
        EXPECT_EQ(bundle.error().code, ErrorCode::bad_argument);
        EXPECT_NE(bundle.error().message.find(part), std::string::npos) << bundle.error().message;
    }
}

}  // namespace
}  // namespace lanewise::test
