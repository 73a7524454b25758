package policy

import "strings"

// Nearest returns the name in from that is most similar to name, or "" if none
// is similar enough.
func Nearest(name string, from []string) string {
	want := fold(name)
	best, distance := "", 1+max(len(want)/3, 1)
	for _, candidate := range from {
		have := fold(candidate)
		if have == want {
			return candidate
		}
		if d := edits(want, have, distance); d < distance {
			best, distance = candidate, d
		}
	}
	if best != "" || len(want) < 3 {
		return best
	}
	for _, candidate := range from {
		if have := fold(candidate); len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have)) {
			return candidate
		}
	}
	return ""
}

// fold removes differences that are easily confused: case and word separators.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
}

// edits counts the insertions, deletions, changes and swaps of neighbours that
// turn a into b. It returns limit as soon as the count cannot be lower, because
// names come from requests and may be long.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	lowestBefore := 0
	for i := 1; i <= len(a); i++ {
		next[0] = i
		lowest := i
		for j := 1; j <= len(b); j++ {
			cost := row[j-1]
			if a[i-1] != b[j-1] {
				cost = 1 + min(row[j-1], row[j], next[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cost = min(cost, before[j-2]+1)
			}
			next[j] = cost
			lowest = min(lowest, cost)
		}
		if min(lowest, lowestBefore+1) >= limit {
			return limit
		}
		lowestBefore = lowest
		before, row, next = row, next, before
	}
	return min(row[len(b)], limit)
}
