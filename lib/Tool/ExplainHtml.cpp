//===- ExplainHtml.cpp - a plan as one page -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. layers: a kernel stands below all that it reads from;
//  2. order within layers: near the mean of what it reads from (barycentres);
//  3. SVG: boxes with a bar of floor and predicted time, curves for values that
//     cross from kernel to kernel, all with details on hover;
//  4. tables of kernels and of edges that are not fused.
//
// No script and no network: the page works wherever it is sent. Everything
// that comes from a graph file is escaped.
//===----------------------------------------------------------------------===//
#include "Explanation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

static constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>
:root { --ink:#1c2430; --soft:#5b6675; --line:#d5dbe3; --page:#f6f7f9;
  --card:#fff; --bar:#9db8d9; --floor:#2f6fb3; --warn:#b3541e;
  --pointwise:#dcebd9; --row:#d9e6f5; --contraction:#f7e3cf;
  --stencil:#eadff2; --other:#e6e8ec; }
@media (prefers-color-scheme: dark) { :root { --ink:#e4e8ee; --soft:#9aa5b4;
  --line:#39424f; --page:#15191f; --card:#1d232b; --bar:#42607f;
  --floor:#7fb2e8; --warn:#e79a68; --pointwise:#2b3d2c; --row:#26384d;
  --contraction:#4a3723; --stencil:#3b2f4a; --other:#323944; } }
* { box-sizing:border-box }
body { margin:0; padding:24px; background:var(--page); color:var(--ink);
  font:14px/1.45 system-ui,sans-serif }
main { max-width:1240px; margin:auto }
h1 { font-size:20px; margin:0 0 4px } h2 { font-size:16px; margin:28px 0 8px }
p { margin:4px 0; color:var(--soft) } a { color:var(--floor) }
.cards { display:flex; flex-wrap:wrap; gap:12px; margin:16px 0 }
.card,.box { background:var(--card); border:1px solid var(--line);
  border-radius:8px }
.card { padding:10px 16px; min-width:130px }
.card b { display:block; font-size:20px; font-variant-numeric:tabular-nums }
.card span { color:var(--soft); font-size:12px }
.box { overflow:auto; max-height:80vh }
table { border-collapse:collapse; width:100%; font-variant-numeric:tabular-nums }
th,td { padding:6px 10px; text-align:left; border-bottom:1px solid var(--line);
  vertical-align:top }
th { position:sticky; top:0; background:var(--card); color:var(--soft);
  font-weight:600; font-size:12px; white-space:nowrap }
td.n,th.n { text-align:right; white-space:nowrap }
tr:target { background:var(--row) }
.bar { width:110px; height:5px; margin-top:3px; margin-left:auto;
  background:var(--line); border-radius:3px; overflow:hidden }
.bar i { display:block; height:5px; background:var(--bar) }
.ops { max-width:300px; overflow-wrap:anywhere }
.place { color:var(--soft); font-size:12px; overflow-wrap:anywhere;
  min-width:120px }
.kind { padding:1px 7px; border-radius:9px; white-space:nowrap; font-size:12px }
.warn { color:var(--warn) }
svg { display:block; margin:auto }
svg text { fill:var(--ink); font:12px system-ui,sans-serif }
svg .soft { fill:var(--soft); font-size:11px }
svg rect.k { stroke:var(--line); stroke-width:1.2 }
svg a:hover rect.k { stroke:var(--floor); stroke-width:2 }
svg path { fill:none; stroke:var(--soft); stroke-width:1.4; opacity:.65 }
svg path:hover { stroke:var(--warn); stroke-width:3; opacity:1 }
svg .arrow { fill:var(--soft); stroke:none; opacity:1 }
</style>
)";

static std::string escaped(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(llvm::json::fixUTF8(text), os);
  return result;
}

/// At most `width` characters, none of them cut in two.
static std::string shortened(llvm::StringRef text, size_t width) {
  if (text.size() <= width)
    return text.str();
  size_t end = width;
  while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.take_front(end).str() + "…";
}

static std::string usText(double microseconds) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(microseconds < 10 ? "%.2f" : "%.1f", microseconds)
      << " µs";
  return text;
}

/// The colour of a kind of kernel.
static llvm::StringRef colorOf(const KernelEntry &kernel) {
  static constexpr llvm::StringRef kKinds[] = {"pointwise", "row",
                                               "contraction", "stencil"};
  for (llvm::StringRef kind : kKinds)
    if (kind == kernel.kind)
      return kind;
  return "other";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

namespace {
/// The values that go from one kernel to another.
struct Link {
  unsigned from, to;
  std::vector<const EdgeEntry *> edges;
  /// Links over several layers go down in lanes beside the boxes, from 1 on.
  unsigned lane = 0;
};

struct Layout {
  std::vector<Link> links;
  /// Kernels of each layer, left to right.
  std::vector<std::vector<unsigned>> layers;
  /// By kernel: the centre's column.
  std::vector<double> column;
  std::vector<unsigned> layer;
  double width = 1;
  unsigned lanes = 0;
};
} // namespace

static std::vector<Link> linksOf(const Explanation &e) {
  llvm::MapVector<std::pair<unsigned, unsigned>, Link> links;
  for (const EdgeEntry &edge : e.edges) {
    if (!edge.producerKernel || !edge.consumerKernel ||
        *edge.producerKernel == *edge.consumerKernel)
      continue;
    Link &link = links[{*edge.producerKernel, *edge.consumerKernel}];
    link.from = *edge.producerKernel;
    link.to = *edge.consumerKernel;
    link.edges.push_back(&edge);
  }
  std::vector<Link> result;
  for (auto &entry : links)
    result.push_back(std::move(entry.second));
  return result;
}

/// Gives each long link the first lane that is free over its layers.
static void chooseLanes(Layout &layout) {
  // By lane: the layer where its last link ends.
  std::vector<unsigned> ends;
  for (Link &link : layout.links) {
    unsigned from = layout.layer[link.from], to = layout.layer[link.to];
    if (to <= from + 1)
      continue;
    auto it = llvm::find_if(ends, [&](unsigned end) { return end <= from; });
    link.lane = it - ends.begin() + 1;
    if (it == ends.end())
      ends.push_back(to);
    else
      *it = to;
  }
  layout.lanes = ends.size();
}

static Layout layOut(const Explanation &e) {
  Layout layout;
  layout.links = linksOf(e);
  size_t count = e.kernels.size();
  layout.layer.resize(count);
  layout.column.resize(count);
  std::vector<std::vector<unsigned>> readers(count), sources(count);
  for (const Link &link : layout.links) {
    // Kernels are in program order, so links go to later ones.
    if (link.from < link.to) {
      readers[link.from].push_back(link.to);
      sources[link.to].push_back(link.from);
    }
  }
  for (unsigned kernel = 0; kernel < count; ++kernel) {
    for (unsigned source : sources[kernel])
      layout.layer[kernel] =
          std::max(layout.layer[kernel], layout.layer[source] + 1);
    if (layout.layer[kernel] >= layout.layers.size())
      layout.layers.resize(layout.layer[kernel] + 1);
    layout.layers[layout.layer[kernel]].push_back(kernel);
  }
  for (const auto &layer : layout.layers)
    layout.width = std::max(layout.width, double(layer.size()));
  for (auto &layer : layout.layers) {
    std::vector<double> wish(count);
    for (unsigned kernel : layer) {
      double sum = 0;
      for (unsigned source : sources[kernel])
        sum += layout.column[source];
      wish[kernel] = sources[kernel].empty()
                         ? layout.width / 2
                         : sum / double(sources[kernel].size());
    }
    llvm::sort(layer, [&](unsigned a, unsigned b) {
      return std::pair(wish[a], a) < std::pair(wish[b], b);
    });
    // A layer stands together around the mean of its wishes, inside the page.
    double mean = 0;
    for (unsigned kernel : layer)
      mean += wish[kernel] / double(layer.size());
    double half = double(layer.size()) / 2;
    double left = std::clamp(mean - half, 0.0, layout.width - 2 * half);
    for (auto [i, kernel] : llvm::enumerate(layer))
      layout.column[kernel] = left + double(i) + 0.5;
  }
  chooseLanes(layout);
  return layout;
}

//===----------------------------------------------------------------------===//
// The picture
//===----------------------------------------------------------------------===//

static constexpr double kBoxWidth = 216, kBoxHeight = 62, kGapX = 28,
                        kGapY = 46, kMargin = 16, kLane = 7;

static double centerX(const Layout &layout, unsigned kernel) {
  return kMargin + layout.column[kernel] * (kBoxWidth + kGapX) - kGapX / 2;
}
static double topY(const Layout &layout, unsigned kernel) {
  return kMargin + layout.layer[kernel] * (kBoxHeight + kGapY);
}

static std::string nameOf(const OpEntry &op) {
  return op.place.empty() ? op.op : op.op + " " + op.place;
}

static void drawLink(llvm::raw_ostream &os, const Layout &layout,
                     const Link &link) {
  double x1 = centerX(layout, link.from),
         y1 = topY(layout, link.from) + kBoxHeight;
  double x2 = centerX(layout, link.to), y2 = topY(layout, link.to);
  double bend = kGapY * 0.7;
  double side =
      link.lane ? kBoxWidth / 2 + kGapX / 4 + kLane * (link.lane - 1) : 0;
  os << "<path d=\"";
  if (side == 0)
    os << llvm::format("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1,
                       y1 + bend, x2, y2 - bend, x2, y2 - 5);
  else
    os << llvm::format(
        "M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0fL%.0f %.0fC%.0f "
        "%.0f %.0f %.0f %.0f %.0f",
        x1, y1, x1, y1 + bend, x1 + side, y1, x1 + side, y1 + bend, x1 + side,
        y2 - bend, x1 + side, y2 - 5, x2, y2 - bend, x2, y2 - 5);
  os << "\" marker-end=\"url(#arrow)\"><title>";
  for (auto [i, edge] : llvm::enumerate(link.edges)) {
    os << (i ? "\n\n" : "") << escaped(nameOf(edge->producer)) << " → "
       << escaped(nameOf(edge->consumer));
    if (!edge->fused)
      os << "\n"
         << escaped(edge->why) << "\ncosts at most "
         << usText(edge->microseconds)
         << "\nto allow it: " << escaped(edge->remedy);
  }
  os << "</title></path>\n";
}

static std::string details(size_t index, const KernelEntry &kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "kernel " << index << " (" << kernel.kind << ")";
  if (!kernel.entry.empty())
    os << ", " << kernel.entry;
  os << "\nminimum " << bytesText(kernel.minimumBytes) << ", moved "
     << bytesText(kernel.movedBytes) << "\nfloor "
     << usText(kernel.floorMicroseconds) << ", predicted "
     << usText(kernel.predictedMicroseconds) << "\n";
  if (kernel.code && kernel.code->resources) {
    if (auto registers = kernel.code->resources->registers)
      os << *registers << " registers, " << kernel.code->threads
         << " threads per block\n";
    if (auto occupancy = kernel.code->occupancy)
      os << llvm::format("occupancy %.0f %%, limited by ",
                         occupancy->fraction * 100)
         << occupancy->limit << "\n";
  }
  if (!kernel.split.empty())
    os << "by itself: " << kernel.split << "\n";
  if (!kernel.parts.empty())
    os << "parts: " << kernel.parts << "\n";
  if (!kernel.aloneWhy.empty())
    os << "shares no launch: " << kernel.aloneWhy << "\n";
  for (auto [i, op] : llvm::enumerate(kernel.ops)) {
    if (i == 24) {
      os << "… " << kernel.ops.size() - i << " more";
      break;
    }
    os << nameOf(op) << "\n";
  }
  return text;
}

static void drawKernel(llvm::raw_ostream &os, const Layout &layout,
                       const Explanation &e, unsigned index, double longest) {
  const KernelEntry &kernel = e.kernels[index];
  double x = centerX(layout, index) - kBoxWidth / 2, y = topY(layout, index);
  double full = kBoxWidth - 20;
  os << "<a href=\"#k" << index << "\"><title>"
     << escaped(details(index, kernel)) << "</title>"
     << llvm::format("<rect class=\"k\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" "
                     "height=\"%.0f\" rx=\"7\" style=\"fill:var(--",
                     x, y, kBoxWidth, kBoxHeight)
     << colorOf(kernel) << ")\"/>"
     << llvm::format("<text x=\"%.0f\" y=\"%.0f\"><tspan "
                     "font-weight=\"600\">%u</tspan> ",
                     x + 10, y + 19, index)
     << escaped(kernel.kind)
     << llvm::format("</text><text class=\"soft\" text-anchor=\"end\" "
                     "x=\"%.0f\" y=\"%.0f\">",
                     x + kBoxWidth - 10, y + 19)
     << bytesText(kernel.minimumBytes) << " · "
     << usText(kernel.predictedMicroseconds)
     << llvm::format("</text><text class=\"soft\" x=\"%.0f\" y=\"%.0f\">",
                     x + 10, y + 37)
     << escaped(shortened(kernel.ops.empty()
                              ? std::to_string(kernel.numOps) + " ops"
                              : opList(kernel.ops),
                          30))
     << "</text>"
     << llvm::format("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"5\" "
                     "rx=\"2\" style=\"fill:var(--bar)\"/>",
                     x + 10, y + 48,
                     full * kernel.predictedMicroseconds / longest)
     << llvm::format("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"5\" "
                     "rx=\"2\" style=\"fill:var(--floor)\"/></a>\n",
                     x + 10, y + 48,
                     full * std::min(kernel.floorMicroseconds, longest) /
                         longest);
}

static double longestOf(const Explanation &e) {
  double longest = 1e-9;
  for (const KernelEntry &kernel : e.kernels)
    longest = std::max(longest, kernel.predictedMicroseconds);
  return longest;
}

static void drawGraph(llvm::raw_ostream &os, const Explanation &e) {
  Layout layout = layOut(e);
  double width =
      2 * kMargin + layout.width * (kBoxWidth + kGapX) + kLane * layout.lanes;
  double height =
      2 * kMargin + double(layout.layers.size()) * (kBoxHeight + kGapY) - kGapY;
  os << llvm::format("<div class=\"box\"><svg width=\"%.0f\" height=\"%.0f\" "
                     "viewBox=\"0 0 %.0f %.0f\">\n",
                     width, height, width, height)
     << "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"5\" refY=\"4\" "
        "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path "
        "class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";
  for (const Link &link : layout.links)
    if (link.from < link.to)
      drawLink(os, layout, link);
  double longest = longestOf(e);
  for (unsigned i = 0; i < e.kernels.size(); ++i)
    drawKernel(os, layout, e, i, longest);
  os << "</svg></div>\n";
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

static void cell(llvm::raw_ostream &os, const llvm::Twine &text) {
  os << "<td class=\"n\">" << text << "</td>";
}

/// A number over a bar of `fraction` of its width.
static void barCell(llvm::raw_ostream &os, llvm::StringRef text,
                    double fraction) {
  os << "<td class=\"n\">" << text << "<div class=\"bar\"><i style=\"width:"
     << llvm::format("%.1f", 100 * std::min(fraction, 1.0))
     << "%\"></i></div></td>";
}

static void codeCells(llvm::raw_ostream &os, const KernelEntry &kernel) {
  if (!kernel.code || !kernel.code->resources) {
    for (int i = 0; i < 4; ++i)
      cell(os, "–");
    return;
  }
  const KernelCode &code = *kernel.code;
  const runtime::KernelResources &need = *code.resources;
  cell(os, need.registers ? llvm::Twine(*need.registers) : llvm::Twine("–"));
  cell(os, bytesText(double(code.dynamicSharedBytes) +
                     need.staticSharedBytes.value_or(0)));
  if (uint32_t spilled =
          need.spillStoreBytes.value_or(0) + need.spillLoadBytes.value_or(0))
    os << "<td class=\"n warn\">" << spilled << " B</td>";
  else
    cell(os, need.spillStoreBytes ? "0" : "–");
  if (code.occupancy)
    os << "<td class=\"n\" title=\"limited by " << code.occupancy->limit
       << "\">" << llvm::format("%.0f %%", code.occupancy->fraction * 100)
       << "</td>";
  else
    cell(os, "–");
}

static void kernelTable(llvm::raw_ostream &os, const Explanation &e) {
  double longest = longestOf(e), most = 1;
  for (const KernelEntry &kernel : e.kernels)
    most = std::max({most, kernel.minimumBytes, kernel.movedBytes});
  os << "<div class=\"box\"><table><tr><th class=\"n\">#<th>kind<th>ops"
        "<th class=\"n\">minimum bytes<th class=\"n\">moved bytes"
        "<th class=\"n\">floor<th class=\"n\">predicted<th class=\"n\">"
        "registers<th class=\"n\">shared<th class=\"n\">spills"
        "<th class=\"n\">occupancy</tr>\n";
  for (auto [i, kernel] : llvm::enumerate(e.kernels)) {
    os << "<tr id=\"k" << i << "\"><td class=\"n\">" << i
       << "</td><td><span class=\"kind\" style=\"background:var(--"
       << colorOf(kernel) << ")\">" << escaped(kernel.kind)
       << "</span></td><td class=\"ops\" title=\""
       << escaped(details(i, kernel)) << "\">"
       << escaped(kernel.ops.empty() ? std::to_string(kernel.numOps) + " ops"
                                     : opList(kernel.ops));
    if (!kernel.split.empty())
      os << "<div class=\"place\">by itself: " << escaped(kernel.split)
         << "</div>";
    os << "</td>";
    barCell(os, bytesText(kernel.minimumBytes), kernel.minimumBytes / most);
    barCell(os, bytesText(kernel.movedBytes), kernel.movedBytes / most);
    barCell(os, usText(kernel.floorMicroseconds),
            kernel.floorMicroseconds / longest);
    barCell(os, usText(kernel.predictedMicroseconds),
            kernel.predictedMicroseconds / longest);
    codeCells(os, kernel);
    os << "</tr>\n";
  }
  os << "</table></div>\n";
}

static void opCell(llvm::raw_ostream &os, const OpEntry &op,
                   std::optional<unsigned> kernel) {
  os << "<td>" << escaped(op.op);
  if (kernel)
    os << " <a href=\"#k" << *kernel << "\">(" << *kernel << ")</a>";
  os << "<div class=\"place\">" << escaped(op.place) << "</div></td>";
}

static void edgeTable(llvm::raw_ostream &os, const Explanation &e) {
  auto refused = e.refused();
  os << "<h2>Edges that are not fused</h2>\n<p>" << refused.size() << " of "
     << e.edges.size()
     << ", the most costly first. The cost is what fusing would save at most: "
        "the launch and the traffic of the value.</p>\n";
  if (refused.empty())
    return;
  os << "<div class=\"box\"><table><tr><th>producer (kernel)<th>consumer "
        "(kernel)<th class=\"n\">cost<th>why<th>what would allow it</tr>\n";
  for (const EdgeEntry *edge : refused) {
    os << "<tr>";
    opCell(os, edge->producer, edge->producerKernel);
    opCell(os, edge->consumer, edge->consumerKernel);
    cell(os, usText(edge->microseconds));
    os << "<td>" << escaped(edge->why) << "<div class=\"place\">"
       << escaped(edge->reason) << "</div></td><td>" << escaped(edge->remedy)
       << "</td></tr>\n";
  }
  os << "</table></div>\n";
}

static void siblingTable(llvm::raw_ostream &os, const Explanation &e) {
  if (e.siblings.empty())
    return;
  os << "<h2>Products of one operand</h2>\n<div class=\"box\"><table><tr>"
        "<th>products<th class=\"n\">saving<th>one product<th>what would allow "
        "it</tr>\n";
  for (const SiblingEntry &siblings : e.siblings) {
    os << "<tr><td>";
    for (const OpEntry &member : siblings.members)
      os << escaped(member.op) << " " << escaped(member.place) << "<br>";
    os << "</td>";
    cell(os, usText(siblings.microseconds));
    os << "<td>" << (siblings.merged ? "yes" : escaped(siblings.why))
       << "<div class=\"place\">" << escaped(siblings.reason)
       << "</div></td><td>" << escaped(siblings.remedy) << "</td></tr>\n";
  }
  os << "</table></div>\n";
}

static void card(llvm::raw_ostream &os, const llvm::Twine &value,
                 llvm::StringRef what) {
  os << "<div class=\"card\"><b>" << value << "</b><span>" << what
     << "</span></div>\n";
}

static void cards(llvm::raw_ostream &os, const Explanation &e) {
  os << "<div class=\"cards\">\n";
  card(os, llvm::Twine(e.kernels.size()), "kernels launched");
  if (e.failure.empty()) {
    card(os, llvm::Twine(e.summary.opsBefore), "launches with one per op");
    card(os,
         bytesText(double(e.summary.bytesBefore)) + " → " +
             bytesText(double(e.summary.bytesAfter)),
         "bytes between kernels and memory");
  }
  card(os, usText(e.floorMicroseconds()), "floor: minimum bytes ÷ bandwidth");
  card(os, usText(e.predictedMicroseconds()), "predicted, launches included");
  os << "</div>\n";
}

std::string fusec::tool::toHtml(const Explanation &e, llvm::StringRef title) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << kHead << "<title>" << escaped(title)
     << " – fusec explain</title></head>\n<body><main>\n<h1>" << escaped(title)
     << "</h1>\n<p>Planned for " << escaped(e.target) << "; bandwidth "
     << llvm::format("%.2f TB/s, ", e.bandwidth / 1e12)
     << escaped(e.bandwidthSource) << ".</p>\n";
  if (!e.failure.empty())
    os << "<p class=\"warn\">This is a plan only, it has no code yet: "
       << escaped(e.failure) << "</p>\n";
  cards(os, e);
  os << "<h2>Kernels and what passes between them</h2>\n<p>Dark bar: floor; "
        "light bar: predicted time. Hover for details.</p>\n";
  drawGraph(os, e);
  os << "<h2>Kernels</h2>\n";
  if (!e.noResources.empty())
    os << "<p>No registers, shared memory, spills and occupancy: "
       << escaped(e.noResources) << "</p>\n";
  kernelTable(os, e);
  edgeTable(os, e);
  siblingTable(os, e);
  os << "</main></body></html>\n";
  return text;
}
