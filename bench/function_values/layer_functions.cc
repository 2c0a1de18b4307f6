// Norms, attention, and layers with parameters.
#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

const FunctionCase kNorms[] = {
    {"Softmax", {Floats({3, 4, 5}, -4, 4)}, [](const Call& x) { return Softmax(x[0]); }},
    {"Softmax.first", {Floats({3, 4, 5}, -4, 4)}, [](const Call& x) { return Softmax(x[0], 0); }},
    {"LogSoftmax", {Floats({3, 4, 5}, -4, 4)}, [](const Call& x) { return LogSoftmax(x[0], 1); }},
    {"LayerNorm",
     {Floats({3, 4, 9}), Floats({9}), Floats({9})},
     [](const Call& x) { return LayerNorm(x[0], x[1], x[2]); }},
    {"RmsNorm", {Floats({3, 4, 9}), Floats({9})}, [](const Call& x) { return RmsNorm(x[0], x[1]); }},
    {"GroupNorm",
     {Floats({2, 6, 4, 5}), Floats({6}), Floats({6})},
     [](const Call& x) { return GroupNorm(x[0], 3, x[1], x[2]); }},
    {"BatchNormTraining",
     {Floats({4, 3, 5, 2}), Floats({3}), Floats({3})},
     [](const Call& x) {
       const BatchNormResult norm = BatchNormTraining(x[0], x[1], x[2]);
       return Results{norm.result, norm.mean, norm.variance};
     }},
    {"BatchNormInference",
     {Floats({4, 3, 5}), Floats({3}), Floats({3}), Floats({3}), Floats({3}, 0.3, 2)},
     [](const Call& x) { return BatchNormInference(x[0], x[1], x[2], x[3], x[4]); }},
    {"LocalResponseNorm",
     {Floats({2, 7, 4, 3})},
     [](const Call& x) { return LocalResponseNorm(x[0], 3, {.alpha = 0.5, .beta = 0.6, .k = 2}); }},
    {"LocalResponseNorm.even",
     {Floats({2, 7, 5})},
     [](const Call& x) { return LocalResponseNorm(x[0], 4, {.alpha = 0.5}); }},
    {"Normalize", {Floats({3, 4, 5})}, [](const Call& x) { return Normalize(x[0], 1); }},
    {"CosineSimilarity",
     {Floats({3, 7}), Floats({3, 7})},
     [](const Call& x) { return CosineSimilarity(x[0], x[1]); }},
    {"Dropout.none", {Floats({3, 7})}, [](const Call& x) { return Dropout(x[0], 0); }},
};

FunctionCase Attend(std::string name, int64_t queries, int64_t keys, int64_t kv_heads,
                    AttentionOptions options) {
  return {std::move(name),
          {Floats({2, queries, 4, 6}), Floats({2, keys, kv_heads, 6}), Floats({2, keys, kv_heads, 6})},
          [options](const Call& x) { return Attention(x[0], x[1], x[2], options); }};
}

const FunctionCase kAttention[] = {
    Attend("Attention", 5, 7, 4, {}),
    Attend("Attention.causal", 6, 6, 4, {.causal = true}),
    Attend("Attention.causal.last", 3, 7, 4, {.causal = true, .scale = 0.7}),
    Attend("Attention.grouped", 5, 5, 2, {.causal = true}),
    Attend("Attention.window", 9, 9, 4, {.causal = true, .window = 3}),
    Attend("Attention.window.both", 9, 9, 4, {.window = 3}),
    {"Attention.mask",
     {Floats({2, 5, 4, 6}), Floats({2, 7, 4, 6}), Floats({2, 7, 4, 6}), Truths({2, 1, 5, 7})},
     [](const Call& x) {
       const Tensor first = Equal(x.b.Iota(I32, {5, 7}, 1), 0);
       return Attention(x[0], x[1], x[2], {.mask = x[3] || first});
     }},
    {"Attention.bias",
     {Floats({2, 5, 4, 6}), Floats({2, 7, 4, 6}), Floats({2, 7, 4, 6}), Floats({4, 5, 7})},
     [](const Call& x) { return Attention(x[0], x[1], x[2], {.bias = x[3]}); }},
    {"Attention.lengths",
     {Floats({3, 5, 4, 6}), Floats({3, 7, 4, 6}), Floats({3, 7, 4, 6}), Integers({3}, 1, 8)},
     [](const Call& x) { return Attention(x[0], x[1], x[2], {.key_lengths = x[3]}); }},
    {"Attention.unseen",
     {Floats({2, 3, 4, 6}), Floats({2, 5, 4, 6}), Floats({2, 5, 4, 6})},
     [](const Call& x) {
       return Attention(x[0], x[1], x[2], {.mask = x.b.Iota(I32, {3, 5}, 0) > x.b.Iota(I32, {3, 5}, 1)});
     }},
    {"Attention.packed",
     {Floats({2, 6, 3, 4, 6})},
     [](const Call& x) { return Attention(x[0], {.causal = true}); }},
    {"Rope", {Floats({2, 5, 3, 8})}, [](const Call& x) { return Rope(x[0], {.first_position = 3}); }},
    {"Rope.interleaved",
     {Floats({2, 5, 3, 8})},
     [](const Call& x) { return Rope(x[0], {.base = 500, .interleaved = true}); }},
    {"AlibiBias", {Floats({8, 3, 5})}, [](const Call& x) { return x[0] * AlibiBias(x.b, 8, 3, 5); }},
};

const FunctionCase kLayers[] = {
    {"nn.Linear", {Floats({4, 3, 5})}, [](const Call& x) { return nn::Linear(6)(x[0]); }},
    {"nn.Conv2d",
     {Floats({2, 3, 7, 8})},
     [](const Call& x) { return nn::Conv2d(4, 3, {.strides = {2, 1}, .padding = {1, 1, 1, 1}})(x[0]); }},
    {"nn.Conv1d", {Floats({2, 3, 9})}, [](const Call& x) { return nn::Conv1d(4, 3)(x[0]); }},
    {"nn.Conv3d", {Floats({2, 3, 4, 5, 6})}, [](const Call& x) { return nn::Conv3d(2, 3)(x[0]); }},
    {"nn.ConvTranspose2d",
     {Floats({2, 3, 4, 5})},
     [](const Call& x) { return nn::ConvTranspose2d(4, 3, {.strides = {2, 2}})(x[0]); }},
    {"nn.BatchNorm",
     {Floats({4, 3, 5, 2})},
     [](const Call& x) {
       const nn::BatchNorm norm({.momentum = 0.3});
       const Tensor y = norm(x[0]);
       std::vector<Tensor> results = {y};
       for (const Variable& state : norm.state()) results.push_back(StopGradient(x.b.Read(state)));
       return Results(results);
     },
     Mode::kTrain},
    {"nn.LayerNorm", {Floats({4, 3, 5})}, [](const Call& x) { return nn::LayerNorm()(x[0]); }},
    {"nn.RmsNorm", {Floats({4, 3, 5})}, [](const Call& x) { return nn::RmsNorm()(x[0]); }},
    {"nn.GroupNorm", {Floats({2, 6, 4})}, [](const Call& x) { return nn::GroupNorm(2)(x[0]); }},
    {"nn.InstanceNorm", {Floats({2, 3, 4, 5})}, [](const Call& x) { return nn::InstanceNorm()(x[0]); }},
    {"nn.Embedding",
     {Integers({4, 6}, 0, 9), Floats({2, 5})},
     [](const Call& x) {
       const nn::Embedding embedding(9, 5);
       const Tensor y = embedding(x[0]);
       return Results{y, embedding.Attend(x[1])};
     }},
    {"nn.EmbeddingBag", {Integers({4, 6}, 0, 9)}, [](const Call& x) { return nn::EmbeddingBag(9, 5)(x[0]); }},
    {"nn.EmbeddingBag.sum",
     {Integers({4, 6}, 0, 9)},
     [](const Call& x) {
       return nn::EmbeddingBag(9, 5, {.pooling = nn::Pooling::kSum, .padding_id = 2})(x[0]);
     }},
    {"nn.EmbeddingBag.max",
     {Integers({4, 6}, 0, 9)},
     [](const Call& x) { return nn::EmbeddingBag(9, 5, {.pooling = nn::Pooling::kMax})(x[0]); }},
    {"nn.Bilinear",
     {Floats({4, 5}), Floats({4, 3})},
     [](const Call& x) { return nn::Bilinear(6)(x[0], x[1]); }},
    {"nn.PRelu", {Floats({4, 5})}, [](const Call& x) { return nn::PRelu()(x[0]); }},
    {"nn.MultiHeadAttention",
     {Floats({2, 5, 8})},
     [](const Call& x) { return nn::MultiHeadAttention(2, {.causal = true})(x[0]); }},
    {"nn.CrossAttention",
     {Floats({2, 5, 8}), Floats({2, 7, 6}), Integers({2}, 1, 8)},
     [](const Call& x) { return nn::CrossAttention(2)(x[0], {.values = x[1], .key_lengths = x[2]}); }},
    {"nn.TransformerEncoder",
     {Floats({2, 5, 8})},
     [](const Call& x) { return nn::TransformerEncoder(2, 2, {.hidden = 12})(x[0], {}); }},
    {"nn.TransformerEncoder.last",
     {Floats({2, 5, 8})},
     [](const Call& x) {
       return nn::TransformerEncoder(
           1, 2, {.norm_first = false, .activation = [](const Tensor& h) { return Relu(h); }})(x[0], {});
     }},
    {"nn.TransformerDecoder",
     {Floats({2, 5, 8}), Floats({2, 6, 8})},
     [](const Call& x) { return nn::TransformerDecoder(1, 2, {.hidden = 12})(x[0], {}, {.values = x[1]}); }},
    {"nn.WeightNorm", {Floats({4, 5})}, [](const Call& x) { return nn::WeightNorm(nn::Linear(6))(x[0]); }},
};

// The outputs and the last states.
Results Of(const std::pair<Tensor, nn::LstmState>& run) {
  return Results{run.first, run.second.h, run.second.c};
}
Results Of(const std::pair<Tensor, Tensor>& run) { return Results{run.first, run.second}; }

const FunctionCase kRecurrent[] = {
    {"nn.Lstm", {Floats({3, 6, 4})}, [](const Call& x) { return Of(nn::Lstm(5)(x[0])); }},
    {"nn.Lstm.stacked",
     {Floats({3, 6, 4})},
     [](const Call& x) { return Of(nn::Lstm(5, {.layers = 2, .bidirectional = true})(x[0])); }},
    {"nn.Lstm.first",
     {Floats({3, 6, 4}), Floats({1, 3, 5}), Floats({1, 3, 5})},
     [](const Call& x) { return Of(nn::Lstm(5)(x[0], {.first = nn::LstmState{x[1], x[2]}})); }},
    {"nn.Lstm.lengths",
     {Floats({3, 6, 4}), Integers({3}, 1, 7)},
     [](const Call& x) { return Of(nn::Lstm(5, {.bidirectional = true})(x[0], {.lengths = x[1]})); }},
    {"nn.Gru", {Floats({3, 6, 4})}, [](const Call& x) { return Of(nn::Gru(5)(x[0])); }},
    {"nn.Gru.stacked",
     {Floats({3, 6, 4})},
     [](const Call& x) { return Of(nn::Gru(5, {.layers = 2, .bidirectional = true})(x[0])); }},
    {"nn.Gru.lengths",
     {Floats({3, 6, 4}), Integers({3}, 1, 7)},
     [](const Call& x) { return Of(nn::Gru(5, {.layers = 2})(x[0], {.lengths = x[1]})); }},
    {"nn.Rnn", {Floats({6, 3, 4})}, [](const Call& x) { return Of(nn::Rnn(5, {.time_first = true})(x[0])); }},
    {"nn.Rnn.relu",
     {Floats({3, 6, 4})},
     [](const Call& x) { return Of(nn::Rnn(5, {.layers = 2, .bias = false, .relu = true})(x[0])); }},
    {"nn.LstmCell",
     {Floats({3, 4}), Floats({3, 5}), Floats({3, 5})},
     [](const Call& x) {
       const nn::LstmState next = nn::LstmCell(5)(x[0], nn::LstmState{x[1], x[2]});
       return Results{next.h, next.c};
     }},
    {"nn.GruCell",
     {Floats({3, 4}), Floats({3, 5})},
     [](const Call& x) { return nn::GruCell(5)(x[0], x[1]); }},
    {"nn.RnnCell",
     {Floats({3, 4}), Floats({3, 5})},
     [](const Call& x) { return nn::RnnCell(5)(x[0], x[1]); }},
};

std::vector<FunctionCase> AllLayers() {
  std::vector<FunctionCase> all(std::begin(kNorms), std::end(kNorms));
  all.insert(all.end(), std::begin(kAttention), std::end(kAttention));
  all.insert(all.end(), std::begin(kLayers), std::end(kLayers));
  all.insert(all.end(), std::begin(kRecurrent), std::end(kRecurrent));
  return all;
}

}  // namespace

std::span<const FunctionCase> LayerFunctions() {
  static const std::vector<FunctionCase> all = AllLayers();
  return all;
}

}  // namespace sinter::bench
