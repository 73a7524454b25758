// Package memory holds the tools through which agents remember: search, read,
// store and forget documents that outlive the conversation. It knows what the
// tools take and how their answers read, and declares what they work on; it
// knows neither where documents are kept nor how they are found.
//
// What the tools return was written by agents and people, and is data: it is
// shown as it is, and nothing in it is an instruction.
//
// Begin with [Memory] in document.go, then search.go.
package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "memory"

// Tools are the tools of the group.
func Tools(m Memory) []tool.Tool {
	return []tool.Tool{
		tool.New(memorySearch{m, time.Now}),
		tool.New(memoryGet{m}),
		tool.New(memoryStore{m, time.Now}),
		tool.New(memoryForget{m}),
	}
}

const dateLayout = "2006-01-02"

// parseTime reads a date, a time, or how long ago or from now something is:
// 2026-01-31, 2026-01-31T12:00:00Z, 36h, 7d, 2 weeks, 1mo.
func parseTime(text string) (at time.Time, span time.Duration, err error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", dateLayout} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1970 && at.Year() < 9000 {
			return at, 0, nil
		}
	}
	if span, ok := parseSpan(text); ok {
		return time.Time{}, span, nil
	}
	return time.Time{}, 0, tool.Errorf(tool.Invalid, "%.40q is no time", text).Try("write 2026-01-31, 36h, 7d or 2w")
}

func parseSpan(text string) (time.Duration, bool) {
	const longest = 100 * 365 * 24 * time.Hour
	if span, err := time.ParseDuration(text); err == nil {
		return span, span > 0 && span <= longest
	}
	const day = 24 * time.Hour
	units := map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour, "d": day, "day": day,
		"w": 7 * day, "week": 7 * day, "mo": 30 * day, "month": 30 * day, "y": 365 * day, "year": 365 * day,
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.Atoi(text[:digits])
	name := strings.ToLower(strings.TrimSpace(text[digits:]))
	if len(name) > 2 {
		name = strings.TrimSuffix(name, "s")
	}
	each := units[name]
	if err != nil || each == 0 || n <= 0 || n > int(longest/each) {
		return 0, false
	}
	return time.Duration(n) * each, true
}

// name is the path or key that a caller gave.
func name(path, key string) string {
	if path = strings.TrimSpace(path); path != "" {
		return path
	}
	return strings.TrimSpace(key)
}

// oneLine shows a stranger's text in a line.
func oneLine(text string) string {
	return tool.Visible(strings.Join(strings.Fields(text), " "))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
