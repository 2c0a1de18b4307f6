#include "sinter/frontend/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kSide = 28;

struct Point {
  float x = 0;
  float y = 0;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Converts x, y pairs to points.
Stroke Through(std::initializer_list<float> coordinates) {
  Stroke stroke;
  for (const float* at = coordinates.begin(); at != coordinates.end(); at += 2)
    stroke.push_back({at[0], at[1]});
  return stroke;
}

// The points that the pen passes through, in the box [0, 1] x [0, 1], with y pointing down. Each digit has
// two variants. A point given twice in a row is a corner; the rest of a stroke is smooth.
const std::array<std::vector<Glyph>, 10>& Glyphs() {
  static const auto* glyphs = new std::array<std::vector<Glyph>, 10>{{
      {{Through({.5f, .02f, .2f, .2f, .12f, .5f, .22f, .82f, .5f, .98f, .8f, .82f, .88f, .5f, .78f, .18f, .5f,
                 .02f})},
       {Through({.62f, .04f, .3f, .12f, .15f, .45f, .25f, .88f, .55f, .96f, .82f, .7f, .85f, .35f, .65f, .06f,
                 .45f, .1f})}},
      {{Through({.5f, .0f, .5f, .5f, .5f, 1.f})},
       {Through({.28f, .24f, .42f, .14f, .54f, .0f, .54f, .0f, .53f, .5f, .52f, 1.f})}},
      {{Through({.16f, .24f, .35f, .03f, .7f, .05f, .82f, .28f, .6f, .58f, .15f, .97f, .15f, .97f, .5f, .96f,
                 .9f, .95f})},
       {Through({.15f, .2f, .45f, .0f, .8f, .2f, .65f, .6f, .3f, .95f, .12f, .88f, .3f, .76f, .55f, .92f,
                 .92f, .9f})}},
      {{Through({.18f, .14f, .45f, .01f, .78f, .14f, .72f, .38f, .42f, .47f,
                 .42f, .47f, .78f, .56f, .86f, .78f, .55f, .98f, .14f, .88f})},
       {Through({.15f, .03f, .5f, .02f, .82f, .03f, .82f, .03f, .46f, .4f,
                 .46f, .4f,  .8f, .5f,  .84f, .8f,  .5f,  .98f, .14f, .9f})}},
      {{Through({.62f, .0f, .35f, .36f, .1f, .66f, .1f, .66f, .5f, .66f, .92f, .65f}),
        Through({.66f, .34f, .65f, .68f, .64f, 1.f})},
       {Through({.2f, .04f, .17f, .3f, .16f, .5f, .16f, .5f, .5f, .5f, .8f, .46f}),
        Through({.82f, .0f, .78f, .5f, .74f, 1.f})}},
      {{Through({.84f, .03f, .5f, .03f, .24f, .05f, .24f, .05f, .21f, .25f, .18f, .45f,
                 .18f, .45f, .5f, .37f, .84f, .55f, .78f, .86f, .45f, .99f, .14f, .88f})},
       {Through({.26f, .06f, .22f, .25f, .2f, .42f, .2f, .42f, .55f, .38f, .84f, .6f, .7f, .92f, .4f, .98f,
                 .16f, .9f}),
        Through({.26f, .05f, .55f, .05f, .88f, .02f})}},
      {{Through({.68f, .02f, .38f, .2f, .18f, .6f, .3f, .93f, .6f, .97f, .82f, .75f, .68f, .52f, .4f, .53f,
                 .2f, .72f})},
       {Through(
           {.5f, .0f, .26f, .4f, .2f, .75f, .45f, .99f, .76f, .85f, .74f, .62f, .48f, .54f, .24f, .7f})}},
      {{Through({.12f, .05f, .5f, .05f, .88f, .05f, .88f, .05f, .62f, .48f, .4f, 1.f})},
       {Through({.14f, .12f, .5f, .05f, .86f, .04f, .86f, .04f, .6f, .5f, .44f, 1.f}),
        Through({.36f, .5f, .56f, .5f, .78f, .49f})}},
      {{Through({.5f,  .49f, .24f, .34f, .24f, .14f, .5f,  .01f, .76f, .14f, .76f, .34f, .5f,
                 .49f, .2f,  .66f, .2f,  .87f, .5f,  .99f, .8f,  .87f, .8f,  .66f, .5f,  .49f})},
       {Through({.78f, .12f, .5f,  .02f, .24f, .16f, .36f, .4f,  .68f, .6f, .76f,
                 .84f, .48f, .98f, .22f, .82f, .36f, .58f, .66f, .4f,  .8f, .14f})}},
      {{Through({.8f,  .24f, .56f, .02f, .26f, .12f, .22f, .38f, .46f, .52f,
                 .74f, .4f,  .8f,  .22f, .8f,  .22f, .78f, .6f,  .7f,  1.f})},
       {Through({.76f, .16f, .48f, .02f, .2f,  .22f, .34f, .5f,  .66f, .42f,
                 .78f, .14f, .78f, .14f, .76f, .55f, .62f, .88f, .3f,  .97f})}},
  }};
  return *glyphs;
}

// Returns the point at t in [0, 1] between b and c, on the Catmull-Rom curve through a, b, c and d.
Point CatmullRom(Point a, Point b, Point c, Point d, float t) {
  const auto one = [t](float a, float b, float c, float d) {
    return 0.5f * (2 * b + t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * b - a - 3 * c + d))));
  };
  return {one(a.x, b.x, c.x, d.x), one(a.y, b.y, c.y, d.y)};
}

// Joins the points by short segments. The curve is smooth except at corners, which are doubled points.
Stroke Smooth(const Stroke& points) {
  constexpr int kSteps = 6;
  const int last = static_cast<int>(points.size()) - 1;
  const auto corner = [&](int i) { return points[i].x == points[i + 1].x && points[i].y == points[i + 1].y; };
  Stroke out;
  for (int i = 0; i < last; ++i) {
    if (corner(i)) continue;
    const Point before = i == 0 || corner(i - 1) ? points[i] : points[i - 1];
    const Point after = i + 1 == last || corner(i + 1) ? points[i + 1] : points[i + 2];
    for (int step = 0; step < kSteps; ++step) {
      out.push_back(CatmullRom(before, points[i], points[i + 1], after, static_cast<float>(step) / kSteps));
    }
  }
  out.push_back(points[last]);
  return out;
}

// Maps the box [0, 1] x [0, 1] to the image.
struct Affine {
  float xx, xy, x0;
  float yx, yy, y0;

  Point operator()(Point p) const { return {xx * p.x + xy * p.y + x0, yx * p.x + yy * p.y + y0}; }
};

Affine RandomAffine(SplitMix& bits, float distortion) {
  const auto vary = [&](float by) { return bits.Uniform(-by, by) * distortion; };
  // A rotation by 2 atan(t). It uses no trigonometric functions, because libraries round those differently.
  const float t = vary(0.11f);
  const float cosine = (1 - t * t) / (1 + t * t);
  const float sine = 2 * t / (1 + t * t);
  const float slant = -0.08f + vary(0.22f);
  const float width = 14.0f + vary(2.5f);
  const float height = 19.0f + vary(2.0f);
  Affine m = {};
  m.xx = cosine * width;
  m.xy = (cosine * slant - sine) * height;
  m.yx = sine * width;
  m.yy = (sine * slant + cosine) * height;
  const Point middle = m({0.5f, 0.5f});
  m.x0 = kSide / 2.0f + vary(2.0f) - middle.x;
  m.y0 = kSide / 2.0f + vary(2.0f) - middle.y;
  return m;
}

// Inks the pixels near the segment from a to b. `ink` holds coverage in [0, 1].
void DrawSegment(Point a, Point b, float radius, std::span<float> ink) {
  const float reach = radius + 1;
  const auto low = [&](float v) { return std::clamp(static_cast<int>(v - reach), 0, kSide); };
  const auto high = [&](float v) { return std::clamp(static_cast<int>(v + reach) + 1, 0, kSide); };
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float squared_length = std::max(dx * dx + dy * dy, 1e-12f);
  for (int y = low(std::min(a.y, b.y)); y < high(std::max(a.y, b.y)); ++y) {
    for (int x = low(std::min(a.x, b.x)); x < high(std::max(a.x, b.x)); ++x) {
      const float px = x + 0.5f - a.x;
      const float py = y + 0.5f - a.y;
      const float along = std::clamp((px * dx + py * dy) / squared_length, 0.0f, 1.0f);
      const float ex = px - along * dx;
      const float ey = py - along * dy;
      const float distance = std::sqrt(ex * ex + ey * ey);
      float& pixel = ink[y * kSide + x];
      pixel = std::max(pixel, std::clamp(radius + 0.5f - distance, 0.0f, 1.0f));
    }
  }
}

void DrawDigit(int digit, SplitMix& bits, const DigitOptions& options, std::span<uint8_t> image) {
  const std::vector<Glyph>& variants = Glyphs()[digit];
  const Glyph& glyph = variants[bits.Below(variants.size())];
  const Affine place = RandomAffine(bits, options.distortion);
  const float radius = 1.25f + bits.Uniform(-0.45f, 0.55f) * options.distortion;
  std::array<float, kSide * kSide> ink = {};
  for (Stroke points : glyph) {
    Point previous = {-1, -1};
    Point moved;
    for (Point& point : points) {
      // Both points of a corner move together; otherwise the corner would be lost.
      if (point.x != previous.x || point.y != previous.y) {
        moved = {point.x + bits.Uniform(-0.05f, 0.05f) * options.distortion,
                 point.y + bits.Uniform(-0.04f, 0.04f) * options.distortion};
      }
      previous = point;
      point = moved;
    }
    const Stroke curve = Smooth(points);
    for (size_t i = 1; i < curve.size(); ++i) DrawSegment(place(curve[i - 1]), place(curve[i]), radius, ink);
  }
  const float full = 255 - bits.Uniform(0, 50) * options.distortion;
  for (size_t i = 0; i < ink.size(); ++i) {
    // The sum of two draws makes small values the most likely.
    const float noise = (bits.Uniform(-0.5f, 0.5f) + bits.Uniform(-0.5f, 0.5f)) * options.noise;
    image[i] = static_cast<uint8_t>(std::clamp(ink[i] * full + noise + 0.5f, 0.0f, 255.0f));
  }
}

}  // namespace

absl::StatusOr<ImageSet> DrawDigits(int64_t count, uint64_t seed, const DigitOptions& options) {
  if (count < 0) return absl::InvalidArgumentError(absl::StrCat("cannot draw ", count, " digits"));
  ImageSet set;
  SINTER_ASSIGN_OR_RETURN(set.images, HostTensor::Empty(DType::kU8, {count, kSide, kSide}));
  SINTER_ASSIGN_OR_RETURN(set.labels, HostTensor::Empty(DType::kU8, {count}));
  auto* images = static_cast<uint8_t*>(set.images.mutable_data());
  auto* labels = static_cast<uint8_t*>(set.labels.mutable_data());
  for (int64_t i = 0; i < count; ++i) {
    SplitMix bits(seed, static_cast<uint64_t>(i));
    labels[i] = static_cast<uint8_t>(bits.Below(10));
    DrawDigit(labels[i], bits, options, {images + i * kSide * kSide, kSide * kSide});
  }
  return set;
}

}  // namespace sinter
