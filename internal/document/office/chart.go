package office

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// chart returns the title and the numbers of a chart as a table, "" if it has none.
func chart(p *pack.Package, name string) string {
	root := tree(p, name)
	if root == nil {
		return ""
	}
	var out md.Writer
	body := root.Child("c:chart")
	if title := md.Sentence(chartText(body.Child("c:title"))); title != "" {
		out.Paragraph("**Chart: " + title + "**")
	} else {
		out.Paragraph("**Chart**")
	}
	table := chartTable{}
	for _, series := range body.At("c:plotArea").All("c:ser") {
		table.add(series)
	}
	out.Table(table.rows())
	return out.String()
}

// chartText returns a text that is in a chart or comes from a sheet.
func chartText(n *pack.Node) string {
	if n == nil {
		return ""
	}
	var words []string
	for _, paragraph := range n.All("a:p") {
		text := ""
		for _, t := range paragraph.All("a:t") {
			text += t.Content()
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		for _, v := range n.All("c:v") {
			words = append(words, v.Content())
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// chartTable has the points of the series of a chart, by the index of the point.
type chartTable struct {
	names  []string
	series []map[int]string
	labels map[int]string
	points int
}

// maxPoints limits the points of a series.
const maxPoints = 5000

func (t *chartTable) add(series *pack.Node) {
	if len(t.names) >= maxColumns {
		return
	}
	name := chartText(series.Child("c:tx"))
	t.names = append(t.names, cmp.Or(name, "Series "+strconv.Itoa(len(t.names)+1)))
	labels := t.read(cmp.Or(series.Child("c:cat"), series.Child("c:xVal")))
	if t.labels == nil {
		t.labels = labels
	}
	t.series = append(t.series, t.read(cmp.Or(series.Child("c:val"), series.Child("c:yVal"))))
}

// read returns the points of a reference. Labels with several levels are joined.
func (t *chartTable) read(n *pack.Node) map[int]string {
	points := map[int]string{}
	if n == nil {
		return points
	}
	for _, point := range n.All("c:pt") {
		i := number(point.Attr("idx"), -1)
		if i < 0 || i >= maxPoints {
			continue
		}
		value := tidyNumber(point.Child("c:v").Content())
		if before := points[i]; before != "" {
			value += " " + before
		}
		points[i], t.points = value, max(t.points, i+1)
	}
	return points
}

// tidyNumber writes 0.30000000000000004 as 0.3.
func tidyNumber(text string) string {
	if len(text) > 12 {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', 12, 64)
		}
	}
	return text
}

func (t *chartTable) rows() [][]string {
	rows := make([][]string, 0, t.points+1)
	for i := -1; i < t.points; i++ {
		row := []string{t.labels[i]}
		for s, points := range t.series {
			if i < 0 {
				row = append(row, md.Sentence(t.names[s]))
			} else {
				row = append(row, md.Sentence(points[i]))
			}
		}
		row[0] = md.Sentence(row[0])
		rows = append(rows, row)
	}
	return rows
}

// diagram returns the texts of a SmartArt drawing as a list.
func diagram(p *pack.Package, name string) string {
	root := tree(p, name)
	if root == nil {
		return ""
	}
	var out md.Writer
	for _, point := range root.All("dgm:pt") {
		if text := md.Sentence(chartText(point.Child("dgm:t"))); text != "" {
			out.Item(0, "-", text)
		}
	}
	return out.String()
}
