package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Carriers are programs for files that can start others or write anywhere by
// an option.

// find judges find: its actions, with what it finds in the place of {}.
func find(j *judge, s *scope, c call) stream {
	args := c.rest()
	var starts []arg
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if strings.HasPrefix(a.text, unknown) {
			j.opaque("arguments of find: " + a.shown())
			continue
		}
		if a.is("-H") || a.is("-L") || a.is("-P") {
			continue
		}
		if a.text == "" || strings.ContainsAny(a.text[:1], "-(!") {
			break
		}
		starts = append(starts, a)
		j.read(s, a)
	}
	if len(starts) == 0 {
		starts = []arg{literal(".")}
	}
	narrow := hasFlag(args, "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-mtime", "-mmin", "-size", "-empty", "-ctime", "-maxdepth", "-user", "-lname")
	for ; i < len(args); i++ {
		switch a := args[i]; a.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && !args[end].is(";") && !(args[end].is("+") && args[end-1].is("{}")) {
				end++
			}
			j.findExec(s, args[i+1:min(end, len(args))], starts, narrow)
			i = end
		case "-delete":
			j.always = false
			for _, start := range starts {
				j.removesFound(s, start, narrow)
			}
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i+1 < len(args) {
				j.write(s, args[i+1], "writes to")
			}
		case "-name", "-path", "-iname", "-type", "-regex", "-newer", "-mtime", "-size", "-maxdepth", "-mindepth", "-perm", "-user":
			i++ // its value, which may be anything
		default:
			if strings.HasPrefix(a.text, unknown) {
				j.opaque("arguments of find: " + a.shown())
			}
		}
	}
	return stream{from: anyText}
}

// findExec judges the command that find starts.
func (j *judge) findExec(s *scope, args, starts []arg, narrow bool) {
	if len(args) == 0 {
		return
	}
	for _, start := range starts {
		found := start
		found.text = strings.TrimSuffix(start.text, "/") + "/found-by-name"
		if !narrow {
			found = start
			if where := j.place(s, start); where == rootPlace {
				found.text, found.glob = strings.TrimSuffix(start.text, "/")+"/*", true
			}
		}
		inner := s.clone()
		j.inner(inner, fillFound(args, found))
	}
}

func fillFound(args []arg, found arg) []arg {
	filled := make([]arg, len(args))
	for i, a := range args {
		if strings.Contains(a.text, "{}") {
			a.text = strings.ReplaceAll(a.text, "{}", found.text)
			a.glob = a.glob || found.glob
		}
		filled[i] = a
	}
	return filled
}

// removesFound judges find -delete.
func (j *judge) removesFound(s *scope, start arg, narrow bool) {
	switch where := j.place(s, start); {
	case where == rootPlace && narrow:
		j.raise(tool.Destroys, "removes what it finds in "+start.shown())
	default:
		j.removes(s, start, true)
	}
}

// sed judges its script: w and e write and start others.
func sed(j *judge, s *scope, c call) stream {
	p := options{short: "nrEsuze:f:l:i", long: "quiet silent expression= file= in-place? line-length= posix regexp-extended separate unbuffered null-data sandbox debug follow-symlinks help version"}.parse(sedArgs(c.rest()))
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of sed")
	}
	scripts, files := p.values("e", "expression"), p.operands
	if len(scripts) == 0 && len(p.values("f", "file")) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, f := range p.values("f", "file") {
		j.runsCode(s, f)
	}
	for _, text := range scripts {
		switch {
		case sedRuns(text.text):
			j.always = false
			j.hit(helper, "sed "+text.shown())
			j.raise(tool.Runs, "sed starts commands")
			j.glimpse(strings.TrimLeft(text.text, "0123456789$,/ e"))
		case strings.HasPrefix(text.text, unknown):
			j.opaque("the script of sed: " + text.shown())
		}
	}
	for _, f := range files {
		if p.has("i", "in-place") {
			j.write(s, f, "edits")
			j.raise(tool.Writes, "edits "+f.shown())
		} else {
			j.read(s, f)
		}
	}
	return stream{}
}

// sedArgs puts the suffix of -i where it cannot be taken for letters.
func sedArgs(args []arg) []arg {
	out := make([]arg, len(args))
	for i, a := range args {
		if strings.HasPrefix(a.text, "-i") && len(a.text) > 2 {
			a.text = "--in-place=" + a.text[2:]
		}
		out[i] = a
	}
	return out
}

// sedRuns reports whether a script may start commands or write files. It errs
// on the side of yes.
func sedRuns(text string) bool {
	for command := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' || r == '{' || r == '}' }) {
		command = strings.TrimSpace(command)
		rest := strings.TrimLeft(command, "0123456789$,!~+ ")
		if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "\\") { // an address
			if end := strings.LastIndexByte(rest, '/'); end > 0 {
				rest = strings.TrimLeft(rest[end+1:], "0123456789$,!I ")
			}
		}
		if strings.HasPrefix(rest, "e") || strings.HasPrefix(rest, "w ") || strings.HasPrefix(rest, "W ") || strings.HasPrefix(rest, "r ") && strings.Contains(rest, "/proc/") {
			return true
		}
		if len(rest) > 2 && (rest[0] == 's' || rest[0] == 'y') {
			if end := strings.LastIndexByte(rest, rest[1]); end > 1 && strings.ContainsAny(strings.SplitN(rest[end+1:], " ", 2)[0], "ew") {
				return true
			}
		}
	}
	return false
}

// awk judges its program: system, pipes and redirections.
func awk(j *judge, s *scope, c call) stream {
	p := options{short: "F:v:f:be:E:l:i:o:d:p:OsSntrNMPcCgIhV", long: "field-separator= assign= file= source= exec= load= include= posix re-interval traditional sandbox version help lint? non-decimal-data csv", first: true}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of awk")
	}
	codes, files := p.values("source"), p.operands
	files2 := p.values("f", "file", "E", "exec", "l", "load", "i", "include")
	for _, f := range files2 {
		j.runsCode(s, f)
	}
	if len(files2) == 0 && len(codes) == 0 && len(files) > 0 {
		codes, files = files[:1], files[1:]
	}
	for _, code := range codes {
		text := code.text
		switch {
		case strings.Contains(text, "/inet"):
			j.hit(remoteHand, "awk "+code.shown())
			fallthrough
		case containsAny(text, "system", "getline", "|&", "@load", "@include"), strings.Contains(strings.ReplaceAll(text, "||", ""), "|"), awkWrites(text):
			j.inlineCode("awk", code)
		case strings.HasPrefix(text, unknown):
			j.opaque("the program of awk: " + code.shown())
		}
	}
	for _, f := range files {
		if !strings.Contains(f.text, "=") {
			j.read(s, f)
		}
	}
	return stream{}
}

// awkWrites reports whether a program writes to files: print > "file".
func awkWrites(text string) bool {
	_, after, ok := strings.Cut(text, "print")
	for ok {
		statement, _, _ := strings.Cut(after, ";")
		if at := strings.IndexByte(statement, '>'); at >= 0 && strings.ContainsAny(statement[at:], "\"$") && !strings.Contains(statement, "\"/dev/stderr\"") {
			return true
		}
		_, after, ok = strings.Cut(after, "print")
	}
	return false
}

// tar judges archives: what starts others, and where it writes.
func tar(j *judge, s *scope, c call) stream {
	args := c.rest()
	for i, a := range args {
		name, value, _ := strings.Cut(a.text, "=")
		if value == "" && i+1 < len(args) {
			value = args[i+1].text
		}
		long := strings.HasPrefix(name, "--") && len(name) > 4
		switch {
		case long && (strings.HasPrefix("--checkpoint-action", name) && len(name) > 12 || strings.HasPrefix("--to-command", name) || strings.HasPrefix("--use-compress-program", name) || strings.HasPrefix("--info-script", name) || strings.HasPrefix("--new-volume-script", name) || strings.HasPrefix("--rsh-command", name) || strings.HasPrefix("--rmt-command", name)),
			a.is("-I"), strings.HasPrefix(a.text, "-I") && len(a.text) > 2, a.is("-F"):
			if !among(" gzip bzip2 xz zstd pigz lz4 zstdmt ", strings.SplitN(value, " ", 2)[0]) {
				j.always = false
				j.hit(helper, "tar "+a.shown())
				j.glimpse(strings.TrimPrefix(value, "exec="))
			}
		case strings.HasPrefix(a.text, unknown) && a.wild:
			j.opaque("arguments of tar: " + a.shown())
		case a.is("-P"), a.is("--absolute-names"):
			j.raise(tool.Destroys, "tar may write anywhere")
		case name == "--remove-files":
			j.raise(tool.Destroys, "tar removes what it has packed")
		case a.is("-C") || name == "--directory":
			dir := a
			if dir.text = value; j.place(s, dir) != rootPlace {
				j.write(s, dir, "unpacks into")
			}
		}
	}
	if len(args) > 0 && !hasFlag(args, "--list") && !strings.Contains(strings.TrimLeft(args[0].text, "-"), "t") {
		j.raise(tool.Writes, "packs or unpacks files")
	}
	return stream{}
}

// rsync judges copying trees, here or to others.
func rsync(j *judge, s *scope, c call) stream {
	opts, files := flags(c.rest())
	if hasLetter(opts, "e") || hasFlag(opts, "--rsh", "--rsync-path") {
		j.hit(helper, "rsync "+joinArgs(opts).shown())
	}
	for _, f := range files {
		if strings.Contains(f.text, ":") {
			j.hit(remote, f.shown())
		}
	}
	if len(files) > 0 {
		last := files[len(files)-1]
		if abbreviated(opts, "--del") != "" || hasFlag(opts, "--remove-source-files") {
			j.removes(s, last, true)
		}
		for _, f := range files[:len(files)-1] {
			j.read(s, f)
		}
		if !strings.Contains(last.text, ":") {
			j.copiesTo(s, []arg{last})
		}
	}
	return stream{}
}
