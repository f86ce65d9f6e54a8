// A caller's types and operator, as item/custom.wgsl takes them: the twin of custom_operation.glsl. This
// text is the one of an example; src/wgsl/custom.cpp writes it anew from a CustomOperator.

const kElementWords = 1u;
const kValueWords = 1u;
const kResultWords = 1u;
alias ElementWords = array<u32, kElementWords>;
alias ValueWords = array<u32, kValueWords>;
alias ResultWords = array<u32, kResultWords>;
alias Element = f32;
alias Value = f32;
alias Result = f32;
fn element_of_words(w: ElementWords) -> Element { return bitcast<f32>(w[0]); }
fn value_of_words(w: ValueWords) -> Value { return bitcast<f32>(w[0]); }
fn words_of_value(v: Value) -> ValueWords { return ValueWords(bitcast<u32>(v)); }
fn words_of_result_value(v: Result) -> ResultWords { return ResultWords(bitcast<u32>(v)); }
fn words_of_initial() -> ValueWords { return ValueWords(0u); }
fn words_of_nothing() -> ResultWords { return ResultWords(0u); }
fn operation_load(x: Element, index: u32) -> Value { return x * x; }
fn operation_combine(a: Value, b: Value) -> Value { return a + b; }
fn operation_store(a: Value) -> Result { return sqrt(a); }
