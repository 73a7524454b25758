// Package table reads tables about other programs: the knowledge of package judge about commands, and
// the presets of package cli for programs with credentials.
//
// A table is text. Empty lines and lines that begin with # say nothing. The tabs before another line are its depth:
//
//	kubectl oc                 a heading, at the margin; several in a row are one
//		seconds 60             a line: a keyword, and its value for the heading
//		let objects            a name for alternatives, for this heading only
//			pods|po
//			services|svc
//		reads                  a line with entries below it
//			get $objects       the entry "get pods|po|services|svc"
//
// The package does not know the meaning of keywords: the first lines of a table explain its own. Begin
// with [Parse]; [Embedded] reads a table that is a part of this program.
package table

import (
	"fmt"
	"io/fs"
	"strings"
)

// A Block is a heading and the lines below it.
type Block struct {
	Heading string // several headings are joined by blanks
	Lines   []Line
}

// A Line says something about a heading.
type Line struct {
	Text    string
	Entries []string // the lines below it
}

// Keyword returns the first word of a line, and the rest.
func (l Line) Keyword() (keyword, rest string) {
	keyword, rest, _ = strings.Cut(l.Text, " ")
	return keyword, rest
}

// Parse reads a table.
func Parse(text string) ([]Block, error) {
	var all []Block
	number := 0
	for line := range strings.Lines(text) {
		number++
		rest := strings.TrimLeft(line, "\t")
		depth := len(line) - len(rest)
		rest = strings.TrimSpace(rest)
		if rest == "" || depth == 0 && rest[0] == '#' {
			continue
		}
		last := len(all) - 1
		switch {
		case depth == 0 && last >= 0 && len(all[last].Lines) == 0:
			all[last].Heading += " " + rest
		case depth == 0:
			all = append(all, Block{Heading: rest})
		case depth == 1 && last >= 0:
			all[last].Lines = append(all[last].Lines, Line{Text: rest})
		case depth == 2 && last >= 0 && len(all[last].Lines) > 0:
			line := &all[last].Lines[len(all[last].Lines)-1]
			line.Entries = append(line.Entries, rest)
		default:
			return nil, fmt.Errorf("line %d: %q is indented by %d tabs, but nothing is above it", number, rest, depth)
		}
	}
	for i, b := range all {
		var err error
		if all[i].Lines, err = named(b.Lines); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Heading, err)
		}
	}
	return all, nil
}

// named removes the lines that give names to alternatives, and replaces the names in other entries.
func named(lines []Line) (kept []Line, err error) {
	names := map[string]string{}
	for _, l := range lines {
		if keyword, name := l.Keyword(); keyword == "let" {
			if name == "" || len(l.Entries) == 0 {
				return nil, fmt.Errorf("%q lacks a name or alternatives", l.Text)
			}
			names[name] = strings.Join(l.Entries, "|")
			continue
		}
		for i, entry := range l.Entries {
			words := strings.Fields(entry)
			for at, word := range words {
				name, isName := strings.CutPrefix(word, "$")
				if !isName {
					continue
				}
				alternatives, ok := names[name]
				if !ok {
					return nil, fmt.Errorf("nothing above %q is called %s", entry, name)
				}
				words[at] = alternatives
				l.Entries[i] = strings.Join(words, " ")
			}
		}
		kept = append(kept, l)
	}
	return kept, nil
}

// Embedded reads a table that is a part of this program. It panics if that cannot be read.
func Embedded(files fs.FS, name string) []Block {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic("table: " + err.Error())
	}
	all, err := Parse(string(text))
	if err != nil {
		panic("table: " + name + ": " + err.Error())
	}
	return all
}
