package view_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"strings"
	"time"

	. "github.com/mcp-tools/mcp-tools/internal/view"
)

// samples returns a view of each tool, as users see them.
func samples() map[string]any {
	at := time.Date(2026, 12, 1, 3, 30, 0, 0, time.UTC)
	same := func(s string) string { return s }
	row := func(all ...float64) (list []*float64) {
		for _, v := range all {
			list = append(list, &v)
		}
		return list
	}
	hit := func(path, heading, snippet string) map[string]any {
		return map[string]any{"path": path, "from": 3, "to": 9, "updated": at, "category": "core", "headings": []string{heading}, "snippet": snippet}
	}
	return map[string]any{
		"edit": Changes{Kind: "changes", Undo: "c1", Files: []File{
			{Name: "README.md", Was: "readme.txt", Action: "renamed"},
			File{Name: "cmd/tax.go", Action: "changed"}.Of("package tax\n\nconst rate = 0.19\n", "package tax\n\nconst rate = 0.20\n\nfunc f() {}\n", same),
		}},
		"history": History{Kind: "history", More: true, Changes: []map[string]any{
			{"id": "c3", "time": at, "tool": "edit", "file": "cmd/tax.go", "action": "changed", "undoable": true, "by": "claude"},
			{"id": "c2", "time": at, "tool": "exec", "command": "rm -r build", "file": "build/tax", "action": "removed", "undone": "c4"},
		}},
		"exec": Output{Kind: "output", Command: "go test ./...", State: "running", Process: "p1", Seconds: 3.2, Streams: []Text{
			{Text: "ok   all 3 tests\nFAIL here\n", Colors: [][3]int{{0, 2, 8 | 2}, {17, 21, 8 | 1 | 16}}, Before: 7}, {Text: "warning: slow\n"}}},
		"plan_create": Board{Kind: "board", Title: "Move the shop to the new tax rate", Columns: []Column{
			{"To do", []Card{{Title: "Tell the accountants"}}}, {"Doing", []Card{{Title: "Change the rate, and its tests"}}},
			{"Done", []Card{{Title: "Find all places with the old rate"}}}}},
		"team_tasks": Board{Kind: "board", Title: "Tasks of the team launch", More: true, Columns: []Column{
			{"To do", []Card{{Title: "Write the announcement", About: "T-001-a2f9 · maria", Label: "pending"},
				{Title: "Press kit", About: "T-002-77b1", Label: "blocked"}}},
			{"In progress", []Card{{Title: "Landing page", About: "T-003-19c4 · ben · hero section", Percent: 60, Now: true}}},
			{"Review", []Card{{Title: "Price list", About: "T-004-0d3e · ana", Percent: 100}}},
			{"Done", []Card{{Title: "Choose the date", About: "T-005-e821 · maria", Label: "completed"}}}}},
		"create_image": Chart{Kind: "chart", Chart: "line", Title: "Visitors of both shops", XTitle: "Month", YTitle: "thousands", File: "generated/2026-12-01/visitors.png",
			Labels: []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun"},
			Series: []Series{{Name: "North", Values: row(20, 31, 28, 45, 57, 61)}, {Name: "South", Values: row(12, 18, 26, 24, 33, 38)}}},
		"read_document": Document{Kind: "document", Path: "report.pdf", Name: "report.pdf", Title: "Annual report", Format: "PDF", Unit: "page", Total: 9, Pages: []DocumentPage{
			{Number: 2, Text: "# Outline of costs\n\nThe year began *well*. All amounts are in **euro**; see [the method](https://example.com/m).\n\n" +
				"| Item | 2025 | 2026 |\n|---|---|---|\n| Rent | 12,000 | 12,400 |\n| Energy | 3,100 | 2,900 |\n\n## Savings\n\n- new windows\n- fewer trips\n"},
			{Number: 3, Name: "Annex", Text: "## Method\n\n```\ntotal = rent + energy\n```\n\nNumbers are rounded.\n"}}},
		"cron": Jobs{Kind: "jobs", Ended: []string{"reminder-1"}, Jobs: []Job{
			{Name: "nightly-backup", Work: "exec {\"command\":\"backup --all\"}", Schedule: "at 03:30 every day", Zone: "Europe/Berlin", Next: []time.Time{at, at.AddDate(0, 0, 1)}, Last: "ok", LastAt: at.AddDate(0, 0, -1)},
			{Name: "water-plants", Work: `message "water the plants"`, Schedule: "every 3 days", Paused: true},
			{Name: "report", Work: "subagent {\"task\":\"weekly report\"}", Schedule: "at 09:00 on Monday", Next: []time.Time{at}, Last: "failed", LastAt: at.AddDate(0, 0, -7), Failures: 2}}},
		"memory_search": Memories{Kind: "memories", Query: "coffee preference", More: true, Hits: []any{
			hit("people/ada.md", "Ada › Taste", "Ada drinks her coffee black, and never after four. The preference has been the same since March."),
			hit("daily/2026-11-03.md", "Office", "We ordered a new machine for coffee; Ben prefers tea.")}},
		"knowledge_graph_search": Graph{Kind: "graph", Query: "Ada", From: "Ada Lovelace", Nodes: []Node{
			{ID: "ada", Name: "Ada Lovelace", Type: "person", About: "Writes the programs of the engine.", Facts: map[string]string{"born": "1815"}, Hit: true},
			{ID: "engine", Name: "Analytical Engine", Type: "project"}, {ID: "charles", Name: "Charles Babbage", Type: "person"},
			{ID: "london", Name: "London", Type: "place"}, {ID: "works", Name: "Engine Works", Type: "company"}, {ID: "notes", Name: "Note G", Type: "document"}},
			Edges: []Edge{{"ada", "works", "works at"}, {"ada", "charles", "knows"}, {"charles", "engine", "designed"}, {"ada", "notes", "wrote"},
				{"notes", "engine", "about"}, {"works", "london", "located in"}, {"ada", "london", "lives in"}}},
		"browser": Snapshot{Kind: "snapshot", Tab: "t1", Tabs: 2, Address: "https://shop.example/things", Notes: []string{"1 download saved"},
			Outline: "title: Things\n# Things\nThree things for the kitchen.\n[e5] link \"A kettle\"\n[e6] link \"A lamp\"\n[e7] form:\n [e8] textbox \"Search\"\n [e9] button \"Buy\"",
			Picture: shot(), MIME: "image/jpeg"},
		"result": map[string]any{"kind": strings.Repeat("x", 3)},
	}
}

// shot returns a picture of a page.
func shot() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 640, 400))
	fill := func(x, y, w, h int, c color.Color) {
		draw.Draw(m, image.Rect(x, y, x+w, y+h), image.NewUniform(c), image.Point{}, draw.Src)
	}
	fill(0, 0, 640, 400, color.White)
	fill(0, 0, 640, 50, color.RGBA{37, 99, 235, 255})
	for i := range 3 {
		fill(20+205*i, 80, 190, 190, color.RGBA{225, 230, 240, 255})
		fill(20+205*i, 285, 130, 14, color.RGBA{90, 90, 90, 255})
	}
	fill(20, 340, 110, 34, color.RGBA{21, 128, 61, 255})
	var b bytes.Buffer
	_ = jpeg.Encode(&b, m, nil) // to memory
	return b.Bytes()
}
