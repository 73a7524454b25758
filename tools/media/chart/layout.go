package chart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The page, in units.
const (
	pageWidth  = 800.0
	pageHeight = 500.0
	margin     = 20.0

	titleSize = 18.0
	nameSize  = 13.0 // of axes and series
	labelSize = 12.0
	lineGap   = 1.4 // of a size
)

// layout makes shapes of the chart.
func (c Chart) layout() (scene, error) {
	if err := c.check(); err != nil {
		return scene{}, err
	}
	s := scene{width: pageWidth, height: pageHeight}
	s.rect(0, 0, pageWidth, pageHeight, paper)
	top := margin
	if c.Title != "" {
		for _, line := range wrap(c.Title, titleSize, true, pageWidth-2*margin, 2) {
			s.add(shape{text: line, at: point{pageWidth / 2, top + titleSize}, size: titleSize, bold: true, fill: ink,
				anchor: middle})
			top += titleSize * lineGap
		}
		top += 6
	}
	if c.Kind == Pie {
		c.pie(&s, top)
		return s, nil
	}
	top = c.legend(&s, top)
	p := c.newPlot(top)
	p.axes(&s)
	switch c.Kind {
	case Bar:
		p.bars(&s)
	case Line, Area:
		p.lines(&s)
	case Scatter:
		p.points(&s)
	}
	return s, nil
}

// wrap breaks a text into at most max lines of a width.
func wrap(text string, size float64, bold bool, width float64, max int) (lines []string) {
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		longer := strings.TrimSpace(line + " " + word)
		if line == "" || measure(longer, size, bold) <= width {
			line = longer
			continue
		}
		if len(lines) == max-1 {
			line = strings.Join(append([]string{line}, words[i:]...), " ")
			break
		}
		lines, line = append(lines, line), word
	}
	return append(lines, fit(line, size, bold, width))
}

// fit shortens a text to a width.
func fit(text string, size float64, bold bool, width float64) string {
	ends := advances(text, size, bold)
	if len(ends) == 0 || ends[len(ends)-1] <= width {
		return text
	}
	width -= measure("…", size, bold)
	n := len(ends)
	for n > 1 && ends[n-1] > width {
		n--
	}
	return strings.TrimSpace(string([]rune(text)[:n])) + "…"
}

// legend writes the names of the series, and returns where it ends. A single series needs
// no legend if there is something else that names it.
func (c *Chart) legend(s *scene, top float64) float64 {
	if len(c.Series) == 1 && (c.Series[0].Name == "" || c.Title != "" || c.YTitle != "") {
		c.YTitle = cmp.Or(c.YTitle, c.Series[0].Name)
		return top
	}
	const box, gap = 11.0, 18.0
	x, y := margin, top
	for i, series := range c.Series {
		name := fit(cmp.Or(series.Name, fmt.Sprintf("Series %d", i+1)), nameSize, false, pageWidth/3)
		width := box + 6 + measure(name, nameSize, false)
		if x > margin && x+width > pageWidth-margin {
			x, y = margin, y+nameSize*lineGap
		}
		s.rect(x, y+2, box, box, palette(i))
		s.write(x+box+6, y+12, nameSize, start, name)
		x += width + gap
	}
	return y + nameSize*lineGap + 8
}

// A plot is the area between the axes.
type plot struct {
	c                        *Chart
	left, right, top, bottom float64
	x, y                     axis
	turned                   bool      // the labels of the x axis
	every                    int       // each nth of them is shown
	times                    []float64 // of labels that are dates, from 0 to 1; nil for categories
}

// An axis is a range of values with round ticks.
type axis struct {
	from, to, step float64
}

// newAxis returns an axis that covers a range.
func newAxis(from, to float64, ticks int) axis {
	if from == to {
		room := math.Max(math.Abs(from)*0.1, 1e-9)
		if from == 0 {
			room = 1
		}
		from, to = from-room, to+room
	}
	rough := (to - from) / float64(ticks)
	size := math.Pow(10, math.Floor(math.Log10(rough)))
	step := size
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step = m * size; step >= rough*(1-1e-9) {
			break
		}
	}
	return axis{math.Floor(from/step+1e-9) * step, math.Ceil(to/step-1e-9) * step, step}
}

// ticks returns the values of the ticks.
func (a axis) ticks() (all []float64) {
	for i := 0; ; i++ {
		v := a.from + float64(i)*a.step
		if v > a.to+a.step/2 || i > 100 {
			return all
		}
		if math.Abs(v) < a.step/1e6 {
			v = 0
		}
		all = append(all, v)
	}
}

// format returns the label of a tick.
func (a axis) format(v float64) string {
	unit, suffix := 1.0, ""
	switch most := math.Max(math.Abs(a.from), math.Abs(a.to)); {
	case most >= 1e15 || most < 1e-4:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case most >= 1e12:
		unit, suffix = 1e12, "T"
	case most >= 1e9:
		unit, suffix = 1e9, "B"
	case most >= 1e6:
		unit, suffix = 1e6, "M"
	}
	decimals := max(0, int(math.Ceil(-math.Log10(a.step/unit)-1e-9)))
	if s := a.step / unit * math.Pow(10, float64(decimals)); math.Abs(s-math.Round(s)) > 1e-6 {
		decimals++ // a step of 2.5
	}
	if v == 0 {
		return "0"
	}
	return thousands(strconv.FormatFloat(v/unit, 'f', decimals, 64)) + suffix
}

// thousands adds commas to a number.
func thousands(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// newPlot finds the place of the axes.
func (c *Chart) newPlot(top float64) *plot {
	p := &plot{c: c, top: top + 6, right: pageWidth - margin - 6, bottom: pageHeight - margin, every: 1}
	p.y = p.rangeOfY()
	p.left = margin + 6
	if c.YTitle != "" {
		p.left += nameSize * lineGap
	}
	widest := 0.0
	for _, v := range p.y.ticks() {
		widest = math.Max(widest, measure(p.y.format(v), labelSize, false))
	}
	p.left += widest + 8
	if c.XTitle != "" {
		p.bottom -= nameSize * lineGap
	}
	p.bottom -= labelSize * lineGap
	if c.Kind == Scatter {
		least, most := math.Inf(1), math.Inf(-1)
		for _, series := range c.Series {
			for _, v := range series.X {
				least, most = math.Min(least, v), math.Max(most, v)
			}
		}
		p.x = newAxis(least, most, 8)
		return p
	}
	p.placeLabels()
	return p
}

// timesOf returns the place of each label between the first and the last one, from 0 to 1, if
// all of them are dates in order at different distances, and nil otherwise.
func timesOf(labels []string) []float64 {
	if len(labels) < 3 {
		return nil
	}
	form, all := "", make([]float64, len(labels))
	for i, label := range labels {
		var at time.Time
		err := errors.New("no form")
		for _, f := range []string{form, "2006-01-02", "2006-01", "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339,
			"2006-01-02 15:04:05", "2006/01/02", "02.01.2006"} {
			if f == "" || form != "" && f != form {
				continue
			}
			if at, err = time.Parse(f, strings.TrimSpace(label)); err == nil {
				form = f
				break
			}
		}
		if all[i] = float64(at.Unix()); err != nil || i > 0 && all[i] <= all[i-1] {
			return nil
		}
	}
	first, last := all[0], all[len(all)-1]
	for i := range all {
		all[i] = (all[i] - first) / (last - first)
	}
	return all
}

// placeLabels turns the labels of the x axis if they are wide, and leaves out some of them
// if they are many.
func (p *plot) placeLabels() {
	if p.c.Kind == Line || p.c.Kind == Area {
		p.times = timesOf(p.c.Labels)
	}
	if p.times != nil {
		return // labels that would overlap are left out
	}
	room := (p.right - p.left) / float64(len(p.c.Labels))
	widest := 0.0
	for _, label := range p.c.Labels {
		widest = math.Max(widest, measure(label, labelSize, false))
	}
	if widest+8 <= room {
		return
	}
	if few := int(math.Ceil((widest + 8) / room)); few <= 3 && len(p.c.Labels) > 12 {
		p.every = few
		return
	}
	p.turned = true
	p.every = max(1, int(math.Ceil(labelSize*1.3/room)))
	p.bottom -= math.Min(widest, maxTurned)*math.Sin(math.Pi/4) - 2
}

// maxTurned is the length of the longest label of the x axis.
const maxTurned = 130.0

// rangeOfY returns the y axis. Bars and areas begin at zero.
func (p *plot) rangeOfY() axis {
	least, most := math.Inf(1), math.Inf(-1)
	see := func(v float64) { least, most = math.Min(least, v), math.Max(most, v) }
	for i := range p.c.width() {
		up, down := 0.0, 0.0
		for _, s := range p.c.Series {
			if i >= len(s.Values) || math.IsNaN(s.Values[i]) {
				continue
			}
			v := s.Values[i]
			if v < 0 {
				down += v
			} else {
				up += v
			}
			if !p.c.Stacked {
				see(v)
			}
		}
		if p.c.Stacked {
			see(up)
			see(down)
		}
	}
	near := most > 0 && least > 0 && least < most*0.5 // a line that is not far from zero shows it
	if p.c.Kind == Bar || p.c.Kind == Area || near && p.c.Kind == Line {
		see(0)
	}
	return newAxis(least, most, 6)
}

func (p *plot) yOf(v float64) float64 {
	return p.bottom - (v-p.y.from)/(p.y.to-p.y.from)*(p.bottom-p.top)
}

func (p *plot) xOf(v float64) float64 {
	return p.left + (v-p.x.from)/(p.x.to-p.x.from)*(p.right-p.left)
}

// slot returns the middle of the place of a label.
func (p *plot) slot(i int) float64 {
	if p.times != nil {
		const room = 30 // for the half of a label
		return p.left + room + p.times[i]*(p.right-p.left-2*room)
	}
	return p.left + (float64(i)+0.5)*(p.right-p.left)/float64(len(p.c.Labels))
}

// axes draws the axes with their ticks and titles.
func (p *plot) axes(s *scene) {
	for _, v := range p.y.ticks() {
		y := p.yOf(v)
		s.line(faint, 1, point{p.left, y}, point{p.right, y})
		s.write(p.left-8, y+labelSize*0.35, labelSize, end, p.y.format(v))
	}
	if p.c.Kind == Scatter {
		for _, v := range p.x.ticks() {
			x := p.xOf(v)
			s.line(faint, 1, point{x, p.top}, point{x, p.bottom})
			s.write(x, p.bottom+labelSize*lineGap, labelSize, middle, p.x.format(v))
		}
	}
	free := math.Inf(-1) // to the right of the labels that were written
	for i, label := range p.c.Labels {
		if i%p.every != 0 || p.c.Kind == Scatter {
			continue
		}
		if p.times != nil {
			half := measure(label, labelSize, false)/2 + 4
			if p.slot(i)-half < free {
				continue
			}
			free = p.slot(i) + half
		}
		if p.turned {
			s.add(shape{text: fit(label, labelSize, false, maxTurned),
				at:   point{p.slot(i) + 4, p.bottom + labelSize + 2},
				size: labelSize, fill: ink, anchor: end, turned: -45})
		} else {
			s.write(p.slot(i), p.bottom+labelSize*lineGap, labelSize, middle, label)
		}
	}
	zero := math.Min(math.Max(0, p.y.from), p.y.to)
	s.line(ink, 1, point{p.left, p.yOf(zero)}, point{p.right, p.yOf(zero)})
	if p.c.XTitle != "" {
		s.write((p.left+p.right)/2, pageHeight-margin+4, nameSize, middle,
			fit(p.c.XTitle, nameSize, false, p.right-p.left))
	}
	if p.c.YTitle != "" {
		s.add(shape{text: fit(p.c.YTitle, nameSize, false, p.bottom-p.top),
			at:   point{margin + 8, (p.top + p.bottom) / 2},
			size: nameSize, fill: ink, anchor: middle, turned: -90})
	}
}

// bars draws bars, beside or on top of each other.
func (p *plot) bars(s *scene) {
	room := (p.right - p.left) / float64(len(p.c.Labels))
	count := len(p.c.Series)
	if p.c.Stacked {
		count = 1
	}
	width := room * 0.8 / float64(count)
	for i := range p.c.Labels {
		up, down := 0.0, 0.0
		for k, series := range p.c.Series {
			if i >= len(series.Values) || math.IsNaN(series.Values[i]) {
				continue
			}
			v, base, place := series.Values[i], 0.0, k
			if p.c.Stacked {
				sum := &up
				if v < 0 {
					sum = &down
				}
				base, place = *sum, 0
				*sum += v
			}
			from, to := p.yOf(base), p.yOf(base+v)
			x := p.slot(i) - room*0.4 + float64(place)*width
			s.rect(x, math.Min(from, to), math.Max(width-1, width*0.9), math.Abs(to-from), palette(k))
		}
	}
}

// lines draws lines, and for areas the space below them.
func (p *plot) lines(s *scene) {
	below := make([]float64, len(p.c.Labels)) // of stacked areas
	for k, series := range p.c.Series {
		var run, base []point
		flush := func() {
			if p.c.Kind == Area && len(run) > 1 {
				area := slices.Clone(run)
				for _, b := range slices.Backward(base) {
					area = append(area, b)
				}
				opacity := 0.35
				if p.c.Stacked {
					opacity = 0.8
				}
				s.add(shape{fill: palette(k), opacity: opacity, path: area, closed: true})
			}
			if len(run) > 1 {
				s.line(palette(k), 2.5, run...)
			}
			if len(run) == 1 || len(p.c.Labels) <= 30 && p.c.Kind == Line {
				for _, at := range run {
					s.add(shape{fill: palette(k), at: at, radius: 3.5})
				}
			}
			run, base = nil, nil
		}
		for i, v := range series.Values {
			if math.IsNaN(v) {
				flush()
				continue
			}
			floor := 0.0
			if p.c.Stacked {
				floor = below[i]
				below[i] += v
				v = below[i]
			}
			run = append(run, point{p.slot(i), p.yOf(v)})
			base = append(base, point{p.slot(i), p.yOf(floor)})
		}
		flush()
	}
}

func (p *plot) points(s *scene) {
	for k, series := range p.c.Series {
		for i, v := range series.Values {
			s.add(shape{fill: palette(k), opacity: 0.7, at: point{p.xOf(series.X[i]), p.yOf(v)}, radius: 4})
		}
	}
}

// slice makes one series of the largest slices of a pie, and of the sum of the others.
func (c *Chart) slice() error {
	type one struct {
		label string
		value float64
	}
	var all []one
	sum := 0.0
	for i, v := range c.Series[0].Values {
		if !math.IsNaN(v) && v > 0 {
			all = append(all, one{c.Labels[i], v})
			sum += v
		}
	}
	if sum == 0 {
		return fmt.Errorf("all values are 0, so there are no slices; use bar")
	}
	if len(all) > maxSlices {
		slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(b.value, a.value) })
		rest := one{label: "Other"}
		for _, o := range all[maxSlices-1:] {
			rest.value += o.value
		}
		all = append(all[:maxSlices-1], rest)
	}
	c.Labels, c.Series = nil, []Series{{Name: c.Series[0].Name}}
	for _, o := range all {
		c.Labels, c.Series[0].Values = append(c.Labels, o.label), append(c.Series[0].Values, o.value)
	}
	return nil
}

// pie draws slices, and a legend with their values.
func (c *Chart) pie(s *scene, top float64) {
	values := c.Series[0].Values
	sum, most := 0.0, 0.0
	for _, v := range values {
		sum, most = sum+v, math.Max(most, v)
	}
	radius := (pageHeight - top - margin) / 2
	centre := point{margin + 30 + radius, top + radius}
	from := 0.0
	for i, v := range values {
		to := from + 2*math.Pi*v/sum
		s.add(shape{fill: palette(i), stroke: paper, width: 2, path: sector(centre, radius, from, to),
			closed: true})
		from = to
	}
	x := centre.x + radius + 40
	size := math.Min(nameSize+1, (pageHeight-top-margin)/float64(len(values))/1.7)
	y := centre.y - float64(len(values)-1)*size*1.7/2
	scale := newAxis(0, most, 5)
	for i, v := range values {
		s.rect(x, y-size*0.85, size, size, palette(i))
		share := fmt.Sprintf("  %s (%s%%)", valueText(v, scale), num(math.Round(v/sum*1000)/10))
		label := fit(c.Labels[i], size, false, pageWidth-margin-x-size-8-measure(share, size, false))
		s.write(x+size+8, y, size, start, label+share)
		y += size * 1.7
	}
}

// valueText returns a value with as many decimals as it was given with, as far as they fit.
func valueText(v float64, scale axis) string {
	if math.Max(scale.to, v) >= 1e6 || v < 1e-4 {
		return scale.format(v)
	}
	return thousands(num(v))
}
