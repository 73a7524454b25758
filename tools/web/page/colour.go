package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// colour brings a colour into one form: #rrggbb, "clear" for what cannot be
// seen, "?" for what is not known, such as a picture, and "" for none.
func colour(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	switch value {
	case "", "inherit", "initial", "unset", "revert", "none", "currentcolor":
		return ""
	case "transparent":
		return "clear"
	}
	if strings.Contains(value, "url(") || strings.Contains(value, "gradient") {
		return "?"
	}
	if name, inside, ok := strings.Cut(value, "("); ok {
		inside, _, _ = strings.Cut(inside, ")")
		return function(strings.TrimSpace(name), inside)
	}
	value, _, _ = strings.Cut(value, " ") // what follows in a background
	if hex, ok := names[value]; ok {
		value = hex
	}
	value = strings.TrimPrefix(value, "#")
	if _, err := strconv.ParseUint(value, 16, 64); err != nil {
		return "?"
	}
	switch len(value) {
	case 3, 4:
		if len(value) == 4 && value[3] == '0' {
			return "clear"
		}
		return "#" + strings.Repeat(value[:1], 2) + strings.Repeat(value[1:2], 2) + strings.Repeat(value[2:3], 2)
	case 6:
		return "#" + value
	case 8:
		if value[6:] == "00" {
			return "clear"
		}
		return "#" + value[:6]
	}
	return "?"
}

// function is a colour like rgb(0 0 0 / 50%).
func function(name, inside string) string {
	parts := strings.FieldsFunc(inside, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	if len(parts) == 4 {
		if alpha, ok := number(parts[3]); ok && alpha < 0.05 {
			return "clear"
		}
	}
	if len(parts) < 3 {
		return "?"
	}
	switch name {
	case "rgb", "rgba":
		var c [3]int
		for i := range c {
			n, ok := number(parts[i])
			if strings.HasSuffix(parts[i], "%") {
				n *= 255
			}
			if !ok {
				return "?"
			}
			c[i] = min(max(int(math.Round(n)), 0), 255)
		}
		return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
	case "hsl", "hsla":
		if light, ok := number(parts[2]); ok && (light <= 0 || light >= 1) {
			return map[bool]string{true: "#ffffff", false: "#000000"}[light >= 1]
		}
	}
	return "?"
}

// names are the colours that text is hidden with, as numbers.
var names = map[string]string{
	"white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5", "ghostwhite": "f8f8ff",
	"red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00", "gray": "808080", "grey": "808080", "silver": "c0c0c0",
	"lightgray": "d3d3d3", "lightgrey": "d3d3d3", "navy": "000080", "maroon": "800000", "orange": "ffa500", "purple": "800080",
	"teal": "008080", "olive": "808000", "lime": "00ff00", "aqua": "00ffff", "cyan": "00ffff", "fuchsia": "ff00ff", "magenta": "ff00ff",
	"beige": "f5f5dc", "linen": "faf0e6", "azure": "f0ffff", "gainsboro": "dcdcdc", "darkgray": "a9a9a9", "darkgrey": "a9a9a9",
}

// near reports whether nobody can tell two colours apart.
func near(a, b string) bool {
	if a == b || len(a) != 7 || len(b) != 7 {
		return a == b
	}
	x, err := strconv.ParseUint(a[1:], 16, 32)
	y, wrong := strconv.ParseUint(b[1:], 16, 32)
	for range 3 {
		if d := int(x&0xff) - int(y&0xff); d > 6 || d < -6 {
			return false
		}
		x, y = x>>8, y>>8
	}
	return err == nil && wrong == nil
}
