package e2e_test

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pnyx/test/env"
)

// Pixels of one unit of a panel's position, as Grafana has it.
const (
	gridWidth  = 50
	gridHeight = 36
)

// colors are the colors of the series of a panel.
func colors() []string { return []string{"#5794f2", "#73bf69", "#f2cc0c"} }

// draw writes a page with the answers of a dashboard's panels, each at the place that the
// dashboard gives it, and a picture of the page. It is no Grafana: only the queries, their
// answers and the layout are the dashboard's.
func draw(t *testing.T, path string, board dashboard, answers []answer) {
	t.Helper()
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset=utf-8><style>
		body{margin:0;background:#111217;color:#ccccdc;font:13px Inter,"DejaVu Sans",sans-serif}
		.p{position:absolute;box-sizing:border-box;background:#181b1f;border:1px solid #2a2d33;padding:8px 12px;overflow:hidden}
		h1{font-size:18px;margin:12px 14px}h2{font-size:13px;font-weight:600;margin:0 0 6px}
		.n{display:inline-block;width:19%;text-align:center}.n b{display:block;font-size:34px;font-weight:500}
		.g{display:flex;align-items:center;height:24px}.g span{width:34%}.g i{height:14px;background:#5794f2;margin-right:6px}
		table{border-collapse:collapse;width:100%;font-size:12px}td,th{text-align:left;padding:1px 8px;border-bottom:1px solid #2a2d33}
		</style><h1>` + html.EscapeString(board.Title) + "</h1>")
	bottom := 0
	for n, panel := range board.Panels {
		at := panel.GridPos
		bottom = max(bottom, at.Y+at.H)
		fmt.Fprintf(&page, `<div class=p style="left:%dpx;top:%dpx;width:%dpx;height:%dpx"><h2>%s</h2>`,
			at.X*gridWidth+4, at.Y*gridHeight+48, at.W*gridWidth-4, at.H*gridHeight-4, html.EscapeString(panel.Title))
		switch panel.Type {
		case "timeseries":
			drawSeries(&page, panel, answers[n])
		case "bargauge":
			drawBars(&page, panel, answers[n])
		case "table":
			drawTable(&page, answers[n])
		default:
			for c, column := range answers[n].Meta {
				fmt.Fprintf(&page, "<div class=n>%s<b>%v</b></div>", column.Name, answers[n].Data[0][c])
			}
		}
		page.WriteString("</div>")
	}
	if err := os.WriteFile(path+".html", []byte(page.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path + ".html")
	chromium := exec.CommandContext(t.Context(), env.Program(t, "chromium", "PNYX_TEST_REQUIRE_BROWSER"), "--headless", "--no-sandbox",
		"--hide-scrollbars", fmt.Sprintf("--window-size=%d,%d", 24*gridWidth+4, bottom*gridHeight+52), "--screenshot="+path+".png", path+".html")
	if out, err := chromium.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v: %s", err, out)
	}
}

// shown formats a number of a panel with its unit.
func shown(value any, unit string) string {
	number, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	switch {
	case err != nil:
		return html.EscapeString(fmt.Sprint(value))
	case unit == "percentunit":
		return fmt.Sprintf("%.1f %%", 100*number)
	case unit == "h":
		return fmt.Sprintf("%.1f h", number)
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// highest returns the greatest number of the columns after the first.
func highest(a answer) (top float64) {
	for _, row := range a.Data {
		for _, value := range row[1:] {
			number, _ := strconv.ParseFloat(fmt.Sprint(value), 64)
			top = max(top, number)
		}
	}
	return max(top, 1e-9)
}

func drawBars(page *strings.Builder, panel dashboardPanel, a answer) {
	top := highest(a)
	for _, row := range a.Data {
		number, _ := strconv.ParseFloat(fmt.Sprint(row[1]), 64)
		fmt.Fprintf(page, `<div class=g><span>%s</span><i style="width:%.1f%%"></i>%s</div>`,
			html.EscapeString(fmt.Sprint(row[0])), 45*number/top, shown(row[1], panel.FieldConfig.Defaults.Unit))
	}
}

func drawTable(page *strings.Builder, a answer) {
	page.WriteString("<table><tr>")
	for _, column := range a.Meta {
		fmt.Fprintf(page, "<th>%s", column.Name)
	}
	for _, row := range a.Data {
		page.WriteString("<tr>")
		for c, value := range row {
			unit := ""
			if a.Meta[c].Name == "participation" {
				unit = "percentunit"
			}
			fmt.Fprintf(page, "<td>%s", shown(value, unit))
		}
	}
	page.WriteString("</table>")
}

// drawSeries draws the columns after the first by the time in it, as bars or lines.
func drawSeries(page *strings.Builder, panel dashboardPanel, a answer) {
	const width, height, left, bottom = 560.0, 205.0, 48.0, 18.0
	top, unit := highest(a), panel.FieldConfig.Defaults.Unit
	fmt.Fprintf(page, `<svg width=%g height=%g font-size=10 fill="#9fa7b3">`, width, height)
	for _, part := range []float64{0, 0.5, 1} {
		y := 8 + (height-bottom-8)*(1-part)
		fmt.Fprintf(page, `<path d="M%g %gH%g" stroke="#2a2d33"/><text x=0 y=%g>%s</text>`, left, y, width, y+3, shown(float64(int(100*top*part))/100, unit))
	}
	step := (width - left) / float64(len(a.Data))
	for n, row := range a.Data {
		x := left + step*float64(n)
		if n%3 == 0 {
			fmt.Fprintf(page, `<text x=%g y=%g>%.7s</text>`, x, height-4, row[0])
		}
		for c, value := range row[1:] {
			number, _ := strconv.ParseFloat(fmt.Sprint(value), 64)
			tall := (height - bottom - 8) * number / top
			if panel.FieldConfig.Defaults.Custom.DrawStyle == "bars" {
				bar := step * 0.8 / float64(len(row)-1)
				fmt.Fprintf(page, `<rect x=%g y=%g width=%g height=%g fill="%s"/>`, x+bar*float64(c), height-bottom-tall, bar, tall, colors()[c])
				continue
			}
			fmt.Fprintf(page, `<circle cx=%g cy=%g r=3 fill="%s"/>`, x+step/2, height-bottom-tall, colors()[c])
			if n > 0 {
				before, _ := strconv.ParseFloat(fmt.Sprint(a.Data[n-1][c+1]), 64)
				fmt.Fprintf(page, `<path d="M%g %gL%g %g" stroke="%s"/>`, x-step/2, height-bottom-(height-bottom-8)*before/top, x+step/2, height-bottom-tall, colors()[c])
			}
		}
	}
	page.WriteString("</svg><div>")
	for c, column := range a.Meta[1:] {
		fmt.Fprintf(page, `<span style="color:%s">■</span> %s &nbsp; `, colors()[c], column.Name)
	}
	page.WriteString("</div>")
}
