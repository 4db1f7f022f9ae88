package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// rowHeight is the height of a bar with its margin.
const rowHeight = 26

// Chart draws the report: ratios as bars with their extremes, and latencies by
// quantile.
func (r Report) Chart(path string) error {
	charts := []*plot.Plot{}
	heights := []vg.Length{}
	if bars := r.ratioChart(); bars != nil {
		charts, heights = append(charts, bars), append(heights, vg.Points(float64(80+rowHeight*r.ratios())))
	}
	if len(r.Latencies) > 0 {
		lines, err := r.latencyChart()
		if err != nil {
			return fmt.Errorf("draw latencies: %w", err)
		}
		charts, heights = append(charts, lines), append(heights, vg.Points(320))
	}
	var height vg.Length
	for _, h := range heights {
		height += h
	}
	canvas := vgsvg.New(vg.Points(820), height)
	top := height
	for i, chart := range charts {
		area := draw.New(canvas)
		area.Max.Y, area.Min.Y = top, top-heights[i]
		chart.Draw(area)
		top -= heights[i]
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	if _, err := canvas.WriteTo(file); err != nil {
		file.Close()
		return fmt.Errorf("write the chart: %w", err)
	}
	return file.Close()
}

func (r Report) ratios() (count int) {
	for _, result := range r.Results {
		if result.Ratio.Count > 0 {
			count++
		}
	}
	return count
}

// ratioChart returns a chart with a bar per row, the first on top. It returns nil if
// there are no rows.
func (r Report) ratioChart() *plot.Plot {
	p := plot.New()
	p.Title.Text = "Pnyx ÷ baseline: median, minimum and maximum; bound in red"
	var names []string
	for _, result := range slices.Backward(r.Results) {
		if result.Ratio.Count == 0 {
			continue
		}
		at := float64(len(names))
		names = append(names, result.Row.Name+" ÷ "+result.Row.Baseline)
		p.Add(bar{at, result.Ratio, result.Row.Ratio})
		p.X.Max = math.Max(p.X.Max, result.Ratio.Max*1.05)
	}
	if len(names) == 0 {
		return nil
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	p.NominalY(names...)
	p.Y.Tick.Label.Font.Size = vg.Points(8)
	p.Add(plotter.NewGrid())
	return p
}

// bar draws one spread and its bound.
type bar struct {
	at     float64
	spread Spread
	bound  Bound
}

// Plot implements plot.Plotter.
func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := vg.Points(rowHeight * 0.28)
	middle := y(b.at)
	c.FillPolygon(color.RGBA{R: 0x4c, G: 0x78, B: 0xa8, A: 0xff}, []vg.Point{
		{X: x(0), Y: middle - half},
		{X: x(b.spread.Median), Y: middle - half},
		{X: x(b.spread.Median), Y: middle + half},
		{X: x(0), Y: middle + half},
	})
	dark := draw.LineStyle{Color: color.Black, Width: vg.Points(1.2)}
	c.StrokeLine2(dark, x(b.spread.Min), middle, x(b.spread.Max), middle)
	for _, end := range []float64{b.spread.Min, b.spread.Max} {
		c.StrokeLine2(dark, x(end), middle-half/2, x(end), middle+half/2)
	}
	if promised := math.Max(b.bound.Min, b.bound.Max); promised > 0 {
		red := draw.LineStyle{Color: color.RGBA{R: 0xd6, G: 0x27, B: 0x28, A: 0xff}, Width: vg.Points(2)}
		c.StrokeLine2(red, x(promised), middle-half*1.5, x(promised), middle+half*1.5)
	}
}

// latencyChart returns a chart with a line per load over quantiles, on a logarithmic
// scale.
func (r Report) latencyChart() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "latency at half of the saturation rate, ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.NominalX("p50", "p99", "p99.9", "max")
	for i, l := range r.Latencies {
		values := plotter.XYs{{X: 0, Y: l.P50}, {X: 1, Y: l.P99}, {X: 2, Y: l.P999}, {X: 3, Y: l.Max}}
		line, points, err := plotter.NewLinePoints(values)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		line.Dashes, points.Shape = plotutil.Dashes(i/3), plotutil.Shape(i)
		p.Add(line, points)
		p.Legend.Add(l.Name, line, points)
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.Add(plotter.NewGrid())
	return p, nil
}
