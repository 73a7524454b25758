package page

import (
	"math"
	"strconv"
	"strings"
)

// clipsAll reports whether a clip-path lets nothing of an element be seen.
func clipsAll(value string) bool {
	name, inside, _ := strings.Cut(value, "(")
	inside, _, closed := strings.Cut(inside, ")")
	if !closed {
		return false
	}
	switch strings.TrimSpace(name) {
	case "inset":
		inside, _, _ = strings.Cut(inside, "round")
		return closesIn(strings.Fields(inside))
	case "circle", "ellipse":
		radii, _, _ := strings.Cut(inside, "at ")
		for _, radius := range strings.Fields(radii) {
			if length(radius) == 0 {
				return true
			}
		}
	case "polygon":
		return onOneLine(inside)
	}
	return false
}

// closesIn reports whether what is taken off from the sides leaves nothing.
func closesIn(sides []string) bool {
	if len(sides) == 0 || len(sides) > 4 {
		return false
	}
	side := func(i int) float64 { // top, right, bottom, left
		for i >= len(sides) {
			i = max(i-2, 0)
		}
		n, ok := number(sides[i])
		switch {
		case strings.HasSuffix(sides[i], "%") && ok:
			return n
		case length(sides[i]) >= 5*far:
			return 1
		}
		return 0
	}
	return side(0)+side(2) >= 1 || side(1)+side(3) >= 1
}

// mostPoints is the longest polygon that is looked at.
const mostPoints = 50

// onOneLine reports whether all points of a polygon are on one line, so that
// there is nothing between them.
func onOneLine(inside string) bool {
	points := strings.Split(inside, ",")
	if first := strings.TrimSpace(points[0]); first == "evenodd" || first == "nonzero" {
		points = points[1:]
	}
	if len(points) == 0 || len(points) > mostPoints {
		return false
	}
	var xs, ys []float64
	var units [2]string
	for _, point := range points {
		pair := strings.Fields(point)
		if len(pair) != 2 {
			return false
		}
		var at [2]float64
		for i, text := range pair {
			digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
			n, err := strconv.ParseFloat(digits, 64)
			unit := text[len(digits):]
			if err != nil || n != 0 && units[i] != "" && unit != units[i] {
				return false
			}
			if at[i] = n; n != 0 {
				units[i] = unit
			}
		}
		xs, ys = append(xs, at[0]), append(ys, at[1])
	}
	for i := range xs {
		for j := range i {
			if math.Abs((xs[i]-xs[0])*(ys[j]-ys[0])-(xs[j]-xs[0])*(ys[i]-ys[0])) > 1e-9 {
				return false
			}
		}
	}
	return true
}

// masksAll reports whether a mask lets nothing of an element be seen: a gradient
// from nothing to nothing.
func masksAll(value string) bool {
	name, inside, found := strings.Cut(value, "gradient(")
	end := strings.LastIndexByte(inside, ')')
	if !found || end < 0 || strings.Contains(name, "url(") || strings.Contains(inside, "gradient(") || strings.Contains(inside, "url(") {
		return false
	}
	stops := topLevel(inside[:end])
	if len(stops) > 1 && directs(firstWord(stops[0])) {
		stops = stops[1:]
	}
	for _, stop := range stops {
		if colour(firstWord(stop)) != "clear" {
			return false
		}
	}
	return true
}

// directs reports whether a word begins the shape or the direction of a gradient.
func directs(word string) bool {
	switch word {
	case "to", "at", "from", "circle", "ellipse", "closest-side", "closest-corner", "farthest-side", "farthest-corner":
		return true
	}
	return word != "" && word[0] <= '9' && (strings.HasSuffix(word, "deg") || strings.HasSuffix(word, "turn") || strings.HasSuffix(word, "rad"))
}

// topLevel parts a list at the commas that are in no brackets.
func topLevel(list string) []string {
	var all []string
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				all, from = append(all, list[from:i]), i+1
			}
		}
	}
	return append(all, list[from:])
}

// firstWord is what a text begins with, up to a blank that is in no brackets.
func firstWord(text string) string {
	text = strings.TrimSpace(text)
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ':
			if depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}

// turnedAway reports whether an element is only its edge: turned by a quarter
// about an axis in its plane, and by nothing else.
func turnedAway(property, squeezed, value string) bool {
	if property == "rotate" {
		axis, angle, _ := strings.Cut(value, " ")
		return (axis == "x" || axis == "y") && quarter(strings.TrimSpace(angle))
	}
	name, inside, _ := strings.Cut(squeezed, "(")
	angle, rest, _ := strings.Cut(inside, ")")
	return (name == "rotatex" || name == "rotatey") && rest == "" && quarter(angle)
}

// quarter reports whether an angle is a quarter of a turn, or three.
func quarter(angle string) bool {
	for _, unit := range []struct {
		name    string
		degrees float64
	}{{"grad", 0.9}, {"deg", 1}, {"turn", 360}, {"rad", 180 / math.Pi}} {
		if digits, ok := strings.CutSuffix(angle, unit.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			return err == nil && math.Abs(math.Abs(math.Remainder(n*unit.degrees, 180))-90) < 0.5
		}
	}
	return false
}

// solid reports whether nothing is seen through a background.
func solid(value string) bool {
	c := colour(value)
	return len(c) == 7 && !strings.ContainsAny(value, "/ ") && !strings.Contains(value, "a(") && (value[0] != '#' || len(value) == 4 || len(value) == 7)
}
