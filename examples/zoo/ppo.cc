// Proximal policy optimisation (Schulman et al., arXiv 1707.06347): an actor and a critic balance a pole.
#include <array>
#include <cmath>

#include "sinter/examples/zoo/zoo.h"

namespace nn = sn::nn;
namespace optim = sn::optim;
using sn::HostTensor;
using sn::Tensor;

namespace {

// Barto, Sutton and Anderson's cart-pole: position, speed, angle, angular speed.
struct CartPole {
  std::array<float, 4> s{};

  void Reset(sn::SplitMix& bits) {
    for (float& value : s) value = bits.Uniform(-0.05f, 0.05f);
  }
  // True if the pole fell or the cart left the track.
  bool Step(bool right) {
    const float sine = std::sin(s[2]), cosine = std::cos(s[2]);
    const float push = ((right ? 10.0f : -10.0f) + 0.05f * s[3] * s[3] * sine) / 1.1f;
    const float turn = (9.8f * sine - cosine * push) / (0.5f * (4.0f / 3 - 0.1f * cosine * cosine / 1.1f));
    const float speed_up = push - 0.05f * turn * cosine / 1.1f;
    s = {s[0] + 0.02f * s[1], s[1] + 0.02f * speed_up, s[2] + 0.02f * s[3], s[3] + 0.02f * turn};
    return std::abs(s[0]) > 2.4f || std::abs(s[2]) > 0.21f;
  }
};

// The T * N steps that an update uses.
struct Rollout {
  HostTensor states, actions, log_probabilities, advantages, returns;
};

// Plays `time` steps of all carts with the current actor.
absl::StatusOr<Rollout> Play(sn::Session& session, std::vector<CartPole>& carts, int64_t time,
                             sn::SplitMix& bits) {
  const auto n = static_cast<int64_t>(carts.size()), total = time * n;
  Rollout r{HostTensor::Empty(sn::F32, {total, 4}).value(), HostTensor::Empty(sn::I32, {total}).value(),
            HostTensor::Empty(sn::F32, {total}).value(), HostTensor::Zeros(sn::F32, {total}).value(),
            HostTensor::Empty(sn::F32, {total}).value()};
  auto states = *r.states.MutableSpan<float>();
  std::vector<float> values(total + n), alive(total);
  for (int64_t t = 0; t <= time; ++t) {
    const HostTensor now = zoo::Fill<float>({n, 4}, [&](int64_t i) { return carts[i / 4].s[i % 4]; });
    SINTER_ASSIGN_OR_RETURN(sn::Outputs out, session.Run("act", {{"states", now}}));
    SINTER_ASSIGN_OR_RETURN(auto logs, out["log_probabilities"].Span<float>());
    SINTER_ASSIGN_OR_RETURN(auto critic, out["values"].Span<float>());
    std::copy(critic.begin(), critic.end(), values.begin() + t * n);
    for (int64_t i = 0; t < time && i < n; ++i) {
      const int64_t k = t * n + i;
      std::copy(carts[i].s.begin(), carts[i].s.end(), states.begin() + 4 * k);
      const int action = std::log(bits.Uniform(0, 1) + 1e-9f) < logs[2 * i + 1];
      (*r.actions.MutableSpan<int32_t>())[k] = action;
      (*r.log_probabilities.MutableSpan<float>())[k] = logs[2 * i + action];
      alive[k] = !carts[i].Step(action == 1);
      if (alive[k] == 0) carts[i].Reset(bits);
    }
  }
  auto advantages = *r.advantages.MutableSpan<float>(), returns = *r.returns.MutableSpan<float>();
  for (int64_t k = total - 1; k >= 0; --k) {  // Generalised advantages, arXiv 1506.02438. Rewards are 1.
    const float later = k + n < total ? advantages[k + n] : 0;
    advantages[k] = 1 + 0.99f * alive[k] * values[k + n] - values[k] + 0.99f * 0.95f * alive[k] * later;
    returns[k] = advantages[k] + values[k];
  }
  return r;
}

absl::Status Train(const zoo::Flags& flags) {
  const int64_t time = flags.Size(32, 128), carts = flags.Size(8, 32), width = flags.Size(32, 128);
  sn::Graph graph("ppo", {.seed = flags.seed});
  auto mlp = [&](int64_t out) {
    return nn::Sequential{nn::Linear(width), nn::Tanh(), nn::Linear(width), nn::Tanh(), nn::Linear(out)};
  };
  nn::Module actor = mlp(2).Named("actor"), critic = mlp(1).Named("critic");
  graph.Function("act", sn::Mode::kEval, [&](sn::Builder& b) {
    Tensor states = b.Input("states", sn::F32, {carts, 4});
    b.Output("log_probabilities", sn::LogSoftmax(actor(states)));
    b.Output("values", sn::Squeeze(critic(states), -1));
  });
  graph.Function("update", sn::Mode::kTrain, [&](sn::Builder& b) {
    const int64_t n = time * carts;
    Tensor states = b.Input("states", sn::F32, {n, 4}), actions = b.Input("actions", sn::I32, {n});
    Tensor before = b.Input("log_probabilities", sn::F32, {n});
    Tensor advantages = b.Input("advantages", sn::F32, {n}), returns = b.Input("returns", sn::F32, {n});
    advantages = (advantages - sn::Mean(advantages)) / (sn::Std(advantages) + 1e-8);
    Tensor all = sn::LogSoftmax(actor(states));
    Tensor ratio = sn::Exp(all[{b.Iota(sn::I32, {n}), actions}] - before);
    Tensor gain = sn::Mean(sn::Minimum(ratio * advantages, sn::Clamp(ratio, 0.8, 1.2) * advantages));
    Tensor entropy = -sn::Mean(sn::Sum(sn::Exp(all) * all, {1}));
    Tensor error = sn::MseLoss(sn::Squeeze(critic(states), -1), returns);
    Tensor loss = -gain + 0.5 * error - 0.01 * entropy;
    optim::Adam{.learning_rate = 3e-3}.Minimize(loss, {.hooks = {flags.Watch(b), optim::ClipNorm(0.5)}});
    b.Output("loss", loss);
  });

  SINTER_ASSIGN_OR_RETURN(zoo::Trainer trainer, zoo::Trainer::Create(flags, graph));
  zoo::Data data(flags.seed);
  std::vector<CartPole> worlds(carts);
  for (CartPole& cart : worlds) cart.Reset(data.bits());
  Rollout r;
  for (int64_t step = 0; step < flags.steps; ++step) {
    if (step % 4 == 0) {  // Four updates of each rollout.
      SINTER_ASSIGN_OR_RETURN(r, Play(trainer.session(), worlds, time, data.bits()));
    }
    const std::vector<sn::Argument> batch = {{"states", r.states},
                                             {"actions", r.actions},
                                             {"log_probabilities", r.log_probabilities},
                                             {"advantages", r.advantages},
                                             {"returns", r.returns}};
    SINTER_RETURN_IF_ERROR(trainer.Step("update", batch).status());
  }
  return trainer.Finish();
}

}  // namespace

int main(int argc, char** argv) { return zoo::Main(argc, argv, Train); }
