// Element types and operators of your own, as shader expressions: a bounding box, a sum of vectors,
// a product of matrices, and the greatest of values that are made while they are read.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lanewise/gpu.hpp>
#include <span>
#include <vector>

namespace {

using lanewise::CustomOperator;
using lanewise::Scalar;

// The value, or a message and the end of the program.
template <class T>
T must(lanewise::Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(*result);
}

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

template <class Result, class Item>
Result reduce(lanewise::Gpu& gpu, const std::vector<Item>& items, const CustomOperator& custom) {
    const auto reduced = must(gpu.reduce(std::as_bytes(std::span(items)), {.custom = custom}));
    Result result{};
    std::memcpy(&result, reduced.bytes.data(), sizeof result);
    return result;
}

// Points on a spiral. Twelve bytes each: elements may have any multiple of four.
struct Point {
    float x, y, z;
};

struct Box {
    Point low, high;
};

Box bounding_box(lanewise::Gpu& gpu, const std::vector<Point>& points) {
    const CustomOperator box{.name = "bounding_box",
                             .element = {{Scalar::f32, 3}},
                             .value = {{Scalar::f32, 3, "low"}, {Scalar::f32, 3, "high"}},
                             .load = "Value(x, x)",
                             .combine = "Value(min(a.low, b.low), max(a.high, b.high))",
                             .commutative = true};
    return reduce<Box>(gpu, points, box);
}

// Forces, with the mass in the last component: their sum, and the acceleration that it makes.
std::array<float, 3> acceleration(lanewise::Gpu& gpu,
                                  const std::vector<std::array<float, 4>>& forces) {
    const CustomOperator sum{.name = "acceleration",
                             .element = {{Scalar::f32, 4}},
                             .combine = "a + b",
                             .commutative = true,
                             .result = {{Scalar::f32, 3}},
                             .store = "a.xyz / a.w"};
    return reduce<std::array<float, 3>>(gpu, forces, sum);
}

// Every prefix of a row of 2x2 matrices, multiplied. It matters which comes first, so the operator
// is not commutative. Of {{1, 1}, {1, 0}} the prefixes hold the Fibonacci numbers.
using Matrix = std::array<std::uint32_t, 4>;

std::vector<Matrix> matrix_prefixes(lanewise::Gpu& gpu, const std::vector<Matrix>& matrices) {
    const CustomOperator product{.name = "matrix_product",
                                 .element = {{Scalar::u32, 2, "row0"}, {Scalar::u32, 2, "row1"}},
                                 .combine =
                                     "Value(a.row0.x * b.row0 + a.row0.y * b.row1, "
                                     "a.row1.x * b.row0 + a.row1.y * b.row1)"};
    const auto scanned = must(gpu.scan(std::as_bytes(std::span(matrices)), {.custom = product}));
    std::vector<Matrix> prefixes(matrices.size());
    std::memcpy(prefixes.data(), scanned.bytes.data(), scanned.bytes.size());
    return prefixes;
}

// Where among a million samples the greatest distance from a level is: the distances are made as
// the samples are read, and never stored.
struct Outlier {
    float distance;
    std::uint32_t index;
};

Outlier outlier(lanewise::Gpu& gpu, const std::vector<float>& samples) {
    const CustomOperator greatest{
        .name = "outlier",
        .element = {{Scalar::f32}},
        .value = {{Scalar::f32, 1, "distance"}, {Scalar::u32, 1, "index"}},
        .load = "Value(abs(x - 10.0), index)",
        .combine =
            "if (b.distance > a.distance || (b.distance == a.distance && b.index < a.index)) {\n"
            "    return b;\n"
            "}\n"
            "return a;",
        .commutative = true};
    return reduce<Outlier>(gpu, samples, greatest);
}

}  // namespace

int main() {
    auto gpu = must(lanewise::Gpu::create());

    std::vector<Point> points(100'000);
    Point low{1e9f, 1e9f, 1e9f}, high{-1e9f, -1e9f, -1e9f};
    for (std::size_t i = 0; i < points.size(); ++i) {
        const float angle = static_cast<float>(i) * 0.001f;
        points[i] = {angle * std::cos(angle), angle * std::sin(angle), 0.5f * angle};
        low = {std::fmin(low.x, points[i].x), std::fmin(low.y, points[i].y),
               std::fmin(low.z, points[i].z)};
        high = {std::fmax(high.x, points[i].x), std::fmax(high.y, points[i].y),
                std::fmax(high.z, points[i].z)};
    }
    const Box box = bounding_box(gpu, points);
    std::printf("box of %zu points: (%g, %g, %g) to (%g, %g, %g)\n", points.size(), box.low.x,
                box.low.y, box.low.z, box.high.x, box.high.y, box.high.z);
    require(std::memcmp(&box.low, &low, sizeof low) == 0, "the box's low corner");
    require(std::memcmp(&box.high, &high, sizeof high) == 0, "the box's high corner");

    // Small whole numbers: their sums are exact, so any order gives the same.
    std::vector<std::array<float, 4>> forces(65'536);
    for (std::size_t i = 0; i < forces.size(); ++i)
        forces[i] = {static_cast<float>(i % 3), static_cast<float>(i % 5) - 2.0f, 1.0f, 0.25f};
    const auto moved = acceleration(gpu, forces);
    std::printf("acceleration by %zu forces: (%g, %g, %g)\n", forces.size(), moved[0], moved[1],
                moved[2]);
    require(moved[2] == 4.0f, "the acceleration");

    const std::vector<Matrix> matrices(1'000, Matrix{1, 1, 1, 0});
    const auto prefixes = matrix_prefixes(gpu, matrices);
    std::printf("Fibonacci number 47, of %zu matrix products: %u\n", prefixes.size(),
                prefixes[46][1]);
    require(prefixes[46][1] == 2'971'215'073u, "the matrix product");

    std::vector<float> samples(1'000'000, 10.5f);
    samples[271'828] = -90.0f;
    const Outlier found = outlier(gpu, samples);
    std::printf("outlier: sample %u, %g away\n", found.index, found.distance);
    require(found.index == 271'828 && found.distance == 100.0f, "the outlier");
    return 0;
}
