package patch

import "strings"

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	endOfFile  = "*** End of File"
	moveTo     = "*** Move to:"

	addFile    = "*** Add File:"
	deleteFile = "*** Delete File:"
	updateFile = "*** Update File:"
)

// section returns the marker at the start of line that begins the section of a file, or "".
func section(line string) string {
	for _, start := range []string{updateFile, addFile, deleteFile} {
		if strings.HasPrefix(line, start) {
			return start
		}
	}
	return ""
}

// envelope parses the whole patch. It refuses a patch without an end: it was cut off.
func (r *reader) envelope() ([]File, error) {
	for ; !strings.HasPrefix(r.peek(), beginPatch); r.at++ {
		if r.done() || section(r.peek()) != "" {
			return nil, invalid("the patch does not begin with %s", beginPatch).Try("send the whole patch")
		}
	}
	r.at++
	var files []File
	for {
		line := r.peek()
		start := section(line)
		switch {
		case r.done():
			return nil, invalid("the patch was cut off: there is no %s",
				endPatch).Try("send the whole patch, or several whole patches")
		case strings.HasPrefix(line, endPatch):
			r.at++
			return files, r.nothingMore()
		case strings.TrimSpace(line) == "":
			r.at++
			continue
		case start == "":
			return nil, invalid("line %d of the patch cannot be parsed: %.80q", r.line(), line).
				Try("a section begins with %q, %q or %q; other lines begin with a blank, - or +", addFile, deleteFile,
					updateFile)
		}
		f, err := r.envelopeFile(start)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
}

// nothingMore refuses text after the end of the patch: it would be ignored.
func (r *reader) nothingMore() error {
	for ; !r.done(); r.at++ {
		line := r.peek()
		if strings.HasPrefix(line, "***") || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, gitHeader) ||
			r.header() {
			return invalid("text follows after %s, at line %d of the patch", endPatch, r.line()).
				Try("put all sections between one %s and one %s", beginPatch, endPatch)
		}
	}
	return nil
}

func (r *reader) envelopeFile(start string) (File, error) {
	f := File{Path: strings.TrimSpace(r.peek()[len(start):])}
	if f.Path == "" {
		return f, invalid("line %d of the patch does not name a file", r.line())
	}
	r.at++
	switch start {
	case addFile:
		f.Op = Add
		return f, r.addedFile(&f)
	case deleteFile:
		f.Op = Delete
		return f, nil
	}
	if to, ok := strings.CutPrefix(r.peek(), moveTo); ok {
		if f.MoveTo = strings.TrimSpace(to); f.MoveTo == "" {
			return f, invalid("line %d of the patch does not name the file to move to", r.line())
		}
		r.at++
	}
	if err := r.envelopeHunks(&f); err != nil {
		return f, err
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return f, invalid("the patch does not say what to change in %q",
			f.Path).Try("add a hunk, or remove the section")
	}
	return f, nil
}

// addedFile parses the lines of a new file. It accepts empty lines without their +.
func (r *reader) addedFile(f *File) error {
	h := Hunk{At: r.line()}
	empty := 0
	for ; !r.done(); r.at++ {
		line := r.peek()
		if line == "" || line == "\r" {
			empty++
			continue
		}
		if strings.HasPrefix(line, "***") {
			break
		}
		if line[0] != byte(Added) {
			return invalid("line %d of the patch: every line of the added file %q must begin with +", r.line(), f.Path)
		}
		for ; empty > 0; empty-- {
			h.Lines = append(h.Lines, Line{Kind: Added})
		}
		h.Lines = append(h.Lines, Line{Kind: Added, Text: line[1:]})
	}
	if strings.HasPrefix(r.peek(), endOfFile) {
		r.at++
	}
	if len(h.Lines) > 0 {
		f.Hunks = []Hunk{h}
	}
	return nil
}

// envelopeHunks parses hunks up to the next section. The first need not begin with @@; several @@ in a row narrow down
// one place.
func (r *reader) envelopeHunks(f *File) error {
	for {
		for r.peek() == "" && !r.done() {
			r.at++
		}
		ends := strings.HasPrefix(r.peek(), endOfFile)
		if r.done() || strings.HasPrefix(r.peek(), "***") && !ends {
			return nil
		}
		h := Hunk{At: r.line()}
		for ; strings.HasPrefix(r.peek(), "@@"); r.at++ {
			h.lead(r.peek())
		}
		for ; !r.done(); r.at++ {
			l, ok := body(r.peek())
			if !ok {
				break
			}
			h.add(l, r.peek() == "")
		}
		line := r.peek()
		if h.AtEnd = strings.HasPrefix(line, endOfFile); h.AtEnd {
			r.at++
		} else if !r.done() && !strings.HasPrefix(line, "***") && !strings.HasPrefix(line, "@@") {
			return errNotInHunk(r.line(), line)
		}
		switch {
		case len(h.Lines) == 0 && ends:
			return invalid("line %d of the patch: %s follows no lines", h.At, endOfFile)
		case len(h.Lines) == 0:
			return invalid("hunk %d of %q, at line %d of the patch, has no lines", len(f.Hunks)+1, f.Path, h.At)
		}
		f.Hunks = append(f.Hunks, h)
	}
}

// lead parses the header of a hunk: line numbers (models often get them wrong), or a line above the
// hunk.
func (h *Hunk) lead(line string) {
	if n, ok := parseRanges(line); ok {
		h.Numbered, h.Start = true, n.oldStart
		return
	}
	anchor := strings.TrimPrefix(strings.TrimPrefix(line, "@@"), " ")
	anchor = strings.TrimRight(anchor, " \t\r")
	anchor = strings.TrimRight(strings.TrimSuffix(anchor, " @@"), " \t")
	switch strings.TrimSpace(anchor) {
	case "", "@@", "...", "…":
		return
	}
	h.Anchors = append(h.Anchors, anchor)
}
