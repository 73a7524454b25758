package data

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// difference returns the lines that differ, each with the number that it has in its text.
func difference(a dataArgs) (string, error) {
	old, new := lines(a.Text), lines(a.Other)
	same := 0
	for same < min(len(old), len(new)) && old[same] == new[same] {
		same++
	}
	end := 0
	for end < min(len(old), len(new))-same && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	x, y := old[same:len(old)-end], new[same:len(new)-end]
	if len(x) > maxLines || len(y) > maxLines || len(x)*len(y) > 10_000_000 {
		return "", tool.Errorf(tool.TooLarge, "%d and %d lines differ, which is too much", len(x), len(y)).
			Try("compare parts")
	}
	out := changes(x, y, same)
	if out == "" {
		return "the texts are equal", nil
	}
	return out, nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// changes finds the longest common sequence of lines, and writes the rest.
func changes(x, y []string, before int) string {
	width := len(y) + 1
	common := make([]uint16, (len(x)+1)*width) // of the ends from i and j on
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var b strings.Builder
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || common[(i+1)*width+j] >= common[i*width+j+1]):
			fmt.Fprintf(&b, "-%d: %s\n", before+i+1, x[i])
			i++
		default:
			fmt.Fprintf(&b, "+%d: %s\n", before+j+1, y[j])
			j++
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
