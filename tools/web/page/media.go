package page

import (
	"strconv"
	"strings"
)

// The screen that pages are looked at on.
const (
	screenWidth  = 1280
	screenHeight = 800
)

// seen reports whether what is meant for some media is seen on our screen. What
// is not known about it does not count, but where it is said to be of a screen.
func seen(media string) bool {
	if strings.TrimSpace(media) == "" {
		return true
	}
	for one := range strings.SplitSeq(strings.ToLower(media), ",") {
		if onScreen(strings.TrimSpace(one)) {
			return true
		}
	}
	return false
}

// onScreen reports whether one query of a list of them holds.
func onScreen(query string) bool {
	kind, rest, _ := strings.Cut(query, "(")
	words := strings.Fields(kind)
	if len(words) > 0 && words[0] == "only" {
		words = words[1:]
	}
	named := len(words) > 0
	if !named && rest == "" || named && words[0] != "screen" && words[0] != "all" || strings.Contains(query, "not") || strings.Contains(query, " or ") {
		return false
	}
	for rest != "" {
		var feature string
		feature, rest, _ = strings.Cut(rest, ")")
		if holds, known := ofScreen(feature); known && !holds || !known && !named {
			return false
		}
		_, rest, _ = strings.Cut(rest, "(")
	}
	return true
}

// ofScreen says whether a feature is one of our screen, if that is known.
func ofScreen(feature string) (holds, known bool) {
	if strings.ContainsAny(feature, "<>") {
		return inRange(feature)
	}
	name, value, _ := strings.Cut(strings.ReplaceAll(feature, " ", ""), ":")
	bound, side, _ := strings.Cut(name, "-")
	have := map[string]float64{"width": screenWidth, "height": screenHeight}[side]
	switch {
	case have != 0 && bound == "min":
		return length(value) <= have, true
	case have != 0 && bound == "max":
		return length(value) >= have, true
	case name == "orientation":
		return value == "landscape", true
	case name == "hover" || name == "any-hover":
		return value != "none", true
	case name == "prefers-color-scheme":
		return value == "light", true
	case name == "prefers-reduced-motion":
		return value == "no-preference", true
	}
	return false, false
}

// inRange compares a side of our screen with its bounds: 600px <= width < 90em.
func inRange(feature string) (holds, known bool) {
	for _, sign := range []string{"<=", ">=", "<", ">"} {
		feature = strings.ReplaceAll(feature, sign, " "+sign+" ")
	}
	words := strings.Fields(strings.NewReplacer("<  =", "<=", ">  =", ">=", "< =", "<=", "> =", ">=").Replace(feature))
	holds = len(words) == 3 || len(words) == 5
	for i := 1; i+1 < len(words) && holds; i += 2 {
		a, oneKnown := extent(words[i-1])
		b, otherKnown := extent(words[i+1])
		if !oneKnown || !otherKnown {
			return false, false
		}
		switch words[i] {
		case "<":
			holds = a < b
		case "<=":
			holds = a <= b
		case ">":
			holds = a > b
		case ">=":
			holds = a >= b
		}
	}
	return holds, true
}

// extent is a length, or a side of our screen by its name.
func extent(word string) (pixels float64, known bool) {
	switch word {
	case "width":
		return screenWidth, true
	case "height":
		return screenHeight, true
	}
	_, err := strconv.ParseFloat(strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyz"), 64)
	return length(word), err == nil
}
