package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func show(c Chart) string {
	var b strings.Builder
	if c.Labels != nil {
		fmt.Fprintf(&b, "%s:", strings.Join(c.Labels, ","))
	}
	for _, s := range c.Series {
		fmt.Fprintf(&b, " %s%v", s.Name, s.Values)
		if s.X != nil {
			fmt.Fprintf(&b, "@%v", s.X)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		kind Kind
		data string
		want string
	}{
		{"CSV", Bar, "Month,Sales,Costs\nJan,3,4\nFeb,5,6", "Jan,Feb: Sales[3 5] Costs[4 6]"},
		{"semicolons", Line, "a;b\nx;1.5\n", "x: b[1.5]"},
		{"tabs", Line, "a\tb\nx\t-2\n", "x: b[-2]"},
		{"decimal commas", Line, "Monat;Umsatz;Anteil\nJan;1,5;12,5 %\nFeb;1.234,25;7\nMrz;3;1.000", "Jan,Feb,Mrz: " +
			"Umsatz[1.5 1234.25 3] Anteil[12.5 7 1000]"},
		{"thousands in semicolons", Line, "a;b\nx;1,500\ny;2.5\n", "x,y: b[1500 2.5]"},
		{"no names", Bar, "x,1\ny,2", "x,y: [1 2]"},
		{"numbers only", Line, "1\n2\n3", "1,2,3: [1 2 3]"},
		{"missing values", Line, "y,a,b\n2020,1,\n2021,n/a,4", "2020,2021: a[1 NaN] b[NaN 4]"},
		{"as people write", Bar, "x,y\na,\"1,234,567.5\"\nb,$5\nc,7 %\nd, 3 €", "a,b,c,d: y[1.2345675e+06 5 7 3]"},
		{"labels with years", Bar, "Year,Sales\n2020,3\n2021,5", "2020,2021: Sales[3 5]"},
		{"years as names", Bar, "Department,2024,2025\nHealth,3,4\nTrade,5,6", "Health,Trade: 2024[3 5] 2025[4 6]"},
		{"short lines", Bar, "x,a,b\np,1\nq,2,3", "p,q: a[1 2] b[NaN 3]"},
		{"object", Pie, `{"b": 2, "a": 1}`, "b,a: [2 1]"},
		{"objects", Bar, `[{"m":"Jan","A":1},{"m":"Feb","A":2,"B":3}]`, "Jan,Feb: A[1 2] B[NaN 3]"},
		{"lists", Bar, `[["m","A"],["Jan",1],["Feb",2]]`, "Jan,Feb: A[1 2]"},
		{"numbers", Line, `[3, 1, 2]`, "1,2,3: [3 1 2]"},
		{"series", Bar, `{"labels":["x","y"],"series":[{"name":"A","values":[1,2]},{"name":"B","values":[3]}]}`,
			"x,y: A[1 2] B[3 NaN]"},
		{"datasets", Bar, `{"labels":["x"],"datasets":[{"label":"A","data":[1]}]}`, "x: A[1]"},
		{"data within", Bar, `{"data":{"x":1}}`, "x: [1]"},
		{"points", Scatter, "x,y\n1,2\n3,4", " y[2 4]@[1 3]"},
		{"pairs", Scatter, `{"series":[{"name":"A","data":[[1,2]]},{"name":"B","data":[{"x":5,"y":6}]}]}`,
			" A[2]@[1] B[6]@[5]"},
		{"x and y", Scatter, `{"series":[{"name":"A","x":[1,2],"y":[3,4]}]}`, " A[3 4]@[1 2]"},
		{"long pie", Pie, "a,1\nb,2\nc,3\nd,4\ne,5\nf,6\ng,7\nh,8\ni,9\nj,10\nk,11\nl,12\nm,13",
			"m,l,k,j,i,h,g,f,e,d,c,Other: [13 12 11 10 9 8 7 6 5 4 3 3]"},
	}
	for _, tt := range tests {
		c, err := Parse(tt.kind, tt.data)
		if got := show(c); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestWhatCannotBeDrawn(t *testing.T) {
	tests := []struct{ kind, data, want string }{
		{"bar", "", "there is no data"},
		{"bar", "a,b\nx,y", "there are no numbers"},
		{"radar", "a,1", `there is no chart "radar"; use bar, line`},
		{"pie", "a,-1", "a pie has no negative slices"},
		{"pie", "a,0", "all values are 0"},
		{"bar", "a,1e300", "cannot be drawn"},
		{"bar", `{"a":`, "not JSON"},
		{"bar", `{"a":1`, "not JSON"},
		{"bar", "x" + strings.Repeat(",a", 30) + "\ny" + strings.Repeat(",1", 30), "30 series, the maximum is 20"},
		{"line", strings.Repeat("1\n", 6000), "6000 points, the maximum is 5000"},
	}
	for _, tt := range tests {
		if _, err := Parse(Kind(tt.kind), tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %.30q: %v; want %q", tt.kind, tt.data, err, tt.want)
		}
	}
}

// TestColours checks that no two series of a chart have the same colour.
func TestColours(t *testing.T) {
	seen := map[string]int{}
	for i := range maxSeries {
		if before, ok := seen[palette(i)]; ok {
			t.Errorf("series %d and %d are both %s", before, i, palette(i))
		}
		seen[palette(i)] = i
	}
}

func TestTicksAreRound(t *testing.T) {
	tests := []struct {
		from, to float64
		want     string
	}{
		{0, 9, "[0 2 4 6 8 10]"},
		{0, 1800, "[0 500 1,000 1,500 2,000]"},
		{-300, 1800, "[-500 0 500 1,000 1,500 2,000]"},
		{0.1, 0.35, "[0.10 0.15 0.20 0.25 0.30 0.35]"},
		{0, 12e6, "[0 2M 4M 6M 8M 10M 12M]"},
		{0, 3.1e9, "[0 1B 2B 3B 4B]"},
		{0, 1e12, "[0 0.2T 0.4T 0.6T 0.8T 1.0T]"},
		{5, 5, "[4.4 4.6 4.8 5.0 5.2 5.4 5.6]"},
		{0, 0, "[-1.0 -0.5 0 0.5 1.0]"},
		{0, 1e-9, "[0 2e-10 4e-10 6e-10 8e-10 1e-09]"},
	}
	for _, tt := range tests {
		a := newAxis(tt.from, tt.to, 6)
		var all []string
		for _, v := range a.ticks() {
			all = append(all, a.format(v))
		}
		if got := fmt.Sprint(all); got != tt.want {
			t.Errorf("%g to %g: %s, want %s", tt.from, tt.to, got, tt.want)
		}
	}
}

// hostile has what must not leave its place in a file.
const hostile = `"><script>alert(1)</script><text x='` + "\x00\n"

func charts(t *testing.T) map[string]Chart {
	t.Helper()
	all := map[string]Chart{}
	add := func(name string, kind Kind, data string, change func(*Chart)) {
		c, err := Parse(kind, data)
		if err != nil {
			t.Fatal(name, err)
		}
		if c.Title = name; change != nil {
			change(&c)
		}
		all[name] = c
	}
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, "A rather long label with the number %d,%d,%d\n", i, i*i-9000, -i)
	}
	for _, kind := range []Kind{Bar, Line, Area} {
		add(string(kind), kind, "m,a,b\nJan,1,2\nFeb,3,\nMar,-4,5", nil)
		add("stacked "+string(kind), kind, "m,a,b\nJan,1,2\nFeb,3,\nMar,-4,5", func(c *Chart) { c.Stacked = true })
		add("long "+string(kind), kind, long.String(), nil)
		add("single "+string(kind), kind, "a,1", nil)
	}
	add("pie", Pie, "a,1\nb,2", nil)
	add("pie of one", Pie, "a,1", nil)
	add("scatter", Scatter, "x,y\n1,2\n-3,4e6", nil)
	add("one point", Scatter, "x,y\n1,2", nil)
	add("hostile", Bar, "a,1", func(c *Chart) {
		c.Title, c.XTitle, c.YTitle = hostile, hostile, hostile
		c.Labels[0], c.Series[0].Name = hostile, hostile
	})
	add("many names", Line, "x"+strings.Repeat(",a rather long name of a series", 20)+"\ny"+strings.Repeat(",1", 20),
		nil)
	return all
}

func TestSVGIsWellFormed(t *testing.T) {
	for name, c := range charts(t) {
		svg, err := c.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		texts := 0
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if e, ok := token.(xml.StartElement); ok {
				if !slices.Contains([]string{"svg", "path", "circle", "text"}, e.Name.Local) {
					t.Errorf("%s: there is an element %s", name, e.Name.Local)
				}
				if e.Name.Local == "text" {
					texts++
				}
			}
		}
		if texts < 2 || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: %d texts in %.300s", name, texts, svg)
		}
	}
}

func TestPNGShowsTheSame(t *testing.T) {
	all := charts(t)
	for _, name := range []string{"stacked area", "pie", "hostile"} {
		c := all[name]
		data, missing, err := c.PNG()
		if err != nil || missing != 0 {
			t.Errorf("%s: %q, %v", name, missing, err)
			continue
		}
		m, err := png.Decode(bytes.NewReader(data))
		if err != nil || m.Bounds().Dx() != pageWidth*zoom || m.Bounds().Dy() != pageHeight*zoom {
			t.Errorf("%s: %v", name, err)
			continue
		}
		pix := m.(*image.RGBA).Pix
		shows := func(colour string) bool {
			want := parseColour(colour, 0)
			for i := 0; i < len(pix); i += 4 {
				if pix[i] == want.R && pix[i+1] == want.G && pix[i+2] == want.B {
					return true
				}
			}
			return false
		}
		if kind := c.Kind; kind == Bar || kind == Pie || kind == Line && len(c.Labels) < 100 {
			if !shows(palette(0)) {
				t.Errorf("%s: the first series is not there", name)
			}
		}
		if pix[0] != 255 || !shows(ink) {
			t.Errorf("%s: there is no text on white", name)
		}
	}
}

func TestMissingCharactersAreReported(t *testing.T) {
	c, err := Parse(Bar, "東京,1\nGröße,2\nΑθήνα,3\nМосква,4")
	if err != nil {
		t.Fatal(err)
	}
	if _, missing, err := c.PNG(); missing != '東' || err != nil {
		t.Errorf("%q, %v", missing, err)
	}
}

func TestTextsStayOnThePage(t *testing.T) {
	for name, c := range charts(t) {
		s, err := c.layout()
		if err != nil {
			t.Fatal(err)
		}
		for _, sh := range s.shapes {
			if sh.text == "" || sh.turned != 0 {
				continue
			}
			width := measure(sh.text, sh.size, sh.bold)
			from := map[anchor]float64{start: 0, middle: -width / 2, end: -width}[sh.anchor] + sh.at.x
			if from < -1 || from+width > pageWidth+1 || sh.at.y < 0 || sh.at.y > pageHeight {
				t.Errorf("%s: %q goes from %.0f to %.0f at %.0f", name, sh.text, from, from+width, sh.at.y)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range []string{
		"a,b\nx,1", `{"a":1}`, `[{"a":1}]`, `[[1,2]]`, `{"series":[{"data":[[1,2]]}]}`, "1;2;3",
		`{"data":[1e308,-1e308]}`,
	} {
		for kind := range 5 {
			f.Add(kind, data)
		}
	}
	kinds := []Kind{Bar, Line, Area, Pie, Scatter}
	f.Fuzz(func(t *testing.T, kind int, data string) {
		c, err := Parse(kinds[uint(kind)%5], data)
		if err != nil || len(data) > 2000 {
			return
		}
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%v: %s", err, svg)
		}
		if bytes.Contains(svg, []byte(`"NaN`)) {
			t.Errorf("%s", svg)
		}
	})
}

// TestDatesAreAsFarApartAsTheyAre looks at the places of the points of a line.
func TestDatesAreAsFarApartAsTheyAre(t *testing.T) {
	tests := []struct {
		labels []string
		want   []float64
	}{
		{[]string{"2026-01-01", "2026-01-02", "2026-01-11"}, []float64{0, 0.1, 1}},
		{[]string{"01.01.2026", "09.01.2026", "11.01.2026"}, []float64{0, 0.8, 1}},
		{[]string{"2026-01-01", "x", "2026-01-11"}, nil},
		{[]string{"2026-01-01", "2026-01-11", "2026-01-02"}, nil},
		{[]string{"2020", "2021", "2025"}, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, timesOf(tt.labels)); diff != "" {
			t.Errorf("%q: %s", tt.labels, diff)
		}
	}
	c, err := Parse(Line, "day,y\n2026-01-02,1\n2026-01-03,2\n2026-01-10,3")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.layout()
	if err != nil {
		t.Fatal(err)
	}
	var xs []float64
	for _, one := range s.shapes {
		if one.radius > 0 {
			xs = append(xs, one.at.x)
		}
	}
	if len(xs) != 3 || math.Abs((xs[2]-xs[1])/(xs[1]-xs[0])-7) > 0.01 {
		t.Errorf("points at %v", xs)
	}
}
