package console

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/today"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of the events of a page: of each session, of all, and if one session was chosen.
const (
	sessionEvents = 40
	allEvents     = 160
	chosenEvents  = 400
)

// todayData is the timeline of a day.
type todayData struct {
	Day      today.Day
	Query    todayQuery
	Sessions []daySession // the latest first
	Kinds    []today.Kind
	Before   string // the date of the day before
	After    string // of the day after, "" for today
	Now      bool   // the day is today
}

// A todayQuery is the selection of a person, as in the address of the page.
type todayQuery struct {
	Day, Agent, Session string
	Kind                today.Kind
	Plain               bool // without differences
}

// With returns the address of the same view with another session, or without differences.
func (q todayQuery) With(name, value string) string {
	v := url.Values{}
	for _, one := range [][2]string{{"day", q.Day}, {"agent", q.Agent}, {"session", q.Session}, {"kind", string(q.Kind)}} {
		if one[0] == name {
			one[1] = value
		}
		if one[1] != "" {
			v.Set(one[0], one[1])
		}
	}
	if q.Plain && name != "plain" || name == "plain" && value != "" {
		v.Set("plain", "1")
	}
	return "today?" + v.Encode()
}

// A daySession is a session with its events, the latest first.
type daySession struct {
	today.Session
	Latest []today.Event
}

// About describes the session, without the agent and the user of its heading.
func (s daySession) About() string {
	return strings.TrimPrefix(strings.TrimPrefix(s.Heading(), heading(s.Session)), ", ")
}

func showToday(r *Request) (any, error) {
	v := r.URL.Query()
	q := todayQuery{Day: v.Get("day"), Agent: v.Get("agent"), Session: v.Get("session"), Kind: today.Kind(v.Get("kind")),
		Plain: v.Get("plain") != ""}
	args := map[string]any{"limit": sessionEvents, "diff": !q.Plain, "pictures": !q.Plain}
	if q.Session != "" {
		args["limit"] = chosenEvents
	}
	for name, value := range map[string]string{"day": q.Day, "agent": q.Agent, "session": q.Session, "kind": string(q.Kind)} {
		if value != "" {
			args[name] = value
		}
	}
	result, _, err := r.Call("activity", "today", args)
	if err != nil {
		return nil, err
	}
	day, ok := result.Data.(today.Day)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no day")
	}
	d := todayData{Day: day, Query: q, Kinds: today.Kinds()}
	for _, s := range slices.Backward(day.Sessions) {
		latest := slices.Clone(s.Events)
		slices.Reverse(latest)
		d.Sessions = append(d.Sessions, daySession{s, latest})
	}
	slices.SortStableFunc(d.Sessions, func(a, b daySession) int { return b.To.Compare(a.To) })
	for i, left := 0, allEvents; q.Session == "" && i < len(d.Sessions); i++ {
		s := &d.Sessions[i]
		shown := min(len(s.Latest), left)
		s.Earlier += len(s.Latest) - shown
		s.Latest, left = s.Latest[:shown], left-shown
	}
	if date, err := time.ParseInLocation(time.DateOnly, day.Date, time.Local); err == nil {
		d.Before = date.AddDate(0, 0, -1).Format(time.DateOnly)
		d.Now = day.Date == time.Now().Format(time.DateOnly)
		if after := date.AddDate(0, 0, 1); after.Before(time.Now()) {
			d.After = after.Format(time.DateOnly)
		}
	}
	return d, nil
}

// showChange shows one change of files.
func showChange(r *Request) (any, error) {
	result, _, err := r.Call("activity", "change", map[string]any{"change": r.PathValue("id"), "pictures": true})
	if err != nil {
		return nil, err
	}
	c, ok := result.Data.(today.ShownChange)
	if !ok {
		return nil, tool.Errorf(tool.Internal, "the result is no change")
	}
	return c, nil
}

// A diffRow is a line of a difference: of the old text, of the new one, or of both side by side.
type diffRow struct {
	Kind     string // hunk, same, or change
	Old, New string
	HasOld   bool
	HasNew   bool
}

// maxDiffLine is how much of a line of a difference is shown.
const maxDiffLine = 2000

// diffRows puts removed lines beside added ones.
func diffRows(lines []string) (rows []diffRow) {
	pair := -1 // the first removed line that has no added one beside it
	for _, line := range lines {
		mark, text := line[:min(1, len(line))], line[min(1, len(line)):]
		if len(text) > maxDiffLine {
			text = fmt.Sprintf("%s ... (%s)", cut(text, maxDiffLine), terminal.FileSize(int64(len(text))))
		}
		switch {
		case mark == "\\": // that the last line has no line break
		case mark == "@":
			rows, pair = append(rows, diffRow{Kind: "hunk", Old: line}), -1
		case mark == "-":
			if rows = append(rows, diffRow{Kind: "change", Old: text, HasOld: true}); pair < 0 {
				pair = len(rows) - 1
			}
		case mark == "+" && pair >= 0 && pair < len(rows):
			rows[pair].New, rows[pair].HasNew = text, true
			pair++
		case mark == "+":
			rows = append(rows, diffRow{Kind: "change", New: text, HasNew: true})
			pair = len(rows)
		default:
			rows, pair = append(rows, diffRow{Kind: "same", Old: text, New: text, HasOld: true, HasNew: true}), -1
		}
	}
	return rows
}

// oneSided reports whether a difference has only added or only removed lines, as that of a created or a removed file: it
// needs no second column.
func oneSided(lines []string) bool {
	has := func(mark string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, mark) })
	}
	return !has(" ") && has("+") != has("-")
}

// pictureURL returns the address of a picture that stands in the page, "" for one of a type that pages do not show.
func pictureURL(c today.Change) template.URL {
	switch c.PictureType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml":
		return template.URL("data:" + c.PictureType + ";base64," + base64.StdEncoding.EncodeToString(c.Picture))
	}
	return ""
}

// heading returns the words for the session of a day.
func heading(s today.Session) string {
	return cmp.Or(strings.Trim(s.Agent+"/"+s.User, "/"), "nobody")
}
