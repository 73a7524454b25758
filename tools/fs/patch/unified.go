package patch

import (
	iofs "io/fs"
	"strconv"
	"strings"
)

const (
	gitHeader = "diff --git "
	oldHeader = "--- "
	newHeader = "+++ "
	nowhere   = "/dev/null"
)

// header reports whether the next two lines name a file. In a hunk they could be a removed and an added line, so a hunk
// must follow.
func (r *reader) header() bool {
	return strings.HasPrefix(r.peek(), oldHeader) && strings.HasPrefix(r.ahead(1), newHeader) &&
		strings.HasPrefix(r.ahead(2), "@@")
}

// unified parses all files of a diff. It ignores text between them, such as the message of a commit.
func (r *reader) unified() ([]File, error) {
	var files []File
	prose := true // a line that begins with - may be an item of a list
	for !r.done() {
		line := r.peek()
		var f File
		var err error
		switch {
		case strings.HasPrefix(line, gitHeader):
			f, err = r.gitFile()
		case r.header():
			f, err = r.plainFile()
		case strings.HasPrefix(line, "@@ -") && len(files) == 0, strings.TrimRight(line, " \r") == "@@" &&
			len(files) == 0:
			err = r.hunks(&f)
		case strings.HasPrefix(line, "@@"):
			err = invalid("line %d of the patch: the lines --- and +++ that name the file are missing above this hunk",
				r.line())
		case binary(line):
			err = errBinary(line)
		case !prose && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")) && !r.signature():
			err = errNotInHunk(r.line(), line)
		default:
			prose = prose || r.signature() || strings.HasPrefix(line, "commit ") || strings.HasPrefix(line, "From ")
			r.at++
			continue
		}
		if err != nil {
			return nil, err
		}
		files, prose = append(files, f), false
	}
	return files, nil
}

// signature reports whether the end of a mailed patch follows.
func (r *reader) signature() bool { return r.peek() == "-- " }

func errNotInHunk(number int, line string) error {
	return invalid("line %d of the patch cannot be parsed: %.80q", number, line).
		Try("every line of a hunk begins with a blank, - or +")
}

func binary(line string) bool {
	return strings.HasPrefix(line, "GIT binary patch") ||
		strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(strings.TrimRight(line, "\r"), " differ")
}

func errBinary(line string) error {
	return invalid("the patch changes a binary file: %.200s",
		line).Try("write the file with write_file and encoding base64")
}

// plainFile parses a file that --- and +++ name. The new name counts, except for a deleted file.
func (r *reader) plainFile() (File, error) {
	var f File
	from, err := headerName(r.peek()[len(oldHeader):])
	if err != nil {
		return f, err
	}
	to, err := headerName(r.ahead(1)[len(newHeader):])
	if err != nil {
		return f, err
	}
	r.at += 2
	from, to = stripPrefixes(from, to)
	switch {
	case from == nowhere && to == nowhere:
		return f, invalid("line %d of the patch: both names are %s", r.line()-2, nowhere)
	case from == nowhere:
		f.Op, f.Path = Add, to
	case to == nowhere:
		f.Op, f.Path = Delete, from
	default:
		f.Path = to
	}
	return f, r.hunks(&f)
}

// gitFile parses a file that begins with a line of git.
func (r *reader) gitFile() (File, error) {
	at := r.line()
	f := File{Path: gitName(r.peek()[len(gitHeader):])}
	from, err := r.gitHeaders(&f)
	if err != nil {
		return f, err
	}
	if r.header() {
		named, err := r.plainFile()
		if err != nil {
			return f, err
		}
		f.Hunks = named.Hunks
		if f.MoveTo == "" {
			f.Path, f.Op = named.Path, named.Op
		}
	} else if err := r.hunks(&f); err != nil {
		return f, err
	}
	if f.MoveTo != "" {
		f.Path = from
	}
	switch {
	case f.Path == "":
		return f, invalid("line %d of the patch: the file that it changes is not clear", at)
	case f.Op == Update && f.MoveTo == "" && f.Mode == 0 && len(f.Hunks) == 0:
		return f, invalid("the patch does not say what to change in %q",
			f.Path).Try("add a hunk, or remove the section")
	}
	return f, nil
}

// gitHeaders parses the lines between the first one and the hunks. It returns the old name of a renamed file.
func (r *reader) gitHeaders(f *File) (from string, err error) {
	for r.at++; !r.done() && !r.header() && !strings.HasPrefix(r.peek(), gitHeader) &&
		!strings.HasPrefix(r.peek(), "@@"); r.at++ {
		line := strings.TrimRight(r.peek(), "\r")
		key, value := cutHeader(line)
		switch key {
		case "rename from ":
			from, err = headerName(value)
		case "rename to ":
			f.MoveTo, err = headerName(value)
		case "copy from ", "copy to ":
			err = invalid("the patch copies %s, which is not supported", value).Try("add the copy as a new file")
		case "new file mode ":
			f.Op = Add
			f.Mode, err = fileMode(value)
		case "deleted file mode ":
			f.Op = Delete
			_, err = fileMode(value)
		case "new mode ":
			f.Mode, err = fileMode(value)
		case "":
			if binary(line) {
				err = errBinary(line)
			}
		}
		if err != nil {
			return "", err
		}
	}
	if (from == "") != (f.MoveTo == "") {
		return "", invalid("line %d of the patch: a rename needs both names", r.line())
	}
	return from, nil
}

func cutHeader(line string) (key, value string) {
	for _, key := range []string{
		"rename from ", "rename to ", "copy from ", "copy to ",
		"new file mode ", "deleted file mode ", "new mode ",
	} {
		if value, ok := strings.CutPrefix(line, key); ok {
			return key, value
		}
	}
	return "", ""
}

// fileMode parses the mode of a regular file, such as 100755.
func fileMode(text string) (iofs.FileMode, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 32)
	if err != nil || n>>12 != 0o10 {
		return 0, invalid("the patch changes something that is not a regular file (mode %.20s)",
			text).Try("remove that section")
	}
	return iofs.FileMode(n & 0o777), nil
}

// headerName parses a name in a line with ---, +++ or rename: in quotes with escapes, or plain up to a tab. A time
// may follow the tab.
func headerName(text string) (string, error) {
	text = strings.TrimRight(text, "\r")
	if strings.HasPrefix(text, `"`) {
		name, _, ok := unquote(text)
		if !ok || name == "" {
			return "", invalid("the file name %.80s in the patch is not quoted correctly", text)
		}
		return name, nil
	}
	text, _, _ = strings.Cut(text, "\t")
	if text = strings.TrimRight(text, " "); text == "" {
		return "", invalid("a line of the patch does not name a file")
	}
	return text, nil
}

// unquote parses a name in quotes with the escapes of C, and returns the text after it.
func unquote(text string) (name, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	name, err = strconv.Unquote(quoted)
	return name, text[len(quoted):], err == nil
}

// stripPrefixes removes a/ and b/ if both names have such a prefix or one is /dev/null. Git uses other letters for some
// comparisons.
func stripPrefixes(from, to string) (string, string) {
	prefixed := func(name, letters string) bool {
		return name == nowhere || len(name) > 2 && name[1] == '/' && strings.IndexByte(letters, name[0]) >= 0
	}
	if !prefixed(from, "aciwo") || !prefixed(to, "bciwo") {
		return from, to
	}
	for _, name := range []*string{&from, &to} {
		if *name != nowhere {
			*name = (*name)[2:]
		}
	}
	return from, to
}

// gitName parses the first line that git writes for a file. It has the name twice; gitName returns "" if the two
// differ.
func gitName(text string) string {
	text = strings.TrimRight(text, "\r")
	half := len(text) / 2
	from, to := text[:half], text[min(half+1, len(text)):] // equal except for the prefix, with a blank between them
	if strings.HasPrefix(text, `"`) {
		first, rest, ok := unquote(text)
		second, err := headerName(strings.TrimPrefix(rest, " "))
		if !ok || err != nil {
			return ""
		}
		from, to = first, second
	}
	if from, to = stripPrefixes(from, to); from != to {
		return ""
	}
	return to
}
