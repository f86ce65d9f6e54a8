// The numbers that plans use for operators and element kinds: the twin of names.glsl.

// lanewise::Operator, in its order.
const kSum = 0u;
const kProduct = 1u;
const kMin = 2u;
const kMax = 3u;
const kAnd = 4u;
const kOr = 5u;
const kXor = 6u;
const kArgmin = 7u;
const kArgmax = 8u;

const kUnsigned = 0u;
const kSigned = 1u;
const kFloat = 2u;
